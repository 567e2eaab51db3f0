"""What could be meant as one types: titles, aliases, headings, tags, property names and values.

Names are kept in memory, folded, and brought up to the ledger's revision by difference before an answer. Four
ways of matching, each tried only while the better ones leave room: the name begins with what was typed, a
word of it does, it holds it somewhere, and it holds its letters in order, a mistyped one left out if need be.
"""

from __future__ import annotations

import json
import re
import threading
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from vaultseek.index.ledger import Ledger
from vaultseek.limits import LINE_CHARS
from vaultseek.model import JSON
from vaultseek.notes.tags import properties, tags, values
from vaultseek.text import fold

COMPLETION_FUZZY = 2_000
"""So many names that hold the letters are looked through for their order."""
COMPLETION_RECENT = 500
"""So many changed notes are kept beside the names in order before these are put in order again."""

Kind = Literal["note", "heading", "tag", "property", "value"]
"""What is completed from the ledger; blocks are completed by ``complete_blocks``."""
Masks = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]


class Entry(NamedTuple):
    """Something to complete to: ``text`` is matched and shown, ``more`` goes with it into the answer."""

    text: str
    weight: float = 0.0
    more: JSON = MappingProxyType({})  # type: ignore[assignment]


class Match(NamedTuple):
    """An entry and how well it fits: 0 begins with it, 1 a word does, 2 holds it, 3 its letters in order."""

    grade: int
    entry: Entry


class Completer:
    """Completes within a fixed set of entries; of equal grade the heavier first, then the shorter."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        pairs = sorted(((fold(entry.text), entry) for entry in entries), key=itemgetter(0))
        self._folded = [folded for folded, _ in pairs]
        self._entries = [entry for _, entry in pairs]
        self._text = "\n" + "\n".join(self._folded) + "\n"
        lengths = np.fromiter(map(len, self._folded), np.int64, len(pairs))
        self._starts = 1 + np.cumsum(lengths + 1) - lengths - 1
        weights = np.fromiter((entry.weight for entry in self._entries), np.float64, len(pairs))
        order = np.lexsort((lengths, -weights))
        self._place = np.empty(len(pairs), np.int64)
        self._place[order] = np.arange(len(pairs))

    def complete(self, typed: str, limit: int, without: Container[int] = ()) -> list[Match]:
        """The best ``limit`` entries for what was typed so far; for nothing typed, the heaviest.

        ``without``: notes whose entries are left out.
        """
        found: dict[int, Match] = {}
        for grade, at in self._grades(fold(typed)):
            for number in at[np.argsort(self._place[at], kind="stable")].tolist():
                if len(found) == limit:
                    return list(found.values())
                entry = self._entries[number]
                if number not in found and entry.more.get("note") not in without:
                    found[number] = Match(grade, entry)
        return list(found.values())

    def _grades(self, wanted: str) -> Iterator[tuple[int, Ints]]:
        low = bisect_left(self._folded, wanted)
        yield 0, np.arange(low, bisect_left(self._folded, wanted + "\U0010ffff", low))
        if not wanted:
            return
        places = np.fromiter((m.start() for m in re.finditer(re.escape(wanted), self._text)), np.int64)
        of = np.searchsorted(self._starts, places, side="right") - 1
        yield 1, np.unique(of[self._borders[places]])
        yield 2, np.unique(of)
        yield 3, np.array(self._fuzzy(wanted.replace(" ", "")), np.int64)

    def _fuzzy(self, letters: str) -> list[int]:
        found = self._in_order(letters)
        if not found and len(letters) > 3:
            shorter = dict.fromkeys(letters[:at] + letters[at + 1 :] for at in range(1, len(letters)))
            found = [at for part in shorter for at in self._in_order(part)]
        return found

    def _in_order(self, letters: str) -> list[int]:
        """Entries that hold the letters in order, within a stretch not much longer than the letters."""
        if not letters:
            return []
        mask = np.bitwise_or.reduce(_bits(letters))
        could = np.flatnonzero((self._masks & mask) == mask)[:COMPLETION_FUZZY]
        most = 2 * len(letters) + 2
        return [at for at in could.tolist() if _spread(letters, self._folded[at]) <= most]

    @cached_property
    def _masks(self) -> Masks:
        """A bit for each letter of a name, so that most names without the letters are passed over at once."""
        if not len(self._starts):
            return np.zeros(0, np.uint64)
        masks: Masks = np.bitwise_or.reduceat(_bits(self._text), self._starts)
        return masks

    @cached_property
    def _borders(self) -> npt.NDArray[np.bool_]:
        """For each place of the text, whether a word may begin there."""
        codes = _codes(self._text)
        distinct, which = np.unique(codes, return_inverse=True)
        wordlike = np.array([chr(code).isalnum() for code in distinct.tolist()], np.bool_)
        return np.concatenate([[True], ~wordlike[which][:-1]])


class VaultCompleter:
    """Completion in one vault, true to the ledger as it is when asked.

    Notes that changed since the names were last put in order are completed beside them, until they are many.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._revision = -1
        self._ordered = Completer(())
        self._changed: dict[int, list[Entry]] = {}
        self._recent = Completer(())
        self._others: dict[Kind, Completer] = {}
        self._others_at = -1

    def complete(
        self, kind: Kind, typed: str, limit: int, *, note: int | None = None, name: str | None = None
    ) -> list[JSON]:
        """Completions of a kind: headings are those of ``note``, values those of the property ``name``."""
        with self._lock:
            if kind == "note":
                found = self._notes(typed, limit)
            elif kind == "heading":
                found = Completer(self._headings(note)).complete(typed, limit)
            elif kind == "value":
                found = Completer(_weighed(values(self._ledger, name or ""), "value")).complete(typed, limit)
            else:
                found = self._listed(kind).complete(typed.removeprefix("#"), limit)
        return [_told(match) for match in found]

    def _notes(self, typed: str, limit: int) -> list[Match]:
        self._refresh()
        ordered = self._ordered.complete(typed, limit, without=self._changed)
        recent = self._recent.complete(typed, limit)
        best = sorted((*ordered, *recent), key=lambda match: (match.grade, len(match.entry.text)))[:limit]
        return [match._replace(entry=_without_id(match.entry)) for match in best]

    def _refresh(self) -> None:
        revision = self._ledger.revision
        if revision == self._revision:
            return
        before = max(self._revision, 0)
        removed = self._ledger.notes.removed_since(before)
        for number in removed or ():
            self._changed[number] = []
        for number, path, title, aliases in self._ledger.select(_NAMES, before):
            self._changed[number] = list(_names(number, path, title, json.loads(aliases)))
        self._revision = revision
        if removed is None or len(self._changed) > COMPLETION_RECENT:
            rows = self._ledger.select(_NAMES, 0)
            self._ordered = Completer(e for n, p, t, a in rows for e in _names(n, p, t, json.loads(a)))
            self._changed = {}
        self._recent = Completer(entry for entries in self._changed.values() for entry in entries)

    def _headings(self, note: int | None) -> Iterator[Entry]:
        row = self._ledger.notes.by_id([note or 0]).get(note or 0)
        for heading in row.headings if row else ():
            yield Entry(heading.text, -heading.line, {"level": heading.level, "line": heading.line})

    def _listed(self, kind: Kind) -> Completer:
        revision = self._ledger.revision
        if revision != self._others_at:
            self._others.clear()
            self._others_at = revision
        if kind not in self._others:
            self._others[kind] = Completer(
                _weighed(tags(self._ledger), "tag", "total")
                if kind == "tag"
                else _weighed(properties(self._ledger), "name")
            )
        return self._others[kind]


