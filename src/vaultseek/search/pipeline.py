"""The way of a query: understand, filter, ask the lanes, add neighbours, fuse, choose passages, answer.

One concern a step. Filters are decided first, from the ledger, and every lane sees only the notes that are
left. Lanes rank notes; the passage of each note is chosen afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from vaultseek import limits
from vaultseek.errors import IndexDamaged, Unavailable, WorkerUnavailable
from vaultseek.index.concept_vocabulary import Concept
from vaultseek.index.graph import Graph
from vaultseek.index.keyword.index import KeywordAnswer, KeywordIndex
from vaultseek.index.ledger import Ledger, NoteRow
from vaultseek.indexing.concepts import expanded
from vaultseek.markdown.dates import named_time, stated_time
from vaultseek.model import JSON, Chunk, Reason
from vaultseek.query.compare import is_file_name
from vaultseek.query.profile import profile
from vaultseek.query.stopwords import STOP_WORDS
from vaultseek.search.filter import Allowed, allowed
from vaultseek.search.fusion import Fused, Fusion, Lane, LaneHit, Signals, fuse
from vaultseek.search.graph_boost import anchor_shares, neighbour_evidence
from vaultseek.search.request import Asked, Request, understood
from vaultseek.search.rerank import pair_text, reordered
from vaultseek.search.response import detailed, explanation, results
from vaultseek.search.scoring import (
    NAMED_CONFIDENCE,
    Found,
    alike,
    confidence,
    keyword_found,
    keyword_trust,
    semantic_found,
)
from vaultseek.settings.model import SearchSettings
from vaultseek.text import fold
from vaultseek.worker import SemanticAnswer

T = TypeVar("T")
COMPANY_NOTES = 10
"""So many of each lane's best share their scores with those that are like them. No lane ever gives fewer, so
that the order does not depend on how many results are asked for."""
COMPLETE_STATES = ("ready", "polling", "paused")
"""In others there may be notes that no lane knows of."""
JUDGED_NOTES = 10
"""So many of the best tell whether anything was found; no lane ever gives fewer."""
DAY_SECONDS = 86_400.0


class SearchedVault(Protocol):
    """What a search needs of an open vault."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def keyword_index(self) -> KeywordIndex: ...

    @property
    def graph(self) -> Graph | None: ...

    @property
    def name(self) -> str: ...

    def keyword_reason(self) -> Reason | None:
        """Why the keyword lane does not know all notes, None if it does."""

    def keyword_lost(self) -> None:
        """The keyword index turned out to be damaged."""

    def semantic_reason(self) -> Reason | None:
        """Why the semantic lane cannot take part, None if it can."""

    async def ask_semantic(self, text: str, k: int, only: Allowed | None) -> SemanticAnswer:
        """The nearest passages and notes. Raises WorkerUnavailable or IndexDamaged."""

    async def near_concepts(self, text: str, vector: Any, count: int, floor: float) -> list[Concept]:
        """Terms of the vault that say more of what the text, whose vector it is, is about.

        Raises Unavailable while they are not known.
        """

    async def note_vectors(self, notes: Sequence[int]) -> Mapping[int, Any]:
        """The notes' own unit vectors, as far as there are any. Raises WorkerUnavailable or IndexDamaged."""

    async def rerank(self, query: str, texts: Sequence[str], model: str, seconds: float) -> Sequence[float]:
        """How well each text answers the query, in [0, 1], by a cross-encoder. Raises WorkerUnavailable."""

    def index_state(self) -> JSON:
        """The ``index`` part of an answer."""


