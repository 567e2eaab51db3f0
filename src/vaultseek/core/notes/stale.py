"""List notes to tidy up: notes that are outdated, or whose statements about their successors conflict."""

from collections.abc import Iterator

from vaultseek.base.currency import Rules
from vaultseek.base.model import JSON
from vaultseek.core.search.currency import Currency, currency_of
from vaultseek.store.ledger import Ledger, NoteRow
from vaultseek.store.ledger.filter import outdated

ORDER = ("circle", "missing", "past_date", "link")
"""Kinds of items in the list, in the order in which the list shows them."""


def stale(ledger: Ledger, rules: Rules, today: str, limit: int) -> JSON:
    """Return a list of things to tidy up, with their total number.

    The list has notes past their end date, notes whose successor is missing, cycles of successors, and notes
    that link to superseded notes. Only the first ``limit`` items are listed; ``total`` counts all of them.
    """
    rows = ledger.notes.by_id(sorted(outdated(rules, ledger)))
    notes = {row.path: row for row in rows.values()}
    currencies = currency_of(list(notes.values()), ledger, rules, today)
    items = [*_own(notes, currencies), *_links(notes, currencies, ledger)]
    items.sort(key=lambda item: (ORDER.index(item["kind"]), item["path"], item["line"] or 0))
    return {"items": items[:limit], "total": len(items)}


def _own(notes: dict[str, NoteRow], currencies: dict[str, Currency]) -> Iterator[JSON]:
    for path, currency in currencies.items():
        kinds = {"circle": currency.is_circular, "missing": currency.missing, "past_date": currency.since}
        for kind, is_so in kinds.items():
            if is_so:
                yield _item(kind, notes[path], None, currency)


def _links(notes: dict[str, NoteRow], currencies: dict[str, Currency], ledger: Ledger) -> Iterator[JSON]:
    """Yield an item for each link from the text of a current note to a superseded note.

    Links from a successor to the note that it replaces are left out.
    """
    superseded = [path for path, each in currencies.items() if each.state == "superseded"]
    links = [
        link
        for link in ledger.links.to_paths(superseded)
        if link.resolved is not None
        and link.link.property is None
        and link.source not in currencies
        and link.source not in {row.path for row in currencies[link.resolved].by}
    ]
    sources = ledger.notes.by_id(sorted({link.note for link in links}))
    for link in links:
        if link.note in sources and link.resolved is not None:
            to = notes[link.resolved]
            yield _item("link", sources[link.note], to, currencies[link.resolved], link.link.line)


def _item(
    kind: str, row: NoteRow, target: NoteRow | None, currency: Currency, line: int | None = None
) -> JSON:
    text = currency.text
    if kind == "past_date":
        text = f"stale since {currency.since}"
    elif target is not None:
        text = f"links to {target.title}: {text}"
    return {
        "kind": kind,
        "path": row.path,
        "title": row.title,
        "line": line,
        "target": None if target is None else {"path": target.path, "title": target.title},
        "currency": currency.as_json(),
        "text": text,
    }
