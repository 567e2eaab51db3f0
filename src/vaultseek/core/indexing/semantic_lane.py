"""The semantic lane of an open vault: what its vectors answer, and why they may answer badly."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vaultseek.base.limits import QUERY_EMBED_SECONDS, SECOND_QUERY_SECONDS
from vaultseek.base.model import Reason
from vaultseek.core.indexing.embed import Embedding
from vaultseek.core.indexing.spaces import Spaces
from vaultseek.errors import IndexDamaged
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.semantic.worker import SemanticAnswer, SemanticWorker
from vaultseek.store.ledger import Ledger

LAGGING_PASSAGES = 20
LAGGING_PASSAGES_SHARE = 0.2
"""Passages without a vector of which answers say nothing, if they are no more than this share of all."""
_EMBEDDING = Reason("being_built", "many passages are not embedded yet; they are found by their words")


@dataclass(frozen=True, slots=True)
class Patience:
    """Longest wait of a search for the model: by default as long as a person would."""

    query_seconds: float = QUERY_EMBED_SECONDS
    second_seconds: float = SECOND_QUERY_SECONDS
    """The same for the model of the second space, which may have to be loaded."""
    rerank_seconds: float | None = None
    """None: as long as the search's own settings say."""
    complete: bool = False
    """Wait for a model that is starting and for the concept vocabulary, rather than answer without them."""


class SemanticLane:
    """The questions to the spaces of a vault; one answers each, without what the ledger has no more."""

    def __init__(
        self, ledger: Ledger, embedding: Embedding, spaces: Spaces, worker: SemanticWorker, patience: Patience
    ) -> None:
        self._ledger = ledger
        self._embedding = embedding
        self._spaces = spaces
        self._worker = worker
        self._patience = patience

    def reason(self, text: str = "") -> Reason | None:
        """Return why the semantic lane cannot answer ``text``, or None."""
        if text and self._spaces.second_for(text) is not None:
            return None
        state = self._worker.state
        if state.status != "ready" and not self._patience.complete:
            if text:
                self._worker.want()
            return state.reason or Reason("worker_unavailable", f"the semantic worker is {state.status}")
        if not self._embedding.ready:
            return Reason("being_built", "the vectors are not ready yet")
        if self._embedding.has_previous:
            return None
        counts = self._ledger.counts()
        if not counts.chunks or counts.embedded:
            return None
        return Reason("not_embedded", "no passage is embedded yet")

    async def ask(self, text: str, k: int, allowed: NoteIds | None) -> SemanticAnswer:
        """Return the nearest passages and notes, of the ``allowed`` notes only unless that is None.

        One space answers, by the language of the text. Raises WorkerUnavailable or IndexDamaged.
        """
        second = self._spaces.second_for(text)
        space, seconds = (
            (self._embedding, self._patience.query_seconds)
            if second is None
            else (second, self._patience.second_seconds)
        )
        try:
            answer = await space.query(text, k, allowed, seconds)
        except IndexDamaged as error:
            await space.discard_store(str(error))
            raise
        return await asyncio.to_thread(self._without_removed, answer) if space.may_have_removed else answer

    def lag_reason(self, text: str) -> Reason | None:
        """Return why the space that answers ``text`` lacks notes that others have, or None.

        Few passages without a vector are those of the last saves, of which nothing is said.
        """
        if self._spaces.second_for(text) is None and not self._embedding.has_previous:
            counts = self._ledger.counts()
            if counts.chunks - counts.embedded > max(
                LAGGING_PASSAGES, LAGGING_PASSAGES_SHARE * counts.chunks
            ):
                return _EMBEDDING
        return self._spaces.lag_reason(text)

    async def note_vectors(self, notes: Sequence[int], text: str = "") -> Mapping[int, Any]:
        """Return the stored vectors of ``notes`` in the space that answers ``text``.

        Raises WorkerUnavailable or IndexDamaged.
        """
        space = (self._spaces.second_for(text) if text else None) or self._embedding
        return await space.note_vectors(notes, self._patience.query_seconds)

    def _without_removed(self, answer: SemanticAnswer) -> SemanticAnswer:
        notes = self._ledger.notes.by_id(answer.note_ids.tolist())
        exist = np.isin(answer.note_ids, list(notes))
        answer = replace(answer, note_ids=answer.note_ids[exist], note_scores=answer.note_scores[exist])
        return answer.with_chunks(self._ledger.chunks.ids(answer.passage_numbers.tolist()))
