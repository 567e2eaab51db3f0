"""The page's API: JSON requests and responses, answered by the daemon. It cannot change notes."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from vaultseek import __version__
from vaultseek.base import paths
from vaultseek.base.limits import REPORT_BYTES
from vaultseek.base.model import JSON
from vaultseek.base.text import quote
from vaultseek.content.extractors.process import ExtractionProcess
from vaultseek.content.files.obsidian import has_obsidian
from vaultseek.doors.ui.pictures import Picture, draw_page, read_picture
from vaultseek.doors.ui.reader import read_note
from vaultseek.errors import NotFound, UsageError, VaultseekError

Ask = Callable[[str, JSON], Awaitable[JSON]]
OpenEditor = Callable[[str, JSON], object]
"""Function that opens a note in an editor with its own window, given the vault's folder and the result."""

METHODS = frozenset(
    {
        "complete",
        "graph/path",
        "index/status",
        "links/backlinks",
        "links/unlinked",
        "links/unresolved",
        "note/related",
        "search",
        "search/all",
        "search/history",
        "search/opened",
        "search/why",
        "vault/orphans",
        "vault/stale",
        "vault/table",
    }
)
"""Protocol methods that the page may call: methods that only read, and the report of an opened note."""
OF_NO_VAULT = frozenset({"index/status", "search/all"})
SUPERSEDED = {"superseded": True}
"""Answer to a call that was replaced by a newer call."""
TURNS = 100
"""Maximum number of tabs whose running search is remembered."""


class API:
    """The API's methods; each takes the body of a request and may raise VaultseekError."""

    def __init__(self, ask: Ask, vault: str | None, editor: str | None, open_editor: OpenEditor) -> None:
        self._ask = ask
        self._vault = vault
        self._editor = editor
        self._open_editor = open_editor
        self._folders: set[str] = set()
        self._pages = ExtractionProcess()
        self._turns: dict[str, asyncio.Future[JSON]] = {}

    async def about(self, body: JSON) -> JSON:
        """Return the data that the page needs at startup: the vaults, the selected vault and the editor."""
        if self._vault is not None:
            # After a restart, the daemon does not know a vault that was named only on the command line.
            with suppress(VaultseekError):
                await self._ask("index/status", {"vault": self._vault})
        vaults = await self._ask("vault/list", {})
        return {
            "version": __version__,
            "vaults": [
                {"name": it["name"], "path": it["path"], "obsidian": has_obsidian(Path(it["path"]))}
                for it in vaults["vaults"]
            ],
            "vault": self._vault,
            "editor": self._editor,
        }

    async def call(self, body: JSON) -> JSON:
        """Return the daemon's answer to a protocol method. An earlier call with the same ``turn`` is
        cancelled."""
        method, params = _text(body, "method"), body.get("params")
        if method not in METHODS or not isinstance(params, dict):
            raise UsageError(f"the page cannot call {quote(method)}; use the socket")
        if method not in OF_NO_VAULT:
            params = {**params, "vault": await self._known(_text(params, "vault"))}
        turn = body.get("turn")
        if not isinstance(turn, str):
            return await self._ask(method, params)
        former = self._turns.pop(turn, None)
        if former is not None:
            former.cancel()
        if len(self._turns) >= TURNS:
            self._turns.pop(next(iter(self._turns))).cancel()
        task = asyncio.ensure_future(self._ask(method, params))
        self._turns[turn] = task
        try:
            return await task
        except asyncio.CancelledError:
            return SUPERSEDED
        finally:
            if self._turns.get(turn) is task:
                del self._turns[turn]

    async def note(self, body: JSON) -> JSON:
        """Return a note, or its section ``anchor``, as HTML."""
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
        """Return a picture from a vault, or the page ``page`` of a PDF as a picture."""
        root = Path(await self._known(_text(body, "vault")))
        if body.get("page"):
            return await asyncio.to_thread(
                draw_page, self._pages, root, _text(body, "path"), _count(body, "page")
            )
        return await asyncio.to_thread(read_picture, root, _text(body, "path"))

    def close(self) -> None:
        """End the process that draws PDF pages."""
        self._pages.close()

    async def graph(self, body: JSON) -> JSON:
        """Return the graph around the notes in ``notes``, which are given by vault and path."""
        notes = body.get("notes")
        if not isinstance(notes, list):
            raise UsageError("notes must be a list")
        places = [
            Place(await self._known(_text(note, "vault")), _text(note, "path"))
            for note in notes[:NODES]
            if isinstance(note, dict)
        ]
        return await answer_graph(places, self._ask)

    async def map(self, body: JSON) -> JSON:
        """Return a vault's most linked notes, their clusters, and the links between these notes."""
        vault = await self._known(_text(body, "vault"))
        asked = {"vault": vault, "limit": MAP_CLUSTERS, "without_bridges": True, "nodes": MAP_NODES}
        overview = await self._ask("graph/overview", asked)
        return {
            "nodes": [{"vault": overview["vault_path"], **node} for node in overview["nodes"]],
            "edges": overview["edges"],
            "clusters": [
                {
                    "name": each["hub"]["title"] if each["hub"] else " ".join(each["words"]),
                    "hub": each["hub"]["path"] if each["hub"] else None,
                    "words": " ".join(each["words"]),
                    "notes": each["count"],
                }
                for each in overview["clusters"]
            ],
            "total": overview["notes"],
        }

    async def report(self, body: JSON) -> JSON:
        """Return the last evaluation report for a vault, with its time; the report is None if there was no
        evaluation."""
        root = Path(await self._known(_text(body, "vault")))
        return await asyncio.to_thread(_report, paths.evaluation_directory(root) / paths.REPORT)

    async def open(self, body: JSON) -> JSON:
        """Open a note in the editor."""
        if self._editor is None:
            raise UsageError("no graphical editor is set; set $VISUAL to one, such as `code`")
        vault = await self._known(_text(body, "vault"))
        note = await self._ask("note/get", {"vault": vault, "note": _text(body, "note"), "end_line": 1})
        place = {"path": note["path"], "line": _count(body, "line")}
        await asyncio.to_thread(self._open_editor, note["vault_path"], place)
        return {}

    async def missing(self, body: JSON) -> JSON:
        """Return the path at which a link's missing ``target`` would be created; with ``edit``, open it in
        the editor.

        Only the editor creates the file.
        """
        vault = await self._known(_text(body, "vault"))
        links = [{"target": _text(body, "target")}]
        asked = {"vault": vault, "source": _text(body, "note"), "links": links}
        path = (await self._ask("links/resolve", asked))["links"][0].get("create")
        if path is None:
            raise NotFound("this link does not lead to a note in the vault; check the link")
        if body.get("edit") and self._editor:
            await asyncio.to_thread(self._open_editor, vault, {"path": path, "line": 1})
        return {"path": path}

    async def _known(self, vault: str) -> str:
        """Return ``vault`` if it is a vault of the daemon, so that the page cannot make the daemon index
        other folders. Raises NotFound."""
        if vault not in self._folders:
            answer = await self._ask("vault/list", {})
            self._folders = {each["path"] for each in answer["vaults"]}
            if vault not in self._folders:
                raise NotFound(f"no vault {quote(vault)}; choose another one")
        return vault


