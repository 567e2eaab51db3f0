"""A daemon killed at any step of indexing gives the answers of a fresh index after a restart."""

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from worlds import write_files

SOURCE = Path(__file__).parents[2] / "src" / "vaultseek"
NOTES = {
    f"folder/{name}.md": f"# {name.title()}\n\nAbout {name} and [[{name}s]].\n"
    for name in ("oar", "sail", "keel")
}
CHANGED = {
    "folder/keel.md": NOTES["folder/keel.md"],
    "folder/oar.md": "# Oar\n\nAnother text about quartz.\n",
}
QUERIES = ["about", "oar", "sail keel", "quartz"]
FAILPOINTS = [
    "ingest.read",
    "keyword.applied",
    "keyword.remake",
    "ledger.commit",
    "ledger.committed",
    "store.made",
    "store.swapped",
    "vectors.computed",
    "vectors.forgotten",
    "vectors.kept",
    "vectors.stored",
]


SECOND_SPACE = "second.stored"


def failpoints() -> set[str]:
    """Return the literal names in all calls of ``failpoint``."""
    calls = (
        node
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "failpoint"
    )
    return {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}


def test_every_failpoint_in_the_source_is_tested():
    assert failpoints() == {*FAILPOINTS, SECOND_SPACE}


@pytest.fixture(scope="module")
def fresh(indexed_vault):
    """The answers of a new index of the changed notes."""
    indexed = indexed_vault(CHANGED)
    return [seen(indexed.daemon, indexed.root, query) for query in QUERIES]


@pytest.mark.fault("A2", "A3", "A6", "A7", "A8")
@pytest.mark.parametrize("name", FAILPOINTS)
def test_after_a_kill_the_answers_are_those_of_a_fresh_index(daemon, vault, name, fresh):
    root = vault(NOTES)
    if name == "store.swapped":
        daemon.environment["VAULTSEEK_MODEL__NAME"] = "hashing-32"
    daemon.environment["VAULTSEEK_FAILPOINTS"] = f"{name}=kill@1"
    ended = daemon.run("index", "--wait", "--vault", str(root)).returncode
    write_files(root, CHANGED)
    (root / "folder" / "sail.md").unlink()
    if name == "store.swapped":
        daemon.stop()
        daemon.environment["VAULTSEEK_MODEL__NAME"] = "hashing"
    ended = ended or daemon.run("index", "--wait", "--vault", str(root)).returncode
    assert ended == 3, "nobody was killed"
    del daemon.environment["VAULTSEEK_FAILPOINTS"]
    daemon.stop()
    assert [seen(daemon, root, query) for query in QUERIES] == fresh


def test_after_a_kill_the_second_space_is_filled_again(daemon, vault, eventually):
    root = vault(NOTES)
    daemon.environment["VAULTSEEK_MODEL__OTHER_LANGUAGES"] = "hashing-32"
    daemon.environment["VAULTSEEK_FAILPOINTS"] = f"{SECOND_SPACE}=kill@1"
    daemon.run("index", "--wait", "--vault", str(root))
    eventually(lambda: daemon.run("status").returncode == 3, "the daemon was killed")
    del daemon.environment["VAULTSEEK_FAILPOINTS"]
    daemon.run("index", "--wait", "--vault", str(root))
    eventually(lambda: second_notes_left(daemon) == 0, "the second space is filled")
    answer = daemon.json("search", "парус", "--mode", "semantic", "--vault", str(root))
    assert (answer["partial"], len(answer["results"])) == ([], len(NOTES))


def second_notes_left(daemon) -> int | None:
    return daemon.json("status")["vaults"][0]["models"]["second_notes_left"]


@pytest.mark.fault("A1", "A7")
@pytest.mark.parametrize(
    "plan", ["ledger.commit=kill@3", "ledger.committed=kill@3", "keyword.applied=kill@2"]
)
def test_a_kill_among_many_notes_read_by_other_processes(daemon, vault, plan):
    root = vault({f"{n}.md": f"# Note {n}\n\nAbout oar{n} and [[{n + 1}]].\n" for n in range(450)})
    daemon.environment["VAULTSEEK_FAILPOINTS"] = plan
    assert daemon.run("index", "--wait", "--vault", str(root)).returncode == 3
    del daemon.environment["VAULTSEEK_FAILPOINTS"]
    assert daemon.run("index", "--wait", "--vault", str(root)).returncode == 0
    assert daemon.json("status")["vaults"][0]["notes"] == 450
    for number in (0, 70, 200, 449):
        assert daemon.paths(f"oar{number}", "--mode", "keyword", "--vault", str(root))[0] == f"{number}.md"


def seen(daemon, root, query):
    """Return the results of a search without the fields that may differ between two runs."""
    answer = daemon.json("search", query, "--vault", str(root), "--wait")
    assert answer["index"]["pending"] == 0
    keys = ("path", "chunk_id", "score", "start_line", "preview", "lanes")
    return [{key: result[key] for key in keys} for result in answer["results"]]


@pytest.mark.fault("A12")
def test_a_note_that_ends_the_daemon_is_left_alone_the_third_time(daemon, vault):
    root = vault(NOTES | {"Poison.md": "# Poison\n\nends whoever reads it\n"})
    daemon.environment["VAULTSEEK_FAILPOINTS"] = "note.read Poison.md=kill"
    deaths = [daemon.run("index", "--wait", "--vault", str(root)).returncode for _ in range(3)]
    assert deaths == [3, 3, 0]
    assert daemon.paths("oar", "--vault", str(root))
    assert daemon.paths("poison", "--vault", str(root))[0] == "Poison.md", "by its name"
    problems = daemon.json("status")["vaults"][0]["problems"]
    assert [(it["path"], it["code"]) for it in problems] == [("Poison.md", "ends_daemon")]
    # The running daemon still has the failpoint, and the repair would crash it.
    daemon.stop()
    del daemon.environment["VAULTSEEK_FAILPOINTS"]
    (root / "Poison.md").write_text("# Cured\n\nharmless\n")
    assert daemon.paths("harmless", "--vault", str(root), "--wait")[0] == "Poison.md"


@pytest.mark.fault("K13")
def test_a_client_that_waits_goes_on_waiting_if_the_worker_is_killed(daemon, vault, eventually, tmp_path):
    root = daemon.indexed(vault({"first.md": "# First"}))
    os.kill(daemon.json("status")["daemon"]["worker"]["pid"], signal.SIGSTOP)
    write_files(root, {f"{n}.md": f"# Note {n}\n\nAbout oar{n}.\n" for n in range(200)})
    command = [sys.executable, "-m", "vaultseek", "index", "--wait", "--vault", str(root)]
    said = tmp_path / "said"
    with said.open("w") as stderr:
        waiting = subprocess.Popen(command, env=daemon.environment, stderr=stderr)
    eventually(lambda: daemon.json("status")["vaults"][0]["pending"] > 300, "texts wait for it")
    assert waiting.poll() is None, "the stopped worker keeps it waiting"
    killed: set[int] = set()

    def kill_another() -> bool:
        pid = daemon.json("status")["daemon"]["worker"]["pid"]
        if pid is not None and pid not in killed:
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
        return len(killed) >= 4 and "waiting: " in said.read_text()

    eventually(kill_another, "each successor is killed until the client says what it waits for", 60)
    assert waiting.wait(timeout=90) == 0
    assert daemon.json("status")["vaults"][-1]["pending"] == 0
