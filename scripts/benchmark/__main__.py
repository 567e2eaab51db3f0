"""The command line of ``scripts/bench``."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path

import benchmark.rows_client
import benchmark.rows_embed
import benchmark.rows_filter
import benchmark.rows_index
import benchmark.rows_profile
import benchmark.rows_search  # noqa: F401
from benchmark import machine, page
from benchmark.figures import Figure
from benchmark.registry import ROWS, Row, ordered
from benchmark.worlds import Bench


def main() -> int:
    """Run the rows, print the table, write the JSON file; return the exit code."""
    options = _options()
    # So that daemons and folders are removed when the run is ended from outside.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    described = machine.describe()
    figures, seconds = _measure(_chosen(options), options)
    page.show(figures, described)
    if options.json:
        _write(options.json, described, figures, seconds)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="ROW", choices=sorted(ROWS), help="measure these rows")
    parser.add_argument(
        "--quick", action="store_true", help="a minute: small vaults, the rows that CI guards"
    )
    parser.add_argument("--full", action="store_true", help="the sizes of the targets: about an hour")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder with vaults/silverbullet and scale/tldr"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file")
    return parser.parse_args()


def _chosen(options: argparse.Namespace) -> list[Row]:
    if options.only:
        return [row for row in ordered() if row.name in options.only]
    return [row for row in ordered() if row.quick or not options.quick]


def _measure(rows: list[Row], options: argparse.Namespace) -> tuple[list[Figure], dict[str, float]]:
    figures: list[Figure] = []
    seconds: dict[str, float] = {}
    with Bench(options.data, quick=options.quick, full=options.full, say=_say) as bench:
        for row in rows:
            began = time.monotonic()
            _say(row.name)
            try:
                for figure in row.measure(bench):
                    _say(f"  {figure.what}: {figure.measured} | {figure.reference} | {figure.target}")
                    figures.append(figure)
            except Exception as error:  # the other rows are still worth measuring
                traceback.print_exc()
                what = f"{type(error).__name__}: {error}"[:200]
                figures.append(Figure(row.name, row.name, f"failed: {what}", met=False))
            seconds[row.name] = round(time.monotonic() - began, 1)
            _say(f"  {seconds[row.name]} s")
    return figures, seconds


def _write(file: Path, described: str, figures: list[Figure], seconds: dict[str, float]) -> None:
    run = {
        "machine": described,
        "when": datetime.now(UTC).isoformat(timespec="minutes"),
        "seconds": seconds,
        "figures": [figure.json() for figure in figures],
    }
    file.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
