"""Make everything fail that can fail on Linux, and print which faults are survived.

Each fault in tests/faults/list.toml has a number, and its tests are marked with this number. By default, only
tests that take seconds are run; scripts/test also runs them. With --all, tests that take minutes are run as
well, half an hour in total.
"""

import argparse
import functools
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
LIST = PROJECT / "tests" / "faults" / "list.toml"
PAGE = PROJECT / "docs" / "faults.md"
BEGIN, END = "<!-- the list, written by scripts/fault --write -->", "<!-- the end of the list -->"
PICTURE = "![Size, search time and memory over the year; fresh indexes are dashed](year.svg)"
YEAR_BEGIN, YEAR_END = (
    "<!-- written by scripts/fault --year EDITS --write -->",
    "<!-- the end of the year -->",
)
WORDS = ("survived", "in part", "failed", "skipped", "not tested")


@dataclass
class Result:
    """Outcome of the tests of one fault."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def word(self) -> str:
        """The outcome: survived, survived in part if a test was skipped, failed, or skipped."""
        if self.failed:
            return "failed"
        if self.skipped:
            return "in part" if self.passed else "skipped"
        return "survived" if self.passed else "skipped"


class Recorder:
    """A pytest plugin that collects the results of each fault."""

    def __init__(self) -> None:
        self.results: dict[str, Result] = defaultdict(Result)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the report of a test, or of its setup if that failed."""
        numbers = [str(value) for name, value in report.user_properties if name == "fault"]
        for number in dict.fromkeys(numbers):
            result = self.results[number]
            result.seconds += report.duration
            if report.failed and report.nodeid not in result.failed:
                result.failed.append(report.nodeid)
            elif report.skipped:
                result.skipped.append(_reason(report))
            elif report.when == "call" and report.passed:
                result.passed += 1