class Searcher:
    """Answers searches in one vault."""

    def __init__(self, vault: SearchedVault) -> None:
        self._vault = vault
        self._ledger = vault.ledger

    async def search(self, request: Request) -> JSON:
        """The answer, in the form that ``search --json`` prints.

        Raises BadQuery for a query that cannot be asked, Unavailable if no lane can answer.
        """
        began = time.perf_counter()
        asked = self._understand(request)
        asked.only = await self._timed(asked, "filter", self._filter, asked)
        if asked.query.is_listing or not asked.query.rank_text:
            ranked, notes = await asyncio.to_thread(self._listing, asked)
        else:
            await asyncio.gather(self._ask_keyword(asked), self._ask_semantic(asked))
            self._require_a_lane(asked)
            self._weigh(asked)
            await self._ask_company(asked)
            ranked, notes = await self._timed(asked, "fuse", self._rank, asked)
            ranked = (await self._read_again(asked, ranked, notes))[: asked.limit]
        results = await self._timed(asked, "passages", self._results, asked, ranked, notes)
        return self._answer(asked, results, began)

    # -- the steps -------------------------------------------------------------------------------------

    def _understand(self, request: Request) -> Asked:
        query = understood(request.query, request.fields, plain=request.plain)
        listing = limits.LISTED_NOTES if not query.rank_text else request.settings.limit
        return Asked(request, query, profile(query, request.settings.profile), request.limit or listing)

    def _filter(self, asked: Asked) -> Allowed | None:
        return allowed(asked.query.filter, self._ledger)

    def _listing(self, asked: Asked) -> tuple[list[Fused], dict[str, NoteRow]]:
        """A query of filters alone: every note that is left, the last modified first."""
        ids = [] if asked.only is None else asked.only.ids.tolist()
        rows = sorted(self._ledger.notes.by_id(ids).values(), key=lambda row: (-row.modified, row.path))
        ranked = [Fused(row.path, 1.0, 0.0, {}) for row in rows[: asked.limit]]
        return ranked, {row.path: row for row in rows}

    async def _ask_keyword(self, asked: Asked) -> None:
        if asked.request.mode == "semantic":
            return
        try:
            asked.keyword = await self._timed(asked, "keyword", self._keyword, asked)
            reason = self._vault.keyword_reason()
            if reason is not None:
                asked.partial["keyword"] = reason
        except (IndexDamaged, OSError) as error:
            self._vault.keyword_lost()
            words = f"the keyword index is being made again ({error})"
            asked.partial["keyword"] = Reason("index_damaged", words)

    def _keyword(self, asked: Asked) -> KeywordAnswer:
        only = None if asked.only is None else asked.only.ids
        return self._vault.keyword_index.search(asked.query.rank_text, asked.looked_at, only)

    async def _ask_semantic(self, asked: Asked) -> None:
        mode = asked.request.mode
        if mode == "keyword" or (mode == "hybrid" and asked.profile.pure_identifier):
            return
        reason = self._vault.semantic_reason()
        if reason is not None:
            asked.partial["semantic"] = reason
            return
        text, began = asked.query.rank_text, time.perf_counter()
        try:
            async with asyncio.timeout(asked.request.seconds):
                asked.semantic = await self._vault.ask_semantic(text, asked.looked_at, asked.only)
                asked.unexpanded = asked.semantic
                await self._expand(asked, text, asked.semantic.vector)
        except TimeoutError:
            late = "semantic" if asked.semantic is None else "expansion"
            asked.partial[late] = Reason("deadline", "not ready by the deadline of the request")
        except (WorkerUnavailable, IndexDamaged) as error:
            asked.partial["semantic" if asked.semantic is None else "expansion"] = Reason.of(error)
        asked.milliseconds["semantic"] = (time.perf_counter() - began) * 1000

    async def _expand(self, asked: Asked, text: str, vector: Any) -> None:
        """Ask again with the vault's own terms for it; without any near enough, all stays as it is."""
        wished = asked.request.settings.expansion
        if not wished.enabled or asked.profile.pure_identifier:
            return
        try:
            found = await self._vault.near_concepts(text, vector, wished.terms, wished.floor)
        except Unavailable as error:
            asked.partial["expansion"] = Reason.of(error)
            return
        if found:
            more = expanded(text, found)
            asked.semantic = await self._vault.ask_semantic(more, asked.looked_at, asked.only)
            asked.concepts = found

    def _require_a_lane(self, asked: Asked) -> None:
        if asked.keyword is None and asked.semantic is None:
            reasons = "; ".join(reason.text for reason in asked.partial.values())
            raise Unavailable(f"no search can answer now, try again: {reasons}")

    def _weigh(self, asked: Asked) -> None:
        population = len(asked.only.ids) if asked.only is not None else self._ledger.counts().notes
        asked.by_words = keyword_found(asked.keyword, population)
        asked.by_meaning = semantic_found(asked.semantic)
        asked.weights = _weights(asked, population)

    async def _ask_company(self, asked: Asked) -> None:
        """The vectors of the best notes, to see which are alike; there is a ranking without them as well."""
        settings = asked.request.settings
        textbook = settings.fusion == "rrf" and settings.rrf_ranks == "integer"
        if not settings.company or textbook or asked.keyword is None or asked.semantic is None:
            return
        began = time.perf_counter()
        best = {*_first(asked.by_words, COMPANY_NOTES), *_first(asked.by_meaning, COMPANY_NOTES)}
        with contextlib.suppress(WorkerUnavailable, IndexDamaged, TimeoutError):
            async with asyncio.timeout(asked.request.seconds):
                asked.vectors = await self._vault.note_vectors(sorted(best))
        asked.milliseconds["company"] = (time.perf_counter() - began) * 1000

    def _rank(self, asked: Asked) -> tuple[list[Fused], dict[str, NoteRow]]:
        keyword, semantic = asked.by_words, asked.by_meaning
        exact = self._ledger.notes.ids_by_name(asked.query.rank_text) | self._ledger.notes.ids_by_name(
            asked.request.query.strip()
        )
        if asked.only is not None:
            exact &= set(asked.only.ids.tolist())
        notes = self._ledger.notes.by_id(
            sorted({*_first(keyword, asked.k), *_first(semantic, asked.k), *exact})
        )
        lanes = [
            keyword.lane("keyword", asked.weights[0], asked.k, notes),
            semantic.lane("semantic", asked.weights[1], asked.k, notes),
        ]
        exact = _by_file_name(exact, asked.query.rank_text, notes)
        signals = self._signals(asked, notes, exact)
        fusion = _fusion(asked.request.settings)
        ranked = fuse(lanes, fusion=fusion, signals=signals)
        graph = self._graph_lane(asked, ranked, notes)
        if graph is not None:
            signals = self._signals(asked, notes, exact)
            ranked = fuse(lanes, graph=graph, fusion=fusion, signals=signals)
        found = confidence(notes, asked.keyword, asked.unexpanded)
        asked.confidence = {
            row.path: max(found[number], NAMED_CONFIDENCE if number in exact else 0.0)
            for number, row in notes.items()
        }
        least = asked.request.settings.min_confidence
        kept = [each for each in ranked if asked.confidence[each.note] >= least]
        best = max(kept[:JUDGED_NOTES], key=lambda each: asked.confidence[each.note], default=None)
        if best is not None and self._is_nothing(asked, asked.confidence[best.note]):
            asked.nearest = {"path": best.note, "confidence": round(asked.confidence[best.note], 4)}
            kept = []
        return _from_one(kept), {row.path: row for row in notes.values()}

    def _is_nothing(self, asked: Asked, best: float) -> bool:
        """Whether what was found has nothing to do with the query, ``best`` being the highest confidence.

        What filters leave was asked for, and what a lane does not know yet may be the answer: there the
        nearest are always told.
        """
        both = asked.keyword is not None and asked.unexpanded is not None and not asked.partial
        if best >= asked.request.settings.nothing_below or asked.only is not None or not both:
            return False
        index = self._vault.index_state()
        return not index.get("pending") and index.get("state", "ready") in COMPLETE_STATES

    async def _read_again(
        self, asked: Asked, ranked: list[Fused], notes: Mapping[str, NoteRow]
    ) -> list[Fused]:
        """The first few in the order of a model that reads query and passage together, if that is wished."""
        settings, query = asked.request.settings, asked.query.rank_text
        first = ranked[: settings.rerank_top_n]
        if not settings.rerank_enabled or len(first) < 2:
            return ranked
        began = time.perf_counter()
        rows = [notes[found.note] for found in first]
        passages = await asyncio.to_thread(self._passages, asked, rows)
        texts = [pair_text(row, passages.get(row.id)) for row in rows]
        try:
            async with asyncio.timeout(asked.request.seconds):
                scores = await self._vault.rerank(
                    query, texts, settings.rerank_model, settings.rerank_seconds
                )
        except TimeoutError:
            asked.partial["rerank"] = Reason("deadline", "not ready by the deadline of the request")
        except WorkerUnavailable as error:
            words = f"the order is that without reranking: {error}"
            asked.partial["rerank"] = Reason(Reason.of(error).code, words)
        else:
            ranked = [*reordered(first, scores), *ranked[len(first) :]]
            asked.reranked = {
                found.note: {"score": round(score, 6), "rank_before": rank}
                for rank, (found, score) in enumerate(zip(first, scores, strict=True), start=1)
            }
        asked.milliseconds["rerank"] = (time.perf_counter() - began) * 1000
        return ranked

    def _signals(self, asked: Asked, notes: Mapping[int, NoteRow], exact: set[int]) -> Signals:
        now = time.time()
        settings = asked.request.settings
        return Signals(
            age_days={row.path: (now - _date(row, settings)) / DAY_SECONDS for row in notes.values()},
            anchors=anchor_shares(asked.profile.anchors, asked.keyword, notes),
            exact={notes[number].path for number in exact if number in notes},
            alike=alike(asked.vectors, notes),
        )

    def _graph_lane(self, asked: Asked, ranked: Sequence[Fused], notes: dict[int, NoteRow]) -> Lane | None:
        """Neighbours of the best notes; what they are is added to ``notes``."""
        graph, settings = self._vault.graph, asked.request.settings
        if not settings.graph or settings.graph_weight <= 0 or asked.request.mode != "hybrid":
            return None
        if graph is None:
            asked.partial["graph"] = Reason("being_built", "the link graph is being built")
            return None
        only = None if asked.only is None else set(asked.only.ids.tolist())
        found = neighbour_evidence(_weighed_words(asked), ranked, notes, graph, self._ledger, only)
        return Lane("graph", settings.graph_weight, [LaneHit(path, score) for path, score in found.items()])

    # -- the answer ------------------------------------------------------------------------------------

    def _results(self, asked: Asked, ranked: Sequence[Fused], notes: Mapping[str, NoteRow]) -> list[JSON]:
        rows = [notes[found.note] for found in ranked[: detailed(asked)]]
        return results(asked, ranked, notes, self._passages(asked, rows))

    def _passages(self, asked: Asked, rows: Sequence[NoteRow]) -> dict[int, Chunk]:
        """The passage of each note that both lanes together like best; its first one without any hit."""
        likes: dict[str, float] = {}
        for hits in _passage_scores(asked):
            best = max(hits.values(), default=0.0)
            for chunk, score in hits.items():
                likes[chunk] = likes.get(chunk, 0.0) + (score / best if best > 0 else 0.0)
        chosen: dict[int, Chunk] = {}
        for number, chunks in self._ledger.chunks.by_note([row.id for row in rows]).items():
            if chunks:
                chosen[number] = max(chunks, key=lambda chunk: likes.get(chunk.id, 0.0))
        return chosen

    def _answer(self, asked: Asked, results: list[JSON], began: float) -> JSON:
        answer: JSON = {
            "query": asked.request.query,
            "vault": self._vault.name,
            "mode": asked.request.mode,
            "took_ms": round((time.perf_counter() - began) * 1000, 2),
            "results": results,
            "partial": [{"lane": lane, **reason.as_json()} for lane, reason in asked.partial.items()],
            "index": self._vault.index_state(),
            "interpreted": asked.query.interpreted,
        }
        if asked.nearest is not None:
            answer["nearest"] = asked.nearest
        if asked.query.is_listing:
            answer["total"] = 0 if asked.only is None else len(asked.only.ids)
        if asked.request.explain:
            answer["explain"] = explanation(asked)
        return answer

    async def _timed(self, asked: Asked, stage: str, work: Callable[..., T], *arguments: Any) -> T:
        began = time.perf_counter()
        try:
            return await asyncio.to_thread(work, *arguments)
        finally:
            asked.milliseconds[stage] = (time.perf_counter() - began) * 1000


