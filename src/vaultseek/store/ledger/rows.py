"""Values stored in and returned by the ledger, and their conversion to and from rows."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from vaultseek.base.currency import NOTHING_STATED, Stated
from vaultseek.base.model import JSON, BlockId, Chunk, Heading, Link, Note, Place, apply_edits
from vaultseek.base.text import INVISIBLE, fold, normalize
from vaultseek.base.when import When
from vaultseek.content.files.scan import FileStat
from vaultseek.content.kinds import Kind, kind_of, turn
from vaultseek.content.languages.detect import NO_LANGUAGE
from vaultseek.content.markdown.property_text import named_lines
from vaultseek.content.markdown.resolve import link_key
from vaultseek.content.markdown.title import file_stem, note_name, other_name
from vaultseek.content.query.normal_forms import DAY_OR_MONTH, MARK, changed_words, normal_forms
from vaultseek.content.query.words import pinned_names
from vaultseek.store.ledger.forms import INSIDE, MORE
from vaultseek.store.ledger.line_forms import stored_forms

NOTE_DAYS, NOTE_CODES = 200, 2000
"""Maximum number of days, and maximum number of identifiers, stored for a note."""
NOTE_COLUMNS = (
    "id, path, title, title_source, aliases, tags, headings, properties, modified, created, created_kind,"
    " language, blocks, currency, name_day, day_first"
)
CHUNK_COLUMNS = "id, heading_path, start_line, end_line, text, code, place, edits"
PASSAGE_COLUMNS = "note, number, heading_path, text"
LINK_COLUMNS = (
    "l.note, n.path, l.kind, l.target, l.heading, l.block, l.alias, l.line, l.property, l.resolved,"
    " l.first, l.last"
)

LinkTarget = tuple[int, int, str, str]
"""A link to resolve: note id, ordinal in the note, path of the note, target."""


@dataclass(frozen=True, slots=True)
class IndexedNote:
    """A parsed note to be stored. ``modified`` is in seconds since the epoch.

    ``link_keys`` contains one key per link of the note; ``hash`` is the hash of the note's bytes.
    ``language`` is "" if it is unclear. ``name_day`` is the ISO day in the path; ``day_first`` is true if
    dates in names and properties put the day before the month (`note_dates.Dates`).
    """

    note: Note
    chunks: tuple[Chunk, ...]
    link_keys: tuple[str, ...]
    stat: FileStat
    racy: bool
    hash: bytes
    modified: float
    created: When
    language: str = NO_LANGUAGE
    name_day: str = ""
    day_first: bool | None = None


@dataclass(frozen=True, slots=True)
class UnchangedNote:
    """A note with unchanged content, and the new ``stat`` values of its file."""

    path: str
    stat: FileStat
    racy: bool
    modified: float


class NoteRow(NamedTuple):
    """A note as the ledger stores it. ``modified`` is in seconds since the epoch.

    A search makes a row for each candidate; a dataclass would take three times as long.
    """

    id: int
    path: str
    title: str
    title_is_name: bool
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    heading_values: str
    """The headings as JSON, because few readers of many notes need them."""
    properties: JSON
    modified: float
    created: When
    language: str = NO_LANGUAGE
    blocks: tuple[BlockId, ...] = ()
    stated: Stated = NOTHING_STATED
    name_day: str = ""
    day_first: bool | None = None

    @property
    def headings(self) -> Sequence[Heading]:
        """The headings of the note."""
        return [Heading(*item) for item in _list(self.heading_values)]

    @property
    def heading_lines(self) -> set[int]:
        """The lines of the headings."""
        return {line for _, _, line, *_ in _list(self.heading_values)}

    @property
    def kind(self) -> Kind:
        """The kind of the note's file."""
        return kind_of(self.path) or "note"

    @property
    def other_name(self) -> str | None:
        """The file name, if its words differ from the title's words."""
        return None if self.title_is_name else other_name(self.title, self.path)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the note: the title, the file name if it differs from the title, and the aliases."""
        name = self.other_name
        return (self.title, name, *self.aliases) if name else (self.title, *self.aliases)


class PassageRow(NamedTuple):
    """The parts of a chunk that determine its vector, with the id of its note.

    ``number`` identifies the vector. It changes if the text changes, but not if the note moves.
    """

    note: int
    number: int
    heading_path: tuple[str, ...]
    text: str


class PassageText(NamedTuple):
    """The text of a chunk as the ledger stores it. ``edits`` and ``ranges`` of code are JSON, because few
    readers of many texts need them.
    """

    start_line: int
    text: str
    ranges: str
    edits: str

    @property
    def source(self) -> str:
        """The text as written in the file."""
        flat = _list(self.edits)
        return apply_edits(self.text, zip(flat[::3], flat[1::3], flat[2::3], strict=True))

    @property
    def code(self) -> Sequence[tuple[int, int]]:
        """The character ranges of ``text`` that lie in code blocks."""
        return [(start, end) for start, end in _list(self.ranges)]


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link, the id and path of the note that contains it, and the path to which it currently resolves."""

    note: int
    source: str
    link: Link
    resolved: str | None


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of notes, of chunks, of chunks with a stored vector, and of vectors waiting to be stored."""

    notes: int
    chunks: int
    embedded: int
    pending: int


class NoteRows(NamedTuple):
    """The rows of one note in all tables, without ids and revision; all values except ``hash`` can be written
    as JSON.

    ``aliases``, ``tags``, ``headings``, ``tasks``, ``properties``, ``blocks``, and a chunk's heading path,
    code and edits, are JSON texts. A chunk is (id, heading path, start line, end line, text, code, place,
    edits), a link is (kind, target, heading, block, alias, line, property, first and last column, key), a
    problem is (code, message, line). ``turn`` determines the order in which vectors are computed.
    ``currency`` contains the note's statements on whether it is current; a succession is (target, 1 for a
    successor, key). ``forms`` are the days, months and identifiers in the note, ``lines`` the forms of its
    lines. ``folded_tags`` and ``names`` are used to find the note.
    """

    path: str
    stat: Sequence[int]
    racy: int
    hash: bytes
    title: str
    title_source: str
    aliases: str
    tags: str
    headings: str
    tasks: str
    properties: str
    modified: float
    created: float
    created_kind: str
    language: str
    blocks: str
    turn: int
    currency: str
    name_day: str
    day_first: int | None
    chunks: Sequence[Sequence[Any]]
    links: Sequence[Sequence[Any]]
    successions: Sequence[Sequence[Any]]
    forms: Sequence[str]
    lines: Sequence[Sequence[int]]
    folded_tags: Sequence[str]
    names: Sequence[str]
    problems: Sequence[Sequence[Any]]

    def columns(self, revision: int) -> tuple[Any, ...]:
        """Return the note's values for the columns ``NOTE_VALUES`` of the table ``notes``."""
        return (self.path, revision, *self.stat, *self[2:20])


