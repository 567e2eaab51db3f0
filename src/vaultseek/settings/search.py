"""Settings for searches: combination of results, boosts, expansion and reranking."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from vaultseek.base import limits
from vaultseek.base.currency import STATUSES, Rules
from vaultseek.base.model import Mode
from vaultseek.settings.sections import Section

Weight = Annotated[float, Field(ge=0.0, le=limits.WEIGHT)]


class RecencyTier(Section):
    """A range of ages: the score of notes at most ``days`` old is multiplied by ``factor``."""

    days: float = Field(gt=0.0)
    """Maximum age in days of notes in this tier."""
    factor: float = Field(gt=0.0, le=limits.WEIGHT)
    """Factor by which scores are multiplied."""


class RecencySettings(Section):
    """``[search.recency]``: a boost for recent notes."""

    enabled: bool = True
    """Boost recent notes."""
    tiers: tuple[RecencyTier, ...] = Field(
        default=(RecencyTier(days=7.0, factor=1.2), RecencyTier(days=30.0, factor=1.1)), strict=False
    )
    """Factors by age; the first tier that includes a note's age applies."""
    date: Literal["modified", "created", "filename"] = "modified"
    """The date that determines a note's age."""
    properties: tuple[str, ...] = Field(default=(), strict=False, max_length=limits.DATE_PROPERTIES)
    """Properties that contain a date; the first one present in a note is used instead of ``date``."""

    @field_validator("tiers")
    @classmethod
    def _ascending(cls, tiers: tuple[RecencyTier, ...]) -> tuple[RecencyTier, ...]:
        days = [tier.days for tier in tiers]
        if any(later <= earlier for earlier, later in pairwise(days)):
            raise ValueError("tiers in order of increasing days")
        return tiers


class ExpansionSettings(Section):
    """``[search.expansion]``: similar terms from the vault, added to the query for the search by meaning."""

    enabled: bool = False
    """Add similar terms to queries."""
    terms: int = Field(default=3, ge=1, le=limits.EXPANSION_TERMS)
    """Maximum number of terms to add."""
    floor: float = Field(default=0.6, ge=0.0, le=1.0)
    """Minimum similarity of a term to the query."""


class CurrencySettings(Section):
    """``[search.currency]``: rules for outdated notes, in addition to successors and dates named in notes."""

    statuses: tuple[str, ...] = Field(default=STATUSES, strict=False, max_length=limits.STATUSES)
    """Values of the property ``status`` that mark a note as outdated; case is ignored."""
    folders: tuple[str, ...] = Field(default=(), strict=False, max_length=limits.STATUSES)
    """Folders of outdated notes, such as "Archive"."""
    tags: tuple[str, ...] = Field(default=(), strict=False, max_length=limits.STATUSES)
    """Tags of outdated notes, such as "archived", including nested tags."""

    @property
    def rules(self) -> Rules:
        """The rules that decide whether a note is outdated."""
        return Rules(self.statuses, self.folders, self.tags)


class SearchSettings(Section):
    """``[search]``: how searches rank; every key can also be set for a single search."""

    limit: int = Field(default=limits.SHOWN_RESULTS, ge=1, le=limits.RESULTS)
    """Maximum number of results, one per note."""
    mode: Mode = "hybrid"
    """Search by words and meaning, by words only or by meaning only."""
    fusion: Literal["rrf", "linear"] = "rrf"
    """Combine the two searches by reciprocal rank fusion, or as a weighted sum of normalised scores."""
    rrf_k: float = Field(default=60.0, ge=1.0, le=1000.0)
    """The constant k of RRF; a smaller value favours each search's first results."""
    rrf_ranks: Literal["score", "integer"] = "score"
    """Use fractional ranks that reflect score differences, or plain ranks 1, 2, 3."""
    keyword_weight: Weight = 1.0
    """Weight of search by words; setting it turns off ``adaptive``. Aliases: ``rrf_keyword_weight``,
    ``rrf_bm25_weight``."""
    semantic_weight: Weight = 1.0
    """Weight of search by meaning; setting it turns off ``adaptive``. Alias: ``rrf_vector_weight``."""
    graph_weight: Weight = 0.5
    """Weight of notes linked to the matches; such notes stay below direct matches."""
    graph: bool = True
    """Also consider notes linked to the matches."""
    alpha: float = Field(default=0.7, ge=0.0, le=1.0)
    """Weight of search by meaning with fusion = "linear"; search by words gets the rest. An explicit weight
    takes precedence."""
    adaptive: bool = True
    """Let ``profile`` determine the weights for each query, unless a weight is set."""
    profile: Literal["auto", "length", "code", "conceptual", "balanced"] = "auto"
    """Basis for the weights: how well the words match ("auto"), the query's length ("length"), or fixed
    values."""
    min_confidence: float = Field(default=0.0, ge=0.0, le=1.0)
    """Drop results below this confidence; 0 keeps all."""
    nothing_below: float = Field(default=0.04, ge=0.0, le=1.0)
    """Return no results if none of the top ten reaches this confidence; 0 turns this off."""
    anchor_boost: float = Field(default=1.5, ge=1.0, le=limits.WEIGHT)
    """Factor for notes that contain an identifier or phrase from the query, or its only word."""
    times: bool = True
    """Prefer notes from the time named in a question, such as *last week*."""
    learn: bool = True
    """Record in the index which notes are opened from which queries, and rank opened notes higher."""
    rerank_enabled: bool = False
    """Rerank the first results with a cross-encoder. This is slow."""
    rerank_model: str = Field(default="cross-encoder/ms-marco-MiniLM-L-6-v2", min_length=1)
    """The name of a fetched cross-encoder, or its folder; "server" uses the server in ``[reranker]``."""
    rerank_top_n: int = Field(default=10, ge=2, le=limits.RERANKED_NOTES)
    """Number of results to rerank."""
    rerank_seconds: float = Field(default=limits.RERANK_SECONDS, gt=0.0, le=limits.DEADLINE_SECONDS)
    """Time limit in seconds; results not reranked in time keep their ranks."""
    recency: RecencySettings = RecencySettings()
    expansion: ExpansionSettings = ExpansionSettings()
    currency: CurrencySettings = CurrencySettings()

    other_names: ClassVar[Mapping[str, str]] = {
        "rrf_keyword_weight": "keyword_weight",
        "rrf_bm25_weight": "keyword_weight",
        "rrf_vector_weight": "semantic_weight",
    }

    @property
    def reranker(self) -> str | None:
        """The name of the cross-encoder; None if reranking is off."""
        return self.rerank_model if self.rerank_enabled else None

    @property
    def has_explicit_weights(self) -> bool:
        """True if the weight of words or of meaning is set, so that no profile may choose the weights."""
        return bool({"keyword_weight", "semantic_weight"} & self.model_fields_set)

    @property
    def has_explicit_alpha(self) -> bool:
        """True if ``alpha`` is set."""
        return "alpha" in self.model_fields_set
