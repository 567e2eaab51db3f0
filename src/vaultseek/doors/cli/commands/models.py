"""``vaultseek models``: list, fetch and choose models."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vaultseek.base.model import JSON
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import json_option, local_options, shared_options
from vaultseek.doors.cli.output import print_error, print_result
from vaultseek.doors.cli.terminal import clean, size
from vaultseek.errors import ConfigError

if TYPE_CHECKING:
    from vaultseek.semantic.models.installed import InstalledModel
    from vaultseek.semantic.models.metadata import Kind
    from vaultseek.settings.model import Settings

_KEYS: dict[Kind, tuple[str, str]] = {"embedding": ("model", "name"), "reranker": ("search", "rerank_model")}
_DIGEST_CHARS = 16
_IN_USE = "in use"


@click.group()
@shared_options
def models() -> None:
    """List, fetch and choose models.

    Of these commands, only `models fetch` uses the network.

    \b
    vaultseek models list
    vaultseek models fetch sentence-transformers/all-mpnet-base-v2
    vaultseek models use sentence-transformers/all-mpnet-base-v2
    """


@models.command("list")
@json_option()
@local_options
def list_(invocation: Invocation) -> int:
    """Show the models on this machine.

    Shows each model's kind, vector dimension, window in tokens, size and digest, and which models are in use.

    \b
    vaultseek models list
    """
    from vaultseek.semantic.models.catalogue import SUGGESTED
    from vaultseek.semantic.models.installed import installed_models

    used = _used(_settings(invocation))
    entries: list[JSON] = []
    for model in installed_models():
        if isinstance(model, ConfigError):
            print_error(str(model))
        else:
            entries.append(_as_json(model, used))
    entries += _other_folders(used.keys() - {model["directory"] for model in entries}, used)
    installed_names = {model["name"] for model in entries}
    suggested = {name: text for name, text in SUGGESTED.items() if name not in installed_names}
    suggestions = [{"name": name, "description": text} for name, text in suggested.items()]
    lines = invocation.out.tabled([_HEADINGS, *map(_row, entries)], right=(2, 3, 4))
    if suggested:
        lines += ["", *invocation.out.wrapped("more models to try, with `vaultseek models fetch NAME`:")]
        lines += invocation.out.tabled_or_listed(list(suggested.items()), margin="  ")
    return print_result({"models": entries, "suggested": suggestions}, invocation, *lines)


@models.command()
@click.argument("name")
@click.option(
    "--accept-change", is_flag=True, help="Accept a model that differs from the one fetched before."
)
@json_option()
@local_options
def fetch(invocation: Invocation, name: str, accept_change: bool) -> int:
    """Download a model from the Hugging Face hub.

    NAME is a sentence-transformers model or a reranker. Only the request for the model's files is sent.
    Models that need to run their own code are refused. The digest is stored; from then on, a different model
    with the same name is refused.

    \b
    vaultseek models fetch sentence-transformers/all-mpnet-base-v2
    vaultseek models fetch cross-encoder/ms-marco-MiniLM-L-6-v2
    """
    from vaultseek.semantic.models.catalogue import PINNED
    from vaultseek.semantic.models.directories import has_bundled_package, is_bundled
    from vaultseek.semantic.models.fetch import fetch as download
    from vaultseek.semantic.models.packed import PACKED, verify_packed

    if name in PACKED:
        verify_packed(PACKED[name])
    if name in PACKED or (is_bundled(name) and has_bundled_package()):
        known = name if name in PACKED else "bundled"
        message = f"nothing to fetch: the {known} model came with the installation"
        return print_result({"name": known, "fetched": False}, invocation, message)
    with _bar(name, quiet=invocation.json, color=invocation.color) as update:
        model = download(name, update, pinned=PINNED, accept_change=accept_change)
    result = {"name": model.name, "fetched": True, "directory": str(model.directory)}
    remark = "unchanged" if model.known else "stored, to check later downloads"
    return print_result(
        {**result, "digest": model.digest, "commit": model.commit, "size": model.size},
        invocation,
        f"fetched {model.name} ({size(model.size)}) to {clean(model.directory)}",
        f"digest {model.digest} ({remark})",
        f"to use it: vaultseek models use {model.name}",
    )


@models.command()
@click.argument("model", metavar="NAME|DIR")
@json_option()
@local_options
def use(invocation: Invocation, model: str) -> None:
    """Switch to a different model.

    Sets model.name in the configuration file and leaves the rest of the file unchanged. The daemon then
    embeds every vault again in the background; until that is done, it uses the old vectors. A reranker is set
    as search.rerank_model and enabled. To go back, run `vaultseek models use bundled`.

    \b
    vaultseek models use sentence-transformers/all-mpnet-base-v2
    vaultseek models use ~/models/my-finetuned-model
    """
    from vaultseek.base import paths
    from vaultseek.semantic.models.directories import named_directory
    from vaultseek.settings.toml import set_key

    value, kind = _resolve(model)
    section, key = _KEYS[kind]
    settings = _settings(invocation)
    if kind == "embedding" and settings.model.url:
        raise ConfigError("model.url points to an embedding server; remove model.url from config.toml first")
    before = getattr(getattr(settings, section), key)
    file = invocation.config or paths.config_file()
    set_key(file, section, key, value)
    if kind == "reranker":
        set_key(file, section, "rerank_enabled", True)
    variable = f"VAULTSEEK_{section}__{key}".upper()
    overruled = variable if os.environ.get(variable) else None
    lines = [f'set {section}.{key} = "{clean(value)}" in {clean(file)}']
    if kind == "reranker" and not overruled:
        lines.append("the first results are reranked from now on; to stop, set search.rerank_enabled = false")
    elif not overruled and before not in (value, str(named_directory(value))):
        lines.append("restart the daemon to use it: `vaultseek stop`, then `vaultseek start`")
        lines.append("the daemon then embeds every vault again, and uses the old vectors until that is done")
    answer = {"key": f"{section}.{key}", "value": value, "file": str(file), "overruled_by": overruled}
    print_result(answer, invocation, *lines)
    if overruled and not invocation.json:
        print_error(f"the environment variable {overruled} overrides the file; unset it")


# -- the table of models

_HEADINGS = ["name", "kind", "dimension", "window", "size", "digest", ""]


def _as_json(model: InstalledModel, used: Mapping[str, str]) -> JSON:
    directory = str(model.directory)
    use = used.get(directory)
    return {**asdict(model), "directory": directory, "in_use": use is not None, "use": use}


def _row(model: JSON) -> list[str]:
    dimension = str(model["dimension"] or "")
    numbers = [dimension, str(model["window"]), size(model["size"]), model["digest"][:_DIGEST_CHARS]]
    return [clean(model["name"]), model["kind"], *numbers, model["use"] or ""]


def _other_folders(directories: set[str], used: Mapping[str, str]) -> Iterator[JSON]:
    from vaultseek.semantic.models.installed import describe_model

    for directory in sorted(directories):
        try:
            yield _as_json(describe_model(directory, Path(directory)), used)
        except ConfigError as error:
            print_error(error)


# -- models in the settings


def _settings(invocation: Invocation) -> Settings:
    from vaultseek.settings.load import examine

    settings, wrong = examine(invocation.config)
    for one in wrong:
        print_error(str(one))
    return settings


def _used(settings: Settings) -> dict[str, str]:
    """Return descriptions of how models are used, keyed by the model's folder; unused models are left out."""
    from vaultseek.semantic.models.catalogue import BUNDLED, find_directory
    from vaultseek.semantic.models.choice import AUTO, choose_models
    from vaultseek.semantic.models.service import SERVER

    uses = {}
    if not settings.model.url:
        uses[BUNDLED if settings.model.name == AUTO else settings.model.name] = _IN_USE
        other = choose_models(settings.model.name, settings.model.other_languages).second
        if other is not None:
            uses[other.name] = f"{_IN_USE} for other languages"
    if settings.search.rerank_enabled and settings.search.rerank_model != SERVER:
        uses[settings.search.rerank_model] = _IN_USE
    folders = {}
    for name, use in uses.items():
        try:
            directory = find_directory(name)
        except ConfigError as error:
            print_error(error)
            continue
        if directory is not None:
            folders[str(directory)] = use
    return folders


