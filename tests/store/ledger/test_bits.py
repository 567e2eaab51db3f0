"""A ledger in which one bit was flipped while it was closed: noticed, and never answered from."""

import random
from pathlib import Path

import pytest

from vaultseek.base.model import Chunk, Note
from vaultseek.base.when import When
from vaultseek.content.files.scan import FileStat
from vaultseek.store.ledger import IndexedNote, Ledger

PAGE = 4096
SAMPLE = 40


def note(number: int) -> IndexedNote:
    chunks = tuple(Chunk(f"{number} {part}", (), 1, 1, f"granite {number} " * 60) for part in range(2))
    of = Note(f"{number}.md", f"Note {number}", tags=("boat",))
    return IndexedNote(of, chunks, (), FileStat(1, 2, 3, 4), False, b"%d" % number, 100.0, When(50.0))


@pytest.fixture
def closed(tmp_path: Path) -> tuple[Path, str]:
    """The file of a closed ledger of many notes, and its generation."""
    file = tmp_path / "ledger.sqlite"
    ledger = Ledger(file)
    with ledger.commit() as revision:
        for number in range(80):
            ledger.notes.put(note(number), revision)
    ledger.vectors.put({f"model:{number}": bytes(range(256)) * 6 for number in range(80)})
    ledger.close()
    return file, ledger.generation


def is_replaced(file: Path, generation: str) -> bool:
    ledger = Ledger(file)
    try:
        return ledger.generation != generation and ledger.counts().notes == 0
    finally:
        ledger.close()


def missed(file: Path, generation: str, pages: list[int]) -> list[tuple[int, int]]:
    """Return the bits, as page and place, whose flip in a closed ledger is not noticed."""
    data, seal = file.read_bytes(), file.with_name(f"{file.name}.closed").read_bytes()
    found, chance = [], random.Random(1)
    for page in pages:
        place = chance.randrange(PAGE * 8)
        flipped = bytearray(data)
        flipped[page * PAGE + place // 8] ^= 1 << place % 8
        file.write_bytes(flipped)
        file.with_name(f"{file.name}.closed").write_bytes(seal)
        if not is_replaced(file, generation):
            found.append((page, place))
    return found


@pytest.mark.fault("B5")
def test_a_flipped_bit_is_noticed(closed):
    file, generation = closed
    number = file.stat().st_size // PAGE
    pages = sorted({0, 1, 2, 3, *random.Random(2).sample(range(number), SAMPLE)})
    assert missed(file, generation, pages) == []


@pytest.mark.long
@pytest.mark.fault("B5")
def test_a_flipped_bit_in_any_page_is_noticed(closed):
    file, generation = closed
    assert missed(file, generation, list(range(file.stat().st_size // PAGE)) * 4) == []


@pytest.mark.fault("B5")
def test_a_ledger_that_another_took_the_place_of_is_replaced(closed, tmp_path):
    """As when a single file is put back from a backup: the older ledger does not fit the other files."""
    file, generation = closed
    older = file.read_bytes()
    ledger = Ledger(file)
    with ledger.commit() as revision:
        ledger.notes.put(note(99), revision)
    ledger.close()
    file.write_bytes(older)
    assert is_replaced(file, generation)


@pytest.mark.fault("B5")
@pytest.mark.parametrize("seal", [b"", b"noise \xff", b"12 34 56 78", None])
def test_a_ledger_without_a_seal_that_can_be_read_is_opened(closed, seal):
    """As after a crash, or written by a former version."""
    file, generation = closed
    file.with_name(f"{file.name}.closed").unlink()
    if seal is not None:
        file.with_name(f"{file.name}.closed").write_bytes(seal)
    ledger = Ledger(file)
    assert (ledger.generation, ledger.counts().notes) == (generation, 80)
    ledger.close()


def test_a_ledger_is_opened_again_and_again(closed):
    file, generation = closed
    for _ in range(3):
        ledger = Ledger(file)
        assert (ledger.generation, ledger.counts().notes) == (generation, 80)
        ledger.close()
