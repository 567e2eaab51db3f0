"""Merge several vaults' answers to one query.

Scores from different vaults cannot be compared, because the best note of each vault has the score 1.
Certainties can be compared.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import accumulate
from operator import itemgetter

from vaultseek.base.model import JSON, less_certain
from vaultseek.core.search.selection import WEAK_CERTAINTY

_OF_A_VAULT = (
    "vault",
    "vault_path",
    "search_method",
    "took_ms",
    "count",
    "total",
    "weak",
    "substitutes",
    "less_certain",
    "partial",
    "index",
    "nearest",
)


def merge_answers(answers: Sequence[JSON], limit: int) -> JSON:
    """Merge one or more ``answers``; return the best ``limit`` results with their vaults.

    The most certain results come first or, if the query has only filters (the answers then have a ``total``),
    the most recently modified notes. Matches of similar words count as weak if another vault contains the
    query's own words.
    """
    has_words = any(
        answer["results"] and not (answer.get("weak") or answer.get("substitutes")) for answer in answers
    )
    results = []
    for answer in answers:
        most = WEAK_CERTAINTY if has_words and answer.get("substitutes") else 1.0
        about = {"vault": answer["vault"], "vault_path": answer["vault_path"]}
        results += [
            {**result, "certainty": min(most, result["certainty"]), **about} for result in answer["results"]
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
        # The result is called hybrid only if every vault was searched that way.
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
        "interpreted": _interpretation(answers, {result["vault"] for result in shown}),
        "vaults": [{key: answer[key] for key in _OF_A_VAULT if key in answer} for answer in answers],
    }


def _times(results: Sequence[JSON]) -> list[datetime]:
    """Return the results' modification times. A time earlier than the next result's is raised to that time,
    because an opened note may rank above newer notes."""
    return [*accumulate((datetime.fromisoformat(result["modified"]) for result in reversed(results)), max)][
        ::-1
    ]


def _interpretation(answers: Sequence[JSON], shown: Collection[str]) -> JSON:
    """Return the interpretation of the query: first the remarks common to all answers, then remarks about
    single vaults.

    If ``shown`` is not empty, only remarks about these vaults are included.
    """
    interpreted: JSON = answers[0]["interpreted"]
    if "notes" not in interpreted:
        return interpreted
    common = set.intersection(*(set(answer["interpreted"]["notes"]) for answer in answers))
    single = [
        f"{answer['vault']}: {note}"
        for answer in answers
        if answer["vault"] in shown or not shown
        for note in answer["interpreted"]["notes"]
        if note not in common
    ]
    return interpreted | {"notes": [*(note for note in interpreted["notes"] if note in common), *single]}
