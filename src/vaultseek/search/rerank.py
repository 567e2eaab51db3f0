"""A second look at the first results: what the cross-encoder reads of a note, and the order that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vaultseek.index.ledger import NoteRow
from vaultseek.markdown.plain import plain_passage
from vaultseek.model import Chunk
from vaultseek.search.fusion import Fused


def pair_text(row: NoteRow, chunk: Chunk | None) -> str:
    """What is read of a note beside the query: title, heading path, and its best passage without markup."""
    if chunk is None:
        return row.title
    parts = (row.title, " > ".join(chunk.heading_path), plain_passage(chunk.text))
    return "\n".join(part for part in parts if part)


def reordered(first: Sequence[Fused], scores: Sequence[float]) -> list[Fused]:
    """``first`` by ``scores``, best first; equals stay as they were.

    The fused scores keep their places, so that they still fall from 1 and go on into what was not read again.
    """
    order = sorted(range(len(first)), key=lambda at: -scores[at])
    return [replace(first[at], score=place.score) for at, place in zip(order, first, strict=True)]
