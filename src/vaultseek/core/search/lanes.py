"""Score notes by each lane's answer, weight the lanes, and collect their contributions in one table.

Scores from different lanes cannot be compared, and neither can one lane's scores for two queries. A score's
distance from the other good scores, in standard deviations, can be compared. A lane that has the answer puts
it far ahead of its hundredth note; a lane without the answer has a hundred notes with similar scores.

With ``rrf``, the contribution that a note with the minimum score would have is subtracted from each
contribution. So a lane without an answer, whose notes are all close together, decides little. With
``linear``, an unknown note gets 0. The arithmetic is in ``formula.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from vaultseek.base.model import JSON
from vaultseek.base.text import fold
from vaultseek.content.languages.detect import detect_language, main_language
from vaultseek.content.languages.stopwords import STOP_WORDS
from vaultseek.content.query.words import pinned_name
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.search import formula
from vaultseek.core.search.formula import SCALE_NOTES, Floats, Scale, scale_of
from vaultseek.core.search.request import ParsedRequest
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.semantic.worker import SemanticAnswer
from vaultseek.settings.search import SearchSettings
from vaultseek.store.keyword.answer import places_of
from vaultseek.store.keyword.bm25f import idf, run_firsts
from vaultseek.store.keyword.index import KeywordAnswer
from vaultseek.store.keyword.searcher import FUZZY_WEIGHT
from vaultseek.store.keyword.segment import Bools, Ints
from vaultseek.store.ledger import NoteRow
from vaultseek.store.ledger.filter import FilterResult

DIRECT_LANES = ("keyword", "semantic")
"""Names of the lanes that search with the query itself, in the order in which answers list them."""
Paths = Callable[[Sequence[int]], Mapping[int, str]]
"""Function that maps note ids to paths."""
_NO_NOTES, _NO_SCORES = np.empty(0, np.int64), np.empty(0)


class Part(NamedTuple):
    """The contribution of one lane to each candidate's score, as columns over the candidates.

    ``rank`` is 1-based, or 0 for a note that the lane knows but did not propose; ``fused_rank`` is the rank
    used in the formula. All values are 0 for an unknown note. ``gain`` is the contribution minus two amounts:
    the contribution that a note with the minimum score would have, and the overlap with the other lane
    (:func:`formula.agreement`).
    """

    known: Bools
    rank: Ints
    fused_rank: Floats
    score: Floats
    weight: float
    contribution: Floats
    gain: Floats


@dataclass(frozen=True, eq=False)
class Lane:
    """A lane's result: note ids, best first, their scores, the scale of the scores, and the weight of the
    lane.
    """

    name: str
    notes: Ints = field(default_factory=lambda: _NO_NOTES)
    scores: Floats = field(default_factory=lambda: _NO_SCORES)
    scale: Scale = field(default_factory=lambda: Scale(0.0, 0.0))
    weight: float = 0.0

    @cached_property
    def _order(self) -> Ints:
        return self.notes.argsort()

    def part(self, ids: Ints, fusion: Fusion, by_link: Ints = _NO_NOTES) -> Part:
        """Return the lane's contribution to the notes ``ids``.

        Notes in ``by_link`` do not count as proposed by the lane.
        """
        places = places_of(ids, self.notes, self._order)
        known = places >= 0
        is_proposed = known & (places < fusion.depth) & (places_of(ids, by_link) < 0)
        ranks = np.where(is_proposed, places + 1, 0)
        scores: Floats = self.scores[places] if len(self.scores) else np.zeros(len(ids))
        best = float(self.scores[0]) if len(self.scores) else 0.0
        unknown = 0.0
        if fusion.method == "linear":
            fused: Floats = np.where(ranks > 0, ranks, np.count_nonzero(ranks) + 1.0)
            total = sum(lane.weight for lane in fusion.lanes) or 1.0
            values = self.weight / total * formula.normalized(scores, best, self.scale.minimum)
        elif fusion.ranks == "integer":
            known, fused = ranks > 0, ranks.astype(np.float64)
            values = formula.reciprocal_rank(self.weight, fusion.rrf_k, fused)
        else:
            fused = formula.interpolated_rank(scores, best, self.scale)
            values = formula.reciprocal_rank(self.weight, fusion.rrf_k, fused)
            if self.scale.deviation > 0:
                last = formula.interpolated_rank(np.array([self.scale.minimum]), best, self.scale)
                unknown = float(formula.reciprocal_rank(self.weight, fusion.rrf_k, last)[0])
        gains = np.maximum(0.0, values - unknown)
        fused, scores, values, gains = np.where(known, [fused, scores, values, gains], 0.0)
        return Part(known, ranks, fused, scores, self.weight, values, gains)


@dataclass(frozen=True, slots=True)
class Fusion:
    """The scored lanes, and how to combine them. Each lane proposes its first ``depth`` notes.

    ``norm`` is the p of :func:`formula.agreement`; 1 means the sum.
    """

    lanes: Sequence[Lane] = ()
    method: Literal["rrf", "linear"] = "rrf"
    ranks: Literal["score", "integer"] = "score"
    rrf_k: float = 60.0
    norm: float = 1.0
    depth: int = SCALE_NOTES

    def named(self, name: str) -> Lane:
        """Return the lane with this name."""
        return next((lane for lane in self.lanes if lane.name == name), Lane(name))

    def first(self, count: int) -> Ints:
        """Return the ids of the ``count`` best notes of each lane, without duplicates."""
        ids = dict.fromkeys(id for lane in self.lanes for id in lane.notes[:count].tolist())
        return np.fromiter(ids, np.int64, len(ids))

    def parts(self, ids: Ints, by_link: Ints = _NO_NOTES) -> dict[str, Part]:
        """Return a dict from the name of each lane with notes to the lane's contributions to the notes. Gains
        are reduced so that they add up to the p-norm of the original gains.
        """
        parts = {lane.name: lane.part(ids, self, by_link) for lane in self.lanes if len(lane.notes)}
        shares = formula.agreement([part.gain for part in parts.values()], self.norm)
        return {name: part._replace(gain=part.gain * shares) for name, part in parts.items()}

    def best(self, count: int) -> Ints:
        """Return the ids of the ``count`` notes with the largest total gains from all lanes, before links and
        signals.
        """
        ids = self.first(self.depth)
        if len(ids) <= count or sum(len(lane.notes) > 0 for lane in self.lanes) < 2:
            return ids[:count]  # with one lane, its own order is also the order by contribution
        gains: Floats = sum((part.gain for part in self.parts(ids).values()), np.zeros(len(ids)))
        return ids[np.argsort(-gains, kind="stable")[:count]]


@dataclass(frozen=True)
class Evidence:
    """The request, the lanes' answers and the lanes' scores, as the ranking receives them.

    ``filtered`` is None without a filter. ``index_state`` is the state of the vault's index.
    """

    parsed: ParsedRequest
    retrieval: Retrieval
    fusion: Fusion
    filtered: FilterResult | None
    vault: SearchedVault
    index_state: JSON = field(default_factory=dict)

    @property
    def allowed(self) -> NoteIds | None:
        """Ids of the notes that pass the filter; None if all notes may match."""
        return None if self.filtered is None else self.filtered.ids

    @property
    def settings(self) -> SearchSettings:
        """Search settings of the request."""
        return self.parsed.request.settings

    @property
    def keyword(self) -> KeywordAnswer | None:
        """Answer of the keyword lane; None if it did not answer."""
        return self.retrieval.keyword

    @cached_property
    def pinned(self) -> set[int]:
        """Ids of the notes pinned to the query."""
        name = pinned_name(self.parsed.query.rank_text)
        return {row[0] for row in self.vault.ledger.select("SELECT note FROM names WHERE name = ?", name)}

    @cached_property
    def word_weights(self) -> dict[str, float]:
        """A dict from each word of the query, folded, to its weight by rarity. Without a keyword answer all
        weights are equal.
        """
        if self.keyword is None:
            words = map(fold, self.parsed.query.rank_text.split())
            return {word: 1.0 for word in words if word not in STOP_WORDS}
        return {fold(term.word): term.weight * term.idf for term in self.keyword.terms if term.df}

    def table(self, ids: Ints, by_link: Ints = _NO_NOTES) -> Table:
        """Return a table of two groups of candidates: ``ids``, and the notes found ``by_link``. Deleted notes
        are left out.
        """
        rows = self.vault.ledger.notes.by_id(sorted({*ids.tolist(), *by_link.tolist()}))
        return Table.of(rows, self.fusion, self.keyword, by_link)


@dataclass(eq=False)
class Table:
    """The candidates of a search: a row for each note, and columns of numbers.

    ``parts`` are the contributions of the lanes, and ``gain`` is their sum. ``score`` begins as ``gain``.
    ``figures`` are the factors and addends that the signals applied to the score, under their names in the
    answer. ``facts`` are the inputs of the signals. ``coverage`` and ``confidence`` (from 0 to 1), ``exact``,
    ``eligible`` and ``doubtful`` judge each note by itself. They are set by ``matching.py``; before that,
    every note matches. ``words`` maps each word of the query, as indexed, to the notes that have it. ``via``
    maps a note to the note with the strongest link to it, and ``links`` maps a note's id to its links with
    the best notes: a dict from the best note's id to the strength of the link.
    """

    ids: Ints
    notes: Sequence[NoteRow]
    parts: dict[str, Part]
    gain: Floats
    score: Floats
    words: Mapping[str, Bools] = field(default_factory=dict)
    figures: dict[str, Floats] = field(default_factory=dict)
    facts: dict[str, Floats] = field(default_factory=dict)
    via: Mapping[int, int] = field(default_factory=dict)
    links: Mapping[int, Mapping[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.coverage: Floats = np.full(len(self.ids), np.nan)
        self.confidence: Floats = np.ones(len(self.ids))
        self.exact: Bools = np.ones(len(self.ids), np.bool_)
        self.eligible: Bools = self.exact
        self.doubtful: Bools = ~self.exact

    @classmethod
    def of(
        cls,
        rows: Mapping[int, NoteRow],
        fusion: Fusion,
        keyword: KeywordAnswer | None = None,
        by_link: Ints = _NO_NOTES,
    ) -> Table:
        """Return the table of the notes in ``rows``, with the contributions of all lanes."""
        ids = np.fromiter(rows, np.int64, len(rows))
        parts = fusion.parts(ids, by_link)
        gain = sum((part.gain for part in parts.values()), np.zeros(len(ids)))
        words = {} if keyword is None else keyword.containing(ids)
        return cls(ids, list(rows.values()), parts, gain, gain, words)

    @classmethod
    def listing(cls, rows: Sequence[NoteRow]) -> Table:
        """Return a table in which all notes are equally good."""
        ids = np.array([row.id for row in rows], np.int64)
        return cls(ids, rows, {}, np.zeros(len(ids)), np.ones(len(ids)))

    def part_of(self, rows: Ints) -> Table:
        """Return a table of only these rows, before any signal is applied."""
        return Table(
            self.ids[rows],
            [self.notes[row] for row in rows.tolist()],
            {},
            self.gain[rows],
            self.gain[rows],
            {word: has[rows] for word, has in self.words.items()},
            facts={name: column[rows] for name, column in self.facts.items()},
        )

    def __len__(self) -> int:
        return len(self.ids)

    def fact(self, name: str) -> Floats:
        """Return a column of facts; 0 for every note if the column is missing."""
        return self.facts.get(name, np.zeros(len(self)))

    def take_facts(self, others: Table) -> None:
        """Copy the facts from another table; notes missing from it get no facts."""
        places = places_of(self.ids, others.ids)
        for name, column in others.facts.items():
            self.facts[name] = np.where(places >= 0, column[places], 0)

    def having(self, ids: Iterable[int]) -> Bools:
        """Return a mask of the candidates that are among these notes."""
        wanted = set(ids)  # for sixty candidates, eight times as fast as np.isin
        return np.array([id in wanted for id in self.ids.tolist()], np.bool_)


def score_lanes(
    parsed: ParsedRequest,
    retrieval: Retrieval,
    population: int,
    paths: Paths | None = None,
    languages: Mapping[str, int] | None = None,
) -> Fusion:
    """Score the retrieved notes by lane. ``population`` is the number of notes that could have matched.

    Notes with equal scores are sorted by path, since ids depend on the time of indexing. ``languages`` has
    the number of notes in each language.
    """
    chance, languages = float(population), languages or {}
    language = detect_language(parsed.query.rank_text) if len(languages) > 1 else ""
    if language and language in languages and language != main_language(languages):
        # Otherwise every word in this language would count as rare.
        chance = formula.chance_population(population, languages[language])
    words = word_evidence(retrieval.keyword, chance)
    keyword = keyword_lane(retrieval.keyword, population, paths, words.of_few)
    semantic = semantic_lane(retrieval.semantic, paths)
    weights = lane_weights(parsed, retrieval, words, semantic)
    lanes = [replace(lane, weight=weights[lane.name]) for lane in (keyword, semantic)]
    settings = parsed.request.settings
    is_sum = settings.rrf_ranks == "integer" or not _is_trust_measured(settings)
    norm = 1.0 if is_sum else formula.agreement_norm(words.rarity)
    return Fusion(lanes, settings.fusion, settings.rrf_ranks, settings.rrf_k, norm, parsed.depth)


@dataclass(frozen=True, slots=True)
class WordEvidence:
    """Measures of how far an answer's words are beyond chance; 1 for words that single out one note.

    ``rarity`` is the rarity of the best note's words. ``certainty`` is that rarity times the share of the
    query's words in the best note, because a rare word may match by chance if the other words are missing.
    ``of_few`` is the result of :func:`formula.certainty_of_few` for the notes with the whole query. All are 0
    without a keyword answer.
    """

    rarity: float = 0.0
    certainty: float = 0.0
    of_few: float = 0.0


def word_evidence(answer: KeywordAnswer | None, population: float) -> WordEvidence:
    """Measure the evidence that the words of an answer give, among ``population`` notes.

    A word that no note has gets the highest rarity. Stop words are ignored. Parts of a date or identifier,
    which mean nothing by themselves, are ignored if some note has the whole.
    """
    if answer is None or not len(answer):
        return WordEvidence()
    unknown = idf(round(population), 0)
    wholes = [fold(term.word) for term in answer.terms if term.kind == "whole" and term.df]
    all_words = own_words = 0.0
    for term in answer.terms:
        weight = term.weight / FUZZY_WEIGHT if term.fuzzy else term.weight
        importance = weight * (term.idf if term.df else unknown)
        all_words += importance
        word = fold(term.word)
        if term.df or not (word in STOP_WORDS or any(word in whole for whole in wholes)):
            own_words += importance
    shares = np.minimum(answer.columns.coverage * (all_words / own_words if own_words else 0.0), 1.0)
    share = float(shares[0])
    rarity = formula.rarity(share * own_words, population)
    whole = int((shares >= formula.WHOLE_QUERY).sum())
    of_few = formula.certainty_of_few(answer.total if whole == len(answer) else whole, population)
    return WordEvidence(max(rarity, of_few), max(rarity * share, of_few), of_few)


def keyword_lane(
    answer: KeywordAnswer | None, population: int, paths: Paths | None = None, of_few: float = 0.0
) -> Lane:
    """Return the keyword lane, with notes scored by words.

    ``population`` is the number of notes that could have matched; ``of_few`` is defined in
    :class:`WordEvidence`.
    """
    if answer is None:
        return Lane("keyword")
    columns = answer.columns
    combined = formula.keyword_score(columns.scores, columns.passage_scores, columns.proximity)
    notes, scores = best_first(columns.notes, combined, paths)
    return Lane("keyword", notes, scores, formula.keyword_scale(scores, population, of_few))


def semantic_lane(answer: SemanticAnswer | None, paths: Paths | None = None) -> Lane:
    """Return the semantic lane: notes scored by the cosines of their best passages and of the notes' own
    vectors.

    If only one of the two searches returned a note, the note gets the lowest cosine of the other search.
    """
    if answer is None:
        return Lane("semantic")
    passages = best_of_each(answer.passage_notes, answer.passage_scores)
    notes = best_of_each(answer.note_ids, answer.note_scores)
    of_passages, of_notes = (_scale(np.sort(scores)[::-1]) for _, scores in (passages, notes))
    ids = np.union1d(passages[0], notes[0])
    by_passage, by_note = (
        values_of(ids, *each, scale.minimum) for each, scale in ((passages, of_passages), (notes, of_notes))
    )
    combined = formula.semantic_score(by_passage, by_note, of_passages.deviation or of_notes.deviation or 1.0)
    ids, scores = best_first(ids, combined, paths)
    return Lane("semantic", ids, scores, _scale(scores))


def lane_weights(
    parsed: ParsedRequest, retrieval: Retrieval, words: WordEvidence, meaning: Lane
) -> dict[str, float]:
    """Return a dict from lane name to weight: the configured weight, or a weight that depends on the kind of
    query and the trust in the lane.

    In linear fusion, the weights are divided by their sum; ``alpha`` sets both weights.
    """
    settings, weights = parsed.request.settings, parsed.profile.weights
    semantic = retrieval.semantic
    if semantic is not None and _is_trust_measured(settings):
        answer = retrieval.keyword
        in_words = formula.keyword_trust(words.certainty) if answer is not None and len(answer) else 1.0
        distinction = formula.distinction(meaning.scores[:SCALE_NOTES])
        is_fragment = _is_fragment(retrieval)
        in_meaning = 0.0 if is_fragment else formula.semantic_trust(semantic.reading, distinction)
        return {"keyword": weights.keyword * in_words, "semantic": weights.semantic * in_meaning}
    if settings.fusion == "linear" and not settings.has_explicit_weights:
        fixed = not settings.adaptive or settings.has_explicit_alpha
        alpha = settings.alpha if fixed else weights.alpha
        return {"keyword": 1 - alpha, "semantic": alpha}
    if not settings.adaptive or settings.has_explicit_weights:
        return {"keyword": settings.keyword_weight, "semantic": settings.semantic_weight}
    return {"keyword": weights.keyword, "semantic": weights.semantic}


def _is_fragment(retrieval: Retrieval) -> bool:
    """True if notes contain only words similar to the query's words, and no note is near in meaning.

    The last word may then be unfinished, and the query's vector meaningless.
    """
    keyword, semantic = retrieval.keyword, retrieval.unexpanded
    if keyword is None or semantic is None or not len(keyword):
        return False
    if not {term.word for term in keyword.terms} <= retrieval.missing_words:
        return False
    cosines = np.concatenate([semantic.passage_scores, semantic.note_scores])
    no_words = np.full(len(cosines), np.nan)
    return not formula.is_near(cosines, no_words, semantic.meaning_curve, semantic.reading).any()


def _is_trust_measured(settings: SearchSettings) -> bool:
    """True if the lanes' weights are computed; False if a setting fixes them."""
    is_open = settings.adaptive and not settings.has_explicit_weights and settings.profile == "auto"
    return is_open and settings.fusion == "rrf"


