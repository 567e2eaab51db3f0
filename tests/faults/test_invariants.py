"""Rules that always hold, each with a test of that name; other such tests are next to the code that they
need."""

import subprocess
import sys

import pytest

from fresh_index import IndexHere
from vaultseek.errors import AlreadyRunning, WorkerUnavailable

NOTES = {"pump.md": "# Pump\n\nThe pump needs a seal.\n", "valve.md": "# Valve\n\nA valve seal. [[pump]]\n"}


@pytest.mark.fault("Invariant 2")
def test_invariant_2_no_index_is_newer_than_the_ledger(world):
    indexed = world(NOTES)
    for number in range(12):
        indexed.write({f"{number % 3}.md": f"note {number}", "pump.md": f"pump {number}"})
        vault = indexed.vault
        assert vault.engine.synced_revision(indexed.ledger) == indexed.ledger.revision
        assert vault.graph is not None
        assert vault.graph.synced_revision <= indexed.ledger.revision


@pytest.mark.fault("Invariant 5")
def test_invariant_5_without_the_worker_the_words_answer_and_it_is_said(vault, tmp_path, monkeypatch):
    (tmp_path / "index").mkdir()
    index = IndexHere(vault(NOTES), tmp_path / "index")
    index.update()

    async def down(*_, **__):
        raise WorkerUnavailable("it is down")

    monkeypatch.setattr(index.worker, "query", down)
    ((_, _, partial, found),) = index.answers(("seal",), ("hybrid",))
    assert ("semantic" in str(partial), len(found)) == (True, 2)
    index.close()


@pytest.mark.fault("Invariant 7")
def test_invariant_7_one_index_has_one_writer(vault, tmp_path):
    root = vault(NOTES)
    (tmp_path / "index").mkdir()
    first = IndexHere(root, tmp_path / "index")
    for _ in range(5):
        with pytest.raises(AlreadyRunning):
            IndexHere(root, tmp_path / "index")
    first.update()
    first.close()
    IndexHere(root, tmp_path / "index").close()


@pytest.mark.slow
@pytest.mark.fault("I2", "I10", "Invariant 9")
def test_invariant_9_nothing_needs_a_network(daemon, vault):
    try:
        subprocess.run(["unshare", "-rn", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("user namespaces are not allowed here")
    root = str(vault(NOTES))
    for arguments in (["index", "--wait"], ["search", "seal"], ["search", "seal", "--mode", "semantic"]):
        command = ["unshare", "-rn", sys.executable, "-m", "vaultseek", *arguments, "--vault", root]
        done = subprocess.run(
            command, env=daemon.environment, cwd=daemon.home, capture_output=True, text=True, timeout=110
        )
        assert done.returncode == 0, done.stderr
