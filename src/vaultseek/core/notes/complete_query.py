"""Complete the filter at the end of a query, before the cursor."""

import re
from collections.abc import Iterable

from vaultseek.base.model import JSON
from vaultseek.base.text import in_quotes, quoted_value
from vaultseek.content.kinds import KINDS
from vaultseek.content.query.operators import ABOUT, PERIODS, STATES
from vaultseek.core.notes.complete import VaultCompleter

_UNFINISHED = re.compile(
    r"""(?:^|(?<=[\s(]))-?
    (?: \[ (?P<property>[^\]:]*) (?: : (?P<value>"[^"]*|[^\]]*) )?
      | (?P<operator>[a-z-]+) : (?P<typed>\#[^\s()"]*|"[^"]*|[^\s()"]*)
      | (?P<name>[a-z][a-z-]*)? )$""",
    re.IGNORECASE | re.VERBOSE,
)


def complete_query(before: str, completer: VaultCompleter, limit: int) -> list[JSON]:
    """Return completions for the end of ``before``, the query up to the cursor, most likely first.

    Each completion replaces the last ``replaces`` characters: for ``pump tag:wo``, ``work`` replaces two
    characters. An empty query gets every operator.
    """
    match = _UNFINISHED.search(before)
    if match is None or (before and match[0] in ("", "-")):
        return []
    name, value, operator = match["property"], match["value"], (match["operator"] or "").lower()
    typed = match["typed"] or ""
    bare = typed.lstrip('"')
    if value is not None:
        found = completer.complete("value", value.lstrip('"'), limit, name=name)
        return [
            {**item, "text": f"{_property_value(item['text'])}]", "replaces": len(value)}
            for item in found
            if "\n" not in item["text"]
        ]
    if name is not None:
        found = completer.complete("property", name, limit)
        return [{**item, "text": f"{item['text']}:", "replaces": len(name)} for item in found]
    if operator == "tag":
        typed = typed.removeprefix("#")
        found = completer.complete("tag", typed, limit)
        return [{**item, "text": item["text"].removeprefix("#"), "replaces": len(typed)} for item in found]
    if operator == "link":
        found = completer.complete("note", bare, limit)
    elif operator == "heading":
        found = completer.complete_parts("heading", bare, limit)
    elif operator == "path":
        found = completer.complete_folders(bare, limit)
    elif operator == "ext":
        found = completer.complete_extensions(bare, limit)
    elif operator in _VALUES:
        found = _beginning(_VALUES[operator], bare)
    else:
        typed = match["name"] or ""
        found = [
            {"text": f"{each}:", "match": "prefix", "is": "operator", "about": ABOUT[each]}
            for each in ABOUT
            if each.startswith(typed.lower()) and not operator
        ]
        return [{**item, "replaces": len(typed)} for item in found[:limit]]
    return [{**item, "text": quoted_value(item["text"]), "replaces": len(typed)} for item in found[:limit]]


_VALUES = {
    "kind": KINDS,
    "is": STATES,
    **dict.fromkeys(("created", "modified", "before", "after"), PERIODS),
}
"""Values of operators that are the same in every vault."""


def _beginning(values: Iterable[str], typed: str) -> list[JSON]:
    return [{"text": value, "match": "prefix"} for value in values if value.startswith(typed.lower())]


_MEANS_MORE = re.compile(r'[\[\]()"]|\sOR\s|\A[<>/]|\Anull\Z')
"""Characters that end a property's value, or make it something other than plain text."""


def _property_value(value: str) -> str:
    return in_quotes(value) if _MEANS_MORE.search(value) else value
