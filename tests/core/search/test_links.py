"""Evidence for the linked neighbours of the best notes."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
import pytest

from vaultseek.core.search import links
from vaultseek.core.search.formula import (
    FIRST_NEIGHBOUR_SHARE,
    link_evidence,
    link_strength,
)
from vaultseek.core.search.links import neighbour_evidence

NOTES = {
    "Pump.md": "# Pump\n\nThe sump pump is behind the [[Valve]].\n\nFar from it, see [[Soup]].",
    "Valve.md": "# Check valve\n\nKeeps water out.",
    "Soup.md": "# Soup\n\nTomatoes.",
    "Float.md": "# Float switch\n\nBelongs to the [[Pump]].",
    "Alone.md": "# Cellar\n\nNo link.",
}


class Found(NamedTuple):
    """The evidence for neighbours, and the notes that link to them, by path."""

    evidence: dict[str, float]
    via: dict[str, str]


def evidence(
    world, words: Mapping[str, float], ranked: Mapping[str, float], allowed: Collection[str] | None = None
) -> Found:
    """Return the neighbours of the ``ranked`` notes (score by path)."""
    rows = world.ledger.notes.by_id(world.ledger.notes.ids())
    ids = {row.path: id for id, row in rows.items()}
    found = neighbour_evidence(
        words,
        {ids[path]: score for path, score in ranked.items()},
        world.graph(),
        world.ledger,
        None if allowed is None else np.array(sorted(ids[path] for path in allowed)),
    )
    return Found(
        {rows[id].path: share for id, share in found.evidence.items()},
        {rows[id].path: rows[leader].path for id, leader in found.via.items()},
    )


def test_neighbours_in_both_directions_have_evidence(world):
    neighbours = evidence(world(NOTES), {"sump": 1.0, "valve": 1.0}, {"Pump.md": 1.0})
    assert neighbours.evidence.keys() == {"Valve.md", "Soup.md", "Float.md"}


def test_words_around_the_link_and_in_the_neighbours_own_names_count(world):
    neighbours = evidence(world(NOTES), {"sump": 3.0, "valve": 1.0}, {"Pump.md": 0.8}).evidence
    # Pump has three neighbours. The line of the link to Valve has both words, Valve's title one of them.
    assert neighbours["Valve.md"] == pytest.approx(link_evidence(link_strength(0.8, 3, 1), 1.0, 0.25))
    floor = link_strength(0.8, 3, 1) * FIRST_NEIGHBOUR_SHARE
    assert neighbours["Soup.md"] == neighbours["Float.md"] == pytest.approx(floor)


def test_words_on_the_lines_beside_a_link_count_and_endings_do_not_matter(world):
    here = world({"a.md": "Pumping water\nsee [[b]]\nthrough pipes\n\nand a valve", "b.md": ""})
    for word, share in [("pumps", 1.0), ("pipe", 1.0), ("valve", 0.0)]:
        neighbours = evidence(here, {word: 1.0}, {"a.md": 1.0}).evidence
        expected = link_evidence(link_strength(1.0, 1, 1), share, 0.0, of_first=True)
        assert neighbours["b.md"] == pytest.approx(expected), word


def test_words_around_an_incoming_link_count_as_those_around_an_outgoing_one(world):
    here = world(
        {
            "log.md": "The pump was cleaned\nas [[valve]] says\n\nfar off\n\n[[tea]]",
            "valve.md": "",
            "tea.md": "",
        }
    )
    out = evidence(here, {"pump": 1.0}, {"log.md": 1.0})
    into = evidence(here, {"pump": 1.0}, {"valve.md": 1.0})
    assert out.evidence["valve.md"] == pytest.approx(link_evidence(link_strength(1.0, 2, 1), 1.0, 0.0))
    assert into.evidence["log.md"] == pytest.approx(link_evidence(link_strength(1.0, 1, 2), 1.0, 0.0))
    assert evidence(here, {"pump": 1.0}, {"tea.md": 1.0}).evidence["log.md"] == pytest.approx(
        link_evidence(link_strength(1.0, 1, 2), 0.0, 0.0, of_first=True)
    )


def test_the_words_around_an_incoming_link_are_those_of_now(world):
    here = world({"log.md": "pump [[valve]]", "valve.md": ""})
    before = evidence(here, {"pump": 1.0}, {"valve.md": 1.0}).evidence["log.md"]
    here.write({"log.md": "soup [[valve]]"})
    after = evidence(here, {"pump": 1.0}, {"valve.md": 1.0}).evidence["log.md"]
    assert after < before


def test_a_neighbour_comes_by_the_link_that_says_most(world):
    here = world({"a.md": "tea [[c]]", "b.md": "pump [[c]]", "c.md": "", "d.md": "[[a]]"})
    neighbours = evidence(here, {"pump": 1.0}, {"a.md": 0.9, "b.md": 0.8})
    assert neighbours.via == {"c.md": "b.md", "d.md": "a.md"}


def test_only_neighbours_of_the_first_note_need_no_word_of_the_query(world):
    here = world({"a.md": "[[x]]", "b.md": "[[y]]", "x.md": "", "y.md": ""})
    neighbours = evidence(here, {"pump": 1.0}, {"a.md": 1.0, "b.md": 0.9})
    assert neighbours.evidence.keys() == {"x.md"}


def test_the_strongest_link_to_a_seed_counts(world):
    here = world({"a.md": "[[c]] pump", "b.md": "[[c]] pump", "c.md": "# Pump"})
    neighbours = evidence(here, {"pump": 1.0}, {"a.md": 0.4, "b.md": 0.9}).evidence
    assert neighbours == {"c.md": pytest.approx(link_evidence(link_strength(0.9, 1, 2), 1.0, 1.0))}


def test_a_neighbour_that_the_filter_excludes_has_none(world):
    neighbours = evidence(world(NOTES), {"sump": 1.0}, {"Pump.md": 1.0}, allowed=["Pump.md", "Valve.md"])
    assert neighbours.evidence.keys() == {"Valve.md"}


def test_hubs_are_left_out(world, monkeypatch):
    here = world(NOTES)
    monkeypatch.setattr(links, "SEED_NEIGHBOURS", 2)
    assert evidence(here, {"sump": 1.0}, {"Pump.md": 1.0}).evidence == {}
    monkeypatch.setattr(links, "SEED_NEIGHBOURS", 3)
    assert evidence(here, {"sump": 1.0}, {"Pump.md": 1.0}).evidence


def test_a_query_without_words_gives_no_more_than_the_least_evidence(world):
    least = link_strength(1.0, 3, 1) * FIRST_NEIGHBOUR_SHARE
    assert list(evidence(world(NOTES), {}, {"Pump.md": 1.0}).evidence.values()) == pytest.approx([least] * 3)
