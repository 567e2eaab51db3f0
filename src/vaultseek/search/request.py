"""What is asked, and what is known of it while it goes through the steps of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from vaultseek.errors import BadQuery
from vaultseek.index.concept_vocabulary import Concept
from vaultseek.index.keyword.index import KeywordAnswer
from vaultseek.model import JSON, Reason
from vaultseek.query.fields import from_fields
from vaultseek.query.filters import all_of
from vaultseek.query.grammar import Query, parse_query, plain_query
from vaultseek.query.profile import Profile
from vaultseek.search.filter import Allowed
from vaultseek.search.scoring import SCALE_NOTES, Found
from vaultseek.settings.model import SearchSettings
from vaultseek.worker import SemanticAnswer

Mode = Literal["hybrid", "keyword", "semantic"]


@dataclass(frozen=True, slots=True)
class Request:
    """One search. ``limit`` None is the settings' limit, or every note for a query of filters alone.

    ``brief`` results name notes and choose no passages; so do those after the first ``limits.RESULTS``.
    ``plain`` takes the query for words, whatever operators it looks like.
    """

    query: str
    settings: SearchSettings
    limit: int | None = None
    mode: Mode = "hybrid"
    explain: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)
    brief: bool = False
    seconds: float | None = None
    """What is not ready after so long does not take part."""
    plain: bool = False


def understood(text: str, fields: Mapping[str, Any], *, plain: bool = False) -> Query:
    """What is asked for by ``text`` and the filters of ``fields``; relative dates count from now.

    ``plain`` takes the text for words. Raises BadQuery for what cannot be searched for.
    """
    now = datetime.now()
    query = plain_query(text) if plain else parse_query(text, now=now)
    by_fields = from_fields(fields, now=now)
    if by_fields is not None:
        query = replace(query, filter=all_of((query.filter, by_fields)))
    if query.is_empty:
        raise BadQuery("the query is empty; say a word, a phrase or a filter")
    return query


@dataclass(slots=True)
class Asked:
    """What is known of a query while it goes through the steps."""

    request: Request
    query: Query
    profile: Profile
    limit: int
    only: Allowed | None = None
    keyword: KeywordAnswer | None = None
    semantic: SemanticAnswer | None = None
    unexpanded: SemanticAnswer | None = None
    """What the query found by its own words; confidence comes from this."""
    concepts: list[Concept] = field(default_factory=list)
    by_words: Found = field(default_factory=Found)
    by_meaning: Found = field(default_factory=Found)
    weights: tuple[float, float] = (0.0, 0.0)
    vectors: Mapping[int, Any] = field(default_factory=dict)
    confidence: dict[str, float] = field(default_factory=dict)
    nearest: JSON | None = None
    """The best of what was found, where not even that has to do with the query."""
    reranked: dict[str, JSON] = field(default_factory=dict)
    partial: dict[str, Reason] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)

    @property
    def k(self) -> int:
        """How many notes each lane may give."""
        return max(10, round(self.request.settings.top_k_factor * self.limit))

    @property
    def looked_at(self) -> int:
        """How many notes each lane looks at; those that it does not give tell it what its scores mean."""
        return max(self.k, SCALE_NOTES)
