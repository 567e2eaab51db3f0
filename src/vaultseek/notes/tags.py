"""The words of a vault that its writer chose: tags, and properties with their values."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from vaultseek.index.ledger import Ledger
from vaultseek.model import JSON
from vaultseek.text import fold

VALUES_SHOWN = 10
"""Of a property's values, the commonest."""


def tags(ledger: Ledger) -> list[JSON]:
    """Every tag: how many notes have it (``count``), and how many it or one nested under it (``total``)."""
    spelled: dict[str, Counter[str]] = defaultdict(Counter)
    count: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for (text,) in ledger.select("SELECT tags FROM notes WHERE tags != '[]'"):
        own = {fold(tag): tag for tag in json.loads(text)}
        for folded, tag in own.items():
            spelled[folded][tag] += 1
        count.update(own.keys())
        total.update({above for tag in own for above in _levels(tag)})
    return [
        {"tag": _usual(spelled[tag]) if tag in spelled else tag, "count": count[tag], "total": total[tag]}
        for tag in sorted(total)
    ]


def properties(ledger: Ledger) -> list[JSON]:
    """Every property: how many notes have it, the types of its values, and the commonest values."""
    spelled: dict[str, Counter[str]] = defaultdict(Counter)
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for name, value in _all(ledger):
        key = fold(name)
        spelled[key][name] += 1
        kinds[key][_kind(value)] += 1
        values[key].update(set(_texts(value)))
    return [
        {
            "name": _usual(spelled[key]),
            "count": spelled[key].total(),
            "types": dict(kinds[key].most_common()),
            "distinct": len(values[key]),
            "values": _counted(values[key])[:VALUES_SHOWN],
        }
        for key in sorted(spelled)
    ]


def values(ledger: Ledger, name: str) -> list[JSON]:
    """Every value of one property (elements of lists each) with its number of notes, the commonest first."""
    wanted = fold(name)
    found: Counter[str] = Counter()
    for key, value in _all(ledger):
        if fold(key) == wanted:
            found.update(set(_texts(value)))
    return _counted(found)


def _all(ledger: Ledger) -> Iterator[tuple[str, Any]]:
    for (text,) in ledger.select("SELECT properties FROM notes WHERE properties != '{}'"):
        yield from json.loads(text).items()


def _levels(tag: str) -> Iterator[str]:
    parts = tag.split("/")
    for size in range(1, len(parts) + 1):
        yield "/".join(parts[:size])


def _usual(spellings: Counter[str]) -> str:
    return min(spellings, key=lambda text: (-spellings[text], text))


def _kind(value: Any) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "text", list: "list", dict: "mapping"}
    return "null" if value is None else names.get(type(value), "text")


def _texts(value: Any) -> Iterator[str]:
    for element in value if isinstance(value, list) else [value]:
        if isinstance(element, bool):
            yield "true" if element else "false"
        elif isinstance(element, str | int | float):
            yield str(element)


def _counted(values: Counter[str]) -> list[JSON]:
    ordered = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    return [{"value": value, "count": count} for value, count in ordered]
