"""Notes like a note: near in meaning, joined by links, or with its rarer words."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.index.graph import Graph
from vaultseek.index.keyword.index import KeywordIndex
from vaultseek.index.ledger import Ledger, NoteRow
from vaultseek.index.vectors.index import NoteIds
from vaultseek.limits import PREVIEW_CHARS
from vaultseek.markdown.plain import plain_heading
from vaultseek.model import JSON, Chunk, Reason
from vaultseek.notes.read import about
from vaultseek.search.fusion import Candidate, Fusion, Lane, LaneHit, fuse
from vaultseek.search.snippet import preview
from vaultseek.worker import SemanticAnswer

RELATED_POOL = 100
"""Notes that each lane may give for the question what is like a note."""
RELATED_HUB = 200
"""A note with more links than this says nothing about what it is linked with."""
RELATED_WORDS = 60

SEMANTIC_WEIGHT = 1.0
LINK_WEIGHT = 0.6
KEYWORD_WEIGHT = 0.4
"""Weights of the lanes: what a note is about counts most, a link says so too, words stand in for meaning."""
DIRECT = 1.0
"""Evidence of a link between the two notes; each note that both are linked with adds 1 / ln(its degree)."""


class RelatedVault(Protocol):
    """What the question needs of an open vault."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def keyword_index(self) -> KeywordIndex: ...

    @property
    def graph(self) -> Graph | None: ...

    def semantic_reason(self) -> Reason | None:
        """Why the semantic lane cannot take part, None if it can."""

    async def ask_semantic(self, text: str, k: int, allowed: NoteIds | None) -> SemanticAnswer:
        """The nearest passages and notes. Raises WorkerUnavailable or IndexDamaged."""

    def text_of_note(self, row: NoteRow) -> str:
        """The text that stands for the whole note in the vector store."""


async def related(row: NoteRow, vault: RelatedVault, limit: int) -> JSON:
    """The ``limit`` notes most like the note at ``row``, best first, without itself; why, for each."""
    partial: list[JSON] = []
    semantic, links, words = await asyncio.gather(
        _semantic(row, vault, partial),
        asyncio.to_thread(_linked, row, vault.graph, partial),
        asyncio.to_thread(_worded, row, vault),
    )
    return await asyncio.to_thread(_answer, row, vault, (semantic, links, words), limit, partial)


async def _semantic(row: NoteRow, vault: RelatedVault, partial: list[JSON]) -> dict[int, float]:
    """Cosine by note: of its own vector or its best passage."""
    reason = vault.semantic_reason()
    if reason is None:
        try:
            text = await asyncio.to_thread(vault.text_of_note, row)
            answer = await vault.ask_semantic(text, RELATED_POOL, None)
        except (WorkerUnavailable, IndexDamaged) as error:
            reason = Reason.of(error)
        else:
            return _cosines(answer)
    partial.append({"lane": "semantic", **reason.as_json()})
    return {}


def _cosines(answer: SemanticAnswer) -> dict[int, float]:
    found = {note: score for note, score in answer.notes}
    for _, note, score in answer.chunks:
        # A passage may be near by chance; the whole note says more.
        found[note] = max(found.get(note, 0.0), 0.9 * score)
    return found


def _linked(row: NoteRow, graph: Graph | None, partial: list[JSON]) -> dict[int, float]:
    """Evidence by note: a link to it or from it, and notes linked with both (Adamic and Adar 2003)."""
    if graph is None:
        reason = Reason("being_built", "the link graph is being built")
        partial.append({"lane": "links", **reason.as_json()})
        return {}
    direct = _around(row.id, graph)
    found = dict.fromkeys(direct, DIRECT)
    for between in direct:
        around = _around(between, graph)
        if len(around) <= RELATED_HUB:
            for other in around - {row.id}:
                found[other] = found.get(other, 0.0) + 1 / math.log(1 + max(len(around), 2))
    return found


def _worded(row: NoteRow, vault: RelatedVault) -> dict[int, float]:
    parts = [row.title, *row.aliases, *(plain_heading(heading.text) for heading in row.headings), *row.tags]
    words = list(dict.fromkeys(" ".join(parts).split()))[:RELATED_WORDS]
    try:
        answer = vault.keyword_index.search(" ".join(words), RELATED_POOL)
    except (IndexDamaged, OSError):
        return {}
    return {hit.note: hit.score for hit in answer.hits}


def _around(note: int, graph: Graph) -> set[int]:
    out, into = graph.neighbours(note)
    return {*out, *into}


_Lanes = tuple[Mapping[int, float], Mapping[int, float], Mapping[int, float]]
_NAMES = (("semantic", SEMANTIC_WEIGHT), ("links", LINK_WEIGHT), ("keyword", KEYWORD_WEIGHT))


def _answer(row: NoteRow, vault: RelatedVault, found: _Lanes, limit: int, partial: list[JSON]) -> JSON:
    ids = sorted({number for scores in found for number in scores} - {row.id})
    notes = vault.ledger.notes.by_id(ids)
    by_path = {note.path: note for note in notes.values()}
    lanes = [
        Lane(name, weight, [LaneHit(notes[n].path, score) for n, score in scores.items() if n in notes])
        for (name, weight), scores in zip(_NAMES, found, strict=True)
    ]
    ranked = fuse(lanes, fusion=Fusion(tiers=()))[:limit]
    joined = _joined(row, vault.graph)
    chunks = vault.ledger.chunks.by_note([by_path[item.note].id for item in ranked])
    results = [
        _result(rank, item, by_path[item.note], joined, chunks) for rank, item in enumerate(ranked, start=1)
    ]
    return {"results": results, "partial": partial}


def _result(
    rank: int,
    item: Candidate,
    row: NoteRow,
    joined: Callable[[int], str | None],
    chunks: dict[int, list[Chunk]],
) -> JSON:
    opening = chunks[row.id][0].text if chunks[row.id] else ""
    lanes = {
        name: {"rank": part.rank, "score": round(part.score, 6)} for name, part in item.contributions.items()
    }
    return {
        **about(row),
        "rank": rank,
        "score": round(item.score, 6),
        "link": joined(row.id),
        "lanes": lanes,
        "preview": preview(opening, PREVIEW_CHARS).text,
    }


def _joined(row: NoteRow, graph: Graph | None) -> Callable[[int], str | None]:
    out: Collection[int]
    into: Collection[int]
    out, into = ((), ()) if graph is None else graph.neighbours(row.id)
    words = {(True, True): "both", (True, False): "out", (False, True): "in"}
    return lambda note: words.get((note in out, note in into))
