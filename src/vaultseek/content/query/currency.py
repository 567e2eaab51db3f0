"""Read a note's statements about whether it is current: its status, end date, successors and predecessors.

Statements are properties, fields ``name: value`` at the head of a note, a section *Status* or *Superseded
by*, the title, or a sentence at the head such as *moved to [[New]]*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote

from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]

from vaultseek.base.currency import NOTHING_STATED, STATUSES, Stated
from vaultseek.base.model import Heading, Link, Note, Span
from vaultseek.base.text import fold
from vaultseek.base.when import iso_date, read_when
from vaultseek.content.kinds import kind_of
from vaultseek.content.markdown.links import markdown_link, wikilink
from vaultseek.content.markdown.resolve import NOTE_SUFFIX
from vaultseek.content.markdown.title import outside_comments
from vaultseek.content.query.currency_words import (
    BY_HEADING,
    DEAD_TITLE,
    LINK,
    ONLY_DEAD,
    ONLY_LINKS,
    POINTER,
    SENTENCES,
    THIS_IS_DEAD,
    WRITTEN_LINK,
    signed,
    starts,
    typed,
)
from vaultseek.content.query.dates import dates_of, parse_period
from vaultseek.content.query.times import find_time

HEAD_BLOCKS = 6
"""Number of blocks at the beginning of a note, not counting headings, that may state whether the note is
current."""
BLOCK_LINES, BLOCK_CHARS = 4, 600
"""Maximum number of lines and maximum number of characters that are read from one block."""
STUB_LINES = 4
"""Maximum number of non-blank lines in a note that only refers to another note."""
TITLE_REMARKS = 4
"""Maximum number of remarks, in brackets or after a dash, that are read from a title."""
NAME_CHARS = 200
"""Maximum length, in characters, of a note name that a property gives without a link."""
STATUS_CHARS = 60
"""Maximum length of a status, in characters."""
SUCCESSORS = 20
"""Maximum number of successors and predecessors read from one note."""


class Succession(NamedTuple):
    """The target of a link to another note. If ``is_successor`` is true, the other note replaces this one;
    otherwise this note replaces the other one.

    If ``is_guess`` is true, the target may be ordinary words, as in the status *replaced by warranty*; it
    then counts only if there is a note with that name.
    """

    target: str
    is_successor: bool
    is_guess: bool = False


def read_currency(note: Note) -> tuple[Stated, Sequence[Succession]]:
    """Return a note's statements about whether it is current, and its successors and predecessors."""
    if (kind_of(note.path) or "note") != "note":
        return NOTHING_STATED, ()
    reader = _Reader()
    for key, value in note.frontmatter.items():
        reader.field(key, value)
    reader.head(note)
    struck, is_struck = _struck(note)
    stated = Stated(tuple(dict.fromkeys(reader.statuses)), reader.until, struck, is_struck)
    return stated, tuple(islice(dict.fromkeys(reader.successions), SUCCESSORS))


_FIELDS = {
    "status": "status",
    "supersededby": "by",
    "replacedby": "by",
    "obsoletedby": "by",
    "supersedes": "of",
    "replaces": "of",
    "obsoletes": "of",
    "staleafter": "stale",
    "validuntil": "valid",
}
"""Map from recognized field names, in lower case and without punctuation, to their meanings."""
_NO_VALUE = frozenset(
    {"", "-", "?", "n/a", "na", "no", "none", "nothing", "null", "false", "true", "yes", "tbd"}
)
_NOT_LETTERS = re.compile(r"[\W_]+")
_NOT_STATUS = re.compile(r"^[\W_]+|[\W_]+$")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_BY = re.compile(r"(\w+)\s+(?:by|with|durch|por|par|da|door)\b:?\s*(.+)", re.IGNORECASE | re.DOTALL)
"""Pattern for a status that names a successor: *superseded by ADR-7*."""
_REMARK = re.compile(r"([^\[(,;:.–—|]*[^\W_])\s*(?:[(,;:.–—|]|-\s)\s*(.*)", re.DOTALL)
"""Pattern for a status followed by a remark: *deprecated (use [[New]])*."""
_PENDING = re.compile(r"\?|\b(?:pending|proposed|planned|not yet|soon|partly|partially)\b", re.IGNORECASE)
"""Pattern for remarks that restrict a status: it does not apply yet, or applies only to a part of the
note."""
_PERIOD = re.compile(r"([0-9]{4})(?:-W([0-9]{1,2}))?", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)[0-9]{2}$")