def best_first(notes: Ints, scores: Floats, paths: Paths | None = None) -> tuple[Ints, Floats]:
    """Return the notes and their scores, best first. Notes with equal scores are sorted by path, or by id if
    ``paths`` is None.
    """
    order = np.lexsort((notes, -scores))
    if paths is not None:
        _order_equals(order, notes, scores[order], paths)
    return notes[order], scores[order]


def _order_equals(order: Ints, notes: Ints, scores: Floats, paths: Paths) -> None:
    """Sort notes with equal scores by path, changing ``order`` in place. ``scores`` are already sorted."""
    equal = np.flatnonzero(scores[1:] == scores[:-1])
    if not len(equal):
        return
    tied = np.zeros(len(scores), np.bool_)
    tied[equal] = tied[equal + 1] = True
    places = np.flatnonzero(tied)
    ids = notes[order[places]].tolist()
    names = paths(ids)
    keys = [(-score, names.get(id, "")) for id, score in zip(ids, scores[places].tolist(), strict=True)]
    order[places] = order[places[sorted(range(len(keys)), key=keys.__getitem__)]]


def best_of_each(notes: Ints, scores: Floats) -> tuple[Ints, Floats]:
    """Return every note once, with its best score."""
    order = notes.argsort()
    ids, of_ids = notes[order], scores[order].astype(np.float64)
    firsts = run_firsts(ids)
    return ids[firsts], np.maximum.reduceat(of_ids, firsts) if len(firsts) else of_ids


def values_of(ids: Ints, notes: Ints, scores: Floats, otherwise: float) -> Floats:
    """Return the scores of the notes ``ids``; ``otherwise`` for an id that is not among ``notes``."""
    places = places_of(ids, notes)
    return np.where(places >= 0, scores[places], otherwise) if len(scores) else np.full(len(ids), otherwise)


def _scale(falling: Floats) -> Scale:
    return scale_of(falling[:SCALE_NOTES])
