"""Unicode text: folding for comparison, scripts without spaces, and safe display."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from functools import cache

SYLLABIC = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Character ranges of Thai, Lao, Burmese and Khmer, in which vowels and tones are marks around a
consonant."""
UNSPACED = (
    f"{SYLLABIC}"
    "\u3005-\u3007\u3041-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana, with the iteration mark of Han
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\ua960-\ua97f\uac00-\ud7ff"  # Hangul
)
"""Unspaced scripts, and scripts that attach particles to words, as ranges for a character class.

The terms of the keyword index depend on these ranges: a change needs a new analyzer version.
"""

SHOWN_CHARS = 80
"""Maximum length in characters of names and values shown in messages."""
TOKEN_BYTES = 3
"""Assumed number of UTF-8 bytes per token. The number is low, so that token budgets hold for any model."""

_TYPED = dict.fromkeys("‘’‚‛ʻʼ′＇", "'") | dict.fromkeys("“”„‟«»″＂", '"') | dict.fromkeys("‐‑‒–−", "-")
"""Quotation marks, apostrophes, hyphens and dashes that programs substitute for typed characters."""
_LIGATURES = str.maketrans(
    {"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"}
)
_SPELLINGS = str.maketrans("ىةکیۀےٱς", "يهكيهياσ") | {0x640: None}
"""Letters with variant forms, and the tatweel, which only lengthens an Arabic word."""
_NO_BREAK_SPACES = "\u00a0\u2007\u202f"
"""No-break spaces that some keyboards produce, and that macOS puts into the names of screenshots."""
_MARKS = (
    (0x300, 0x36F), (0x591, 0x5BD), (0x5BF, 0x5BF), (0x5C1, 0x5C2), (0x5C4, 0x5C5), (0x5C7, 0x5C7),
    (0x610, 0x61A), (0x64B, 0x65F), (0x670, 0x670), (0x6D6, 0x6DC), (0x6DF, 0x6E4), (0x6E7, 0x6E8),
    (0x6EA, 0x6ED), (0x93C, 0x93C),
)  # fmt: skip
"""Ranges of accents, of the vowel points of Hebrew and Arabic, and of the nukta of Devanagari."""
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_ACTED_ON = frozenset(_DIRECTIONS + "\u2028\u2029\ufeff" + "\u200b\u2060\u2061\u2062\u2063\u2064")
_TAGS = range(0xE0000, 0xE0080)
_INVISIBLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200B), (0x200E, 0x200F),
    (0x202A, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xE0000, 0xE007F), (0xE0100, 0xE01EF),
)  # fmt: skip
"""Ranges of invisible characters, which can hide text from people. Joiners are not included, because scripts
and emoji need them."""
INVISIBLE = "".join(f"{chr(first)}-{chr(last)}" for first, last in _INVISIBLE)
"""The invisible characters, as ranges for a character class."""
MAY_BE_HIDDEN = f"{INVISIBLE}\u200c\u200d\ufe00-\ufe0f"
"""The characters that ``HIDDEN`` may match, as ranges for a character class."""
IS_HIDDEN = (
    f"(?<=[{INVISIBLE}])"
    "|(?<=[\u200c\u200d])(?:(?<![\u0590-\U0010ffff].)|(?![\u0590-\U0010ffff]))"
    "|(?<=[\ufe00-\ufe0f])(?<=\\w.)(?!\u20e3)"
)
HIDDEN = f"[{MAY_BE_HIDDEN}](?:{IS_HIDDEN})"  # searching for the character first is faster
"""Pattern for one character that is not displayed. It is an invisible character, a joiner next to a letter of
a script without joining (such as Latin), or a variation selector after a letter instead of an emoji."""


def is_unspaced(text: str) -> bool:
    """Return true if ``text`` contains a character of an unspaced script."""
    return not text.isascii() and _unspaced_pattern().search(text) is not None


