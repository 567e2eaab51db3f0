"""Links: where they lead, who links here, what is missing, what lies around, and what nobody links to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vaultseek.index.graph import Graph
from vaultseek.index.ledger import Ledger, LinkRow, NoteRow
from vaultseek.limits import LINE_CHARS, NEIGHBOUR_EDGES
from vaultseek.model import JSON, Chunk
from vaultseek.notes.read import about


def outgoing(row: NoteRow, ledger: Ledger) -> list[JSON]:
    """The links that stand in a note, in their order, with what they resolve to."""
    links = ledger.links.from_notes([row.id])
    titles = titles_of([link.resolved for link in links if link.resolved], ledger)
    return [
        {**_link(link), "resolved": link.resolved, "title": titles.get(link.resolved or "")} for link in links
    ]


def backlinks(row: NoteRow, ledger: Ledger) -> list[JSON]:
    """The links of other notes that lead to this one, with the line that each stands in."""
    links = [link for link in ledger.links.to_paths([row.path]) if link.note != row.id]
    return _placed(links, ledger)


def unresolved(ledger: Ledger, row: NoteRow | None = None) -> list[JSON]:
    """The links that lead nowhere, of one note or of all."""
    if row is not None:
        links = [link for link in ledger.links.from_notes([row.id]) if link.resolved is None]
    else:
        notes = [
            number for (number,) in ledger.select("SELECT DISTINCT note FROM links WHERE resolved IS NULL")
        ]
        links = [link for link in ledger.links.from_notes(notes) if link.resolved is None]
    return sorted(_placed(links, ledger), key=lambda link: (link["path"], link["line"]))


def neighbours(row: NoteRow, graph: Graph, ledger: Ledger, depth: int, limit: int) -> JSON:
    """The notes within ``depth`` links of a note, nearest first, and the links among them."""
    found = _around(row.id, graph, depth)
    notes = ledger.notes.by_id(list(found))
    nearest = sorted(
        (number for number in found if number in notes and number != row.id),
        key=lambda number: (found[number][0], notes[number].path),
    )[:limit]
    shown = {row.id, *nearest}
    direct = graph.neighbours(row.id)
    return {
        "notes": [
            {
                **about(notes[number]),
                "depth": found[number][0],
                "direction": _direction(number, direct),
                "via": notes[found[number][1]].path if found[number][0] > 1 else None,
            }
            for number in nearest
        ],
        "edges": sorted(
            [notes[source].path, notes[target].path]
            for source in shown
            for target in graph.neighbours(source)[0]
            if target in shown and source in notes
        )[:NEIGHBOUR_EDGES],
        "total": len(found) - 1,
    }


def orphans(ledger: Ledger, *, isolated: bool = False) -> list[JSON]:
    """Notes that no other note links to; ``isolated``: and that link to no other note either."""
    linked = {target for _, target in ledger.links.edges()}
    if isolated:
        linked |= {source for source, _ in ledger.links.edges()}
    alone = [number for number in ledger.notes.ids() if number not in linked]
    return [about(row) for row in sorted(ledger.notes.by_id(alone).values(), key=lambda row: row.path)]


def titles_of(paths: Iterable[str], ledger: Ledger) -> Mapping[str, str]:
    """The titles of the notes at these paths; attachments have none."""
    rows = (ledger.notes.by_path(path) for path in dict.fromkeys(paths))
    return {row.path: row.title for row in rows if row is not None}


def line_of(chunks: Sequence[Chunk], line: int) -> str | None:
    """A line of a note out of its passages; None where none of them has it."""
    for chunk in chunks:
        if chunk.start_line <= line <= chunk.end_line:
            lines = chunk.text.split("\n")
            return (
                lines[line - chunk.start_line].strip()[:LINE_CHARS]
                if line - chunk.start_line < len(lines)
                else None
            )
    return None


def _placed(links: Sequence[LinkRow], ledger: Ledger) -> list[JSON]:
    ids = list(dict.fromkeys(link.note for link in links))
    notes, chunks = ledger.notes.by_id(ids), ledger.chunks.by_note(ids)
    return [
        {
            "path": link.source,
            "title": notes[link.note].title,
            **_link(link),
            "text": line_of(chunks[link.note], link.link.line),
        }
        for link in links
        if link.note in notes
    ]


def _link(row: LinkRow) -> JSON:
    link = row.link
    return {
        "kind": link.kind,
        "target": link.target,
        "heading": link.heading,
        "block": link.block,
        "alias": link.alias,
        "line": link.line,
        "property": link.property,
    }


def _around(start: int, graph: Graph, depth: int) -> dict[int, tuple[int, int]]:
    """Note to its distance and the note that it was reached from."""
    found = {start: (0, start)}
    edge = [start]
    for distance in range(1, depth + 1):
        reached: list[int] = []
        for number in edge:
            out, into = graph.neighbours(number)
            for other in (*out, *into):
                if other not in found:
                    found[other] = (distance, number)
                    reached.append(other)
        edge = reached
    return found


def _direction(number: int, direct: tuple[list[int], list[int]]) -> str | None:
    out, into = number in direct[0], number in direct[1]
    return "both" if out and into else "out" if out else "in" if into else None
