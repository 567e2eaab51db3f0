"""Compaction of an index whose model was changed, whichever engine stores the index."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager

from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.library import index_vault
from vaultseek.daemon import maintenance
from vaultseek.daemon.maintenance import Maintenance
from vaultseek.store.ledger.vectors import UNUSED_DAYS

DAY = 86_400.0
YEARS = 10 * 365 * DAY
Open = Callable[[str], AbstractContextManager[OpenVault]]
"""Function that opens the vault with the model that has a fingerprint."""


class Clock:
    """The clock of compactions; a test sets it."""

    def __init__(self) -> None:
        self.now = 1.8e9

    def time(self) -> float:
        """Return the time that was set, in place of ``time.time``."""
        return self.now


def counts(vault: OpenVault, *models: str) -> list[int]:
    """Return how many vectors of each model the ledger has."""
    return [vault.ledger.vectors.count(model) for model in models]


def computed(vault: OpenVault) -> int:
    """Index the vault, and return how many vectors this computed."""
    before = vault.ledger.vectors.embeddings_computed()
    asyncio.run(index_vault(vault))
    return vault.ledger.vectors.embeddings_computed() - before


def compact(vault: OpenVault) -> None:
    """Compact the vault as the daemon does."""
    asyncio.run(Maintenance(vault).compact())


def check_weeks(open: Open, clock: Clock) -> None:
    """Check that vectors of a former model go after weeks without it, and only then."""
    with open("first") as vault:
        number = computed(vault)
        compact(vault)
    with open("second") as vault:
        assert computed(vault) == number
        for _ in range(UNUSED_DAYS):
            compact(vault)
            compact(vault)  # a day counts once
            clock.now += DAY
        assert counts(vault, "first", "second") == [number, number]
    with open("first") as vault:
        assert computed(vault) == 0, "going back embeds nothing"
        compact(vault)
    with open("second") as vault:
        assert computed(vault) == 0
        for day in range(UNUSED_DAYS + 1):
            assert vault.has_former_models(), day
            clock.now += DAY
            compact(vault)
        assert counts(vault, "first", "second") == [0, number]
        assert not vault.has_former_models()
        assert computed(vault) == 0
    with open("first") as vault:
        assert computed(vault) == number


def check_clock(open: Open, clock: Clock) -> None:
    """Check that a clock that jumps deletes neither used vectors nor those of the day before."""
    with open("first") as vault:
        number = computed(vault)
        compact(vault)
    with open("second") as vault:
        assert computed(vault) == number
        for jump in (YEARS, -2 * YEARS, YEARS, 3 * YEARS, -clock.now - 3 * YEARS + 5, 1.8e9):
            clock.now += jump
            compact(vault)
        assert counts(vault, "first", "second") == [number, number]
    clock.now = 3e9
    with open("first") as vault:
        assert computed(vault) == 0
        for _ in range(2 * UNUSED_DAYS):
            clock.now -= YEARS
            compact(vault)
        assert counts(vault, "first", "second") == [number, 0]


def set_clock(monkeypatch: object) -> Clock:
    """Replace the clock of compactions."""
    clock = Clock()
    monkeypatch.setattr(maintenance, "time", clock)  # type: ignore[attr-defined]
    return clock
