"""The keyword index with damaged files, on a full disk, or after a process was killed half-way."""

import errno
import os
import random
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from keyword_answers import hits_of
from keyword_dump import dump
from vaultseek.errors import Busy, IndexDamaged
from vaultseek.store.keyword import commits
from vaultseek.store.keyword.index import KeywordChunk, KeywordDocument, KeywordIndex
from vaultseek.store.keyword.merge import SegmentPreparer

pytestmark = pytest.mark.slow


def note(number: int, text: str) -> KeywordDocument:
    return KeywordDocument(
        number, f"{number}.md", f"title {number}", chunks=(KeywordChunk(f"c{number}", text),)
    )


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The folder of an index with two segments and a deletion."""
    index = KeywordIndex.create(tmp_path / "index")
    index.apply([note(n, f"red word{n}") for n in range(50)], (), "one")
    index.apply([note(3, "blue")], [4], "two")
    index.close()
    return tmp_path / "index"


def use(directory: Path) -> None:
    index = KeywordIndex.open(directory)
    index.search("red blue", 100)
    index.search("red word5", 10)
    index.terms()
    dump(index)


def cut_to(size: float) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, int(path.stat().st_size * size))


def flip(place: float) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int((len(data) - 1) * place)] ^= 0x41
        path.write_bytes(bytes(data))

    return damage


def replace_by_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "empty": cut_to(0),
    "half": cut_to(0.5),
    "last byte lost": lambda path: os.truncate(path, path.stat().st_size - 1),
    "a byte more": lambda path: path.write_bytes(path.read_bytes() + b"x") and None,
    "noise": lambda path: path.write_bytes(os.urandom(path.stat().st_size)) and None,
    "gone": Path.unlink,
    "a directory": replace_by_directory,
    **{f"flipped at {place}": flip(place) for place in (0, 0.01, 0.2, 0.5, 0.8, 0.95, 0.99, 1)},
}


@pytest.mark.fault("A15", "B4")
@pytest.mark.parametrize("damage", DAMAGES)
def test_any_damage_to_any_file_is_noticed(directory: Path, damage: str) -> None:
    files = sorted(path.name for path in directory.iterdir() if not path.name.endswith("LOCK"))
    assert len(files) == 3
    for name in files:
        copy = directory.with_name("copy")
        shutil.copytree(directory, copy)
        DAMAGES[damage](copy / name)
        with pytest.raises(IndexDamaged, match="keyword index"):
            use(copy)
        shutil.rmtree(copy)


def test_nothing_there_is_damage(tmp_path: Path) -> None:
    with pytest.raises(IndexDamaged):
        KeywordIndex.open(tmp_path)
    with pytest.raises(IndexDamaged):
        KeywordIndex.open(tmp_path / "nowhere")


@pytest.mark.fault("B4")
def test_damage_while_open_is_noticed(directory: Path) -> None:
    index = KeywordIndex.open(directory)
    for path in directory.glob("*.post"):
        os.truncate(path, 100)
    with pytest.raises(IndexDamaged):
        index.search("red", 5)


def flip_a_bit(path: Path, place: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ 4]))
    os.utime(path, ns=(0, 0))  # the clock is too coarse to distinguish it from the write before


USES: dict[str, Callable[[KeywordIndex], object]] = {
    "search": lambda index: index.search("red", 5),
    "words": lambda index: index.terms(),
    "merge": lambda index: index.merge_step(purge=True),
    "merge in another process": lambda index: index.merge_step(
        SegmentPreparer.of(index._commits.directory).merged_files, purge=True
    ),
}


@pytest.mark.fault("B4")
@pytest.mark.parametrize("use", USES)
def test_a_flipped_bit_in_an_open_file_is_noticed(directory: Path, use: str) -> None:
    for place in (40, 900):  # in the rows, and in what is kept in memory
        copy = shutil.copytree(directory, directory.with_name(f"copy {place}"))
        index = KeywordIndex.open(copy)
        for path in copy.glob("*.post"):
            flip_a_bit(path, place)
        with pytest.raises(IndexDamaged):
            USES[use](index)


@pytest.mark.fault("B3")
def test_a_directory_deleted_while_open_is_noticed_by_the_next_change(directory: Path) -> None:
    index = KeywordIndex.open(directory)
    shutil.rmtree(directory)
    assert len(hits_of(index.search("red", 100))) == 48
    with pytest.raises(IndexDamaged):
        index.apply([note(1, "x")], (), "three")


def test_an_error_of_our_own_is_no_damage(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = KeywordIndex.open(directory)
    monkeypatch.setattr("vaultseek.store.keyword.lane.Searcher", None)
    with pytest.raises(TypeError):
        index.search("red", 5)


def test_files_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        index = KeywordIndex.create(tmp_path / "index")
        index.apply([note(1, "x")], (), "one")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "index").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "index").iterdir()} == {0o600}


def test_a_seeded_generator_repeats_no_segment(tmp_path: Path) -> None:
    index = KeywordIndex.create(tmp_path / "index")
    for number in range(4):
        random.seed(0)
        index.apply([note(2 * number, "red"), note(2 * number + 1, "red")], [2 * number - 1], f"{number}")
    assert {hit.note for hit in hits_of(index.search("red", 10))} == {0, 2, 4, 6, 7}


def test_nothing_is_left_over(directory: Path) -> None:
    index = KeywordIndex.open(directory)
    for number in range(20):
        index.apply([note(number, "again")], (), f"{number}")
    while index.merge_step():
        pass
    names = sorted(path.name for path in directory.iterdir())
    assert len(names) == index.segments + 2


@pytest.mark.fault("B1")
@pytest.mark.parametrize("call", range(1, 12))
def test_a_full_disk_leaves_the_index_as_it_was(
    directory: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """The n-th operation on the disk fails, for every n; then there is space again."""
    index = KeywordIndex.open(directory)
    before = dump(index)
    calls = 0

    def failing(real: Callable[..., object]) -> Callable[..., object]:
        def wrapper(*arguments: object, **named: object) -> object:
            nonlocal calls
            calls += 1
            if calls == call:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*arguments, **named)

        return wrapper

    with monkeypatch.context() as patch:
        for name in ("create_file", "rename_file", "sync", "_seal"):
            patch.setattr(commits._Storage, name, failing(getattr(commits._Storage, name)))
        with suppress(OSError):
            index.apply([note(7, "green")], [8], "three")
            assert calls < call
    if calls >= call:
        again = KeywordIndex.open(directory)
        assert (dump(index), index.revision) == (dump(again), again.revision) == (before, "two")
    index.apply([note(7, "green")], [8], "three")
    assert [hit.note for hit in hits_of(index.search("green", 5))] == [7]
    assert dump(KeywordIndex.open(directory)) == dump(index)


def test_another_writer_is_not_waited_for(directory: Path) -> None:
    one, other = KeywordIndex.open(directory), KeywordIndex.open(directory)
    with one._commits.writing(None), pytest.raises(Busy):
        other.apply([note(1, "x")], (), "three")
    other.apply([note(1, "x")], (), "three")


KILLED = """
import os, signal, sys
from pathlib import Path
from vaultseek.store.keyword import commits
from vaultseek.store.keyword.index import KeywordChunk, KeywordDocument, KeywordIndex
from vaultseek.store.keyword.merge import SegmentPreparer

