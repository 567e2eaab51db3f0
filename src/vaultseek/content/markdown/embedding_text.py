"""Compose the texts that are embedded for passages and for whole notes.

The text for a passage has the title, the aliases, the heading path and the passage itself. The text for a
note has the title, aliases, tags, description, other properties with words in their values, and the opening
of the body. If the words of the file name differ from the title, they follow the title in brackets. Title,
aliases and heading path have their own limits, so they do not reduce the room for the passage, and a longer
file name does not move the borders of chunks.
"""

import functools
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vaultseek.base.limits import HEADER_SHARE, LISTED_ITEMS, PLAIN_CHARS, TOKEN_CHARS
from vaultseek.base.model import TokenCount
from vaultseek.base.text import UNSPACED, is_unspaced
from vaultseek.content.markdown.property_text import PropertyLine

TITLE_SHARE = 0.11
ALIASES_SHARE = 0.06
"""Share of the model's window for the aliases; ``TITLE_SHARE`` is for the title. The heading path gets the
rest of ``HEADER_SHARE``."""
TAGS_SHARE = 0.1
DESCRIPTION_SHARE = 0.35
PROPERTIES_SHARE = 0.15

EMBEDDING_TEXT_VERSION = 1
"""Version of the texts to embed. Increase it with every change that gives different text for the same key."""


@dataclass(frozen=True, slots=True)
class EmbeddingText:
    """Text for the model, with the key of its vector. Equal keys mean equal text."""

    text: str
    key: str


def passage_text(
    *,
    title: str,
    title_is_name: bool,
    aliases: Sequence[str],
    heading_path: Sequence[str],
    text: str,
    count: TokenCount,
    window: int,
    file_name: str | None = None,
) -> EmbeddingText:
    """Return the text to embed for a chunk, at most ``window`` tokens long.

    ``file_name`` is the note's file name, if it differs from the title.
    """
    path = heading_path
    if path and not title_is_name and _same(path[0], title):
        path = path[1:]
    parts = [
        alias_line(aliases, count, window),
        heading_line(path, count, window),
        compact(text),
    ]
    named = _with_file_name(title, file_name)
    return _embedding_text(named, parts, count, window)


def note_text(
    *,
    title: str,
    title_is_name: bool,
    aliases: Sequence[str],
    tags: Sequence[str],
    description: str,
    opening: str,
    count: TokenCount,
    window: int,
    file_name: str | None = None,
    properties: Iterable[PropertyLine] = (),
) -> EmbeddingText:
    """Return the text to embed for a whole note. ``opening`` is the beginning of the note's rendered body.

    Of ``properties``, only those with words in their values are embedded.
    """
    body = compact(opening)
    first, _, rest = body.partition("\n")
    if not title_is_name and _same(first, title):
        body = rest.strip()
    parts = [
        alias_line(aliases, count, window),
        _listed(tags, count, int(window * TAGS_SHARE)),
        fit(description.strip(), count, int(window * DESCRIPTION_SHARE)),
        fit(_in_words(properties), count, int(window * PROPERTIES_SHARE)),
        body,
    ]
    named = _with_file_name(title, file_name)
    return _embedding_text(named, parts, count, window)


def compact(text: str) -> str:
    """Remove parts of rendered text that mean nothing to a model: list and table markers, superfluous white
    space, and the paths of web addresses.
    """
    text = _SIGN_OF_ITEM.sub("\n", "\n" + _ADDRESS.sub(r"\1", text[:PLAIN_CHARS]))
    lines = (" ".join(line.split()) for line in _CELLS.sub(" ", text).split("\n"))
    return "\n".join(filter(None, lines))


# Each pattern begins with a fixed character, which is found quickly; ``\b`` and ``^`` are tried everywhere.
_ADDRESS = re.compile(r"http(?<=\bhttp)s?://(?:www\.)?([^\s<>()\[\]?#]*)[^\s<>()\[\]]*")
_SIGN_OF_ITEM = re.compile(r"\n[ \t]*(?:•|\d{1,9}[.)])[ \t]+")
_CELLS = re.compile(r"[|](?<=[^\S\n].)(?=[^\S\n])")


def _in_words(properties: Iterable[PropertyLine]) -> str:
    """Return the properties that have words in their values, one per line; numbers, dates and addresses are
    left out.
    """
    lines = (
        line.text
        for line in properties
        if not line.is_name
        and line.name.casefold() != "description"  # the description is added separately
        and _VALUE_WORD.search(_NO_WORDS.sub(" ", line.text.partition(":")[2]))
    )
    return "\n".join(lines)


