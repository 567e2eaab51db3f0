"""Build the JSON answer to a search, with previews and explanations."""

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from vaultseek.base import limits
from vaultseek.base.model import JSON, Chunk, Reason, less_certain
from vaultseek.base.text import fold_accents, one_line, quote
from vaultseek.base.when import iso_time
from vaultseek.content.markdown.property_text import property_lines, property_places
from vaultseek.content.query.dates import find_dates
from vaultseek.core.search.currency import Currency, currency_of_line
from vaultseek.core.search.lanes import DIRECT_LANES, Evidence
from vaultseek.core.search.ranking import Candidate, Ranking
from vaultseek.core.search.snippet import Matcher, Preview, preview
from vaultseek.store.keyword.inverter import PROPERTIES
from vaultseek.store.ledger import NoteRow

NO_TIME = "when:any"
"""Query term that turns off the recognition of dates and periods."""
WORDS_NAMED = 3
"""Maximum number of substitutes for one word that a remark lists."""
LANES = frozenset({*DIRECT_LANES, "graph"})
"""Names in ``partial`` that stand for lanes; other names stand for stages or the vault."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The results of all steps of a search, from which answers, explanations and ``why`` are built.

    ``results`` are the candidates in the answer, best first, up to the limit. ``nearest`` is the best
    candidate if nothing counts as a match. ``weak`` is true if none of the best notes matches exactly.
    ``partial`` maps a lane or stage to the reason why it is missing or incomplete. Three dicts have note ids
    as keys: ``certainties``, which includes notes beyond the limit, ``passages``, and ``further``, which has
    additional passages if requested. ``matcher`` finds the words to mark in previews, which omit the lines
    ``shared`` by many notes. ``currencies`` maps the path of a result to the reason why it is not current.
    ``titles`` maps a path to the title that replaces a first heading common to many notes. Notes ``named`` by
    the query show their first lines.
    """

    query: Evidence
    ranking: Ranking
    results: Sequence[Candidate]
    nearest: Candidate | None = None
    weak: bool = False
    partial: Mapping[str, Reason] = field(default_factory=dict)
    certainties: Mapping[int, float] = field(default_factory=dict)
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    passages: Mapping[int, Chunk] = field(default_factory=dict)
    further: Mapping[int, Sequence[Chunk]] = field(default_factory=dict)
    matcher: Matcher | None = None
    shared: frozenset[str] = frozenset()
    currencies: Mapping[str, Currency] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    named: Set[int] = frozenset()

    def certainty(self, candidate: Candidate) -> float:
        """Return the probability, from 0 to 1, that this result is right; 1 if the query has only filters."""
        listing = self.query.parsed.is_listing
        return 1.0 if listing else self.certainties.get(candidate.about.id, 0.0)


def respond(trace: Trace, vault: str, began: float) -> JSON:
    """Return the complete answer, in the form printed by ``search --json``.

    ``began`` is the ``time.perf_counter`` value at the start of the search.
    """
    request, query = trace.query.parsed.request, trace.query.parsed.query
    answered = results(trace)
    answer: JSON = {
        "query": request.query,
        "vault": vault,
        "mode": request.mode,
        "search_method": search_method(trace.query.retrieval.answered, trace.partial),
        "took_ms": round((time.perf_counter() - began) * 1000, 2),
        "results": answered,
        **head(trace),
        "less_certain": less_certain([trace.certainty(each) for each in trace.results]),
    }
    if trace.results and _is_by_substitutes(trace):
        answer["substitutes"] = True
    if query.is_listing:
        answer["total"] = 0 if trace.query.filtered is None else len(trace.query.filtered.ids)
    if request.explain:
        answer["explain"] = explanation(trace)
    return answer


def head(trace: Trace) -> JSON:
    """Return the head of the answer: how the query was interpreted, which parts are missing, and how reliable
    the answer is.
    """
    query, time = trace.query.parsed.query, trace.query.parsed.time
    first, last = (None, None) if time is None else (day.isoformat() for day in time.days)
    spoken = None if time is None else {"text": time.text, "first": first, "last": last}
    answer: JSON = {
        "partial": [{"lane": lane, **reason.as_json()} for lane, reason in trace.partial.items()],
        "weak": trace.weak,
        "index": trace.query.index_state,
        "interpreted": query.interpreted | {"time": spoken, "notes": [*query.notes, *_remarks(trace)]},
    }
    if trace.nearest is not None:
        answer["nearest"] = {"path": trace.nearest.note, "confidence": round(trace.nearest.confidence, 4)}
    return answer


def results(trace: Trace) -> list[JSON]:
    """Return the results in order, the first ones with their passages."""
    previews = trace.query.parsed.previews
    return [
        result(rank, each, trace, trace.passages.get(each.about.id))
        if rank <= previews
        else _brief(rank, each, trace)
        for rank, each in enumerate(trace.results, start=1)
    ]


