"""Near-duplicate notes: their common text, and their order."""

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from semantic_here import index_here
from vaultseek.core.notes.duplicates import TEMPLATE_NOTES, duplicates, nearest_pairs, shared_text

STORY = "the lower car stops nine centimetres short of the platform whenever the rope is warm and dry "


def test_the_same_text_is_shared_whole_and_other_text_not_at_all() -> None:
    shares = shared_text([(1, STORY * 3), (2, STORY * 3), (3, "Slugs eat the lettuce in the night. " * 3)])
    assert list(shares) == [(1, 2)]
    assert 0.3 < shares[1, 2] < 1.0


def test_a_note_within_a_longer_one_shares_more_than_a_sentence() -> None:
    words = [f"word{number}" for number in range(300)]
    whole, half, sentence = " ".join(words), " ".join(words[:150]), " ".join([*words[:8], *"abcdefghijklm"])
    shares = shared_text([(1, whole), (2, half), (3, sentence)])
    assert shares[1, 2] > shares[1, 3] > 0


def test_what_many_notes_have_is_a_template() -> None:
    notes = [(number, STORY * 2) for number in range(TEMPLATE_NOTES)]
    assert shared_text(notes) == {}
    assert shared_text(notes[:-1])


def test_writing_without_spaces_has_words_of_one_character() -> None:
    assert shared_text([(1, "安全要求和井下通风系统的检查"), (2, "安全要求和井下通风系统的检查。")])
    assert shared_text(
        [(1, "3号机的安全要求和井下通风系统的检查"), (2, "3号机的安全要求和井下通风系统的测试")]
    )


texts = st.lists(st.text(alphabet="ab ", max_size=40), max_size=6)


@given(texts)
def test_shares_are_shares_of_ordered_pairs_and_do_not_depend_on_the_order(notes: list[str]) -> None:
    numbered = list(enumerate(notes))
    shares = shared_text(numbered)
    assert shares.keys() <= set(itertools.combinations(range(len(notes)), 2))
    assert all(0.0 < share <= 1.0 for share in shares.values())
    other = shared_text(reversed(numbered))
    assert other.keys() == shares.keys()
    assert all(abs(other[pair] - shares[pair]) < 1e-9 for pair in shares)


def test_each_note_has_its_nearest_ones() -> None:
    angles = {1: 0.0, 2: 0.1, 3: 2.0, 4: 2.1}
    vectors: dict[int, Any] = {
        note: np.array([np.cos(angle), np.sin(angle)], np.float32) for note, angle in angles.items()
    }
    assert {(1, 2), (3, 4)} <= set(nearest_pairs(vectors))
    assert list(nearest_pairs({})) == list(nearest_pairs({1: vectors[1]})) == []


def test_copies_that_differ_in_line_ends_or_a_byte_order_mark_are_alike_entirely(
    vault: Callable[[dict[str, str | bytes]], Path], tmp_path: Path
) -> None:
    text = "---\ntags: [mill]\n---\n# Rope\n\n* Oil the rope.\n* Count the *wires*.\n"
    copies: dict[str, str | bytes] = {
        "unix.md": text,
        "copy.md": text,
        "windows.md": text.replace("\n", "\r\n"),
        "marked.md": b"\xef\xbb\xbf" + text.encode(),
        "cut.md": text.rstrip("\n"),
        "longer.md": text + "\n\n",
    }
    others: dict[str, str | bytes] = {"other.md": text.replace("mill", "rope"), "bread.md": "Bread of rye."}
    with contextlib.closing(index_here(vault({**copies, **others}), tmp_path / "index")) as index:
        pairs = asyncio.run(duplicates(index, 50))["pairs"]
    full = [pair for pair in pairs if pair["score"] == 1.0]
    assert len(full) == 15, "each pair of the six copies"
    assert {note["path"] for pair in full for note in pair["notes"]} == copies.keys()
