"""Measure ranking on judged vaults and print the tables of docs/ranking.md.

    python scripts/bench_quality.py [--cache DIR] [--vaults DIR] [--model NAME]
                                    [--compare NAME=KEY:VALUE,...] SET...

A SET is a folder with ``queries.jsonl`` and ``qrels.tsv``. Its vault is its folder ``vault/``; else the
folder named in its file ``vault.txt`` (relative to the set); else the folder with its name in ``--vaults``;
else, for questions in one language about notes in another (``cross-de-en``: German questions, English notes),
the vault of the set ``xquad-en`` beside it. A set ``NAME-paraphrases`` is about the vault NAME; it treats a
third of the notes, none of them right, as recent. A set in a folder ``held-out`` is for testing only: its
figures are in separate tables, and no constant may be tuned on them. A set ``NAME-two-notes`` has questions
about the vault NAME that need two notes; ``--unlinked`` turns the links of every vault into plain text, so
that a note only mentions the other note's name. The first run embeds all notes, about a minute for two
thousand passages; later runs use the cache.
"""

import argparse
import asyncio
import re
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from unittest.mock import patch

from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.library import indexed_vault
from vaultseek.core.search import formula
from vaultseek.core.search.signals import DAY_SECONDS
from vaultseek.semantic.models.choice import AUTO, choose_models
from vaultseek.settings.model import Settings
from vaultseek.store.ledger import NoteRow
from vaultseek.tools.evaluate.judgements import ALL, read_qrels, read_queries
from vaultseek.tools.evaluate.report import REFUSAL_HEAD, as_text
from vaultseek.tools.evaluate.run import Outcome, Report, cache_directory, evaluate
from vaultseek.tools.evaluate.variants import KEYWORD, SEMANTIC, variants

FOREIGN_QUESTIONS = 10
"""Number of questions from another set that are asked as questions without an answer."""
HELD_OUT = "held-out"
"""Name of the folder for sets that are for testing only."""
DATED = "-paraphrases"
"""Suffix of the names of sets with notes of mixed ages."""
TWO_NOTES = "-two-notes"
"""Suffix of the names of sets whose questions need two notes."""
_LINK = re.compile(r"!?\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]|(?<!!)\[([^\[\]]*)\]\((?!http)[^()]*\)")
DAYS_OF_RECENT, DAYS_OF_OLD = (3, 20), 400
METRICS = ("nDCG@10", "nDCG@5", "Hit@5", "P@5", "MRR", "Recall@10", "Recall@100")
_KINDS = ("noise_refused", "foreign_refused", "questions_lost")
_OVERVIEW = ("nDCG@10", "nDCG@5", "Hit@1", "Hit@5", "P@5", "MRR", "Recall@100")


async def measure(folder: Path, arguments: argparse.Namespace) -> Report:
    """Measure one set with all variants."""
    root = vault_of(folder, arguments.vaults)
    if arguments.unlinked:
        root = unlinked_copy(
            root, cache_directory(root, arguments.cache).with_suffix(".unlinked") / root.name
        )
    plain = folder.name not in arguments.operators
    queries = read_queries(folder / "queries.jsonl", folder / "qrels.tsv", plain=plain)
    queries = [query for query in queries if re.search(arguments.questions, query.id)]
    ways = variants(Settings().search, arguments.compare)
    if arguments.only:
        ways = [way for way in ways if way.name in arguments.only]
    cache = cache_directory(root, arguments.cache)
    options, models = VaultOptions(root.name, root), choose_models(arguments.model)
    questions = [query.text for query in queries]
    async with indexed_vault(options, cache, models, lambda phase, counts: None, questions) as vault:
        foreign = foreign_questions(folder, arguments.sets) if arguments.refusals else None
        gain = 0.0 if arguments.unjoined else formula.JOINED_GAIN
        with mixed_ages(folder), patch.object(formula, "JOINED_GAIN", gain):
            return await evaluate(vault, queries, ways, plain=plain, limit=arguments.limit, foreign=foreign)