def result(rank: int, candidate: Candidate, trace: Trace, chunk: Chunk | None) -> JSON:
    """Return one result with the passage ``chunk``. Lines are 1-based and inclusive.

    If properties match, the best matching property is shown.
    """
    row = candidate.about
    chunk = chunk or Chunk("", (), 1, 1, "")
    snippet = _preview(chunk, row, trace, is_opening=row.id in trace.named)
    matched = None
    if chunk.id == PROPERTIES:
        lines = [line for line in property_lines(row.properties) if not line.is_name]
        matched = lines[snippet.line]
        place = property_places(row.properties, chunk.end_line)[matched.name]
        chunk = replace(chunk, text="\n" * (place - chunk.start_line) + matched.text)
        snippet = preview(chunk, limits.PREVIEW_CHARS, trace.matcher, row.language)
    line = chunk.text.split("\n")[snippet.line]
    if not line.strip():  # the line is not displayed, for example because it is a comment
        line = chunk.source.split("\n")[snippet.line]
    request = trace.query.parsed.request
    answered: JSON = {
        **_brief(rank, candidate, trace),
        **_passage(chunk, snippet),
        "chunk_id": chunk.id if chunk.id and matched is None else None,
        "column": chunk.column(snippet.offset) + 1,
        "line_text": one_line(line, limits.PREVIEW_CHARS),
        "property": matched and matched.name,
        "confidence": round(candidate.confidence, 4),
        "tags": list(row.tags),
        "lanes": _lanes(candidate, explain=request.explain),
        "via": _via(candidate),
        "recency": candidate.recency,
        "rerank": None,
    }
    if candidate.reranked is not None:
        score, rank_before = candidate.reranked
        answered["rerank"] = {"score": round(score, 6), "rank_before": rank_before}
        if request.explain:  # reranking moves notes but not scores, so the note's own score is added
            answered["rerank"]["score_before"] = candidate.recomputed
    if answered["currency"] is None and not trace.query.parsed.is_listing:
        struck = currency_of_line(answered["line"], row)
        answered["currency"] = struck and struck.as_json()
    if request.passages > 1:
        further = trace.further.get(row.id, ())
        answered["passages"] = [_passage(each, _preview(each, row, trace)) for each in further]
    return {**answered, "arithmetic": candidate.arithmetic} if request.explain else answered


def _preview(chunk: Chunk, row: NoteRow, trace: Trace, *, is_opening: bool = False) -> Preview:
    has_place = chunk.id == PROPERTIES or (trace.matcher is not None and bool(trace.matcher.patterns))
    return preview(
        chunk,
        limits.PREVIEW_CHARS,
        trace.matcher,
        row.language,
        names=(row.title, *chunk.heading_path),
        heading_lines=row.heading_lines,
        shared=trace.shared,
        is_opening=is_opening and not has_place,
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
    """Return one word for how a result was found: ``hybrid`` if found by both words and meaning.

    If any lane is in ``partial``, no result is called hybrid. An incomplete lane is named only if no complete
    lane found the result.
    """
    direct = [name for name in DIRECT_LANES if name in lanes]
    if LANES.isdisjoint(partial) and len(direct) > 1:
        return "hybrid"
    found = [name for name in direct if name not in partial] or direct
    return "+".join(found) or ("graph" if "graph" in lanes else "filter")


def explanation(trace: Trace) -> JSON:
    """Return the ``explain`` part of the answer: the parsed query and the result of each stage."""
    parsed, settings = trace.query.parsed, trace.query.settings
    return {
        "profile": parsed.profile.name,
        "identifiers": list(parsed.profile.identifiers),
        "fusion": settings.fusion,
        "rrf_k": settings.rrf_k,
        "weights": {name: trace.query.fusion.named(name).weight for name in DIRECT_LANES},
        "candidates_per_lane": parsed.depth,
        "filters": [
            {"condition": text, "notes_left": count}
            for text, count in (trace.query.filtered.steps if trace.query.filtered else ())
        ],
        "expansion": [
            {"term": concept.term, "similarity": round(concept.similarity, 4), "notes": concept.notes}
            for concept in trace.query.retrieval.concepts
        ],
        "not_expanded": _not_expanded(trace),
        "milliseconds": {stage: round(spent, 2) for stage, spent in trace.milliseconds.items()},
    }


def _not_expanded(trace: Trace) -> str | None:
    """Return why no term was added to the query, although expansion was requested and nothing failed;
    otherwise None.
    """
    settings, retrieval = trace.query.settings.expansion, trace.query.retrieval
    if not settings.enabled or retrieval.concepts or "expansion" in trace.partial:
        return None
    if trace.query.parsed.profile.pure_identifier:
        return "identifiers are not expanded"
    if retrieval.semantic is None:
        return None
    return f"no other term in the vault reaches the similarity search.expansion.floor ({settings.floor:g})"


def _brief(rank: int, candidate: Candidate, trace: Trace) -> JSON:
    row, currency = candidate.about, trace.currencies.get(candidate.note)
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
        "currency": None if currency is None else currency.as_json(),
    }


