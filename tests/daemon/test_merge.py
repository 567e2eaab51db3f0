"""Merging the answers of several vaults into one list."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vaultseek.daemon.methods.merge import merge_answers


def answer(vault: str, *certainties: float) -> dict[str, Any]:
    """The answer of a vault whose notes are named by their ranks."""
    results = [
        {"rank": rank, "path": f"{rank}.md", "certainty": certainty}
        for rank, certainty in enumerate(certainties, start=1)
    ]
    about = {"vault": vault, "vault_path": f"/{vault}", "query": "q", "mode": "hybrid", "took_ms": 1.0}
    lists: dict[str, Any] = {"results": results, "count": len(results), "partial": [], "interpreted": {}}
    return {**about, **lists, "index": {}}


def places(*answers: dict[str, Any], limit: int = 10) -> list[str]:
    return [f"{each['vault']}/{each['path']}" for each in merge_answers(answers, limit)["results"]]


def test_the_most_certain_notes_come_first() -> None:
    home, work = answer("home", 0.5, 0.02), answer("work", 0.9, 0.04)
    assert places(home, work) == ["work/1.md", "home/1.md", "work/2.md", "home/2.md"]
    merged = merge_answers([home, work], 10)
    assert [result["rank"] for result in merged["results"]] == [1, 2, 3, 4]
    assert (merged["count"], merged["less_certain"]) == (4, 1)


def test_an_answer_is_weak_if_that_of_every_vault_with_results_is() -> None:
    weak = answer("weak", 0.1) | {"weak": True}
    assert merge_answers([weak, answer("empty")], 10)["weak"]
    assert not merge_answers([weak, answer("home", 0.5)], 10)["weak"]


def test_words_that_stand_in_for_others_come_after_those_of_the_query() -> None:
    like = answer("like", 0.9, 0.2) | {"substitutes": True}
    assert places(like, answer("home", 0.8, 0.1)) == ["home/1.md", "like/1.md", "like/2.md", "home/2.md"]
    assert merge_answers([like, answer("home", 0.8)], 10)["results"][1]["certainty"] == 0.25
    weak = answer("weak", 0.1) | {"weak": True}
    for alone in ([like, answer("empty")], [like, weak], [like, like | {"vault": "other"}]):
        assert merge_answers(alone, 10)["results"][0]["certainty"] == 0.9


def test_a_remark_on_one_vault_names_it() -> None:
    home, work, empty = answer("home", 0.5), answer("work", 0.9), answer("empty")
    for each, notes in ((home, ["both", "here"]), (work, ["both"]), (empty, ["both", "nothing"])):
        each["interpreted"] = {"notes": notes}
    assert merge_answers([home, work, empty], 10)["interpreted"]["notes"] == ["both", "home: here"]
    assert merge_answers([work, home], 1)["interpreted"]["notes"] == ["both"]
    assert merge_answers([empty, work | {"results": []}], 10)["interpreted"]["notes"] == [
        "both",
        "empty: nothing",
    ]


def test_a_vault_without_results_adds_none() -> None:
    assert places(answer("home"), answer("work", 1.0)) == ["work/1.md"]
    assert places(answer("home"), answer("work")) == []


def test_of_filters_alone_the_last_modified_of_all_vaults_come_first() -> None:
    home, work = answer("home", 1.0, 1.0, 1.0) | {"total": 3}, answer("work", 1.0, 1.0) | {"total": 5}
    # The second note of home was opened recently, and stays before the third, which was modified later.
    for of, days in ((home, [9, 2, 4]), (work, [7, 3])):
        for result, day in zip(of["results"], days, strict=True):
            result["modified"] = f"2026-03-0{day}"
    assert places(home, work) == ["home/1.md", "work/1.md", "home/2.md", "home/3.md", "work/2.md"]
    assert merge_answers([home, work], 2)["total"] == 8


falling = st.lists(st.floats(0, 1), max_size=6).map(lambda values: sorted(values, reverse=True))


@given(st.lists(falling, min_size=1, max_size=4), st.integers(1, 8))
def test_the_order_in_each_vault_stays_and_a_limit_only_cuts(vaults: list[list[float]], limit: int) -> None:
    answers = [answer(str(number), *values) for number, values in enumerate(vaults)]
    merged = places(*answers, limit=100)
    for number, values in enumerate(vaults):
        ranks = [int(place.split("/")[1][:-3]) for place in merged if place.startswith(f"{number}/")]
        assert ranks == list(range(1, len(values) + 1))
    assert places(*answers, limit=limit) == merged[:limit]