def _resolve(model: str) -> tuple[str, Kind]:
    """Return the value to set for a model's name or folder, and the kind of the model."""
    from vaultseek.semantic.models.catalogue import BUNDLED, find_directory
    from vaultseek.semantic.models.choice import AUTO
    from vaultseek.semantic.models.directories import bundled_directory, is_bundled, named_directory
    from vaultseek.semantic.models.packed import PACKED, verify_packed
    from vaultseek.semantic.models.safety import check_model, verify_bundled

    if model == AUTO:
        return AUTO, "embedding"
    if is_bundled(model):
        verify_bundled(bundled_directory())
        return BUNDLED, "embedding"
    if model in PACKED:
        verify_packed(PACKED[model])
        return model, "embedding"
    named = named_directory(model)
    folder = Path(os.path.abspath(os.path.expanduser(model)))
    if named is not None:
        return model, check_model(named)
    if folder.is_dir():
        return str(folder), check_model(folder)
    if find_directory(model) is None:
        return model, "embedding"
    raise ConfigError(
        f"model {model!r} is not on this machine; fetch it with `vaultseek models fetch {model}`"
    )


@contextmanager
def _bar(name: str, *, quiet: bool, color: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that updates a progress bar; without a terminal, the function does nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, no_color=not color, highlight=False)
    columns = (TextColumn(clean(name), markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task(name, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
