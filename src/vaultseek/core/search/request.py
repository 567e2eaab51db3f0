"""Search requests, as received and as parsed."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vaultseek.base import limits
from vaultseek.base.currency import Rules
from vaultseek.base.model import Mode
from vaultseek.base.text import quote
from vaultseek.base.when import present
from vaultseek.content.query.dates import dates_of
from vaultseek.content.query.expression import Budget
from vaultseek.content.query.fields import from_fields
from vaultseek.content.query.filters import Contains, all_of, expressions_of
from vaultseek.content.query.grammar import Query, parse_query, plain_query
from vaultseek.content.query.profile import Profile, profile_query
from vaultseek.content.query.times import SpokenTime, find_time
from vaultseek.core.search import formula
from vaultseek.errors import BadQuery
from vaultseek.settings.search import SearchSettings

OF_DEADLINE = 0.8
"""Share of the deadline available for regular expressions; the rest is for building the answer."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search request.

    A ``limit`` of None means the settings' limit, or every note for a query with only filters. ``brief``
    results, and all results after the first ``limits.RESULTS``, have no passages; other results have up to
    ``passages``. ``plain`` treats the whole query as words. A lane that takes longer than ``seconds`` is left
    out. ``typing`` is true while the query is being typed. ``prefix_named`` has the ids of notes with a name
    that begins with the query; these notes come first.
    """

    query: str
    settings: SearchSettings
    limit: int | None = None
    mode: Mode = "hybrid"
    explain: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)
    brief: bool = False
    passages: int = 1
    seconds: float | None = None
    plain: bool = False
    typing: bool = False
    prefix_named: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A search request with its parsed query, its profile and its effective limit."""

    request: SearchRequest
    query: Query
    profile: Profile
    limit: int
    time: SpokenTime | None = None
    """Day or period that the query names, if any."""
    expressions: Budget | None = None
    """Time budget for regular expressions; None if the query has none."""
    end: float | None = None
    """Deadline as a monotonic time, in seconds."""

    def with_deadline(self, seconds: float | None) -> ParsedRequest:
        """Return the request with a deadline ``seconds`` from now, which also limits its regular
        expressions.
        """
        now = time.monotonic()
        end = None if seconds is None else now + seconds
        expressions = Budget() if seconds is None else Budget(now + seconds * OF_DEADLINE)
        return replace(
            self,
            request=replace(self.request, seconds=seconds),
            expressions=expressions if any(expressions_of(self.query.filter)) else None,
            end=end,
        )

    def reading(self, words: Collection[str]) -> ParsedRequest:
        """Return the request with the query terms ``words`` read as ordinary words, not as filters."""
        parsed = parse_request(self.request, words)
        return replace(parsed, limit=self.limit, expressions=self.expressions, end=self.end)

    def ranked_by(self, text: str) -> ParsedRequest:
        """Return the request as a keyword search that ranks by ``text`` only."""
        request = replace(self.request, mode="keyword")
        return replace(self, request=request, query=replace(self.query, rank_text=text))

    @property
    def seconds(self) -> float | None:
        """Seconds until the deadline; None if there is no deadline."""
        return None if self.end is None else max(0.0, self.end - time.monotonic())

    @property
    def is_listing(self) -> bool:
        """True for a query with only filters, which needs no ranking."""
        return self.query.is_listing or not self.query.rank_text

    @property
    def is_unfinished(self) -> bool:
        """True if the last word that counts for the ranking is still being typed."""
        words = self.query.rank_text.split()
        text = self.request.query
        return self.request.typing and bool(words) and text[-1:].isalnum() and text.endswith(words[-1])

    @property
    def depth(self) -> int:
        """Number of notes that each lane retrieves and proposes; more if the query names a time."""
        return max(formula.SCALE_NOTES, 2 * self.limit, formula.TIME_NOTES if self.time else 0)

    @property
    def ranked(self) -> int:
        """Number of proposed notes to rank, chosen by their scores from all lanes."""
        return max(formula.RANKED_NOTES, self.limit + self.limit // 5)

    @property
    def previews(self) -> int:
        """Number of results that include a passage."""
        return 0 if self.request.brief else limits.RESULTS


def parse_request(request: SearchRequest, words: Collection[str] = ()) -> ParsedRequest:
    """Parse the query and the filter fields of a request. Terms listed in ``words`` are read as ordinary
    words, not as filters.

    Raises BadQuery for an invalid query.
    """
    query = parse_with_fields(
        request.query, request.fields, plain=request.plain, words=words, rules=request.settings.currency.rules
    )
    if not (request.typing or any(map(str.isalnum, query.rank_text))):
        # Neither lane indexes punctuation, so notes must be read, which is too slow at every keystroke.
        signs = (Contains(each) for each in query.rank_text.split())
        query = replace(query, filter=all_of((query.filter, *signs)), rank_text="")
    time = _time_of(query) if request.settings.times else None
    listing = limits.LISTED_NOTES if not query.rank_text else request.settings.limit
    profile = profile_query(query, request.settings.profile)
    return ParsedRequest(request, query, profile, request.limit or listing, time).with_deadline(
        request.seconds
    )


def parse_with_fields(
    text: str,
    fields: Mapping[str, Any],
    *,
    plain: bool = False,
    words: Collection[str] = (),
    rules: Rules | None = None,
) -> Query:
    """Parse ``text`` and add the filters in ``fields``; relative dates are relative to now.

    ``rules`` define which notes are outdated. With ``plain``, the whole text is read as words. Terms listed
    in ``words`` are read as words, not as filters. Raises BadQuery for an invalid query.
    """
    now = present()
    query = plain_query(text) if plain else parse_query(text, now=now, words=words, rules=rules)
    by_fields = from_fields(fields, now=now)
    if by_fields is not None:
        query = replace(query, filter=all_of((query.filter, by_fields)))
    if query.is_empty:
        nothing = f"the query has nothing to search for: {'; '.join(query.notes)}"
        problem = nothing if query.notes else "the query is empty"
        raise BadQuery(f"{problem}; use a word, a phrase or a filter")
    return query


# -- saved searches

_NAME = re.compile(r"\s*@([\w-]+)(?=\s|$)")


def with_saved_searches(query: str, searches: Mapping[str, str]) -> str:
    """Expand the saved searches at the beginning of ``query``, and return the result.

    An unknown ``@name`` is an ordinary word. Expanded text is not expanded again.
    """
    saved: list[str] = []
    position = 0
    by_name = {name.casefold(): text for name, text in reversed(list(searches.items()))}
    while (match := _NAME.match(query, position)) and match[1].casefold() in by_name:
        saved.append(by_name[match[1].casefold()])
        position = match.end()
    parts = [*saved, *([rest] if (rest := query[position:].strip()) else [])]
    if not saved:
        return query
    # Without parentheses an OR would also apply to the adjacent words.
    return parts[0] if len(parts) == 1 else " ".join([*(f"({text})" for text in saved), *parts[len(saved) :]])


def search_problems(searches: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name of each saved search that does not work as written, with a description of the
    problem.
    """
    names = {name.casefold() for name in searches}
    for name, text in searches.items():
        if (match := _NAME.match(text)) and match[1].casefold() in names:
            yield name, "a saved search inside another one is treated as a word; write its query in full"
        try:
            # In parentheses, an operator at the end is not mistaken for one that is still being typed.
            notes = parse_with_fields(text, {}).notes or parse_with_fields(f"({text} )", {}).notes
            yield from ((name, note) for note in notes)
        except BadQuery as error:
            yield name, str(error)


def unknown_searches(query: str, searches: Mapping[str, str]) -> list[str]:
    """Return a list with one remark if ``query`` begins with an unknown ``@name`` and saved searches exist;
    otherwise an empty list.
    """
    match = _NAME.match(query)
    if match is None or not searches:
        return []
    known = ", ".join(f"@{name}" for name in sorted(searches))
    return [f"{quote('@' + match[1])} was treated as a word; the saved searches are {known}"]


def _time_of(query: Query) -> SpokenTime | None:
    """Return the time that a query names outside quoted phrases; None if it names no time."""
    text = query.rank_text
    # A query that is only a date is searched for as written.
    if not (query.reads_time and text) or dates_of(text):
        return None
    time = find_time(text, present().date())
    return None if time is None or any(time.text in phrase for phrase in query.phrases) else time