NOTE_VALUES = (
    "path, revision, size, mtime_ns, ctime_ns, inode, racy, hash, title, title_source, aliases, tags,"
    " headings, tasks, properties, modified, created, created_kind, language, blocks, turn, currency,"
    " name_day, day_first"
)


def note_rows(indexed: IndexedNote) -> NoteRows:
    """Convert a parsed note to rows."""
    from vaultseek.content.query.currency import read_currency  # compiling its patterns is slow

    note = indexed.note
    stated, successions = read_currency(note)
    return NoteRows(
        note.path,
        indexed.stat,
        int(indexed.racy),
        indexed.hash,
        note.title,
        note.title_source,
        to_json(note.aliases),
        to_json(note.tags),
        heading_values(note.headings),
        _from_text([_shown_values(t.mark, t.text, t.line, t.rendered) for t in note.tasks]),
        to_json(note.frontmatter),
        indexed.modified,
        indexed.created.seconds,
        indexed.created.kind,
        indexed.language,
        to_json([(block.id, block.line) for block in note.blocks]) if note.blocks else "[]",
        turn(note.path),
        "[]" if stated == NOTHING_STATED else to_json(stated),
        indexed.name_day,
        None if indexed.day_first is None else int(indexed.day_first),
        [_chunk_values(chunk) for chunk in indexed.chunks],
        [(*_link_values(link), key) for link, key in zip(note.links, indexed.link_keys, strict=True)],
        [
            (each.target, 2 if each.is_guess else int(each.is_successor), link_key(each.target))
            for each in successions
        ],
        _forms(indexed),
        sorted(stored_forms(note, indexed.chunks, _shown_names(note))),
        sorted({fold(tag) for tag in note.tags}),
        sorted(_names(note)),
        [(problem.code, problem.message, problem.line) for problem in note.problems],
    )


def heading_values(headings: Iterable[Heading]) -> str:
    """Return headings as the JSON that ``NoteRow.heading_values`` contains."""
    return _from_text([_shown_values(h.level, h.text, h.line, h.rendered) for h in headings])


def _shown_values(*values: Any) -> tuple[Any, ...]:
    """Return the values without a trailing None. Most headings and tasks have such a None, because they are
    shown as written."""
    return values[:-1] if values[-1] is None else values


def _link_values(link: Link) -> tuple[Any, ...]:
    columns = (link.place.start, link.place.end) if link.place else (None, None)
    return (link.kind, link.target, link.heading, link.block, link.alias, link.line, link.property, *columns)


