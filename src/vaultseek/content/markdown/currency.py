"""Reader of a note's statements about its currency: status, expiry date, and which notes replace which.

Statements are properties, fields ``name: value`` at the head of a note, a section *Status*, or a sentence at
the head such as *moved to [[New]]*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any, NamedTuple

from vaultseek.base.currency import NOTHING_STATED, Stated
from vaultseek.base.model import Link, Note, Span
from vaultseek.base.text import fold
from vaultseek.base.when import iso_date, read_when
from vaultseek.content.kinds import kind_of
from vaultseek.content.markdown.links import markdown_link, wikilink

HEAD_BLOCKS = 6
"""Number of blocks at the beginning of a note, without headings, that may describe it."""
BLOCK_LINES, BLOCK_CHARS = 4, 600
"""Maximum number of lines and characters that are read of a block."""
STUB_LINES = 4
"""Maximum number of non-blank lines in a note that only refers to its new place."""
NAME_CHARS = 200
"""Maximum length of a note name in a property without a link."""
STATUS_CHARS = 60
"""Maximum length of a status."""
SUCCESSORS = 20
"""Maximum number of notes that one note names as its successors or predecessors."""


class Succession(NamedTuple):
    """The target of a link to another note; ``is_successor`` if the other note replaces this one."""

    target: str
    is_successor: bool


def read_currency(note: Note) -> tuple[Stated, Sequence[Succession]]:
    """Return the statements of a note about its currency, with its successors and predecessors."""
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
"""The recognized fields, ignoring case and punctuation between words."""
_NO_VALUE = frozenset(
    {"", "-", "?", "n/a", "na", "no", "none", "nothing", "null", "false", "true", "yes", "tbd"}
)
_NOT_LETTERS = re.compile(r"[\W_]+")
_LINK = re.compile(
    r"\[\[([^\[\]\n]+)\]\]|\[([^\[\]\n]*)\]\((<[^<>\n]+>|[^()\s]+(?:\([^()\s]*\)[^()\s]*)*)[^()\n]*\)"
)
_NOT_STATUS = re.compile(r"^[\W_]+|[\W_]+$")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_BY = re.compile(r"(\w+)\s+(?:by|durch|por|par|da|door)\b:?\s*(.+)", re.IGNORECASE | re.DOTALL)
"""A status with a successor: *superseded by ADR-7*."""


class _Reader:
    """Collects the statements in the properties and the head of one note."""

    def __init__(self) -> None:
        self.statuses: list[str] = []
        self.until = ""
        self.successions: list[Succession] = []

    def field(self, key: str, value: Any) -> None:
        kind = _FIELDS.get(_NOT_LETTERS.sub("", key).casefold())
        if kind is None:
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
            self.related(match[2], is_successor=True)
            text = match[1]
        for link in _links(text):
            text = link.target
        plain = _NOT_STATUS.sub("", fold(text))
        if plain and len(plain) <= STATUS_CHARS:
            self.statuses.append(plain)

    def related(self, text: str, *, is_successor: bool) -> None:
        """Add the notes named in a text, by links or by the whole text."""
        links = _links(text)
        for link in links:
            # A note that replaces a section of another leaves the rest of it current.
            if link.target and (is_successor or not (link.heading or link.block)):
                self.successions.append(Succession(link.target, is_successor))
        plain = text.partition("|")[0].partition("#")[0].strip().strip("*_`\"'").rstrip(".")
        if links or fold(plain) in _NO_VALUE or plain.isdecimal() or len(plain) > NAME_CHARS:
            return
        if not (_ADDRESS.match(plain) or _LINK.search(text)):
            self.successions.append(Succession(plain, is_successor))
        elif is_successor:  # on another site
            self.statuses.append("superseded")

    def date(self, text: str, *, holds_that_day: bool) -> None:
        when = read_when(iso_date(text))
        if when is None:
            return
        day = when.local.date()
        try:
            self.until = (day + timedelta(days=holds_that_day)).isoformat()
        except OverflowError:
            return

    def head(self, note: Note) -> None:
        """Read the first blocks of a note, and the first of a section *Status*."""
        blocks = [span for span in note.spans if span.kind in ("paragraph", "quote", "list_item")]
        head = blocks[:HEAD_BLOCKS]
        written = sum(1 for line in note.lines[note.body_line - 1 :] if line.strip())
        for span in head:
            text = _plain(span, note.lines)
            for written_line in text.split("\n"):
                if field := _FIELD.match(written_line):
                    self.field(field[1], field[2])
            self.sentence(text, is_stub=written <= STUB_LINES)
        for line in (each.line for each in note.headings if fold(each.shown).strip(" :") == "status"):
            section = next((span for span in blocks if span.start_line > line), None)
            if section is not None and not any(
                line < each.line < section.start_line for each in note.headings
            ):
                self.status(_plain(section, note.lines).split("\n", 1)[0])

    def sentence(self, text: str, *, is_stub: bool) -> None:
        """Read a sentence about the whole note: what replaces it, or what it replaces."""
        if "](" not in text and "[[" not in text:
            return
        for pattern, is_successor in _SENTENCES:
            if match := pattern.match(text):
                if match.groupdict().get("bare") and not is_stub:
                    continue
                for link in _links(match["links"]):
                    if link.target:
                        self.successions.append(Succession(link.target, is_successor))
                return


_REPLACED = re.compile(
    "supers?eded|superceded|replaced|obsoleted|ersetzt|abgel[oö]st|remplacée?|sustituid[oa]|reemplazad[oa]"
    "|substituíd[oa]|sostituit[oa]|vervangen",
    re.IGNORECASE,
)
_FIELD = re.compile(r"(?:[-*+] )?([A-Za-z][A-Za-z _-]{4,15}?)\s*::?\s+(\S.*)")
_ANY_LINK = r"(?:\[\[[^\[\]\n]+\]\]|\[[^\[\]\n]*\]\([^\n]*?\))"
_LINKS = rf"(?P<links>{_ANY_LINK}(?:(?:,| and| und| et| y| e| en| &)+ {_ANY_LINK})*)"
_NOTE = (
    "(?:note|page|document|doc|file|article|decision|procedure|guide|how-?to|text|content|adr|proposal|entry|plan"
    "|version|recipe|list)"
)
_NOTIZ = "(?:notiz|seite|datei|anleitung|entscheidung|artikel|text|inhalt|dokument|fassung|plan|liste)"
_THIS = (
    rf"(?:this(?: {_NOTE})?|the content of this {_NOTE}|dies(?:e|er|es)? {_NOTIZ}|cette (?:note|page)"
    "|ce document|esta (?:nota|página)|este documento|questa (?:nota|pagina)|questo documento"
    "|deze (?:notitie|pagina)|dit document)"
)
_IS = (
    "(?:(?:is|was|has|has been|is now|was later|has since been|ist|wurde|wird|est|a été|fue|ha sido|foi"
    "|è(?: stat[oa])?|werd|is nu) )?(?:now |since |jetzt |nun )?"
)
_REPLACED_BY = (
    "(?:superseded by|superceded by|replaced (?:by|with)|obsoleted by|deprecated in favou?r of|outdated,? see"
    "|ersetzt durch|abgelöst (?:durch|von)|überholt durch|remplacée? par|sustituid[oa] por"
    "|reemplazad[oa] por|substituíd[oa] por|sostituit[oa] da|vervangen door)"
)
_MOVED_TO = (
    "(?:moved (?:in)?to|merged (?:in)?to|now lives (?:at|in)|continued in|verschoben nach|umgezogen nach"
    "|déplacée? vers|trasladad[oa] a|movid[oa] (?:a|para)|spostat[oa] in|verplaatst naar)"
)
_REPLACES = "(?:supersedes|replaces|ersetzt|remplace|sustituye|substitui|sostituisce|vervangt)"
_END = r"(?=\s*(?:[.!;—–(]|\n|$|- ))"
_SIGN = r"(?:(?:note|update|status|deprecated|obsolete|outdated|moved|archived|hinweis|veraltet)[:.!]*\s+)?"
_SENTENCES = tuple(
    (re.compile(_SIGN + pattern, re.IGNORECASE), is_successor)
    for pattern, is_successor in (
        (rf"{_THIS} {_IS}(?:{_REPLACED_BY}|{_MOVED_TO}):? {_LINKS}", True),
        (rf"{_THIS} (?:wurde|ist|wird) (?:durch|von|nach) {_LINKS} (?:ersetzt|abgelöst|verschoben)", True),
        (rf"{_REPLACED_BY}:? {_LINKS}{_END}", True),
        (rf"(?P<bare>{_MOVED_TO}):? {_LINKS}\s*[.!]?\s*$", True),
        (rf"(?:本笔记|本页|此页|此笔记)?已?(?:移至|移到|迁移到) ?{_LINKS}", True),
        (rf"(?:本笔记|本页|此页|此笔记)?已?(?:被|由) ?{_LINKS} ?(?:取代|替代|代替|替换)", True),
        (rf"(?:このノート|このページ)?は?、?{_LINKS} ?(?:に移動|に置き換え|へ移動)", True),
        (rf"{_THIS} {_IS}{_REPLACES} {_LINKS}", False),
        (rf"(?:supersedes|obsoletes):? {_LINKS}{_END}", False),
    )
)
"""Sentences at the head of a note, and whether they name its successor. A sentence that may be about the
note's subject, such as *Moved to [[Lisbon]]*, counts only in a note without other text."""

_MARKS = re.compile(
    r"^(?:\s|>|[-*+](?=\s)|\[![^\]\n]*\][+-]?|[*_=]{1,3}(?=\S)|[^\w\s\[#~]+(?=\s))+", re.MULTILINE
)
_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)")


def _plain(span: Span, lines: Sequence[str]) -> str:
    """Return the beginning of a block without markers of quotes, callouts, lists and emphasis."""
    text = "\n".join(lines[span.start_line - 1 : min(span.end_line, span.start_line + BLOCK_LINES)])[
        :BLOCK_CHARS
    ]
    return _MARKS.sub("", _EMPHASIS.sub("", text)).strip()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield " ".join(str(value).split())


def _links(text: str) -> list[Link]:
    links = []
    for match in _LINK.finditer(text):
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
    """Return the lines of the paragraphs that are struck out, and whether that is the whole note."""
    if not any("~~" in line for line in note.lines):
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
