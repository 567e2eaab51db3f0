"""How texts, property values and note names are compared, in filters, fields and tables alike."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath

from vaultseek.text import fold, is_unspaced

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?")
_WIKILINK = re.compile(r"\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]")
_NUMBER_BITS = 4096  # Python refuses to print much longer integers


def contains(text: str, words: str, *, prefix: bool = False) -> bool:
    """Whether ``words`` stands in ``text``, both folded, as whole words; with ``prefix`` the last may go on.

    A border is asked for only where both neighbours are letters or digits, and never in a script that has no
    spaces: ``rope`` is not in ``europe``, ``c++`` is in ``c++17``, and every word is found in Chinese.
    """
    if not words:
        return True
    at = text.find(words)
    while at >= 0:
        end = at + len(words)
        left = at > 0 and _joined(text[at - 1], words[0])
        if not left and (prefix or end == len(text) or not _joined(words[-1], text[end])):
            return True
        at = text.find(words, at + 1)
    return False


def comparable(value: object) -> str | None:
    """The form in which property values are equal or not; None for null and what has no form, like a mapping.

    Text is folded and a wikilink stands for its target; numbers, also those written as text, lose what does
    not count (``5.0`` is ``5``); booleans are ``true`` and ``false``.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _plain_number(value)
    if not isinstance(value, str):
        return None
    text = fold(value)
    if _NUMBER.fullmatch(text):
        return _plain_number(float(text) if "." in text else int(text))
    link = _WIKILINK.fullmatch(text)
    return link[1].strip() if link else text


def number_of(value: object) -> float | None:
    """The number that a property value is, or is written as; a boolean is none."""
    if isinstance(value, str):
        text = value.strip()
        return float(text) if _NUMBER.fullmatch(text) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 2**1000 else None


def is_file_name(path: str, name: str) -> bool:
    """Whether the note at ``path`` is a file of this name, whatever its case and its title."""
    return fold(PurePosixPath(path).stem) == fold(name.strip())


def is_named(path: str, name: str) -> bool:
    """Whether ``name`` is the note's path or the end of it after a ``/``; ``.md`` may be left out."""
    have, want = _without_extension(fold(path)), _without_extension(fold(name).strip("[]").lstrip("/"))
    return bool(want) and f"/{have}".endswith(f"/{want}")


def _joined(left: str, right: str) -> bool:
    return _wordlike(left) and _wordlike(right) and not is_unspaced(left + right)


def _wordlike(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char).startswith("M")


def _plain_number(value: float) -> str | None:
    if isinstance(value, int):
        return str(value) if value.bit_length() < _NUMBER_BITS else None
    return str(int(value)) if value.is_integer() else str(value)


def _without_extension(path: str) -> str:
    return path.removesuffix(".md").removesuffix(".markdown")
