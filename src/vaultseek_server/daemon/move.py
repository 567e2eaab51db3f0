"""Moves of all vaults to another engine, and comparison of their counts and searches afterwards."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from vaultseek.base import limits, paths
from vaultseek.base.model import JSON
from vaultseek.core.indexing.open_vault import Advance, OpenVault
from vaultseek.core.library import search
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.methods.access import Find, about_vault, whole
from vaultseek.daemon.methods.subscribers import Subscribers
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.errors import Unavailable, UsageError
from vaultseek.protocol.messages import params
from vaultseek.protocol.wire.context import RequestContext
from vaultseek.settings.toml import set_key
from vaultseek.settings.watch import SettingsFile
from vaultseek_server.daemon.comparison import compare, refill
from vaultseek_server.settings import EMBEDDED, EngineKeys, engine_of, index_of

POLL_SECONDS = 0.2
SEARCHES, FEWEST_SEARCHES = 20, 5
"""Number of searches made both before and after a move, for all vaults together, and the minimum number per
vault."""
SEARCH_WORDS, LEAST_CHARS = 3, 4
"""Number of words in a search, and minimum number of letters in each word."""
FIRST_NOTES = 10
LEAST_SHARE = 0.9
"""Minimum share of notes that the searches must find again after a move. Only each search's first notes
count."""
TRIES = 10
"""Maximum number of times that a search is repeated while part of the search is unavailable."""
_WORD = re.compile(r"[^\W\d_]+")


@dataclass
class VaultBefore:
    """State of a vault before a move."""

    searches: list[tuple[str, list[str]]] = field(default_factory=list)
    """Queries, each with the paths of its first notes."""
    unsearched: str | None = None
    """The reason why the vault could not be searched before the move, or None."""
    is_second_full: bool = False


@dataclass(frozen=True)
class Record:
    """Record that lets an interrupted move continue: the target engine, the former engine, and the state of
    each vault, by folder, before the move."""

    to: str
    former: str | None = None
    vaults: dict[str, VaultBefore] = field(default_factory=dict)


@cache
def _record() -> TypeAdapter[Record]:
    return TypeAdapter(Record)  # slow, so not while the daemon starts


class Mover:
    """Moves of vaults between engines. Only one move runs at a time. It continues if its client
    disconnects."""

    def __init__(
        self,
        file: SettingsFile,
        registry: VaultRegistry,
        find: Find,
        follow_settings: Callable[[], Awaitable[None]],
        subscribers: Subscribers,
    ) -> None:
        self._file = file
        self._registry = registry
        self._find = find
        self._follow_settings = follow_settings
        self._subscribers = subscribers
        self._file_of_record = paths.state_directory() / "backend-migration.json"
        self._moving: tuple[tuple[str | None, ...], asyncio.Task[JSON]] | None = None

    async def move(self, call: params.MoveParams, context: RequestContext) -> JSON:
        """Move the vaults, or join the running move; answer once the engines have been compared."""
        if call.progress:
            self._subscribers.add(context, None)
        asked = call.to, call.uri, call.vault
        if self._moving is None or self._moving[1].done():
            self._moving = asked, asyncio.create_task(self._move(call))
        elif self._moving[0] != asked:
            raise Unavailable(
                "the vaults are already being moved; run the same command to wait until they have moved"
            )
        return await asyncio.shield(self._moving[1])

    async def _move(self, call: params.MoveParams) -> JSON:
        if call.uri is not None and call.to == EMBEDDED:
            raise UsageError("the embedded engine has no address; leave out the address")
        await self._follow_settings()
        was = index_of(self._registry.settings)
        index = was.model_copy(update={"backend": call.to, "uri": was.uri if call.uri is None else call.uri})
        roots = await self._roots(call)
        record = self._read_record()
        if index.engine != was.engine:
            await self._check(index)
            vaults_before = {str(root): await self._prepare(root, was, len(roots)) for root in roots}
            record = Record(_place(index), None if was.engine is None else _place(was), vaults_before)
            paths.private_directory(self._file_of_record.parent)
            paths.write_atomically(self._file_of_record, _record().dump_json(record).decode())
            await self._choose(index, was)
        elif record.to != _place(index):
            record = Record("")
        vaults = [await self._compared(root, record.vaults.get(str(root), VaultBefore())) for root in roots]
        again = [search for vault in vaults for search in vault["searches"]]
        share = sum(each["again"] for each in again), sum(each["notes"] for each in again)
        is_same = all(vault["same"] for vault in vaults) and share[0] >= LEAST_SHARE * share[1]
        if is_same:
            self._file_of_record.unlink(missing_ok=True)
        return {
            "engine": call.to,
            "place": index.engine and index.engine.place,
            "former": record.former,
            "was_there": not record.to,
            "same": is_same,
            "vaults": vaults,
        }

    async def _roots(self, call: params.MoveParams) -> list[Path]:
        if not self._registry.hosting.has_folders:
            text = "this daemon is a searcher and has no vaults to move; run the command on its indexers"
            raise UsageError(text)
        if call.vault is not None:
            return [whole(await self._find(call)).vault.options.root]
        configured = [vault.path for vault in self._registry.settings.vaults]
        opened = [follower.vault.options.root for follower in self._registry.followers]
        return list(dict.fromkeys((*configured, *opened)))

    def _read_record(self) -> Record:
        with suppress(OSError, ValueError):
            return _record().validate_json(self._file_of_record.read_bytes())
        return Record("")

    # -- before ----------------------------------------------------------------------------------------

    async def _check(self, index: EngineKeys) -> None:
        """Raise ConfigError or Unavailable if the target engine cannot be used."""
        if index.engine is not None:
            from vaultseek_server.engines.administration import probe_engine

            index.engine.check()
            try:
                await asyncio.to_thread(probe_engine, index.engine)
            except Unavailable as error:
                raise Unavailable(f"{error}; nothing was changed") from None

    async def _prepare(self, root: Path, was: EngineKeys, vaults: int) -> VaultBefore:
        """Wait until a vault is indexed, and record the results of some searches in it. After that, the
        former engine is no longer needed."""
        before = VaultBefore()
        try:
            follower = await self._registry.find(str(root), None)
            if follower.vault.engine.outage is not None:
                raise follower.vault.engine.outage
            vault = (await self._ready(root, before)).vault
            before.is_second_full = vault.spaces.as_json().get("second_notes_left") == 0
            for query in await asyncio.to_thread(_queries, vault, max(FEWEST_SEARCHES, SEARCHES // vaults)):
                before.searches.append((query, await _first_notes(vault, query)))
        except Unavailable as error:
            if was.engine is None:
                raise Unavailable(f"{error}; nothing was changed") from None
            before.unsearched = str(error)
        return before

    async def _choose(self, index: EngineKeys, was: EngineKeys) -> None:
        """Write the engine into the settings; restore the settings if the daemon cannot use the engine."""
        await self._write(index)
        await self._registry.open_configured(self._registry.settings, self._file.registry.paused)
        problems = [each.reason.text for each in self._registry.failed if each.state == "failing"]
        if engine_of(self._registry.settings) != index.engine:
            problems.append("an environment variable overrides the settings; unset it and restart the daemon")
        if problems:
            await self._write(was)
            reason = f"the daemon cannot use {_place(index)}, so nothing was changed: {problems[0]}"
            raise Unavailable(reason)

    async def _write(self, index: EngineKeys) -> None:
        for key in ("uri", "backend"):
            await asyncio.to_thread(set_key, self._file.path, "index", key, getattr(index, key))
        await self._follow_settings()

    # -- after -----------------------------------------------------------------------------------------

    async def _compared(self, root: Path, before: VaultBefore) -> JSON:
        """Compare a vault's engine with the ledger and with the earlier searches; refill the engine if it
        differs."""
        vault = (await self._ready(root, before)).vault
        comparison = await compare(vault)
        if not comparison.is_same and comparison.reason is None and vault.options.folder is not None:
            await refill(vault, comparison)
            vault = (await self._ready(root, before)).vault
            comparison = await compare(vault)
        searches = []
        for query, notes in before.searches:
            again = len(set(notes) & set(await _first_notes(vault, query)))
            searches.append({"query": query, "notes": len(notes), "again": again})
        compared = {
            "same": comparison.is_same,
            "reason": comparison.reason,
            "numbers": [number.as_json() for number in comparison.numbers],
            "searches": searches,
            "unsearched": before.unsearched,
        }
        return about_vault(vault, compared)

    async def _ready(self, root: Path, before: VaultBefore) -> VaultFollower:
        """Return a vault once its engine contains everything in the ledger. Raises Unavailable if there is no
        progress."""
        advance: Advance | None = None
        while True:
            follower = await self._registry.find(str(root), None)
            if advance is None or advance.vault is not follower.vault:
                advance = Advance(follower.vault)
            lack = await asyncio.to_thread(_lack, follower, before)
            if lack is None:
                return follower
            if follower.is_at_work():
                advance.wait()
            try:
                advance.check(lack)
            except Unavailable as error:
                raise Unavailable(
                    f"{follower.vault.name}: {error}; run the command again to continue"
                ) from None
            await asyncio.sleep(POLL_SECONDS)


def _place(index: EngineKeys) -> str:
    return f"{index.engine.title} at {index.engine.place}" if index.engine else "the embedded engine"


def _lack(follower: VaultFollower, before: VaultBefore) -> str | None:
    """Describe the content that the engine lacks; None if it contains everything that it can contain."""
    vault, status = follower.vault, follower.status().as_json()
    words, meaning = status["lanes"]["keyword"], status["lanes"]["semantic"]
    if status["state"] not in ("ready", "polling", "paused", "vault_missing"):
        return str(status["reason"] or "notes have not been read yet")
    if not words["up"] or not vault.engine.is_synced:
        return str(words["reason"] or "notes have not reached the engine yet")
    if meaning["code"] == "model_unusable":
        return None
    for_good = sum(vault.embedding.unembedded.pending_without_vectors()) if vault.options.paused else 0
    if not meaning["up"] or status["pending"] > for_good:
        return str(meaning["reason"] or "vectors have not been stored yet")
    if before.is_second_full and status["models"].get("second_notes_left") != 0:
        return "vectors from the second model have not been stored yet"
    return None


def _queries(vault: OpenVault, most: int) -> list[str]:
    """Return queries that consist of words from some notes, chosen with a fixed random seed. Titles would be
    too easy to find."""
    source = random.Random(0)
    notes = [row[0] for row in vault.ledger.select("SELECT id FROM notes ORDER BY path")]
    queries = []
    for note in source.sample(notes, min(most, len(notes))):
        text = " ".join(row.text for row in vault.ledger.chunks.rows([note]))
        words = sorted({word for word in _WORD.findall(text) if len(word) >= LEAST_CHARS})
        queries.append(" ".join(source.sample(words, min(len(words), SEARCH_WORDS))))
    return [query for query in queries if query]


async def _first_notes(vault: OpenVault, query: str) -> list[str]:
    """Return the paths of the first notes for a query, found by all kinds of search if they answer in
    time."""
    for _ in range(TRIES):
        answer = await search(vault, query, limit=FIRST_NOTES, plain=True)
        if not any(
            part["code"] in ("loading", "deadline", "worker_unavailable") for part in answer["partial"]
        ):
            break
        await asyncio.sleep(limits.RETRY_SECONDS)
    return [each["path"] for each in answer["results"]]
