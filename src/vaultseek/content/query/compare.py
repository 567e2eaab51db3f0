"""Compare text, property values and note names, in the same way for filters, fields and tables."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath

from vaultseek.base.text import fold, is_unspaced

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?")
_WIKILINK = re.compile(r"\[\[([^\[\]|#]+)(?:#[^\[\]|]*)?(?:\|[^\[\]]*)?\]\]")
_POINTED = re.compile(r"[0-9]+(?:[.,][0-9]+)+")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_YEAR = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")
_NUMBER_CHARS = 20
"""Maximum distance of the ends of a number from a position in it."""
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_SIGNS = "-,;:!?.'\"()\\[\\]{}—―‹›¿¡…·،؛؟।、。，；：！？（）「」『』《》【】"
"""Punctuation between two words of a phrase, as a character class without brackets."""
_ALONE = r"[^\w\s\0|]{1,2}"
"""Pattern for a sign between spaces, such as ``&`` and ``->``. Not included are the signs between paragraphs
and table cells."""
_BETWEEN = rf"(?: {_ALONE}(?= )|[{_SIGNS} ]){{1,8}}+"
_GAP = rf"(?!['.]\w){_BETWEEN}"
_GAP_AT_NUMBER = rf"[{_SIGNS}]{{0,4}}+(?= ){_BETWEEN}(?<![-.])"
"""Pattern for what may stand before or after a number: ``A 12`` is not ``A-12``, nor ``-12``."""
_GAP_BEFORE_SIGN = rf"[{_SIGNS} ]{{1,8}}+"
_SLASH = re.compile(r"(?<=[^\W\d_])/(?=[^\W\d_])")
_BEGINS_WITH_SIGN = re.compile(f"[{_SIGNS}]")
_IS_SIGN = re.compile(_ALONE)
_LOOSE_WORDS = 40
"""Maximum number of words in a phrase for other punctuation than its own; more take too long in a text of the
same word over and over."""
_NUMBER_BITS = 4096  # Python refuses to print much longer integers


def contains(text: str, words: str, *, prefix: bool = False) -> bool:
    """True if ``text`` contains ``words`` as whole words. Both arguments must be folded.

    With ``prefix``, the last word may be the beginning of a longer word. A word boundary is required only
    between letters and digits, and never in unspaced scripts: ``rope`` is not found in ``europe``, but
    ``c++`` is found in ``c++17``; in Chinese, any substring counts. A number with points or commas is one
    word: ``5 mg`` is not found in ``0.5 mg``. The text may have punctuation, and signs with spaces around
    them, between the words. Spaces around a slash do not count.
    """
    if find(text, words, prefix=prefix) >= 0:
        return True
    words = _SLASH.sub(" / ", words)
    if not 0 < words.count(" ") < _LOOSE_WORDS or not all(word in text for word in words.split(" ")):
        return False
    return any(
        not _is_inside_word(text, match.start()) and (prefix or not _is_inside_word(text, match.end()))
        for match in _punctuated(words).finditer(text)
    )


@lru_cache(maxsize=256)
def _punctuated(words: str) -> re.Pattern[str]:
    """Return a pattern for ``words`` with punctuation between them; signs in ``words`` are required."""
    parts = words.split(" ")
    pattern = re.escape(parts[0])
    for before, word in pairwise(parts):
        if "/" in (before, word):
            gap = " ?"
        elif _BEGINS_WITH_SIGN.match(word):
            gap = " "
        elif _IS_SIGN.fullmatch(word):
            gap = _GAP_BEFORE_SIGN
        else:
            gap = _GAP_AT_NUMBER if before[-1].isdigit() or word[0].isdigit() else _GAP
        pattern += gap + re.escape(word)
    return re.compile(pattern)


def find(text: str, words: str, *, prefix: bool = False) -> int:
    """Return the first position of ``words`` in ``text``, or -1; see ``contains``."""
    if not words:
        return 0
    start = text.find(words)
    while start >= 0:
        end = start + len(words)
        if not _is_inside_word(text, start) and (prefix or not _is_inside_word(text, end)):
            break
        start = text.find(words, start + 1)
    return start


def contains_closed(text: str, words: str) -> bool:
    """True if ``text`` contains ``words`` only without the hyphens between letters: ``wifi`` in ``wi-fi``."""
    if words.replace("-", "") not in text.replace("-", ""):
        return False
    closed, asked = without_hyphens(text), without_hyphens(words)
    return (closed != text or asked != words) and contains(closed, asked)


def without_hyphens(text: str) -> str:
    """Return folded text without the hyphens between letters."""
    return _HYPHEN.sub("", text) if "-" in text else text


def comparable(value: object) -> str | None:
    """Return a property value in the form used for comparison; None for null, mappings and lists.

    Text is folded and a wikilink is replaced by its target; numbers, even in text, are normalized (``5.0`` is
    ``5``); booleans are ``true`` and ``false``.
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


def is_link_to(text: str, name: str) -> bool:
    """True if ``text`` is a wikilink whose target is ``name`` or ends with ``/`` and ``name``. Both arguments
    must be folded.
    """
    link = _WIKILINK.fullmatch(fold(text))
    target = f"/{link[1].strip()}" if link else ""
    return target.endswith(f"/{name}") or target.removesuffix(".md").endswith(f"/{name}")


def number_of(value: object) -> float | None:
    """Return a property value as a number if it is a number or a string that represents a number; None for
    other values, including booleans.
    """
    if isinstance(value, str):
        text = value.strip()
        return float(text) if _NUMBER.fullmatch(text) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 2**1000 else None


def is_file_name(path: str, name: str) -> bool:
    """True if ``name`` is the file name of ``path`` without its extension, ignoring case."""
    return fold(PurePosixPath(path).stem) == fold(name.strip())


def is_named(path: str, name: str) -> bool:
    """True if ``name`` is ``path`` or the end of ``path`` after a ``/``; ``.md`` is optional."""
    whole, end = _without_extension(fold(path)), _without_extension(fold(name).strip("[]").lstrip("/"))
    return bool(end) and f"/{whole}".endswith(f"/{end}")


def _is_inside_word(text: str, at: int) -> bool:
    left, right = text[at - 1 : at], text[at : at + 1]
    if not left or not right:
        return False
    if left.isalnum() and right.isalnum():  # almost always in running text
        return not is_unspaced(left + right)
    if left in ".," or right in ".,":
        return any(number.start() < at < number.end() for number in _numbers_near(text, at))
    return _wordlike(left) and _wordlike(right) and not is_unspaced(left + right)


def _numbers_near(text: str, at: int) -> Iterator[re.Match[str]]:
    """Yield the numbers with a point or commas near a position, except parts of dates and lists."""
    for number in _POINTED.finditer(text, max(0, at - _NUMBER_CHARS), at + _NUMBER_CHARS):
        if not _YEAR.search(number[0]) and (number[0].count(",") < 2 or _THOUSANDS.fullmatch(number[0])):
            yield number


def _wordlike(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char).startswith("M")


def _plain_number(value: float) -> str | None:
    if isinstance(value, int):
        return str(value) if value.bit_length() < _NUMBER_BITS else None
    return str(int(value)) if value.is_integer() else str(value)


def _without_extension(path: str) -> str:
    return path.removesuffix(".md").removesuffix(".markdown")
