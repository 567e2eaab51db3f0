"""No file can be opened any more: this is reported, nothing is treated as damage, and no data is lost."""

import resource
import threading

import numpy as np
import pytest

from daemons import eventually
from descriptors import no_descriptors
from vaultseek.errors import VaultseekError, WorkerUnavailable
from vaultseek.semantic.vectors.index import VectorIndex
from vaultseek.semantic.vectors.port import VectorBatch
from vaultseek.store.ledger import Ledger

NAMED = "too many files are open"
NOTES = {"pump.md": "# Pump\n\nThe pump needs a seal.\n", "valve.md": "# Valve\n\nA valve seal. [[pump]]\n"}


@pytest.mark.fault("B11")
def test_b11_a_ledger_that_cannot_be_opened_once_more_is_not_damaged(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    said: list[str] = []

    def read() -> None:  # each thread has a connection of its own
        try:
            ledger.notes.ids()
        except OSError as error:
            said.append(str(error))

    thread = threading.Thread(target=read)
    with no_descriptors():
        thread.start()
        thread.join()
    assert NAMED in "".join(said)
    assert ledger.is_sound()
    ledger.close()
    with no_descriptors(), pytest.raises(OSError, match=NAMED):
        Ledger(tmp_path / "ledger.sqlite")
    assert [file.name for file in tmp_path.glob("*.bad*")] == []


@pytest.mark.fault("B11")
def test_b11_vectors_that_cannot_be_opened_are_not_damaged(tmp_path):
    batch = VectorBatch(np.arange(3), np.arange(3), np.ones((3, 4), np.float32))
    index = VectorIndex(tmp_path, "chunks")
    index.apply(batch, version="one")
    with no_descriptors():
        with pytest.raises(WorkerUnavailable, match=NAMED):
            VectorIndex(tmp_path, "chunks")
        with pytest.raises(WorkerUnavailable, match=NAMED):
            index.apply(batch, version="two")
    index.apply(batch, version="three")
    assert (len(VectorIndex(tmp_path, "chunks")), VectorIndex(tmp_path, "chunks").version) == (3, "three")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.fault("B11")
def test_b11_a_daemon_without_descriptors_says_so_and_goes_on_when_there_are_some(running):
    each = running(NOTES)
    each.serve()
    each.settle()
    expected = each.answers()
    soft, hard = each.process.rlimit(resource.RLIMIT_NOFILE)
    said: set[str] = set()
    with each.client() as client:
        each.process.rlimit(resource.RLIMIT_NOFILE, (3, hard))  # open ones stay open

        def is_named() -> bool:
            (each.root / "new.md").write_text("basalt")
            try:
                client.refresh(vault=str(each.root), timeout=5)
                client.search("basalt", vault=str(each.root), mode="keyword")
            except VaultseekError as error:
                said.add(str(error))
            (vault,) = client.status()["vaults"]
            return NAMED in f"{said} {vault['reason']}"

        eventually(is_named, f"it says why: {said}", 60)
        each.process.rlimit(resource.RLIMIT_NOFILE, (soft, hard))
    each.settle()
    assert each.paths("basalt") == ["new.md"]
    (each.root / "new.md").unlink()
    each.settle()
    assert each.answers() == expected
    assert "damaged" not in each.daemon.log()
