"""Strip the markup of Markdown: of a heading, of a line to show, and of a passage to embed.

A heading becomes a title, so all inline markup is removed. A line may be cut out of a passage anywhere, so
unpaired markers are common. A passage keeps its line breaks and its code. Titles are part of the keyword
index and passages of the vectors, so a change to either needs a new version.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from vaultseek.base.limits import PLAIN_CHARS, TITLE_CHARS
from vaultseek.base.text import blank_controls

HEADINGS = 4096
"""Headings that are kept without their markup: results show the same ones again and again."""


def plain_heading(markdown: str) -> str:
    """Return inline Markdown without its markup, on one line. The time is quadratic, so bound the length."""
    text = markdown
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


@lru_cache(HEADINGS)
def shown_heading(markdown: str) -> str:
    """Return a heading as it is shown: without its markup, unless it is nothing else."""
    return plain_heading(markdown[:TITLE_CHARS]) or markdown


def plain_line(markdown: str) -> str:
    """Return ``markdown`` on one line, without common markup and control characters."""
    text = markdown
    for markers, pattern, replacement in _LINE:
        if any(marker in text for marker in markers):
            text = pattern.sub(replacement, text)
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return " ".join(blank_controls(_INVISIBLE.sub("", text)).split())


def without_comments(markdown: str) -> str:
    """Return ``markdown`` without what ``%%`` or ``<!--`` hides from a reader; in code these are text."""
    if "%%" not in markdown and "<!--" not in markdown:
        return markdown
    parts: list[str] = []
    position = 0
    opening: re.Match[str] | None = None
    for sign in _COMMENT_OR_CODE.finditer(markdown):
        if opening is None:
            opening = sign if sign[0] not in ("\n", "-->") else None
        elif _CLOSING.get(opening[0], opening[0]) == sign[0]:
            if opening[0][0] != "`":
                parts.append(markdown[position : opening.start()])
                position = sign.end()
            opening = None
        elif sign[0] == "\n" and opening[0] in ("`", "``"):
            opening = None
    return " ".join([*parts, markdown[position:]])


_COMMENT_OR_CODE = re.compile("`+|%%|<!--|-->|\n")
_CLOSING = {"<!--": "-->"}


def plain_passage(markdown: str) -> str:
    """Return ``markdown`` without link addresses, markers and block ids; code and line breaks stay."""
    text = _single_spaced(markdown)[:PLAIN_CHARS]
    for markers, pattern, replacement in _PASSAGE:
        if not markers or any(marker in text for marker in markers):
            text = pattern.sub(replacement, text)
    lines = (line.strip(" \t") for line in _single_spaced(text).split("\n"))
    return "\n".join(filter(None, lines)).strip()


def _single_spaced(text: str) -> str:
    return _SPACES.sub(" ", text) if "  " in text or "\t" in text else text


def _without_emphasis(match: re.Match[str]) -> str:
    """Remove markers that open emphasis before a word or close it after one; elsewhere they are text."""
    text, start, end = match.string, match.start(), match.end()
    before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
    opens = not (before.isalnum() or before == "_" or after.isspace())
    closes = not (after.isalnum() or after == "_" or before.isspace())
    return "" if opens or closes else match[0]


_INLINE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[ \t]+\^[A-Za-z0-9-]+$"), ""),
    (re.compile(r"<!--.*?-->"), ""),
    (re.compile(r"!?\[\[[^\[\]|]*\|([^\[\]]*)\]\]"), r"\1"),
    (re.compile(r"!?\[\[([^\[\]|]*)\]\]"), r"\1"),
    (re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)"), r"\1"),
    (re.compile(r"!?\[([^\[\]]+)\]\[[^\[\]]*\]"), r"\1"),
    (re.compile(r"</?[A-Za-z][^<>]*>"), ""),
    (re.compile(r"(\*\*|~~|==)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(`+)(.+?)\1"), r"\2"),
    (re.compile(r"\*(?=\S)([^*]+?)(?<=\S)\*"), r"\1"),
    (re.compile(r"(?<!\w)(__?)(?=\S)(.+?)(?<=\S)\1(?!\w)"), r"\2"),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)

_INVISIBLE = re.compile("\x1b\\[[0-9;?]{0,30}[@-~]|[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_LINE: tuple[tuple[tuple[str, ...], re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (("```", "~~~"), re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.M), ""),
    (("---", "===", "***", "___"), re.compile(r"^[ \t]*+(?:[-*_=][ \t]*+){3,}+$", re.M), ""),  # rules
    (("--",), re.compile(r"^[ \t]*+(?:\|[ \t]*+)?:?--[-:| \t]*+$", re.M), ""),  # heads of tables
    (
        (">", "#", "["),
        re.compile(r"^(?:[ \t]*(?:>|#{1,6}(?=[ \t])|\[![\w-]{1,30}\][+-]?))+", re.M),
        "",
    ),
    # Items of a list would run together on one line.
    (("-", "*", "+"), re.compile(r"^[ \t]*[-*+](?=[ \t])(?:[ \t]+\[[^\[\]]\](?=[ \t]))?", re.M), "•"),
    (("^",), re.compile(r"[ \t]\^[A-Za-z0-9-]+[ \t]*$", re.M), ""),  # block ids
    (("[[",), re.compile(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]\n]*)\]\]"), r"\1"),
    (("](",), re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*(?:[ \t]\"[^\"\n]*\")?\)"), r"\1"),
    (("<",), re.compile(r"</?[A-Za-z][A-Za-z0-9-]{0,20}(?:[ \t][^<>\n]{0,200})?/?>"), " "),
    (("`",), re.compile(r"`+"), ""),
    (("*", "~~", "=="), re.compile(r"\*{1,3}|~~|=="), _without_emphasis),
    (("|",), re.compile(r"(?<=[ \t])\|(?=[ \t])|^[ \t]*\||\|[ \t]*$", re.M), " "),  # cells of a table
)

# Runs of spaces are removed first, because some patterns below would scan them repeatedly.
_SPACES = re.compile(r"[ \t]{2,}")
_PASSAGE: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = tuple(
    (markers, re.compile(pattern, re.MULTILINE | re.IGNORECASE), replacement)
    for markers, pattern, replacement in (
        (("--", "%%"), r"<!--|-->|%%", " "),
        (("[[",), r"!\[\[([^\[\]|\n]*)\|[\dx ]*\]\]", r"\1"),
        (("[[",), r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]*)\]\]", r"\1"),
        (("](",), r"!?\[([^\[\]\n]*)\]\([^()\[\]\s]*(?:[ \t]+[\"'][^\"'\n]*[\"'])?\)", r"\1"),
        (("]:",), r"^[ \t]*\[([^\[\]\n]+)\]:[ \t]+\S+", r"\1"),
        (("://",), r"<?\bhttps?://(?:www\.)?([^\s<>()\[\]?#]*)[^\s<>()\[\]]*>?", r"\1"),
        (("^",), r"[ \t]\^[a-z\d-]+[ \t]*$", ""),
        (("^",), r"^\^[a-z\d-]+[ \t]*$", ""),
        (("-", "*", "+", ".", ")"), r"^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[.\][ \t]+)?", ""),
        ((">",), r"^[ \t]*(?:>[ \t]?)+(?:\[!([^\]\n]*)\][-+]?)?", r"\1"),
        (("#",), r"^[ \t]{0,3}#{1,6}[ \t]+", ""),
        ((), r"^[ \t|:+=*_-]+$", ""),
        (("|",), r"[ \t]*\|[ \t]*(?=\S.*\|[ \t]*$)|[ \t]*\|[ \t]*$", " "),
        (
            ("`", "~~~", "**", "=="),
            # Each begins with a character of its own, so that the search skips all others.
            r"``*|~~~+|\*(?<=\S\*)\*+(?!\w)|\*(?<!\w\*)\*+(?=\S)|==(?!\w)(?<=\w==)|==(?<!\S==)(?=\w)",
            " ",
        ),
        (
            ("<",),
            r"</?(?:a|b|br|center|div|em|i|img|kbd|li|mark|p|span|strong|su[bp]|table|t[dhr]|u|[ou]l)\b[^<>]*>",
            " ",
        ),
    )
)
