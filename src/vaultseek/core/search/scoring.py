"""Score notes by what each lane answered, weigh the lanes, and say how confident the answer is.

Scores of different lanes cannot be compared, and neither can those of one lane for two queries. How many
standard deviations a score lies above the other good ones can: a lane that has the answer puts it far in
front of its hundredth note, and one that has none has a hundred that are as good as each other."""

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from vaultseek.base.text import fold
from vaultseek.content.languages.detect import detect_language, main_language
from vaultseek.content.languages.stopwords import STOP_WORDS
from vaultseek.core.search import formula
from vaultseek.core.search.formula import SCALE_NOTES, Floats, Scale, scale_of
from vaultseek.core.search.lanes import Fusion, Lane, LaneHit
from vaultseek.core.search.request import ParsedRequest
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.semantic.worker import SemanticAnswer
from vaultseek.settings.search import SearchSettings
from vaultseek.store.keyword.bm25f import idf
from vaultseek.store.keyword.index import KeywordAnswer
from vaultseek.store.keyword.searcher import FUZZY_WEIGHT
from vaultseek.store.keyword.segment import Ints
from vaultseek.store.ledger import NoteRow

Paths = Callable[[Sequence[int]], Mapping[int, str]]
"""Function that returns the paths of notes by their ids."""


@dataclass(frozen=True, slots=True)
class ScoredLane:
    """A lane's scores by note id, best first, with their scale and the lane's weight; none if not asked."""

    name: str
    scores: Mapping[int, float] = field(default_factory=dict)
    scale: Scale = field(default_factory=lambda: Scale(0.0, 0.0))
    weight: float = 0.0

    def first(self, count: int) -> list[int]:
        """Return the ids of the ``count`` best notes."""
        return list(islice(self.scores, count))

    def of(self, notes: Mapping[int, NoteRow]) -> dict[str, float]:
        """Return the scores of those of the ``notes`` that the lane knows, by path."""
        return {row.path: self.scores[id] for id, row in notes.items() if id in self.scores}

    def proposing(self, count: int, notes: Mapping[int, NoteRow]) -> Lane:
        """Return the lane that proposes its first ``count`` notes, as far as they are among ``notes``, the
        candidates of all lanes."""
        ordered = [LaneHit(notes[id].path, score) for id, score in self.scores.items() if id in notes]
        places = {notes[id].path: place for place, id in enumerate(self.first(count), 1) if id in notes}
        proposed, known = ordered[: len(places)], dict(ordered[len(places) :])
        return Lane(self.name, self.weight, proposed, self.scale, known, places)

    def gains(self, count: int, fusion: Fusion, total: float) -> Floats:
        """Return what each of the notes gets by the lane, which proposes ``count``: float64[n], best first.

        ``total`` is the weight of all lanes.
        """
        scores = np.fromiter(self.scores.values(), np.float64, len(self.scores))
        if fusion.method == "linear":
            best, least = float(scores[0]), self.scale.minimum
            shares = np.clip((scores - least) / (best - least), 0.0, 1.0) if best > least else 1.0
            return np.full(len(scores), self.weight / total) * shares
        if fusion.ranks == "integer":
            places = np.arange(1.0, len(scores) + 1)
            return np.where(places <= count, self.weight / (fusion.rrf_k + places), 0.0)
        return formula.lane_gains(scores, self.weight, fusion.rrf_k, self.scale)


@dataclass(frozen=True, slots=True)
class ScoredLanes:
    """All lanes, scored; ``norm`` is the fusion's."""

    lanes: Sequence[ScoredLane] = ()
    norm: float = 1.0

    def __iter__(self) -> Iterator[ScoredLane]:
        return iter(self.lanes)

    def named(self, name: str) -> ScoredLane:
        """Return the lane of this name."""
        return next((lane for lane in self.lanes if lane.name == name), ScoredLane(name))

    def first(self, count: int) -> list[int]:
        """Return the ids of the ``count`` best notes of each lane."""
        return [note for lane in self.lanes for note in lane.first(count)]

    def best(self, count: int, depth: int, fusion: Fusion) -> list[int]:
        """Return the ids of the ``count`` notes that gain most by all lanes, which propose ``depth`` each.

        This is what fusion gives them without links and factors, computed for all notes at once.
        """
        proposed = dict.fromkeys(self.first(depth), 0.0)
        if len(proposed) <= count:
            return list(proposed)
        total = sum(lane.weight for lane in self.lanes) or 1.0
        for lane in self.lanes:
            if lane.scores:
                # A sum of powers orders the notes as the norm does.
                powers = lane.gains(depth, fusion, total) ** fusion.norm
                for note, power in zip(lane.scores, powers.tolist(), strict=True):
                    if note in proposed:
                        proposed[note] += power
        return heapq.nlargest(count, proposed, key=proposed.__getitem__)


