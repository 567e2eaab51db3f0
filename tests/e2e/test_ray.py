"""``vaultseek index --ray`` with two real Ray workers, one of which is killed, and an interrupt.

Many notes are added to the vault while the cluster works, so that it also embeds them.
"""

import importlib.util
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import psutil
import pytest

from daemons import eventually
from vaultseek.base.limits import BATCH_TEXTS
from vaultseek.core.indexing.unembedded import EmbeddingSpec, Unembedded
from vaultseek.semantic.inference import embed
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.store.ledger import Ledger
from vaultseek.tools.cluster import BATCH_TEXTS as CLUSTER_TEXTS
from vaultseek.tools.cluster import QUEUED_BATCHES
from worlds import write_files

NEEDS_RAY = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="the extra ray is not installed"
)
pytestmark = [NEEDS_RAY, pytest.mark.long]
WORDS = ["pump", "valve", "anchor", "rust", "switch", "copper", "chain", "bilge", "quartz", "boiler", "sail"]
START_SECONDS = 120.0
WORKING = re.compile("ray::embed_texts")
MANY = 450
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[str, psutil.Process]]:
    """The address and the process of a Ray cluster on this machine, with two processors."""
    port, clients, agent = free_ports(3)
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
        options = {
            "port": port,
            "node-ip-address": "127.0.0.1",
            "num-cpus": 2,
            "object-store-memory": 80 * 2**20,
            "include-dashboard": "false",
            "temp-dir": folder,
            "min-worker-port": 0,
            "max-worker-port": 0,
            "ray-client-server-port": clients,
            "dashboard-agent-listen-port": agent,
        }
        command += [f"--{name}={value}" for name, value in options.items()]
        environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0", **TOKEN}
        with (Path(folder) / "out").open("wb") as out:
            started = psutil.Popen(command, stdout=out, stderr=out, env=environment)
        said = Path(folder) / "out"
        try:
            eventually(lambda: answers(port) or started.poll() is not None, "Ray starts", START_SECONDS)
            assert started.poll() is None, said.read_text()
            yield f"127.0.0.1:{port}", started
        finally:
            family = [*started.children(recursive=True), started]
            started.terminate()
            for process in psutil.wait_procs(family, timeout=20)[1]:
                process.kill()


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def notes(count: int, of: str) -> dict[str, str]:
    """Return different notes that the bundled model needs a few seconds to embed."""
    chosen = random.Random(of)
    return {f"{of}/{n}.md": f"# {of} {n}\n\n{' '.join(chosen.choices(WORDS, k=100))}" for n in range(count)}


def small_notes(count: int) -> dict[str, str | bytes]:
    """Return notes that embed quickly, and some hostile ones."""
    small = {
        f"n{n}.md": f"---\ntags: [t{n % 7}/x]\npart: {n}\n---\n# Small {n}\n\n[[n{n + 1}]] #boat ^id{n}"
        for n in range(count)
    }
    return small | {
        "empty.md": "",
        "broken.md": "---\na: [\n---\ntext",
        "surrogate.md": '---\nkey: "\\ud800"\n---\ntext',
        "deep.md": "> " * 2_000 + "deep\n" + "[" * 5_000,
        "latin.md": "Fluß und Käse".encode("latin-1"),
        "5 MB.md": b"A pump. " * 655_360,
        "day 2024-03-01.md": "---\ncreated: 2021-05-04\nbig: " + "9" * 40 + "\n---\n- [ ] do it",
        "plain.txt": "A file that is no note.",
    }


def ledger_of(daemon) -> Path:
    return next(Path(daemon.environment["XDG_DATA_HOME"]).rglob("ledger.sqlite"))


def computed(daemon) -> int:
    """Return how many vectors were computed so far."""
    if not list(Path(daemon.environment["XDG_DATA_HOME"]).rglob("ledger.sqlite")):
        return 0
    with closing(sqlite3.connect(f"file:{ledger_of(daemon)}?mode=ro", uri=True)) as database:
        try:
            sql = "SELECT value FROM meta WHERE name = 'embeddings_computed'"
            return int(database.execute(sql).fetchone()[0])
        except (sqlite3.Error, TypeError):
            return 0


