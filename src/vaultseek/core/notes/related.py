"""Related notes: similar in meaning, linked, or with the same words in prominent places."""

import asyncio
from collections.abc import Collection, Mapping, Set

import numpy as np

from vaultseek.base.limits import OPENING_CHARS, PREVIEW_CHARS
from vaultseek.base.model import JSON, Chunk, Reason
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.notes.read import about
from vaultseek.core.search import formula
from vaultseek.core.search.formula import scale_of
from vaultseek.core.search.lanes import Fusion, Lane, Table, best_first
from vaultseek.core.search.ranking import Candidate, Ranking
from vaultseek.core.search.snippet import NOTES_COMPARED, boilerplate, preview, shared_lines
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.semantic.worker import SemanticAnswer
from vaultseek.store.graph import GRAPH_MISSING, Graph
from vaultseek.store.ledger import NoteRow
from vaultseek.store.ledger.titles import with_own_title

RELATED_POOL = 100
"""Number of notes contributed by each kind of search."""
RELATED_HUB = 200
"""Maximum number of links of a note that is evidence that its neighbours are related."""
RELATED_CONFIDENCE = 0.06
"""Minimum confidence by meaning for a note without a connecting link. It corresponds to a cosine of .3 with
the bundled model; below that, diary notes are about something else."""
RELATED_WORDS = 60
"""Number of words from names, headings and tags used for the keyword search."""

SEMANTIC_WEIGHT = 1.0
LINK_WEIGHT = 0.6
KEYWORD_WEIGHT = 0.4
"""Weights: meaning counts most, then links; words only matter when the others find nothing."""
DIRECT = 1.0
"""Score of a direct link; each common neighbour adds its Adamic-Adar weight."""


async def related(row: NoteRow, vault: SearchedVault, limit: int) -> JSON:
    """Return the ``limit`` notes most related to the one at ``row``, best first, with how each was found."""
    partial: list[JSON] = []
    row = await asyncio.to_thread(with_own_title, row, vault.ledger)
    (semantic, template), links = await asyncio.gather(
        _semantic_scores(row, vault, partial), asyncio.to_thread(_link_scores, row, vault.graph, partial)
    )
    words = await asyncio.to_thread(_keyword_scores, row, vault, template)
    if not any(lane["lane"] == "semantic" for lane in partial):
        # Common words order the candidates, but do not make a note related.
        words = {id: score for id, score in words.items() if id in semantic or id in links}
    return await asyncio.to_thread(_answer, row, vault, (semantic, links, words), limit, partial)


async def alike(
    row: NoteRow, vault: SearchedVault, among: Collection[int] | None = None
) -> Mapping[int, float]:
    """Return the notes similar in meaning to a note; with ``among``, only notes in that collection.

    They are keyed by id, with the cosine of their own vector or best passage. Raises WorkerUnavailable or
    IndexDamaged.
    """
    return (await _alike(row, vault, among))[0]


async def _alike(
    row: NoteRow, vault: SearchedVault, among: Collection[int] | None = None
) -> tuple[Mapping[int, float], frozenset[str]]:
    """Return the result of :func:`alike`, and the template lines that the note shares with similar notes.

    Text repeated in forty daily notes is not the subject of any of them, so it is left out of the comparison.
    """
    allowed = None if among is None else np.array(sorted(among), np.int64)
    opening = await asyncio.to_thread(vault.ledger.chunks.opening, row.id, OPENING_CHARS)
    answer = await vault.spaces.ask(vault.text_of_note(row, opening), RELATED_POOL, allowed)
    nearest = sorted(cosines := _cosines(answer), key=lambda id: -cosines[id])[:NOTES_COMPARED]
    template = await asyncio.to_thread(shared_lines, nearest, vault.ledger)
    own = "\n".join(line for line in opening.split("\n") if line.strip() not in template)
    if own != opening:
        answer = await vault.spaces.ask(vault.text_of_note(row, own), RELATED_POOL, allowed)
        cosines = _cosines(answer)
    of_meaning = np.array(list(cosines.values()))
    of_words = np.full(len(cosines), np.nan)
    confidence = formula.confidence(of_meaning, of_words, answer.meaning_curve, answer.reading)
    near = {
        id: cosine
        for (id, cosine), each in zip(cosines.items(), confidence.tolist(), strict=True)
        if each >= RELATED_CONFIDENCE
    }
    return near, template


