"""Tags, properties and values of a vault, counted note by note and kept up to date by the difference."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from vaultseek.base.text import fold
from vaultseek.core.notes.tags import commonest, levels, texts
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.changes import RemovalsPruned, changed_rows

_COLUMNS = "id, tags, properties"
_HAS_ANY = "(tags != '[]' OR properties != '{}')"
Spellings = dict[str, Counter[str]]


class Vocabulary:
    """The tags, property names and values of all notes, each with its number of notes.

    ``version`` is another after every change.
    """

    def __init__(self) -> None:
        self._revision = 0
        self._clear()

    def _clear(self) -> None:
        self.version = object()
        self._tags: dict[int, str] = {}
        self._properties: dict[int, str] = {}
        self._tag_totals: Counter[str] = Counter()
        self._tag_spellings: Spellings = defaultdict(Counter)
        self._names: Spellings = defaultdict(Counter)
        self._values: Spellings = defaultdict(Counter)

    def sync(self, ledger: Ledger) -> None:
        """Count what changed in the ledger."""
        revision = ledger.revision
        if revision == self._revision:
            return
        try:
            rows, removed = changed_rows(ledger, self._revision, _COLUMNS, _HAS_ANY)
        except RemovalsPruned:
            self._clear()
            rows, removed = changed_rows(ledger, 0, _COLUMNS, _HAS_ANY)
        for note in removed:
            self.remove(note)
        for row in rows:
            self.put(*row)
        self._revision = revision

    def put(self, note: int, tags: str, properties: str) -> None:
        """Count the tags and the properties of a note, both as JSON, instead of those counted before."""
        self._put_tags(note, tags)
        self._put_properties(note, properties)

    def remove(self, note: int) -> None:
        """Count a note no more."""
        self.put(note, "[]", "{}")

    def tags(self) -> Iterator[tuple[str, int]]:
        """Yield every tag and the number of notes with it or one nested under it."""
        for tag, total in sorted(self._tag_totals.items()):
            yield commonest(self._tag_spellings.get(tag), tag), total

    def properties(self) -> Iterator[tuple[str, int]]:
        """Yield the name of every property and the number of notes with it."""
        for key, spellings in sorted(self._names.items()):
            yield commonest(spellings, key), spellings.total()

    def values(self, name: str) -> Iterator[tuple[str, int]]:
        """Yield the values of a property and the number of notes with each, lists by element."""
        yield from self._values.get(fold(name), Counter()).items()

    def _put_tags(self, note: int, tags: str) -> None:
        before = self._tags.pop(note, "[]")
        if tags != "[]":
            self._tags[note] = tags
        if tags == before:
            return
        self.version = object()
        for text, by in ((before, -1), (tags, 1)):
            own = {fold(tag): tag for tag in json.loads(text)}
            for folded, tag in own.items():
                _count(self._tag_spellings, folded, [tag], by)
            for level in {level for tag in own for level in levels(tag)}:
                _add(self._tag_totals, level, by)

    def _put_properties(self, note: int, properties: str) -> None:
        before = self._properties.pop(note, "{}")
        if properties != "{}":
            self._properties[note] = properties
        if properties == before:
            return
        self.version = object()
        for text, by in ((before, -1), (properties, 1)):
            for name, value in json.loads(text).items():
                key = fold(name)
                _count(self._names, key, [name], by)
                _count(self._values, key, set(texts(value)), by)


def _count(counts: Spellings, key: str, items: Iterable[str], by: int) -> None:
    own = counts[key]
    for item in items:
        _add(own, item, by)
    if not own:
        del counts[key]


def _add(counter: Counter[str], item: str, by: int) -> None:
    counter[item] += by
    if not counter[item]:
        del counter[item]
