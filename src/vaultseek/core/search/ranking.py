"""Rank the notes: from the lanes' scores to one order.

The ladder inside one step: propose candidates -> fuse the direct lanes -> add linked neighbours -> judge
confidence.

The neighbours are those of the first notes of each lane, as many as every request has, and what the lanes
know of them counts wherever a lane was cut. As many candidates are ranked at any usual limit. So the order
does not depend on it.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap

from vaultseek.base.model import Reason
from vaultseek.base.text import fold
from vaultseek.content.languages.stopwords import STOP_WORDS
from vaultseek.content.query.compare import is_file_name
from vaultseek.content.query.dates import dates_of
from vaultseek.content.query.note_dates import file_name_when, property_when
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.search.certainty import JUDGED_NOTES
from vaultseek.core.search.filter import those_within
from vaultseek.core.search.formula import (
    EXACT_NAME_CONFIDENCE,
    LEADING_NOTES,
    MISNAMED_CONFIDENCE,
    PREFIX_NAME_CONFIDENCE,
)
from vaultseek.core.search.fusion import (
    Candidate,
    Signals,
    combine,
    complete,
    leaders,
    order,
)
from vaultseek.core.search.graph_boost import SEEDS, Neighbours, neighbour_evidence
from vaultseek.core.search.identifiers import (
    missing_beside_words,
    notes_with_date,
    notes_with_identifier,
)
from vaultseek.core.search.lanes import Fusion, Lane, LaneHit
from vaultseek.core.search.names import (
    NameMatches,
    match_names,
    notes_named,
    notes_prefix_named,
    notes_with_words,
)
from vaultseek.core.search.opened import pinned_to
from vaultseek.core.search.request import ParsedRequest
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.core.search.scoring import ScoredLanes, judge
from vaultseek.core.search.time_in_question import notes_of, time_shares
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.settings.search import SearchSettings
from vaultseek.store.graph import GRAPH_MISSING
from vaultseek.store.keyword.index import KeywordAnswer
from vaultseek.store.ledger import Ledger, NoteRow

DAY_SECONDS = 86_400.0
LATEST_OPENS = 100
"""Opened notes, the latest, that a list of notes has first."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """All candidates, best first; the rows and confidences of their notes, by path.

    ``via``: the note whose link says most for a note, both by path. ``with_identifier``: the notes that have
    an identifier of the query, or it for a name, if it consists of identifiers; else None. Where there are
    none, ``near_identifiers`` are those with one like it. ``missing_identifiers`` are those of several, or
    beside other words, that no note has. ``near`` are the notes that mean something like the query, or have
    many of its words or its name; if it is a date, those that have it. ``misnamed`` are the notes that have
    only another word with the same stem for a name.
    """

    candidates: Sequence[Candidate]
    notes: Mapping[str, NoteRow]
    confidence: Mapping[str, float] = field(default_factory=dict)
    partial: Mapping[str, Reason] = field(default_factory=dict)
    via: Mapping[str, str] = field(default_factory=dict)
    with_identifier: Collection[str] | None = None
    near_identifiers: Collection[str] = ()
    near: Collection[str] = ()
    missing_identifiers: Sequence[str] = ()
    misnamed: Collection[str] = ()

    @property
    def is_identifier_missing(self) -> bool:
        """True if the query consists of identifiers, and no note has one for text or name."""
        return self.with_identifier is not None and not self.with_identifier


def rank(
    parsed: ParsedRequest,
    retrieval: Retrieval,
    lanes: ScoredLanes,
    allowed: NoteIds | None,
    vault: SearchedVault,
) -> Ranking:
    """Rank the best notes that the lanes propose, every note of that very name, and their neighbours by
    link."""
    keyword, settings = retrieval.keyword, parsed.request.settings
    ledger, graph, span_finder = vault.ledger, vault.graph, vault.keyword_index.span_finder
    pinned = those_within(pinned_to(parsed.query.rank_text, ledger), allowed)
    with_name = notes_named(parsed, allowed, ledger) | pinned
    prefix_named = notes_prefix_named(parsed, allowed, ledger)
    fusion = _fusion(settings, lanes.norm)
    best = lanes.best(parsed.ranked, parsed.depth, fusion)
    leading = set(lanes.first(LEADING_NOTES))  # candidates whatever the limit is
    of_time = those_within(notes_of(parsed.time, ledger), allowed)
    proposed = {*best, *leading, *with_name, *prefix_named, *of_time}
    notes: Mapping[int, NoteRow] = ledger.notes.by_id(sorted(proposed))
    finished = not (parsed.is_unfinished or retrieval.continued)
    names = match_names(parsed, keyword, notes, span_finder, finished=finished)
    with_name = with_name or {id for id in leading if names.shares.get(id) == 1.0}
    misnamed, with_word = _misnamed(names, keyword, notes, ledger)
    # Of the notes called so, the files of that name; all of them if there is none.
    name = parsed.query.rank_text
    files = {id for id in with_name if id in notes and is_file_name(notes[id].path, name)}
    exactly_named = (files or with_name) | pinned
    signals = Signals(
        age_days=_ages(notes.values(), settings),
        anchors=anchor_shares(parsed.profile.anchors, keyword, notes),
        exactly_named={notes[id].path for id in exactly_named if id in notes},
        prefix_named=[notes[id].path for id in prefix_named if id in notes],
        names={notes[id].path: share for id, share in names.shares.items()},
        misnamed={notes[id].path for id in misnamed},
        with_word={notes[id].path for id in with_word},
        times=time_shares(parsed.time, notes, ledger),
    )
    direct = [lane.proposing(parsed.depth, notes) for lane in lanes]
    combined = combine(direct, fusion)
    links: Lane | None = None
    neighbours = Neighbours()
    if graph is not None and _wants_graph(parsed):
        first = {notes[id].path for id in leading | with_name if id in notes}
        seeds = leaders(combined, fusion, signals, SEEDS, among=first)
        words = _query_words(parsed, keyword)
        neighbours = neighbour_evidence(words, seeds, notes, graph, ledger, allowed)
        links = Lane("graph", settings.graph_weight, list(starmap(LaneHit, neighbours.evidence.items())))
        signals = _with_neighbours(signals, parsed, keyword, notes, neighbours.notes, ledger)
        notes = neighbours.notes
        known = [replace(lane, known=each.of(notes)) for lane, each in zip(direct, lanes, strict=True)]
        combined = complete(combined, known, fusion)
        found = {id: row for id, row in notes.items() if combined.lane_gain.get(row.path, 0.0) > 0}
        unnamed = {id: row for id, row in found.items() if id not in with_name and id not in prefix_named}
        signals = replace(signals, joined=_joined(neighbours.strengths, words, keyword, unnamed))
    named = dict.fromkeys(prefix_named, PREFIX_NAME_CONFIDENCE)
    named |= dict.fromkeys(exactly_named, EXACT_NAME_CONFIDENCE)
    judged = judge(notes, keyword, retrieval.unexpanded)
    confidence = {row.path: max(judged.confidence[id], named.get(id, 0.0)) for id, row in notes.items()}
    identified = notes_with_identifier(parsed, keyword, notes)
    candidates = order(combined, links, fusion, signals)
    near = judged.near
    if identified is None and (dates := dates_of(parsed.query.rank_text)):
        # Days of the same month, and other notes with its number, have most of its words.
        first = {candidate.note for candidate in candidates[:JUDGED_NOTES]}
        near = notes_with_date(dates, keyword, [id for id, row in notes.items() if row.path in first])
    return Ranking(
        candidates,
        {row.path: row for row in notes.values()},
        {
            path: min(each, MISNAMED_CONFIDENCE) if path in signals.misnamed else each
            for path, each in confidence.items()
        },
        {"graph": GRAPH_MISSING} if graph is None and _wants_graph(parsed) else {},
        neighbours.via,
        None if identified is None else {notes[id].path for id in {*identified.whole, *named} if id in notes},
        () if identified is None else {notes[id].path for id in identified.near},
        {notes[id].path for id in {*near, *named} if id in notes},
        missing_beside_words(parsed, keyword) if identified is None else identified.missing,
        misnamed=signals.misnamed,
    )


def rank_listing(parsed: ParsedRequest, allowed: NoteIds | None, ledger: Ledger) -> Ranking:
    """Rank a query of filters alone: every note that is left, the last modified first.

    While a query is typed, a note that was opened is as recent as one that was modified then.
    """
    ids = [] if allowed is None else ledger.latest_notes(allowed.tolist(), parsed.limit)
    opened: dict[str, float] = {}
    if parsed.request.typing and parsed.request.settings.learn and ledger.keeps_opens:
        opened = {each.path: each.time for each in reversed(ledger.opens.latest(LATEST_OPENS))}
    known = ledger.select(f"SELECT id FROM notes WHERE path IN ({', '.join('?' * len(opened))})", *opened)
    rows = ledger.notes.by_id(sorted({*ids, *those_within([row[0] for row in known], allowed)}))
    listed = sorted(rows.values(), key=lambda row: (-max(row.modified, opened.get(row.path, 0.0)), row.path))
    listed = listed[: parsed.limit]
    candidates = [Candidate(row.path, 1.0, 0.0, {}) for row in listed]
    return Ranking(candidates, {row.path: row for row in listed})


def _fusion(settings: SearchSettings, norm: float) -> Fusion:
    tiers = tuple((tier.days, tier.factor) for tier in settings.recency.tiers)
    return Fusion(
        method=settings.fusion,
        ranks=settings.rrf_ranks,
        rrf_k=settings.rrf_k,
        norm=norm,
        anchor_boost=settings.anchor_boost,
        tiers=tiers if settings.recency.enabled else (),
    )


def _with_neighbours(
    signals: Signals,
    parsed: ParsedRequest,
    keyword: KeywordAnswer | None,
    known: Mapping[int, NoteRow],
    notes: Mapping[int, NoteRow],
    ledger: Ledger,
) -> Signals:
    added = {id: row for id, row in notes.items() if id not in known}
    ages = _ages(added.values(), parsed.request.settings)
    anchors = anchor_shares(parsed.profile.anchors, keyword, added)
    return replace(
        signals,
        age_days={**signals.age_days, **ages},
        anchors={**signals.anchors, **anchors},
        times={**signals.times, **time_shares(parsed.time, added, ledger)},
    )


def _misnamed(
    names: NameMatches, keyword: KeywordAnswer | None, notes: Mapping[int, NoteRow], ledger: Ledger
) -> tuple[set[int], set[int]]:
    """Return the notes that have only another word for a name, and the notes with the query's own words."""
    words = {word for missing in names.misnamed.values() for word in missing}
    if not words or keyword is None:
        return set(), set()
    with_word = notes_with_words(words, {id: row for id, row in notes.items() if id in keyword.rows}, ledger)
    return names.misnamed.keys() - with_word, with_word