class _Reader:
    """Reader that collects the statements in the properties and the head of one note."""

    def __init__(self) -> None:
        self.statuses: list[str] = []
        self.until = ""
        self.successions: list[Succession] = []

    def field(self, key: str, value: Any) -> None:
        kind = _FIELDS.get(_NOT_LETTERS.sub("", key).casefold())
        if kind is None:
            if value is True and (status := fold(key)) in STATUSES:  # deprecated: true
                self.statuses.append(status)
            return
        for text in _texts(value):
            if kind == "status":
                self.status(text)
            elif kind in ("by", "of"):
                self.related(text, is_successor=kind == "by")
            else:
                self.date(text, holds_that_day=kind == "valid")

    def status(self, text: str) -> None:
        match = _BY.match(text)
        if match and _REPLACED.fullmatch(match[1]):
            self.related(match[2], is_successor=True, is_guess=True)
            text = match[1]
        elif (remark := _REMARK.match(text)) and not _PENDING.search(remark[2]):
            text = remark[1]
            if fold(text) in STATUSES and (links := _linked(POINTER.match, remark[2])):
                self.succeeded(links)
        for link in _links(text):
            text = link.target
        plain = _NOT_STATUS.sub("", fold(text))
        if plain and not text.endswith("?") and len(plain) <= STATUS_CHARS:
            self.statuses.append(plain)

    def related(self, text: str, *, is_successor: bool, is_guess: bool = False) -> None:
        """Add the notes to which ``text`` links. If it has no links, treat the whole text as a note name."""
        links = _links(text)
        for link in links:
            # If a note replaces only a section of another note, the rest of the other note stays current.
            if link.target and (is_successor or not (link.heading or link.block)):
                self.successions.append(Succession(link.target, is_successor))
        plain = text.partition("|")[0].partition("#")[0].strip().strip("*_`\"'").rstrip(".")
        if links or fold(plain) in _NO_VALUE or plain.isdecimal() or len(plain) > NAME_CHARS:
            return
        if not (_ADDRESS.match(plain) or WRITTEN_LINK.search(text)):
            if plain.startswith(("/", ".")) or plain.endswith(NOTE_SUFFIX):
                plain = unquote(plain)
            self.successions.append(Succession(plain, is_successor, is_guess))
        elif is_successor:  # the successor is on a web site
            self.statuses.append("superseded")

    def date(self, text: str, *, holds_that_day: bool) -> None:
        try:
            last, is_period = _last_day(iso_date(text))
            self.until = (last + timedelta(days=holds_that_day or is_period)).isoformat()
        except (ValueError, OverflowError):
            return

    def head(self, note: Note) -> None:
        """Read a note's title, its first blocks, and its sections *Status* and *Superseded by*."""
        blocks = [span for span in note.spans if span.kind in ("paragraph", "quote", "list_item")]
        written = islice(filter(str.strip, note.lines[note.body_line - 1 :]), STUB_LINES + 1)
        is_stub = len(list(written)) <= STUB_LINES
        first = next((span.start_line for span in note.spans if span.kind != "heading"), 0)
        opening = next((each for each in note.headings if each.line < first), None)
        title = opening.text if opening is not None else note.title
        is_dead = self.title(title) or not _SUCCEEDED.isdisjoint(self.statuses)
        for part in islice(_TITLE_REMARK.finditer(title), TITLE_REMARKS):
            self.sentence(title[part.end() :], top=True, bare=True)
        sections = [each.line for each in note.headings if each is not opening]
        previous = _ONLY_DEAD if is_dead else ""
        for number, span in enumerate(blocks[:HEAD_BLOCKS]):
            text = _plain(span, note.lines)
            for written_line in text.split("\n"):
                if field := _FIELD.match(written_line):
                    self.field(field[1], field[2])
            is_top = span.kind != "list_item" and not any(line < span.start_line for line in sections)
            is_quote = span.kind == "quote"
            place = {
                "bare": is_stub,
                "top": is_top,
                "first": is_top and (is_quote or not number),
            }
            found = self.sentence(text, **place)
            if not found and is_quote and "\n" in text:  # the text below a callout's title
                found = self.sentence(text.split("\n", 1)[1], **place)
            if not found and _has_link(text) and (before := _continued(previous)):
                self.sentence(before + text, **place)
            previous = text
        for heading in note.headings:
            if len(heading.text) > STATUS_CHARS:
                continue
            name = fold(heading.shown).strip(" :")
            section = _section(heading, blocks, note)
            if name == "status":
                self.status_section(list(islice(section, 2)))
            elif (name in _OF_HEADINGS or BY_HEADING.fullmatch(name)) and all(
                each is note.headings[0] for each in note.headings if each.level < heading.level
            ):
                for links in filter(None, (_linked(ONLY_LINKS.fullmatch, text) for text in section)):
                    self.succeeded(links, is_successor=name not in _OF_HEADINGS)

    def title(self, title: str) -> bool:
        """Read a title, and return True if it calls the note obsolete.

        *[Obsolete] Pump* is such a title; *Pump (obsolete)* may be about the pump.
        """
        match = DEAD_TITLE.fullmatch(typed(title))
        if match is None:
            return False
        word = title[slice(*match.span(match.lastindex or 0))]
        if word == word.upper() or title[match.end(match.lastindex or 0) :][:1] == "]":
            self.statuses.append(fold(word) if fold(word) in STATUSES else "obsolete")
        return True

    def status_section(self, texts: Sequence[str]) -> None:
        """Read the blocks in a section *Status*: the status, and the note to read instead."""
        if texts:
            self.status(texts[0].split("\n", 1)[0])
            self.sentence("\n".join(texts), top=True)

    def sentence(self, text: str, **place: bool) -> bool:
        """Read a sentence about the whole note: that it is obsolete, what replaces it, or what it replaces.

        ``place`` has the names of the pattern groups that are valid at this position in the note. Returns
        True if the sentence names a note.
        """
        lower = typed(text)
        if THIS_IS_DEAD.match(lower):
            self.statuses.append("obsolete")
        return _has_link(text) and any(self.named(text[start:], place) for start in starts(lower))

    def named(self, text: str, place: Mapping[str, bool]) -> bool:
        """Read a sentence that names a note and begins at the start of ``text``."""
        signs, links = signed(text)
        for pattern, is_successor, is_place in SENTENCES:
            match = pattern.match(signs)
            if match is None or not all(
                place.get(name) for name, found in match.groupdict().items() if name != "links" and found
            ):
                continue
            named = text[_range_of(match, links)]
            if self.succeeded(named, is_successor=is_successor, is_place=is_place):
                return True
        return False

    def succeeded(self, text: str, *, is_successor: bool = True, is_place: bool = False) -> bool:
        """Add the targets of the links in ``text``; return True if there are any.

        If ``is_place`` is true, links to daily notes are ignored: *moved to [[2026-12-01]]* is about a date.
        """
        found = [
            Succession(link.target, is_successor)
            for link in _links(text)
            if link.target
            and not (is_place and _is_day(link.target))
            and (is_successor or not (link.heading or link.block))
        ]
        self.successions += found
        return bool(found)