def _text(body: Any, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise UsageError(f"{name} must be a string")
    return value


def _count(body: Any, name: str) -> int:
    value = body.get(name)
    return value if isinstance(value, int) and value > 0 else 1


def _report(file: Path) -> JSON:
    try:
        return {"report": paths.read_json(file, REPORT_BYTES), "time": file.stat().st_mtime}
    except (OSError, ValueError):
        return {"report": None}


MAP_NODES = 300
"""Maximum number of notes in a vault's map."""
MAP_CLUSTERS = 8
"""Number of clusters that have their own colour."""
NODES = 200
"""Maximum number of notes drawn in a graph."""
SEEDS = 40
"""Maximum number of results whose neighbours are requested."""
NEIGHBOURS = 60
"""Maximum number of neighbours of one result."""


class Place(NamedTuple):
    """A note, given by its vault's folder and its path from the vault's root."""

    vault: str
    path: str


async def answer_graph(seeds: Sequence[Place], ask: Ask) -> JSON:
    """Return the graph around the ``seeds``: ``nodes``, and ``edges`` as pairs of indices into ``nodes``.

    ``nodes`` contains the seeds, followed by their neighbours; neighbours shared by the most seeds come
    first. A deleted seed has no neighbours. ``left_out`` is the number of neighbours beyond the limit.
    """
    seeds = list(dict.fromkeys(seeds))[:NODES]
    around = await asyncio.gather(*(_neighbours(seed, ask) for seed in seeds[:SEEDS]))
    titles = {Place(vault, note["path"]): note["title"] for vault, notes, _ in around for note in notes}
    shared = Counter(Place(vault, note["path"]) for vault, notes, _ in around for note in notes)
    others = sorted(shared.keys() - set(seeds), key=lambda place: (-shared[place], place))
    nodes = [*seeds, *others[: NODES - len(seeds)]]
    numbers = {place: number for number, place in enumerate(nodes)}
    pairs = {
        (numbers.get(Place(vault, source)), numbers.get(Place(vault, target)))
        for vault, _, edges in around
        for source, target in edges
    }
    return {
        "nodes": [{"vault": p.vault, "path": p.path, "title": titles.get(p)} for p in nodes],
        "edges": sorted((a, b) for a, b in pairs if a is not None and b is not None and a != b),
        "left_out": max(0, len(others) - (NODES - len(seeds))),
    }


async def _neighbours(seed: Place, ask: Ask) -> tuple[str, list[JSON], list[list[str]]]:
    try:
        answer = await ask("graph/neighbors", {"vault": seed.vault, "note": seed.path, "limit": NEIGHBOURS})
    except VaultseekError:
        return seed.vault, [], []
    return seed.vault, answer["notes"], answer["edges"]
