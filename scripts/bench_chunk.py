#!/usr/bin/env python3
"""Measure the speed of parsing and chunking, and the sizes of chunks: ``scripts/bench_chunk.py DIR...``"""

from __future__ import annotations

import argparse
import gc
import time
from dataclasses import dataclass, field
from pathlib import Path

from vaultseek.markdown.chunk import chunk
from vaultseek.markdown.decode import decode
from vaultseek.markdown.parse import parse
from vaultseek.markdown.resolve import link_key, name_keys
from vaultseek.models.directories import bundled_directory
from vaultseek.models.tokens import TokenCounter


@dataclass
class Measured:
    """The notes of one folder and the processor time that they took, in seconds."""

    size: int = 0
    notes: int = 0
    parse: float = 0.0
    keys: float = 0.0
    chunk: float = 0.0
    tokens: list[int] = field(default_factory=list)

    def __iadd__(self, other: Measured) -> Measured:
        self.size += other.size
        self.notes += other.notes
        self.parse += other.parse
        self.keys += other.keys
        self.chunk += other.chunk
        self.tokens += other.tokens
        return self

    def line(self, name: str) -> str:
        whole = self.parse + self.keys + self.chunk
        tokens = sorted(self.tokens) or [0]
        shares = (
            tokens[min(len(tokens) - 1, len(tokens) * share // 100)] for share in (1, 10, 25, 50, 75, 90, 100)
        )
        return (
            f"{name:20} {self.notes:6} {self.size / 1e6:7.2f} MB  parse {self._rate(self.parse)}  keys "
            f"{self._rate(self.keys)}  chunk {self._rate(self.chunk)}  all {self._rate(whole)} MB/s  "
            f"{len(self.tokens):6} chunks, tokens {' '.join(map(str, shares))}"
        )

    def _rate(self, seconds: float) -> str:
        return f"{self.size / 1e6 / seconds:6.2f}" if seconds else "     -"


def measure(folder: Path, count: TokenCounter, window: int) -> Measured:
    """Parse and chunk every note below ``folder``."""
    measured = Measured()
    for file in sorted(folder.rglob("*.md")):
        data = file.read_bytes()
        path = file.relative_to(folder).as_posix()
        before = time.process_time()
        note = parse(*_decoded(data, path))
        parsed = time.process_time()
        keys = {link_key(link.target) for link in note.links} | name_keys(path, note.aliases)
        keyed = time.process_time()
        chunks = chunk(note, count, window)
        chunked = time.process_time()
        assert keys is not None
        measured += Measured(len(data), 1, parsed - before, keyed - parsed, chunked - keyed)
        measured.tokens += [count(passage.text) for passage in chunks]
    return measured


def main() -> None:
    """Print one line per folder and one for all; percentiles are 1, 10, 25, 50, 75, 90 and 100."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    arguments.add_argument("--window", type=int, default=254)
    options = arguments.parse_args()
    count = TokenCounter.from_tokenizer_file(bundled_directory() / "tokenizer.json")
    gc.freeze()
    total = Measured()
    for folder in options.folders:
        measured = measure(folder, count, options.window)
        print(measured.line(folder.name))
        total += measured
    print(total.line("all"))


def _decoded(data: bytes, path: str) -> tuple[str, str, tuple[object, ...]]:
    text, problems = decode(data)
    return text, path, problems


if __name__ == "__main__":
    main()
