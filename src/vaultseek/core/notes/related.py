"""Find related notes: notes similar in meaning, linked notes, and notes with the same words in prominent
places.
"""

import asyncio
from collections.abc import Collection, Mapping, Set

import numpy as np

from vaultseek.base.limits import PREVIEW_CHARS
from vaultseek.base.model import JSON, Chunk, Reason
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.notes.own_text import OwnText, own_text
from vaultseek.core.notes.read import about
from vaultseek.core.search import formula
from vaultseek.core.search.formula import Floats, Scale, scale_of
from vaultseek.core.search.lanes import Fusion, Lane, Table, best_first
from vaultseek.core.search.ranking import Candidate, Ranking
from vaultseek.core.search.snippet import preview
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.semantic.worker import SemanticAnswer
from vaultseek.store.graph import GRAPH_MISSING
from vaultseek.store.keyword.index import KeywordAnswer
from vaultseek.store.ledger import NoteRow
from vaultseek.store.ledger.titles import with_own_title

RELATED_POOL = 100
"""Number of notes that each kind of search contributes."""
RELATED_HUB = 200
"""Number of links above which a note no longer makes its neighbours related to each other."""
RELATED_CONFIDENCE = 0.06
"""Minimum confidence in meaning at which a note without a connecting link counts as related. It corresponds
to a cosine of .3 with the bundled model. In diaries, notes below this cosine are about something else."""
RELATED_WORDS = 60
"""Number of words from names, headings, tags and the opening that the keyword search uses."""

SEMANTIC_WEIGHT = 1.0
LINK_WEIGHT = 1.0
KEYWORD_WEIGHT = 1.5
"""Weight of the evidence from the keyword search, relative to the weights of meaning and links.

Measured by recall of the linked notes among the first ten, on 47 notes of the foam vault: .62 with the note's
own words, .55 with meaning alone.
"""
DIRECT = 1.0
"""Score of a direct link; each common neighbour adds its Adamic-Adar weight to the score."""
LINK_DEVIATIONS = 12.0
"""A direct link counts as much as a score that is this many standard deviations above the other scores."""
APART = 2
"""Number added to the count of notes that contain either of two words. Without it, a few notes that contain
both would make the words a phrase."""


async def related(row: NoteRow, vault: SearchedVault, limit: int) -> JSON:
    """Return the ``limit`` notes most related to the note ``row``, best first, and how each was found."""
    partial: list[JSON] = []
    own = await asyncio.to_thread(_own, row, vault)
    answer, links, (keyword, coverages) = await asyncio.gather(
        _answer_by_meaning(own, vault, partial),
        asyncio.to_thread(_link_scores, own, vault, partial),
        asyncio.to_thread(_by_words, own, vault),
    )
    semantic = {} if answer is None else _cosines(answer)
    if answer is not None:
        # Common words affect the order of candidates, but do not make a note related.
        near = _near(answer, semantic, coverages)
        semantic = {id: cosine for id, cosine in semantic.items() if id in near}
        keyword = {id: score for id, score in keyword.items() if id in near or id in links}
    return await asyncio.to_thread(_answer, row, vault, (semantic, links, keyword), limit, partial)


def _own(row: NoteRow, vault: SearchedVault) -> OwnText:
    return own_text(with_own_title(row, vault.ledger), vault.ledger)


async def alike(
    row: NoteRow, vault: SearchedVault, among: Collection[int] | None = None
) -> Mapping[int, float]:
    """Return the notes similar in meaning to a note; with ``among``, only notes in that collection.

    The result maps note ids to the cosine of the note's own vector or best passage. Raises WorkerUnavailable
    or IndexDamaged.
    """
    answer = await _ask(await asyncio.to_thread(_own, row, vault), vault, among)
    cosines = _cosines(answer)
    near = _near(answer, cosines, {})
    return {id: cosine for id, cosine in cosines.items() if id in near}


async def _ask(own: OwnText, vault: SearchedVault, among: Collection[int] | None = None) -> SemanticAnswer:
    allowed = None if among is None else np.array(sorted(among), np.int64)
    return await vault.spaces.ask(vault.text_of_note(own.row, own.opening), RELATED_POOL, allowed)


async def _answer_by_meaning(
    own: OwnText, vault: SearchedVault, partial: list[JSON]
) -> SemanticAnswer | None:
    reason = vault.spaces.reason()
    if reason is None:
        try:
            return await _ask(own, vault)
        except (WorkerUnavailable, IndexDamaged) as error:
            reason = Reason.of(error)
    partial.append({"lane": "semantic", **reason.as_json()})
    return None