def score_lanes(
    parsed: ParsedRequest,
    retrieval: Retrieval,
    population: int,
    paths: Paths | None = None,
    languages: Mapping[str, int] | None = None,
) -> ScoredLanes:
    """Score what was retrieved. ``population`` counts the notes that could have matched.

    Notes of equal scores are in the order of their ``paths``: their ids depend on when they were indexed.
    ``languages`` has the number of notes by language.
    """
    chance = _chance_population(parsed, population, languages or {})
    words = word_evidence(retrieval.keyword, chance)
    keyword = keyword_scores(retrieval.keyword, population, paths, words.of_few)
    semantic = semantic_scores(retrieval.semantic, paths)
    weights = lane_weights(parsed, retrieval, words, semantic)
    lanes = [replace(lane, weight=weights[lane.name]) for lane in (keyword, semantic)]
    return ScoredLanes(lanes, _fusion_norm(parsed, words))


def _chance_population(parsed: ParsedRequest, population: int, languages: Mapping[str, int]) -> float:
    """Return the population by which words are judged: larger in a language that few notes are in, where
    every word is rare."""
    if len(languages) < 2:
        return population
    language = detect_language(parsed.query.rank_text)
    count = languages.get(language, 0)
    if not language or not count or language == main_language(languages):
        return population
    return formula.chance_population(population, count)


@dataclass(frozen=True, slots=True)
class WordEvidence:
    """Evidence of an answer's words beyond chance, 1 for words that single out one note.

    ``rarity`` and ``certainty`` of the best note, see :func:`formula.rarity` and :func:`formula.certainty`;
    ``of_few`` is the :func:`formula.certainty_of_few` of the notes with the whole query. All are 0 without
    a keyword answer.
    """

    rarity: float = 0.0
    certainty: float = 0.0
    of_few: float = 0.0


def word_evidence(answer: KeywordAnswer | None, population: float) -> WordEvidence:
    """Return what the words of an answer are worth among ``population`` notes.

    A word that no note has is as rare as can be, unless it is a stop word or a part of a date or identifier
    that some note has, which say nothing by themselves.
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
    return WordEvidence(max(rarity, of_few), max(formula.certainty(rarity, share), of_few), of_few)


def keyword_scores(
    answer: KeywordAnswer | None, population: int, paths: Paths | None = None, of_few: float = 0.0
) -> ScoredLane:
    """Score notes by word. ``population`` counts the notes that could have matched; ``of_few`` as in
    :class:`WordEvidence`."""
    if answer is None:
        return ScoredLane("keyword")
    columns = answer.columns
    scores = _best_first(
        columns.notes,
        formula.keyword_score(columns.scores, columns.passage_scores, columns.proximity),
        paths,
    )
    return ScoredLane("keyword", scores, formula.keyword_scale(list(scores.values()), population, of_few))


def semantic_scores(answer: SemanticAnswer | None, paths: Paths | None = None) -> ScoredLane:
    """Score notes by meaning, from the cosines of their best passages and of the notes themselves.

    What one of both indexes did not return counts there as its lowest.
    """
    if answer is None:
        return ScoredLane("semantic")
    passages = _best_of_each(answer.passage_notes, answer.passage_scores)
    notes = _best_of_each(answer.note_ids, answer.note_scores)
    of_passages, of_notes = _scale(passages), _scale(notes)
    ids = list({*passages, *notes})
    by_passage = np.array([passages.get(id, of_passages.minimum) for id in ids])
    by_note = np.array([notes.get(id, of_notes.minimum) for id in ids])
    combined = formula.semantic_score(by_passage, by_note, of_passages.deviation or of_notes.deviation or 1.0)
    scores = _best_first(np.array(ids, np.int64), combined, paths)
    return ScoredLane("semantic", scores, _scale(scores))


def lane_weights(
    parsed: ParsedRequest, retrieval: Retrieval, words: WordEvidence, meaning: ScoredLane
) -> dict[str, float]:
    """Return each lane's weight by its name: as set, else by the kind of query and how far to trust it.

    In linear fusion they are shares of their sum; ``alpha`` is another way to set both.
    """
    settings, weights = parsed.request.settings, parsed.profile.weights
    semantic = retrieval.semantic
    if semantic is not None and _is_trust_measured(settings):
        answer = retrieval.keyword
        in_words = formula.keyword_trust(words.certainty) if answer is not None and len(answer) else 1.0
        in_meaning = 0.0 if _is_fragment(retrieval) else _trust_in_meaning(semantic.reading, meaning)
        return {"keyword": weights.keyword * in_words, "semantic": weights.semantic * in_meaning}
    if settings.fusion == "linear" and not settings.has_explicit_weights:
        fixed = not settings.adaptive or settings.has_explicit_alpha
        alpha = settings.alpha if fixed else weights.alpha
        return {"keyword": 1 - alpha, "semantic": alpha}
    if not settings.adaptive or settings.has_explicit_weights:
        return {"keyword": settings.keyword_weight, "semantic": settings.semantic_weight}
    return {"keyword": weights.keyword, "semantic": weights.semantic}


def _is_fragment(retrieval: Retrieval) -> bool:
    """True if no note has a word of the query, but some have words like them, and nothing is near to what the
    query means: the letters of a word that is not complete have a vector, too."""
    keyword, semantic = retrieval.keyword, retrieval.unexpanded
    if keyword is None or semantic is None or not len(keyword):
        return False
    if not retrieval.continued and any(term.df and not term.fuzzy for term in keyword.terms):
        return False
    cosines = np.concatenate([semantic.passage_scores, semantic.note_scores])
    no_words = np.full(len(cosines), np.nan)
    return not formula.is_near(cosines, no_words, semantic.meaning_curve, semantic.reading).any()


def _is_trust_measured(settings: SearchSettings) -> bool:
    """True unless a setting says how much each lane counts."""
    is_open = settings.adaptive and not settings.has_explicit_weights and settings.profile == "auto"
    return is_open and settings.fusion == "rrf"


def _trust_in_meaning(reading: float, meaning: ScoredLane) -> float:
    best = np.fromiter(islice(meaning.scores.values(), SCALE_NOTES), np.float64)
    return formula.semantic_trust(reading, formula.distinction(best))


def _fusion_norm(parsed: ParsedRequest, words: WordEvidence) -> float:
    """Return the norm of the fusion; 1 where the user chose weights or plain ranks."""
    settings = parsed.request.settings
    if settings.rrf_ranks == "integer" or not _is_trust_measured(settings):
        return 1.0
    return formula.agreement_norm(words.rarity)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Probabilities in [0, 1] that notes answer the query, and the notes that are near to it, by id."""

    confidence: Mapping[int, float]
    near: Collection[int]


