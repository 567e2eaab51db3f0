"""The list of notes that are outdated or were forgotten."""

from contextlib import closing

import pytest

from vaultseek.base.currency import Rules
from vaultseek.core.notes.stale import stale
from worlds import World

NOTES = {
    "Old.md": "---\nsuperseded_by: '[[New]]'\n---\nThe loop.",
    "New.md": "It replaces [[Old]].",
    "Map.md": "# Map\n\n- [[Old]]\n- [[New]]",
    "Hen.md": "---\nreplaces: '[[Egg]]'\n---\n",
    "Egg.md": "---\nreplaces: '[[Hen]]'\n---\n",
    "Lost.md": "---\nsuperseded_by: Nowhere\n---\n",
    "Visa.md": "---\nstale_after: 2020-03-01\n---\n",
    "Lease.md": "---\nvalid_until: 2020-03-01\n---\n",
    "Plan.md": "---\nrelated: '[[Old]]'\n---\nThe plan.",
}


@pytest.fixture
def world(vault, tmp_path):
    with closing(World(vault(NOTES), tmp_path / "home")) as opened:
        yield opened


def listed(world, today="2026-11-28", limit=50):
    answer = stale(world.ledger, Rules(), today, limit)
    return [(item["kind"], item["path"], item["line"], item["text"]) for item in answer["items"]]


def test_circles_missing_successors_dates_and_links_are_listed(world):
    assert listed(world) == [
        ("circle", "Egg.md", None, "superseded by Hen, which it in turn supersedes"),
        ("circle", "Hen.md", None, "superseded by Egg, which it in turn supersedes"),
        ("missing", "Lost.md", None, "superseded by Nowhere, which is missing"),
        ("past_date", "Lease.md", None, "stale since 2020-03-02"),
        ("past_date", "Visa.md", None, "stale since 2020-03-01"),
        ("link", "Map.md", 3, "links to Old: superseded by New"),
    ]


def test_a_note_is_stale_from_its_day_on(world):
    dated = [path for kind, path, _, _ in listed(world, today="2020-03-01") if kind == "past_date"]
    assert dated == ["Visa.md"]


def test_the_list_follows_the_notes(world):
    world.write({"Nowhere.md": "Here it is.", "Old.md": "The loop holds again.", "Egg.md": None})
    assert [(kind, path) for kind, path, _, _ in listed(world)] == [
        ("past_date", "Lease.md"),
        ("past_date", "Visa.md"),
    ]


def test_a_limit_cuts_the_list_and_the_total_does_not(world):
    answer = stale(world.ledger, Rules(), "2026-11-28", 2)
    assert (len(answer["items"]), answer["total"]) == (2, 6)
