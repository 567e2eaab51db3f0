"""Find routes between two notes along links or, if links do not connect them, through similar notes."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from vaultseek.base.model import JSON, Reason
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.notes.links import lines_at
from vaultseek.core.notes.read import about
from vaultseek.core.notes.related import alike
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.store.graph import Graph
from vaultseek.store.ledger import Ledger, NoteRow


class Leap(NamedTuple):
    """A step between two notes that are not linked; ``cosine`` is their similarity in meaning."""

    source: int
    target: int
    cosine: float


async def routes(start: NoteRow, end: NoteRow, vault: SearchedVault, graph: Graph, limit: int) -> JSON:
    """Return up to ``limit`` shortest routes from one note to another, each with its steps.

    Links count in both directions. If links do not connect the two notes, the answer is a single route whose
    first or last step is between similar notes. There is no such route if no notes are similar enough, or if
    semantic search is unavailable (``partial`` then has the reason).
    """
    found = await asyncio.to_thread(graph.shortest, start.id, end.id, limit)
    leap: Leap | Reason | None = None
    if not found:
        leap = await _leap(start, end, vault, graph)
        if isinstance(leap, Leap):
            first = await asyncio.to_thread(graph.shortest, start.id, leap.source, 1)
            last = await asyncio.to_thread(graph.shortest, leap.target, end.id, 1)
            found = [[*first[0], *last[0]]]
    # A note that was just removed may still be in the graph.
    present = vault.ledger.notes.by_id([id for each in found for id in each])
    found = [each for each in found if present.keys() >= set(each)]
    return {
        "other": about(end),
        "routes": await asyncio.to_thread(
            lambda: [_route(each, leap, graph, vault.ledger) for each in found]
        ),
        "partial": [{"lane": "semantic", **leap.as_json()}] if isinstance(leap, Reason) else [],
    }


async def _leap(start: NoteRow, end: NoteRow, vault: SearchedVault, graph: Graph) -> Leap | Reason | None:
    """Return the most similar pair of notes: ``start`` with a note connected to ``end``, or ``end`` with a
    note connected to ``start``.

    Returns None if no pair is similar enough, or a reason if semantic search is unavailable.
    """
    reason = vault.spaces.reason()
    if reason is not None:
        return reason
    of_start, of_end = await asyncio.to_thread(lambda: (graph.component(start.id), graph.component(end.id)))
    try:
        near_start, near_end = await asyncio.gather(alike(start, vault, of_end), alike(end, vault, of_start))
    except (WorkerUnavailable, IndexDamaged) as error:
        return Reason.of(error)
    leaps = [Leap(start.id, id, cosine) for id, cosine in near_start.items()]
    leaps += [Leap(id, end.id, cosine) for id, cosine in near_end.items()]
    if not leaps and (await asyncio.to_thread(vault.ledger.counts)).pending:
        return Reason("not_embedded", "not all notes are embedded yet")
    return max(leaps, key=lambda leap: (leap.cosine, -leap.source, -leap.target), default=None)


def _route(ids: Sequence[int], leap: Leap | Reason | None, graph: Graph, ledger: Ledger) -> list[JSON]:
    notes = ledger.notes.by_id(ids)
    steps: list[JSON] = [{**about(notes[ids[0]]), "by": None}]
    for before, after in pairwise(ids):
        step: JSON = {**about(notes[after])}
        if isinstance(leap, Leap) and (leap.source, leap.target) == (before, after):
            steps.append({**step, "by": "meaning", "cosine": round(leap.cosine, 4)})
            continue
        direction = graph.direction(before, after) or "out"
        source, target = (notes[after], notes[before]) if direction == "in" else (notes[before], notes[after])
        steps.append({**step, "by": "link", "direction": direction, **_sentence(source, target, ledger)})
    return steps


def _sentence(source: NoteRow, target: NoteRow, ledger: Ledger) -> JSON:
    links = [link for link in ledger.links.from_notes([source.id]) if link.resolved == target.path]
    if not links:  # the link was just removed
        return {"source": source.path, "line": None, "text": None}
    link = links[0].link
    text = lines_at(ledger.chunks.by_note([source.id])[source.id], [link.line]).get(link.line)
    if link.property is not None:
        text = f"{link.property}: [[{link.target}]]"
    return {"source": source.path, "line": link.line, "text": text}
