"""``vaultseek backend``: moving notes to another engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from vaultseek.base.model import JSON
from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, json_option
from vaultseek.doors.cli.output import print_error, print_result
from vaultseek.doors.cli.terminal import clean, count

if TYPE_CHECKING:
    from vaultseek.doors.cli.engine_move import EngineMove, VaultMove

DIFFERENT = 1
"""Exit code after a move whose numbers or searches differ."""
SHOWN_SEARCHES = 5


@click.group()
def backend() -> None:
    """Move notes between the embedded engine and PostgreSQL.

    The settings are in [index]; docs/backends.md says which engine is for whom.
    """


@backend.command()
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Choice(["postgres", "embedded"]),
    help="The engine.",
)
@click.option("--uri", metavar="URI", help="Address of the engine.")
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
