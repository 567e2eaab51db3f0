"""List of the models on this machine, from the files in their folders."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vaultseek.base import paths
from vaultseek.errors import ConfigError
from vaultseek.semantic.models.directories import bundled_directory, packaged_directories
from vaultseek.semantic.models.metadata import Kind, digest, dimension_of, kind_of, window_of
from vaultseek.semantic.models.packed import PACKED, PackedModel, verify_packed


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model on this machine, by its name in the settings. ``size`` is in bytes. ``window`` is the number of
    tokens that the model reads from a text."""

    name: str
    kind: Kind
    directory: Path
    size: int
    dimension: int | None
    window: int
    digest: str


def installed_models() -> Iterator[InstalledModel | ConfigError]:
    """Yield the bundled, packed, fetched and packaged models. For an unreadable model, yield the error,
    unless it is a packed model."""
    try:
        yield describe_model("bundled", bundled_directory())
    except ConfigError as error:
        yield error
    for model in PACKED.values():
        with suppress(ConfigError):  # the model need not be installed
            yield describe_packed(model)
    folder = paths.models_directory()
    fetched = sorted(folder.iterdir()) if folder.is_dir() else []
    for directory in [*fetched, *packaged_directories()]:
        if directory.is_dir() and not directory.name.startswith("."):
            try:
                yield describe_model(directory.name.replace("--", "/", 1), directory)
            except ConfigError as error:
                yield error


def describe_packed(model: PackedModel) -> InstalledModel:
    """Describe a packed model. Raises `ConfigError` if it is not installed or has a different digest."""
    file = verify_packed(model)
    size = file.stat().st_size
    return InstalledModel(
        model.name, "embedding", file.parent, size, model.dimension, model.window, model.sha256
    )


def describe_model(name: str, directory: Path) -> InstalledModel:
    """Describe the model in ``directory``. Raises `ConfigError` if it is not a model."""
    try:
        return InstalledModel(
            name,
            kind_of(directory),
            directory,
            sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()),
            dimension_of(directory),
            window_of(directory),
            digest(directory),
        )
    except OSError as error:
        raise ConfigError(
            f"model folder {directory} cannot be read ({error.strerror or error}); check its permissions"
        ) from None
