"""Retrieve: ask the keyword index and the semantic worker at the same time, and keep what they answered.

A lane that fails is left out and the reason is kept; only without any lane is there no answer. If the request
asks for expansion, the query is embedded once more together with the vault's nearest terms for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vaultseek.base.model import Chunk, Reason
from vaultseek.base.text import fold
from vaultseek.content.markdown.plain import plain_line
from vaultseek.content.query.expression import find
from vaultseek.content.query.leaves import PropertyFilter
from vaultseek.content.query.property_text import NAMELESS, lines_of_text
from vaultseek.core.search.port import SearchedVault
from vaultseek.core.search.request import ParsedRequest
from vaultseek.errors import IndexDamaged, Unavailable
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.semantic.worker import SemanticAnswer
from vaultseek.store.concept_vocabulary import Concept
from vaultseek.store.keyword.index import ChunkHit, KeywordAnswer
from vaultseek.store.keyword.inverter import PROPERTIES
from vaultseek.store.ledger import Ledger, NoteRow

LATE = Reason("deadline", "not ready by the deadline of the request")
MOST_TIES = 1000
"""Most notes beyond the depth of a search that are retrieved because they match the words as well as the
last: which of equals come first would depend on when they were indexed."""
PROPERTIES_LEAD = 0.5
"""Share of the properties' score by word that no passage of the text may reach where they are shown."""
SHORT_CHARS, LEAST_LETTERS = 60, 12
"""A passage shorter than this, or one of HTML, that shows fewer letters is not shown if another can be."""
TAGS = 3
"""Signs of HTML in a passage that may be nothing else."""


@dataclass(frozen=True, slots=True)
class KeywordRetrieval:
    """The keyword lane's answer, or the reason why there is none or not all of it."""

    answer: KeywordAnswer | None = None
    reason: Reason | None = None
    milliseconds: float | None = None


@dataclass(frozen=True, slots=True)
class SemanticRetrieval:
    """The semantic lane's answer and the terms that expanded it.

    ``unexpanded`` is the answer to the query's own words; confidence comes from this. ``reasons`` say why the
    lane or the expansion was left out.
    """

    answer: SemanticAnswer | None = None
    unexpanded: SemanticAnswer | None = None
    concepts: tuple[Concept, ...] = ()
    reasons: Mapping[str, Reason] = field(default_factory=dict)
    milliseconds: float | None = None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The answers of both lanes; None for a lane that was not asked or could not answer."""

    keyword: KeywordAnswer | None = None
    semantic: SemanticAnswer | None = None
    unexpanded: SemanticAnswer | None = None
    concepts: tuple[Concept, ...] = ()
    partial: Mapping[str, Reason] = field(default_factory=dict)
    milliseconds: Mapping[str, float] = field(default_factory=dict)


def combine_lanes(keyword: KeywordRetrieval, semantic: SemanticRetrieval) -> Retrieval:
    """Return both lanes' answers together. Raises Unavailable if no lane can answer."""
    partial = {**({"keyword": keyword.reason} if keyword.reason else {}), **semantic.reasons}
    if keyword.answer is None and semantic.answer is None:
        reasons = "; ".join(dict.fromkeys(reason.text for reason in partial.values()))
        raise Unavailable(f"no lane can answer now, try again: {reasons}")
    spent = {"keyword": keyword.milliseconds, "semantic": semantic.milliseconds}
    if semantic.answer is not None:  # the worker's part of the semantic lane
        spent |= {"embed": semantic.answer.embed_ms, "neighbours": semantic.answer.search_ms}
    return Retrieval(
        keyword.answer,
        semantic.answer,
        semantic.unexpanded,
        semantic.concepts,
        partial,
        {stage: each for stage, each in spent.items() if each is not None},
    )


def expanded_text(text: str, concepts: Iterable[Concept]) -> str:
    """Return the text that is embedded for a query with these concepts."""
    return " ".join([text, *(concept.term for concept in concepts)])


