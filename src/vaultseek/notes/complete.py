"""Completion of titles, aliases, headings, tags, property names and values.

Names are kept in memory, folded, and updated from the ledger's changes before each answer. There are four
grades of match, and each is tried only if the better ones gave too few: the name begins with the typed text,
a word of it does, it contains the text, or it contains its letters in order, with one typo at most.
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
"""Names with the typed letters whose order is checked."""
COMPLETION_RECENT = 500
"""Changed notes that are completed beside the sorted names before all are sorted again."""

Kind = Literal["note", "heading", "tag", "property", "value"]
"""Kinds that are completed from the ledger; for blocks see ``complete_blocks``."""
Masks = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]


class Entry(NamedTuple):
    """A possible completion: ``text`` is matched and shown, ``more`` are further fields of the answer."""

    text: str
    weight: float = 0.0
    more: JSON = MappingProxyType({})  # type: ignore[assignment]


class Match(NamedTuple):
    """An entry and its grade: 0 prefix, 1 prefix of a word, 2 substring, 3 letters in order."""

    grade: int
    entry: Entry


class Completer:
    """Completes from a fixed set of entries: by grade, then by weight, then shorter first."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        pairs = sorted(((fold(entry.text), entry) for entry in entries), key=itemgetter(0))
        self._folded = [folded for folded, _ in pairs]
        self._entries = [entry for _, entry in pairs]
        self._text = "\n" + "\n".join(self._folded) + "\n"
        lengths = np.fromiter(map(len, self._folded), np.int64, len(pairs))
        self._starts = 1 + np.cumsum(lengths + 1) - lengths - 1
        weights = np.fromiter((entry.weight for entry in self._entries), np.float64, len(pairs))
        order = np.lexsort((lengths, -weights))
        self._ranks = np.empty(len(pairs), np.int64)
        self._ranks[order] = np.arange(len(pairs))

    def complete(self, typed: str, limit: int, without: Container[int] = ()) -> list[Match]:
        """Return the best ``limit`` entries for the typed text; for none, the heaviest.

        Entries of the notes in ``without`` are left out.
        """
        matches: dict[int, Match] = {}
        for grade, numbers in self._grades(fold(typed)):
            for number in numbers[np.argsort(self._ranks[numbers], kind="stable")].tolist():
                if len(matches) == limit:
                    return list(matches.values())
                entry = self._entries[number]
                if number not in matches and entry.more.get("note") not in without:
                    matches[number] = Match(grade, entry)
        return list(matches.values())

    def _grades(self, folded: str) -> Iterator[tuple[int, Ints]]:
        """Yield each grade with the numbers of the entries that have it or a better one."""
        low = bisect_left(self._folded, folded)
        yield 0, np.arange(low, bisect_left(self._folded, folded + "\U0010ffff", low))
        if not folded:
            return
        offsets = np.fromiter((m.start() for m in re.finditer(re.escape(folded), self._text)), np.int64)
        numbers = np.searchsorted(self._starts, offsets, side="right") - 1
        yield 1, np.unique(numbers[self._word_starts[offsets]])
        yield 2, np.unique(numbers)
        yield 3, np.array(self._fuzzy(folded.replace(" ", "")), np.int64)

    def _fuzzy(self, letters: str) -> list[int]:
        numbers = self._in_order(letters)
        if not numbers and len(letters) > 3:
            shorter = dict.fromkeys(letters[:typo] + letters[typo + 1 :] for typo in range(1, len(letters)))
            numbers = [number for part in shorter for number in self._in_order(part)]
        return numbers

    def _in_order(self, letters: str) -> list[int]:
        """Return the entries with the letters in order, in a range not much longer than the letters."""
        if not letters:
            return []
        mask = np.bitwise_or.reduce(_bits(letters))
        candidates = np.flatnonzero((self._masks & mask) == mask)[:COMPLETION_FUZZY]
        longest = 2 * len(letters) + 2
        return [number for number in candidates.tolist() if _extent(letters, self._folded[number]) <= longest]

    @cached_property
    def _masks(self) -> Masks:
        """A bit for each letter of a name, to skip most names that lack a letter at once."""
        if not len(self._starts):
            return np.zeros(0, np.uint64)
        masks: Masks = np.bitwise_or.reduceat(_bits(self._text), self._starts)
        return masks

    @cached_property
    def _word_starts(self) -> npt.NDArray[np.bool_]:
        """True for each offset of the text at which a word may begin."""
        codes = _codes(self._text)
        distinct, inverse = np.unique(codes, return_inverse=True)
        wordlike = np.array([chr(code).isalnum() for code in distinct.tolist()], np.bool_)
        return np.concatenate([[True], ~wordlike[inverse][:-1]])