def _is_day(target: str) -> bool:
    """Return True if a note's name is only a day, a week, a month or a year."""
    name = target.rpartition("/")[2].removesuffix(NOTE_SUFFIX).replace("_", "-").strip()
    return bool(_PERIOD.fullmatch(name) or dates_of(name) or parse_period(name, datetime(2026, 1, 1)))


def _last_day(text: str) -> tuple[date, bool]:
    """Return the last day that ``text`` names, and whether it names a whole week, month or year.

    Raises ValueError if it names no day.
    """
    if match := _PERIOD.fullmatch(text):
        year, week = match.groups()
        return date.fromisocalendar(int(year), int(week), 7) if week else date(int(year), 12, 31), True
    if (when := read_when(text)) is not None:
        return when.local.date(), False
    days = dates_of(text)
    spoken = find_time(text, date(2000, 1, 1)) if not days and _YEAR.search(text) else None
    if spoken is not None and (spoken.start, spoken.end) == (0, len(text)):  # Q1 2026
        return spoken.days.last, True
    # 1/3/2026 may begin with the day or the month; 1.3.2026 begins with the day.
    last = "" if not days else days[0] if "." in text else max(days)
    if len(last) == len("2026-03"):
        return date.fromisoformat(f"{last}-01") + relativedelta(months=1, days=-1), True
    return date.fromisoformat(last), False


def _continued(text: str) -> str:
    """Return the beginning of a sentence that continues in the next block, or ""."""
    if len(text) > STATUS_CHARS:
        return ""
    lower = typed(text)
    if BY_HEADING.fullmatch(lower.rstrip(" :")):
        return "Superseded by "
    said = THIS_IS_DEAD.match(lower)
    is_dead = ONLY_DEAD.fullmatch(lower) or (said is not None and said.end() == len(lower))
    return _ONLY_DEAD if is_dead else ""


