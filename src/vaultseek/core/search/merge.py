"""Answers of several vaults to one query as one list.

Scores of two vaults cannot be compared: in each, the best note has 1. The confidences of the best notes can,
so they say how much the scores of a vault count for.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from vaultseek.base.model import JSON
from vaultseek.core.search.certainty import monotone_certainty

_IN_SHORT = ("rank", "path", "title", "file_name", "score", "modified", "vault", "vault_path")
_OF_A_VAULT = (
    "vault",
    "vault_path",
    "search_method",
    "took_ms",
    "count",
    "total",
    "weak",
    "partial",
    "index",
    "nearest",
)


def merge_answers(answers: Sequence[JSON], limit: int, *, brief: bool = False) -> JSON:
    """Return the best ``limit`` results of all answers, at least one, each with its vault.

    ``brief`` leaves out the passages, which the answers have. A score is multiplied by the confidence of its
    vault's best note, divided by the greatest of these.
    """
    certain = [_best_confidence(answer) for answer in answers]
    most = max(certain) or 1.0
    results = [
        result
        for answer, confidence in zip(answers, certain, strict=True)
        for result in _weighed(answer, confidence / most)
    ]
    results.sort(key=lambda result: (-result["score"], result["rank"]))
    results = _with_certainty(results)
    if brief:
        results = [{key: result[key] for key in _IN_SHORT if key in result} for result in results]
    return {
        "query": answers[0]["query"],
        "mode": answers[0]["mode"],
        "search_method": _common_method(answers),
        "took_ms": max(map(itemgetter("took_ms"), answers)),
        "results": [{**result, "rank": rank} for rank, result in enumerate(results[:limit], start=1)],
        "count": min(len(results), limit),
        "weak": bool(results) and all(answer.get("weak") for answer in answers if answer["results"]),
        "partial": [{**lane, "vault": answer["vault"]} for answer in answers for lane in answer["partial"]],
        "interpreted": _common_interpretation(answers),
        "vaults": [{key: answer[key] for key in _OF_A_VAULT if key in answer} for answer in answers],
    }


def _with_certainty(results: Sequence[JSON]) -> list[JSON]:
    """Return the results, each with its certainty in the list of all vaults, if they have confidences."""
    if any("confidence" not in result for result in results):
        return list(results)
    certainties = monotone_certainty([float(result["confidence"]) for result in results])
    return [
        {**result, "certainty": round(certainty, 4)}
        for result, certainty in zip(results, certainties, strict=True)
    ]


def _best_confidence(answer: JSON) -> float:
    """Return the confidence of the first result; 1 for a list of notes that match filters."""
    results = answer["results"]
    return float(results[0].get("confidence", 1.0)) if results else 0.0


def _weighed(answer: JSON, weight: float) -> list[JSON]:
    vault = {"vault": answer["vault"], "vault_path": answer["vault_path"]}
    weighed = []
    for result in answer["results"]:
        own = {**result, **vault, "score": round(float(result["score"]) * weight, 6)}
        if "arithmetic" in result:
            own["arithmetic"] = {**result["arithmetic"], "vault": weight}
        weighed.append(own)
    return weighed


def _common_interpretation(answers: Sequence[JSON]) -> JSON:
    """Return how the query was understood, with the remarks that hold for every vault."""
    interpreted: JSON = answers[0]["interpreted"]
    if "notes" not in interpreted:
        return interpreted
    remarks = [set(answer["interpreted"]["notes"]) for answer in answers]
    return interpreted | {
        "notes": [note for note in interpreted["notes"] if note in set.intersection(*remarks)]
    }


def _common_method(answers: Sequence[JSON]) -> str:
    """Return how all vaults were searched: ``hybrid`` only if each was."""
    methods = sorted({answer.get("search_method", "hybrid") for answer in answers} - {"hybrid"})
    return methods[0] if methods else "hybrid"
