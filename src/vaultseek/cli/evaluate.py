"""``vaultseek evaluate``: measure the ranking on a vault with judged queries, without the daemon."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vaultseek import limits
from vaultseek.cli import FOUND
from vaultseek.cli.inspect import vault_of
from vaultseek.cli.invocation import Invocation, as_json, pass_invocation, shared_options, vault_option
from vaultseek.errors import UsageError

if TYPE_CHECKING:
    from vaultseek.evaluate import JudgedQuery, MeasuredPlace, Report, Variant
    from vaultseek.settings.model import Settings

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--queries", type=_FILE, required=True, metavar="FILE", help="JSON lines with id and query.")
@click.option("--qrels", type=_FILE, required=True, metavar="FILE", help="Query, path and grade, by tabs.")
@click.option("--compare", multiple=True, metavar="NAME=KEY:VALUE,...", help="Measure other settings, too.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object, with every query's results.")
@click.option(
    "--report", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a page."
)
@click.option("--plain", is_flag=True, help="Take queries for words, whatever operators they look like.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(10, limits.RESULTS),
    default=limits.MEASURED_CANDIDATES,
    metavar="N",
    help="Results to ask for; figures for Recall@100 need a hundred.",
)
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where the index for measuring is kept.",
)
@vault_option
@shared_options
@pass_invocation
def evaluate(
    invocation: Invocation,
    queries: Path,
    qrels: Path,
    compare: tuple[str, ...],
    json_: bool,
    report: Path | None,
    plain: bool,
    limit: int,
    cache: Path | None,
) -> int:
    """Measure how well searches find what they should.

    Asks every query in every way and compares with the judgements: the settings as they are, grep,
    words alone, meaning alone and plain rank fusion. The vault is indexed apart from the daemon's
    index; the first time takes as long as embedding its notes does.

    \b
    vaultseek evaluate --vault ~/notes --queries queries.jsonl --qrels qrels.tsv
    vaultseek evaluate ... --compare 70/30=fusion:linear,alpha:0.7 --compare nograph=graph:false
    """
    import asyncio

    from vaultseek.evaluate import as_text, read_queries, variants
    from vaultseek.settings.load import load

    settings = load(invocation.config)
    ways = variants(settings.search, compare)
    judged = read_queries(queries, qrels, plain=plain)
    place = _place(invocation, settings)
    if report is not None:
        # A measurement takes minutes; that its page cannot be written is to be known before.
        _write(report, "")
    measured = asyncio.run(_measure(place, settings, judged, ways, plain, limit, cache))
    try:
        if report is not None:
            from vaultseek.evaluate.page import page

            _write(report, page(measured))
    finally:
        if json_:
            from vaultseek.evaluate import as_json as report_as_json

            as_json(report_as_json(measured))
        else:
            print(as_text(measured))
    return FOUND


def _write(report: Path, text: str) -> None:
    """Write the page; without any text only try whether that is possible, and leave no trace."""
    try:
        there = report.exists()
        with report.open("w" if text else "a", encoding="utf-8") as file:
            file.write(text)
        if not text and not there:
            report.unlink()
    except OSError as error:
        raise UsageError(
            f"the page {report} cannot be written: {error.strerror}; say another --report"
        ) from None


async def _measure(
    place: MeasuredPlace,
    settings: Settings,
    judged: list[JudgedQuery],
    ways: list[Variant],
    plain: bool,
    limit: int,
    cache: Path | None,
) -> Report:
    from vaultseek.evaluate import cache_directory, measured_vault
    from vaultseek.evaluate import evaluate as run
    from vaultseek.models.catalogue import find_model

    progress = _Progress()
    directory = cache_directory(place.root, cache)
    async with measured_vault(place, directory, find_model(settings.model.name), progress.indexing) as vault:
        return await run(vault, judged, ways, raw=plain, limit=limit, tell=progress.asking)


def _place(invocation: Invocation, settings: Settings) -> MeasuredPlace:
    """The vault that is meant, with what the configuration says of it."""
    from vaultseek.evaluate import MeasuredPlace

    root = vault_of(invocation, Path.cwd())
    if root is None:
        raise UsageError("which vault is meant is not clear; say --vault FOLDER, or run it inside one")
    real = Path(os.path.realpath(root))
    entry = next((vault for vault in settings.vaults if vault.path == real), None)
    exclude = (*settings.index.exclude, *(entry.exclude if entry else ()))
    return MeasuredPlace(real, exclude, entry.language if entry else None)


class _Progress:
    """What is being done, on one line of a terminal that is written over; silent where there is none."""

    def __init__(self) -> None:
        self._shown = 0.0

    def indexing(self, phase: str, counts: Any) -> None:
        pending = f", {counts.pending} texts to embed" if counts.pending else ""
        self._show(f"{phase}: {counts.notes} notes{pending}", last=phase == "done")

    def asking(self, name: str, done: int, total: int) -> None:
        self._show(f"{name}: {done}/{total} queries", last=done == total)

    def _show(self, line: str, *, last: bool) -> None:
        if not sys.stderr.isatty() or (not last and time.monotonic() - self._shown < limits.PROGRESS_SECONDS):
            return
        self._shown = time.monotonic()
        print(f"\r\x1b[K{'' if last else line}", end="", file=sys.stderr, flush=True)
