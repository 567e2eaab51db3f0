"""Keep the names, tags, properties and property values of a vault, with their note counts, in sync with the
ledger.
"""

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from vaultseek.base.model import JSON
from vaultseek.base.text import fold
from vaultseek.core.notes.completer import GRADES, Completer, Match, Named
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.changes import changed_rows

COMMON_VALUES = 10
"""Number of most common values listed for each property."""


def levels(tag: str) -> Iterator[str]:
    """Yield a tag and the tags under which it is nested, outermost first."""
    parts = tag.split("/")
    for size in range(1, len(parts) + 1):
        yield "/".join(parts[:size])


def commonest(spellings: Counter[str], default: str) -> str:
    """Return the most common spelling; in a tie, the alphabetically first; ``default`` if there are no
    spellings.
    """
    return min(spellings, key=lambda text: (-spellings[text], text)) if spellings else default


_KINDS = {type(None): "null", bool: "boolean", int: "number", float: "number", list: "list", dict: "mapping"}
"""Map from Python type to the name of the property type; values of all other types count as text."""


def texts(value: Any) -> Iterator[str]:
    """Yield the value of a property as text: each element of a list, or else the value itself."""
    for element in value if isinstance(value, list) else [value]:
        if isinstance(element, bool):
            yield "true" if element else "false"
        elif isinstance(element, str | int | float):
            yield str(element)


_COLUMNS = "id, tags, properties"
_HAS_ANY = "(tags != '[]' OR properties != '{}')"
Spellings = dict[str, Counter[str]]


class Vocabulary:
    """The tags, property names and property values of all notes, each with its number of notes.

    ``version`` changes with every change of the content.
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
        self._kinds: Spellings = defaultdict(Counter)
        self._values: Spellings = defaultdict(Counter)

    def sync(self, ledger: Ledger) -> None:
        """Update the counts from the changes in the ledger."""
        revision = ledger.revision
        if revision == self._revision:
            return
        rows, removed = changed_rows(ledger, self._revision, _COLUMNS, _HAS_ANY)
        if removed is None:
            self._clear()
        for note in removed or ():
            self.put(note, "[]", "{}")
        for row in rows:
            self.put(*row)
        self._revision = revision

    def put(self, note: int, tags: str, properties: str) -> None:
        """Count the new tags and properties of a note instead of its previous ones. Both are JSON text."""
        self._put_tags(note, tags)
        self._put_properties(note, properties)

    def tags(self) -> list[JSON]:
        """Return every tag with two counts: ``count`` for notes with the tag, and ``total`` for notes with
        the tag or a tag nested under it.
        """
        return [
            {"tag": commonest(spellings, tag), "count": spellings.total(), "total": total}
            for tag, total in sorted(self._tag_totals.items())
            for spellings in (self._tag_spellings.get(tag, Counter()),)
        ]

    def names(self) -> Iterator[tuple[str, int]]:
        """Yield the name of every property with the number of notes that have it."""
        for key, spellings in sorted(self._names.items()):
            yield commonest(spellings, key), spellings.total()

    def properties(self) -> list[JSON]:
        """Return every property with the number of notes that have it, its value types and its most common
        values.
        """
        return [
            {
                "name": commonest(spellings, key),
                "count": spellings.total(),
                "types": dict(self._kinds[key].most_common()),
                "distinct": len(self._values.get(key, ())),
                "values": self.values(key)[:COMMON_VALUES],
            }
            for key, spellings in sorted(self._names.items())
        ]

    def values(self, name: str) -> list[JSON]:
        """Return the values of a property with their note counts, most common first. The elements of a list
        are counted separately.
        """
        counts = self._values.get(fold(name), Counter())
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return [{"value": value, "count": count} for value, count in ordered]

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
                _count(self._kinds, key, [_KINDS.get(type(value), "text")], by)
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


RECENT_NOTES = 500
"""Maximum number of changed notes whose names are kept outside the ranked list, unless ``RECENT_PART`` allows
more.

If more notes have changed, their names are merged into the ranked list. Merging is slow."""
RECENT_PART = 16
"""Divisor of the number of ranked names. If the quotient is above ``RECENT_NOTES``, as in a large vault, it
replaces that limit."""

NamesOfRow = Callable[..., Iterable[Named]]
"""Function that returns the names of a note, given its id and its other columns."""


class SyncedNames:
    """Names derived from the ``columns`` of each note, at the ledger's current revision.

    Notes that do not satisfy the SQL ``condition`` have no names here.
    """

    def __init__(
        self, ledger: Ledger, columns: str, names: NamesOfRow, condition: str = "1 = 1", grades: int = GRADES
    ) -> None:
        self._ledger = ledger
        self._columns = columns
        self._names = names
        self._condition = condition
        self._grades = grades
        self._lock = threading.Lock()
        self._ranking = threading.Lock()
        self._revision = 0
        self._ranked = Completer(())
        self._changed: dict[int, list[Named]] = {}
        self._recent = Completer(())

    @property
    def crowded(self) -> bool:
        """True if so many notes have changed that their names should be ranked."""
        return len(self._changed) > max(RECENT_NOTES, len(self._ranked) // RECENT_PART)

    def complete(self, typed: str, limit: int, grades: int | None = None) -> list[Match]:
        """Return the best completions of the typed text. Matches beyond the first ``grades`` grades are left
        out."""
        grades = grades or self._grades
        with self._lock:
            self._sync()
            ranked = self._ranked.complete(typed, limit, without=self._changed, grades=grades)
            recent = self._recent.complete(typed, limit, grades=grades)
        return sorted((*ranked, *recent), key=lambda match: (match.grade, len(match.entry.text)))[:limit]

    def rank_recent(self) -> None:
        """Read the names if necessary, and rank the names of changed notes if there are many.

        This is slow in a large vault, but does not block completion requests.
        """
        with self._ranking:
            with self._lock:
                self._sync()
                ranked, changed = self._ranked, dict(self._changed)
                if not self.crowded:
                    return
            names = (name for names in changed.values() for name in names)
            merged = ranked.merged(names, without=changed.keys())
            with self._lock:
                if self._ranked is ranked:
                    self._ranked = merged
                    later = self._changed.items()
                    self._set_changed(
                        {note: names for note, names in later if names is not changed.get(note)}
                    )

    def _sync(self) -> None:
        revision = self._ledger.revision
        if revision == self._revision:
            return
        rows, removed = changed_rows(self._ledger, self._revision, self._columns, self._condition)
        names = {row[0]: list(self._names(*row)) for row in rows}
        if removed is not None:
            self._set_changed({**self._changed, **{note: [] for note in removed}, **names})
        else:
            self._ranked = Completer(name for own in names.values() for name in own)
            self._set_changed({})
        self._revision = revision

    def _set_changed(self, changed: dict[int, list[Named]]) -> None:
        self._changed = changed
        self._recent = Completer(name for names in changed.values() for name in names)