def _by_file_name(exact: set[int], name: str, notes: Mapping[int, NoteRow]) -> set[int]:
    """Of the notes that are called so, the files of that name; all of them if there is none."""
    return {number for number in exact if number in notes and is_file_name(notes[number].path, name)} or exact


def _from_one(ranked: list[Fused]) -> list[Fused]:
    """The best has 1, also if a better one was not confident enough."""
    best = ranked[0].score if ranked else 1.0
    return ranked if best in (0.0, 1.0) else [replace(each, score=each.score / best) for each in ranked]


def _first(found: Found, k: int) -> list[int]:
    return list(found.scores)[:k]


def _weights(asked: Asked, population: int) -> tuple[float, float]:
    """Weights of the keyword and the semantic lane: as set, else by the query and what its words found."""
    settings, chosen = asked.request.settings, asked.profile.weights
    if settings.fusion == "linear":
        given = not settings.adaptive or settings.has_explicit_alpha
        alpha = settings.alpha if given else chosen.alpha
        return 1 - alpha, alpha
    if not settings.adaptive or settings.has_explicit_weights:
        return settings.keyword_weight, settings.semantic_weight
    believed = settings.profile == "auto" and asked.semantic is not None
    trust = keyword_trust(asked.keyword, population) if believed else 1.0
    return chosen.keyword * trust, chosen.semantic


