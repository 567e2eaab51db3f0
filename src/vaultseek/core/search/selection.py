"""Select the results of a ranking: make the cuts that the request asks for, and tell if anything matches."""

from collections.abc import Sequence
from dataclasses import dataclass

from vaultseek.base.model import JSON
from vaultseek.core.search.certainty import JUDGED_NOTES
from vaultseek.core.search.fusion import Candidate
from vaultseek.core.search.ranking import Ranking
from vaultseek.core.search.request import ParsedRequest
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.semantic.vectors.port import NoteIds

COMPLETE_STATES = ("ready", "polling", "paused")
"""In other states of a vault there may be notes that no lane knows."""
NO_SCORE = 0.005
"""Score that is shown as 0.00 if it is lower."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The candidates that are results, best first; ``nearest`` is set where nothing counts as a match.

    ``weak`` says that none of the best has an identifier of the query, many of its words or is near to it in
    meaning.
    """

    results: Sequence[Candidate]
    nearest: Candidate | None = None
    weak: bool = False


def select_results(
    parsed: ParsedRequest,
    retrieval: Retrieval,
    ranking: Ranking,
    allowed: NoteIds | None,
    index_state: JSON,
) -> Selection:
    """Drop what is below ``min_confidence``, and everything if nothing has to do with the query.

    Filters and an identifier of the query are a match by themselves, and a note that a lane does not know yet
    may be the answer: in these cases the nearest notes stay. If a note has the identifier that is the query,
    those without are dropped.
    """
    results = _eligible(parsed, ranking)
    indexed = not index_state.get("pending") and index_state.get("state", "ready") in COMPLETE_STATES
    complete = indexed and not (retrieval.partial or ranking.partial)
    best = results[:JUDGED_NOTES]
    exact = ranking.with_identifier
    is_exact = exact is not None and all(any(map(str.isdecimal, each)) for each in parsed.profile.identifiers)
    wanted = (exact or ()) if is_exact else ranking.near  # digits say exactly what is wanted
    weak = bool(best) and not any(each.note in wanted for each in best)
    if not complete or allowed is not None:
        return Selection(_scaled_to_best(results), weak=weak)
    least = parsed.request.settings.nothing_below
    if not results and ranking.with_identifier is not None:
        return Selection([], _strongest(ranking.candidates, ranking))
    strongest = strongest_confidence(parsed, retrieval, ranking, unfiltered=True)
    if strongest is not None and strongest < least and not ranking.with_identifier:
        return Selection([], _strongest(results, ranking))
    return Selection(_without_zeros(_scaled_to_best(results), ranking, least), weak=weak)


def strongest_confidence(
    parsed: ParsedRequest, retrieval: Retrieval, ranking: Ranking, unfiltered: bool
) -> float | None:
    """Return the best confidence of the notes that decide whether anything is found, in [0, 1].

    None if that is not decided: there is a filter, a lane is missing, or there are no notes at all. Meaning
    is not missing where the query consists of identifiers, which have none.
    """
    by_word = parsed.request.mode == "hybrid" and parsed.profile.pure_identifier
    decided = retrieval.keyword is not None and (retrieval.unexpanded is not None or by_word)
    best = _strongest(_eligible(parsed, ranking), ranking)
    return ranking.confidence[best.note] if best is not None and unfiltered and decided else None


def is_eligible(candidate: Candidate, ranking: Ranking) -> bool:
    """True unless the query consists of identifiers, and the note has neither one nor, where none does, one
    like it."""
    return ranking.with_identifier is None or candidate.note in (
        ranking.with_identifier or ranking.near_identifiers
    )


def _eligible(parsed: ParsedRequest, ranking: Ranking) -> list[Candidate]:
    """Return the candidates that may be results, in their order: those with the query's identifier, and with
    the least confidence."""
    least = parsed.request.settings.min_confidence
    return [
        each
        for each in ranking.candidates
        if ranking.confidence.get(each.note, 1.0) >= least and is_eligible(each, ranking)
    ]


def _without_zeros(results: list[Candidate], ranking: Ranking, least: float) -> list[Candidate]:
    """Cut the end of the list from where no note has a score or a confidence of at least ``least``."""
    end = len(results)
    while end and results[end - 1].score < NO_SCORE and ranking.confidence[results[end - 1].note] < least:
        end -= 1
    return results[:end]


def _strongest(results: Sequence[Candidate], ranking: Ranking) -> Candidate | None:
    return max(results[:JUDGED_NOTES], key=lambda each: ranking.confidence.get(each.note, 1.0), default=None)


def _scaled_to_best(results: list[Candidate]) -> list[Candidate]:
    """Divide by the best score again, should better notes have been dropped."""
    best = results[0].score if results else 1.0
    if best in (0.0, 1.0):
        return results
    return [each._replace(score=each.score / best, best=each.best * best) for each in results]
