"""Folding, scripts written without spaces, and text made safe for display."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.text import (
    SHOWN_CHARS,
    blank_controls,
    escape_controls,
    escape_undecodable,
    fold,
    fold_accents,
    fold_case,
    is_unspaced,
    one_line,
    printable,
    quote,
    remove_hidden,
    replace_surrogates,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()))
LETTERS_WITHOUT_SPACES = (
    "CJK UNIFIED IDEOGRAPH-",
    "CJK COMPATIBILITY IDEOGRAPH-",
    "HIRAGANA LETTER ",
    "KATAKANA LETTER ",
    "HANGUL SYLLABLE ",
    "THAI CHARACTER ",
    "LAO LETTER ",
    "KHMER LETTER ",
    "MYANMAR LETTER ",
)
RARE_BLOCKS = (*range(0xA9E0, 0xAA80), *range(0x1AFF0, 0x1B170))
"""Letters of minority languages and historic kana that the index treats as words."""


@pytest.mark.parametrize(
    ("one", "other"),
    [("STRASSE", "straße"), ("Cafe\u0301", "CAFÉ"), (" a \n\t b ", "A B"), ("Ǆ", "ǆ"), ("ΣΑΣ", "σας")],
)
def test_equal_when_folded(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_accents_stay_unless_they_are_folded() -> None:
    assert fold("résumé") != fold("resume")
    assert fold_accents("résumé łódź æsop") == "resume lodz aesop"


def test_spaces_stay_where_only_the_case_is_folded() -> None:
    assert fold_case(" A  B ") == " a  b "
    assert fold_case("É  ") == "é  "


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert fold_case(fold_case(text)) == fold_case(text)
    assert fold_accents(fold_accents(text.lower())) == fold_accents(text.lower())


@pytest.mark.slow
def test_letters_of_scripts_without_spaces_are_known_by_their_names() -> None:
    letters = (
        chr(code)
        for code in range(0x80, sys.maxunicode)
        if code not in RARE_BLOCKS and unicodedata.name(chr(code), "").startswith(LETTERS_WITHOUT_SPACES)
    )
    unknown = [f"{ord(c):x}" for c in letters if not is_unspaced(unicodedata.normalize("NFKC", c))]
    assert unknown == []


@pytest.mark.parametrize("character", ["々", "〆", "〇", "ー", "ㇰ", "ꥠ"])
def test_signs_written_like_letters_belong_to_them(character: str) -> None:
    assert is_unspaced(character)


@pytest.mark.parametrize("character", ["・", "。", "、", "\u4dc0", "\u3040", "a", "é", "я", "ع", ""])
def test_punctuation_symbols_and_other_scripts_do_not(character: str) -> None:
    assert not is_unspaced(character)


@given(ANY_TEXT)
def test_blanked_text_can_be_sent_and_keeps_its_places(text: str) -> None:
    blanked = blank_controls(text)
    blanked.encode()
    assert len(blanked) == len(text)


@given(ANY_TEXT, st.integers(1, 40))
def test_one_line_is_printable_and_no_longer_than_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line == "" or line.isprintable()
    assert one_line(line, limit) == line


@pytest.mark.fault("D11")
@given(ANY_TEXT)
def test_no_terminal_acts_on_escaped_text(text: str) -> None:
    escaped = escape_controls(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in escaped)
    assert not set(escaped) & set("\u200e\u202a\u202e\u2066\u2069\ufeff")


def test_escapes_tell_what_was_there() -> None:
    assert escape_controls("a\x1b[31m\n\u202e\ud800") == r"a\x1b[31m\n\u202e\ud800"
    assert escape_controls("温\u3000器 \U0001f469\u200d\U0001f52c") == "温\u3000器 \U0001f469\u200d\U0001f52c"


def test_names_in_messages_are_quoted_and_short() -> None:
    assert quote("Pump") == '"Pump"'
    assert quote('a"b\n\x9b') == r'"a\"b\n\x9b"'
    assert quote("x" * 200) == f'"{"x" * SHOWN_CHARS}..."'
    assert printable("x" * 200) == f"{'x' * SHOWN_CHARS}..."


def test_bytes_of_a_path_that_are_no_utf_8_are_escaped() -> None:
    assert escape_undecodable("a\udcff.md") == r"a\xff.md"
    assert escape_undecodable("é\n.md") == "é\n.md"


def test_lone_surrogates_become_question_marks() -> None:
    assert replace_surrogates("a\ud800b") == "a?b"


def test_hidden_characters_are_removed() -> None:
    tags = "".join(chr(0xE0000 + ord(c)) for c in "obey")
    assert remove_hidden(f"a{tags}\u202eb\x1b[2J\tc\nd") == "ab [2J\tc\nd"
    assert remove_hidden("a\u200b\u2060\u2063\ufeff\u00ad\u200f\U000e0100b") == "ab"
    assert remove_hidden("नर्\u200dस 👩\u200d🔬 ✔️") == "नर्\u200dस 👩\u200d🔬 ✔️"
