"""After the edits of any rename every link leads where it did, and nothing else has changed."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from renamed_vaults import Judge, Maker
from vaultseek.core.notes.rename import Vault, rename_notes
from vaultseek.errors import UsageError
from worlds import World, write_files

RENAMES = 12
"""Renames of one vault."""


def faults(seed: int, home: Path) -> Iterator[str]:
    """Yield what is wrong after renames in the vault of this number."""
    maker = Maker(seed)
    made = maker.vault()
    judge = Judge(made)
    with closing(World(write_files(home / "vault", made.on_disk()), home)) as here:
        for moves in (maker.moves(made) for _ in range(RENAMES)):
            indexer = here.vault.indexer
            place = Vault(here.root, here.ledger, indexer.names, indexer.skips)
            try:
                edits = rename_notes(moves, place)
            except UsageError:  # of a name that no link can have
                continue
            yield from (f"{moves}: {fault}" for fault in judge.faults(moves, edits, place.left))


@pytest.mark.fault("K11")
@pytest.mark.parametrize("seed", range(24))
def test_l11_after_any_rename_every_link_leads_where_it_did(seed, tmp_path):
    assert [*faults(seed, tmp_path)] == []


@pytest.mark.long
@pytest.mark.fault("K11")
@pytest.mark.parametrize("start", range(1000, 1400, 20))
def test_l11_after_thousands_of_renames_every_link_leads_where_it_did(start, tmp_path):
    for seed in range(start, start + 20):
        (home := tmp_path / str(seed)).mkdir()
        assert [*faults(seed, home)] == []