def _with_file_name(title: str, name: str | None) -> str:
    """Return the title, followed in brackets by the words of the file name, without dates and numbers."""
    words = " ".join(_JOINTS.split(name)).strip() if name else ""
    return f"{title} ({words})" if is_unspaced(words) or _WORD.search(words) else title


_JOINTS = re.compile(r"[\s._/-]+")
_WORD = re.compile(r"[^\W\d_]{3}")
_VALUE_WORD = re.compile(rf"\b[^\W\d_]{{3,}}\b|[{UNSPACED}]")
_NO_WORDS = re.compile(r"[a-z][a-z0-9+.-]*://\S+|\b(?:true|false)\b")


def names_room(window: int) -> int:
    """Return the number of tokens reserved in every passage for title and aliases."""
    return int(window * TITLE_SHARE) + int(window * ALIASES_SHARE)


def headings_room(window: int) -> int:
    """Return the maximum number of tokens for a heading path."""
    return int(window * HEADER_SHARE) - names_room(window)


@functools.lru_cache(1024)
def title_line(title: str, count: TokenCount, window: int) -> str:
    """Return the title, cut to its share of the window."""
    room = int(window * TITLE_SHARE)
    return fit(title[: room * TOKEN_CHARS], count, room)


def alias_line(aliases: Sequence[str], count: TokenCount, window: int) -> str:
    """Return the first aliases that fit into their share of the window."""
    return _listed(aliases, count, int(window * ALIASES_SHARE))


def heading_line(heading_path: Sequence[str], count: TokenCount, window: int) -> str:
    """Return the heading path, cut to its share of the window, starting with the outermost heading."""
    room = headings_room(window)
    line = ""
    for heading in reversed(heading_path):
        text = heading[: room * TOKEN_CHARS]
        longer = f"{text} > {line}" if line else text
        if line and count(longer) > room:
            break
        line = longer
    return fit(line, count, room)


def fit(text: str, count: TokenCount, room: int) -> str:
    """Return the longest prefix of ``text`` with at most ``room`` tokens, cut between words if possible."""
    text = text[: room * TOKEN_CHARS].strip()
    if count(text) <= room:
        return text
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    cut = _longest(text, ends, count, room, additive=bool(getattr(count, "additive", False)))
    return cut or _longest(text, range(1, len(text)), count, room)


def _embedding_text(title: str, parts: Sequence[str], count: TokenCount, window: int) -> EmbeddingText:
    """Return the parts joined as one text of at most ``window`` tokens, with its key."""
    rest = fit("\n".join(filter(None, parts)), count, window - int(window * TITLE_SHARE))
    whole = [part for part in (title_line(title, count, window), rest) if part]
    text = "\n".join(whole)
    if len(text) > window * TOKEN_CHARS or not getattr(count, "additive", False):
        text = fit(text, count, window)  # otherwise title and rest fit, because each has its own share
    signed = "\0".join([str(EMBEDDING_TEXT_VERSION), *whole])
    return EmbeddingText(text, hashlib.sha256(signed.encode("utf-8", "surrogatepass")).hexdigest())


def _listed(items: Sequence[str], count: TokenCount, room: int) -> str:
    line = ""
    for item in items[:LISTED_ITEMS]:
        longer = f"{line}, {item.strip()}" if line else item.strip()
        if len(longer) <= room * TOKEN_CHARS and count(longer) <= room:
            line = longer
    return line


def _longest(text: str, ends: Sequence[int], count: TokenCount, room: int, *, additive: bool = False) -> str:
    """Return the longest prefix of ``text`` that fits into ``room`` and ends at one of the ``ends``; "" if
    none does.

    If token counts are ``additive`` over white space, parts known to fit are not counted again.
    """
    low, high = 0, len(ends)
    start = used = 0
    while low < high:
        middle = (low + high + 1) // 2
        tokens = used + count(text[start : ends[middle - 1]])
        if tokens > room:
            high = middle - 1
            continue
        low = middle
        if additive and text[ends[middle - 1] : ends[middle - 1] + 1] in _SPACE:
            start, used = ends[middle - 1], tokens
    return text[: ends[low - 1]] if low else ""


_SPACE = ("", " ", "\n", "\t")
"""Characters that every model treats as white space. Python also counts characters that a model may treat as
part of a word."""


def _same(heading: str, title: str) -> bool:
    return " ".join(heading.split()).casefold() == " ".join(title.split()).casefold()
