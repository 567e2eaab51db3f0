"""The places of properties that a search shows: their lines in the files, which the index does not keep."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from vaultseek.base.model import JSON
from vaultseek.base.text import fold
from vaultseek.core.notes.read import lines_of
from vaultseek.errors import NotFound, Unavailable


def with_property_places(answer: JSON, root: Path) -> JSON:
    """Return the answer to a search with the true line and column of each property that it shows.

    Those of a note that cannot be read stay as they are, which is what the properties' order tells.
    """
    for result in answer["results"]:
        if result.get("property"):
            try:
                place = _place(lines_of(result["path"], root), result)
            except (NotFound, Unavailable):
                continue
            if place is not None:
                line, column = place
                result |= {"line": line, "column": column, "end_line": max(line, result["end_line"])}
    return answer


def _place(lines: Sequence[str], result: JSON) -> tuple[int, int] | None:
    """Return line and column, from 1, of the words that match in a property; of its name if they are not
    found."""
    end = next((row for row in range(1, len(lines)) if lines[row].rstrip() == "---"), len(lines))
    name = fold(result["property"])
    keys = {row: fold(match[1].strip("\"'")) for row in range(1, end) if (match := _KEY.match(lines[row]))}
    start = next((row for row, key in keys.items() if key == name), None)
    if start is None:
        return None
    rows = [start, *takewhile(lambda row: row not in keys, range(start + 1, end))]
    words = [result["preview"][low:high] for low, high in result["highlights"]]
    # The name is a word as good as any, but the value says more.
    for word in sorted(words, key=lambda word: fold(word) == name):
        for row in rows:
            if (
                column := lines[row].find(word, len(name) + 1 if row == start and fold(word) != name else 0)
            ) >= 0:
                return row + 1, column + 1
    return start + 1, 1


_KEY = re.compile(r"(\"[^\"]*\"|'[^']*'|[^\s#\-\[\]{}\"'][^:]*?)\s*:(?:\s|$)")
