"""Rank notes: turn the scores of the lanes into a single order.

The steps are: propose candidates -> add linked neighbours -> apply the signals -> judge.

The order does not depend on the limit. Neighbours are always taken from each lane's first notes, lanes also
score neighbours beyond their own cut-off, and the number of ranked candidates is the same at any usual limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from vaultseek.base.model import Reason
from vaultseek.core.search.formula import LEADING_NOTES, RECENCY_SHARE, Floats, shown_score
from vaultseek.core.search.lanes import Evidence, Table
from vaultseek.core.search.links import SEEDS, Ceiling, Joined, with_neighbours
from vaultseek.core.search.matching import judge
from vaultseek.core.search.signals import (
    Anchors,
    Codes,
    FirstByName,
    InTime,
    NameParts,
    OwnWords,
    Recency,
    Signal,
    add_names,
    notes_called,
    notes_of,
)
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.store.graph import GRAPH_MISSING
from vaultseek.store.keyword.answer import those_within
from vaultseek.store.keyword.segment import Ints
from vaultseek.store.ledger import NoteRow

SIGNALS: tuple[Signal, ...] = (
    Recency(), InTime(), Anchors(), NameParts(), Ceiling(), OwnWords(), Codes(), Joined(),
    FirstByName(),
)  # fmt: skip
"""All signals other than lanes and links, in the order in which they are applied."""
OF_LEADERS = (Recency, InTime, Anchors, NameParts, FirstByName)
"""Signals used to choose the best notes, whose linked neighbours are then considered."""
LATEST_OPENS = 100
"""Number of most recent opens that affect the order of results for a query with only filters."""


def rank(query: Evidence) -> Ranking:
    """Rank the lanes' best notes, all notes named by the query, and notes linked to the best notes."""
    called = notes_called(query)
    leading = query.fusion.first(LEADING_NOTES)  # these are candidates whatever the limit
    best = query.fusion.best(query.parsed.ranked)
    of_time = those_within(notes_of(query.parsed.time, query.vault.ledger), query.allowed)
    notes = query.table(np.array([*best, *leading, *called.named, *called.begun, *of_time], np.int64))
    add_names(query, called, notes)
    settings, graph = query.settings, query.vault.graph
    wants_graph = settings.graph and settings.graph_weight > 0 and query.parsed.request.mode == "hybrid"
    if graph is not None and wants_graph:
        leaders = _leaders(query, notes, np.array([*leading, *called.named], np.int64))
        notes = with_neighbours(query, graph, leaders, notes)
    for signal in SIGNALS:
        signal.apply(query, notes)
    ranking = Ranking.of(notes)
    partial = {"graph": GRAPH_MISSING} if graph is None and wants_graph else {}
    has_identifier, missing = judge(query, notes)
    return replace(ranking, has_identifier=has_identifier, missing=missing, partial=partial)


def rank_listing(query: Evidence) -> Ranking:
    """Rank the results of a query with only filters: all notes that pass, most recently modified first.

    While a query is being typed, opening a note counts as modifying it.
    """
    parsed, allowed, ledger = query.parsed, query.allowed, query.vault.ledger
    ids = [] if allowed is None else ledger.latest_notes(allowed.tolist(), parsed.limit)
    opened: dict[str, float] = {}
    if parsed.request.typing and parsed.request.settings.learn and ledger.keeps_opens:
        opened = {each.path: each.time for each in reversed(ledger.opens.latest(LATEST_OPENS))}
    known = ledger.select(f"SELECT id FROM notes WHERE path IN ({', '.join('?' * len(opened))})", *opened)
    rows = ledger.notes.by_id(sorted({*ids, *those_within([row[0] for row in known], allowed)}))
    listed = sorted(rows.values(), key=lambda row: (-max(row.modified, opened.get(row.path, 0.0)), row.path))
    notes = Table.listing(listed[: parsed.limit])
    return Ranking(notes, np.arange(len(notes)), 0.0)


@dataclass(frozen=True, eq=False)
class Ranking:
    """A ranked table of candidates. ``order`` lists the table's rows, best first; all scores are divided by
    ``best``.

    ``has_identifier`` and ``missing`` are the results of :func:`judge`. ``partial`` gives the reason if links
    are missing from the ranking.
    """

    notes: Table
    order: Ints
    best: float
    has_identifier: bool | None = None
    missing: Sequence[str] = ()
    partial: Mapping[str, Reason] = field(default_factory=dict)

    @classmethod
    def of(cls, notes: Table) -> Ranking:
        """Rank the notes by their scores."""
        best = float(notes.score.max(initial=0.0))
        order = _best_first(notes, shown_score(notes.score, best))
        return cls(notes, order, best)

    @property
    def candidates(self) -> list[Candidate]:
        """All candidates, best first."""
        shown = shown_score(self.notes.score, self.best).tolist()
        return [Candidate(self, row, shown[row], self.best) for row in self.order.tolist()]


