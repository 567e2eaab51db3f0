"""Unlinked mentions of a note: its title, an alias or its file name in the text of other notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vaultseek.base.limits import LINE_CHARS, SQL_VARIABLES
from vaultseek.base.model import JSON, Chunk
from vaultseek.base.text import fold, is_unspaced
from vaultseek.content.markdown.title import file_stem
from vaultseek.content.query.compare import contains
from vaultseek.content.query.filters import Contains, any_of
from vaultseek.core.notes.read import about
from vaultseek.core.search.filter import filter_notes
from vaultseek.store.ledger import Ledger, NoteRow

_LINKED = re.compile(
    r"^\s{0,3}\[[^\[\]]+\]:.*|!?\[\[[^\[\]]*\]\]|!?\[[^\[\]]*\]\([^()]*\)|!?\[[^\[\]]*\]\[[^\[\]]*\]"
    r"|<[^<>\s]+>|https?://\S+|`[^`]*`"
)
"""Pieces of a line that are no prose: definitions of links, links, addresses and code."""
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"
    r"|[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+(?:['’.+#-]\w+)*[+#]*"
)
"""A word, or one character of a script without spaces."""
MIN_NAME_CHARS = 2
"""Shorter names occur everywhere, except in scripts without spaces."""


def unlinked(row: NoteRow, ledger: Ledger) -> list[JSON]:
    """Return the lines of other notes that name this one outside of links and code, by path and line."""
    names = names_of(row)
    matching = filter_notes(any_of(map(Contains, names)), ledger)
    if matching is None:
        return []
    ids = [id for id in matching.ids.tolist() if id != row.id]
    notes, chunks = ledger.notes.by_id(ids), ledger.chunks.by_note(ids)
    rows = sorted(notes.values(), key=lambda other: other.path)
    return [
        {**about(other), "line": line, "name": name, "text": _excerpt(text.strip(), name)}
        for other in rows
        for line, text, name in _lines(chunks[other.id], names)
    ]


def _excerpt(line: str, name: str) -> str:
    """Return a line or, of one that is too long, the part with the mention."""
    if len(line) <= LINE_CHARS:
        return line
    words = r"\s+".join(map(re.escape, name.split()))
    places = [
        match.start()
        for match in re.finditer(words, _LINKED.sub(_blank, line), re.IGNORECASE)
        if contains(fold(line[max(0, match.start() - 1) : match.end() + 1]), fold(name))
    ]
    if not places or places[0] + len(name) <= LINE_CHARS:
        return line[:LINE_CHARS]
    start = line.find(" ", places[0] - LINE_CHARS // 3, places[0]) + 1 or places[0]
    # A link that is cut would look like a mention.
    ends = [link.end() for link in _LINKED.finditer(line) if link.start() < start < link.end()]
    return "…" + line[max([start, *ends]) :][: LINE_CHARS - 1]


def _blank(link: re.Match[str]) -> str:
    return "\0" * len(link[0])


class Named(NamedTuple):
    """A piece of a text that is a name of notes: the line by number from 0, the columns, and the notes."""

    line: int
    start: int
    end: int
    name: str
    notes: tuple[int, ...]


def named_in(lines: Sequence[str], ledger: Ledger, without: int | None = None) -> list[Named]:
    """Return the names of notes in ``lines`` outside of links and code, the longest at each place.

    Notes named by the id ``without`` are left out.
    """
    pieces = [piece for number, line in enumerate(lines) for piece in _pieces(number, line)]
    ids = _ids_by_name(sorted({fold(name) for _, _, _, name in pieces}), ledger)
    named: list[Named] = []
    for line, start, end, name in pieces:
        notes = tuple(sorted(ids.get(fold(name), set()) - {without}))
        inside = named and named[-1].line == line and start < named[-1].end
        if notes and not inside:
            named.append(Named(line, start, end, name, notes))
    return named


def _ids_by_name(names: Sequence[str], ledger: Ledger) -> dict[str, set[int]]:
    ids: dict[str, set[int]] = {}
    for start in range(0, len(names), SQL_VARIABLES):
        part = names[start : start + SQL_VARIABLES]
        sql = f"SELECT name, note FROM names WHERE name IN ({', '.join('?' * len(part))})"
        for name, note in ledger.select(sql, *part):
            ids.setdefault(name, set()).add(note)
    return ids


def _pieces(number: int, line: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield what may be a name in a line, by place and then the longest first."""
    prose = _LINKED.sub(_blank, line)
    words = list(_WORD.finditer(prose))
    for at, word in enumerate(words):
        ends = [other.end() for other in words[at : at + NAME_WORDS]]
        stop = prose.find("\0", word.start())
        for end in reversed(ends):
            name = prose[word.start() : end]
            if (stop < 0 or end <= stop) and (len(name) >= MIN_NAME_CHARS or is_unspaced(name)):
                yield number, word.start(), end, name


NAME_WORDS = 10
"""Words of the longest name that is looked for; in scripts without spaces, characters."""


def names_of(row: NoteRow) -> list[str]:
    """Return what a note is called in running text: title, aliases and file name, the longest first."""
    names = {fold(name): name for name in (file_stem(row.path), *row.names[::-1])}
    distinct = [
        name for folded, name in names.items() if len(folded) >= MIN_NAME_CHARS or is_unspaced(folded)
    ]
    return sorted(distinct, key=lambda name: (-len(name), name))


def _lines(chunks: Sequence[Chunk], names: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    for chunk in chunks:
        offset = 0
        for number, text in enumerate(chunk.text.split("\n"), start=chunk.start_line):
            in_code = any(start <= offset and offset + len(text) <= end for start, end in chunk.code)
            offset += len(text) + 1
            if not in_code:
                prose = fold(_LINKED.sub(" \0 ", text))
                name = next((name for name in names if contains(prose, fold(name))), None)
                if name is not None:
                    yield number, text, name
