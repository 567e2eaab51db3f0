"""``vaultseek models``: which models are here, one more, and another one in use."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vaultseek.cli import FOUND, complain
from vaultseek.cli.asking import HELP
from vaultseek.cli.invocation import JSON, Invocation, as_json, pass_invocation, shared_options
from vaultseek.cli.terminal import clean, size
from vaultseek.errors import ConfigError

if TYPE_CHECKING:
    from vaultseek.models.installed import InstalledModel, Kind
    from vaultseek.settings.model import Settings

_KEYS: dict[Kind, tuple[str, str]] = {"embedding": ("model", "name"), "reranker": ("search", "rerank_model")}
_DIGEST_CHARS = 16


@click.group(context_settings=HELP)
@shared_options
def models() -> None:
    """List, fetch and choose models.

    `models fetch` is the only command that ever uses the network.

    \b
    vaultseek models list
    vaultseek models fetch sentence-transformers/all-mpnet-base-v2
    vaultseek models use sentence-transformers/all-mpnet-base-v2
    """


@models.command("list", context_settings=HELP)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@shared_options
@pass_invocation
def list_(invocation: Invocation, json_: bool) -> int:
    """Show the models on this machine.

    Kind, numbers a vector, tokens of a text that are read, size, digest, and which one is in use.

    \b
    vaultseek models list
    """
    from vaultseek.models.catalogue import SUGGESTED
    from vaultseek.models.installed import installed

    used = _used(_settings(invocation))
    found: list[JSON] = []
    for model in installed():
        if isinstance(model, ConfigError):
            complain(str(model))
        else:
            found.append(_told(model, used))
    found += _elsewhere(used - {model["directory"] for model in found}, used)
    here = {model["name"] for model in found}
    more = {name: why for name, why in SUGGESTED.items() if name not in here}
    if json_:
        as_json({"models": found, "suggested": [{"name": n, "description": w} for n, w in more.items()]})
        return FOUND
    lines = invocation.out.tabled([_HEADINGS, *map(_row, found)], right=(2, 3, 4))
    if more:
        lines += ["", *invocation.out.wrapped("not here, but worth a try (`vaultseek models fetch NAME`):")]
        lines += invocation.out.tabled_or_listed([[name, why] for name, why in more.items()], margin="  ")
    print("\n".join(lines))
    return FOUND


@models.command(context_settings=HELP)
@click.argument("name")
@click.option("--accept-change", is_flag=True, help="Take it although it is not what was fetched before.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@shared_options
@pass_invocation
def fetch(invocation: Invocation, name: str, accept_change: bool, json_: bool) -> int:
    """Bring a model from the Hugging Face hub to this machine.

    NAME is that of a sentence-transformers model or a reranker. Nothing but the request for its files goes
    out. Only data is taken: a model that would have to run code of its own is refused. Its digest is
    remembered, and another model under the same name is refused from then on.

    \b
    vaultseek models fetch sentence-transformers/all-mpnet-base-v2
    vaultseek models fetch cross-encoder/ms-marco-MiniLM-L-6-v2
    """
    from vaultseek.models import bundled
    from vaultseek.models.catalogue import PINNED
    from vaultseek.models.fetch import fetch as bring

    if bundled.is_bundled(name) and bundled.comes_as_package():
        if json_:
            as_json({"name": "bundled", "fetched": False})
        else:
            print("this is the bundled model, which came with the installation; there is nothing to fetch")
        return FOUND
    with _bar(name, quiet=json_, color=invocation.color) as show:
        fetched = bring(name, show, pinned=PINNED, accept_change=accept_change)
    if json_:
        told = {"name": fetched.name, "fetched": True, "directory": str(fetched.directory)}
        as_json({**told, "digest": fetched.digest, "commit": fetched.commit, "size": fetched.size})
        return FOUND
    print(f"fetched {fetched.name} ({size(fetched.size)}) to {clean(fetched.directory)}")
    remark = "as known" if fetched.known else "remembered from now on"
    print(f"digest {fetched.digest} ({remark})")
    print(f"`vaultseek models use {fetched.name}` takes it into use")
    return FOUND


@models.command(context_settings=HELP)
@click.argument("model", metavar="NAME|FOLDER")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@shared_options
@pass_invocation
def use(invocation: Invocation, model: str, json_: bool) -> int:
    """Take another model into use.

    Writes model.name into the configuration file and leaves the rest of it as it is. Every vault is then
    embedded anew, in the background; until one is done, its old vectors answer. `vaultseek models use
    bundled` goes back. A reranker is written as search.rerank_model and switched on.

    \b
    vaultseek models use sentence-transformers/all-mpnet-base-v2
    vaultseek models use ~/models/my-finetuned-model
    """
    from vaultseek import paths
    from vaultseek.settings.edit import set_key

    value, kind = _chosen(model)
    section, key = _KEYS[kind]
    before = getattr(getattr(_settings(invocation), section), key)
    file = invocation.config or paths.config_file()
    set_key(file, section, key, value)
    if kind == "reranker":
        set_key(file, section, "rerank_enabled", True)
    variable = f"VAULTSEEK_{section}__{key}".upper()
    overruled = variable if os.environ.get(variable) else None
    if json_:
        as_json({"key": f"{section}.{key}", "value": value, "file": str(file), "overruled_by": overruled})
        return FOUND
    print(f'{section}.{key} = "{clean(value)}" is written to {clean(file)}')
    if overruled:
        complain(f"the environment variable {overruled} goes before it; unset that")
    elif kind == "reranker":
        print("the first results are read again from now on; `rerank_enabled = false` ends that")
    elif not _same(before, value):
        print("the daemon takes it at its next start: `vaultseek stop`, then `vaultseek start`")
        print("every vault is then embedded anew; until one is done, its old vectors answer")
    return FOUND


# What is shown of a model

_HEADINGS = ["name", "kind", "dimension", "window", "size", "digest", ""]


def _told(model: InstalledModel, used: set[str]) -> JSON:
    return {
        "name": model.name,
        "kind": model.kind,
        "directory": str(model.directory),
        "size": model.size,
        "dimension": model.dimension,
        "window": model.window,
        "digest": model.digest,
        "in_use": str(model.directory) in used,
    }


def _row(model: JSON) -> list[str]:
    dimension = str(model["dimension"] or "")
    numbers = [dimension, str(model["window"]), size(model["size"]), model["digest"][:_DIGEST_CHARS]]
    return [clean(model["name"]), model["kind"], *numbers, "in use" if model["in_use"] else ""]


def _elsewhere(directories: set[str], used: set[str]) -> Iterator[JSON]:
    """Models in use that lie in folders of the user's."""
    from vaultseek.models.installed import described

    for directory in sorted(directories):
        try:
            yield _told(described(directory, Path(directory)), used)
        except ConfigError as error:
            complain(str(error))


