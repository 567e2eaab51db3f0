"""Judge how well a model of English reads a text, without asking it: by the script of the letters, by stop
words, and by the pieces that the model's own tokenizer makes of the words.

A word of English is one or two pieces of such a model's vocabulary. A word of another language in Latin
letters is two or three, which the model has met seldom; one in another script is spelled letter by letter, or
is a single unknown piece.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Literal

from vaultseek.base.text import fold_accents
from vaultseek.content.languages.stopwords import WITH_STOP_WORDS, folded_stop_words

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
    judged = [
        language_support(text, count) != "well" for text in texts if _shows_language(text[:JUDGED_CHARS])
    ]
    return sum(judged) / len(judged) if judged else 0.0


def _shows_language(text: str) -> bool:
    return sum(map(len, _WORD.findall(text))) >= SAMPLED_LETTERS / (1 if text.isascii() else 2)


def _share_of_other_scripts(words: list[str]) -> float:
    letters = "".join(words)
    return sum(map(_is_of_other_script, letters)) / len(letters)


def _is_of_other_script(letter: str) -> bool:
    return letter > _LAST_LATIN and not _VIETNAMESE[0] <= letter <= _VIETNAMESE[1]


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
