"""The currency of notes in all answers except search answers, which already contain it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vaultseek.base.currency import Rules
from vaultseek.base.model import JSON
from vaultseek.base.when import present
from vaultseek.core.search.currency import currency_of_paths
from vaultseek.store.ledger import Ledger


class Listed(NamedTuple):
    """The keys that lead to the notes in an answer, and the name of the field with a note's path."""

    keys: Sequence[str] = ()
    path: str = "path"


LISTED: Mapping[str, Listed] = {
    "note/get": Listed(),
    "note/related": Listed(["results"]),
    "links/outgoing": Listed(["links"], "resolved"),
    "links/backlinks": Listed(["links"]),
    "links/unlinked": Listed(["mentions"]),
    "graph/neighbors": Listed(["notes"]),
    "graph/path": Listed(["routes"]),
    "search/why": Listed(),
    "vault/duplicates": Listed(["pairs", "notes"]),
    "vault/orphans": Listed(["notes"]),
    "vault/table": Listed(["tables", "rows"]),
}
"""Map from method name to the keys that lead to the notes in the method's answer."""


def add_currency(method: str, answer: JSON, ledger: Ledger, rules: Rules) -> None:
    """Add ``currency`` to an answer about a note that is not current, and to each listed note that is not
    current."""
    listed = LISTED[method]
    items = _objects(answer, listed.keys) if listed.keys else ()
    notes = [(answer, answer.get("path")), *((item, item[listed.path]) for item in items)]
    paths = (path for _, path in notes if path)
    currencies = currency_of_paths(paths, ledger, rules, present().date().isoformat())
    for note, path in notes:
        if path in currencies:
            note["currency"] = currencies[path].as_json()


def _objects(value: Any, keys: Sequence[str]) -> Iterator[JSON]:
    """Yield the objects to which ``keys`` lead, going through every item of each list."""
    if isinstance(value, list):
        for each in value:
            yield from _objects(each, keys)
    elif keys:
        yield from _objects(value[keys[0]], keys[1:])
    else:
        yield value
