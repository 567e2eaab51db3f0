"""``vaultseek evaluate``: measure the quality of the ranking with judged queries, without the daemon."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vaultseek.base import limits
from vaultseek.base.extras import require_extra
from vaultseek.base.text import count
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.local_vault import vault_of
from vaultseek.doors.cli.options import json_option, local_options, vault_option
from vaultseek.doors.cli.output import print_json
from vaultseek.errors import UsageError

if TYPE_CHECKING:
    from vaultseek.core.indexing.open_vault import VaultOptions
    from vaultseek.settings.model import Settings
    from vaultseek.store.ledger import Counts
    from vaultseek.tools.evaluate.judgements import JudgedQuery
    from vaultseek.tools.evaluate.run import Report
    from vaultseek.tools.evaluate.variants import Variant

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--queries", type=_FILE, required=True, metavar="FILE", help="Queries: JSON lines with id and query."
)
@click.option(
    "--qrels",
    type=_FILE,
    required=True,
    metavar="FILE",
    help="Judgements: query id, path and grade, separated by tabs.",
)
@click.option(
    "--compare", multiple=True, metavar="NAME=KEY:VALUE,...", help="Also measure with these search settings."
)
@json_option("Print one JSON object with the results of every query.")
@click.option("--plain", is_flag=True, help="Treat queries as plain words, without operators.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(10, limits.RESULTS),
    default=limits.MEASURED_CANDIDATES,
    metavar="N",
    help=f"Results per query, by default {limits.MEASURED_CANDIDATES}. Recall@100 needs 100.",
)
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for the index that is built for measuring.",
)
@vault_option
@local_options
def evaluate(
    invocation: Invocation,
    queries: Path,
    qrels: Path,
    compare: tuple[str, ...],
    plain: bool,
    limit: int,
    cache: Path | None,
) -> None:
    """Measure the quality of the search results.

    Runs every query with your settings, with grep, by words only, by meaning only and with plain rank fusion,
    and compares the results with the judgements. Builds a separate index from the vectors that the daemon has
    computed; missing vectors are computed once.

    \b
    vaultseek evaluate --vault ~/notes --queries queries.jsonl --qrels qrels.tsv
    vaultseek evaluate ... --compare 70/30=fusion:linear,alpha:0.7
    """
    import asyncio

    from vaultseek.settings.load import load
    from vaultseek.tools.evaluate.judgements import read_queries
    from vaultseek.tools.evaluate.report import as_json, as_text
    from vaultseek.tools.evaluate.variants import variants

    require_extra("evaluate", "vaultseek evaluate")
    settings = load(invocation.config)
    ways = variants(settings.search, compare)
    judged = read_queries(queries, qrels, plain=plain)
    options = _options(invocation, settings)
    measured = asyncio.run(_measure(invocation, options, settings, judged, ways, plain, limit, cache))
    if cache is None:
        _keep(options.root, measured)
    if invocation.json:
        print_json(as_json(measured))
    else:
        print(as_text(measured))


def _keep(root: Path, report: Report) -> None:
    """Store the evaluation report for ``vaultseek ui``."""
    import contextlib
    import json

    from vaultseek.base import paths
    from vaultseek.tools.evaluate.report import as_json

    with contextlib.suppress(OSError):
        paths.write_atomically(paths.evaluation_directory(root) / paths.REPORT, json.dumps(as_json(report)))


async def _measure(
    invocation: Invocation,
    options: VaultOptions,
    settings: Settings,
    judged: list[JudgedQuery],
    ways: list[Variant],
    plain: bool,
    limit: int,
    cache: Path | None,
) -> Report:
    from vaultseek.base.paths import vault_data_directory
    from vaultseek.core.library import indexed_vault
    from vaultseek.doors.cli.progress import progress
    from vaultseek.semantic.models.choice import choose_models
    from vaultseek.tools.evaluate.run import cache_directory
    from vaultseek.tools.evaluate.run import evaluate as run

    directory = cache_directory(options.root, cache)
    models = choose_models(settings.model.name, settings.model.other_languages, settings.model.service)
    questions = [query.text for query in judged]
    reranker = settings.reranker.service
    with progress(color=invocation.color, quiet=not sys.stderr.isatty()) as show:

        def on_indexing(phase: str, counts: Counts) -> None:
            pending = f", {count(counts.pending, 'passage')} to embed" if counts.pending else ""
            doing = f"{phase}: {count(counts.notes, 'note')}{pending}"
            show({"vault": "index", "share": float(phase == "done"), "doing": doing})

        def on_query(name: str, done: int, total: int) -> None:
            show({"vault": name, "share": done / total, "doing": f"{done}/{total} queries"})

        ledger = vault_data_directory(options.root) / "ledger.sqlite"
        async with indexed_vault(
            options, directory, models, on_indexing, questions, reranker, ledger
        ) as vault:
            return await run(vault, judged, ways, plain=plain, limit=limit, on_query=on_query)


def _options(invocation: Invocation, settings: Settings) -> VaultOptions:
    from vaultseek.core.indexing.open_vault import VaultOptions

    root = vault_of(invocation, Path.cwd())
    if root is None:
        raise UsageError("which vault? use --vault DIR, or run this inside a vault")
    real = Path(os.path.realpath(root))
    entry = next((vault for vault in settings.vaults if vault.path == real), None)
    exclude = (*settings.index.exclude, *(entry.exclude if entry else ()))
    language = entry.language if entry else None
    return VaultOptions(real.name, real, exclude, language, kinds=settings.index.kinds)