def _near(
    answer: SemanticAnswer, cosines: Mapping[int, float], coverages: Mapping[int, float]
) -> frozenset[int]:
    """Return the notes that are similar to a note in meaning, or contain many of its characteristic words."""
    ids = list({**cosines, **coverages})
    confidence = formula.confidence(
        np.array([cosines.get(id, np.nan) for id in ids]),
        np.array([coverages.get(id, np.nan) for id in ids]),
        answer.meaning_curve,
        answer.reading,
    )
    return frozenset(
        id for id, each in zip(ids, confidence.tolist(), strict=True) if each >= RELATED_CONFIDENCE
    )


def _cosines(answer: SemanticAnswer) -> dict[int, float]:
    cosines = dict(zip(answer.note_ids.tolist(), answer.note_scores.tolist(), strict=True))
    for note, cosine in zip(answer.passage_notes.tolist(), answer.passage_scores.tolist(), strict=True):
        # A passage may be similar by chance; the whole note is better evidence.
        cosines[note] = max(cosines.get(note, 0.0), 0.9 * cosine)
    return cosines


def _link_scores(own: OwnText, vault: SearchedVault, partial: list[JSON]) -> dict[int, float]:
    """Score notes by their links to or from the note, and by common neighbours (Adamic and Adar 2003)."""
    graph, note = vault.graph, own.row.id
    if graph is None:
        partial.append({"lane": "links", **GRAPH_MISSING.as_json()})
        return {}
    linked = vault.ledger.select_in("SELECT path, id FROM notes WHERE path IN ({})", list(own.links))
    ids = {path: id for path, id in linked}
    weights = {id: own.links[path] for path, id in ids.items()}
    out, into = graph.neighbours(note)
    scores = {id: DIRECT * weights.get(id, 1.0) for id in (*out, *into)}
    parents = [id for path, id in ids.items() if 0 < own.parents.get(path, 0) <= graph.degrees(id)[1]]
    scores |= {id: DIRECT / len(parents) for id in parents}
    for other, common in graph.common(note, RELATED_HUB, weights).items():
        scores[other] = scores.get(other, 0.0) + common.adamic_adar
    return {id: score for id, score in scores.items() if score > 0}


def _by_words(own: OwnText, vault: SearchedVault) -> tuple[dict[int, float], dict[int, float]]:
    """Search for the words of the note's names, headings, tags and opening. Return the score and coverage of
    each note found.
    """
    headings = (heading.shown for heading in own.row.headings)
    parts = [*own.row.names, *headings, *own.row.tags, own.opening]
    words = list(dict.fromkeys(" ".join(parts).split()))[:RELATED_WORDS]
    try:
        answer = vault.keyword_index.search(" ".join(words), RELATED_POOL)
    except (IndexDamaged, OSError):
        return {}, {}
    notes, coverages = answer.columns.notes.tolist(), answer.columns.coverage.tolist()
    scores = (answer.columns.scores * _independent(answer, own.row.id)).tolist()
    return dict(zip(notes, scores, strict=True)), dict(zip(notes, coverages, strict=True))


def _independent(answer: KeywordAnswer, note: int) -> Floats:
    """Return, for each note found, the share of its score that counts.

    Words that occur together in other notes, such as the words of a common phrase, are not independent. Only
    the rarest of these words counts in full.
    """
    notes, having = answer.columns.notes, answer.containing(answer.columns.notes)
    rarity = {term.word: term.weight * term.idf for term in answer.terms}
    words = sorted(having, key=lambda word: -rarity.get(word, 0.0))
    contains = np.array([having[word] for word in words], np.float32).reshape(len(words), len(notes))
    others = contains[:, notes != note]
    both = others @ others.T
    counts = both.diagonal()
    together = np.tril(both / (counts[:, None] + counts - both + APART), -1)
    known = (together[:, :, None] * contains).max(axis=1, initial=0.0)
    weights = np.array([rarity.get(word, 0.0) for word in words])[:, None] * contains
    total = np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
    shares: Floats = (weights * (1 - known)).sum(axis=0) / total
    return shares


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
    chunks = vault.ledger.chunks.by_note([item.about.id for item in ranked])
    shared = vault.ledger.shared_lines(each[0].text for each in chunks.values() if each)
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
    if name == "links":
        scale = Scale(DIRECT / LINK_DEVIATIONS, 0.0)
    else:  # a note without any of the words has the score 0
        others = RELATED_POOL - len(falling) if name == "keyword" else 0
        scale = scale_of(np.pad(falling, (0, max(0, others))))
    return Lane(name, notes, falling, scale, weight)


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
