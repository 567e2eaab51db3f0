"""The vector spaces of a vault: choose one for each query, and explain incomplete answers.

Every vault has a space for its own model. An English vault may have a second space, with a model for other
languages, for queries in a language that the first model does not support. Each query is answered by exactly
one space, because cosines from different models cannot be compared.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np

from vaultseek.base.limits import LOADING_SECONDS, QUERY_EMBED_SECONDS, SECOND_QUERY_SECONDS
from vaultseek.base.model import JSON, Reason
from vaultseek.base.text import fold_accents
from vaultseek.content.languages.stopwords import WITH_STOP_WORDS, folded_stop_words
from vaultseek.core.indexing.embed import Embedding
from vaultseek.core.indexing.second_space import SecondSpace
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.semantic.models.choice import VaultModels
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.semantic.worker import SemanticAnswer, SemanticWorker
from vaultseek.store.ledger import Counts, Ledger

JUDGED_TEXTS = 1000
"""Number of texts for which the result of the language check is cached."""
NOT_YET = "the vectors for languages other than English have not been computed yet"
LAGGING_NOTES = 20
LAGGING_SHARE = 0.02
"""Share of notes that may lack vectors before answers report the lag. ``LAGGING_NOTES`` limits the number of
such notes; the smaller of the two limits applies."""
LAGGING_PASSAGES = 20
LAGGING_PASSAGES_SHARE = 0.1
"""Share of passages, but at least ``LAGGING_PASSAGES`` passages, that may lack vectors before answers report
the lag.

Above this limit, notes are compared only by their own vectors; otherwise a note whose passages have no
vectors would come last.
"""
_EMBEDDING = Reason("being_built", "many passages are not embedded yet")
_NOTES_EMBEDDING = Reason("not_embedded", "many notes are not embedded yet")


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limits, in seconds, for a search that waits for models; by default, what a person tolerates."""

    query_seconds: float = QUERY_EMBED_SECONDS
    second_seconds: float = SECOND_QUERY_SECONDS
    """Maximum seconds to wait for the second space's model, which may have to be loaded first."""
    loading_seconds: float = LOADING_SECONDS
    """Maximum seconds to wait for a model that is being loaded."""
    rerank_seconds: float | None = None
    """Maximum seconds for reranking; None for the time limit in the search settings."""
    complete: bool = False
    """True to wait for a model that is starting, and for the concept vocabulary, instead of answering without
    them."""


