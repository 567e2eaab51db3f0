"""Moving the vaults to another engine: look first, choose it, wait until it has everything, compare."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from vaultseek.base import limits, paths
from vaultseek.base.model import JSON
from vaultseek.doors.cli.connect import connect, daemon_pid
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.progress import progress
from vaultseek.doors.cli.vault_wait import (
    POLL_SECONDS,
    STALLED_SECONDS,
    copying,
    has_no_model,
    has_words,
    is_settled,
    is_unopened,
    until,
)
from vaultseek.errors import Cancelled, ConfigError, Unavailable, UsageError
from vaultseek.settings.engine import EMBEDDED, MILVUS

SEARCHES = 20
"""Searches before and after a move, whose results are compared; fewer of each vault if there are several."""
FEWEST_SEARCHES = 5
EVERY_NOTE = "after:1900"
LISTED = 200
FIRST_NOTES = 10
LEAST_SHARE = 0.9
"""Share of the first notes of before that the same searches have to give again."""
SETTLE_SECONDS = 3.0
"""Time without a change after which numbers that differ will not agree by themselves."""
VERIFY_SECONDS = 600.0
"""Time for an engine to count what it has."""
LEAVE_SECONDS = 5.0
"""Patience with an engine that is left anyway."""
_SOON = ("loading", "unavailable", "worker_unavailable", "behind", "deadline")
"""Reasons for which a lane is missing for a moment."""
MOST_STARTS = 4
"""Daemons that may end before they answer at all."""
MOST_RESTARTS = 5
"""Daemons that may end during one move before the command gives up."""


@dataclass
class VaultMove:
    """A vault, how it was before the move, and what its engine has after it."""

    name: str
    path: str
    address: str
    """The vault in a request: its name if the settings know it, else its folder."""
    is_second_full: bool = False
    searches: list[tuple[str, list[str]]] = field(default_factory=list)
    """Queries, and the first notes of each."""
    unsearched: str | None = None
    """The reason why there are no searches of before."""
    verified: JSON = field(default_factory=dict)
    """The last answer of ``index/verify``."""
    again: list[int] = field(default_factory=list)
    """Of each search, how many of its first notes it gives again."""

    def is_level(self, status: JSON) -> bool:
        """True if the engine has all that the ledger has, as far as the status tells."""
        if not has_words(status) or has_no_model(status):
            return has_words(status)
        left = status["models"].get("second_notes_left")
        return (
            status["lanes"]["semantic"]["up"]
            and (status["state"] == "paused" or not status["pending"])
            and (not self.is_second_full or left == 0)
        )

    def remembered(self) -> JSON:
        """Return what has to outlast an interruption."""
        names = ("is_second_full", "searches", "unsearched")
        return {name: getattr(self, name) for name in names}

    def remember(self, value: JSON) -> None:
        """Take over what was known before an interruption. Raises KeyError, TypeError or ValueError."""
        searches = [(str(query), [str(note) for note in notes]) for query, notes in value["searches"]]
        self.is_second_full = bool(value["is_second_full"])
        self.searches, self.unsearched = searches, value["unsearched"]


class EngineMove:
    """A move of the vaults of the settings to an engine; ``vaults`` are those that are waited for."""

    def __init__(self, invocation: Invocation, target: str, uri: str | None, *, quiet: bool) -> None:
        """Read the settings. Raises ConfigError or UsageError."""
        from vaultseek.settings.load import load

        if uri is not None and target == EMBEDDED:
            raise UsageError("--uri goes with --to milvus; leave it out")
        self._invocation = invocation
        self._quiet = quiet
        self._pid: int | None = None
        self._restarts = 0
        self._patient_until = 0.0
        self._file = invocation.config or paths.config_file()
        self._record = paths.state_directory() / "backend-migration.json"
        index = load(self._file if self._file.exists() else None).index
        self._uri = index.uri if uri is None else _whole(uri)
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
        return f"Milvus at {self.engine.place}" if self.engine else "the embedded engine"

    @property
    def is_there(self) -> bool:
        """True if the settings name this engine already."""
        return self.engine == self.was

    @property
    def share_again(self) -> float:
        """The share of the notes of the searches before that these give again; 1 without any."""
        before = sum(len(notes) for vault in self.vaults for _, notes in vault.searches)
        return sum(sum(vault.again) for vault in self.vaults) / before if before else 1.0

    @property
    def is_same(self) -> bool:
        """True if each engine has what its ledger has, and searches give what they gave before."""
        return all(vault.verified["same"] for vault in self.vaults) and self.share_again >= LEAST_SHARE

    def run(self) -> None:
        """Move and compare; what was interrupted goes on. Raises ConfigError or Unavailable."""
        self.vaults = [_vault(each) for each in self._listed()]
        if self.is_there:
            self._read_record()
        else:
            self._look()
            self._prepare()
            self._write_record()
        try:
            if not self.is_there:
                self._choose()
            self._finish()
        except KeyboardInterrupt:
            if not self._quiet:
                print("the daemon goes on; run the command again to compare in the end", file=sys.stderr)
            raise

    def _finish(self) -> None:
        for vault in self.vaults:
            try:
                self._wait(vault, vault.is_level)
            except Unavailable as error:
                raise Unavailable(f"{error}; run the command again, it goes on where it was") from None
        self._patient_until = time.monotonic() + STALLED_SECONDS
        for vault in self.vaults:
            vault.verified = self._verify(vault)
        for vault in self.vaults:
            vault.again = [
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

    def _look(self) -> None:
        """Raise ConfigError or Unavailable if the engine cannot be used."""
        from vaultseek.engines.administration import look_at_engine

        if self.engine is not None:
            listed = self._call("vault/list", {})["vaults"]
            try:
                look_at_engine(self.engine, {str(each["name"]): Path(each["path"]) for each in listed})
            except Unavailable as error:
                raise Unavailable(f"{error}; nothing was changed") from None

    def _prepare(self) -> None:
        """Wait until all is indexed, and search for the titles of some notes.

        An engine that is left need not answer any more: the ledger has everything.
        """
        for vault in self.vaults:
            try:
                self._wait(vault, is_settled, STALLED_SECONDS if self.was is None else LEAVE_SECONDS)
            except Unavailable as error:
                if self.was is None:
                    raise Unavailable(f"{error}; nothing was changed") from None
                vault.unsearched = str(error)
        for vault in self.vaults:
            status = self._status(vault)
            vault.is_second_full = status["models"].get("second_notes_left") == 0
            if vault.unsearched is None:
                try:
                    vault.searches = self._sample(vault)
                except Unavailable as error:
                    vault.unsearched = str(error)

    def _sample(self, vault: VaultMove) -> list[tuple[str, list[str]]]:
        asked = {"vault": vault.address, "query": EVERY_NOTE, "limit": LISTED, "brief": True}
        listed = self._call("search", asked)["results"]
        most = max(FEWEST_SEARCHES, SEARCHES // len(self.vaults))
        step = max(1, len(listed) // most)
        titles = list(dict.fromkeys(str(each["title"]) for each in listed[::step]))[:most]
        return [(title, self._first_notes(vault, title)) for title in titles]

    def _first_notes(self, vault: VaultMove, query: str) -> list[str]:
        """Return the first notes for a query, of all lanes if these answer within a while."""
        asked = {"vault": vault.address, "query": query, "limit": FIRST_NOTES, "plain": True}
        while True:
            answer = self._patiently("search", asked)
            is_whole = not any(part["code"] in _SOON for part in answer["partial"])
            if is_whole or not self._has_patience():
                return [each["path"] for each in answer["results"]]
            time.sleep(POLL_SECONDS)

    def _choose(self) -> None:
        """Write the engine into the settings; if the daemon cannot use it, these are as before."""
        from vaultseek.settings.edit import set_key

        before = self._file.read_text() if self._file.exists() else None
        if self.engine is not None:
            set_key(self._file, "index", "uri", self._uri)
        set_key(self._file, "index", "backend", self.target)
        for vault in self.vaults:
            status = self._status(vault)
            if is_unopened(status):
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
            for status in until(is_done, lambda: self._status(vault), seconds):
                show(copying(status))

    def _status(self, vault: VaultMove) -> JSON:
        status: JSON = self._call("index/status", {"vault": vault.address})["vaults"][0]
        return status

    def _verify(self, vault: VaultMove) -> JSON:
        """Return how the numbers compare; an engine that has others is filled again, once."""
        answer = self._verified(vault)
        if answer["same"] or answer["reason"]:
            return answer
        again = self._call("index/verify", {"vault": vault.address, "repair": True})
        if again["filled_again"]:
            self._wait(vault, vault.is_level)
            self._patient_until = time.monotonic() + STALLED_SECONDS
        return self._verified(vault)

    def _verified(self, vault: VaultMove) -> JSON:
        """Return how the numbers compare when they agree, or change no more."""
        numbers: JSON | None = None
        deadline = 0.0
        while True:
            answer = self._patiently("index/verify", {"vault": vault.address})
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

    def _patiently(self, method: str, params: JSON) -> JSON:
        """Call the daemon again while an engine does not answer, which may be starting again."""
        while True:
            try:
                return self._call(method, params)
            except Unavailable:
                if not self._has_patience():
                    raise
                time.sleep(POLL_SECONDS)

    def _has_patience(self) -> bool:
        """True for a while, which begins anew where the work goes on."""
        return time.monotonic() < self._patient_until

    def _call(self, method: str, params: JSON) -> JSON:
        """Call the daemon; one that has ended meanwhile is started again, and goes on where it was."""
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
        vaults = {vault.path: vault.remembered() for vault in self.vaults}
        paths.private_directory(self._record.parent)
        paths.write_atomically(self._record, json.dumps({"to": self.place, "vaults": vaults}))

    def _read_record(self) -> None:
        """Take over what is known from before the move, if it was one to this engine."""
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            value = paths.read_json(self._record)
            if value["to"] == self.place:
                for vault in self.vaults:
                    if vault.path in value["vaults"]:
                        vault.remember(value["vaults"][vault.path])


def _vault(listed: JSON) -> VaultMove:
    is_known = listed["from"] in ("config", "added")
    return VaultMove(listed["name"], listed["path"], listed["name"] if is_known else listed["path"])


def _whole(uri: str) -> str:
    """Return an address; a file of Milvus Lite as a whole path."""
    if uri.endswith(".db") and "://" not in uri:
        return os.path.abspath(os.path.expanduser(uri))
    return uri


def _refuse_variables(file: Path, target: str, uri: str) -> None:
    """Raise ConfigError if a variable of the environment counts more than the file that is to be changed."""
    wanted = {"VAULTSEEK_INDEX__BACKEND": target} | (
        {"VAULTSEEK_INDEX__URI": uri} if target == MILVUS else {}
    )
    for variable, value in wanted.items():
        if os.environ.get(variable, value) != value:
            raise ConfigError(
                f"{variable} is set and counts more than {file}; run `unset {variable}`, then restart the "
                "daemon"
            )