def judge(
    notes: Collection[int], keyword: KeywordAnswer | None, semantic: SemanticAnswer | None
) -> Judgement:
    """Judge each note by itself; see :func:`formula.confidence` and :func:`formula.is_near`."""
    cosines: dict[int, float] = {}
    of_words = np.full(len(notes), np.nan)
    if keyword is not None:
        rows, coverage = keyword.rows, keyword.columns.coverage
        places = [(place, rows[note]) for place, note in enumerate(notes) if note in rows]
        if places:
            known, columns = zip(*places, strict=True)
            of_words[list(known)] = coverage[list(columns)]
    if semantic is not None:
        both = np.concatenate([semantic.passage_scores, semantic.note_scores])
        ids = np.concatenate([semantic.passage_notes, semantic.note_ids])
        cosines = _best_of_each(ids, np.maximum(both, 0.0))
    of_meaning = np.array([cosines.get(note, np.nan) for note in notes])
    of_model = () if semantic is None else (semantic.meaning_curve, semantic.reading)
    likelihood = formula.confidence(of_meaning, of_words, *of_model)
    near = formula.is_near(of_meaning, of_words, *of_model)
    return Judgement(
        dict(zip(notes, likelihood.tolist(), strict=True)),
        {note for note, is_near in zip(notes, near.tolist(), strict=True) if is_near},
    )


def _best_first(notes: Ints, scores: Floats, paths: Paths | None = None) -> dict[int, float]:
    order = np.lexsort((notes, -scores))
    if paths is not None:
        _order_equals(order, notes, scores[order], paths)
    return dict(zip(notes[order].tolist(), scores[order].tolist(), strict=True))


def _order_equals(order: Ints, notes: Ints, scores: Floats, paths: Paths) -> None:
    """Put notes of equal scores into the order of their paths; ``scores`` are in the order given."""
    equal = np.flatnonzero(scores[1:] == scores[:-1])
    if not len(equal):
        return
    places = np.union1d(equal, equal + 1)
    ids = notes[order[places]].tolist()
    names = paths(ids)
    keys = [(-score, names.get(id, "")) for id, score in zip(ids, scores[places].tolist(), strict=True)]
    order[places] = order[places[sorted(range(len(keys)), key=keys.__getitem__)]]


def _best_of_each(notes: Ints, scores: Floats) -> dict[int, float]:
    order = np.argsort(scores, kind="stable")
    return dict(zip(notes[order].tolist(), scores[order].tolist(), strict=True))


def _scale(scores: Mapping[int, float]) -> Scale:
    return scale_of(sorted(scores.values(), reverse=True)[:SCALE_NOTES])
