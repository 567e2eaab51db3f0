"""The language that each note of the keyword index is analysed in, and what a segment keeps of it.

A segment keeps one byte per note: the number of the language, and whether it is the note's own or was given
by the vault. So the index itself says which notes have to be analysed again when the vault's main language
becomes another one, and in which languages a query has to be analysed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vaultseek.content.languages.detect import DEFAULT_LANGUAGE
from vaultseek.content.languages.stems import LANGUAGES

_GIVEN = 0x80
"""Bit of a note whose language was given by the vault."""
_NUMBERS = {language: number for number, language in enumerate(LANGUAGES)}
_NONE = 0x7F
"""Number of no language, whose words are not stemmed."""


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """The choice of the language of a note.

    ``given`` is the vault's language, of notes whose own is not clear; with ``for_all`` it is that of every
    note. None stands for no language.
    """

    given: str | None = DEFAULT_LANGUAGE
    for_all: bool = False

    def __post_init__(self) -> None:
        if self.given is not None and self.given not in _NUMBERS:
            raise ValueError(f"no stemmer for {self.given!r}; use one of {', '.join(LANGUAGES)}, or None")

    @classmethod
    def of_vault(cls, main: str, configured: str | None = None) -> LanguageRules:
        """Return the rules of a vault with this main language, and perhaps a configured one."""
        return cls(configured, for_all=True) if configured else cls(analysis_language(main))

    def language_of(self, own: str) -> str | None:
        """Return the language that a note is analysed in; ``own`` is its own, or "" if that is not clear."""
        return self.given if self.for_all or not own else analysis_language(own)

    def mark(self, own: str) -> int:
        """Return the byte of such a note."""
        language = self.language_of(own)
        number = _NONE if language is None else _NUMBERS[language]
        return number | (_GIVEN if self.for_all or not own else 0)

    @property
    def version(self) -> str:
        """The part of the rules that, if it changes, asks for a new index."""
        return f"all:{self.given or '-'}" if self.for_all else "own"

    def outdated(self, marks: Iterable[int]) -> list[int]:
        """Return those of the bytes that say another language than the vault's, which gave it."""
        return [mark for mark in marks if mark & _GIVEN and mark != self.mark("")]


def analysis_language(language: str) -> str:
    """Return the language whose rules hold for a text; those of English where a language has none.

    What stands between the characters of Chinese, for instance, is English more often than not.
    """
    return language if language in _NUMBERS else DEFAULT_LANGUAGE


def language_of_mark(mark: int) -> str | None:
    """Return the language that a byte stands for."""
    number = mark & ~_GIVEN
    return None if number == _NONE else LANGUAGES[number]