class Candidate(NamedTuple):
    """A candidate in a ranking: one row of the table.

    ``score`` is from 0 to 1; the best note has 1. ``opened`` is the gain from earlier opens, ``succession``
    the gain from notes that the candidate replaces. All scores are divided by ``best``. ``reranked`` is the
    cross-encoder's score, from 0 to 1, with the rank before reranking.
    """

    ranking: Ranking
    row: int
    score: float
    best: float
    opened: float = 0.0
    succession: float = 0.0
    reranked: tuple[float, int] | None = None

    @classmethod
    def outside(cls, row: NoteRow, other: Candidate) -> Candidate:
        """Return a candidate for a note that no lane or link proposed, with the confidence of the candidate
        ``other``.
        """
        alone = Ranking(Table.listing([row]), np.arange(1), other.best)
        alone.notes.confidence[0] = other.confidence
        return cls(alone, 0, 0.0, other.best)

    @property
    def about(self) -> NoteRow:
        """Row of the note in the ledger."""
        return self.ranking.notes.notes[self.row]

    @property
    def note(self) -> str:
        """Path of the note."""
        return self.about.path

    @property
    def is_named(self) -> bool:
        """True if the query is a name of the note, or the beginning of a name while the query is being
        typed.
        """
        fact = self.ranking.notes.fact
        return bool(fact("name")[self.row] == 1 or (fact("exact") + fact("begun"))[self.row])

    @property
    def confidence(self) -> float:
        """Probability that the note answers the query; 1 if the query has only filters."""
        return float(self.ranking.notes.confidence[self.row])

    @property
    def recency(self) -> float:
        """Factor for the note's age; only a share of it applies to the score."""
        return round(1 + (self.figure("recency") - 1) / RECENCY_SHARE, 6)

    def figure(self, name: str, neutral: float = 1.0) -> float:
        """Return the combined value of the signals that an answer lists under this name; ``neutral`` if there
        are none.
        """
        column = self.ranking.notes.figures.get(name)
        return neutral if column is None else float(column[self.row])

    @property
    def arithmetic(self) -> dict[str, float]:
        """The numbers from which the score is computed, beginning with the gain from lanes and links."""
        gain = math.fsum(float(part.gain[self.row]) for part in self.ranking.notes.parts.values())
        figures = {each.figure: self.figure(each.figure, float(not each.adds)) for each in SIGNALS}
        after = {"opened": self.opened, "succession": self.succession, "best": self.best}
        return {"gain": gain, **figures, **after}

    @property
    def recomputed(self) -> float:
        """The score, computed from the numbers in ``arithmetic``."""
        figures = self.arithmetic
        value = figures["gain"]
        for name, adds in {each.figure: each.adds for each in SIGNALS}.items():
            value = value + figures[name] if adds else value * figures[name]
        return min(1.0, (value + self.opened + self.succession) / self.best) if self.best > 0 else 1.0


def _leaders(query: Evidence, notes: Table, among: NoteIds) -> dict[int, float]:
    """Return a dict from the ids of the best notes in ``among`` to scores relative to the best score."""
    rows = np.flatnonzero(notes.having(among.tolist()))
    own = notes.part_of(rows)
    for signal in SIGNALS:
        if isinstance(signal, OF_LEADERS):
            signal.apply(query, own)
    shown = shown_score(own.score, float(own.score.max(initial=0.0)))
    return {int(own.ids[row]): float(shown[row]) for row in _best_first(own, shown)[:SEEDS].tolist()}


def _best_first(notes: Table, shown: Floats) -> Ints:
    by_link = notes.fact("by link")
    order = np.lexsort((by_link, -shown))
    same = (shown[order][1:] == shown[order][:-1]) & (by_link[order][1:] == by_link[order][:-1])
    if same.any():  # sort notes with equal scores by path
        keys = [*zip((-shown).tolist(), by_link.tolist(), (row.path for row in notes.notes), strict=True)]
        order = np.array(sorted(order.tolist(), key=keys.__getitem__), np.int64)
    return order
