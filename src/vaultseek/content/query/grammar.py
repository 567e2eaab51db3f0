"""The query language: the text of a query, split into rank text and an exact filter.

Bare words are rank text, not filters. A quoted phrase is both rank text and a filter. Everything else is a
filter: ``-word``, ``-"phrase"``, ``-(…)``, ``name:value``, ``[property]``. A space means *and* and binds
tighter than ``OR``. If one side of an ``OR`` has a filter, bare words are filters like phrases, since their
side would otherwise match every note. An ``OR`` of bare words has no effect: all of them are rank text.

The value of ``name:`` is a word, a phrase, a ``[[link]]``, or several of these in parentheses. Words that
operators search for in text (``content:`` to ``task:``) are also rank text, so that the best matching notes
come first; excluded words are not. Other operators do not affect the ranking.

Only a query that is too long or too deep is an error: an unknown operator is a word; unclosed quotes,
brackets and parentheses extend to the end, and ``Query.notes`` reports the repairs.
"""

import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from vaultseek.base import limits
from vaultseek.base.currency import Rules
from vaultseek.base.model import JSON
from vaultseek.base.text import blank_controls
from vaultseek.base.when import present
from vaultseek.content.languages.stopwords import stop_words
from vaultseek.content.query.filters import Filter, HasTask, Within, conjuncts, leaves, texts_of
from vaultseek.content.query.operators import Reading
from vaultseek.content.query.syntax import parse_tree
from vaultseek.content.query.tree import Condition, Node, Phrase, Word, required_filter, required_leaves
from vaultseek.errors import BadQuery

_NEGATIONS = frozenset({"without", "except", "excluding", "ohne"})
_NEGATIONS_OUTSIDE_QUESTIONS = frozenset({"not", "no"})
_QUESTION_WORDS = frozenset(
    {"are", "can", "could", "did", "do", "does", "has", "have", "how", "is", "should", "was", "were", "what"}
    | {"when", "where", "which", "who", "why", "will"}
)
_NOT_EXCLUDED = stop_words("en") | {"ein", "eine", "einen"}
"""Words that may stand between a negation and the word that it excludes."""


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    ``rank_text`` holds the words to rank by, in order; ``phrases`` holds the words in quotes, which the
    filter also requires. ``notes`` are sentences about repairs and about operators read as words.
    ``doubtful`` terms may turn out to be words: ``[name]`` and ``.csv`` are conditions only if the vault has
    that property or extension; ``-xzf`` in ``tar -xzf``, only if no note contains ``tar -xzf``.
    ``reads_time`` is False after ``when:any``. ``negated`` is True if a word, such as *without*, seems to
    exclude another one; the search ignores that.
    """

    text: str
    rank_text: str = ""
    filter: Filter | None = None
    phrases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    doubtful: tuple[tuple[str, Filter], ...] = ()
    reads_time: bool = True
    negated: bool = False

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to rank by and nothing to filter by: the query is empty."""
        return not self.rank_text and self.filter is None

    @property
    def is_listing(self) -> bool:
        """True if the query has only filters, so that the answer lists every matching note."""
        return not self.rank_text and self.filter is not None

    @property
    def interpreted(self) -> JSON:
        """The parsed query for the answer: rank text, phrases, descriptions of the conditions, and notes."""
        return {
            "rank_text": self.rank_text,
            "phrases": list(self.phrases),
            "filters": [str(condition) for condition in conjuncts(self.filter)],
            "notes": list(self.notes),
        }


def parse_query(
    text: str, *, now: datetime | None = None, words: Collection[str] = (), rules: Rules | None = None
) -> Query:
    """Parse ``text``. Relative dates are relative to ``now``, by default the reader's local time.

    A term such as ``[name]``, ``.csv`` or ``-xzf`` that is in ``words`` is read as an ordinary word, not as a
    condition. ``rules`` define which notes are outdated.

    Raises BadQuery for more than ``limits.QUERY_CHARS`` characters (before parsing), more than
    ``limits.QUERY_TERMS`` conditions or parentheses deeper than ``limits.QUERY_DEPTH``.
    """
    _check_length(text)
    normal = unicodedata.normalize("NFC", blank_controls(text))
    tree, notes, doubtful, reads_time = parse_tree(normal, Reading(now or present(), rules or Rules()), words)
    condition = required_filter(tree)
    if (count := _count(condition)) > limits.QUERY_TERMS:
        raise BadQuery(f"the query has {count} conditions; use at most {limits.QUERY_TERMS}")
    required = list(required_leaves(tree))
    negations = [*_negations([leaf.text for leaf in required if isinstance(leaf, Word)])]
    return Query(
        text=text,
        rank_text=" ".join(_rank_words(required)),
        filter=condition,
        phrases=tuple(dict.fromkeys(leaf.text for leaf in required if isinstance(leaf, Phrase))),
        notes=(*notes, *negations),
        doubtful=doubtful,
        reads_time=reads_time,
        negated=bool(negations),
    )


def _rank_words(required: Sequence[Node]) -> Iterator[str]:
    if not any(isinstance(leaf, Word | Phrase) for leaf in required):
        return
    for leaf in required:
        match leaf:
            case Word(text) | Phrase(text):
                yield text
            case Condition(condition):
                yield from texts_of(condition)


def _negations(words: Sequence[str]) -> Iterator[str]:
    """Yield a remark for each word that seems to exclude the next word, but is treated as an ordinary
    word.
    """
    folded = ["" if word == "NOT" else word.casefold().strip(".,;:!?") for word in words]
    is_question = bool(folded) and (folded[0] in _QUESTION_WORDS or words[-1].endswith("?"))
    excluding = _NEGATIONS if is_question else _NEGATIONS | _NEGATIONS_OUTSIDE_QUESTIONS
    for place, word in enumerate(folded):
        excluded = next((after for after in folded[place + 1 :] if after not in _NOT_EXCLUDED), "")
        if word in excluding and excluded:
            yield f"{word} was treated as a word; write -{excluded} to exclude {excluded}"


def plain_query(text: str) -> Query:
    """Return a query that treats ``text`` as plain words, without parsing operators. Raises BadQuery if it is
    too long.
    """
    _check_length(text, limits.PASSAGE_CHARS)
    return Query(text, rank_text=" ".join(text.split()), reads_time=False)


def _check_length(text: str, most: int = limits.QUERY_CHARS) -> None:
    if len(text) > most:
        raise BadQuery(f"the query has {len(text):,} characters; use at most {most:,}")


def _count(condition: Filter | None) -> int:
    inner = (leaf.test if isinstance(leaf, Within | HasTask) else None for leaf in leaves(condition))
    return sum(max(1, _count(test)) for test in inner)
