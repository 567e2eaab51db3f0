"""Respond: the results of all steps of a search as JSON, with previews and explanations."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vaultseek.base import limits
from vaultseek.base.model import JSON, Chunk, Reason, less_certain
from vaultseek.base.text import fold_accents, one_line, quote
from vaultseek.base.when import iso_time
from vaultseek.content.markdown.property_text import property_lines, property_places
from vaultseek.core.search.currency import STRUCK, Currency
from vaultseek.core.search.lanes import ScoredLanes
from vaultseek.core.search.ranking import Candidate, Ranking
from vaultseek.core.search.request import ParsedRequest
from vaultseek.core.search.rerank import RerankScore
from vaultseek.core.search.retrieve import DIRECT_LANES, Retrieval
from vaultseek.core.search.snippet import Matcher, Preview, preview
from vaultseek.store.keyword.inverter import PROPERTIES
from vaultseek.store.ledger import NoteRow
from vaultseek.store.ledger.filter import FilterResult

NO_TIME = "when:any"
"""Term of a query that turns off the reading of times."""
WORDS_NAMED = 3
"""Maximum substitutes of one word that a remark names."""
LANES = frozenset({*DIRECT_LANES, "graph"})
"""Names in ``partial`` that are lanes; the others are stages and the vault."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The results of all steps of a search; answers, explanations and ``why`` read them.

    ``filtered`` is None without a filter. ``results`` are the candidates in the answer, best first, up to the
    limit; ``nearest`` is the best candidate if nothing counts as a match. ``passages`` and the requested
    ``further`` ones are by note id, ``reranked`` by path. ``partial`` maps a lane or stage to the reason why
    it is missing or incomplete. ``matcher`` finds the words to mark in previews, which omit lines ``shared``
    by many notes. ``certainties`` are by note id, including notes beyond the limit; a listing has none.
    ``weak`` is from the selection. ``substitutes`` maps a word of the query to the words in the results that
    replace it.
    ``currencies`` has, by path, the results that are not current. ``titles`` has, by path, the results whose
    first heading is common to many notes.
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
    certainties: Mapping[int, float] = field(default_factory=dict)
    weak: bool = False
    substitutes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    currencies: Mapping[str, Currency] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)

    def confidence(self, candidate: Candidate) -> float:
        """Return the probability that the candidate answers the query, in [0, 1]; 1 in a listing."""
        return candidate.confidence

    def certainty(self, candidate: Candidate) -> float:
        """Return the probability that the candidate is right among the results, in [0, 1]; 1 in a listing."""
        return 1.0 if self.parsed.is_listing else self.certainties.get(candidate.about.id, 0.0)


def respond(trace: Trace, vault: str, began: float) -> JSON:
    """Return the answer in the form printed by ``search --json``; ``began`` is a time of
    ``time.perf_counter``."""
    request, query = trace.parsed.request, trace.parsed.query
    answered = results(trace)
    answer: JSON = {
        "query": request.query,
        "vault": vault,
        "mode": request.mode,
        "search_method": search_method(trace.retrieval.answered, trace.partial),
        "took_ms": round((time.perf_counter() - began) * 1000, 2),
        "results": answered,
        **head(trace),
        "less_certain": less_certain([trace.certainty(each) for each in trace.results]),
    }
    if trace.results and _is_by_substitutes(trace):
        answer["substitutes"] = True
    if query.is_listing:
        answer["total"] = 0 if trace.filtered is None else len(trace.filtered.ids)
    if request.explain:
        answer["explain"] = explanation(trace)
    return answer


def head(trace: Trace) -> JSON:
    """Return how the query was interpreted, what is missing from the answer, and how reliable it is."""
    query = trace.parsed.query
    answer: JSON = {
        "partial": [{"lane": lane, **reason.as_json()} for lane, reason in trace.partial.items()],
        "weak": trace.weak,
        "index": trace.index_state,
        "interpreted": query.interpreted
        | {"time": _time(trace), "notes": [*query.notes, *_time_remarks(trace), *_remarks(trace)]},
    }
    if trace.nearest is not None:
        confidence = round(trace.confidence(trace.nearest), 4)
        answer["nearest"] = {"path": trace.nearest.note, "confidence": confidence}
    return answer


def results(trace: Trace) -> list[JSON]:
    """Return the results in order; the first ones with their passages."""
    answered: list[JSON] = []
    for rank, candidate in enumerate(trace.results, start=1):
        row = candidate.about
        if rank > trace.parsed.previews:
            answered.append(_brief(rank, candidate, row, trace))
        else:
            answered.append(result(rank, candidate, trace, trace.passages.get(row.id)))
    return answered