class EmbeddingSpaces:
    """Semantic search in the vault's own vector space or in the second one, without removed notes."""

    def __init__(
        self,
        models: VaultModels,
        embedding: Embedding,
        second: SecondSpace | None,
        ledger: Ledger,
        worker: SemanticWorker,
        patience: Patience,
    ) -> None:
        self.models = models
        self.second = second
        self._embedding = embedding
        self._ledger = ledger
        self._worker = worker
        self._patience = patience
        self._judge = lru_cache(JUDGED_TEXTS)(lambda text: language_support(text, embedding.spec.count))

    def second_for(self, text: str) -> SecondSpace | None:
        """Return the second space if it should answer ``text``, otherwise None.

        While the second space is being filled, it answers only texts that the first space does not support at
        all.
        """
        if self.second is None:
            return None
        reads = self._reads(text)
        if reads == "well" or not self.second.has_some:
            return None
        return self.second if reads == "not" or self.second.was_full else None

    def wants_second(self, texts: Iterable[str]) -> bool:
        """True if any of the texts is in a language that the first space supports poorly or not at all."""
        return any(self._reads(text) != "well" for text in texts)

    def unsupported_language_reason(self, text: str) -> Reason | None:
        """Return the reason why no space can answer the text, or None if one can."""
        if self._reads(text) != "not" or self.second_for(text) is not None:
            return None
        if self.second is not None:
            return Reason("being_built", NOT_YET)
        unread = f"{self.models.main.name} does not support this language"
        if (missing := self.models.missing) is None:
            return Reason("unread_language", unread)
        return Reason("unread_language", f"{unread}; {missing.text}", missing.advice)

    def lag_reason(self, text: str) -> Reason | None:
        """Return why many notes are missing from the space that answers ``text``; None if few are missing.

        A few passages without a vector are normal after a save, and are not reported.
        """
        space, counts = self.second_for(text), self._ledger.counts()
        if space is not None:
            pending = space.pending_count() or 0
            if pending <= min(LAGGING_NOTES, LAGGING_SHARE * counts.notes):
                return None
            words = f"{pending} of {counts.notes} notes have no vectors for this language yet"
            return Reason("being_built", words)
        if self._lacks_notes(counts):
            return _NOTES_EMBEDDING
        if self._lacks_passages(counts):
            return _EMBEDDING
        waits = self.second is not None and self._reads(text) == "poorly"
        return Reason("being_built", NOT_YET) if waits else None

    def reason(self, text: str = "") -> Reason | None:
        """Return the reason why the semantic search cannot answer ``text``, or None if it can."""
        if text and self.second_for(text) is not None:
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
        if not counts.chunks or counts.pending < counts.notes + counts.chunks:
            return None
        return Reason("not_embedded", "no passage is embedded yet")

    async def wait_until_loaded(self) -> None:
        """Wait until the model is loaded and the vectors are open, at most ``loading_seconds`` for each."""
        if self._worker.state.status == "starting":
            with suppress(WorkerUnavailable):
                await self._worker.ready(self._patience.loading_seconds)
        if not self._embedding.ready:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience.loading_seconds), self._embedding.opening:
                    pass

    async def ask(self, text: str, k: int, allowed: NoteIds | None) -> SemanticAnswer:
        """Return the passages and notes nearest to ``text``. If ``allowed`` is given, only notes with these
        ids are returned.

        The language of the text determines which space answers. Raises WorkerUnavailable or IndexDamaged.
        """
        second = self.second_for(text)
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
        if second is None:
            counts = self._ledger.counts()
            if self._lacks_passages(counts) and not self._lacks_notes(counts):
                answer = answer.with_chunks(())
        return await asyncio.to_thread(self._without_removed, answer) if space.may_have_removed else answer

    async def note_vectors(self, notes: Sequence[int], text: str = "") -> Mapping[int, Any]:
        """Return a dict from the ids of ``notes`` to their stored vectors in the space that answers ``text``.

        Raises WorkerUnavailable or IndexDamaged.
        """
        space = (self.second_for(text) if text else None) or self._embedding
        return await space.note_vectors(notes, self._patience.query_seconds)

    def _lacks_notes(self, counts: Counts) -> bool:
        notes = counts.pending - (counts.chunks - counts.embedded)
        few = max(LAGGING_PASSAGES, LAGGING_PASSAGES_SHARE * counts.notes)
        return not self._embedding.has_previous and notes > few

    def _lacks_passages(self, counts: Counts) -> bool:
        few = max(LAGGING_PASSAGES, LAGGING_PASSAGES_SHARE * counts.chunks)
        return not self._embedding.has_previous and counts.chunks - counts.embedded > few

    def _without_removed(self, answer: SemanticAnswer) -> SemanticAnswer:
        notes = self._ledger.notes.by_id(answer.note_ids.tolist())
        exist = np.isin(answer.note_ids, list(notes))
        answer = replace(answer, note_ids=answer.note_ids[exist], note_scores=answer.note_scores[exist])
        return answer.with_chunks(self._ledger.chunks.ids(answer.passage_numbers.tolist()))

    def as_json(self) -> JSON:
        """Return the vault's models and the progress of its second space, as reported by ``index/status``."""
        second = self.second
        return {
            "main": self.models.main.name,
            "why": self.models.why or None,
            "only_english": self.models.only_english,
            "second": None if second is None else second.model.name,
            "second_notes_left": None if second is None else second.pending_count(),
            "second_problem": None if second is None else second.problem,
            "advice": self.models.missing and self.models.missing.text,
        }

    def _reads(self, text: str) -> LanguageSupport:
        return self._judge(text) if self.models.only_english else "well"