class VaultCompleter:
    """Completes in one vault, always from the ledger's current revision.

    Notes that changed since the names were last sorted are completed beside them, until they are many.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._revision = -1
        self._ordered = Completer(())
        self._changed: dict[int, list[Entry]] = {}
        self._recent = Completer(())
        self._others: dict[Kind, Completer] = {}
        self._others_revision = -1

    def complete(
        self, kind: Kind, typed: str, limit: int, *, note: int | None = None, name: str | None = None
    ) -> list[JSON]:
        """Return completions of a kind: headings of ``note``, values of the property ``name``."""
        with self._lock:
            if kind == "note":
                matches = self._notes(typed, limit)
            elif kind == "heading":
                matches = Completer(self._headings(note)).complete(typed, limit)
            elif kind == "value":
                entries = _weighed(values(self._ledger, name or ""), "value")
                matches = Completer(entries).complete(typed, limit)
            else:
                matches = self._listed(kind).complete(typed.removeprefix("#"), limit)
        return [_as_json(match) for match in matches]

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
        for id in removed or ():
            self._changed[id] = []
        for id, path, title, aliases in self._ledger.select(_NAMES, before):
            self._changed[id] = list(_names(id, path, title, json.loads(aliases)))
        self._revision = revision
        if removed is None or len(self._changed) > COMPLETION_RECENT:
            rows = self._ledger.select(_NAMES, 0)
            self._ordered = Completer(
                entry
                for id, path, title, aliases in rows
                for entry in _names(id, path, title, json.loads(aliases))
            )
            self._changed = {}
        self._recent = Completer(entry for entries in self._changed.values() for entry in entries)

    def _headings(self, note: int | None) -> Iterator[Entry]:
        row = self._ledger.notes.by_id([note or 0]).get(note or 0)
        for heading in row.headings if row else ():
            yield Entry(heading.text, -heading.line, {"level": heading.level, "line": heading.line})

    def _listed(self, kind: Kind) -> Completer:
        revision = self._ledger.revision
        if revision != self._others_revision:
            self._others.clear()
            self._others_revision = revision
        if kind not in self._others:
            self._others[kind] = Completer(
                _weighed(tags(self._ledger), "tag", "total")
                if kind == "tag"
                else _weighed(properties(self._ledger), "name")
            )
        return self._others[kind]


def complete_blocks(blocks: Iterable[JSON], typed: str, limit: int) -> list[JSON]:
    """Return completions of the ids of blocks, each with ``id``, ``line`` and the text ``of`` the block."""
    entries = [
        Entry(block["id"], -block["line"], {"line": block["line"], "of": block["of"][:LINE_CHARS]})
        for block in blocks
    ]
    matches = Completer(entries).complete(typed.removeprefix("^"), limit)
    return [_as_json(match) for match in matches]


def _as_json(match: Match) -> JSON:
    return {"text": match.entry.text, "match": _GRADES[match.grade], **match.entry.more}


_GRADES = ("prefix", "word", "inside", "fuzzy")
_NAMES = "SELECT id, path, title, aliases FROM notes WHERE revision > ?"


def _names(note: int, path: str, title: str, aliases: Sequence[str]) -> Iterator[Entry]:
    file_name = path.rpartition("/")[2].removesuffix(".md")
    fields = {"path": path, "title": title, "note": note}
    yield Entry(file_name, 0.0, {**fields, "is": "name"})
    if fold(title) != fold(file_name):
        yield Entry(title, 0.0, {**fields, "is": "title"})
    for alias in aliases:
        yield Entry(alias, 0.0, {**fields, "is": "alias"})


def _without_id(entry: Entry) -> Entry:
    return entry._replace(more={key: value for key, value in entry.more.items() if key != "note"})


def _weighed(items: Iterable[JSON], name: str, count: str = "count") -> list[Entry]:
    return [Entry(item[name], item[count], {"count": item[count]}) for item in items]


def _codes(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _bits(text: str) -> Masks:
    codes = _codes(text)
    bits: Masks = np.left_shift(np.uint64(1), (codes % 64).astype(np.uint64))
    # Separators of names and words are never typed as letters.
    bits[(codes == 10) | (codes == 32)] = 0
    return bits


def _extent(letters: str, folded: str) -> float:
    """Return the length of the range with the letters in order, taken greedily; infinite if there is none."""
    first = last = folded.find(letters[0])
    for letter in letters[1:]:
        if last < 0:
            break
        last = folded.find(letter, last + 1)
    return last - first + 1 if last >= 0 else float("inf")
