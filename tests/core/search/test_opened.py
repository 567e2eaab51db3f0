"""Opened notes rise for the same question, by a limited amount, and no result is lost."""

import asyncio
import contextlib
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantic_here import index_here
from vaultseek.content.query.words import words_of
from vaultseek.core.search.formula import OPENED_GAIN
from vaultseek.core.search.lanes import Table
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.ranking import Ranking
from vaultseek.core.search.request import SearchRequest
from vaultseek.core.search.selection import AGENTS, HALF_LIFE_SECONDS, evidence, raised
from vaultseek.settings.search import SearchSettings
from vaultseek.store.ledger.opens import Open

NAMES = "abcdefghij"
rows = st.lists(
    st.builds(
        Open,
        st.just("q"),
        st.sampled_from(NAMES),
        st.integers(1, 200),
        st.floats(0, 1e9),
        st.sampled_from(["vaultseek.cli", *AGENTS]),
    ),
    max_size=30,
)


def opens(*notes_and_places, time=0.0, client="vaultseek.cli"):
    return [Open("pump", note, place, time, client) for note, place in notes_and_places]


@given(st.lists(st.sampled_from(["The", "pump", "ANNA", "of", "e-4107", "Über"]), min_size=1), st.randoms())
def test_the_order_of_words_makes_no_other_query(words, random):
    shuffled = random.sample(words, len(words))
    assert words_of(" ".join(words)) == words_of("  ".join(shuffled) + "?")
    assert words_of(" ".join(words))


@given(rows, st.floats(0, 1e9))
def test_evidence_is_a_share_and_fades(rows, now):
    shares = evidence(rows, now)
    assert all(0 < share <= 1 for share in shares.values())
    later = evidence(rows, 1e9 + 30 * HALF_LIFE_SECONDS)
    assert all(share < 0.01 for share in later.values())


@given(rows, st.lists(st.floats(0, 1), min_size=len(NAMES), max_size=len(NAMES)))
def test_raised_notes_pass_none_that_is_better_by_more_than_the_bound(rows, scores):
    falling = sorted(scores, reverse=True)
    notes = Table.listing([SimpleNamespace(id=place, path=name) for place, name in enumerate(NAMES)])
    candidates = Ranking.of(notes).candidates
    results = [each._replace(score=score) for each, score in zip(candidates, falling, strict=True)]
    gains = {path: OPENED_GAIN * share for path, share in evidence(rows, 1e9).items()}
    ordered = raised(results, gains)
    before = {each.note: each.score for each in results}
    assert sorted(each.note for each in ordered) == list(NAMES)
    for place, each in enumerate(ordered):
        assert before[each.note] <= each.score <= before[each.note] + OPENED_GAIN
        assert all(before[each.note] - before[above.note] <= OPENED_GAIN for above in ordered[:place])


def test_the_half_life_is_one_half():
    (now,) = evidence(opens(("a", 8)), 0.0).values()
    (later,) = evidence(opens(("a", 8)), HALF_LIFE_SECONDS).values()
    assert now / (1 - now) == pytest.approx(2 * later / (1 - later))


def test_the_eighth_that_was_opened_eight_times_of_ten_has_the_most_evidence():
    shares = evidence(opens(*[("eighth", 8)] * 8, *[("first", 1)] * 2), 0.0)
    assert shares["eighth"] > 0.7
    assert "first" not in shares


@pytest.mark.parametrize("place", range(1, 11))
def test_three_right_opens_outweigh_a_wrong_one(place):
    shares = evidence(opens(("wrong", place), *[("right", 1)] * 3), 0.0)
    assert shares["right"] > shares.get("wrong", 0.0)


def test_what_an_agent_opens_counts_less():
    assert evidence(opens(("a", 1), client=AGENTS[0]), 0.0)["a"] < evidence(opens(("a", 1)), 0.0)["a"]


NOTES = {
    f"{name}.md": f"# {name}\n\nThe invoice {'for the pump ' * number}of June.\n"
    for number, name in enumerate(NAMES)
}


def searched(vault, query, *, typing=False, **settings):
    request = SearchRequest(query, SearchSettings(**settings), explain=True, typing=typing)
    return asyncio.run(Searcher(vault).search(request))


def paths(answer):
    return [result["path"] for result in answer["results"]]


def test_an_opened_note_rises_for_its_words_and_no_other_falls_out(vault, tmp_path):
    with contextlib.closing(index_here(vault(NOTES), tmp_path / "index")) as index:
        before, other = searched(index, "invoice June"), searched(index, "pump")
        last = before["results"][-1]
        revision = index.ledger.revision
        for _ in range(3):
            opened = Open("invoice June", last["path"], last["rank"], time.time(), "vaultseek.cli")
            index.ledger.opens.add(words_of(opened.query), opened)
        after = searched(index, "june INVOICE")
        assert paths(after).index(last["path"]) < last["rank"] - 1
        assert sorted(paths(after)) == sorted(paths(before))
        certain = {result["path"]: result["certainty"] for result in before["results"]}
        assert all(result["certainty"] >= certain[result["path"]] for result in after["results"])
        assert after["less_certain"] <= before["less_certain"]
        raised = next(result for result in after["results"] if result["path"] == last["path"])
        assert raised["arithmetic"]["opened"] > 0
        assert paths(searched(index, "inv", typing=True))[0] == last["path"]
        assert paths(searched(index, "pump")) == paths(other)
        assert paths(searched(index, "invoice June", learn=False)) == paths(before)
        assert index.ledger.revision == revision


def test_a_pinned_note_comes_first_for_its_words_in_any_order(vault, tmp_path):
    pinned = {
        "Pinned.md": "---\npin: [June invoice, a boat, 4107]\n---\n# Other\n\nNothing of the kind.\n",
        "Code.md": "# Code 4107\n\n4107.\n",
    }
    with contextlib.closing(index_here(vault(NOTES | pinned), tmp_path / "index")) as index:
        for query in ("invoice of June", "june INVOICE"):
            answer = searched(index, query, learn=False)
            assert paths(answer)[0] == "Pinned.md"
            assert answer["less_certain"] < len(answer["results"]) - 1
        assert paths(searched(index, "boat"))[0] == paths(searched(index, "4107"))[0] == "Pinned.md"
        assert "Pinned.md" not in paths(searched(index, "invoice"))[:1]
        assert paths(searched(index, "invoice June path:a"))[0] != "Pinned.md"
