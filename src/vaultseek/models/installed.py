"""The models on this machine, and what can be told of one from its folder without loading it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vaultseek import paths
from vaultseek.errors import ConfigError
from vaultseek.models import bundled

Kind = Literal["embedding", "reranker"]


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model as the settings would name it. ``size`` in bytes; ``window`` in tokens of a text."""

    name: str
    kind: Kind
    directory: Path
    size: int
    dimension: int | None
    window: int
    digest: str


def installed() -> Iterator[InstalledModel | ConfigError]:
    """The bundled model and those that were fetched; an error for each that cannot be read."""
    try:
        yield described("bundled", bundled.model_directory())
    except ConfigError as error:
        yield error
    folder = fetched_models()
    for directory in sorted(folder.iterdir()) if folder.is_dir() else ():
        if directory.is_dir() and not directory.name.startswith("."):
            try:
                yield described(directory.name.replace("--", "/", 1), directory)
            except ConfigError as error:
                yield error


def described(name: str, directory: Path) -> InstalledModel:
    """What is known of the model in ``directory``. Raises `ConfigError` if that is no model."""
    try:
        return InstalledModel(
            name,
            kind_of(directory),
            directory,
            sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()),
            dimension_of(directory),
            bundled.window_of(directory),
            bundled.digest(directory),
        )
    except OSError as error:
        raise ConfigError(
            f"model folder {directory} cannot be read ({error.strerror or error}); check its permissions"
        ) from None


def usable(directory: Path) -> Kind:
    """The kind of the model in ``directory``, after all that can be checked without loading it was right.

    Raises `ConfigError`, one line, for what is no model, could run code or lacks something.
    """
    if not (directory / "config.json").is_file():
        raise ConfigError(
            f"{directory} is not a sentence-transformers model: it has no config.json; fetch the model"
        )
    bundled.refuse_code(directory)
    if not (directory / "tokenizer.json").is_file():
        raise ConfigError(
            f"model folder {directory} has no tokenizer.json, which is needed to count tokens; fetch it again"
        )
    return kind_of(directory)


def kind_of(directory: Path) -> Kind:
    """Whether a model gives a score for a pair of texts, or a vector for one."""
    config = _table(directory / "config.json")
    names = config.get("architectures")
    named = [str(name) for name in names] if isinstance(names, list) else []
    return "reranker" if any(name.endswith("ForSequenceClassification") for name in named) else "embedding"


def dimension_of(directory: Path) -> int | None:
    """How many numbers a vector has; None for a reranker and where the folder does not say."""
    if kind_of(directory) == "reranker":
        return None
    dense = [_table(file).get("out_features") for file in sorted(directory.glob("*_Dense/config.json"))]
    pooled = [
        _table(file).get("word_embedding_dimension") for file in directory.glob("*_Pooling/config.json")
    ]
    hidden = [_table(directory / "config.json").get("hidden_size")]
    known = [number for number in (*reversed(dense), *pooled, *hidden) if isinstance(number, int)]
    return known[0] if known else None


def fetched_models() -> Path:
    """The folder of the models that were fetched; it need not exist."""
    return paths.data_directory() / "models"


def _table(file: Path) -> dict[str, object]:
    value = bundled.read_json(file)
    return value if isinstance(value, dict) else {}