def _range_of(match: re.Match[str], links: Sequence[tuple[int, int]]) -> slice:
    """Return the range, in the text as written, of the links that a pattern matched. ``links`` has the ranges
    of all links in the text."""
    first = match.string.count(LINK, 0, match.start("links"))
    return slice(links[first][0], links[first + match["links"].count(LINK) - 1][1])


def _linked(find: Callable[[str], re.Match[str] | None], text: str) -> str:
    """Return the links in ``text`` that a pattern matches, as written; "" if it does not match."""
    signs, links = signed(text)
    match = find(signs)
    return text[_range_of(match, links)] if match else ""


def _has_link(text: str) -> bool:
    return "](" in text or "[[" in text


def _section(heading: Heading, blocks: Sequence[Span], note: Note) -> Iterator[str]:
    """Yield the texts of the blocks directly below a heading."""
    end = next((each.line for each in note.headings if each.line > heading.line), len(note.lines) + 1)
    for span in blocks:
        if heading.line < span.start_line < end:
            yield _plain(span, note.lines)


_REPLACED = re.compile(
    "supers?eded|superceded|replaced|obsoleted|ersetzt|abgel[oö]st|remplacée?|sustituid[oa]|reemplazad[oa]"
    "|substituíd[oa]|sostituit[oa]|vervangen",
    re.IGNORECASE,
)
_FIELD = re.compile(r"(?:[-*+] )?([A-Za-z][A-Za-z _-]{4,15}?)\s*::?\s+(\S.*)")
_ONLY_DEAD = "Superseded. "
_SUCCEEDED = {"deprecated", "superseded", "obsolete", "outdated", "replaced"}
"""Statuses after which *see [[New]]* names a successor."""
_OF_HEADINGS = frozenset({"supersedes", "replaces", "obsoletes"})
_TITLE_REMARK = re.compile(r"[(\[–—]\s*|\s-\s")

_MARKS = re.compile(
    r"^(?:\s|>|[-*+](?=\s)|\[![^\]\n]*\][+-]?|[*_=]{1,3}(?=\S)|[^\w\s\[#~]+(?=\s))+", re.MULTILINE
)
_EMPHASIS = re.compile(rf"({WRITTEN_LINK.pattern})|(?<!\w)[*_]{{1,3}}(?=\S)|(?<=\S)[*_]{{1,3}}(?!\w)")


def _plain(span: Span, lines: Sequence[str]) -> str:
    """Return the beginning of a block, without the markers of quotes, callouts, lists and emphasis."""
    text = "\n".join(lines[span.start_line - 1 : min(span.end_line, span.start_line + BLOCK_LINES)])[
        :BLOCK_CHARS
    ]
    if "%%" in text or "<!--" in text:
        text = "".join(outside_comments(text))
    if "*" in text or "_" in text:
        text = _EMPHASIS.sub(r"\1", text)
    return _MARKS.sub("", text).strip()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield " ".join(str(value).split())


def _links(text: str) -> list[Link]:
    links = []
    for match in WRITTEN_LINK.finditer(text):
        link = (
            wikilink(match[1], "wikilink", 1)
            if match[1]
            else markdown_link(match[3].strip("<>"), "markdown", match[2], 1)
        )
        if link is not None:
            links.append(link)
    return links


_STRUCK = re.compile(r"\s*(?:[-*+]\s+|[0-9]+[.)]\s+)?(?:\[.\]\s+)?~~(?=\S)(?:(?!~~).)+~~[.!]?\s*", re.DOTALL)
_STRUCK_TITLE = re.compile(r"#\s+~~.+~~\s*")


def _struck(note: Note) -> tuple[Sequence[Sequence[int]], bool]:
    """Return the line ranges of the paragraphs that are struck out, and whether the whole note is struck
    out.
    """
    if "~~" not in "\n".join(note.lines):
        return (), False
    texts = [span for span in note.spans if span.kind not in ("heading", "list", "break")]
    struck = [span for span in texts if _is_struck(span, note.lines)]
    title = next((heading for heading in note.headings if heading.level == 1), None)
    is_struck = bool(struck) and len(struck) == len(texts)
    is_struck |= title is not None and bool(_STRUCK_TITLE.fullmatch(note.lines[title.line - 1]))
    return tuple((span.start_line, span.end_line) for span in struck), is_struck


def _is_struck(span: Span, lines: Sequence[str]) -> bool:
    if span.kind not in ("paragraph", "list_item"):
        return False
    return bool(_STRUCK.fullmatch("\n".join(lines[span.start_line - 1 : span.end_line])))
