"""``vaultseek backend``: moving notes to another engine, and pruning old formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from vaultseek.base.model import JSON
from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, json_option, local_options
from vaultseek.doors.cli.output import print_error, print_result
from vaultseek.doors.cli.terminal import clean, count
from vaultseek.errors import UsageError

if TYPE_CHECKING:
    from vaultseek.doors.cli.engine_move import EngineMove, VaultMove
    from vaultseek.engines.administration import OldFormat
    from vaultseek.settings.engine import EngineOptions

DIFFERENT = 1
"""Exit code after a move whose numbers or searches differ."""
SHOWN_SEARCHES = 5


@click.group()
def backend() -> None:
    """Move notes between the embedded engine and PostgreSQL or Milvus.

    The settings are in [index]; docs/backends.md says which engine is for whom.
    """


@backend.command()
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Choice(["postgres", "milvus", "embedded"]),
    help="The engine.",
)
@click.option(
    "--uri", metavar="URI", help="Address of the engine, or a file for Milvus Lite that ends in .db."
)
@json_option()
@daemon_options
def migrate(invocation: Invocation, target: str, uri: str | None) -> int:
    """Copy notes and vectors to another engine, and use it from then on.

    Everything is copied from the ledger: no note is read and nothing is embedded again. The engine is
    checked first; if it cannot be used, nothing is changed. At the end its numbers of notes, passages and
    vectors are compared with the ledger, and some searches with those before; exit code 1 if they differ.

    The setting is for all vaults, so all are moved. With --vault only that one is waited for and compared;
    the daemon moves the others meanwhile.

    Run it again to continue after an interruption. If the notes are already there, it only compares. The
    former engine keeps its copy.

    \b
    vaultseek backend migrate --to postgres --uri postgresql://db.example/notes
    vaultseek backend migrate --to milvus --uri ~/notes.db
    vaultseek backend migrate --to embedded
    """
    from vaultseek.doors.cli.engine_move import EngineMove

    move = EngineMove(invocation, target, uri, quiet=invocation.json)
    was_there = move.is_there
    move.run()
    print_result(_as_json(move, was_there=was_there), invocation, *_lines(move, was_there=was_there))
    if move.is_same:
        return SUCCESS
    if not invocation.json:
        print_error(
            f"the numbers of {move.place} differ from the ledger's, or searches find other notes than before"
        )
    return DIFFERENT


@backend.command()
@click.option("--drop", is_flag=True, help="Delete them.")
@click.option("--uri", metavar="URI", help="A Milvus other than the one in the settings.")
@json_option()
@local_options
def prune(invocation: Invocation, drop: bool, uri: str | None) -> int:
    """List what older versions of vaultseek have left in Milvus, and delete it with --drop.

    A new format is written to new collections, and the old ones stay. Collections of this or a later version,
    of other programs, and of indexers that still write an old format are kept.

    \b
    vaultseek backend prune
    vaultseek backend prune --drop
    """
    from vaultseek.engines.administration import drop_format, old_formats

    engine = _engine(invocation, uri)
    formats = old_formats(engine)
    for old in formats if drop else ():
        drop_format(engine, old)
    answer = {"place": engine.place, "dropped": drop, "formats": [asdict(old) for old in formats]}
    return print_result(answer, invocation, *_pruned(engine.place, formats, drop=drop))


def _pruned(place: str, formats: Sequence[OldFormat], *, drop: bool) -> Iterator[str]:
    for old in formats:
        contents = f"{count(len(old.shards), 'vault')}, {count(old.notes, 'note')}"
        used = f"; an indexer on {clean(old.busy)} still writes in it" if old.busy else ""
        yield f"format {old.version}: {contents}{' deleted' if drop else ''}{used}"
        yield from (f"  {clean(shard)}" for shard in old.shards)
    if not formats:
        yield f"Milvus at {clean(place)} has nothing of older versions"
    elif not drop:
        yield "nothing was deleted; `vaultseek backend prune --drop` does that"


def _engine(invocation: Invocation, uri: str | None) -> EngineOptions:
    """Return the Milvus of the settings, also one that was used before, or that at ``uri``."""
    from vaultseek.doors.cli.connect import daemon_pid
    from vaultseek.engines.administration import check_usable
    from vaultseek.settings.load import load

    index = load(invocation.config).index
    engine = index.model_copy(update={"backend": "milvus", "uri": uri or index.uri}).engine
    assert engine is not None
    check_usable(engine)
    if engine.is_lite and not engine.file.exists():
        raise UsageError(f"there is no file {engine.file}; give another one as --uri")
    if engine.is_lite and index.engine == engine and daemon_pid() is not None:
        raise UsageError(f"the daemon has {engine.file} open; run `vaultseek stop` first")
    return engine


def _lines(move: EngineMove, *, was_there: bool) -> Iterator[str]:
    from vaultseek.tools.doctor.engine import in_words

    place = clean(move.place)
    if not move.vaults:
        yield f"there is no vault yet; those that you add are kept in {place}"
    for vault in move.vaults:
        verified = vault.verified
        where = f"already in {place}" if was_there else f"in {place}"
        yield f"{clean(vault.name)}: {in_words(verified)} are {where}"
        if verified["reason"]:
            yield f"{clean(vault.name)}: not all could be compared: {clean(verified['reason'])}"
        if vault.search_failure:
            yield f"{clean(vault.name)}: searches could not be compared: {clean(vault.search_failure)}"
        yield from _searches(vault)
    if move.was is not None and not was_there:
        former = f"{move.was.title} at {clean(move.was.place)}"
        yield f"{former} keeps its copy; delete it there if you want it gone"


def _searches(vault: VaultMove) -> Iterator[str]:
    if not vault.searches:
        return
    pairs = list(zip(vault.searches, vault.found_again, strict=True))
    others = [(query, again, len(notes)) for (query, notes), again in pairs if again != len(notes)]
    same = len(pairs) - len(others)
    asked = count(len(pairs), "search", "searches")
    yield f"{clean(vault.name)}: {same} of {asked} find the same first notes as before"
    for query, again, notes in others[:SHOWN_SEARCHES]:
        yield f"  {again} of {notes} again: {clean(query)}"


def _as_json(move: EngineMove, *, was_there: bool) -> JSON:
    return {
        "engine": move.target,
        "place": move.engine and move.engine.place,
        "was_there": was_there,
        "same": move.is_same,
        "vaults": [
            {
                "vault": vault.name,
                "vault_path": vault.path,
                "same": vault.verified["same"],
                "reason": vault.verified["reason"],
                "numbers": vault.verified["numbers"],
                "searches": [
                    {"query": query, "notes": len(notes), "again": again}
                    for (query, notes), again in zip(vault.searches, vault.found_again, strict=True)
                ],
                "unsearched": vault.search_failure,
            }
            for vault in move.vaults
        ],
    }