LanguageSupport = Literal["well", "poorly", "not"]
"""Degree to which an English model supports a text: ``poorly`` for a language other than English in Latin
letters, ``not`` for a different script."""

JUDGED_CHARS = 1000
"""Number of characters that the language check reads from the start of a text."""
SAMPLED_LETTERS = 20
"""Minimum number of letters for a note's language to be detected; half as many if the note is not pure
ASCII."""
FOREIGN_LETTERS = 0.3
"""Minimum share of letters from another script for a text to count as written in that script. English text
with a formula stays below this."""
OWN_STOP_WORDS = 2
"""A text counts as foreign if it has at least this many more stop words of another language than of
English."""
PIECES_WITH_STOP_WORD = 1.5
"""Minimum average number of tokenizer pieces per word at which a text with one surplus foreign stop word
counts as foreign.

The surplus is the number of foreign stop words minus the number of English ones. The limit is well above 1
because names, and misspelt words such as ``triks``, also have several pieces.
"""
PIECES_WITH_ACCENT = 1.8
"""Minimum average number of tokenizer pieces per word at which a text with an accented word counts as
foreign. This limit applies if the text has as many foreign stop words as English ones."""

_LANGUAGES = tuple(code for code in WITH_STOP_WORDS if code != "vi")
"""Languages recognized by stop words. Vietnamese is left out: without its tone marks it looks like English,
so it is recognized by its letters."""
_WORD = re.compile(r"[^\W\d_]+")
_LAST_LATIN = "\u024f"
_VIETNAMESE = ("\u1e00", "\u1eff")


def language_support(text: str, count: Callable[[str], int]) -> LanguageSupport:
    """Return how well an English model reads ``text``. ``count`` returns the number of tokenizer pieces in a
    word.
    """
    text = text[:JUDGED_CHARS]
    words = [word if word.isupper() else word.lower() for word in _WORD.findall(text)]
    if not words:
        return "well"
    if not text.isascii() and _share_of_other_scripts(words) >= FOREIGN_LETTERS:
        return "not"
    beyond = _foreign_stop_words(words)
    if beyond >= OWN_STOP_WORDS:
        return "poorly"
    if beyond < 0 or (beyond == 0 and text.isascii()):
        return "well"
    pieces = sum(map(count, words)) / len(words)
    if beyond > 0:
        return "poorly" if pieces >= PIECES_WITH_STOP_WORD else "well"
    accented = any(not word.isascii() for word in words)
    return "poorly" if accented and pieces >= PIECES_WITH_ACCENT else "well"


def foreign_share(texts: Iterable[str], count: Callable[[str], int]) -> float:
    """Return the share of the texts that an English model reads poorly; 0 if all texts are too short."""
    judged = []
    for text in (text[:JUDGED_CHARS] for text in texts):
        if sum(map(len, _WORD.findall(text))) >= SAMPLED_LETTERS / (1 if text.isascii() else 2):
            judged.append(language_support(text, count) != "well")
    return sum(judged) / len(judged) if judged else 0.0


def _share_of_other_scripts(words: list[str]) -> float:
    letters = "".join(words)
    of_others = (each > _LAST_LATIN and not _VIETNAMESE[0] <= each <= _VIETNAMESE[1] for each in letters)
    return sum(of_others) / len(letters)


def _foreign_stop_words(words: list[str]) -> int:
    folded = [fold_accents(word) for word in words]
    counts = {code: sum(map(_stop_words(code).__contains__, folded)) for code in _LANGUAGES}
    english = counts.pop("en")
    return max(counts.values()) - english


@cache
def _stop_words(code: str) -> frozenset[str]:
    """Return the stop words of a language, without accents. Single letters are left out, because they are
    often variables.
    """
    return frozenset(word for word in folded_stop_words(code) if len(word) > 1)
