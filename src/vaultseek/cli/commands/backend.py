"""``vaultseek backend``: which engine keeps the notes, and moving them to another one."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vaultseek import paths
from vaultseek.cli.exit_codes import SUCCESS
from vaultseek.cli.invocation import Invocation
from vaultseek.cli.options import daemon_options, pass_invocation
from vaultseek.cli.terminal import clean, count
from vaultseek.model import JSON

if TYPE_CHECKING:
    from vaultseek.client.caller import Caller

SAMPLE = 20
"""Searches before and after a move, whose results are compared."""
LISTED = 200
SHOWN = 10
UNAVAILABLE = 3


@click.group()
def backend() -> None:
    """Move notes between the embedded engine and Milvus.

    The settings are in [index]; docs/backends.md says which engine is for whom.
    """


@backend.command()
@click.option("--to", "target", required=True, type=click.Choice(["milvus", "embedded"]), help="The engine.")
@click.option("--uri", metavar="URI", help="Address of Milvus, or a file for Milvus Lite that ends in .db.")
@daemon_options
@pass_invocation
def migrate(invocation: Invocation, target: str, uri: str | None) -> int:
    """Copy notes and vectors to another engine, and use it from then on.

    Everything is copied from the ledger: no note is read and nothing is embedded again. Run it again after
    an interruption: it goes on where it was. In the end the counts and some searches are compared. What the
    embedded engine had stays until it is used again.

    \b
    vaultseek backend migrate --to milvus --uri ~/notes.db
    vaultseek backend migrate --to embedded
    """
    from vaultseek.cli.connect import connect

    file = invocation.config or paths.config_file()
    kept = paths.private_directory(paths.state_directory()) / "backend-migration.json"
    with connect(invocation) as client:
        samples = _kept(kept, target)
        if samples is None:
            samples = _samples(client, invocation)
            paths.write_atomically(kept, json.dumps({"to": target, "samples": samples}))
        _choose(file, target, uri)
    with connect(invocation) as client:
        state = _wait(client, invocation)
        same = sum(_results(client, invocation, query) == paths_ for query, paths_ in samples)
    if state.get("pending"):
        print(f"{count(state['pending'], 'text')} still to be copied; run the command again")
        return UNAVAILABLE
    kept.unlink(missing_ok=True)
    name, notes, passages = clean(state.get("name") or "vault"), state.get("notes"), state.get("chunks")
    print(f"{name}: {notes} notes and {passages} passages are in the engine {target}")
    print(f"{same} of {count(len(samples), 'search', 'searches')} give the same first {SHOWN} notes")
    return SUCCESS


def _choose(file: Path, target: str, uri: str | None) -> None:
    """Write the engine into the settings, after a look whether it can be used."""
    from vaultseek.index.backend.milvus_client import check_installed
    from vaultseek.settings.edit import set_key
    from vaultseek.settings.load import load

    index = load(file if file.exists() else None).index
    if target == "milvus":
        check_installed()
        chosen = index.model_copy(update={"backend": target, "uri": uri or index.uri})
        assert chosen.engine is not None
        chosen.engine.check()
        chosen.engine.token()
        if uri:
            set_key(file, "index", "uri", uri)
    set_key(file, "index", "backend", target)


def _kept(file: Path, target: str) -> list[tuple[str, list[str]]] | None:
    """Return the results of before, if a move to this engine was interrupted."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        value = paths.read_json(file)
        if value["to"] == target:
            return [(query, paths_) for query, paths_ in value["samples"]]
    return None


def _samples(client: Caller, invocation: Invocation) -> list[tuple[str, list[str]]]:
    """Search for the titles of some notes."""
    listed = client.call("search", invocation.params(query='path:""', limit=LISTED, brief=True))["results"]
    step = max(1, len(listed) // SAMPLE)
    titles = list(dict.fromkeys(str(each["title"]) for each in listed[::step]))[:SAMPLE]
    return [(title, _results(client, invocation, title)) for title in titles]


def _results(client: Caller, invocation: Invocation, query: str) -> list[str]:
    answer = client.call("search", invocation.params(query=query, limit=SHOWN, plain=True))
    return [each["path"] for each in answer["results"]]


def _wait(client: Caller, invocation: Invocation) -> JSON:
    from vaultseek.cli.progress import progress

    with progress(color=invocation.color) as show:
        state: JSON = client.call(
            "index/wait",
            invocation.params(progress=True, remember=True),
            timeout=None,
            on_notification=lambda method, params: show(params) if method == "index/progress" else None,
        )
    return state