def complete_blocks(blocks: Iterable[JSON], typed: str, limit: int) -> list[JSON]:
    """Completions among the blocks of a note, each with ``id``, ``line`` and what it is the id ``of``."""
    entries = [
        Entry(block["id"], -block["line"], {"line": block["line"], "of": block["of"][:LINE_CHARS]})
        for block in blocks
    ]
    found = Completer(entries).complete(typed.removeprefix("^"), limit)
    return [_told(match) for match in found]


def _told(match: Match) -> JSON:
    return {"text": match.entry.text, "match": _GRADES[match.grade], **match.entry.more}


_GRADES = ("prefix", "word", "inside", "fuzzy")
_NAMES = "SELECT id, path, title, aliases FROM notes WHERE revision > ?"


def _names(note: int, path: str, title: str, aliases: Sequence[str]) -> Iterator[Entry]:
    file_name = path.rpartition("/")[2].removesuffix(".md")
    about = {"path": path, "title": title, "note": note}
    yield Entry(file_name, 0.0, {**about, "is": "name"})
    if fold(title) != fold(file_name):
        yield Entry(title, 0.0, {**about, "is": "title"})
    for alias in aliases:
        yield Entry(alias, 0.0, {**about, "is": "alias"})


def _without_id(entry: Entry) -> Entry:
    return entry._replace(more={key: value for key, value in entry.more.items() if key != "note"})


def _weighed(found: Iterable[JSON], name: str, count: str = "count") -> list[Entry]:
    return [Entry(item[name], item[count], {"count": item[count]}) for item in found]


def _codes(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _bits(text: str) -> Masks:
    codes = _codes(text)
    bits: Masks = np.left_shift(np.uint64(1), (codes % 64).astype(np.uint64))
    # Between names and words stands nothing that could be asked for.
    bits[(codes == 10) | (codes == 32)] = 0
    return bits


def _spread(letters: str, folded: str) -> float:
    """How long the stretch is that holds the letters in order, taken greedily; infinite if there is none."""
    first = at = folded.find(letters[0])
    for letter in letters[1:]:
        if at < 0:
            break
        at = folded.find(letter, at + 1)
    return at - first + 1 if at >= 0 else float("inf")
