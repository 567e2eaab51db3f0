"""Measure the ranking with notes cut by vaultseek and by LlamaIndex's parsers, and print the table of
docs/architecture.md.

    python scripts/bench_chunkers.py --cache DIR [--vaults DIR] [--only WAY] SET...

A SET is a folder as for ``bench_quality.py``. Each way of cutting has its own index below ``--cache``; every
text is embedded once. *headings* is ``MarkdownNodeParser`` alone, one passage per heading; the model reads
only the beginning of long passages. *headings, sentences* runs ``SentenceSplitter`` after it, so that every
passage fits.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import bench_quality
from llama_index.core import Document
from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter
from llama_index.core.schema import BaseNode

from vaultseek.base.model import Chunk, Note, TokenCount
from vaultseek.content.markdown.chunk import chunk
from vaultseek.core.indexing import reading, unembedded
from vaultseek.tools.evaluate.judgements import ALL
from vaultseek.tools.evaluate.variants import DEFAULT, SEMANTIC

OWN = "vaultseek"
NAMES_SHARE = 0.8
"""Share of the window that joined sentences may fill; the rest is for the title and headings, which are
embedded with the sentences."""
METRICS = ("nDCG@10", "Hit@1", "Recall@100")

Cut = Callable[[Note, TokenCount, int], tuple[Chunk, ...]]


def by_headings(note: Note, count: TokenCount, window: int) -> tuple[Chunk, ...]:
    """Cut a note with ``MarkdownNodeParser``."""
    return _chunks(note, ((node.get_content(metadata_mode="none"), _path(node)) for node in _sections(note)))


def by_headings_and_sentences(note: Note, count: TokenCount, window: int) -> tuple[Chunk, ...]:
    """Cut a note with ``MarkdownNodeParser``, then long parts with ``SentenceSplitter``."""
    splitter = SentenceSplitter(
        chunk_size=int(NAMES_SHARE * window),
        chunk_overlap=0,
        tokenizer=lambda text: [0] * count(text),
    )
    return _chunks(
        note,
        (
            (part, _path(node))
            for node in _sections(note)
            for part in splitter.split_text(node.get_content(metadata_mode="none"))
        ),
    )


WAYS: dict[str, Cut] = {
    OWN: chunk,
    "headings": by_headings,
    "headings, sentences": by_headings_and_sentences,
}


def _sections(note: Note) -> Sequence[BaseNode]:
    return MarkdownNodeParser().get_nodes_from_documents([Document(text=_body(note))])


def _body(note: Note) -> str:
    return "\n".join(note.lines[note.body_line - 1 :])


def _path(node: BaseNode) -> tuple[str, ...]:
    """Return a section's heading and the headings above it."""
    above = [part for part in str(node.metadata["header_path"]).split("/") if part]
    first = node.get_content(metadata_mode="none").partition("\n")[0]
    own = first.lstrip("#").strip() if first.startswith("#") else ""
    return (*above, own) if own else tuple(above)


def _chunks(note: Note, parts: Iterator[tuple[str, tuple[str, ...]]]) -> tuple[Chunk, ...]:
    """Return the parts as chunks that together have the body's visible characters in their original order."""
    body = _body(note)
    visible = [place for place, character in enumerate(body) if not character.isspace()]
    starts = list(accumulate((len(line) + 1 for line in body.split("\n")), initial=0))
    chunks: list[Chunk] = []
    done = line = 0
    for text, path in parts:
        size = sum(not character.isspace() for character in text)
        if not size or done + size > len(visible):
            continue
        begin, end = visible[done], visible[done + size - 1] + 1
        done += size
        while starts[line + 1] <= begin:
            line += 1
        last = line
        while starts[last + 1] < end:
            last += 1
        first = note.body_line + line
        chunks.append(
            Chunk(f"{note.path}#{len(chunks)}", path, first, note.body_line + last, body[begin:end])
        )
    return tuple(chunks)


def cut_by(way: str) -> None:
    """Make every index in this process cut its notes as ``WAYS[way]`` does."""
    reading.chunk = WAYS[way]  # type: ignore[assignment,unused-ignore]
    unembedded.CHUNKER_VERSION = 1_000_000 + list(WAYS).index(way)  # so that notes are read again
    # In reader processes, notes would be cut in the usual way.
    reading.NoteReader.describe = lambda self: None  # type: ignore[method-assign,unused-ignore]


def main() -> None:
    """Measure every set with every way of cutting, and print the table."""
    parser = bench_quality.arguments_for_sets(__doc__)
    parser.add_argument("--only", action="append", default=[], choices=WAYS)
    arguments = parser.parse_args()
    cache, ways = arguments.cache or Path("chunkers"), arguments.only or list(WAYS)
    arguments.compare, arguments.refusals = [], False
    arguments.only = [DEFAULT, SEMANTIC]
    rows = [["set", "passages by", "passages", *METRICS, "nDCG@10 by meaning"]]
    for folder in arguments.sets:
        for way in ways:
            cut_by(way)
            arguments.cache = cache / way.replace(", ", "-")
            report = asyncio.run(bench_quality.measure(folder, arguments))
            both, meaning = (outcome.metrics[ALL] for outcome in report.outcomes)
            figures = [f"{both[metric].mean:.4f}" for metric in METRICS]
            rows.append([folder.name, way, str(report.passages), *figures, f"{meaning['nDCG@10'].mean:.4f}"])
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    print("\n".join(f"| {' | '.join(row)} |" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:])))


if __name__ == "__main__":
    main()
