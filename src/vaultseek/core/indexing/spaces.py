"""The vector spaces of a vault: which of them answers a question, and why one may be answered badly.

A vault has the space of its own model. A vault in English may have a second one, of a model that reads other
languages, for questions that the first does not read; a question is answered by exactly one of them, because
cosines of different models cannot be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from vaultseek.base.model import JSON, Reason
from vaultseek.core.indexing.language_support import LanguageSupport, language_support
from vaultseek.core.indexing.second_space import SecondSpace
from vaultseek.semantic.models.choice import VaultModels
from vaultseek.store.ledger import Ledger

JUDGED_TEXTS = 1000
"""Texts whose judgement is kept."""
NOT_YET = "the vectors for other languages than English are not computed yet"
LAGGING_NOTES = 20
LAGGING_SHARE = 0.02
"""Notes that a space may lack without a word about it, if they are also no more than this share of all."""


class Spaces:
    """Chooses between the vault's own space and ``second``, if there is one.

    ``count`` counts the pieces of a text for the model of the first.
    """

    def __init__(
        self, models: VaultModels, second: SecondSpace | None, count: Callable[[str], int], ledger: Ledger
    ) -> None:
        self.models = models
        self.second = second
        self._ledger = ledger
        self._judge = lru_cache(JUDGED_TEXTS)(lambda text: language_support(text, count))

    def second_for(self, text: str) -> SecondSpace | None:
        """Return the second space if it is the one to answer the text.

        While it is being filled, it answers only what the first does not read at all.
        """
        if self.second is None:
            return None
        reads = self._reads(text)
        if reads == "well" or not self._has_some():
            return None
        return self.second if reads == "not" or self.second.was_full else None

    def wants_second(self, texts: Iterable[str]) -> bool:
        """True if one of the texts is in another language than the first space reads."""
        return any(self._reads(text) != "well" for text in texts)

    def unread_reason(self, text: str) -> Reason | None:
        """Return why no space can answer the text, or None."""
        if self._reads(text) != "not" or self.second_for(text) is not None:
            return None
        if self.second is not None:
            return Reason("being_built", NOT_YET)
        unread = f"{self.models.main.name} does not read this language"
        return Reason("unread_language", f"{unread}; {self.models.advice}" if self.models.advice else unread)

    def lag_reason(self, text: str) -> Reason | None:
        """Return why the second space cannot answer the text yet, or lacks notes; None if it lacks few."""
        space = self.second_for(text)
        if space is None:
            waits = self.second is not None and self._reads(text) == "poorly"
            return Reason("being_built", NOT_YET) if waits else None
        pending, notes = space.pending_count() or 0, self._ledger.counts().notes
        if pending <= min(LAGGING_NOTES, LAGGING_SHARE * notes):
            return None
        return Reason("being_built", f"{pending} of {notes} notes have no vectors for this language yet")

    def as_json(self) -> JSON:
        """Return the models of the vault, and how far the second space is, as ``index/status`` has them."""
        second = self.second
        return {
            "main": self.models.main.name,
            "why": self.models.why or None,
            "only_english": self.models.only_english,
            "second": None if second is None else second.model.name,
            "second_notes_left": None if second is None else second.pending_count(),
            "second_problem": None if second is None else second.problem,
            "advice": self.models.advice or None,
        }

    def _has_some(self) -> bool:
        pending = None if self.second is None else self.second.pending_count()
        return pending is not None and (pending == 0 or pending < self._ledger.counts().notes)

    def _reads(self, text: str) -> LanguageSupport:
        return self._judge(text) if self.models.only_english else "well"
