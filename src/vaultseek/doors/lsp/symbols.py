"""Workspace search as ``workspace/symbol``, and a note's headings with folds and backlink counts."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from lsprotocol import types

from vaultseek.base.model import JSON, Heading, Place
from vaultseek.base.text import count
from vaultseek.doors.lsp.documents import Text, start_of_line
from vaultseek.doors.lsp.missing import missing_lens
from vaultseek.doors.lsp.navigation import backlinks
from vaultseek.doors.lsp.session import Session, Spot

COMPARING_CLIENTS = ("Visual Studio Code", "VSCodium", "Code - OSS", "Cursor", "Windsurf", "Positron")
"""Editors that drop symbols whose names lack letters of the query. For these, each name is prefixed with the
query."""
RESULTS = 50
RECENT_NOTES = "ext:md"
"""Query that lists all notes, most recently modified first."""


# -- in the workspace


async def search_symbols(
    session: Session, params: types.WorkspaceSymbolParams
) -> list[types.SymbolInformation]:
    """Return the results of a search, best first, each at the line of its passage."""
    query = params.query.strip()
    results = await search_workspace(session, query or RECENT_NOTES, RESULTS, typing=bool(query))
    prefix = query if session.client.startswith(COMPARING_CLIENTS) else ""
    vaults = await vaults_of(session, results)
    return [
        _symbol(
            session, vaults[str(result["vault_path"])].beside(str(result["path"])), result, number, prefix
        )
        for number, result in enumerate(results, 1)
    ]


async def search_workspace(session: Session, query: str, limit: int, **more: Any) -> list[JSON]:
    """Return the best results from the workspace's vaults, or from all vaults if the workspace has none."""
    roots = await session.roots()
    wanted = {"query": query, "limit": limit, **more}
    if not roots:
        results: list[JSON] = (await session.ask("search/all", None, **wanted))["results"]
        return results
    answers = await asyncio.gather(*(session.ask("search", root, **wanted) for root in roots))
    results = [
        {**result, "vault_path": answer["vault_path"]} for answer in answers for result in answer["results"]
    ]
    if len(roots) > 1:
        results.sort(key=lambda result: -float(result["certainty"]))
    return results[:limit]


async def vaults_of(session: Session, results: Sequence[JSON]) -> dict[str, Spot]:
    """Return a dict from the real folder of each result's vault to a `Spot` with the folder as the client
    spells it."""
    return {root: await session.spot_of_vault(root) for root in {str(each["vault_path"]) for each in results}}


def _symbol(session: Session, spot: Spot, result: JSON, number: int, prefix: str) -> types.SymbolInformation:
    headings = [heading for heading in result.get("heading_path") or () if heading != result["title"]]
    name = " › ".join([str(result["title"]), *headings])
    if prefix:
        name = f"{prefix} · {number:02} {name}"
    line, column = int(result.get("line") or 1), int(result.get("column") or 1)
    text = session.text_of(spot, spot.path)
    at = text.range(Place(line, column - 1, len(text.line(line)))) if text else start_of_line(line)
    return types.SymbolInformation(
        location=types.Location(spot.uri(spot.path), at),
        name=name,
        kind=types.SymbolKind.String if headings else types.SymbolKind.File,
        container_name=str(result["path"]),
    )


# -- in a note


async def document_symbols(
    session: Session, params: types.DocumentSymbolParams
) -> list[types.DocumentSymbol] | list[types.SymbolInformation] | None:
    """Return the headings of a note, nested if the client supports nested symbols."""
    uri = params.text_document.uri
    text = await session.outlined(uri)
    if text is None:
        return None
    if session.can("text_document.document_symbol.hierarchical_document_symbol_support"):
        return _nested(text)
    return [
        types.SymbolInformation(
            types.Location(uri, text.whole_line(heading.line)), _name(heading), types.SymbolKind.String
        )
        for heading in text.note.headings
    ]