def read_list() -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return the faults of each chapter by number, and the reasons why some faults have no test."""
    chapters = tomllib.loads(LIST.read_text(encoding="utf-8"))
    reasons = chapters.pop("not_tested")
    titles = {chapter.pop("title"): chapter for chapter in chapters.values()}
    return titles, reasons


def main() -> int:
    """Run the requested tests; return 1 if a fault was not survived."""
    arguments = _arguments()
    if arguments.fuzz is not None:
        sys.path.insert(0, str(PROJECT / "tests"))
        from fuzzing import fuzz

        return fuzz(arguments.fuzz * 60, arguments.kind)
    if arguments.year is not None:
        return _year(arguments.year, arguments.before, write=arguments.write)
    chapters, reasons = read_list()
    known = {number for faults in chapters.values() for number in faults}
    if arguments.list:
        _print_list(chapters, reasons)
        return 0
    numbers = [_number(given) for given in arguments.numbers]
    if unknown := [number for number in numbers if number not in known]:
        sys.exit(f"There is no fault {', '.join(unknown)}. See them all with scripts/fault --list.")
    results = _run(numbers, long=arguments.all or bool(numbers), processes=arguments.processes)
    chosen = {
        title: {number: text for number, text in faults.items() if not numbers or number in numbers}
        for title, faults in chapters.items()
    }
    _print_results(chosen, reasons, results, arguments.all)
    if arguments.write:
        _write_page(chapters, reasons, results)
    return 1 if any(result.failed for result in results.values()) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/fault", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "numbers", nargs="*", metavar="NUMBER", help="only these, for example B8 or 'invariant 3'"
    )
    parser.add_argument("--all", action="store_true", help="also those that take minutes")
    parser.add_argument("--list", action="store_true", help="print the faults and run nothing")
    parser.add_argument("--write", action="store_true", help="write the results into docs/faults.md")
    parser.add_argument(
        "--processes", type=int, default=2, metavar="N", help="test in N processes (default 2)"
    )
    parser.add_argument(
        "--fuzz",
        type=float,
        metavar="MINUTES",
        help="instead, try random notes, queries, patterns, bases, messages and settings this long; "
        "what crashes, hangs, takes memory or keeps others waiting is kept in tests/data/crashers, and "
        "tested from then on",
    )
    parser.add_argument("--kind", metavar="KIND", help="with --fuzz, only notes, bases, … or daemon")
    parser.add_argument(
        "--year",
        type=int,
        metavar="EDITS",
        help="instead, change a vault this often, with kills, sleeps and full disks, and compare its index "
        "with a fresh one ten times; 100000 edits take an hour",
    )
    parser.add_argument("--before", metavar="COMMIT", help="with --year, let an older version take part")
    return parser.parse_args()


def _year(edits: int, before: str | None, *, write: bool) -> int:
    """Simulate a year of this many edits, and write the figure into the page if this is requested."""
    sys.path.insert(0, str(PROJECT / "tests"))
    from year import draw, live

    with tempfile.TemporaryDirectory() as folder:
        if before:
            archive = subprocess.run(
                ["git", "-C", str(PROJECT), "archive", before, "src"], check=True, capture_output=True
            )
            subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        report = functools.partial(print, flush=True)
        rows, events = live(edits, report, before=Path(folder) / "src" if before else None)
    print(events)
    if write:
        (PROJECT / "docs" / "year.svg").write_text(draw(rows), encoding="utf-8")
        text = f"{PICTURE}\n\nOn {date.today():%d %B %Y}, vaultseek {_code()}: {events}.\n"
        _replace(YEAR_BEGIN, YEAR_END, text)
    return 1 if any(row.differences for row in rows) else 0


def _replace(begin: str, end: str, text: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(begin)
    PAGE.write_text(f"{before}{begin}\n{text}{end}{rest.partition(end)[2]}", encoding="utf-8")


def _number(given: str) -> str:
    word = given.strip().capitalize()
    return word if word.startswith("Invariant") else word.upper()


def _run(numbers: list[str], *, long: bool, processes: int) -> dict[str, Result]:
    recorder = Recorder()
    options = [f"--fault={number}" for number in numbers or [""]]
    if long:
        options.append("--long")
    if processes > 1:
        options += ["-n", str(processes), "--dist", "loadfile"]
    pytest.main(["--rootdir", str(PROJECT), str(PROJECT / "tests"), *options], plugins=[recorder])
    return recorder.results


def _print_list(chapters: dict[str, dict[str, str]], reasons: dict[str, str]) -> None:
    for title, faults in chapters.items():
        print(f"\n{title}")
        for number, text in faults.items():
            note = f" (not tested: {reasons[number]})" if number in reasons else ""
            print(f"  {number:<12} {text}{note}")


def _print_results(
    chapters: dict[str, dict[str, str]], reasons: dict[str, str], results: dict[str, Result], everything: bool
) -> None:
    counts: dict[str, int] = defaultdict(int)
    for title, faults in chapters.items():
        if faults:
            print(f"\n{title}")
        for number, text in faults.items():
            word, detail = _outcome(number, reasons, results, everything)
            counts[word] += 1
            print(f"  {word:<10} {number:<12} {text}{f' ({detail})' if detail else ''}")
            for test in results[number].failed if number in results else ():
                print(f"               {test}")
    print("\n" + ", ".join(f"{counts[word]} {word}" for word in WORDS))


def _outcome(
    number: str, reasons: dict[str, str], results: dict[str, Result], everything: bool
) -> tuple[str, str]:
    result = results.get(number)
    if number in reasons:
        return "not tested", reasons[number]
    if result is None:
        return "skipped", "no test ran" if everything else "takes minutes: --all"
    skipped = ", ".join(dict.fromkeys(result.skipped))
    if result.word == "in part":
        return result.word, f"{len(result.skipped)} skipped: {skipped}"
    return result.word, skipped


def _write_page(
    chapters: dict[str, dict[str, str]], reasons: dict[str, str], results: dict[str, Result]
) -> None:
    tried = f"Tested on Linux on {date.today():%d %B %Y}, by `scripts/fault --all`, with vaultseek {_code()}."
    numbers = [number for faults in chapters.values() for number in faults]
    exceptions = _exceptions(numbers, reasons, results) or "none"
    _replace(BEGIN, END, f"{tried} Of {len(numbers)} faults, not survived in full: {exceptions}.\n")


def _exceptions(numbers: Iterable[str], reasons: dict[str, str], results: dict[str, Result]) -> str:
    """Return the faults that were not survived, grouped by outcome."""
    found: dict[str, list[str]] = defaultdict(list)
    for number in numbers:
        word, detail = _outcome(number, reasons, results, True)
        if word != "survived":
            found[f"{word}: {detail}" if detail else word].append(number)
    return "; ".join(f"{', '.join(those)} {outcome}" for outcome, those in found.items())


def _code() -> str:
    """Return the version and the commit of the tested code."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=PROJECT, capture_output=True, text=True, check=True
        ).stdout.strip()

    changed = ", and changes after it" if git("status", "--porcelain", "src") else ""
    return f"{version('vaultseek')}, commit {git('log', '-1', '--format=%h', 'src')}{changed}"


def _reason(report: pytest.TestReport) -> str:
    longrepr = report.longrepr
    text = str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr)
    return text.removeprefix("Skipped: ")


if __name__ == "__main__":
    sys.exit(main())