def _remarks(trace: Trace) -> Iterator[str]:
    parsed, keyword, ranking = trace.query.parsed, trace.query.keyword, trace.ranking
    if not trace.results:
        return
    if parsed.time is not None:
        how = f"“{parsed.time.text}” was read as {parsed.time.period}"
        yield f"{how}; notes from that time rank higher; add {NO_TIME} to turn this off"
    which = "no note" if trace.query.filtered is None else "none of these notes"
    if ranking.has_identifier is False:
        yield f"{which} has {' or '.join(parsed.profile.identifiers)}; similar notes are shown"
    elif ranking.missing:
        yield f"{which} has {' or '.join(ranking.missing)}"
    text = parsed.query.rank_text
    if keyword is not None and trace.query.retrieval.continued:
        last = [term.word for term in keyword.terms if term.df][-1]
        wanted = quote(_as_typed(last, text))
        yield f"{which} has {wanted}; words that begin with it were searched for instead"
    dates = fold_accents(" ".join(text[each.start : each.end] for each in find_dates(text)).casefold())
    for word, instead in _substitutes(trace):
        if word.isalpha() and word not in dates:  # identifiers are listed above
            similar = f"searched for {' or '.join(map(quote, instead[:WORDS_NAMED]))} instead"
            how = similar if instead else "similar words were searched for instead"
            yield f"{which} has {quote(_as_typed(word, text))}; {how}"


def _substitutes(trace: Trace) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each query word that no note has, with its substitutes as spelled in the results' passages.

    Words that have no substitute in the results are skipped.
    """
    keyword, span_finder = trace.query.keyword, trace.query.vault.keyword_index.span_finder
    for term in () if keyword is None else keyword.terms:
        rows = [each.about for each in trace.results if term.fuzzy]
        having = [row for row in rows if keyword and term.word in keyword.matched(row.id)]
        spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for row in having:
            passage = [trace.passages[row.id].text] if row.id in trace.passages else []
            for text in (*passage, *(line.text for line in property_lines(row.properties)), *row.names):
                for start, end, matched in span_finder.spans(text, term.terms, row.language):
                    spellings[matched][text[start:end]] += 1
        if having:
            yield term.word, [each.most_common(1)[0][0] for each in spellings.values()]


def _as_typed(word: str, text: str) -> str:
    """Return a word from the keyword index as it is spelled in ``text``, with accents and capitals."""
    folded = fold_accents(text.casefold())
    at = folded.find(fold_accents(word))
    return text[at : at + len(word)] if at >= 0 and len(folded) == len(text) else word


def _is_by_substitutes(trace: Trace) -> bool:
    """True if no note has any of the query's words, and substitutes were searched for."""
    if trace.query.retrieval.continued or trace.ranking.has_identifier is False:
        return True
    keyword = trace.query.keyword
    known = [] if keyword is None else [term for term in keyword.terms if term.df]
    return bool(known) and all(term.fuzzy for term in known)


def _via(candidate: Candidate) -> JSON | None:
    """Return the note whose link led to this candidate; None if a lane proposed the candidate."""
    notes, row = candidate.ranking.notes, candidate.row
    leader = notes.via.get(int(notes.ids[row]))
    proposed = any(part.rank[row] for name, part in notes.parts.items() if name != "graph")
    if leader is None or proposed or candidate.figure("name", 0.0):  # the note was found by name
        return None
    linked = next(each for each in notes.notes if each.id == leader)
    return {"path": linked.path, "title": linked.title}


def _lanes(candidate: Candidate, *, explain: bool) -> JSON:
    lanes: JSON = dict.fromkeys((*DIRECT_LANES, "graph"))
    row = candidate.row
    for name, part in candidate.ranking.notes.parts.items():
        if not part.known[row]:
            continue
        rank, score = int(part.rank[row]) or None, float(part.score[row])
        lanes[name] = {"rank": rank, "score": score if explain else round(score, 6)}
        if explain:
            contribution, gain = float(part.contribution[row]), float(part.gain[row])
            lanes[name] |= {
                "fused_rank": float(part.fused_rank[row]),
                "weight": part.weight,
                "contribution": contribution,
                "gain": gain,
                "baseline": contribution - gain,
            }
    return lanes