def mixed_ages(folder: Path) -> AbstractContextManager[object]:
    """Treat a third of the notes as recent in a ``with`` block, except the notes judged in either half of the
    set.

    The choice depends only on paths. Sets without mixed ages are unaffected.
    """
    if not folder.name.endswith(DATED):
        return nullcontext()
    halves = [half / folder.name / "qrels.tsv" for half in folder.resolve().parent.parent.iterdir()]
    judged = {
        path for half in halves if half.is_file() for grades in read_qrels(half).values() for path in grades
    }
    now = time.time()

    def date(row: NoteRow, _: object) -> float:
        number = zlib.crc32(row.path.encode())
        is_recent = number % 3 == 0 and row.path not in judged
        return now - DAY_SECONDS * (DAYS_OF_RECENT[number // 3 % 2] if is_recent else DAYS_OF_OLD)

    return patch("vaultseek.core.search.signals._date", date)


def foreign_questions(folder: Path, sets: Sequence[Path]) -> list[str]:
    """Return ten questions from each of the ``sets`` with a different subject; this set's notes cannot answer
    them."""
    others = [each for each in sets if _subject(each) != _subject(folder)]
    foreign: list[str] = []
    for other in others:
        texts = [
            query.text for query in read_queries(other / "queries.jsonl", other / "qrels.tsv", plain=True)
        ]
        foreign += texts[:: -(-len(texts) // FOREIGN_QUESTIONS)]
    return foreign


def _subject(folder: Path) -> str:
    """Return the subject of a set's notes. All languages of one text have the same subject, as have all
    vaults about software."""
    parent = folder.resolve().parent.name
    if folder.name.partition("-")[0] in ("xquad", "cross"):
        return "xquad"
    return "judged" if parent in ("judged", HELD_OUT) else folder.name


def vault_of(folder: Path, vaults: Path | None) -> Path:
    """Return the vault folder of a set.

    If it does not exist, exits and lists the places tried.
    """
    places = [folder / "vault"]
    if (pointer := folder / "vault.txt").is_file():
        places.append(folder / pointer.read_text(encoding="utf-8").strip())
    if vaults is not None:
        places.append(vaults / folder.name.removesuffix(DATED).removesuffix(TWO_NOTES))
    if folder.name.startswith("cross-"):
        places.append(folder.parent / f"xquad-{folder.name.rpartition('-')[2]}" / "vault")
    for place in places:
        if place.is_dir():
            return place.resolve()
    sys.exit(f"{folder}: no vault; tried {', '.join(map(str, places))}")


def unlinked_copy(root: Path, copy: Path) -> Path:
    """Copy a vault to ``copy`` and replace each link to a note by its label, or else by the note's name."""
    for source in root.rglob("*.md"):
        note = copy / source.relative_to(root)
        note.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text(encoding="utf-8", errors="replace")
        note.write_text(_LINK.sub(_label, text), encoding="utf-8")
    return copy


def _label(link: re.Match[str]) -> str:
    target, label, text = link.groups()
    return text or label or (target or "").rpartition("/")[2].partition("#")[0]


def is_held_out(folder: Path) -> bool:
    """Return true if a set is for testing only."""
    return folder.resolve().parent.name == HELD_OUT


def tables(reports: Mapping[str, Report]) -> Iterator[str]:
    """Yield the overview of the first variant and one table per metric; nothing if there are no sets."""
    if reports:
        yield _overview(reports)
        yield from (summary(reports, metric) for metric in METRICS)
        yield _refusals(reports)


def _refusals(reports: Mapping[str, Report]) -> str:
    """Format the curve of refusals: the means over the sets, and the set that loses most."""
    curves = {name: report.refusals for name, report in reports.items() if report.refusals}
    rows = []
    for points in zip(*curves.values(), strict=True):
        lost = {name: point.questions_lost or 0.0 for name, point in zip(curves, points, strict=True)}
        worst = max(lost, key=lost.__getitem__)
        shares = [_mean_percent([getattr(point, kind) for point in points]) for kind in _KINDS]
        rows.append([f"{points[0].threshold:g}", *shares, f"{worst} {100 * lost[worst]:.1f} %"])
    return _table(list(REFUSAL_HEAD), iter(rows))


def _mean_percent(shares: Sequence[float | None]) -> str:
    known = [share for share in shares if share is not None]
    return f"{100 * sum(known) / len(known):.1f} %" if known else ""


def summary(reports: Mapping[str, Report], metric: str) -> str:
    """Format a table with a row per set and a column per variant."""
    names = [outcome.name for outcome in next(iter(reports.values())).outcomes]
    rows = ([name, *(_figure(each, metric) for each in report.outcomes)] for name, report in reports.items())
    return _table([metric, *names], rows)


def _overview(reports: Mapping[str, Report]) -> str:
    """Format a row per set: the first variant, and how far its nDCG@10 is above the better lane's."""
    name = next(iter(reports.values())).outcomes[0].name
    head = [name, "questions", *_OVERVIEW, "refused", "gain over the better"]
    rows = (
        [
            name,
            str(report.sizes[ALL]),
            *(_figure(report.outcomes[0], metric) for metric in _OVERVIEW),
            f"{_lost_share(report):.1%}",
            _against_better_lane(report),
        ]
        for name, report in reports.items()
    )
    return _table(head, rows)


def _lost_share(report: Report) -> float:
    """Return the share of answerable questions for which the first variant finds no right note."""
    results = report.results[report.outcomes[0].name]
    answerable = [query.id for query in report.queries if any(grade > 0 for grade in query.grades.values())]
    return sum(not results[id].paths for id in answerable) / len(answerable)


def _against_better_lane(report: Report) -> str:
    """Format how far the first variant's nDCG@10 is above the better lane's; empty if no lane was
    measured."""
    figures = {outcome.name: outcome.metrics[ALL]["nDCG@10"].mean for outcome in report.outcomes}
    lanes = [figures[name] for name in (KEYWORD, SEMANTIC) if name in figures]
    return f"{figures[report.outcomes[0].name] - max(lanes):+.4f}" if lanes else ""


def _figure(outcome: Outcome, metric: str) -> str:
    return f"{outcome.metrics[ALL][metric].mean:.4f}"


def _table(head: list[str], rows: Iterator[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def arguments_for_sets(description: str | None) -> argparse.ArgumentParser:
    """Return a parser for the sets and every option that ``measure`` reads."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--vaults", type=Path)
    parser.add_argument("--unlinked", action="store_true", help="make links plain text")
    parser.add_argument("--unjoined", action="store_true", help="raise no note by its link with a better one")
    parser.add_argument("--questions", default="", help="regular expression of the numbers to ask")
    parser.add_argument("--model", default=AUTO, help="as in the settings")
    parser.add_argument("--operators", action="append", default=["data"], help="set with query operators")
    parser.add_argument("--limit", type=int, default=100)
    parser.set_defaults(refusals=True)
    return parser


def main() -> None:
    """Measure every set, then print the tables; sets that are for testing only come last."""
    parser = arguments_for_sets(__doc__)
    parser.add_argument("--compare", action="append", default=[])
    parser.add_argument("--only", action="append", default=[], help="only the variant of this name")
    arguments = parser.parse_args()
    developed: dict[str, Report] = {}
    held_out: dict[str, Report] = {}
    for folder in arguments.sets:
        report = asyncio.run(measure(folder, arguments))
        (held_out if is_held_out(folder) else developed)[folder.name] = report
        print(f"{folder}\n{as_text(report)}", end="\n\n", file=sys.stderr, flush=True)
    for table in tables(developed):
        print(table, end="\n\n")
    if held_out:
        print("For testing only, never to choose a constant:", end="\n\n")
    for table in tables(held_out):
        print(table, end="\n\n")


if __name__ == "__main__":
    main()
