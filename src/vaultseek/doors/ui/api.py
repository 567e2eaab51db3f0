"""The page's questions: JSON in, JSON out, answered by the daemon; nothing can be changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from vaultseek import __version__
from vaultseek.base import paths
from vaultseek.base.limits import REPORT_BYTES
from vaultseek.base.model import JSON
from vaultseek.base.text import quote
from vaultseek.content.files.obsidian import has_obsidian
from vaultseek.doors.ui.answer_graph import NODES, Place, answer_graph
from vaultseek.doors.ui.pictures import Picture, read_picture
from vaultseek.doors.ui.reader import read_note
from vaultseek.errors import NotFound, UsageError

Ask = Callable[[str, JSON], Awaitable[JSON]]
OpenEditor = Callable[[str, JSON], object]
"""Function that opens the note of a result, of a vault's folder, in the editor's own window."""

METHODS = frozenset(
    {
        "complete",
        "index/status",
        "links/backlinks",
        "links/unlinked",
        "links/unresolved",
        "note/related",
        "search",
        "search/all",
        "search/why",
        "vault/orphans",
    }
)
"""Methods of the protocol that the page may call: those that read."""
OF_NO_VAULT = frozenset({"index/status", "search/all"})
SUPERSEDED = {"superseded": True}
"""Answer to a call whose place another one has taken."""
TURNS = 100
"""Tabs whose running search is remembered."""


class API:
    """The answers to the page, by name; each takes the body of a request and raises VaultseekError."""

    def __init__(self, ask: Ask, vault: str | None, editor: str | None, open_editor: OpenEditor) -> None:
        self._ask = ask
        self._vault = vault
        self._editor = editor
        self._open_editor = open_editor
        self._folders: set[str] = set()
        self._turns: dict[str, asyncio.Task[JSON]] = {}

    async def about(self, body: JSON) -> JSON:
        """Return what the page shows first: the vaults, which of them is meant, the editor."""
        vaults = await self._ask("vault/list", {})
        return {
            "version": __version__,
            "vaults": [
                {
                    "name": vault["name"],
                    "path": vault["path"],
                    "obsidian": has_obsidian(Path(vault["path"])),
                }
                for vault in vaults["vaults"]
            ],
            "vault": self._vault,
            "editor": self._editor,
        }

    async def call(self, body: JSON) -> JSON:
        """Return the daemon's answer to a method; with ``turn``, instead of the former call of that turn."""
        method, params = _text(body, "method"), body.get("params")
        if method not in METHODS or not isinstance(params, dict):
            raise UsageError(f"the page may not call {quote(method)}; use the socket")
        if method not in OF_NO_VAULT:
            params = {**params, "vault": await self._known(_text(params, "vault"))}
        turn = body.get("turn")
        if not isinstance(turn, str):
            return await self._ask(method, params)
        return await self._in_turn(turn, method, params)

    async def note(self, body: JSON) -> JSON:
        """Return a note as HTML, or the part of it that ``anchor`` names."""
        vault = await self._known(_text(body, "vault"))
        return await read_note(
            self._ask,
            vault,
            _text(body, "note"),
            str(body.get("anchor") or ""),
            line=_count(body, "line"),
            column=_count(body, "column"),
            at=str(body.get("at") or ""),
        )

    async def picture(self, body: JSON) -> Picture:
        """Return a picture of a vault."""
        root = Path(await self._known(_text(body, "vault")))
        return await asyncio.to_thread(read_picture, root, _text(body, "path"))

    async def graph(self, body: JSON) -> JSON:
        """Return the graph of the notes in ``notes``, each with its vault and path."""
        notes = body.get("notes")
        if not isinstance(notes, list):
            raise UsageError("notes must be a list")
        places = [
            Place(await self._known(_text(note, "vault")), _text(note, "path"))
            for note in notes[:NODES]
            if isinstance(note, dict)
        ]
        return await answer_graph(places, self._ask)

    async def report(self, body: JSON) -> JSON:
        """Return the last measurement of a vault, with its time; null if there is none."""
        root = Path(await self._known(_text(body, "vault")))
        return await asyncio.to_thread(_report, paths.evaluation_directory(root) / paths.REPORT)

    async def open(self, body: JSON) -> JSON:
        """Open a note in the editor."""
        if self._editor is None:
            raise UsageError("no editor with a window of its own is set; set $VISUAL to one, such as `code`")
        vault = await self._known(_text(body, "vault"))
        note = await self._ask("note/get", {"vault": vault, "note": _text(body, "note"), "end_line": 1})
        place = {"path": note["path"], "line": _count(body, "line")}
        await asyncio.to_thread(self._open_editor, note["vault_path"], place)
        return {}

    async def _known(self, vault: str) -> str:
        """Return the folder of a vault that the daemon has; the page cannot make it index another."""
        if vault not in self._folders:
            answer = await self._ask("vault/list", {})
            self._folders = {each["path"] for each in answer["vaults"]}
            if vault not in self._folders:
                raise NotFound(f"no vault {quote(vault)}; `vaultseek vault list` names them")
        return vault

    async def _in_turn(self, turn: str, method: str, params: JSON) -> JSON:
        former = self._turns.pop(turn, None)
        if former is not None:
            former.cancel()
        if len(self._turns) >= TURNS:
            self._turns.pop(next(iter(self._turns))).cancel()
        task = asyncio.create_task(_answer(self._ask, method, params))
        self._turns[turn] = task
        try:
            return await task
        except asyncio.CancelledError:
            return SUPERSEDED
        finally:
            if self._turns.get(turn) is task:
                del self._turns[turn]


async def _answer(ask: Ask, method: str, params: JSON) -> JSON:
    return await ask(method, params)


def _text(body: Any, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise UsageError(f"{name} must be a text")
    return value


def _count(body: Any, name: str) -> int:
    value = body.get(name)
    return value if isinstance(value, int) and value > 0 else 1


def _report(file: Path) -> JSON:
    try:
        return {"report": paths.read_json(file, REPORT_BYTES), "time": file.stat().st_mtime}
    except (OSError, ValueError):
        return {"report": None}
