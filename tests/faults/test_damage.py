"""Every file of an index is damaged in every way, while the daemon has it open and while it is stopped."""

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from daemons import eventually
from running import Running
from vaultseek.errors import VaultseekError

pytestmark = pytest.mark.slow

NOTES = {
    "pump.md": "# Pump\n\nThe pump needs a seal, see [[valve]].\n",
    "valve.md": "---\ntags: [boat]\n---\n# Valve\n\nA valve seal wears out. [[anchor]]\n",
    "deck/anchor.md": "# Anchor\n\nRust on the anchor chain.\n",
    "deck/winch.md": "# Winch\n\nGrease the winch. #boat\n",
}
QUERIES = ("pump", "valve seal", "rust on the anchor")


def cut(file: Path, size: int) -> None:
    os.truncate(file, size)


def make_noise(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.write(os.urandom(file.stat().st_size))


def flip_bits(file: Path) -> None:
    """Flip a bit in each page."""
    data = bytearray(file.read_bytes())
    for page in range(0, len(data), 4096):
        place = random.randrange(8 * page, 8 * min(page + 4096, len(data)))
        data[place // 8] ^= 1 << place % 8
    file.write_bytes(data)


def make_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "empty": lambda file: cut(file, 0),
    "half": lambda file: cut(file, file.stat().st_size // 2),
    "noise": make_noise,
    "bits": flip_bits,
    "deleted": Path.unlink,
    "unreadable": lambda file: file.chmod(0),
    "a folder": make_a_folder,
}


def files_of(running: Running) -> list[Path]:
    """Return the files of the index, relative to its folder."""
    every = (path for path in running.index.rglob("*") if path.is_file() and path.name != "lock")
    return sorted(path.relative_to(running.index) for path in every)


def heals(running: Running, expected: list[object]) -> bool:
    """True if the answers are right; false while the daemon repairs the damage."""
    if not running.is_alive():
        running.serve()  # as the next command does
    try:
        running.settle()
        return running.answers(QUERIES) == expected
    except (VaultseekError, OSError):
        return False


def finds(running: Running, query: str) -> bool:
    try:
        return bool(running.paths(query))
    except (VaultseekError, OSError):
        return False


def damage_all(running: Running, kinds: list[str], names: str, *, open_too: bool) -> None:
    """Damage the files whose path contains ``names``, one at a time; assert that all are repaired."""
    running.serve()
    running.settle()
    expected = running.answers(QUERIES)
    files = [file for file in files_of(running) if names in str(file)]
    assert files
    for is_open in (True, False) if open_too else (False,):
        for file in files:
            for kind in kinds:
                if not (running.index / file).is_file():
                    continue
                if not is_open:
                    running.end()
                if not (running.index / file).is_file():
                    running.serve()
                    continue
                DAMAGES[kind](running.index / file)
                if not is_open:
                    running.serve()
                (running.root / "touched.md").write_text(f"{file} {kind}")
                (running.root / "touched.md").unlink()
                what = f"{file} {kind} while {'open' if is_open else 'stopped'}"
                eventually(lambda: heals(running, expected), f"repaired: {what}", 120)


@pytest.mark.fault("B5", "A15", "Invariant 5")
@pytest.mark.timeout(600)
def test_b5_a_damaged_ledger_costs_no_answer(running):
    damage_all(running(NOTES), ["half"], "ledger.sqlite", open_too=True)


@pytest.mark.fault("B5")
@pytest.mark.timeout(300)
def test_b5_a_ledger_whose_shared_memory_is_cut_off_loses_nothing(running):
    each = running(NOTES)
    each.serve()
    each.settle()
    expected = each.answers(QUERIES)
    process = each.process
    assert process is not None
    cut(each.index / "ledger.sqlite-shm", 0)
    (each.root / "new.md").write_text("basalt")
    eventually(lambda: not each.is_alive() or finds(each, "basalt"), "it is noticed", 60)
    (each.root / "new.md").unlink()
    eventually(lambda: heals(each, expected), "as before", 120)
    if each.process is not process:  # the system has ended it, which its successor reports
        assert "the previous daemon crashed" in each.daemon.log()
        assert process.returncode == -signal.SIGBUS


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.fault("A10", "A15", "B3", "B4", "B5", "Invariant 5")
@pytest.mark.parametrize("kind", DAMAGES)
def test_b4_any_file_of_an_index_may_be_damaged(running, kind):
    if kind == "unreadable" and os.geteuid() == 0:
        pytest.skip("root can read every file")
    damage_all(running(NOTES), [kind], "", open_too=kind not in ("a folder", "bits"))


@pytest.mark.long
@pytest.mark.fault("B4", "B5")
@pytest.mark.timeout(600)
def test_b4_a_single_file_that_is_put_back_from_a_backup_costs_no_answer(running, tmp_path):
    each = running(NOTES)
    each.serve()
    each.settle()
    each.end()
    shutil.copytree(each.index, tmp_path / "backup")
    each.serve()
    (each.root / "valve.md").write_text("# Valve\n\nRust on the valve, and basalt.\n")
    (each.root / "pump.md").unlink()
    each.settle()
    expected = each.answers(QUERIES)
    for file in [path.relative_to(tmp_path / "backup") for path in (tmp_path / "backup").rglob("*")]:
        if not (tmp_path / "backup" / file).is_file() or file.name == "lock":
            continue
        each.end()
        (each.index / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(tmp_path / "backup" / file, each.index / file)
        each.serve()
        eventually(lambda: heals(each, expected), f"healed: {file}", 120)


@pytest.mark.fault("B3", "Invariant 5")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("folder", ["keyword", "semantic"])
def test_b3_an_index_that_is_deleted_while_it_is_open_is_made_again(running, folder):
    each = running(NOTES)
    each.serve()
    each.settle()
    expected = each.answers(QUERIES)
    shutil.rmtree(each.index / folder)
    (each.root / "new.md").write_text("basalt")
    (each.root / "new.md").unlink()
    eventually(lambda: heals(each, expected), "made again", 120)


@pytest.mark.fault("B4", "B5")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", ["semantic", "keyword", "ledger.sqlite"])
def test_b4_a_part_of_an_index_that_is_put_back_from_a_backup_is_made_again(running, part, tmp_path):
    each = running(NOTES)
    each.serve()
    each.settle()
    each.end()
    shutil.copytree(each.index, tmp_path / "backup")
    each.serve()
    (each.root / "valve.md").write_text("# Valve\n\nRust on the valve, and basalt.\n")
    (each.root / "pump.md").unlink()
    (each.root / "new.md").write_text("# New\n\nAn anchor of granite.\n")
    each.settle()
    expected = each.answers(QUERIES)
    each.end()
    current = each.index / part
    shutil.rmtree(current) if current.is_dir() else current.unlink()
    copy = shutil.copytree if part != "ledger.sqlite" else shutil.copy2
    copy(tmp_path / "backup" / part, current)
    each.serve()
    eventually(lambda: heals(each, expected), "made again", 120)


@pytest.mark.fault("J8")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("is_open", [True, False])
def test_j8_files_of_another_machine_that_a_sync_tool_puts_into_an_index_are_no_answers(
    running, is_open, tmp_path
):
    """The other machine has another state of the notes, and its files come one by one."""
    other = running(NOTES | {"pump.md": "# Pump\n\nBasalt.\n", "only.md": "# Only\n\nA valve seal there.\n"})
    other.serve()
    other.settle()
    other.end()
    each = running(NOTES)
    each.serve()
    each.settle()
    expected = each.answers(QUERIES)
    if not is_open:
        each.end()
    for file in files_of(other):
        copy = tmp_path / "copy"
        shutil.copy2(other.index / file, copy)
        (each.index / file).parent.mkdir(parents=True, exist_ok=True)
        copy.replace(each.index / file)
        assert not is_open or each.is_alive()
    eventually(lambda: heals(each, expected), "healed", 120)
    (each.root / "new.md").write_text("basalt")
    eventually(lambda: finds(each, "basalt"), "changes are still seen", 60)