def _joined(
    strengths: Mapping[int, Mapping[int, float]],
    words: Mapping[str, float],
    keyword: KeywordAnswer | None,
    notes: Mapping[int, NoteRow],
) -> dict[str, dict[str, float]]:
    """Return by note those joined to it, with the strength of the link times the share of the query's words,
    by weight, that the two have together."""
    total = sum(words.values())
    if keyword is None or total <= 0:
        return {}
    linked = {id: by_seed for id, by_seed in strengths.items() if id in notes}
    ids = {*linked, *(seed for by_seed in linked.values() for seed in by_seed)}
    folded = {term.word: fold(term.word) for term in keyword.terms}
    matched = {id: {folded[word] for word in keyword.matched(id)} for id in ids}
    return {
        notes[id].path: {
            notes[seed].path: strength
            * sum(words.get(word, 0.0) for word in matched[id] | matched[seed])
            / total
            for seed, strength in by_seed.items()
            if seed in notes
        }
        for id, by_seed in linked.items()
    }


def _ages(rows: Iterable[NoteRow], settings: SearchSettings) -> dict[str, float]:
    if not settings.recency.enabled:
        return {}
    now = time.time()
    return {row.path: (now - _date(row, settings)) / DAY_SECONDS for row in rows}


def anchor_shares(
    anchors: Sequence[str], keyword: KeywordAnswer | None, notes: Mapping[int, NoteRow]
) -> dict[str, float]:
    """Return the share of the query's anchors that each note contains, by path; only shares above 0."""
    if not anchors or keyword is None:
        return {}
    folded = {term.word: fold(term.word) for term in keyword.terms}
    shares: dict[str, float] = {}
    for note, row in notes.items():
        matched = {folded[word] for word in keyword.matched(note)}
        count = sum(anchor in matched or all(w in matched for w in anchor.split()) for anchor in anchors)
        if count and matched:
            shares[row.path] = count / len(anchors)
    return shares


def _date(row: NoteRow, settings: SearchSettings) -> float:
    recency = settings.recency
    date = property_when(row.properties, recency.properties)
    if date is None and recency.date == "filename":
        date = file_name_when(row.path)
    if date is None and recency.date == "created":
        date = row.created
    return row.modified if date is None else date.unix


def _wants_graph(parsed: ParsedRequest) -> bool:
    settings = parsed.request.settings
    return settings.graph and settings.graph_weight > 0 and parsed.request.mode == "hybrid"


def _query_words(parsed: ParsedRequest, keyword: KeywordAnswer | None) -> dict[str, float]:
    """Return the query's words, weighted by how rare they are; all alike without a keyword answer."""
    if keyword is None:
        return {fold(word): 1.0 for word in parsed.query.rank_text.split() if fold(word) not in STOP_WORDS}
    return {fold(term.word): term.weight * term.idf for term in keyword.terms if term.df}
