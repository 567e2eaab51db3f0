"""Two versions of vaultseek, or two machines, with one index: refused or healed, with a message."""

import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import vaultseek
from daemons import eventually
from running import Running
from vaultseek.errors import VaultseekError
from worlds import write_files

pytestmark = pytest.mark.slow

NOTES = {
    "pump.md": "# Pump\n\nThe pump needs a seal, see [[valve]].\n",
    "valve.md": "---\ntags: [boat]\n---\n# Valve\n\nA valve seal wears out.\n",
    "anchor.md": "# Anchor\n\nRust on the anchor chain.\n",
}
SOURCE = Path(vaultseek.__file__).parents[1]
OTHER = {
    "vaultseek/__init__.py": r'__version__ = "()',
    "vaultseek/store/ledger/schema.py": r"SCHEMA_VERSION = ()",
    "vaultseek/store/keyword/analysis.py": r"ANALYZER_VERSION = ()",
    "vaultseek/store/keyword/segment.py": r"vaultseek keyword segment ()",
    "vaultseek/semantic/vectors/matrix_file.py": r"vsmat()",
}
"""Source files and patterns of the places where a version states which formats it writes."""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of another version, with other formats of all files."""
    copy = shutil.copytree(SOURCE, tmp_path_factory.mktemp("other") / "src")
    for name, place in OTHER.items():
        text = (copy / name).read_text()
        changed = re.sub(place.replace("()", r"(?=\d)"), lambda found: found[0] + "9", text, count=1)
        assert changed != text, name
        (copy / name).write_text(changed.replace("vsmat9002", "vsmat902"))
    return str(copy)


def serve(running: Running, source: str = "") -> None:
    """Serve with the source of a version; by default, of this one."""
    running.daemon.environment["PYTHONPATH"] = source or str(SOURCE)
    running.serve()
    running.settle()


@pytest.mark.fault("G1", "J5")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_first", [True, False])
def test_j5_a_second_daemon_of_another_version_is_refused_and_commands_say_so(running, other, is_first):
    each = running(NOTES)
    serve(each, other if is_first else "")
    pid = each.daemon.pid()
    each.daemon.environment["PYTHONPATH"] = str(SOURCE) if is_first else other
    command = [sys.executable, "-m", "vaultseek", "serve"]
    second = subprocess.run(command, env=each.daemon.environment, capture_output=True, text=True, timeout=60)
    assert second.returncode == 3
    assert second.stderr.count("\n") == 1
    assert f"pid {pid}" in second.stderr
    assert each.daemon.paths("valve", "--vault", str(each.root)) == ["valve.md", "pump.md"]
    versions = r"the running daemon is \S+, this command \S+; `vaultseek start --restart` replaces the daemon"
    assert re.search(versions, each.daemon.run("status").stdout)
    assert each.daemon.pid() == pid


@pytest.mark.fault("B6", "J5")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("ended", [Running.end, Running.kill])
def test_j5_an_upgrade_and_a_downgrade_cost_no_answer_and_no_vector(running, other, ended):
    each = running(NOTES)
    serve(each)
    for number, source in enumerate([other, "", other]):
        ended(each)
        serve(each, source)
        expected = each.fresh_answers() if number == 2 else None
        status = each.status()
        assert status["embeddings_computed"] <= 2, "only of the note that is new"
        assert each.paths("basalt") == [f"new {before}.md" for before in range(number)]
        assert expected is None or each.answers() == expected
        log = each.daemon.log()
        assert log.count("is damaged or from another version; rebuilding it") == number + 1
        (each.root / f"new {number}.md").write_text("basalt")
        each.settle()


@pytest.mark.fault("J8", "Invariant 7")
@pytest.mark.timeout(300)
def test_j8_a_second_daemon_with_the_same_folder_of_indexes_leaves_the_index_alone(running):
    """As on a shared disk whose locks work."""
    each, second = running(NOTES), running({})
    each.serve()
    each.settle()
    expected = each.answers()
    second.root = each.root
    shared = second.place / "data" / "vaultseek" / "vaults"
    shared.parent.mkdir(mode=0o700, parents=True)
    shared.symlink_to(each.index.parent)
    second.serve()
    done = second.daemon.run("index", "--wait", "--vault", str(each.root))
    assert done.returncode == 3
    assert "another vaultseek process is using" in done.stderr
    assert each.answers() == expected
    each.end()
    eventually(lambda: answers_or_none(second) == expected, "it takes over", 90)


@pytest.mark.fault("J8")
@pytest.mark.timeout(600)
def test_j8_two_machines_that_write_one_index_through_a_synchronised_folder_answer_from_their_notes(running):
    """The notes are synchronised, too, but of the index, the newer of two files wins."""
    one, two = running(NOTES), running(NOTES)
    for each in (one, two):
        each.serve()
        each.settle()
    for turn in range(4):
        write_files((one, two)[turn % 2].root, {f"new {turn}.md": f"Basalt {turn}."})
        for each in (one, two):
            answers_or_none(each)
            assert each.is_alive()
        synchronise(one.root, two.root)
        synchronise(one.index, two.index)
    expected = one.fresh_answers()
    for each in (one, two):
        eventually(lambda each=each: answers_or_none(each) == expected, "healed", 120)
        write_files(each.root, {"last.md": "Granite."})
        eventually(lambda each=each: finds(each, "granite"), "changes are still seen", 60)
        assert re.search("damaged|replaced|rebuil", each.daemon.log())


def answers_or_none(running: Running) -> list[object] | None:
    """Return the answers; None while the vault is being opened or repaired."""
    try:
        running.settle()
        return running.answers()
    except (VaultseekError, OSError):
        return None


def finds(running: Running, query: str) -> bool:
    try:
        return bool(running.paths(query))
    except (VaultseekError, OSError):
        return False


def synchronise(one: Path, two: Path) -> None:
    """Copy each file that is new or newer in one folder, and still there, to the other folder."""
    copies: list[tuple[Path, Path]] = []
    for here, there in ((one, two), (two, one)):
        for file in (path for path in here.rglob("*") if path.is_file() and path.name != "lock"):
            goal = there / file.relative_to(here)
            with suppress(FileNotFoundError):
                if not goal.exists() or goal.stat().st_mtime_ns < file.stat().st_mtime_ns:
                    copies.append((file, goal))
    for file, goal in copies:
        goal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        arriving = goal.with_name(f".{goal.name}.part")
        with suppress(FileNotFoundError):
            shutil.copy2(file, arriving)
            arriving.replace(goal)
