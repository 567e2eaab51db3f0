"""The vector spaces of a vault: which of them answers a question, and why one may be answered badly.

A vault has the space of its own model. A vault in English may have a second one, of a model that reads other
languages, for questions that the first does not read; a question is answered by exactly one of them, because
cosines of different models cannot be compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Literal

from vaultseek.base.model import JSON, Reason
from vaultseek.base.text import fold_accents
from vaultseek.content.languages.stopwords import WITH_STOP_WORDS, folded_stop_words
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
        if reads == "well" or not self.second.has_some:
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

    def _reads(self, text: str) -> LanguageSupport:
        return self._judge(text) if self.models.only_english else "well"


LanguageSupport = Literal["well", "poorly", "not"]
"""The success of a model of English with a text: ``poorly`` in another language of Latin letters, ``not`` in
another script."""

JUDGED_CHARS = 1000
"""Longest part of a text that is judged."""
SAMPLED_LETTERS = 20
"""Letters below which a note says nothing about the language of its vault; half of them in other scripts."""
FOREIGN_LETTERS = 0.3
"""Share of letters of other scripts from which a text is in one of them; a formula has fewer."""
OWN_STOP_WORDS = 2
"""Stop words of another language, beyond those of English, that are enough by themselves."""
PIECES_WITH_STOP_WORD = 1.5
"""Pieces per word from which one such stop word is enough: ``triks`` and names have more than one, too."""
PIECES_WITH_ACCENT = 1.8
"""Pieces per word from which a word with an accent is enough."""

_LANGUAGES = tuple(code for code in WITH_STOP_WORDS if code != "vi")
"""Without its tones, Vietnamese looks like English: its letters tell it."""
_WORD = re.compile(r"[^\W\d_]+")
_LAST_LATIN = "\u024f"
_VIETNAMESE = ("\u1e00", "\u1eff")


def language_support(text: str, count: Callable[[str], int]) -> LanguageSupport:
    """Return how a model of English reads ``text``; ``count`` counts its pieces of a word."""
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
    """Return the share of the texts that a model of English does not read well; 0 if none says anything."""
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
    """Return by how many another language has more stop words in the text than English has."""
    folded = [fold_accents(word) for word in words]
    counts = {code: sum(map(_stop_words(code).__contains__, folded)) for code in _LANGUAGES}
    english = counts.pop("en")
    return max(counts.values()) - english


@cache
def _stop_words(code: str) -> frozenset[str]:
    """Return the stop words of a language, without accents; single letters are often variables."""
    return frozenset(word for word in folded_stop_words(code) if len(word) > 1)