def _fusion(settings: SearchSettings) -> Fusion:
    tiers = tuple((tier.days, tier.factor) for tier in settings.recency.tiers)
    return Fusion(
        method=settings.fusion,
        ranks=settings.rrf_ranks,
        rrf_k=settings.rrf_k,
        rrf_min_score=settings.rrf_min_score,
        company=settings.company,
        anchor_boost=settings.anchor_boost,
        tiers=tiers if settings.recency.enabled else (),
    )


def _date(row: NoteRow, settings: SearchSettings) -> float:
    """The moment that the age of a note is counted from."""
    wanted = settings.recency
    found = stated_time(row.properties, wanted.properties)
    if found is None and wanted.date == "filename":
        found = named_time(row.path)
    if found is None:
        found = row.created if wanted.date == "created" else row.modified
    return found


def _passage_scores(asked: Asked) -> list[dict[str, float]]:
    keyword = (
        {} if asked.keyword is None else {c.id: c.score for hit in asked.keyword.hits for c in hit.chunks}
    )
    semantic = {} if asked.semantic is None else {chunk: score for chunk, _, score in asked.semantic.chunks}
    return [keyword, semantic]


def _weighed_words(asked: Asked) -> dict[str, float]:
    """The query's words and how rare each is; all alike where the keyword lane did not say."""
    if asked.keyword is None:
        return {fold(word): 1.0 for word in asked.query.rank_text.split() if fold(word) not in STOP_WORDS}
    return {fold(term.word): term.weight * term.idf for term in asked.keyword.terms if term.df}