def result(rank: int, candidate: Candidate, trace: Trace, chunk: Chunk | None) -> JSON:
    """Return one result with the passage ``chunk``, whose lines are 1-based and inclusive.

    If properties match, the best one is shown.
    """
    row = candidate.about
    chunk = chunk or Chunk("", (), 1, 1, "")
    snippet = _preview(chunk, row, trace)
    matched = None
    if chunk.id == PROPERTIES:
        lines = [line for line in property_lines(row.properties) if not line.is_name]
        matched = lines[snippet.line]
        place = property_places(row.properties, chunk.end_line)[matched.name]
        chunk = replace(chunk, text="\n" * (place - chunk.start_line) + matched.text)
        snippet = preview(chunk, limits.PREVIEW_CHARS, trace.matcher, row.language)
    explain = trace.parsed.request.explain
    answered: JSON = {
        **_brief(rank, candidate, row, trace),
        **_passage(chunk, snippet),
        "chunk_id": chunk.id if chunk.id and matched is None else None,
        "column": chunk.column(snippet.offset) + 1,
        "line_text": _line_text(chunk, snippet.line),
        "property": matched and matched.name,
        "confidence": round(trace.confidence(candidate), 4),
        "tags": list(row.tags),
        "lanes": _lanes(candidate, explain=explain),
        "via": _via(candidate),
        "recency": candidate.recency,
        "rerank": _reranked(candidate, trace, explain=explain),
    }
    if answered["currency"] is None and _is_struck(row, answered["line"]):
        answered["currency"] = STRUCK.as_json()
    if trace.parsed.request.passages > 1:
        further = trace.further.get(row.id, ())
        answered["passages"] = [_passage(each, _preview(each, row, trace)) for each in further]
    return {**answered, "arithmetic": _arithmetic(candidate)} if explain else answered


def _line_text(chunk: Chunk, line: int) -> str:
    """Return a line as displayed; as written if nothing of it is visible, as in a comment."""
    seen = chunk.text.split("\n")[line]
    return one_line(seen if seen.strip() else chunk.source.split("\n")[line], limits.PREVIEW_CHARS)


def _is_struck(row: NoteRow, line: int) -> bool:
    return any(first <= line <= last for first, last in row.stated.struck)


def _preview(chunk: Chunk, row: NoteRow, trace: Trace) -> Preview:
    return preview(
        chunk,
        limits.PREVIEW_CHARS,
        trace.matcher,
        row.language,
        names=(row.title, *chunk.heading_path),
        heading_lines={heading.line for heading in row.headings},
        shared=trace.shared,
    )


def _passage(chunk: Chunk, snippet: Preview) -> JSON:
    return {
        "place": chunk.place,
        "heading_path": list(chunk.heading_path),
        "chunk_id": chunk.id,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "line": min(chunk.start_line + snippet.line, chunk.end_line),
        "preview": snippet.text,
        "highlights": [list(span) for span in snippet.highlights],
    }


def search_method(lanes: Collection[str], partial: Collection[str] = ()) -> str:
    """Return one word for the lanes with results: ``hybrid`` for words and meaning together.

    While a lane is in ``partial``, nothing is called hybrid. An incomplete lane is not named if the other
    lane is complete.
    """
    direct = [name for name in DIRECT_LANES if name in lanes]
    if LANES.isdisjoint(partial) and len(direct) > 1:
        return "hybrid"
    found = [name for name in direct if name not in partial] or direct
    return "+".join(found) or ("graph" if "graph" in lanes else "filter")


def explanation(trace: Trace) -> JSON:
    """Return how the query was parsed and the result of each stage."""
    profile = trace.parsed.profile
    return {
        "profile": profile.name,
        "identifiers": list(profile.identifiers),
        "fusion": trace.parsed.request.settings.fusion,
        "rrf_k": trace.parsed.request.settings.rrf_k,
        "weights": {name: trace.lanes.named(name).weight for name in DIRECT_LANES},
        "candidates_per_lane": trace.parsed.depth,
        "filters": [
            {"condition": text, "notes_left": count}
            for text, count in (trace.filtered.steps if trace.filtered else ())
        ],
        "expansion": [
            {"term": concept.term, "similarity": round(concept.similarity, 4), "notes": concept.notes}
            for concept in trace.retrieval.concepts
        ],
        "not_expanded": _not_expanded(trace),
        "milliseconds": {stage: round(spent, 2) for stage, spent in trace.milliseconds.items()},
    }


def _not_expanded(trace: Trace) -> str | None:
    """Return why no term was added to the query, if expansion was requested and nothing failed."""
    settings = trace.parsed.request.settings.expansion
    if not settings.enabled or trace.retrieval.concepts or "expansion" in trace.partial:
        return None
    if trace.parsed.profile.pure_identifier:
        return "identifiers are not expanded"
    if trace.retrieval.semantic is None:
        return None
    return f"no other term of the vault is as similar as search.expansion.floor, {settings.floor:g}"


