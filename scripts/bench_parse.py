#!/usr/bin/env python3
"""Measure the speed of parsing in megabytes per second, by folder and in all. One core, best of three.

Usage: scripts/bench_parse.py DIR...
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from vaultseek.markdown.decode import decode
from vaultseek.markdown.parse import parse

ROUNDS = 3


def main(folders: list[str]) -> None:
    """Print one line per folder, then one for all."""
    total_bytes, total_seconds = 0, 0.0
    for folder in map(Path, folders):
        notes = [(str(path.relative_to(folder)), path.read_bytes()) for path in sorted(folder.rglob("*.md"))]
        size = sum(len(data) for _, data in notes)
        seconds = min(_seconds(notes) for _ in range(ROUNDS))
        _line(str(folder), len(notes), size, seconds)
        total_bytes += size
        total_seconds += seconds
    _line("all", 0, total_bytes, total_seconds)


def _seconds(notes: list[tuple[str, bytes]]) -> float:
    started = time.process_time()
    for path, data in notes:
        text, problems = decode(data)
        parse(text, path, problems)
    return time.process_time() - started


def _line(name: str, notes: int, size: int, seconds: float) -> None:
    count = f"{notes} notes, " if notes else ""
    print(f"{name}: {count}{size / 1e6:.2f} MB, {seconds:.2f} s, {size / 1e6 / max(seconds, 1e-9):.2f} MB/s")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
