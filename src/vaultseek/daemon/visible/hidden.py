"""Notes and files that must be hidden from agents."""

from contextvars import ContextVar

from vaultseek.base.model import NOT_EMBEDDED
from vaultseek.base.text import fold
from vaultseek.base.zone import client_zone, machine_zone
from vaultseek.content.query.hide import Hidden, read_hidden
from vaultseek.errors import BadQuery, Forbidden
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.filter import filter_notes

HIDE: ContextVar[tuple[str, ...]] = ContextVar("hide", default=())
"""The value of ``[agents] hide`` while an agent's request is being answered."""

_HARMLESS = (NOT_EMBEDDED, "byte_order_mark", "bad_character", "query", "bad_base")
"""Codes of problems that do not affect a note's tags, properties and text."""


def current_hidden() -> Hidden:
    """Return the folders and filters that hide notes from the current client. Days in the filters are in this
    machine's time zone."""
    before = client_zone.set(machine_zone())
    try:
        return read_hidden(HIDE.get())
    finally:
        client_zone.reset(before)


def paths_hidden_by(entry: str, ledger: Ledger) -> frozenset[str]:
    """Return the paths of files hidden by one entry of ``[agents] hide``. Raises Forbidden if they cannot be
    determined."""
    return hidden_paths(read_hidden((entry,)), ledger)


def hidden_paths(hidden: Hidden, ledger: Ledger) -> frozenset[str]:
    """Return the paths of hidden files. Raises Forbidden if they cannot be determined."""
    paths: set[str] = set()
    if hidden.folders:
        known = (path for table in _TABLES for (path,) in ledger.select(f"SELECT path FROM {table}"))
        paths.update(path for path in known if fold(path).startswith(hidden.folders))
    if hidden.filter is not None:
        paths.update(ledger.paths_of(_satisfying(hidden, ledger)).values())
        # A note that was not read completely might match the filter.
        marks = ", ".join("?" * len(_HARMLESS))
        sql = f"SELECT DISTINCT path FROM problems WHERE of_scan = 0 AND code NOT IN ({marks})"
        paths.update(path for (path,) in ledger.select(sql, *_HARMLESS))
    return frozenset(paths)


_TABLES = ("notes", "attachments", "problems")
"""Tables with a column of paths."""


def _satisfying(hidden: Hidden, ledger: Ledger) -> list[int]:
    before = client_zone.set(machine_zone())
    try:
        found = filter_notes(hidden.filter, ledger)
    except BadQuery:
        raise Forbidden(
            "cannot determine which notes agents may see; ask the user to check [agents]"
        ) from None
    finally:
        client_zone.reset(before)
    return [] if found is None else found.ids.tolist()
