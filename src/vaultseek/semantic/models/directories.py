"""Folders of models on this machine. This module never downloads anything."""

import importlib.util
from pathlib import Path

from vaultseek.base import paths
from vaultseek.errors import ConfigError, advise

BUNDLED_NAME = "sentence-transformers/all-MiniLM-L6-v2"
BUNDLED_PACKAGE = "vaultseek_minilm"
"""Import name of the package with the bundled model; the package is part of vaultseek's wheel."""

PACKAGES = "vaultseek_models"
"""Namespace package of the wheels that ``scripts/pack_model`` writes. It has a folder for each model, named
like the folder of a fetched model. Beside each folder is a file with the model's digest."""

_BUNDLED_ALIASES = frozenset({"bundled", "all-MiniLM-L6-v2", BUNDLED_NAME})


def bundled_directory() -> Path:
    """Return the folder of the bundled model, without importing its package. If the package is missing but
    the same model was fetched, return the folder of the fetched model.

    Raises `ConfigError` if neither exists.
    """
    package = package_path(BUNDLED_PACKAGE, "model")
    if package is not None:
        return package
    fetched = fetched_directory(BUNDLED_NAME)
    if (fetched / "config.json").is_file():
        return fetched
    raise ConfigError("the bundled model is not installed; install vaultseek again")


def has_bundled_package() -> bool:
    """True if the package with the bundled model is installed."""
    return package_path(BUNDLED_PACKAGE, "model") is not None


def fetched_directory(name: str) -> Path:
    """Return the folder for the fetched model ``name``; it need not exist.

    Raises `ConfigError` if ``name`` is not a valid model name.
    """
    directory = paths.model_directory(name)
    if directory is None:
        raise ConfigError(f"{name!r} is not a model name; expected one like {BUNDLED_NAME}")
    return directory


def is_bundled(name: str) -> bool:
    """Return true if ``name`` is one of the bundled model's names."""
    return name in _BUNDLED_ALIASES


def model_directory(name: str) -> Path:
    """Return the folder of the model ``name``: the bundled model, a folder given by its absolute path, a
    fetched model, or a model from a package.

    Raises `ConfigError` if there is no such model.
    """
    if is_bundled(name):
        return bundled_directory()
    directory = Path(name).expanduser()
    if directory.is_absolute():
        if not (directory / "config.json").is_file():
            raise ConfigError(
                f"{directory} is not a model folder: it has no config.json; fetch the model again"
            )
        return directory
    fetched_directory(name)  # refuses an invalid name
    named = named_directory(name)
    if named is None or not (named / "config.json").is_file():
        raise ConfigError(f"model {name!r} is not on this machine; fetch it", advise("fetch", name))
    return named


def named_directory(name: str) -> Path | None:
    """Return the folder of a fetched model or of a model from a package; None if there is no such model."""
    fetched = paths.model_directory(name)
    if fetched is None or fetched.is_dir():
        return fetched
    return package_path(PACKAGES, fetched.name)


def packaged_directories() -> list[Path]:
    """Return the folders of the models from packages, sorted by name."""
    places = _package_places(PACKAGES)
    return sorted(
        folder for place in places if place.is_dir() for folder in place.iterdir() if folder.is_dir()
    )


def packaged_digest(directory: Path) -> str | None:
    """Return the digest that a package states for the model in ``directory``; None if the model is not from a
    package."""
    try:
        return directory.with_name(f"{directory.name}.digest").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None


def package_path(package: str, name: str) -> Path | None:
    """Return the path of the file or folder ``name`` in an installed package, without importing the package.
    Return None if the path or the package is missing."""
    return next(filter(Path.exists, (place / name for place in _package_places(package))), None)


def _package_places(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    return [Path(location) for location in (spec and spec.submodule_search_locations) or ()]