def fold_case(text: str) -> str:
    """Return ``text`` case-folded, in NFC, with no-break spaces replaced by spaces.

    The stored names of links depend on this function: a change needs a new chunker version.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    folded = folded.replace("i\u0307", "i")  # the Turkish letter İ
    for space in _NO_BREAK_SPACES:  # translate examines every character, which takes four times as long
        folded = folded.replace(space, " ")
    return folded


def fold(text: str) -> str:
    """Return ``text`` folded for comparison: case-folded, with typewriter quotation marks, apostrophes and
    hyphens, without invisible characters, and with white space collapsed."""
    folded = fold_case(typed_apostrophes(text))
    if not folded.isascii():
        folded = _signs_pattern().sub(lambda sign: _TYPED.get(sign[0], ""), folded)
    return " ".join(folded.split())


def normalize(text: str) -> str:
    """Return ``text`` in NFKC, with acute accents and backticks between letters replaced by apostrophes.

    The terms of the keyword index depend on this function: a change needs a new analyzer version.
    """
    text = typed_apostrophes(text)
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def typed_apostrophes(text: str) -> str:
    """Return ``text`` with acute accents and backticks between letters, as in ``don´t``, replaced by
    apostrophes."""
    if "´" in text or "`" in text:
        return _apostrophe_pattern().sub("'", text)
    return text


def fold_accents(text: str) -> str:
    """Return lower-case ``text`` without accents and vowel points, with ligatures spelled out.

    The terms of the keyword index depend on this function: a change needs a new analyzer version.
    """
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text.translate(_LIGATURES))
    return unicodedata.normalize("NFC", decomposed.translate(_plain_letters()))


def blank_controls(text: str) -> str:
    """Replace every control character and lone surrogate with a space; the length stays the same."""
    return text if text.isprintable() else _controls_pattern().sub(" ", text)


def one_line(text: str, limit: int) -> str:
    """Return ``text`` as one printable line of at most ``limit`` characters, with white space collapsed."""
    part = text[: 2 * limit]
    printable = part if part.isprintable() else "".join(c if c.isprintable() else " " for c in part)
    line = " ".join(printable.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def escape_controls(text: str) -> str:
    """Escape every character that a terminal would act on, as in ``\\x1b``."""
    if text.isprintable():
        return text
    return "".join(_escape(c) if acts_on_terminal(c) else c for c in text)


def escape_undecodable(path: str) -> str:
    """Escape the bytes of ``path`` that are not valid UTF-8, as in ``\\xff``."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path).decode("utf-8", "backslashreplace")
    return path


def acts_on_terminal(character: str) -> bool:
    """Return true for control characters, lone surrogates, line separators, direction marks and invisible
    characters.

    Return false for joiners, because names in many languages need them.
    """
    code = ord(character)
    is_control = code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000
    return is_control or character in _ACTED_ON or code in _TAGS


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, with question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def remove_hidden(text: str) -> str:
    """Return ``text`` without invisible characters: controls, direction marks, zero-width and tag characters.

    Keeps tabs and line feeds.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_hidden_table())


def without_hidden(text: str) -> str:
    """Return ``text`` without the characters that are not displayed. Joiners that a script needs are kept."""
    return text if text.isascii() else _hidden_pattern().sub("", text)


def tokens(text: str) -> int:
    """Estimate the number of tokens in ``text``; the estimate tends to be high."""
    return -(-len(text.encode("utf-8", "replace")) // TOKEN_BYTES)


def count(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, in the singular or plural: ``1 note``, ``1,003 notes``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def printable(text: str, limit: int = SHOWN_CHARS) -> str:
    """Cut ``text`` to ``limit`` characters and escape all unprintable characters."""
    return _escape_unprintable(_shorten(text, limit))


def quote(name: object, limit: int = SHOWN_CHARS) -> str:
    """Return a name for use in a message: quoted, short and printable."""
    return _escape_unprintable(json.dumps(_shorten(str(name), limit), ensure_ascii=False))


def quoted_value(value: str) -> str:
    """Return a value as it is written after an operator in a query."""
    return in_quotes(value) if any(char.isspace() or char in '()"' for char in value) else value


def in_quotes(value: str) -> str:
    """Return a value as a quoted phrase, as written in a query."""
    escaped = value.replace('"', '\\"')
    return f'"{escaped}"'


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}..."


def _escape_unprintable(text: str) -> str:
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()


# Built on first use: the command line imports this module at every start.


@cache
def _plain_letters() -> dict[int, str | int | None]:
    return dict.fromkeys(code for first, last in _MARKS for code in range(first, last + 1)) | _SPELLINGS


@cache
def _unspaced_pattern() -> re.Pattern[str]:
    return re.compile(f"[{UNSPACED}]")


@cache
def _apostrophe_pattern() -> re.Pattern[str]:
    return re.compile(r"[´`](?<=[^\W\d_].)(?=[^\W\d_])")  # searching for the mark first is faster


@cache
def _signs_pattern() -> re.Pattern[str]:
    typed = "".join(_TYPED)
    return re.compile(f"[{typed}{MAY_BE_HIDDEN}](?:(?<=[{typed}])|{IS_HIDDEN})")


@cache
def _hidden_pattern() -> re.Pattern[str]:
    return re.compile(HIDDEN)


@cache
def _controls_pattern() -> re.Pattern[str]:
    return re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@cache
def _hidden_table() -> dict[int, str | None]:
    table: dict[int, str | None] = {code: " " for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}
    table |= dict.fromkeys(code for first, last in _INVISIBLE for code in range(first, last + 1))
    return {code: replacement for code, replacement in table.items() if code not in (9, 10)}
