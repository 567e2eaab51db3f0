"""Tags, properties and values of a vault, counted note by note and kept up to date by the difference."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from vaultseek.base.model import JSON
from vaultseek.base.text import fold
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.changes import RemovalsPruned, changed_rows

COMMON_VALUES = 10
"""Values listed with each property, the commonest."""


def tags(ledger: Ledger) -> list[JSON]:
    """Return every tag: the notes that have it (``count``), and those with it or a nested one (``total``)."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    count: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for (text,) in ledger.select("SELECT tags FROM notes WHERE tags != '[]'"):
        own = {fold(tag): tag for tag in json.loads(text)}
        for folded, tag in own.items():
            spellings[folded][tag] += 1
        count.update(own.keys())
        total.update({level for tag in own for level in levels(tag)})
    return [
        {"tag": commonest(spellings.get(tag), tag), "count": count[tag], "total": total[tag]}
        for tag in sorted(total)
    ]


def properties(ledger: Ledger) -> list[JSON]:
    """Return every property with its number of notes, the types of its values, and its commonest values."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for name, value in _all_properties(ledger):
        key = fold(name)
        spellings[key][name] += 1
        kinds[key][_kind(value)] += 1
        values[key].update(set(texts(value)))
    return [
        {
            "name": commonest(spellings[key], key),
            "count": spellings[key].total(),
            "types": dict(kinds[key].most_common()),
            "distinct": len(values[key]),
            "values": _by_count(values[key])[:COMMON_VALUES],
        }
        for key in sorted(spellings)
    ]


def values(ledger: Ledger, name: str) -> list[JSON]:
    """Return the values of a property with their numbers of notes, commonest first; lists by element."""
    folded = fold(name)
    counts: Counter[str] = Counter()
    for key, value in _all_properties(ledger):
        if fold(key) == folded:
            counts.update(set(texts(value)))
    return _by_count(counts)


def _all_properties(ledger: Ledger) -> Iterator[tuple[str, Any]]:
    for (text,) in ledger.select("SELECT properties FROM notes WHERE properties != '{}'"):
        yield from json.loads(text).items()


def levels(tag: str) -> Iterator[str]:
    """Yield a tag and the tags that it is nested under, outermost first."""
    parts = tag.split("/")
    for size in range(1, len(parts) + 1):
        yield "/".join(parts[:size])


def commonest(spellings: Counter[str] | None, default: str) -> str:
    """Return the commonest spelling, the first by alphabet of several; ``default`` if there is none."""
    return min(spellings, key=lambda text: (-spellings[text], text)) if spellings else default


def _kind(value: Any) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "text", list: "list", dict: "mapping"}
    return "null" if value is None else names.get(type(value), "text")


def texts(value: Any) -> Iterator[str]:
    """Yield the value of a property as texts: the elements of a list, else the value itself."""
    for element in value if isinstance(value, list) else [value]:
        if isinstance(element, bool):
            yield "true" if element else "false"
        elif isinstance(element, str | int | float):
            yield str(element)


def _by_count(counts: Counter[str]) -> list[JSON]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [{"value": value, "count": count} for value, count in ordered]


# -- vocabulary

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