# What the settings say


def _settings(invocation: Invocation) -> Settings:
    from vaultseek.settings.load import examine

    settings, wrong = examine(invocation.config)
    for one in wrong:
        complain(str(one))
    return settings


def _used(settings: Settings) -> set[str]:
    """The folders of the models in use."""
    from vaultseek.models.catalogue import find_directory

    names = [settings.model.name]
    if settings.search.rerank_enabled:
        names.append(settings.search.rerank_model)
    found = set()
    for name in names:
        try:
            directory = find_directory(name)
        except ConfigError as error:
            complain(str(error))
            continue
        if directory is not None:
            found.add(str(directory))
    return found


def _chosen(given: str) -> tuple[str, Kind]:
    """What to write into the settings for a name or folder, and what kind of model it is."""
    from vaultseek import paths
    from vaultseek.models import bundled
    from vaultseek.models.catalogue import BUNDLED, find_directory
    from vaultseek.models.installed import usable

    if bundled.is_bundled(given):
        bundled.verify(bundled.model_directory())
        return BUNDLED, "embedding"
    fetched = paths.fetched_model(given)
    folder = Path(os.path.abspath(os.path.expanduser(given)))  # noqa: PTH100, PTH111
    if fetched is not None and fetched.is_dir():
        return given, usable(fetched)
    if folder.is_dir():
        return str(folder), usable(folder)
    if find_directory(given) is None:
        return given, "embedding"
    raise ConfigError(f"model {given!r} is not on this machine; run `vaultseek models fetch {given}`")


def _same(before: str | None, value: str) -> bool:
    from vaultseek import paths

    return before in (value, str(paths.fetched_model(value)))


@contextmanager
def _bar(name: str, *, quiet: bool, color: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; anywhere else the lines at the end are all there is."""
    if quiet or not sys.stderr.isatty():
        yield lambda here, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, no_color=not color, highlight=False)
    columns = (TextColumn(clean(name), markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task(name, total=None)
        yield lambda here, total: bars.update(task, completed=here, total=total)
