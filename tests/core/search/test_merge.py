"""One list of the answers of several vaults."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vaultseek.core.search.merge import merge_answers


def answer(vault: str, *scores: float, confidence: float = 1.0) -> dict[str, Any]:
    """The answer of a vault whose notes are named by their ranks."""
    results = [
        {"rank": rank, "path": f"{rank}.md", "score": score, "confidence": confidence}
        for rank, score in enumerate(scores, start=1)
    ]
    about = {"vault": vault, "vault_path": f"/{vault}", "query": "q", "mode": "hybrid", "took_ms": 1.0}
    lists: dict[str, Any] = {"results": results, "count": len(results), "partial": [], "interpreted": {}}
    return {**about, **lists, "index": {}}


def places(*answers: dict[str, Any], limit: int = 10) -> list[str]:
    return [f"{each['vault']}/{each['path']}" for each in merge_answers(answers, limit)["results"]]


def test_the_vault_whose_best_note_is_more_certain_comes_first() -> None:
    home, work = answer("home", 1.0, 0.5, confidence=0.2), answer("work", 1.0, 0.4, confidence=0.8)
    assert places(home, work) == ["work/1.md", "work/2.md", "home/1.md", "home/2.md"]


def test_a_vault_without_results_adds_none() -> None:
    assert places(answer("home"), answer("work", 1.0)) == ["work/1.md"]
    assert places(answer("home"), answer("work")) == []


scores = st.lists(st.floats(0, 1), max_size=6).map(lambda values: sorted(values, reverse=True))


@given(st.lists(st.tuples(scores, st.floats(0, 1)), min_size=1, max_size=4), st.integers(1, 8))
def test_the_order_in_each_vault_stays_and_a_limit_only_cuts(
    vaults: list[tuple[list[float], float]], limit: int
) -> None:
    answers = [
        answer(str(number), *values, confidence=confidence)
        for number, (values, confidence) in enumerate(vaults)
    ]
    merged = places(*answers, limit=100)
    for number, (values, _) in enumerate(vaults):
        ranks = [int(place.split("/")[1][:-3]) for place in merged if place.startswith(f"{number}/")]
        assert ranks == list(range(1, len(values) + 1))
    assert places(*answers, limit=limit) == merged[:limit]
