"""Answers of several vaults to one query as one list.

Scores of two vaults cannot be compared: in each, the best note has 1. Certainties can.
"""

from collections.abc import Sequence
from operator import itemgetter

from vaultseek.base.model import JSON
from vaultseek.core.search.certainty import less_certain

_OF_A_VAULT = (
    "vault",
    "vault_path",
    "search_method",
    "took_ms",
    "count",
    "total",
    "weak",
    "less_certain",
    "partial",
    "index",
    "nearest",
)


def merge_answers(answers: Sequence[JSON], limit: int) -> JSON:
    """Return the most certain ``limit`` results of all answers, at least one, each with its vault."""
    results = [
        {**result, "vault": answer["vault"], "vault_path": answer["vault_path"]}
        for answer in answers
        for result in answer["results"]
    ]
    results.sort(key=lambda result: (-result["certainty"], result["rank"]))
    shown = [{**result, "rank": rank} for rank, result in enumerate(results[:limit], start=1)]
    return {
        "query": answers[0]["query"],
        "mode": answers[0]["mode"],
        # Called hybrid only if each vault was searched so.
        "search_method": min(
            {each.get("search_method", "hybrid") for each in answers} - {"hybrid"}, default="hybrid"
        ),
        "took_ms": max(map(itemgetter("took_ms"), answers)),
        "results": shown,
        "count": len(shown),
        "weak": bool(results) and all(answer.get("weak") for answer in answers if answer["results"]),
        "less_certain": less_certain([result["certainty"] for result in shown]),
        "partial": [{**lane, "vault": answer["vault"]} for answer in answers for lane in answer["partial"]],
        "interpreted": _common_interpretation(answers),
        "vaults": [{key: answer[key] for key in _OF_A_VAULT if key in answer} for answer in answers],
    }


def _common_interpretation(answers: Sequence[JSON]) -> JSON:
    interpreted: JSON = answers[0]["interpreted"]
    if "notes" not in interpreted:
        return interpreted
    remarks = [set(answer["interpreted"]["notes"]) for answer in answers]
    return interpreted | {
        "notes": [note for note in interpreted["notes"] if note in set.intersection(*remarks)]
    }
