"""Moving the vaults to another engine: check it, choose it, wait until it is filled, compare."""

from __future__ import annotations

import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from vaultseek.base import limits, paths
from vaultseek.base.model import JSON
from vaultseek.doors.cli.connect import connect, daemon_pid
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.progress import progress
from vaultseek.errors import Cancelled, ConfigError, NotFound, Unavailable, UsageError
from vaultseek.settings.engine import EMBEDDED

POLL_SECONDS = 0.5
STALLED_SECONDS = 30.0
"""Time without progress after which a problem that a vault reports ends the wait."""
FULL_SECONDS = 12.0
"""The same for a full disk: a little longer than the pause before the daemon tries again."""
IDLE_STATES = ("paused", "vault_missing")
"""States in which the folder is not watched; the index is copied all the same."""
SEARCHES = 20
"""Searches that are compared before and after a move; fewer in each vault if there are several."""
FEWEST_SEARCHES = 5
EVERY_NOTE = "after:1900"
LISTED = 200
FIRST_NOTES = 10
SEARCH_WORDS, LEAST_CHARS = 3, 4
"""Words of a search, and letters of each."""
_WORD = re.compile(r"[^\W\d_]+")
LEAST_SHARE = 0.9
"""Share of the first notes that the same searches have to find again."""
SETTLE_SECONDS = 3.0
"""Time without a change after which differing numbers count as final."""
VERIFY_SECONDS = 600.0
"""Time for an engine to count its notes and vectors."""
LEAVE_SECONDS = 5.0
"""The same for an engine that the vaults leave."""
_TEMPORARY = ("loading", "unavailable", "worker_unavailable", "behind", "deadline")
"""Codes of a lane that is missing temporarily."""
MOST_STARTS = 4
"""Restarts of a daemon that has never answered before the command gives up."""
MOST_RESTARTS = 5
"""Restarts of the daemon during one move before the command gives up."""


@dataclass
class VaultMove:
    """A vault: its searches before the move, and the numbers of its engine after it."""

    name: str
    path: str
    address: str
    """The vault in a request: its name if the settings know it, else its folder."""
    is_second_full: bool = False
    searches: list[tuple[str, list[str]]] = field(default_factory=list)
    """Queries, and the first notes of each."""
    search_failure: str | None = None
    """The reason why no searches were made before the move."""
    verified: JSON = field(default_factory=dict)
    """The last answer of ``index/verify``."""
    found_again: list[int] = field(default_factory=list)
    """For each search, the number of its first notes that are found again after the move."""

    def is_synced(self, status: JSON) -> bool:
        """True if the engine has all that the ledger has, by the status of the vault."""
        if not _has_words(status) or _has_no_model(status):
            return _has_words(status)
        left = status["models"].get("second_notes_left")
        return (
            status["lanes"]["semantic"]["up"]
            and (status["state"] == "paused" or not status["pending"])
            and (not self.is_second_full or left == 0)
        )


