"""List the links of notes: outgoing links, backlinks, unresolved links, neighbours and orphans."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from vaultseek.base.limits import LINE_CHARS, NEIGHBOUR_EDGES
from vaultseek.base.model import JSON, Chunk
from vaultseek.base.when import iso_time
from vaultseek.core.notes.read import about
from vaultseek.store.graph import Graph
from vaultseek.store.ledger import Ledger, LinkRow, NoteRow


def outgoing(row: NoteRow, ledger: Ledger) -> list[JSON]:
    """Return the links in a note, in order, with the paths to which they resolve."""
    links = ledger.links.from_notes([row.id])
    targets = {path: ledger.notes.by_path(path) for path in {link.resolved for link in links} if path}
    return [
        {
            **_link(link),
            "resolved": link.resolved,
            "title": target and target.title,
            "modified": target and iso_time(target.modified),
            "created": target and target.created.text,
        }
        for link in links
        for target in [targets.get(link.resolved or "")]
    ]


def backlinks(row: NoteRow, ledger: Ledger) -> list[JSON]:
    """Return the links from other notes to this note, each with its line."""
    links = [link for link in ledger.links.to_paths([row.path]) if link.note != row.id]
    return _with_lines(links, ledger)


def unresolved(ledger: Ledger, row: NoteRow | None = None) -> list[JSON]:
    """Return the unresolved links in one note or in all notes."""
    if row is not None:
        links = [link for link in ledger.links.from_notes([row.id]) if link.resolved is None]
    else:
        ids = [id for (id,) in ledger.select("SELECT DISTINCT note FROM links WHERE resolved IS NULL")]
        links = [link for link in ledger.links.from_notes(ids) if link.resolved is None]
    return sorted(_with_lines(links, ledger), key=lambda link: (link["path"], link["line"]))


def neighbours(row: NoteRow, graph: Graph, ledger: Ledger, depth: int, limit: int) -> JSON:
    """Return the notes within ``depth`` links of a note, nearest first, and the links between those notes."""
    reached = graph.reached(row.id, depth)
    notes = ledger.notes.by_id(list(reached))
    nearest = sorted(
        (id for id in reached if id in notes and id != row.id),
        key=lambda id: (reached[id][0], notes[id].path),
    )[:limit]
    included = {row.id, *nearest}
    return {
        "notes": [
            {
                **about(notes[id]),
                "depth": reached[id][0],
                "direction": graph.direction(row.id, id),
                "via": notes[reached[id][1]].path if reached[id][0] > 1 else None,
            }
            for id in nearest
        ],
        "edges": sorted(
            [notes[source].path, notes[target].path]
            for source, target in graph.edges(included)
            if source in notes and target in notes
        )[:NEIGHBOUR_EDGES],
        "total": len(reached) - 1,
    }


def orphans(graph: Graph, ledger: Ledger, *, isolated: bool = False) -> list[JSON]:
    """Return the notes without backlinks; with ``isolated``, only those without any link."""
    notes = ledger.notes.by_id(graph.unlinked(isolated=isolated)).values()
    return [about(row) for row in sorted(notes, key=lambda row: row.path)]


def lines_at(chunks: Sequence[Chunk], lines: Iterable[int]) -> Mapping[int, str]:
    """Return a dict from line number to the text of that line in a note's passages. Lines outside all
    passages are left out.
    """
    wanted = sorted(set(lines))
    found: dict[int, str] = {}
    for chunk in chunks:
        first, last = bisect_left(wanted, chunk.start_line), bisect_right(wanted, chunk.end_line)
        text = chunk.source.split("\n") if first < last else []
        for line in wanted[first:last]:
            if line - chunk.start_line < len(text):
                found.setdefault(line, text[line - chunk.start_line].strip()[:LINE_CHARS])
    return found


def _with_lines(links: Sequence[LinkRow], ledger: Ledger) -> list[JSON]:
    lines: dict[int, list[int]] = defaultdict(list)
    for link in links:
        lines[link.note].append(link.link.line)
    ids = list(lines)
    notes, chunks = ledger.notes.by_id(ids), ledger.chunks.by_note(ids)
    texts = {note: lines_at(chunks[note], lines[note]) for note in ids}
    return [
        {
            "path": link.source,
            "title": notes[link.note].title,
            "modified": iso_time(notes[link.note].modified),
            "created": notes[link.note].created.text,
            **_link(link),
            "text": texts[link.note].get(link.link.line),
        }
        for link in links
        if link.note in notes
    ]


def _link(row: LinkRow) -> JSON:
    link = row.link
    return {
        **link.as_json(),
        "column": link.place and link.place.start + 1,
        "end_column": link.place and link.place.end + 1,
    }
