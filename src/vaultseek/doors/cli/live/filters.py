"""Filters that narrow a live search: completions of a typed filter, or suggestions from the results."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from vaultseek.base.model import JSON
from vaultseek.content.kinds import KINDS
from vaultseek.doors.cli.completion_values import note_count
from vaultseek.doors.cli.terminal import clean, count

OFFERED = 8
"""Number of tags, and of folders, suggested from the results."""

Complete = Callable[[str, JSON], Awaitable[Sequence[JSON]]]
"""A function that completes a name, given its kind and further parameters of ``complete``."""


class Suggestion(NamedTuple):
    """A text that replaces the ``replaced`` characters before the cursor, and its meaning."""

    text: str
    replaced: int
    about: str


_TAG = re.compile(r"(?:^|(?<=[\s(]))-?tag:#?([^\s()]*)$")
_PROPERTY = re.compile(r"(?:^|(?<=[\s(]))-?\[([^\]:]*)$")
_VALUE = re.compile(r'(?:^|(?<=[\s(]))-?\[([^\]:]+):("[^"]*|[^\]]*)$')
_LINK = re.compile(r'(?:^|(?<=[\s(]))-?link:("[^"]*|[^\s()"]*)$')
_KIND = re.compile(r"(?:^|(?<=[\s(]))-?kind:(\w*)$")
_PATH = re.compile(r'(?:^|(?<=[\s(]))-?path:("[^"]*|[^\s()"]*)$')


async def suggest(before: str, results: Sequence[JSON], complete: Complete) -> list[Suggestion]:
    """Return the suggestions for Tab after the text ``before``, best first."""
    if match := _TAG.search(before):
        items = await complete("tag", {"text": match[1]})
        return list(_named(items, match[1], "{}"))
    if match := _VALUE.search(before):
        items = await complete("value", {"text": match[2].lstrip('"'), "property": match[1]})
        return [
            Suggestion(f"{_property_value(_text(item))}]", len(match[2]), note_count(item)) for item in items
        ]
    if match := _PROPERTY.search(before):
        return list(_named(await complete("property", {"text": match[1]}), match[1], "{}:"))
    if match := _LINK.search(before):
        items = await complete("note", {"text": match[1].strip('"')})
        return [
            Suggestion(quoted(_text(item)), len(match[1]), clean(item.get("path") or "")) for item in items
        ]
    if match := _KIND.search(before):
        kinds = [kind for kind in KINDS if kind.startswith(match[1].lower())]
        return [Suggestion(kind, len(match[1]), "") for kind in kinds]
    if match := _PATH.search(before):
        typed = match[1].strip('"').casefold()
        folders = ((folder, many) for folder, many in _folders(results) if typed in folder.casefold())
        return [Suggestion(quoted(folder), len(match[1]), count(many, "note")) for folder, many in folders]
    return list(_narrowing(before, results))


def quoted(value: str) -> str:
    """Return a value as written after an operator."""
    return _in_quotes(value) if re.search(r"[\s()\"]", value) else value


_MEANS_MORE = re.compile(r'[\[\]()"]|\sOR\s|\A[<>/]|\Anull\Z')
"""Characters that end a property's value or give it another meaning than plain text."""


def _property_value(value: str) -> str:
    return _in_quotes(value) if _MEANS_MORE.search(value) else value


def _in_quotes(value: str) -> str:
    escaped = value.replace('"', '\\"')
    return f'"{escaped}"'


def _named(items: Sequence[JSON], typed: str, form: str) -> Iterator[Suggestion]:
    for item in items:
        yield Suggestion(form.format(_text(item).removeprefix("#")), len(typed), note_count(item))


def _text(item: JSON) -> str:
    return clean(item.get("text") or "")


def _narrowing(before: str, results: Sequence[JSON]) -> Iterator[Suggestion]:
    """Yield the filters passed by some but not all of the results, most frequent first."""
    space = " " if before and not before.endswith((" ", "(")) else ""
    kinds = _counted([{result.get("kind") or "note"} for result in results])
    tags = _counted([set(chain(*map(_ancestors, result.get("tags") or ()))) for result in results])
    filters = [(f"kind:{kind}", many) for kind, many in kinds]
    filters += [(f"tag:{tag}", many) for tag, many in tags[:OFFERED]]
    filters += [(f"path:{quoted(folder)}", many) for folder, many in _folders(results)[:OFFERED]]
    for text, many in filters:
        if text not in before.split():
            yield Suggestion(space + text, 0, count(many, "note"))


def _folders(results: Sequence[JSON]) -> list[tuple[str, int]]:
    folders = [str(result.get("path") or "").rpartition("/")[0] for result in results]
    return _counted([{f"{above}/" for above in _ancestors(folder)} for folder in folders])


def _ancestors(name: str) -> Iterator[str]:
    """Yield ``a`` and ``a/b`` for ``a/b``."""
    parts = clean(name).removeprefix("#").split("/")
    yield from ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1) if parts[0])


def _counted(names: Sequence[set[str]]) -> list[tuple[str, int]]:
    counts = Counter(name for each in names for name in each)
    narrowing = [(name, many) for name, many in counts.items() if many < len(names)]
    return sorted(narrowing, key=lambda pair: (-pair[1], pair[0]))
