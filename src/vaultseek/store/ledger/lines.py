"""Table of the forms of lines and properties by note. It shows which lines and properties many notes
share."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from vaultseek.store.ledger.database import Database, RowCache
from vaultseek.store.ledger.line_forms import Form, form_of, label_of

CACHED_LABELS, CACHED_PASSAGES = 2000, 2000
"""Number of labels whose `Spread` is cached between two commits, and number of passages whose shared lines
are cached."""
SPREAD_ROWS = 400
"""Maximum number of lines that are read for a label."""
LEAST_NOTES = 8
"""Minimum number of notes that must share a line for it to count as part of a template."""
SHARED_SHARE, SHARED_NOTES = 0.25, 300
"""Share of a vault's notes that must contain a line for previews to omit it, and the maximum number of notes
required for this."""


class Spread(NamedTuple):
    """Spread of a label in the vault: the number of notes with the label, and the number of lines with each
    value.

    At most ``SPREAD_ROWS`` lines are counted.
    """

    notes: int
    values: Mapping[int, int]

    @property
    def is_varied(self) -> bool:
        """True if there are more than half as many distinct values as lines, as with ``Decision: buy a
        kiln``."""
        return 2 * len(self.values) > sum(self.values.values())

    def rarity(self, value: int) -> float:
        """Return how rare ``value`` is among several notes with the label: 0 if all notes have it, 1 if only
        one has it."""
        return 1 - math.log(max(1, self.values.get(value, 0))) / math.log(self.notes)


class LineTable:
    """The table ``lines``, with the label and value of lines, names and properties, by note."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._spreads: RowCache[Spread] = database.cache(CACHED_LABELS)
        self._shared: RowCache[frozenset[str]] = database.cache(CACHED_PASSAGES)

    def add(self, notes: Iterable[tuple[int, Sequence[Sequence[int]]]]) -> None:
        """Add the forms of notes that have no forms in the table yet, given as pairs of note id and (label,
        value)."""
        rows = ((note, label, value) for note, lines in notes for label, value in lines)
        self._database.run_many("INSERT INTO lines (note, label, value) VALUES (?, ?, ?)", rows)

    def remove(self, note: int) -> None:
        """Delete the forms of a note."""
        self._database.run("DELETE FROM lines WHERE note = ?", note)

    def spreads(self, labels: Sequence[int]) -> dict[int, Spread]:
        """Return the `Spread` of each of the given labels. The spread is empty for labels with fewer than
        ``LEAST_NOTES`` lines."""
        return self._spreads.get_or_read(labels, self._read)

    def repeated(self, forms: Iterable[Form | None], least: int = LEAST_NOTES) -> set[Form]:
        """Return the ``forms`` that recur in the vault: at least ``least`` notes have the label, and the
        values recur in several notes or differ only in numbers."""
        wanted = {form for form in forms if form is not None}
        spreads = self.spreads([*{form.label for form in wanted}])
        return {form for form in wanted if _is_repeated(form, spreads[form.label], least)}

    def shared_in(self, texts: Iterable[str], notes: Callable[[], int]) -> frozenset[str]:
        """Return the lines of ``texts`` that many notes share, such as a footer, without surrounding white
        space. ``notes`` returns the number of notes in the vault."""
        shared = self._shared.get_or_read([*texts], lambda missing: self._shared_lines(missing, notes()))
        return frozenset().union(*shared.values())

    def _shared_lines(self, texts: Sequence[str], notes: int) -> dict[str, frozenset[str]]:
        least = max(LEAST_NOTES, math.ceil(min(SHARED_SHARE * notes, SHARED_NOTES)))
        lines = {text: {line.strip(): line for line in text.split("\n")} for text in texts}
        labels = {line: label_of(line) for of_text in lines.values() for line in of_text.values()}
        frequent = self._frequent([*{label for label in labels.values() if label is not None}], least)
        forms = {line: form_of(line) for line, label in labels.items() if label in frequent}
        repeated = self.repeated(forms.values(), least)
        return {
            text: frozenset(shown for shown, line in of_text.items() if forms.get(line) in repeated)
            for text, of_text in lines.items()
        }

    def _read(self, labels: Sequence[int]) -> dict[int, Spread]:
        spreads = dict.fromkeys(labels, _RARE)
        for label in self._frequent(labels, LEAST_NOTES):
            rows = self._database.all(_SPREAD, label, SPREAD_ROWS)
            spreads[label] = Spread(rows[0][2], {value: lines for value, lines, _ in rows})
        return spreads

    def _frequent(self, labels: Sequence[int], least: int) -> set[int]:
        """Return the labels that at least ``least`` lines have."""
        sql = (
            "SELECT column1 FROM (VALUES {}) AS labels"
            f" WHERE EXISTS (SELECT 1 FROM lines WHERE label = column1 LIMIT 1 OFFSET {least - 1})"
        )
        return {label for (label,) in self._database.all_in(sql, labels, "(?)")}


_RARE = Spread(0, {})
_SPREAD = (
    "WITH taken AS (SELECT note, value FROM lines WHERE label = ? LIMIT ?)"
    " SELECT value, count(*), (SELECT count(DISTINCT note) FROM taken) FROM taken GROUP BY value"
)
"""Statement that counts lines by value in SQLite, because reading each line's row takes longer."""


def _is_repeated(form: Form, spread: Spread, least: int) -> bool:
    if spread.notes < least or spread.is_varied:
        return False
    return all(not value or spread.values.get(value, 0) > 1 for value in form.values)
