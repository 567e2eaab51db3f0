"""A restricted view of an open vault: the notes in some folders, without hidden notes.

Every search is filtered by the ids of the visible notes. Ledger, graph and keyword index show no other notes.
Data about the whole vault, such as the concept vocabulary and the revision, are left out, with one exception:
an engine such as PostgreSQL weights words by their frequency in the whole vault.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vaultseek.base.model import JSON, Reason, ReasonCode, reason_json
from vaultseek.content.markdown.resolve import Names
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.indexing.spaces import EmbeddingSpaces
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.semantic.worker import SemanticAnswer
from vaultseek.store.concept_vocabulary import Concept
from vaultseek.store.graph import Graph
from vaultseek.store.keyword.index import KeywordAnswer
from vaultseek.store.keyword.spans import SpanFinder
from vaultseek.store.ledger import Ledger, NoteRow
from vaultseek.store.ledger.scoped import Folders

if TYPE_CHECKING:
    from vaultseek.store.keyword.lane import KeywordLane


_GENERAL: Mapping[ReasonCode, str] = {
    "being_read": "some notes have not been read yet",
    "being_built": "part of the index is still being built",
    "not_embedded": "no passage is embedded yet",
    "behind": "the latest changes are still missing",
    "vault_missing": "the notes cannot be reached at the moment; answering from the index",
    "disk_full": "the server's disk is full; changes are not indexed",
    "paused": "changes to the notes are not being tracked at the moment",
    "failing": "changes cannot be indexed at the moment; ask the server's administrator",
}
"""Status messages that reveal neither notes outside the scope nor the server's files."""


def general(reason: Reason | None) -> Reason | None:
    """Return the reason without its details, which may include counts from the whole vault."""
    return None if reason is None else Reason(reason.code, _GENERAL.get(reason.code, reason.text))


def general_json(answer: JSON) -> JSON:
    """Return an answer's reason code and general reason, without details."""
    code, text = answer["code"], answer["reason"]
    return reason_json(None if code is None else general(Reason(code, text)))


class ScopedVault:
    """View of the notes of ``vault`` in ``folders``, at one revision of the vault's ledger.

    ``hidden`` is a function that returns the paths to leave out.
    """

    def __init__(
        self, vault: OpenVault, folders: Folders, hidden: Callable[[Ledger], frozenset[str]] | None = None
    ) -> None:
        self.revision = vault.ledger.revision
        self.is_embedded = vault.ledger.counts().pending == 0
        """True if the whole vault was embedded just before the visible notes were counted."""
        self.ledger = vault.ledger.within(folders, hidden(vault.ledger) if hidden else frozenset())
        self.ids: NoteIds = np.array(sorted(self.ledger.notes.ids()), np.int64)
        self.name, self.options = vault.name, vault.options
        self.spaces = ScopedSpaces(vault.spaces, self.ids)
        self._vault = vault
        self._graph: Graph | None = None

    @property
    def keyword_index(self) -> ScopedKeywordIndex:
        """The keyword index, limited to the visible notes."""
        return ScopedKeywordIndex(self._vault.keyword_index, self.ids)

    @property
    def graph(self) -> Graph | None:
        """The links between visible notes; None until the graph is built."""
        whole = self._vault.graph
        if self._graph is None and whole is not None:
            sources = {note for note, _, _ in self.ledger.relinked}
            edges = self.ledger.links.edges(sorted(sources)) if sources else ()
            self._graph = whole.part(self.ids.tolist(), edges)
        return self._graph

    @cached_property
    def indexer(self) -> ScopedNames:
        """The part of the indexer that a view needs: the names of the visible files."""
        return ScopedNames(Names.of(self.ledger.link_targets()))

    def keyword_reason(self) -> Reason | None:
        """Return the reason why the keyword search does not cover every note, or None; see `OpenVault`."""
        return general(self._vault.keyword_reason())

    def rebuild_keyword_index(self) -> None:
        self._vault.rebuild_keyword_index()

    async def rerank(
        self, query: str, texts: Sequence[str], model: str, seconds: float
    ) -> Sequence[float | None]:
        return await self._vault.rerank(query, texts, model, seconds)

    async def near_concepts(self, text: str, vector: Any, count: int, floor: float) -> list[Concept]:
        """Return an empty list, because concepts are terms from the whole vault."""
        return []

    def text_of_note(self, row: NoteRow, opening: str) -> str:
        return self._vault.text_of_note(row, opening)

    def index_state(self) -> JSON:
        """Return the ``index`` part of an answer, counting only visible notes."""
        state = self._vault.activity.index_json(self.ledger.counts(), None)
        return {**state, **general_json(state), "pending": self.ledger.counts().pending}


SearchedVault = OpenVault | ScopedVault
"""A vault or a restricted view of one; the attributes common to both classes show only visible notes."""


class ScopedSpaces:
    """Vector spaces restricted to the notes with these ``ids``; see `EmbeddingSpaces`."""

    def __init__(self, spaces: EmbeddingSpaces, ids: NoteIds) -> None:
        self._spaces = spaces
        self._ids = ids

    def reason(self, text: str = "") -> Reason | None:
        return general(self._spaces.reason(text))

    def lag_reason(self, text: str) -> Reason | None:
        return general(self._spaces.lag_reason(text))

    def unsupported_language_reason(self, text: str) -> Reason | None:
        return self._spaces.unsupported_language_reason(text)

    async def wait_until_loaded(self) -> None:
        await self._spaces.wait_until_loaded()

    async def ask(self, text: str, k: int, allowed: NoteIds | None) -> SemanticAnswer:
        return await self._spaces.ask(text, k, _common(self._ids, allowed))

    async def note_vectors(self, notes: Sequence[int], text: str = "") -> Mapping[int, Any]:
        visible = _common(self._ids, np.array(sorted(notes), np.int64))
        return await self._spaces.note_vectors(visible.tolist(), text)


class ScopedNames(NamedTuple):
    """Names of the visible files that links can point to."""

    names: Names

    def skips(self, path: str) -> bool:
        """Return True, because any file that is missing from the view may be a hidden one."""
        return True


class ScopedKeywordIndex:
    """Keyword index restricted to the notes with these ``ids``."""

    def __init__(self, index: KeywordLane, ids: NoteIds) -> None:
        self._index = index
        self._ids = ids

    @property
    def span_finder(self) -> SpanFinder:
        """Finder of matching spans in texts; see `KeywordIndex`."""
        return self._index.span_finder

    def words_of(self, terms: Collection[str], beginning: str) -> frozenset[str]:
        """Return the written words of terms; see `KeywordLane.words_of`."""
        return self._index.words_of(terms, beginning)

    def search(self, text: str, k: int, allowed: NoteIds | None = None, **options: Any) -> KeywordAnswer:
        """Return the ``k`` best matches among the visible notes; see `KeywordIndex.search`."""
        return self._index.search(text, k, _common(self._ids, allowed), visible=self._ids, **options)


def _common(ids: NoteIds, allowed: NoteIds | None) -> NoteIds:
    return ids if allowed is None else np.intersect1d(ids, allowed, assume_unique=False)