async def _semantic_scores(
    row: NoteRow, vault: SearchedVault, partial: list[JSON]
) -> tuple[Mapping[int, float], frozenset[str]]:
    reason = vault.spaces.reason()
    if reason is None:
        try:
            return await _alike(row, vault)
        except (WorkerUnavailable, IndexDamaged) as error:
            reason = Reason.of(error)
    partial.append({"lane": "semantic", **reason.as_json()})
    return {}, boilerplate(vault.ledger)


def _cosines(answer: SemanticAnswer) -> dict[int, float]:
    cosines = dict(zip(answer.note_ids.tolist(), answer.note_scores.tolist(), strict=True))
    for note, cosine in zip(answer.passage_notes.tolist(), answer.passage_scores.tolist(), strict=True):
        # A passage may be similar by chance; the whole note is better evidence.
        cosines[note] = max(cosines.get(note, 0.0), 0.9 * cosine)
    return cosines


def _link_scores(row: NoteRow, graph: Graph | None, partial: list[JSON]) -> dict[int, float]:
    """Score notes by links to or from the note, and by common neighbours (Adamic and Adar 2003)."""
    if graph is None:
        partial.append({"lane": "links", **GRAPH_MISSING.as_json()})
        return {}
    out, into = graph.neighbours(row.id)
    scores = dict.fromkeys((*out, *into), DIRECT)
    for other, common in graph.common(row.id, RELATED_HUB).items():
        scores[other] = scores.get(other, 0.0) + common.adamic_adar
    return scores


def _keyword_scores(row: NoteRow, vault: SearchedVault, template: Set[str]) -> dict[int, float]:
    headings = (heading.shown for heading in row.headings if heading.shown.strip() not in template)
    parts = [*row.names, *headings, *row.tags]
    words = list(dict.fromkeys(" ".join(parts).split()))[:RELATED_WORDS]
    try:
        answer = vault.keyword_index.search(" ".join(words), RELATED_POOL)
    except (IndexDamaged, OSError):
        return {}
    return dict(zip(answer.columns.notes.tolist(), answer.columns.scores.tolist(), strict=True))


_Lanes = tuple[Mapping[int, float], Mapping[int, float], Mapping[int, float]]
_NAMES = (("semantic", SEMANTIC_WEIGHT), ("links", LINK_WEIGHT), ("keyword", KEYWORD_WEIGHT))


def _answer(row: NoteRow, vault: SearchedVault, lane_scores: _Lanes, limit: int, partial: list[JSON]) -> JSON:
    ids = sorted({id for scores in lane_scores for id in scores} - {row.id})
    notes = vault.ledger.notes.by_id(ids)
    lanes = [
        _lane(name, weight, {id: score for id, score in scores.items() if id in notes}, vault)
        for (name, weight), scores in zip(_NAMES, lane_scores, strict=True)
    ]
    ranked = Ranking.of(Table.of(notes, Fusion(lanes, depth=len(notes)))).candidates[:limit]
    graph = vault.graph
    shared = boilerplate(vault.ledger)
    chunks = vault.ledger.chunks.by_note([item.about.id for item in ranked])
    results = [
        {
            **_result(rank, item, chunks, shared),
            "link": graph and graph.direction(row.id, item.about.id),
        }
        for rank, item in enumerate(ranked, start=1)
    ]
    return {"results": results, "partial": partial}


def _lane(name: str, weight: float, scores: Mapping[int, float], vault: SearchedVault) -> Lane:
    ids, values = np.fromiter(scores, np.int64, len(scores)), np.array([*scores.values()], np.float64)
    notes, falling = best_first(ids, values, vault.ledger.paths_of)
    return Lane(name, notes, falling, scale_of(falling), weight)


def _result(rank: int, item: Candidate, chunks: dict[int, list[Chunk]], shared: Set[str]) -> JSON:
    row = item.about
    opening = chunks[row.id][0] if chunks[row.id] else Chunk("", (), 1, 1, "")
    heading_lines = {heading.line for heading in row.headings}
    lanes = {
        name: {"rank": int(part.rank[item.row]), "score": round(float(part.score[item.row]), 6)}
        for name, part in item.ranking.notes.parts.items()
        if part.known[item.row]
    }
    return {
        **about(row),
        "rank": rank,
        "score": round(item.score, 6),
        "lanes": lanes,
        "preview": preview(
            opening, PREVIEW_CHARS, names=(row.title,), heading_lines=heading_lines, shared=shared
        ).text,
    }