def _nested(text: Text) -> list[types.DocumentSymbol]:
    top: list[types.DocumentSymbol] = []
    open_symbols: list[tuple[int, types.DocumentSymbol]] = []
    for heading, last in sections(text):
        symbol = types.DocumentSymbol(
            name=_name(heading),
            kind=types.SymbolKind.String,
            range=types.Range(text.position(heading.line, 0), text.position(last, len(text.line(last)))),
            selection_range=text.whole_line(heading.line),
            children=[],
        )
        while open_symbols and open_symbols[-1][0] >= heading.level:
            open_symbols.pop()
        siblings = open_symbols[-1][1].children if open_symbols else top
        (siblings if siblings is not None else top).append(symbol)  # type: ignore[attr-defined]
        open_symbols.append((heading.level, symbol))
    return top


def _name(heading: Heading) -> str:
    return " ".join(heading.shown.split()) or "#" * heading.level


def sections(text: Text) -> Iterator[tuple[Heading, int]]:
    """Yield each heading, with the number of the last non-blank line of its section."""
    headings = text.note.headings
    for at, heading in enumerate(headings):
        end = text.anchors.section_end(at)
        last = headings[end].line - 1 if end < len(headings) else len(text.lines)
        while last > heading.line and not text.line(last).strip():
            last -= 1
        yield heading, last


async def folding_ranges(
    session: Session, params: types.FoldingRangeParams
) -> list[types.FoldingRange] | None:
    """Return the foldable ranges of a note: frontmatter, sections and code blocks."""
    uri = params.text_document.uri
    text = await session.outlined(uri)
    if text is None:
        return None
    note = text.note
    spans = [(heading.line, last, types.FoldingRangeKind.Region) for heading, last in sections(text)]
    spans += [(block.line, block.end_line, types.FoldingRangeKind.Region) for block in note.code_blocks]
    if note.body_line > 2:
        spans.append((1, note.body_line - 1, types.FoldingRangeKind.Imports))
    return [
        types.FoldingRange(start_line=first - 1, end_line=last - 1, kind=kind)
        for first, last, kind in sorted(set(spans))
        if last > first
    ]


# -- counts of backlinks


async def code_lenses(
    session: Session, spot: Spot, text: Text, params: types.CodeLensParams
) -> list[types.CodeLens] | None:
    """Return lenses with the backlink counts of a note and its headings, and with the missing links, if
    enabled."""
    if not session.options.code_lens:
        return None
    uri = params.text_document.uri
    lenses = [
        types.CodeLens(
            text.whole_line(line), types.Command(label, "vaultseek.backlinks", arguments=[uri, line])
        )
        for line, label in await _counts(session, spot, text)
    ]
    return lenses + await missing_lens(session, spot, uri, lenses[0].range)


async def inlay_hints(
    session: Session, spot: Spot, text: Text, params: types.InlayHintParams
) -> list[types.InlayHint] | None:
    """Return the counts shown by ``code_lenses`` as hints at the ends of lines, if enabled."""
    if not session.options.inlay_hints:
        return None
    first, last = params.range.start.line + 1, params.range.end.line + 1
    return [
        types.InlayHint(text.position(line, len(text.line(line))), label, padding_left=True)
        for line, label in await _counts(session, spot, text)
        if first <= line <= last
    ]


async def _counts(session: Session, spot: Spot, text: Text) -> list[tuple[int, str]]:
    """Return the lines that get a backlink count, with their counts: the note's own line and the headings
    with backlinks."""
    links: Sequence[JSON] = await backlinks(session, spot, spot.path)
    headings = text.note.headings
    lines = Counter(
        heading.line
        for link in links
        if link["heading"] and (heading := text.anchors.heading(link["heading"])) is not None
    )
    own = headings[0].line if headings and headings[0].level == 1 else text.note.body_line
    counts = [(own, count(len(links), "backlink"))]
    counts += [(line, count(number, "link")) for line, number in sorted(lines.items()) if line != own]
    return counts
