"""Measure how often the marked line of a result answers the question.

    python scripts/bench_sentences.py [--cache DIR] [--vaults DIR] [--model NAME] SET...

A SET is as for ``bench_quality.py``, and has a file ``spans.tsv`` beside its judgements: query id, path,
first and last line, separated by tabs; a question may have several spans. The passage is the one that a
search shows from that note. Held-out sets are for testing only and have their own totals. *ceiling* is the
share of passages that contain a right line.
"""

import argparse
import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from bench_quality import arguments_for_sets, is_held_out, vault_of
from numpy.typing import NDArray

from vaultseek.base import limits
from vaultseek.base.model import Chunk
from vaultseek.content.markdown.rendering import render_text
from vaultseek.content.markdown.split import LINE, SENTENCE
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.library import indexed_vault
from vaultseek.core.search.passages import choose_passages
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.core.search.response import Trace
from vaultseek.core.search.snippet import Matcher, preview
from vaultseek.semantic.inference.embed import embed, load
from vaultseek.semantic.models.choice import choose_models
from vaultseek.semantic.models.encoder import Encoder
from vaultseek.semantic.models.question import without_language
from vaultseek.settings.model import Settings
from vaultseek.store.ledger import NoteRow
from vaultseek.tools.evaluate.judgements import read_queries
from vaultseek.tools.evaluate.run import cache_directory

SHARES_OF_WORDS = (0.2, 0.5, 1, 2)
PREVIEW, COUNT, IDF, MEANING, CEILING = "preview", "words", "words by idf", "meaning", "ceiling"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage; ``line`` is its first line, counted from 0."""

    line: int
    text: str


def read_spans(path: Path) -> dict[str, tuple[str, list[range]]]:
    """Return the note and the right lines of each question."""
    spans: dict[str, tuple[str, list[range]]] = {}
    for row in path.read_text(encoding="utf-8").splitlines():
        query, note, first, last = row.split("\t")
        spans.setdefault(query, (note, []))[1].append(range(int(first), int(last) + 1))
    return spans


def sentences(text: str) -> list[Sentence]:
    """Return those sentences of a passage that have visible words; headings only if there is nothing else."""
    ends = sorted(
        {match.end() for match in chain(SENTENCE.finditer(text), LINE.finditer(text))} | {len(text)}
    )
    found: list[Sentence] = []
    headings: list[Sentence] = []
    for start, end in zip([0, *ends], ends, strict=False):
        written = text[start:end].strip()
        shown = render_text(written)
        if any(map(str.isalnum, shown)):
            at = start + text[start:end].index(written[0])
            kind = headings if written.startswith("#") and " " in written else found
            kind.append(Sentence(text.count("\n", 0, at), shown))
    return found or headings


async def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, list[bool]]:
    """Return, for each rule, whether the marked line of each question is right."""
    spans = read_spans(folder / "spans.tsv")
    root = vault_of(folder, arguments.vaults)
    models = choose_models(arguments.model)
    encoder = load(models.main.name, models.main.directory)
    queries = [
        query
        for query in read_queries(folder / "queries.jsonl", folder / "qrels.tsv", plain=True)
        if query.id in spans
    ]
    right: dict[str, list[bool]] = defaultdict(list)
    cache = cache_directory(root, arguments.cache)
    options = VaultOptions(root.name, root)
    texts = [query.text for query in queries]
    async with indexed_vault(options, cache, models, lambda phase, counts: None, texts) as vault:
        for query in queries:
            trace = await Searcher(vault).run(
                SearchRequest(query.text, settings=Settings().search, plain=True)
            )
            note, ranges = spans[query.id]
            lines = marked_lines(query.text, note, trace, vault, encoder, arguments.milliseconds)
            for rule, marked in lines:
                right[rule].append(any(line in span for line in marked for span in ranges))
    return right


def marked_lines(
    query: str,
    note: str,
    trace: Trace,
    vault: OpenVault,
    encoder: Encoder,
    milliseconds: dict[str, list[float]],
) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield each rule with the line of the note that the rule marks."""
    row = vault.ledger.notes.by_path(note)
    assert row is not None
    assert trace.matcher is not None
    chunk = choose_passages([row], trace.query.retrieval, vault.ledger)[row.id]
    began = time.perf_counter()
    named = preview_line(chunk, row, trace.matcher)
    milliseconds[PREVIEW].append(1000 * (time.perf_counter() - began))
    yield PREVIEW, [chunk.start_line + named]
    yield CEILING, range(chunk.start_line, chunk.end_line + 1)
    units = sentences(chunk.text)
    if not units:
        return
    began = time.perf_counter()
    words = by_words(units, weights_by_idf(trace, trace.matcher), trace.matcher, row.language)
    milliseconds[IDF].append(1000 * (time.perf_counter() - began))
    began = time.perf_counter()
    vector = without_language(embed(encoder, [query], query=True).vectors[0], encoder.fingerprint)
    meaning = embed(encoder, [unit.text for unit in units]).vectors @ vector
    milliseconds[MEANING].append(1000 * (time.perf_counter() - began))
    equal = dict.fromkeys(trace.matcher.words.values(), 1.0)
    count = by_words(units, equal, trace.matcher, row.language)
    scores = {COUNT: count, IDF: words, MEANING: meaning}
    scores |= {f"meaning + {share:g} words": meaning + share * words for share in SHARES_OF_WORDS}
    for rule, each in scores.items():
        yield rule, [chunk.start_line + units[int(np.argmax(each))].line]