def _brief(rank: int, candidate: Candidate, row: NoteRow, trace: Trace) -> JSON:
    return {
        "rank": rank,
        "path": row.path,
        "title": trace.titles.get(row.path, row.title),
        "file_name": None if row.path in trace.titles else row.other_name,
        "kind": row.kind,
        "score": round(candidate.score, 6),
        "certainty": round(trace.certainty(candidate), 4),
        "modified": iso_time(row.modified),
        "created": row.created.text,
        "heading_path": [],
        "start_line": 1,
        "currency": None if (currency := trace.currencies.get(row.path)) is None else currency.as_json(),
    }


def _time(trace: Trace) -> JSON | None:
    """Return the time named in the query, for the answer."""
    time = trace.parsed.time
    if time is None:
        return None
    first, last = time.days
    return {"text": time.text, "first": first.isoformat(), "last": last.isoformat()}


def _time_remarks(trace: Trace) -> Iterator[str]:
    if (time := trace.parsed.time) is not None:
        yield f"notes of {time.described} rank higher; {NO_TIME} searches without this"


def _remarks(trace: Trace) -> Iterator[str]:
    which = "no note" if trace.filtered is None else "none of these notes"
    keyword = trace.retrieval.keyword
    matches = trace.ranking.matches
    if matches.has_identifier is False and trace.results:
        yield f"{which} has {' or '.join(trace.parsed.profile.identifiers)}; similar notes are shown"
    elif matches.missing and trace.results:
        yield f"{which} has {' or '.join(matches.missing)}"
    if keyword is None or not trace.results:
        return
    text = trace.parsed.query.rank_text
    if trace.retrieval.continued:
        last = [term.word for term in keyword.terms if term.df][-1]
        wanted = quote(_as_typed(last, text))
        yield f"{which} has {wanted}; words that begin with it were searched for instead"
    for word, instead in trace.substitutes.items():
        if word.isalpha():  # identifiers are named above
            yield f"{which} has {quote(_as_typed(word, text))}; {_searched_instead(instead)}"


def _searched_instead(words: Sequence[str]) -> str:
    """Return the end of a remark on a word that no note has: its known substitutes."""
    if not words:
        return "similar words were searched for instead"
    return f"searched for {' or '.join(map(quote, words[:WORDS_NAMED]))} instead"


def _as_typed(word: str, text: str) -> str:
    """Return a word of the keyword index as spelled in ``text``, with accents and capitals."""
    folded = fold_accents(text.casefold())
    at = folded.find(fold_accents(word))
    return text[at : at + len(word)] if at >= 0 and len(folded) == len(text) else word


def _is_by_substitutes(trace: Trace) -> bool:
    """True if no note has any of the query's words, and substitutes were searched for."""
    if trace.retrieval.continued or trace.ranking.matches.has_identifier is False:
        return True
    keyword = trace.retrieval.keyword
    known = [] if keyword is None else [term for term in keyword.terms if term.df]
    return bool(known) and all(term.fuzzy for term in known)


def _via(candidate: Candidate) -> JSON | None:
    """Return the note whose link led to a note, if no lane proposed it."""
    notes, row = candidate.ranking.notes, candidate.row
    leader = notes.via.get(int(notes.ids[row]))
    proposed = any(part.rank[row] for name, part in notes.parts.items() if name != "graph")
    if leader is None or proposed or candidate.figure("name", 0.0):  # its name led to it
        return None
    linked = next(each for each in notes.notes if each.id == leader)
    return {"path": linked.path, "title": linked.title}


def _arithmetic(candidate: Candidate) -> JSON:
    return {
        "gain": candidate.gain,
        "recency": candidate.figure("recency"),
        "anchors": candidate.figure("anchors"),
        "bound": candidate.figure("bound"),
        "joined": candidate.figure("joined"),
        "time": candidate.figure("time"),
        "name": candidate.figure("name", 0.0),
        "opened": candidate.opened,
        "succession": candidate.succession,
        "best": candidate.best,
    }


def _reranked(candidate: Candidate, trace: Trace, *, explain: bool) -> JSON | None:
    reranked = trace.reranked.get(candidate.note)
    if reranked is None:
        return None
    answered: JSON = {"score": round(reranked.score, 6), "rank_before": reranked.rank_before}
    # The score belongs to the rank, which another note had before.
    return {**answered, "score_before": candidate.recomputed} if explain else answered


def _lanes(candidate: Candidate, *, explain: bool) -> JSON:
    lanes: JSON = dict.fromkeys((*DIRECT_LANES, "graph"))
    row = candidate.row
    for name, part in candidate.ranking.notes.parts.items():
        if not part.known[row]:
            continue
        rank, score = int(part.rank[row]) or None, float(part.score[row])
        lanes[name] = {"rank": rank, "score": round(score, 6)}
        if explain:
            contribution, gain = float(part.contribution[row]), float(part.gain[row])
            lanes[name] = {
                "rank": rank,
                "fused_rank": float(part.fused_rank[row]),
                "score": score,
                "weight": part.weight,
                "contribution": contribution,
                "gain": gain,
                "baseline": contribution - gain,
            }
    return lanes