def choose_passages(rows: Sequence[NoteRow], retrieval: Retrieval, ledger: Ledger) -> dict[int, Chunk]:
    """Return the best passage of each note, by note id; its first one without any hit.

    Properties that match the words best by far are a passage, too, with the id ``PROPERTIES``.
    """
    ids = [row.id for row in rows]
    outlines = ledger.chunks.outlines(ids)
    by_word = {} if retrieval.keyword is None else retrieval.keyword.passages(ids)
    totals: dict[int | str, float] = {}
    for scores in _passage_scores(list(outlines), retrieval, by_word):
        for chunk, score in scores.items():
            totals[chunk] = totals.get(chunk, 0.0) + score
    best = {
        note: max(chunks, key=lambda chunk: totals.get(chunk[0], 0.0) + totals.get(chunk[1], 0.0))
        for note, chunks in outlines.items()
    }
    matching = [row for row in rows if _is_in_properties(by_word.get(row.id, ()))]
    best |= {row.id: outlines[row.id][0] for row in matching if row.id in outlines}
    chunks = ledger.chunks.by_number([number for number, _ in best.values()])
    passages = {note: chunks[number] for note, (number, _) in best.items() if number in chunks}
    hits = {hit.id for each in by_word.values() for hit in each}
    empty = [note for note, chunk in passages.items() if _is_wordless(chunk.text, chunk.id in hits)]
    if empty:
        passages |= _with_words({note: outlines[note] for note in empty}, totals, ledger)
    return passages | {row.id: properties_passage(row, passages.get(row.id)) for row in matching}


def _is_wordless(text: str, has_word: bool = False) -> bool:
    """True for the end of a table or an image: it has a vector, too, or a word in an address, but shows
    nothing."""
    is_html = text.count("<") >= TAGS
    if not is_html and (has_word or len(text) >= SHORT_CHARS):
        return False
    below = "\n".join(line for line in text.split("\n") if not line.startswith("#"))
    return sum(map(str.isalpha, plain_line(below))) < LEAST_LETTERS


def _with_words(
    outlines: Mapping[int, Sequence[tuple[int, str]]], totals: Mapping[int | str, float], ledger: Ledger
) -> dict[int, Chunk]:
    """Return the best passage with words of each of these notes; none for a note without any."""
    chunks = ledger.chunks.by_number([number for outline in outlines.values() for number, _ in outline])
    passages: dict[int, Chunk] = {}
    for note, outline in outlines.items():
        order = sorted(outline, key=lambda chunk: -totals.get(chunk[0], 0.0) - totals.get(chunk[1], 0.0))
        worded = (chunks[number] for number, _ in order if number in chunks)
        if (first := next((each for each in worded if not _is_wordless(each.text)), None)) is not None:
            passages[note] = first
    return passages


def _is_in_properties(hits: Sequence[ChunkHit]) -> bool:
    """True if a note's properties match the words best by far."""
    if not hits or hits[0].id != PROPERTIES:
        return False
    return len(hits) == 1 or hits[1].score < PROPERTIES_LEAD * hits[0].score


def properties_passage(row: NoteRow, first: Chunk | None) -> Chunk:
    """Return the properties of a note, a line each; in the file they stand before its ``first`` passage."""
    text = lines_of_text(row.properties)
    end = first.start_line - 1 if first is not None else text.count("\n") + 2
    return Chunk(PROPERTIES, (), 2, max(end, 2), text)


def passages_matching(patterns: Sequence[str], rows: Sequence[NoteRow], ledger: Ledger) -> dict[int, Chunk]:
    """Return the first passage of each note with a match of one of the regular expressions, by note id.

    If none has one, the properties have.
    """
    if not patterns:
        return {}
    passages: dict[int, Chunk] = {}
    chunks = ledger.chunks.by_note([row.id for row in rows])
    for row in rows:
        of_note = chunks[row.id]
        properties = properties_passage(row, of_note[0] if of_note else None)
        candidates = [*of_note, properties] if properties.text else of_note
        matching = (chunk for chunk in candidates if any(find(pattern, chunk.text) for pattern in patterns))
        if (first := next(matching, None)) is not None:
            passages[row.id] = first
    return passages


def passages_of_properties(
    conditions: Sequence[PropertyFilter], rows: Sequence[NoteRow], passages: Mapping[int, Chunk]
) -> dict[int, Chunk]:
    """Return the properties of each note that has one of those that the ``conditions`` are about."""
    names = {fold(condition.name) for condition in conditions}
    return {
        row.id: properties_passage(row, passages.get(row.id))
        for row in rows
        if any(fold(name) in names and name.casefold() not in NAMELESS for name in row.properties)
    }


