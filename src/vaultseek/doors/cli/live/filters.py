"""Suggestions for the Tab key in a live search: the rest of a filter, or filters that narrow the results."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from vaultseek.base.model import JSON
from vaultseek.base.text import quoted_value
from vaultseek.doors.cli.completion_values import about
from vaultseek.doors.cli.terminal import clean, count

OFFERED = 8
"""Maximum number of tags, and of folders, suggested from the results."""

Complete = Callable[[str], Awaitable[Sequence[JSON]]]
"""A function that returns completions for the end of a query."""


class Suggestion(NamedTuple):
    """Suggested text, the number of characters before the cursor that it replaces, and its meaning."""

    text: str
    replaced: int
    about: str


async def suggest(before: str, results: Sequence[JSON], complete: Complete) -> list[Suggestion]:
    """Return suggestions for the Tab key, best first; ``before`` is the text before the cursor."""
    items = await complete(before) if before.strip() else ()
    suggested = [Suggestion(clean(item["text"]), item["replaces"], about(item)) for item in items]
    return suggested or list(_narrowing(before, results))


def _narrowing(before: str, results: Sequence[JSON]) -> Iterator[Suggestion]:
    """Yield filters that match some, but not all, results; the most frequent first."""
    space = " " if before and not before.endswith((" ", "(")) else ""
    kinds = _counted([{result.get("kind") or "note"} for result in results])
    tags = _counted([set(chain(*map(_ancestors, result.get("tags") or ()))) for result in results])
    folders = [str(result.get("path") or "").rpartition("/")[0] for result in results]
    folders_above = _counted([{f"{above}/" for above in _ancestors(folder)} for folder in folders])
    filters = [(f"kind:{kind}", many) for kind, many in kinds]
    filters += [(f"tag:{tag}", many) for tag, many in tags[:OFFERED]]
    filters += [(f"path:{quoted_value(folder)}", many) for folder, many in folders_above[:OFFERED]]
    for text, many in filters:
        if text not in before.split():
            yield Suggestion(space + text, 0, count(many, "note"))


def _ancestors(name: str) -> Iterator[str]:
    """Yield a path and all paths above it, shortest first: ``a`` and ``a/b`` for ``a/b``."""
    parts = clean(name).removeprefix("#").split("/")
    yield from ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1) if parts[0])


def _counted(names: Sequence[set[str]]) -> list[tuple[str, int]]:
    counts = Counter(name for each in names for name in each)
    narrowing = [(name, many) for name, many in counts.items() if many < len(names)]
    return sorted(narrowing, key=lambda pair: (-pair[1], pair[0]))
