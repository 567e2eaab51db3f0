import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultseek.semantic.models.directories import bundled_directory
from vaultseek.semantic.models.tokens import TokenCounter


def tokenizer_file() -> Path:
    return bundled_directory() / "tokenizer.json"


def reference() -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_file()))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


COUNT = TokenCounter.from_tokenizer_file(tokenizer_file())
REFERENCE = reference()

PIECES = st.sampled_from(
    [
        *[
            " ",
            "\n",
            "\t",
            "\x0b",
            "\x00",
            "\u200d",
            "\u00a0",
            "\u2028",
            "\ufffd",
            "\u0301",
            "\u3099",
            "\u302e",
        ],
        *[
            "[MASK]",
            "[CLS",
            "…",
            "—",
            "。",
            "「",
            "漢",
            "漢字",
            "豈",
            "かな",
            "한글",
            "ไทย",
            "é",
            "e\u0301",
            "naïve",
        ],
        *[
            "snake_case",
            "don't",
            "x" * 101,
            "https://example.org/a?b=1",
            "$^`",
            "\U0001d165",
            "Ａ",
            "ﬁ",
            "İ",
            "ß",
        ],
        *["ΟΔΟΣ", "👩\u200d💻"],
    ]
)


def expected(text: str) -> int:
    return len(REFERENCE.encode(text, add_special_tokens=False).ids)


@given(st.text())
@example("a\x00b c\x0bd")
@example("x" * 250 + " [SEP] y")
@example("．\u302e\u0301a")
def test_counts_are_those_of_the_tokenizer_for_any_text(text: str) -> None:
    assert COUNT(text) == expected(text)


@given(st.lists(PIECES | st.text(max_size=3), max_size=30).map("".join))
def test_counts_are_those_of_the_tokenizer_for_difficult_text(text: str) -> None:
    assert COUNT(text) == expected(text)


@given(st.lists(st.text(), min_size=1, max_size=6), st.sampled_from([" ", "\n", "\n\n", "\t"]))
def test_counts_add_up_over_white_space(texts: list[str], space: str) -> None:
    assert COUNT.additive
    assert COUNT(space.join(texts)) == sum(map(COUNT, texts))


def test_truncation_and_padding_of_the_file_are_switched_off() -> None:
    assert COUNT("word " * 1000) == 1000
    assert COUNT("word") == 1
    assert COUNT("") == 0


@given(st.text("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789", min_size=1, max_size=105))
@example("Donaudampfschifffahrt")
@example("h123456")
def test_plain_words_are_taken_apart_as_by_the_tokenizer(word: str) -> None:
    assert COUNT(word) == expected(word)


def test_a_lone_surrogate_is_counted_and_does_not_raise() -> None:
    assert COUNT("a \ud800 b") >= 2


def test_a_very_long_word_is_one_token() -> None:
    assert COUNT("a" * 1_000_000) == 1


@pytest.mark.parametrize(
    "word",
    [
        "ทั้งหมด" * 200,
        "é" * 1500,
        "e" + "\u0301" * 2000,
        "،اب" * 500,
        "ab\x00" * 400,
        "ab\x0c\u060c" * 400,
        "かな" * 900,
    ],
)
def test_long_runs_without_spaces_count_the_same(word: str) -> None:
    assert COUNT(word) == expected(word)


def test_an_unknown_tokenizer_is_asked_about_the_whole_text() -> None:
    asked: list[str] = []

    class Characters:
        def encode(self, sequence: str, *, add_special_tokens: bool) -> Any:
            assert not add_special_tokens
            asked.append(sequence)
            return SimpleNamespace(ids=list(sequence))

    count = TokenCounter(Characters())
    assert not count.additive
    assert count("two words") == 9
    assert asked == ["two words"]


def test_a_tokenizer_of_another_make_is_not_taken_to_add_up() -> None:
    description = json.loads(tokenizer_file().read_text(encoding="utf-8"))
    description["normalizer"]["handle_chinese_chars"] = False
    count = TokenCounter(REFERENCE, description)
    assert not count.additive
    assert count("漢字 and more") == expected("漢字 and more")


def test_a_file_that_is_no_tokenizer_is_a_value_error(tmp_path: Path) -> None:
    broken = tmp_path / "tokenizer.json"
    broken.write_text('{"model": {}}', encoding="utf-8")
    with pytest.raises(ValueError, match="not a readable tokenizer"):
        TokenCounter.from_tokenizer_file(broken)


def test_words_are_looked_up_and_the_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultseek.semantic.models.tokens.TOKEN_CACHE_WORDS", 10)
    count = TokenCounter.from_tokenizer_file(tokenizer_file())
    text = " ".join(f"word{n}" for n in range(100))
    assert count(text) == expected(text)
    assert len(count._words or ()) <= 10
