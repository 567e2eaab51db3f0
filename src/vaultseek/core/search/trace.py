"""The trace of a search: the value that each step of the ladder returned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vaultseek.base.model import JSON, Chunk, Reason
from vaultseek.core.search.currency import Currency
from vaultseek.core.search.filter import FilterResult
from vaultseek.core.search.fusion import Candidate
from vaultseek.core.search.ranking import Ranking
from vaultseek.core.search.request import ParsedRequest
from vaultseek.core.search.rerank import RerankScore
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.core.search.scoring import ScoredLanes
from vaultseek.core.search.snippet import Matcher


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that a search came to, step by step; answers, explanations and ``why`` read it.

    ``filtered`` is None without a filter. ``results`` are the candidates that are answered, best first, cut
    at the limit; ``nearest`` is the best candidate where nothing counts as a match. ``passages`` are by note
    id, and so are the ``further`` ones that were asked for; ``reranked`` is by path. ``partial`` says, by
    lane or stage, why it was left out or incomplete. ``matcher`` finds the words to mark in previews, which
    leave out the lines that many notes have ``shared``. ``certainties`` are by path, those after the limit
    among them, none in a listing; ``weak`` is that of the selection. ``substitutes`` are the words of the
    results for each word of the query that they stand in for. ``currencies`` are by path, those of results
    that are not current.
    """

    parsed: ParsedRequest
    filtered: FilterResult | None
    ranking: Ranking
    results: Sequence[Candidate]
    index_state: JSON
    retrieval: Retrieval = field(default_factory=Retrieval)
    lanes: ScoredLanes = field(default_factory=ScoredLanes)
    nearest: Candidate | None = None
    reranked: Mapping[str, RerankScore] = field(default_factory=dict)
    passages: Mapping[int, Chunk] = field(default_factory=dict)
    further: Mapping[int, Sequence[Chunk]] = field(default_factory=dict)
    partial: Mapping[str, Reason] = field(default_factory=dict)
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    matcher: Matcher | None = None
    shared: frozenset[str] = frozenset()
    certainties: Mapping[str, float] = field(default_factory=dict)
    weak: bool = False
    substitutes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    currencies: Mapping[str, Currency] = field(default_factory=dict)

    def confidence(self, candidate: Candidate) -> float:
        """Return how likely the candidate answers the query, in [0, 1]; 1 in a listing."""
        return self.ranking.confidence.get(candidate.note, 1.0)

    def certainty(self, candidate: Candidate) -> float:
        """Return how likely the candidate is right among the results, in [0, 1]; 1 in a listing."""
        return self.certainties.get(candidate.note, 0.0) if self.ranking.confidence else 1.0
