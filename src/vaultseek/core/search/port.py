"""The port of a search: what it needs of an open vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from vaultseek.base.model import JSON, Reason
from vaultseek.content.query.filters import Filter
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.semantic.worker import SemanticAnswer
from vaultseek.store.concept_vocabulary import Concept
from vaultseek.store.graph import Graph
from vaultseek.store.keyword.answer import KeywordAnswer
from vaultseek.store.keyword.spans import SpanFinder
from vaultseek.store.ledger import Ledger


class SearchedWords(Protocol):
    """Whoever answers by words: the keyword index, or an engine."""

    @property
    def span_finder(self) -> SpanFinder:
        """Finds the terms of the notes in a text."""

    def search(
        self,
        text: str,
        k: int,
        allowed: NoteIds | None = None,
        *,
        unfinished: bool = False,
        ties: int = 0,
        condition: Filter | None = None,
    ) -> KeywordAnswer:
        """Return the ``k`` best notes; ``condition`` is what the ``allowed`` ones match, if anything."""


class SearchedVault(Protocol):
    """An open vault, as a search sees it."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def keyword_index(self) -> SearchedWords: ...

    @property
    def graph(self) -> Graph | None: ...

    @property
    def name(self) -> str: ...

    def keyword_reason(self) -> Reason | None:
        """Return why the keyword lane does not know all notes, None if it does."""

    def rebuild_keyword_index(self) -> None:
        """Report that the keyword index is damaged."""

    def semantic_reason(self, text: str = "") -> Reason | None:
        """Return why the semantic lane cannot answer ``text``, None if it can."""

    def unread_reason(self, text: str) -> Reason | None:
        """Return why the semantic lane does not read the language of ``text``, None if it does."""

    def lag_reason(self, text: str) -> Reason | None:
        """Return why the vectors that answer ``text`` are of fewer notes than there are, None if not."""

    async def ask_semantic(self, text: str, k: int, allowed: NoteIds | None) -> SemanticAnswer:
        """Return the nearest passages and notes. Raises WorkerUnavailable or IndexDamaged."""

    async def near_concepts(self, text: str, vector: Any, count: int, floor: float) -> list[Concept]:
        """Return the vault's terms nearest to the text with this vector. Raises Unavailable."""

    async def note_vectors(self, notes: Sequence[int], text: str = "") -> Mapping[int, Any]:
        """Return the notes' own unit vectors, where there are any, comparable with those of ``text``.

        Raises WorkerUnavailable or IndexDamaged."""

    async def rerank(
        self, query: str, texts: Sequence[str], model: str, seconds: float
    ) -> Sequence[float | None]:
        """Return how well each text answers the query, in [0, 1]; None for one that came too late.

        Raises WorkerUnavailable."""

    def index_state(self) -> JSON:
        """Return the ``index`` part of an answer."""
