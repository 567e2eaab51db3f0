"""Vectors of models that a vault no longer uses, in the embedded engine."""

import contextlib
from collections.abc import Iterator

import pytest

from former_models import DAY, check_clock, check_weeks, compact, computed, counts, set_clock
from semantic_here import WorkerHere
from vaultseek.core.indexing import unembedded
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.store.ledger.vectors import UNUSED_DAYS, VectorTable

NOTES = {"a.md": "# Pump\n\nGrease.", "b.md": "# Valve\n\nA seal.", "c.md": "# Anchor"}


@pytest.fixture
def open_with(vault, tmp_path):
    root = vault(NOTES)

    @contextlib.contextmanager
    def open(model: str) -> Iterator[OpenVault]:
        spec = EmbeddingSpec(model, lambda text: len(text) // 4 + 1, 254)
        options = VaultOptions("notes", root)
        with contextlib.closing(OpenVault.open(options, tmp_path / "index", WorkerHere(), spec)) as opened:
            yield opened

    return open


@pytest.mark.fault("B12")
def test_b12_vectors_of_a_former_model_go_after_weeks_without_it(open_with, monkeypatch):
    check_weeks(open_with, set_clock(monkeypatch))


@pytest.mark.fault("B12", "C15")
def test_c15_a_clock_that_jumps_costs_no_vectors_of_models_in_use(open_with, monkeypatch):
    check_clock(open_with, set_clock(monkeypatch))


@pytest.mark.fault("B12")
def test_b12_a_deletion_that_was_interrupted_goes_on(open_with, monkeypatch):
    clock = set_clock(monkeypatch)
    monkeypatch.setattr(unembedded, "PAGE_KEYS", 2)
    delete, calls = VectorTable.delete_some, []

    def fails_once(table: VectorTable, model: str, limit: int) -> bool:
        calls.append(model)
        if len(calls) == 2:
            raise OSError("no space left on device")
        return delete(table, model, limit)

    monkeypatch.setattr(VectorTable, "delete_some", fails_once)
    for model in ("first", "second"):
        with open_with(model) as vault:
            number = computed(vault)
    with open_with("second") as vault:
        for _ in range(UNUSED_DAYS):
            clock.now += DAY
            compact(vault)
        clock.now += DAY
        with pytest.raises(OSError, match="no space"):
            compact(vault)
        assert counts(vault, "first", "second") == [number - 2, number]
    with open_with("second") as vault:
        assert vault.has_former_models()
        compact(vault)
        assert counts(vault, "first", "second") == [0, number]