class EngineMove:
    """A move of all vaults to an engine; ``vaults`` are those that the command waits for."""

    def __init__(self, invocation: Invocation, target: str, uri: str | None, *, quiet: bool) -> None:
        """Read the settings. Raises ConfigError or UsageError."""
        from vaultseek.settings.load import load

        if uri is not None and target == EMBEDDED:
            raise UsageError("--uri goes with another engine than the embedded one; leave it out")
        self._invocation = invocation
        self._quiet = quiet
        self._pid: int | None = None
        self._restarts = 0
        self._retry_until = 0.0
        self._file = invocation.config or paths.config_file()
        self._record = paths.state_directory() / "backend-migration.json"
        index = load(self._file if self._file.exists() else None).index
        self._uri = index.uri if uri is None else uri
        self.target = target
        self.engine = index.model_copy(update={"backend": target, "uri": self._uri}).engine
        self.was = index.engine
        self.vaults: list[VaultMove] = []
        if self.engine is not None:
            self.engine.check()
        _refuse_variables(self._file, target, self._uri)

    @property
    def place(self) -> str:
        """The engine in words."""
        return f"{self.engine.title} at {self.engine.place}" if self.engine else "the embedded engine"

    @property
    def is_there(self) -> bool:
        """True if the settings already name this engine."""
        return self.engine == self.was

    @property
    def is_same(self) -> bool:
        """True if the engine has what each ledger has, and searches find most of what they found before."""
        before = sum(len(notes) for vault in self.vaults for _, notes in vault.searches)
        again = sum(sum(vault.found_again) for vault in self.vaults)
        return all(vault.verified["same"] for vault in self.vaults) and again >= LEAST_SHARE * before

    def run(self) -> None:
        """Move and compare, or continue an interrupted move. Raises ConfigError or Unavailable."""
        self.vaults = [_vault(each) for each in self._listed()]
        if self.is_there:
            self._read_record()
        else:
            self._check_engine()
            self._prepare()
            self._write_record()
        try:
            if not self.is_there:
                self._choose()
            self._finish()
        except KeyboardInterrupt:
            if not self._quiet:
                print("the daemon continues; run the command again to compare at the end", file=sys.stderr)
            raise

    def _finish(self) -> None:
        for vault in self.vaults:
            try:
                self._wait(vault, vault.is_synced)
            except Unavailable as error:
                raise Unavailable(f"{error}; run the command again to continue") from None
        self._retry_until = time.monotonic() + STALLED_SECONDS
        for vault in self.vaults:
            vault.verified = self._verify(vault)
        for vault in self.vaults:
            vault.found_again = [
                len(set(notes) & set(self._first_notes(vault, query))) for query, notes in vault.searches
            ]
        if self.is_same:
            self._record.unlink(missing_ok=True)

    # -- before ----------------------------------------------------------------------------------------

    def _listed(self) -> list[JSON]:
        wanted = None
        if self._invocation.vault is not None:
            wanted = self._call("index/status", self._invocation.params())["vaults"][0]["path"]
        listed: list[JSON] = self._call("vault/list", {})["vaults"]
        copies = paths.data_directory() / "shards"
        if any(Path(each["path"]).is_relative_to(copies) for each in listed):
            raise UsageError(
                "the daemon is a searcher, and has no vaults to move; move those of its indexers"
            )
        return [each for each in listed if wanted in (None, each["path"])]

    def _check_engine(self) -> None:
        """Raise ConfigError or Unavailable if the engine cannot be used."""
        from vaultseek.engines.administration import probe_engine

        if self.engine is not None:
            try:
                probe_engine(self.engine)
            except Unavailable as error:
                raise Unavailable(f"{error}; nothing was changed") from None

    def _prepare(self) -> None:
        """Wait until all is indexed, and search for words of some notes.

        The former engine need not answer any more: the ledger has everything.
        """
        for vault in self.vaults:
            try:
                self._wait(vault, _is_settled, STALLED_SECONDS if self.was is None else LEAVE_SECONDS)
            except Unavailable as error:
                if self.was is None:
                    raise Unavailable(f"{error}; nothing was changed") from None
                vault.search_failure = str(error)
        for vault in self.vaults:
            status = self._status(vault)
            vault.is_second_full = status["models"].get("second_notes_left") == 0
            if vault.search_failure is None:
                try:
                    vault.searches = self._sample(vault)
                except Unavailable as error:
                    vault.search_failure = str(error)

    def _sample(self, vault: VaultMove) -> list[tuple[str, list[str]]]:
        asked = {"vault": vault.address, "query": EVERY_NOTE, "limit": LISTED, "brief": True}
        listed = self._call("search", asked)["results"]
        most = max(FEWEST_SEARCHES, SEARCHES // len(self.vaults))
        step = max(1, len(listed) // most)
        queries = [self._words_of(vault, str(each["path"])) for each in listed[::step][:most]]
        return [(query, self._first_notes(vault, query)) for query in queries]

    def _words_of(self, vault: VaultMove, note: str) -> str:
        """Return some words of a note, chosen at random but always the same: titles are found too easily."""
        text = ""
        with suppress(NotFound):  # the folder is missing
            text = str(self._call("note/get", {"vault": vault.address, "note": note})["text"])
        words = sorted({word for word in _WORD.findall(text) if len(word) >= LEAST_CHARS})
        chosen = random.Random(note).sample(words, min(len(words), SEARCH_WORDS))
        return " ".join(chosen) or Path(note).stem

    def _first_notes(self, vault: VaultMove, query: str) -> list[str]:
        """Return the first notes for a query, of all lanes if these answer in time."""
        asked = {"vault": vault.address, "query": query, "limit": FIRST_NOTES, "plain": True}
        while True:
            answer = self._call_with_retries("search", asked)
            is_whole = not any(part["code"] in _TEMPORARY for part in answer["partial"])
            if is_whole or time.monotonic() >= self._retry_until:
                return [each["path"] for each in answer["results"]]
            time.sleep(POLL_SECONDS)

    def _choose(self) -> None:
        """Write the engine into the settings; restore these if the daemon cannot use it."""
        from vaultseek.settings.toml import set_key

        before = self._file.read_text() if self._file.exists() else None
        if self.engine is not None:
            set_key(self._file, "index", "uri", self._uri)
        set_key(self._file, "index", "backend", self.target)
        for vault in self.vaults:
            status = self._status(vault)
            if status["state"] == "failing" and not status["models"]:  # it could not be opened
                self._restore(before)
                raise Unavailable(
                    f"the daemon cannot use {self.place}, so nothing was changed: {status['reason']}"
                )

    def _restore(self, before: str | None) -> None:
        file = Path(os.path.realpath(self._file))
        if before is None:
            file.unlink(missing_ok=True)
        else:
            paths.write_atomically(file, before, file.stat().st_mode & 0o777)

    # -- the daemon ------------------------------------------------------------------------------------

    def _wait(
        self, vault: VaultMove, is_done: Callable[[JSON], bool], seconds: float = STALLED_SECONDS
    ) -> None:
        with progress(color=self._invocation.color, quiet=self._quiet, after=1.0) as show:
            for status in _until(is_done, lambda: self._status(vault), seconds):
                show(_copying(status))

    def _status(self, vault: VaultMove) -> JSON:
        status: JSON = self._call("index/status", {"vault": vault.address})["vaults"][0]
        return status

    def _verify(self, vault: VaultMove) -> JSON:
        """Compare the numbers; an engine with other numbers is filled again, once."""
        answer = self._verified(vault)
        if answer["same"] or answer["reason"]:
            return answer
        again = self._call("index/verify", {"vault": vault.address, "repair": True})
        if again["filled_again"]:
            self._wait(vault, vault.is_synced)
            self._retry_until = time.monotonic() + STALLED_SECONDS
        return self._verified(vault)

    def _verified(self, vault: VaultMove) -> JSON:
        """Compare the numbers until they agree or no longer change."""
        numbers: JSON | None = None
        deadline = 0.0
        while True:
            answer = self._call_with_retries("index/verify", {"vault": vault.address})
            if answer["engine"] != self.target or answer["place"] != (self.engine and self.engine.place):
                place = answer["place"] or "the embedded engine"
                raise Unavailable(f"the daemon uses {place} instead; {self._advice()}")
            if answer["numbers"] != numbers:
                numbers, deadline = answer["numbers"], time.monotonic() + SETTLE_SECONDS
            if answer["same"] or answer["reason"] or time.monotonic() > deadline:
                return answer
            time.sleep(POLL_SECONDS)

    def _advice(self) -> str:
        if {"VAULTSEEK_INDEX__BACKEND", "VAULTSEEK_INDEX__URI"} & os.environ.keys():
            return "restart it without VAULTSEEK_INDEX__BACKEND and VAULTSEEK_INDEX__URI"
        return "another command has moved the vaults meanwhile; run this one again"

    def _call_with_retries(self, method: str, params: JSON) -> JSON:
        """Call the daemon again while the engine does not answer: it may be restarting."""
        while True:
            try:
                return self._call(method, params)
            except Unavailable:
                if time.monotonic() >= self._retry_until:
                    raise
                time.sleep(POLL_SECONDS)

    def _call(self, method: str, params: JSON) -> JSON:
        """Call the daemon; one that has ended is started again, and continues the move."""
        while True:
            try:
                with connect(self._invocation) as client:
                    self._pid = daemon_pid()
                    answer: JSON = client.call(method, params, timeout=VERIFY_SECONDS)
            except (Cancelled, Unavailable):
                now = daemon_pid()
                is_the_same = now is not None and now == self._pid
                if is_the_same or self._restarts >= (MOST_STARTS if self._pid is None else MOST_RESTARTS):
                    raise
                self._restarts += 1
                time.sleep(limits.DAEMON_POLL_SECONDS)
            else:
                return answer

    # -- an interruption -------------------------------------------------------------------------------

    def _write_record(self) -> None:
        before = {"to": self.place, "vaults": [asdict(vault) for vault in self.vaults]}
        paths.private_directory(self._record.parent)
        paths.write_atomically(self._record, json.dumps(before))

    def _read_record(self) -> None:
        """Continue an interrupted move to this engine: read what the vaults were like before it."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            value = paths.read_json(self._record)
            known = TypeAdapter(list[VaultMove]).validate_python(value["vaults"])
            before = {vault.path: vault for vault in known if value["to"] == self.place}
            self.vaults = [
                replace(before.get(each.path, each), name=each.name, address=each.address)
                for each in self.vaults
            ]


def _vault(listed: JSON) -> VaultMove:
    is_known = listed["from"] in ("config", "added")
    return VaultMove(listed["name"], listed["path"], listed["name"] if is_known else listed["path"])


def _refuse_variables(file: Path, target: str, uri: str) -> None:
    """Raise ConfigError if an environment variable overrides the setting that is to be written."""
    wanted = {"VAULTSEEK_INDEX__BACKEND": target} | (
        {"VAULTSEEK_INDEX__URI": uri} if target != EMBEDDED else {}
    )
    for variable, value in wanted.items():
        if os.environ.get(variable, value) != value:
            raise ConfigError(
                f"{variable} is set and overrides {file}; run `unset {variable}`, then restart the daemon"
            )


# -- the status of a vault


def _until(
    is_done: Callable[[JSON], bool], ask: Callable[[], JSON], stalled_seconds: float = STALLED_SECONDS
) -> Iterator[JSON]:
    """Yield the status of a vault until it is done.

    Raises Unavailable if the vault reports a problem and makes no progress for ``stalled_seconds``.
    """
    last: Any = None
    since = time.monotonic()
    while True:
        status = ask()
        if is_done(status):
            return
        yield status
        now = status["state"], status["pending"], status["revision"], status["lanes"]["keyword"]["up"]
        if now != last:
            last, since = now, time.monotonic()
        problem = _problem_of(status)
        seconds = FULL_SECONDS if status["state"] == "disk_full" else stalled_seconds
        if problem is not None and time.monotonic() - since > seconds:
            raise Unavailable(f"{status['name']} waits: {problem}")
        time.sleep(POLL_SECONDS)


def _problem_of(status: JSON) -> str | None:
    lanes = (lane["reason"] for lane in status["lanes"].values() if lane["code"] in ("behind", "unavailable"))
    own = None if status["state"] in IDLE_STATES else status["reason"]
    return next((str(reason) for reason in (own, *lanes) if reason), None)


def _is_settled(status: JSON) -> bool:
    """True if all notes are indexed and embedded, or nothing would do that."""
    if status["state"] in IDLE_STATES:
        return True
    is_embedded = not status["pending"] and status["lanes"]["semantic"]["up"]
    return _has_words(status) and (is_embedded or _has_no_model(status))


def _has_words(status: JSON) -> bool:
    """True if all notes of the ledger can be found by word."""
    return status["state"] in ("ready", "polling", *IDLE_STATES) and bool(status["lanes"]["keyword"]["up"])


def _has_no_model(status: JSON) -> bool:
    """True if the vectors cannot be computed with these settings."""
    return bool(status["lanes"]["semantic"]["code"] == "model_unusable")


def _copying(status: JSON) -> JSON:
    """Return the progress of copying a vault, as ``progress`` shows it."""
    if not _has_words(status):
        return {"vault": status["name"], "phase": "reading", "share": 0.0, "doing": "copying notes"}
    texts = max(1, status["notes"] + status["chunks"])
    left = min(texts, status["pending"])
    doing = f"{'computing' if status['rate'] else 'copying'} vectors, {left:,} of {texts:,} left"
    return {
        "vault": status["name"],
        "phase": "embedding",
        "share": min(1 - left / texts, 0.99),
        "doing": doing,
    }
