"""The query language: what a user types, split into rank text and an exact filter.

Bare words are rank text and require nothing. A quoted phrase is rank text and a filter. Everything else is a
filter: ``-word``, ``-"phrase"``, ``-(…)``, ``name:value``, ``[property]``. A space means *and* and binds
tighter than ``OR``. Under an ``OR`` of which some side holds a filter, bare words must be there like phrases,
since otherwise that side would let every note through; an ``OR`` of words alone is a wider bag of words.

What follows ``name:`` is a word, a phrase, a ``[[link]]``, or several of these in parentheses. Words that a
note must have in its text (phrases, ``content:`` to ``task:``) are rank text too, so that the best
of the notes that have them come first; excluded words are not.

Nothing that a user can type is an error but too much of it: an unknown operator is a word; open quotes,
brackets and parentheses are read to the end, and ``Query.notes`` says what was repaired.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import datetime

from vaultseek import limits
from vaultseek.errors import BadQuery
from vaultseek.model import JSON
from vaultseek.query.filters import And, Filter, HasTask, Not, Or, Within, conjuncts
from vaultseek.query.syntax import read_tree
from vaultseek.query.tree import phrases, rank_words, required
from vaultseek.text import blank_controls


@dataclass(frozen=True, slots=True)
class Query:
    """A query as understood.

    ``rank_text`` holds the words to rank by, in their order; ``phrases`` those of them that stood in quotes
    (the filter already asks for them). ``notes`` are sentences about what was repaired or taken as words.
    """

    text: str
    rank_text: str = ""
    filter: Filter | None = None
    phrases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to rank by and nothing to filter by."""
        return not self.rank_text and self.filter is None

    @property
    def is_listing(self) -> bool:
        """Whether there are filters alone, which ask for every note that satisfies them."""
        return not self.rank_text and self.filter is not None

    @property
    def interpreted(self) -> JSON:
        """What was understood, for the answer: rank text, phrases, the conditions in plain words, notes."""
        return {
            "rank_text": self.rank_text,
            "phrases": list(self.phrases),
            "filters": [str(condition) for condition in conjuncts(self.filter)],
            "notes": list(self.notes),
        }


def parse_query(text: str, *, now: datetime | None = None) -> Query:
    """Understand ``text``; relative dates count from ``now``, by default the clock's local time.

    Raises BadQuery for more than ``limits.QUERY_CHARS`` characters (before anything is read), more than
    ``limits.QUERY_TERMS`` conditions or parentheses deeper than ``limits.QUERY_DEPTH``; for nothing else.
    """
    _bounded(text)
    tree, notes = read_tree(_plain(text), now or datetime.now())
    condition = required(tree)
    if (count := _count(condition)) > limits.QUERY_TERMS:
        raise BadQuery(f"the query has {count} conditions; use at most {limits.QUERY_TERMS}")
    return Query(
        text=text,
        rank_text=" ".join(rank_words(tree)),
        filter=condition,
        phrases=tuple(dict.fromkeys(phrases(tree))),
        notes=notes,
    )


def plain_query(text: str) -> Query:
    """``text`` as words alone, whatever operators it looks like. Raises BadQuery if it is too long."""
    _bounded(text)
    return Query(text, rank_text=" ".join(text.split()))


def _bounded(text: str) -> None:
    if len(text) > limits.QUERY_CHARS:
        raise BadQuery(f"the query has {len(text)} characters; use at most {limits.QUERY_CHARS}")


_QUOTES = dict.fromkeys(map(ord, "“”„‟"), '"')


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", blank_controls(text)).translate(_QUOTES)


def _count(condition: Filter | None) -> int:
    match condition:
        case None:
            return 0
        case And(parts) | Or(parts):
            return sum(map(_count, parts))
        case Not(part) | Within(test=part):
            return _count(part)
        case HasTask(test=test):
            return max(1, _count(test))
        case _:
            return 1
