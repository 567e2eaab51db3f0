"""The form of an answer: results with their passages, and the explanation of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from vaultseek import limits
from vaultseek.index.ledger import NoteRow
from vaultseek.model import JSON, Chunk
from vaultseek.search.fusion import Fused
from vaultseek.search.request import Asked
from vaultseek.search.snippet import preview


def detailed(asked: Asked) -> int:
    """How many results come with a passage."""
    return 0 if asked.request.brief else limits.RESULTS


def results(
    asked: Asked, ranked: Sequence[Fused], notes: Mapping[str, NoteRow], passages: Mapping[int, Chunk]
) -> list[JSON]:
    """Each note in its order; the first with their ``passages``, which are by the numbers of notes."""
    words = _words(asked)
    told: list[JSON] = []
    for rank, found in enumerate(ranked, start=1):
        row = notes[found.note]
        if rank > detailed(asked):
            told.append(_brief(rank, found, row))
        else:
            told.append(_result(rank, found, row, passages.get(row.id), words, asked))
    return told


def explanation(asked: Asked) -> JSON:
    """How the query was understood and what its parts came to."""
    weights = asked.weights
    only = asked.only
    return {
        "profile": asked.profile.name,
        "identifiers": list(asked.profile.identifiers),
        "weights": {"keyword": weights[0], "semantic": weights[1]},
        "candidates_per_lane": asked.k,
        "filters": [{"condition": text, "notes_left": left} for text, left in (only.steps if only else ())],
        "expansion": [
            {"term": concept.term, "similarity": round(concept.similarity, 4), "notes": concept.notes}
            for concept in asked.concepts
        ],
        "not_expanded": _not_expanded(asked),
        "milliseconds": {stage: round(spent, 2) for stage, spent in asked.milliseconds.items()},
    }


def _not_expanded(asked: Asked) -> str | None:
    """Why no term joined the query's meaning, where that was wished and nothing stood in the way."""
    wished = asked.request.settings.expansion
    if not wished.enabled or asked.concepts or "expansion" in asked.partial:
        return None
    if asked.profile.pure_identifier:
        return "identifiers are looked for as they are"
    if asked.semantic is None:
        return None
    return f"no term of the vault says more and is as near as search.expansion.floor, {wished.floor:g}"


def _words(asked: Asked) -> list[str]:
    """What is highlighted: the query's words and what was found in their place."""
    near = (
        () if asked.keyword is None else (t for term in asked.keyword.terms if term.near for t in term.terms)
    )
    return [*asked.query.rank_text.split(), *near]


def _result(
    rank: int, found: Fused, row: NoteRow, chunk: Chunk | None, words: list[str], asked: Asked
) -> JSON:
    shown = preview(chunk.text if chunk else "", words, limits.PREVIEW_CHARS)
    result: JSON = {
        "rank": rank,
        "path": row.path,
        "title": row.title,
        "heading_path": list(chunk.heading_path) if chunk else [],
        "chunk_id": chunk.id if chunk else None,
        "start_line": chunk.start_line if chunk else 1,
        "end_line": chunk.end_line if chunk else 1,
        "score": round(found.score, 6),
        "confidence": round(asked.confidence.get(row.path, 1.0), 4),
        "preview": shown.text,
        "highlights": [list(span) for span in shown.highlights],
        "tags": list(row.tags),
        "modified": _iso(row.modified),
        "lanes": _lane_parts(found, asked.request.explain),
        "recency": found.recency,
        "rerank": asked.reranked.get(row.path),
    }
    return result


def _brief(rank: int, found: Fused, row: NoteRow) -> JSON:
    return {
        "rank": rank,
        "path": row.path,
        "title": row.title,
        "score": round(found.score, 6),
        "modified": _iso(row.modified),
    }


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _lane_parts(found: Fused, explain: bool) -> JSON:
    parts: JSON = {"keyword": None, "semantic": None, "graph": None}
    for name, given in found.contributions.items():
        parts[name] = given.as_json() if explain else {"rank": given.rank, "score": round(given.score, 6)}
    return parts