def preview_line(chunk: Chunk, row: NoteRow, matcher: Matcher) -> int:
    """Return the line number of a result's preview."""
    headings = (row.title, *chunk.heading_path)
    lines = {heading.line for heading in row.headings}
    return preview(
        chunk, limits.PREVIEW_CHARS, matcher, row.language, names=headings, heading_lines=lines
    ).line


def weights_by_idf(trace: Trace, matcher: Matcher) -> dict[int, float]:
    """Return the rarity of each of the query's words, by word number."""
    found = () if trace.query.retrieval.keyword is None else trace.query.retrieval.keyword.terms
    return {
        matcher.words[term]: matched.idf
        for matched in found
        for term in matched.terms
        if term in matcher.words
    }


def by_words(
    units: Sequence[Sentence], weights: Mapping[int, float], matcher: Matcher, language: str | None
) -> NDArray[np.float64]:
    """Return the share of the query's words in each sentence."""
    total = sum(weights.values()) or 1.0
    shares = []
    for unit in units:
        found = {word for _, _, word in matcher.matches(unit.text, language)}
        shares.append(sum(weights.get(word, 0.0) for word in found) / total)
    return np.array(shares)


def main() -> None:
    """Print each rule's share of right lines, separately for judged and held-out sets."""
    parser = arguments_for_sets(__doc__)
    parser.set_defaults(milliseconds=defaultdict(list))
    arguments = parser.parse_args()
    halves: dict[str, dict[str, list[bool]]] = {"judged": defaultdict(list), "held out": defaultdict(list)}
    for folder in arguments.sets:
        half = halves["held out" if is_held_out(folder) else "judged"]
        right = asyncio.run(measure(folder, arguments))
        print(folder, {rule: f"{sum(each)}/{len(each)}" for rule, each in right.items()}, flush=True)
        for rule, each in right.items():
            half[rule] += each
    for name, half in halves.items():
        for rule, each in half.items():
            print(f"{name}: {rule}: {sum(each)} of {len(each)}, {sum(each) / len(each):.3f}")
    for rule, spent in arguments.milliseconds.items():
        print(
            f"{rule}: {np.median(spent):.2f} ms in the median, {np.percentile(spent, 95):.2f} at most of 95 %"
        )


if __name__ == "__main__":
    main()
