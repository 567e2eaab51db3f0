"""Opens are bounded, follow a rename, survive a ledger of another version, and can be forgotten."""

import contextlib
import sqlite3

import numpy as np
import pytest

from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger import opens as opens_module
from vaultseek.store.ledger.opens import Meaning, Open

INVOICE = Open("Invoice June", "June.md", 8, 1.0, "vaultseek.cli")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "ledger.sqlite"


def test_opens_are_bounded_and_forgotten_by_query_or_note(file, monkeypatch):
    monkeypatch.setattr(opens_module, "KEPT_OPENS", 3)
    with contextlib.closing(Ledger(file)) as ledger:
        opens = ledger.opens
        for place in range(1, 6):
            opens.add("invoice june", INVOICE._replace(position=place))
        assert [each.position for each in opens.matching(["invoice june"])] == [5, 4, 3]
        opens.add("pump", Open("pump", "Pump.md", 1, 2.0, "vaultseek.ui"))
        assert opens.latest(1)[0].path == "Pump.md"
        assert opens.forget(path="June.md") == 2
        assert opens.forget("pump") == 1
        assert opens.latest(9) == []
        assert ledger.revision == 0


def test_rows_are_found_by_their_words_by_a_beginning_and_by_meaning(file):
    with contextlib.closing(Ledger(file)) as ledger:
        one, other = np.eye(4, dtype=np.float32)[:2]
        ledger.opens.add("invoice june", INVOICE, Meaning("m", one))
        ledger.opens.add("pump", Open("pump", "Pump.md", 1, 2.0, "vaultseek.ui"), Meaning("m", other))
        assert ledger.opens.matching(["other"], "inv") == [INVOICE]
        assert ledger.opens.matching(["invoice june"], "invoice JUNE") == [INVOICE]
        assert ledger.opens.near(Meaning("m", one), 0.9) == ["invoice june"]
        assert ledger.opens.near(Meaning("other", one), 0.9) == []
        assert ledger.opens.near(Meaning("m", np.ones(3, np.float32)), 0.0) == []


def test_a_ledger_of_another_version_hands_its_opens_on(file):
    with contextlib.closing(Ledger(file)) as ledger:
        ledger.opens.add("invoice june", INVOICE)
    with contextlib.closing(sqlite3.connect(file)) as old:
        old.execute("PRAGMA user_version = 7")
    with contextlib.closing(Ledger(file)) as ledger:
        assert ledger.opens.latest(9) == [INVOICE]


def test_rows_follow_a_renamed_note(world):
    notes = world({"June.md": "# June\n\nAn invoice.\n"})
    notes.ledger.opens.add("invoice june", INVOICE)
    (notes.root / "June.md").rename(notes.root / "July.md")
    notes.index()
    assert notes.ledger.opens.latest(1) == [INVOICE._replace(path="July.md")]


def test_compacting_forgets_the_opens_of_deleted_notes(world):
    notes = world({"June.md": "# June\n\nAn invoice.\n"})
    notes.ledger.opens.add("invoice june", INVOICE)
    notes.ledger.opens.add("secret", Open("secret", "Secret.md", 1, 2.0, "vaultseek.ui"))
    notes.ledger.compact(0.0)
    assert notes.ledger.opens.latest(9) == [INVOICE]
