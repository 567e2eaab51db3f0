"""Measure the speed and memory of vaultseek with the bundled model, compared with references in the same run.

Every search uses the socket of a real daemon in temporary directories. Without --data, notes are generated.
"""

import argparse
import json
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import benchmark.rows_before
import benchmark.rows_client
import benchmark.rows_editor
import benchmark.rows_embed
import benchmark.rows_filter
import benchmark.rows_index
import benchmark.rows_install
import benchmark.rows_links
import benchmark.rows_profile
import benchmark.rows_rerank
import benchmark.rows_search
import benchmark.rows_vectors  # noqa: F401
from benchmark import docs, guard, machine, page
from benchmark.figures import Figure
from benchmark.registry import ROWS, Row, ordered
from benchmark.worlds import Bench


def main() -> int:
    """Run the rows, print the table, write the JSON file, and return the exit code."""
    options = _options()
    if options.write_docs:
        docs.write(docs.read_runs(options.write_docs))
        return 0
    # So that daemons are stopped and folders removed when the run is ended from outside.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    run = Run(options)
    with Bench(
        options.data, quick=options.quick, full=options.full, before=options.before, say=_say
    ) as bench:
        run.measure(bench, _chosen(options))
        lost = run.guard(bench, options) if options.quick else {}
    page.show(run.figures, run.machine)
    if options.json:
        options.json.write_text(run.json(), encoding="utf-8")
    for name, how in lost.items():
        _say(f"slower: {name}: {how}")
    return 1 if lost or run.failed else 0


class Run:
    """The worlds, references and figures of one run."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.machine = machine.describe()
        self.figures: list[Figure] = []
        self.failed = False
        self._seconds: dict[str, float] = {}
        self._plot: str | None = None

    def measure(self, bench: Bench, rows: Sequence[Row]) -> None:
        """Measure the rows, one after the other."""
        for row in rows:
            began = time.monotonic()
            _say(row.name)
            try:
                for figure in row.measure(bench):
                    _say(f"  {figure.what}: {figure.measured} | {figure.reference} | {figure.target}")
                    self.figures.append(figure)
            except Exception as error:  # the other rows are still worth measuring
                traceback.print_exc()
                self.failed = True
                what = f"{type(error).__name__}: {error}"[:200]
                self.figures.append(Figure(row.name, row.name, f"failed: {what}", met=False))
            self._seconds[row.name] = round(time.monotonic() - began, 1)
            _say(f"  {self._seconds[row.name]} s")
        self._plot = bench.plot

    def guard(self, bench: Bench, options: argparse.Namespace) -> dict[str, str]:
        """Return the rows that became slower, after measuring each apparent loss again."""
        best = guard.ratios(self.figures)
        if options.write_guard:
            guard.write(best)
        chosen = {row.name for row in _chosen(options)}
        earlier = {name: ratio for name, ratio in guard.read().items() if name in chosen}
        for _ in range(guard.ATTEMPTS - 1):
            if not (lost := guard.losses(best, earlier)):
                break
            again = Run(options)
            again.measure(bench, [ROWS[name] for name in sorted(lost)])
            for name, ratio in guard.ratios(again.figures).items():
                best[name] = min(ratio, best.get(name, ratio))
        return guard.losses(best, earlier)

    def json(self) -> str:
        """Return the run as JSON text."""
        run: dict[str, Any] = {
            "machine": self.machine,
            "when": datetime.now(UTC).isoformat(timespec="minutes"),
            "seconds": self._seconds,
            "figures": [figure.json() for figure in self.figures],
            "plot": self._plot,
        }
        return json.dumps(run, indent=1, ensure_ascii=False) + "\n"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add(
        "--only",
        nargs="+",
        metavar="ROW",
        choices=list(ROWS),
        help=f"of {', '.join(r.name for r in ordered())}",
    )
    add(
        "--quick",
        action="store_true",
        help="a minute: small vaults, the rows that CI guards; 1 if twice as slow",
    )
    add(
        "--full",
        action="store_true",
        help="167,000 notes to index and 1,000,000 passages to grow: one to two hours",
    )
    add("--data", type=Path, metavar="DIR", help="real notes: vaults/silverbullet, scale/tldr, ...")
    add("--before", metavar="COMMIT", default="HEAD", help="the commit that the row `before` runs beside")
    add("--json", type=Path, metavar="FILE", help="write the figures to this file")
    add(
        "--write-docs",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="measure nothing, write pages from JSON files",
    )
    add("--write-guard", action="store_true", help="with --quick: compare later runs with this one")
    return parser.parse_args()


def _chosen(options: argparse.Namespace) -> list[Row]:
    if options.only:
        return [row for row in ordered() if row.name in options.only]
    return [row for row in ordered() if row.quick or not options.quick]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
