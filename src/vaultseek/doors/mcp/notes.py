"""The daemon's answers to an agent, limited to the notes that the agent's server may show."""

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.base.text import quote
from vaultseek.doors.addresses import Address, part, readings
from vaultseek.errors import BadPath, NotFound, UsageError, VaultMissing, VaultseekError

NEAREST_NAMES = 5
"""Maximum number of names suggested in the error for a missing note."""
NEAR_ENOUGH = 0.5
"""Minimum confidence for suggesting a note that was found by searching for the words in a missing note's
name."""

Ask = Callable[[str, JSON], Awaitable[JSON]]
"""Function that takes a method and its parameters and returns the daemon's answer. Raises VaultseekError."""


@dataclass(frozen=True, slots=True)
class Place:
    """The notes that a server may show: the notes in ``vault`` or, if ``vault`` is None, in the vault that
    contains ``cwd``."""

    vault: str | None
    cwd: str


class Notes:
    """The notes that a server may show, as the daemon returns them. All methods may raise VaultseekError."""

    def __init__(self, ask: Ask, place: Place) -> None:
        self._ask = ask
        self._place = place

    async def ask(self, method: str, params: JSON, vault: str | None) -> JSON:
        """Return the daemon's answer about ``vault``, or about the server's own vault if ``vault`` is
        None."""
        try:
            return await self._checked(method, params, vault)
        except NotFound as error:
            if "note" not in params:
                raise
            raise await self._no_note(params["note"], vault, error) from None

    async def status(self, vault: str | None) -> JSON:
        """Return the status of the daemon and of ``vault`` or, if ``vault`` is None, of all vaults that the
        server may show."""
        answer = await self._answer("index/status", {}, vault)
        self._check(vault, [item.get("name") for item in answer["vaults"]])
        return answer

    async def latest(self, limit: int) -> list[JSON]:
        """Return the most recently modified notes, each with its vault. Without a default vault, the notes
        come from all vaults."""
        params: JSON = {"query": "ext:md", "mode": "keyword", "limit": limit}
        try:
            answer = await self.ask("search", params, None)
        except UsageError:  # the error asks for a choice between several vaults
            if self._place.vault:
                raise
            answer = await self._ask("search/all", params)
        return [{"vault": answer.get("vault"), **result} for result in answer["results"]]

    async def read(self, name: str, vault: str | None) -> JSON:
        """Return the answer to ``note/get`` for the note, or the part of a note, that ``name`` specifies."""
        missing: VaultseekError | None = None
        no_part: NotFound | None = None
        for address in readings(name):
            try:
                about = await self._lines(address._replace(last=1), vault) if address.anchor else None
                try:
                    exact = address if about is None else await self._part(address.anchor, about, vault)
                except NotFound as error:
                    no_part = no_part or error
                    continue
                return await self._lines(exact, vault)
            except (NotFound, BadPath) as error:
                missing = missing or error
        if no_part is not None:
            raise no_part
        if isinstance(missing, NotFound):
            raise await self._no_note(name, vault, missing) from None
        raise missing or NotFound(f"no note matches {quote(name)}; search for these words")

    async def _lines(self, address: Address, vault: str | None) -> JSON:
        params: JSON = {"note": address.note, "start_line": address.first}
        if address.last is not None:
            params["end_line"] = address.last
        return await self._checked("note/get", params, vault)

    async def _part(self, anchor: str, about: JSON, vault: str | None) -> Address:
        """Return the address of a heading's section or, if ``anchor`` begins with a caret, of a block."""
        if not anchor.startswith("^"):
            return part(anchor, about)
        params = {"kind": "block", "note": about["path"], "text": anchor}
        return part(anchor, about, (await self.ask("complete", params, vault))["items"])

    async def _checked(self, method: str, params: JSON, vault: str | None) -> JSON:
        answer = await self._answer(method, params, vault)
        self._check(vault, [answer.get("vault")])
        return answer

    async def _answer(self, method: str, params: JSON, vault: str | None) -> JSON:
        try:
            return await self._ask(method, {**params, **self._which(vault)})
        except VaultMissing:
            if self._place.vault:
                # Do not reveal the names of other vaults to this agent.
                name = quote(self._place.vault)
                raise VaultMissing(f"the vault {name} is missing; ask the user to check the folder") from None
            if vault is None:
                raise
        # After a restart, the daemon does not know a vault's name until the vault has been opened by its
        # folder.
        with suppress(UsageError):
            await self._ask("search", {"query": "ext:md", "mode": "keyword", "limit": 1, **self._which(None)})
        return await self._ask(method, {**params, **self._which(vault)})

    async def _no_note(self, name: str, vault: str | None, error: NotFound) -> NotFound:
        """Return an error that suggests the paths of notes with names similar to ``name``, or ``error`` if
        there are no such notes."""
        if error.advice is None or error.advice["kind"] != "search":
            return error
        asked, names = quote(name), []
        with suppress(VaultseekError):
            name = name.partition("#")[0].strip() or name
            params: JSON = {"text": name[: limits.QUERY_CHARS], "limit": 2 * NEAREST_NAMES}
            items = (await self._answer("complete", params, vault))["items"]
            words = " ".join(re.findall(r"\w+", name))[: limits.QUERY_CHARS]
            if not items and words:
                params = {"query": words, "limit": NEAREST_NAMES}
                answer = await self._answer("search", params, vault)
                items = [each for each in answer["results"] if (each.get("confidence") or 0.0) >= NEAR_ENOUGH]
            names = list(dict.fromkeys(item["path"] for item in items))[:NEAREST_NAMES]
        nearest = ", ".join(map(quote, names))
        return NotFound(f"no note matches {asked}; the nearest are {nearest}") if names else error

    def _which(self, vault: str | None) -> JSON:
        if vault is not None and ("/" in vault or vault.startswith("~")):
            raise BadPath("the vault must be a name, not a folder; leave it out if you do not know the name")
        name = self._place.vault or vault
        return {"cwd": self._place.cwd, **({"vault": name} if name else {})}

    def _check(self, vault: str | None, names: list[Any]) -> None:
        if vault is None or self._place.vault is None:
            return
        if [str(name).casefold() for name in names] != [vault.casefold()]:
            raise UsageError(f"this server is for the vault {names[0]!r} only; leave out the vault")