def started(daemon, said: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a command that writes its output to the file ``said``."""
    command = [sys.executable, "-m", "vaultseek", *arguments]
    with said.open("wb") as out:
        return subprocess.Popen(command, cwd=daemon.home, env=daemon.environment, stdout=out, stderr=out)


def workers(cluster: psutil.Process) -> list[psutil.Process]:
    """Return the cluster's processes that are working."""
    found = []
    for process in cluster.children(recursive=True):
        try:
            if WORKING.search(" ".join(process.cmdline())):
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.model
@pytest.mark.timeout(400)
def test_an_interrupt_and_a_killed_worker_leave_the_vectors_of_a_fresh_index(
    daemon, vault, cluster, tmp_path
):
    address, ray = cluster
    daemon.environment |= {"VAULTSEEK_MODEL__NAME": "bundled", **TOKEN}
    root = vault(notes(60, "first"))

    said = tmp_path / "said"
    interrupted = started(daemon, said, "index", "--ray", address, "--vault", str(root))
    eventually(lambda: computed(daemon) > 0, "vectors come back", START_SECONDS)
    interrupted.send_signal(signal.SIGINT)
    assert interrupted.wait(START_SECONDS) == 130, said.read_text()

    vault(notes(60, "second"))
    aside = write_files(tmp_path / "aside", small_notes(MANY))
    running = started(daemon, said, "index", "--ray", address, "--vault", str(root))
    eventually(lambda: "2 processors of Ray" in said.read_text(), "it is connected", START_SECONDS)
    aside.rename(root / "small")
    eventually(lambda: workers(ray), "a worker has texts", START_SECONDS)[0].kill()
    assert running.wait(300) == 0, said.read_text()
    assert "all embedded" in said.read_text()
    by_cluster = re.search(r"([\d,]+) vectors computed by the cluster", said.read_text())
    assert by_cluster is not None, said.read_text()
    assert int(by_cluster[1].replace(",", "")) > 0

    semantic = daemon.json("search", "a pump with rust", "--mode", "semantic", "--vault", str(root))
    assert semantic["results"]
    assert not semantic["partial"]
    status = daemon.json("status")["vaults"][0]
    assert status["pending"] == 0
    daemon.stop()
    check_vectors(ledger_of(daemon), status["embeddings_computed"])


def check_vectors(file: Path, computed: int) -> None:
    """Assert that each text has the vector that the local model gives it, and that hardly any vector was
    computed twice."""
    model = find_model("bundled")
    spec = EmbeddingSpec(model.fingerprint, model.counter(), model.window)
    ledger = Ledger(file)
    with closing(ledger):
        ledger.space.begin_store("")
        unembedded = Unembedded(ledger, spec)
        items = unembedded.chunks(ledger.space.chunk_numbers(10_000))
        items += unembedded.notes(ledger.space.note_ids(10_000))
        assert len(items) > 2 * (120 + MANY)
        vectors = np.frombuffer(b"".join(item.vector for item in items), np.float32).reshape(len(items), -1)
        # The daemon and the cluster meet in the middle, where both hold some texts.
        twice = 4 * QUEUED_BATCHES * CLUSTER_TEXTS + 2 * BATCH_TEXTS
        assert 0 <= computed - len({unembedded.key(item) for item in items}) <= twice
    sample = random.Random(1).sample(range(len(items)), 60)
    here = embed.load(model.name, model.directory).encode([items[place].text.text for place in sample])
    assert np.abs(here - vectors[sample]).max() < 1e-6


def test_what_is_wrong_with_an_address_is_said(daemon, vault):
    root = str(vault({"a.md": "A pump."}))
    done = daemon.run("index", "--ray", "127.0.0.1:1", "--vault", root)
    assert (done.returncode, "no Ray cluster answers at 127.0.0.1:1" in done.stderr) == (3, True)
    assert daemon.run("index", "--wait", "--vault", root).returncode == 0


def test_a_model_of_a_server_is_not_for_a_cluster(daemon, vault):
    daemon.environment["VAULTSEEK_MODEL__URL"] = "http://127.0.0.1:1/v1"
    done = daemon.run("index", "--ray", "local", "--vault", str(vault({"a.md": "A pump."})))
    assert done.returncode == 3
    assert "the vectors of vault come from the server in your settings" in done.stderr