def _forms(indexed: IndexedNote) -> list[str]:
    """Return the normal forms of a note: the days and months of its own dates and of dates in its text, and
    its identifiers; also ``INSIDE`` and ``MORE`` if they apply to the note.
    """
    note, order = indexed.note, indexed.day_first
    days: dict[str, None] = {}
    codes: dict[str, None] = {}
    if indexed.created.seconds != indexed.modified:
        days[indexed.created.text[:10]] = None
    if indexed.name_day:
        days |= dict.fromkeys((indexed.name_day, indexed.name_day[:7]))
    names = "\n".join((*note.path.split("/"), note.title, *note.aliases, named_lines(note.frontmatter)))
    written = (note.path, note.title, *note.aliases, to_json(note.frontmatter))
    inside = [INSIDE] if any(map(_INSIDE_WORD.search, written)) else []
    texts = (text for chunk in indexed.chunks for text in (chunk.prose_text(), chunk.code_text()))
    for text, day_first in ((names, order), *((text, None) for text in texts)):
        codes |= dict.fromkeys(changed_words(text))
        for form in normal_forms(normalize(text), day_first):
            for term in form.terms:
                if term.startswith(MARK):
                    codes[term] = None
                elif DAY_OR_MONTH.fullmatch(term):
                    days[term] = None
        if len(days) > NOTE_DAYS or len(codes) > NOTE_CODES:
            return [*sorted(days)[:NOTE_DAYS], *sorted(codes)[:NOTE_CODES], *inside, MORE]
    return [*sorted(days), *sorted(codes), *inside]


_INSIDE_WORD = re.compile(f"[^\\W_][*<&~=^{INVISIBLE}]")


def _shown_names(note: Note) -> set[str]:
    return {note.title, note_name(note.path)}


def _names(note: Note) -> set[str]:
    """Return the folded names of a note: title, aliases, and the file name with its extension, without it,
    and percent-decoded."""
    file_name, path = note.path.rpartition("/")[2], note.path
    names = (note.title, *note.aliases, file_name, file_stem(path), note_name(path))
    return ({fold(name) for name in names} | pinned_names(note.frontmatter)) - {""}


def _chunk_values(chunk: Chunk) -> tuple[Any, ...]:
    return (
        chunk.id,
        _from_text(chunk.heading_path),
        chunk.start_line,
        chunk.end_line,
        chunk.text,
        _from_text(chunk.code),
        chunk.place,
        _from_text([value for edit in chunk.edits for value in edit]),
    )


def note_row(row: Any) -> NoteRow:
    """Convert a row of ``NOTE_COLUMNS`` to a note."""
    id, path, title, title_source, aliases, tags, headings, properties = row[:8]
    modified, created, created_kind, language, blocks, currency, name_day, day_first = row[8:]
    return NoteRow(
        id,
        path,
        title,
        title_source == "name",
        tuple(_list(aliases)),
        tuple(_list(tags)),
        headings,
        # Not by orjson: properties may hold integers of any size, NaN and infinity.
        {} if properties == "{}" else json.loads(properties),
        modified,
        When(created, created_kind),
        language,
        () if blocks == "[]" else tuple(BlockId(*item) for item in _list(blocks)),
        NOTHING_STATED if currency == "[]" else Stated(*_list(currency)),
        name_day,
        None if day_first is None else bool(day_first),
    )


def chunk_of(row: Any) -> Chunk:
    """Convert a row of ``CHUNK_COLUMNS`` to a chunk."""
    id, heading_path, start_line, end_line, text, code, place, edits = row
    ranges = tuple(map(tuple, _list(code)))
    flat = _list(edits)
    edited = tuple(zip(flat[::3], flat[1::3], flat[2::3], strict=True))
    return Chunk(id, tuple(_list(heading_path)), start_line, end_line, text, ranges, place, edited)


def passage_row(row: Any) -> PassageRow:
    """Convert a row of ``PASSAGE_COLUMNS`` to a passage."""
    return PassageRow(row[0], row[1], tuple(_list(row[2])), row[3])


def link_row(row: Any) -> LinkRow:
    """Convert a row of ``LINK_COLUMNS`` to a link."""
    kind, target, heading, block, alias, line, prop = row[2:9]
    place = None if row[10] is None else Place(line, row[10], row[11])
    return LinkRow(row[0], row[1], Link(kind, target, heading, block, alias, line, prop, place), row[9])


def _list(text: str) -> Any:
    """Return a list of strings or of short tuples from JSON that ``to_json`` wrote. Most lists are empty."""
    return () if text == "[]" else orjson.loads(text)


def _from_text(values: Sequence[Any]) -> str:
    """Return values from a note's text as JSON, like ``to_json``. A text has no surrogates, unlike
    properties, so the faster library can write it."""
    return orjson.dumps(values).decode() if values else "[]"


def to_json(value: Any) -> str:
    """Return ``value`` as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