left = int(sys.argv[2])
def dying(name):
    real = getattr(commits._Storage, name)
    def wrapper(*arguments, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)
    setattr(commits._Storage, name, wrapper)
index = KeywordIndex.open(Path(sys.argv[1]))
for name in ("create_file", "rename_file", "sync", "delete_file", "_sync_directory"):
    dying(name)
for number in range(3):
    chunks = (KeywordChunk("c", f"green{number}"),)
    index.apply([KeywordDocument(5, "5.md", "five", chunks=chunks)], [10 + number], str(number))
"""


@pytest.mark.fault("A4")
@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 14, 17])
def test_killed_at_any_step_it_is_whole_and_the_stamp_fits(directory: Path, step: int) -> None:
    subprocess.run([sys.executable, "-c", KILLED, directory, str(step)], check=False, timeout=60)
    index = KeywordIndex.open(directory)
    done = -1 if index.revision == "two" else int(str(index.revision))
    alive = {hit.note for hit in hits_of(index.search("red", 100))}
    assert alive == set(range(50)) - {3, 4} - ({5} if done >= 0 else set()) - {
        10 + n for n in range(done + 1)
    }
    assert [hit.note for hit in hits_of(index.search(f"green{done}", 5))] == ([5] if done >= 0 else [])
    index.apply([note(5, "after")], (), "after")
    assert not [path for path in directory.iterdir() if ".toc." in path.name or "unfinished" in path.name]
    assert len(list(directory.glob("*.post"))) == index.segments


def test_a_disk_too_full_to_merge_is_no_failed_change(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(sources: object, file: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    index = KeywordIndex.open(directory)
    monkeypatch.setattr("vaultseek.store.keyword.merge.merge_segments", full)
    for number in range(30):
        index.apply([note(number, "again")], (), f"{number}")
    with pytest.raises(OSError, match="No space"):
        index.merge_step()
    monkeypatch.undo()
    assert index.merge_step()
    assert len(index) == 50
    assert not list(directory.glob("*unfinished"))
