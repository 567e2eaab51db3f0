"""From what a lane answered to what it has to say: scores of notes, how far they stand out, how far to trust.

Scores of different lanes cannot be compared, and neither can those of one lane between two queries. What can
be is how many standard deviations a score lies above the other good ones: a lane that has an answer puts it
far in front of its hundredth note, and one that has none has a hundred that are as good as each other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vaultseek.index.keyword.index import KeywordAnswer, KeywordHit
from vaultseek.index.ledger import NoteRow
from vaultseek.search.fusion import Lane, LaneHit, Scale, scale_of
from vaultseek.worker import SemanticAnswer

SCALE_NOTES = 200
"""So many of a lane's best notes tell its scale, and are known to it if another lane puts them forward."""
PASSAGE_SHARE = 0.65
"""Share of the best passage in a note's semantic score; the note's own vector gives the rest."""
KEYWORD_PASSAGE_SHARE = 0.35
"""Share of the best passage in a note's score by words: a long note may have the answer in one section."""
PROXIMITY_WEIGHT = 0.2
"""What two words near each other add, beside what each of them counts for itself."""
TRUSTED_HITS = 3
TRUSTED_COVERAGE = 0.7
"""With this share of the query's words, by idf, in one of the best notes, words are fully trusted."""
DOUBT = 1.5
"""Words that are half believed count for less than half: what chance finds has high scores, too."""

MEANING_CURVE = (-4.5, 5.7)
WORDS_CURVE = (-5.0, 6.8)
"""Offset and slope of the logistic curves from cosine and from coverage to confidence."""
NAMED_CONFIDENCE = 0.95
"""At least this for a note whose title, alias or file name is the query."""


@dataclass(frozen=True, slots=True)
class Found:
    """A lane's scores of notes, best first, and their scale."""

    scores: Mapping[int, float] = field(default_factory=dict)
    scale: Scale = field(default_factory=lambda: Scale(0.0, 0.0))

    def lane(self, name: str, weight: float, k: int, notes: Mapping[int, NoteRow]) -> Lane:
        """The lane that puts the first ``k`` of these forward; ``notes`` are the candidates of all lanes."""
        ordered = [(notes[number].path, score) for number, score in self.scores.items() if number in notes]
        proposed = set(list(self.scores)[:k])
        first = sum(number in notes for number in proposed)
        hits = [LaneHit(path, score) for path, score in ordered[:first]]
        return Lane(name, weight, hits, self.scale, dict(ordered[first:]))


def keyword_found(answer: KeywordAnswer | None, population: int) -> Found:
    """Scores by words. ``population``: how many notes could have been found; the rest of them have 0."""
    if answer is None:
        return Found()
    scores = {hit.note: _of_words(hit) for hit in answer.hits}
    scores = dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
    counted = list(scores.values())[:SCALE_NOTES]
    rest = min(SCALE_NOTES, population) - len(counted)
    return Found(scores, scale_of([*counted, *[0.0] * rest]))


def semantic_found(answer: SemanticAnswer | None) -> Found:
    """Scores by meaning: of a note's best passage and of the note as a whole, each on its own scale.

    A score is a mean of two cosines whose weights make a deviation of either count by its share.
    """
    if answer is None:
        return Found()
    passages: dict[int, float] = {}
    for _, note, score in answer.chunks:
        passages[note] = max(score, passages.get(note, -1.0))
    wholes = dict(answer.notes)
    passage_scale, whole_scale = _scale(passages), _scale(wholes)
    of_passage = PASSAGE_SHARE / (passage_scale.deviation or 1.0)
    of_whole = (1 - PASSAGE_SHARE) / (whole_scale.deviation or 1.0)
    total = of_passage + of_whole
    scores = {
        note: (
            of_passage * passages.get(note, passage_scale.least)
            + of_whole * wholes.get(note, whole_scale.least)
        )
        / total
        for note in {*passages, *wholes}
    }
    least = (of_passage * passage_scale.least + of_whole * whole_scale.least) / total
    best = dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
    deviation = 1 / total if passage_scale.deviation or whole_scale.deviation else 0.0
    return Found(best, Scale(deviation, least))


def keyword_trust(answer: KeywordAnswer | None, population: int) -> float:
    """How far to believe the keyword lane, between 0 and 1.

    Words are believed if one of the best notes has most of what was asked for, or if what it has could hardly
    be there by chance: a word's idf is the logarithm of how rare it is, and to point at one note out of
    ``population`` by chance a score of its logarithm is needed.
    """
    if answer is None or not answer.hits:
        return 1.0
    covered = max(hit.coverage for hit in answer.hits[:TRUSTED_HITS]) / TRUSTED_COVERAGE
    surprise = answer.hits[0].score / math.log(max(population, 2))
    return float(min(1.0, max(covered, surprise)) ** DOUBT)


def alike(vectors: Mapping[int, Any], notes: Mapping[int, NoteRow]) -> dict[str, dict[str, float]]:
    """Cosines between notes by their paths, to and fro, from their unit vectors."""
    known = [number for number in sorted(vectors) if number in notes]
    if len(known) < 2:
        return {}
    matrix = np.stack([vectors[number] for number in known])
    paths = [notes[number].path for number in known]
    return {
        path: dict(zip(paths, row, strict=True))
        for path, row in zip(paths, (matrix @ matrix.T).tolist(), strict=True)
    }


def confidence(
    notes: Collection[int], keyword: KeywordAnswer | None, semantic: SemanticAnswer | None
) -> dict[int, float]:
    """How likely each note has to do with the query, between 0 and 1, whatever the others are like.

    Either is enough: a passage that means the same (its cosine), or most of the query's words by idf (their
    coverage). Each makes a probability by a logistic curve; 1 less both chances of being wrong is the result.
    The curves were fitted on the development sets, with questions of other sets as those without an answer.
    """
    words = {hit.note: hit.coverage for hit in keyword.hits} if keyword is not None else {}
    meaning: dict[int, float] = {}
    for note, cosine in _cosines(semantic):
        meaning[note] = max(cosine, meaning.get(note, 0.0))
    return {
        note: 1
        - (1 - _chance(MEANING_CURVE, meaning.get(note))) * (1 - _chance(WORDS_CURVE, words.get(note)))
        for note in notes
    }


def _cosines(semantic: SemanticAnswer | None) -> Iterator[tuple[int, float]]:
    if semantic is not None:
        yield from ((note, cosine) for _, note, cosine in semantic.chunks)
        yield from semantic.notes


def _chance(curve: tuple[float, float], value: float | None) -> float:
    """0 for a note that the lane does not know."""
    return 0.0 if value is None else 1 / (1 + math.exp(-(curve[0] + curve[1] * value)))


def _of_words(hit: KeywordHit) -> float:
    passage = hit.chunks[0].score if hit.chunks else 0.0
    whole = (1 - KEYWORD_PASSAGE_SHARE) * hit.score + KEYWORD_PASSAGE_SHARE * passage
    return whole + PROXIMITY_WEIGHT * hit.proximity


def _scale(scores: Mapping[int, float]) -> Scale:
    return scale_of(sorted(scores.values(), reverse=True)[:SCALE_NOTES])
