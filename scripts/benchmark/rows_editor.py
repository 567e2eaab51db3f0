"""Rows: response times of ``vaultseek lsp`` to an editor's requests."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from benchmark.figures import MILLISECONDS, Figure, Times, number
from benchmark.registry import row
from benchmark.worlds import Bench, World

BACKLINKS = 1000
LINKS_A_NOTE = 30
"""Number of links in a note whose diagnostics are measured; every third link is broken."""
RENAMES = 20
TURN = 40
"""Number of queries per turn: half as requests for symbols, half over the socket."""
COMPLETION_MS = 30.0
DIAGNOSTICS_MS = 20.0
RENAME_MS = 1000.0
FOLDER = "linked for the editor"


@row("editor")
def editor(bench: Bench) -> Iterator[Figure]:
    """Requests of an editor about its open note, in a large vault."""
    world = bench.large()
    notes = world.notes
    folder = world.vault / FOLDER
    try:
        _write(folder, 20 if bench.quick else BACKLINKS, world.texts.of_words(2, BACKLINKS, seed=81))
        world.index()
        times = asyncio.run(_measure(bench, world, folder))
        backlinks = sum(1 for _ in folder.iterdir()) - 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        world.index()
    symbol, search = times["symbol"], times["search"]
    yield _figure(f"editor: completion of `[[`, {notes:,} notes", times["completion"], COMPLETION_MS)
    yield Figure(
        "editor",
        f"editor: `workspace/symbol`, {notes:,} notes",
        str(symbol),
        f"the same search over the socket: {search}",
        "no slower than that search",
        symbol.times.p50 / search.times.p50,
        None,
        symbol.times.numbers("") | search.times.numbers("search") | {"cpu_ms": round(symbol.cpu, 2)},
    )
    yield _figure(
        f"editor: diagnostics of a note with {LINKS_A_NOTE} links, {notes:,} notes",
        times["diagnostics"],
        DIAGNOSTICS_MS,
    )
    yield _figure(
        f"editor: rename of a note with {backlinks:,} backlinks, {notes:,} notes", times["rename"], RENAME_MS
    )


def _figure(what: str, timed: Timed, goal: float) -> Figure:
    return Figure(
        "editor",
        what,
        str(timed),
        target=f"p95 ≤ {number(goal)} ms",
        met=timed.times.p95 <= goal,
        numbers=timed.times.numbers("") | {"cpu_ms": round(timed.cpu, 2)},
    )


def _write(folder: Path, count: int, words: Sequence[str]) -> None:
    """Write a note, and other notes that each link to it in a sentence."""
    folder.mkdir()
    (folder / "The hub.md").write_text("# The hub\n\nMany notes lead here.\n", encoding="utf-8")
    for at in range(count):
        text = f"# Spoke {at}\n\n{words[at % len(words)]}: see [[The hub]].\n"
        (folder / f"Spoke {at}.md").write_text(text, encoding="utf-8")


async def _measure(bench: Bench, world: World, folder: Path) -> dict[str, Timed]:
    async with _open_editor(world) as client:
        note = _Note(client, folder / "Draft.md")
        texts = world.texts.of_words(2, bench.queries, seed=82)
        return {
            "completion": await _timed(texts, note.complete),
            **await _beside_searches(bench, world, client),
            "diagnostics": await _timed(texts, note.diagnose),
            "rename": await _timed([f"Axle {at}" for at in range(RENAMES)], note.rename),
        }


async def _beside_searches(bench: Bench, world: World, client: LanguageClient) -> dict[str, Timed]:
    """Time symbols and the same kind of search over the socket, in turns."""
    queries = world.texts.queries(bench.queries * 2, seed=83)
    symbols: list[Timed] = []
    searches: list[Timed] = []
    for start in range(0, len(queries) - 1, TURN):
        own, others = queries[start : start + TURN // 2], queries[start + TURN // 2 : start + TURN]
        symbols.append(await _timed(own, partial(_symbols, client)))
        searches.append(await _timed(others, partial(_search, world)))
    return {"symbol": _together(symbols), "search": _together(searches)}


def _together(turns: Sequence[Timed]) -> Timed:
    times = Times.of([value for turn in turns for value in turn.times.values])
    return Timed(times, sum(turn.cpu for turn in turns) / len(turns))


async def _symbols(client: LanguageClient, query: str) -> None:
    await client.workspace_symbol_async(types.WorkspaceSymbolParams(query))


async def _search(world: World, query: str) -> None:
    world.search(query, limit=50, typing=True)


@dataclass(frozen=True)
class Timed:
    """The times of requests, and the mean processor time of a request over all processes."""

    times: Times
    cpu: float

    def __str__(self) -> str:
        return f"{self.times}, {number(self.cpu)} ms of a core"


async def _timed(texts: Sequence[str], ask: Callable[[str], Awaitable[object]]) -> Timed:
    """Time one request per text; the first one is a warm-up and is not counted."""
    await ask(texts[0])
    times = []
    used = _processor_ms()
    for text in texts[1:]:
        began = time.perf_counter()
        await ask(text)
        times.append((time.perf_counter() - began) * MILLISECONDS)
    # An idle worker may end in the meantime.
    spent = sum(value - used.get(process, 0.0) for process, value in _processor_ms().items())
    return Timed(Times.of(times), spent / len(times))


def _processor_ms() -> dict[int, float]:
    """Return the processor time of the daemon, its workers and the language server, by process."""
    spent = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            used = process.cpu_times()
            spent[process.pid] = (used.user + used.system) * MILLISECONDS
    return spent


class _Note:
    """An open note with unsaved changes."""

    def __init__(self, client: LanguageClient, file: Path) -> None:
        self._client = client
        self._uri = types.TextDocumentIdentifier(file.as_uri())
        self._version = 0
        client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(file.as_uri(), "markdown", 0, ""))
        )

    async def complete(self, text: str) -> None:
        """Complete the first letters of a text."""
        typed = text[:4]
        self._change(f"# Draft\n\nSee [[{typed}")
        await self._client.text_document_completion_async(
            types.CompletionParams(
                self._uri, types.Position(2, len(f"See [[{typed}".encode("utf-16-le")) // 2)
            )
        )

    async def diagnose(self, text: str) -> None:
        """Request the diagnostics of a note with many links."""
        links = (f"[[{f'Spoke {at}' if at % 3 else f'{text} {at}'}]]" for at in range(LINKS_A_NOTE))
        self._change("# Draft\n\n" + "\n".join(f"{text}, {link}." for link in links))
        report = await self._client.text_document_diagnostic_async(types.DocumentDiagnosticParams(self._uri))
        items = getattr(report, "items", ())
        assert len(items) >= LINKS_A_NOTE // 4, report

    async def rename(self, name: str) -> None:
        """Request the edits that rename the note with many backlinks."""
        self._change("[[The hub]]")
        edit = await self._client.text_document_rename_async(
            types.RenameParams(self._uri, types.Position(0, 4), name)
        )
        assert edit is not None

    def _change(self, text: str) -> None:
        self._version += 1
        document = types.VersionedTextDocumentIdentifier(self._version, self._uri.uri)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self._client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))


@asynccontextmanager
async def _open_editor(world: World) -> AsyncIterator[LanguageClient]:
    client = LanguageClient("bench", "1")
    words = (sys.executable, "-m", "vaultseek", "lsp")
    await client.start_io(*words, env=world.home.variables, cwd=world.vault)
    capabilities: dict[str, Any] = {
        "text_document": types.TextDocumentClientCapabilities(
            diagnostic=types.DiagnosticClientCapabilities()
        ),
        "workspace": types.WorkspaceClientCapabilities(
            workspace_edit=types.WorkspaceEditClientCapabilities(
                document_changes=True, resource_operations=[types.ResourceOperationKind.Rename]
            )
        ),
    }
    folder = types.WorkspaceFolder(world.vault.as_uri(), "vault")
    await client.initialize_async(
        types.InitializeParams(types.ClientCapabilities(**capabilities), workspace_folders=[folder])
    )
    client.initialized(types.InitializedParams())
    try:
        yield client
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()  # type: ignore[no-untyped-call]
