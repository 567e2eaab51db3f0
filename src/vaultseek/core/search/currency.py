"""Determine whether results are current: find superseded notes, their successors, and notes past their end
date.

A note's statements about its own status are read when the note is indexed. A search looks up only the
successors of its results, following each chain of successors to its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vaultseek.base import limits
from vaultseek.base.currency import Rules, State, is_past
from vaultseek.base.model import JSON
from vaultseek.base.when import present
from vaultseek.core.search.lanes import Evidence
from vaultseek.core.search.ranking import Candidate
from vaultseek.core.search.signals import notes_called
from vaultseek.store.keyword.answer import those_within
from vaultseek.store.ledger import Ledger, NoteRow
from vaultseek.store.ledger.successions import Successor

CHAIN = 20
"""Maximum number of steps followed in a chain of successors."""
NAMED = 3
"""Maximum number of successors listed in a remark."""

Successors = Mapping[str, Sequence[Successor]]
"""Map from the path of a note to its direct successors."""


@dataclass(frozen=True, slots=True)
class Currency:
    """The reason why a note is not current: other notes have replaced it, or it states a status or an end
    date.

    ``by`` are the notes at the end of the note's chain of successors. ``missing`` are successors that do not
    exist. ``is_circular`` is true if the chain leads back to the note. The state ``struck`` is for a passage
    struck out in a current note, ``successor`` for a note that ``replaces`` other results.
    """

    state: State | Literal["struck", "successor"]
    by: tuple[NoteRow, ...] = ()
    missing: tuple[str, ...] = ()
    since: str | None = None
    reason: str = ""
    is_circular: bool = False
    replaces: tuple[NoteRow, ...] = ()
    title: str = ""
    """Title of the note itself. Another note with the same title is shown by its path instead."""

    @property
    def text(self) -> str:
        """A short explanation of why the note is not current."""
        if self.replaces:
            return f"replaces {_titles(self.replaces, self.title)}"
        if self.by:
            circle = ", which it in turn supersedes" if self.is_circular else ""
            return f"superseded by {_titles(self.by, self.title)}{circle}"
        if self.missing:
            return f"superseded by {_listed(self.missing[:NAMED])}, which is missing"
        return self.reason or f"stale since {self.since}"

    def as_json(self) -> JSON:
        """Return the reason as a JSON object for answers."""
        return {
            "state": self.state,
            "by": [{"path": row.path, "title": row.title} for row in self.by],
            "replaces": [{"path": row.path, "title": row.title} for row in self.replaces],
            "missing": list(self.missing),
            "since": self.since,
            "text": self.text,
        }


def currency_of_line(line: int, row: NoteRow) -> Currency | None:
    """Return the reason why a line in a current note is no longer valid; None unless it is struck out."""
    for first, last in row.stated.struck:
        if first <= line <= last:
            lines = f"line {first} is" if first == last else f"lines {first} to {last} are"
            return Currency("struck", reason=f"{lines} struck out")
    return None


def currency_of(rows: Sequence[NoteRow], ledger: Ledger, rules: Rules, today: str) -> dict[str, Currency]:
    """Return a dict from the path of each outdated note to its ``Currency``.

    ``today`` is an ISO date; current notes are left out.
    """
    successors = _read_successors(rows, ledger)
    last = {row.path: last_successors(row.path, successors) for row in rows if row.path in successors}
    paths = {path for each, _ in last.values() for path in each}
    found = {row.path: row for row in ledger.notes.by_id(_ids(paths, ledger)).values()}
    currencies: dict[str, Currency] = {}
    for row in rows:
        since = row.stated.until if is_past(row.stated, today) else None
        reason = rules.reason(row.stated, row.path, row.tags)
        if row.path in last:
            by, is_circular = last[row.path]
            missing = tuple(each.target for each in successors[row.path] if each.path is None)
            known = tuple(found[path] for path in by if path in found)
            currencies[row.path] = Currency(
                "superseded", known, missing, since, reason or "superseded", is_circular, title=row.title
            )
        elif reason is not None:
            currencies[row.path] = Currency("superseded", since=since, reason=reason)
        elif since is not None:
            currencies[row.path] = Currency("stale", since=since)
    return currencies


def currency_of_paths(paths: Iterable[str], ledger: Ledger, rules: Rules, today: str) -> dict[str, Currency]:
    """Return a dict from the path of each outdated note among ``paths`` to its ``Currency``.

    Current and missing notes are left out.
    """
    rows = ledger.notes.by_id(_ids(paths, ledger))
    return currency_of(list(rows.values()), ledger, rules, today)


def last_successors(path: str, successors: Successors) -> tuple[list[str], bool]:
    """Follow all chains of successors from the note at ``path``. Return their last notes, and whether all
    chains lead back to the note.

    If a chain enters a cycle, its last note is the one whose successor closes the cycle. If all chains lead
    back to the note, its direct successors are returned instead of last notes.
    """
    last: list[str] = []
    seen = {path}
    direct = [each.path for each in successors.get(path, ()) if each.path is not None]
    ahead = list(dict.fromkeys(direct))
    is_circular = False
    while ahead:
        note = ahead.pop(0)
        if note in seen:
            continue
        seen.add(note)
        following = [each.path for each in successors.get(note, ()) if each.path is not None]
        onward = [each for each in following if each not in seen]
        if path in following:
            is_circular = True
        elif not onward:
            last.append(note)
        ahead += onward
    return (list(dict.fromkeys(direct)), True) if is_circular and not last else (last, False)


def in_succession(
    results: Sequence[Candidate], successors: Mapping[str, Sequence[NoteRow]], asked: Collection[str]
) -> list[Candidate]:
    """Reorder the results so that the successors of a superseded note come directly before it.

    A note that the query asked for by name (``asked``) stays above its successors. Successors that no lane
    found are added.
    """
    known = {each.note: each for each in results}
    ordered: dict[str, Candidate] = {}
    for old in results:
        if old.note in asked:
            ordered.setdefault(old.note, old)
        for row in successors.get(old.note, ()):
            if row.path not in ordered:
                found = known.get(row.path) or Candidate.outside(row, old)
                score = max(found.score, old.score)
                gain = (score - found.score) * found.best
                ordered[row.path] = found._replace(score=score, succession=found.succession + gain)
        ordered.setdefault(old.note, old)
    return list(ordered.values())


def _read_successors(rows: Iterable[NoteRow], ledger: Ledger) -> dict[str, list[Successor]]:
    """Return the successors of these notes, the successors of those successors, and so on."""
    successors: dict[str, list[Successor]] = {}
    paths = {row.id: row.path for row in rows}
    for _ in range(CHAIN):
        found = ledger.successions.successors(paths)
        successors |= found
        ahead = {each.path for of_note in found.values() for each in of_note if each.path} - successors.keys()
        if not ahead:
            break
        paths = ledger.paths_of(_ids(ahead, ledger))
    return successors


def _ids(paths: Iterable[str], ledger: Ledger) -> list[int]:
    sql = "SELECT id FROM notes WHERE path IN ({})"
    return [row[0] for row in ledger.select_in(sql, sorted(set(paths)))]


def _titles(rows: Sequence[NoteRow], own: str) -> str:
    more = len(rows) - NAMED
    names = [row.path if row.title == own else row.title for row in rows[:NAMED]]
    return _listed([*names, *([f"{more} more"] if more > 0 else [])])


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def placed(
    results: Sequence[Candidate], query: Evidence
) -> tuple[Sequence[Candidate], Mapping[str, Currency]]:
    """Move successors before the notes that they replace, unless the query has only filters.

    Returns the results and a dict from the paths of outdated notes to their ``Currency``. Only
    results up to the limit are examined.
    """
    ledger, is_listing = query.vault.ledger, query.parsed.is_listing
    limit = limits.RESULTS if is_listing else query.parsed.limit
    rules, today = query.settings.currency.rules, present().date().isoformat()
    shown = [each.about for each in results[:limit]]
    currencies = currency_of(shown, ledger, rules, today)
    found = {row.id: row for each in currencies.values() if not each.is_circular for row in each.by}
    inside = those_within(found, query.allowed)
    successors = {
        path: [row for row in each.by if row.id in inside]
        for path, each in currencies.items()
        if not each.is_circular
    }
    if any(successors.values()) and not is_listing:
        asked = ledger.paths_of(sorted(notes_called(query).named))
        results = in_succession(results, successors, set(asked.values()))
        known = {row.path for row in shown}
        added = [each.about for each in results[:limit] if each.note not in known]
        currencies |= currency_of(added, ledger, rules, today)
        titles = {row.path: row for row in shown}
        own = {row.path: row.title for rows in successors.values() for row in rows}
        for new in own:
            replaced = (old for old, rows in successors.items() if any(row.path == new for row in rows))
            of_new = Currency("successor", replaces=tuple(titles[old] for old in replaced), title=own[new])
            currencies.setdefault(new, of_new)
    return results, currencies