def ask_keyword(parsed: ParsedRequest, allowed: NoteIds | None, vault: SearchedVault) -> KeywordRetrieval:
    """Ask the keyword index for ``parsed.depth`` notes; one that is damaged is reported to the vault."""
    if parsed.request.mode == "semantic":
        return KeywordRetrieval()
    began = time.perf_counter()
    try:
        text, unfinished = parsed.query.rank_text, parsed.is_unfinished
        answer = vault.keyword_index.search(
            text,
            parsed.depth,
            allowed,
            unfinished=unfinished,
            ties=MOST_TIES,
            condition=parsed.query.filter,
        )
    except (IndexDamaged, OSError) as error:
        vault.rebuild_keyword_index()
        reason = Reason("index_damaged", f"the keyword index is being rebuilt ({error})")
        return KeywordRetrieval(None, reason, _milliseconds_since(began))
    except Unavailable as error:
        return KeywordRetrieval(None, Reason.of(error), _milliseconds_since(began))
    return KeywordRetrieval(answer, vault.keyword_reason(), _milliseconds_since(began))


def wants_semantic(parsed: ParsedRequest) -> bool:
    """True if the semantic lane takes part in a request of this kind."""
    mode = parsed.request.mode
    return mode == "semantic" or (mode == "hybrid" and not parsed.profile.pure_identifier)


async def ask_semantic(
    parsed: ParsedRequest, allowed: NoteIds | None, vault: SearchedVault
) -> SemanticRetrieval:
    """Ask the semantic worker for ``parsed.depth`` notes.

    A question in a language that no model here reads is left to the words, unless meaning is all that was
    asked for.
    """
    text = parsed.query.rank_text
    reason, unread = vault.semantic_reason(text), vault.unread_reason(text)
    if reason is None and parsed.request.mode != "semantic":
        reason = unread
    if reason is not None:
        return SemanticRetrieval(reasons={"semantic": reason})
    doubt = unread or vault.lag_reason(text)
    began = time.perf_counter()
    own: SemanticAnswer | None = None
    answer: SemanticAnswer | None = None
    concepts: tuple[Concept, ...] = ()
    reasons: dict[str, Reason] = {} if doubt is None else {"semantic": doubt}
    try:
        async with asyncio.timeout(parsed.seconds):
            own = answer = await vault.ask_semantic(text, parsed.depth, allowed)
            expansion = await _expand(parsed, own, allowed, vault)
            if expansion is not None:
                answer, concepts = expansion.semantic, expansion.concepts
    except TimeoutError:
        reasons |= {_missing(own): LATE}
    except (Unavailable, IndexDamaged) as error:
        reasons |= {_missing(own): Reason.of(error)}
    return SemanticRetrieval(answer, own, concepts, reasons, _milliseconds_since(began))


@dataclass(frozen=True, slots=True)
class _Expansion:
    """The terms that joined the query, and the semantic answer with them."""

    concepts: tuple[Concept, ...]
    semantic: SemanticAnswer


async def _expand(
    parsed: ParsedRequest, semantic: SemanticAnswer, allowed: NoteIds | None, vault: SearchedVault
) -> _Expansion | None:
    """Ask again with the vault's nearest terms; None if the request or the vocabulary has none.

    Raises Unavailable while the vocabulary is not known, WorkerUnavailable or IndexDamaged.
    """
    settings, text = parsed.request.settings.expansion, parsed.query.rank_text
    if not settings.enabled or parsed.profile.pure_identifier:
        return None
    concepts = await vault.near_concepts(text, semantic.vector, settings.terms, settings.floor)
    if not concepts:
        return None
    answer = await vault.ask_semantic(expanded_text(text, concepts), parsed.depth, allowed)
    return _Expansion(tuple(concepts), answer)


def _missing(answer: SemanticAnswer | None) -> str:
    return "semantic" if answer is None else "expansion"


def _milliseconds_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def _passage_scores(
    notes: Sequence[int], retrieval: Retrieval, by_word: Mapping[int, Sequence[ChunkHit]]
) -> Iterator[Mapping[int | str, float]]:
    """Yield the scores of the notes' passages as shares of each lane's best: by word under the id of the
    chunk, by meaning under its number."""
    keyword, semantic = retrieval.keyword, retrieval.semantic
    if keyword is not None and len(keyword):
        best = float(keyword.columns.passage_scores.max())
        hits = by_word.values() if best > 0 else ()
        yield {chunk.id: chunk.score / best for chunks in hits for chunk in chunks}
    if semantic is not None and len(semantic.passage_scores):
        best = float(semantic.passage_scores.max())
        rows = np.isin(semantic.passage_notes, notes) if best > 0 else slice(0)
        scores = semantic.passage_scores[rows].astype(np.float64) / best
        yield dict(zip(semantic.passage_numbers[rows].tolist(), scores.tolist(), strict=True))
