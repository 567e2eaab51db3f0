"""Summarize a vault's links: hubs, bridges, clusters and recent changes; and export the whole graph."""

from collections import Counter
from collections.abc import Mapping, Sequence

from vaultseek.base.model import JSON
from vaultseek.base.when import When, iso_time
from vaultseek.core.graph.structure import Bridges, Structure
from vaultseek.core.notes.read import about
from vaultseek.store.graph import Graph
from vaultseek.store.ledger import Ledger, NoteRow

CLUSTER_EXAMPLES = 5
"""Number of example notes listed for each cluster, highest-ranked first."""
RECENT_SECONDS = 30 * 24 * 3600.0
"""Maximum age, in seconds, of notes and changes that count as recent."""


def overview(
    structure: Structure, bridges: Bridges, graph: Graph, ledger: Ledger, limit: int, now: float
) -> JSON:
    """Return the vault's structure, with up to ``limit`` hubs, ``limit`` bridges and ``limit`` clusters.
    ``now`` is a Unix time.
    """
    hubs = [note for note in _ranked(structure)[:limit] if any(graph.degrees(note))]
    bridges = bridges[:limit]
    clusters = [
        (members, words, _hub(members, graph))
        for members, words in list(zip(structure.clusters, structure.words, strict=True))[:limit]
    ]
    shown = {*hubs, *(note for note, _ in bridges)}
    shown |= {note for members, _, hub in clusters for note in (hub, *members[:CLUSTER_EXAMPLES])}
    notes = ledger.notes.by_id(sorted(shown))
    dates = {
        id: (When(created, kind).unix, modified) for id, created, kind, modified in ledger.select(_DATES)
    }
    return {
        "notes": len(structure.ranks),
        "links": len(graph.edges()),
        "orphans": len(graph.unlinked()),
        "isolated": len(graph.unlinked(isolated=True)),
        "truncated": ledger.problems.paths("too_many_links"),
        "components": {"count": len(structure.components), "largest": max(structure.components, default=0)},
        "hubs": [
            {**about(notes[id]), **_degrees(graph, id), "rank": round(structure.ranks[id], 6)}
            for id in hubs
            if id in notes
        ],
        "bridges": [
            {**about(notes[id]), **_degrees(graph, id), "share": round(share, 6)}
            for id, share in bridges
            if id in notes
        ],
        "clusters": [_cluster(members, words, hub, notes, dates, now) for members, words, hub in clusters],
        "cluster_count": len(structure.clusters),
    }


def drawn(structure: Structure, graph: Graph, ledger: Ledger, most: int) -> JSON:
    """Return up to ``most`` notes, highest-ranked first, and the links between them as pairs of indices."""
    best = _ranked(structure)[:most]
    notes = ledger.notes.by_id(best)
    ids = [id for id in best if id in notes]  # a note may have been removed in the meantime
    places = {id: place for place, id in enumerate(ids)}
    clusters = _cluster_numbers(structure)
    return {
        "nodes": [
            {**about(notes[id]), "rank": round(structure.ranks[id], 8), "cluster": clusters.get(id)}
            for id in ids
        ],
        "edges": [[places[one], places[other]] for one, other in graph.edges(ids) if one != other],
    }


def _ranked(structure: Structure) -> list[int]:
    return sorted(structure.ranks, key=lambda note: (-structure.ranks[note], note))


def _cluster_numbers(structure: Structure) -> Mapping[int, int]:
    return {id: number for number, members in enumerate(structure.clusters) for id in members}


def _hub(members: Sequence[int], graph: Graph) -> int:
    """Return the note with the most links inside its cluster; on a tie, the one with the highest rank."""
    links = Counter(note for edge in graph.edges(members) for note in edge)
    return max(members, key=lambda note: links[note])


def _degrees(graph: Graph, note: int) -> JSON:
    out, into = graph.degrees(note)
    return {"outgoing": out, "backlinks": into}


def _cluster(
    members: Sequence[int],
    words: Sequence[str],
    hub: int,
    notes: Mapping[int, NoteRow],
    dates: Mapping[int, tuple[float, float]],
    now: float,
) -> JSON:
    ages = [dates[id] for id in members if id in dates]
    return {
        "hub": about(notes[hub]) if hub in notes else None,
        "words": list(words),
        "count": len(members),
        "created": sum(now - created <= RECENT_SECONDS for created, _ in ages),
        "changed": sum(now - modified <= RECENT_SECONDS < now - created for created, modified in ages),
        "notes": [about(notes[id]) for id in members[:CLUSTER_EXAMPLES] if id in notes],
    }


def export(structure: Structure, graph: Graph, ledger: Ledger) -> JSON:
    """Return every note with its rank and cluster number, and every link as a pair of note indices."""
    clusters = _cluster_numbers(structure)
    rows = [row for row in ledger.select(_NOTES) if row[0] in structure.ranks]
    places = {row[0]: place for place, row in enumerate(rows)}
    return {
        "nodes": [
            {
                "path": path,
                "title": title,
                "modified": iso_time(modified),
                "rank": round(structure.ranks[id], 8),
                "cluster": clusters.get(id),
            }
            for id, path, title, modified in rows
        ],
        "links": [[places[a], places[b]] for a, b in graph.edges() if a in places and b in places],
        "clusters": [" ".join(words) for words in structure.words],
    }


_DATES = "SELECT id, created, created_kind, modified FROM notes"
_NOTES = "SELECT id, path, title, modified FROM notes ORDER BY path"
