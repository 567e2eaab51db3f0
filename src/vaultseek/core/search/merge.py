"""Answers of several vaults to one query as one list.

Scores of two vaults cannot be compared: in each, the best note has 1. Certainties can.
"""

from collections.abc import Sequence
from itertools import accumulate
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
    """Return the first ``limit`` results of all answers, at least one, each with its vault.

    The most certain come first; of filters alone, which have a ``total``, the last modified.
    """
    results = [
        {**result, "vault": answer["vault"], "vault_path": answer["vault_path"]}
        for answer in answers
        for result in answer["results"]
    ]
    is_listing = all("total" in answer for answer in answers)
    if is_listing:
        times = [time for answer in answers for time in _times(answer["results"])]
        latest = sorted(range(len(results)), key=times.__getitem__, reverse=True)
        results = [results[place] for place in latest]
    else:
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
        **({"total": sum(map(itemgetter("total"), answers))} if is_listing else {}),
        "weak": bool(results) and all(answer.get("weak") for answer in answers if answer["results"]),
        "less_certain": less_certain([result["certainty"] for result in shown]),
        "partial": [{**lane, "vault": answer["vault"]} for answer in answers for lane in answer["partial"]],
        "interpreted": _common_interpretation(answers),
        "vaults": [{key: answer[key] for key in _OF_A_VAULT if key in answer} for answer in answers],
    }


def _times(results: Sequence[JSON]) -> list[str]:
    """Return the modification times that put a vault's results in its order, where an opened note may be
    before later ones."""
    return [*accumulate((result["modified"] for result in reversed(results)), max)][::-1]


def _common_interpretation(answers: Sequence[JSON]) -> JSON:
    interpreted: JSON = answers[0]["interpreted"]
    if "notes" not in interpreted:
        return interpreted
    remarks = [set(answer["interpreted"]["notes"]) for answer in answers]
    return interpreted | {
        "notes": [note for note in interpreted["notes"] if note in set.intersection(*remarks)]
    }
