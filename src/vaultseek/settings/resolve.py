"""Resolution of settings: find their sources and paths, and check server settings for unusable values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vaultseek.base import limits, paths
from vaultseek.base.text import printable
from vaultseek.errors import ConfigError
from vaultseek.semantic.models.catalogue import BUNDLED, HASHING
from vaultseek.semantic.models.choice import AUTO, OFF
from vaultseek.semantic.models.directories import named_directory
from vaultseek.semantic.models.packed import MULTILINGUAL, PACKED
from vaultseek.semantic.models.service import Service
from vaultseek.settings.describe import Location, dotted_key, quote_value
from vaultseek.settings.environment import ENV_DELIMITER, ENV_PREFIX, environment
from vaultseek.settings.model import Settings, VaultSettings
from vaultseek.settings.sections import Section, ServerSettings


def resolve_paths(
    settings: Settings, vaults: list[tuple[int, VaultSettings]], origin: Origin
) -> tuple[Settings, list[SettingProblem]]:
    """Return the settings with absolute, resolved paths, and the problems found; unusable folders are left
    out.

    ``vaults`` pairs each vault with its position in the configuration.
    """
    problems: list[SettingProblem] = []
    resolved: list[VaultSettings] = []
    for number, vault in vaults:
        try:
            folder, unmounted = _vault_folder(vault, number, origin)
            if unmounted is not None:
                problems.append(unmounted)
            vault = vault.model_copy(update={"path": folder})
            _refuse_duplicate(vault, number, resolved, vaults, origin)
            resolved.append(vault)
        except _Unusable as error:
            problems.append(error.problem)
    names: dict[str, str] = {}
    for key in () if settings.model.url else ("name", "other_languages"):
        name = getattr(settings.model, key)
        try:
            names[key] = _model_name(name, key, origin)
        except _Unusable as error:
            missing = _missing_model(name, origin)
            problems.append(replace(error.problem, fatal=missing is None))
            if missing:
                names[key] = missing
    resolved_sections = {
        "model": settings.model.model_copy(update={**names, **_key_file(settings.model, origin)}),
        "reranker": settings.reranker.model_copy(update=_key_file(settings.reranker, origin)),
    }
    return settings.model_copy(update={"vaults": tuple(resolved), **resolved_sections}), problems


def _key_file(server: ServerSettings, origin: Origin) -> dict[str, str]:
    """Return the server's ``key_file`` as an absolute path; a relative path starts at the configuration's
    folder."""
    if not server.key_file:
        return {}
    with suppress(RuntimeError):  # an unknown user in ~user; the path is left unchanged and cannot be read
        return {"key_file": str(origin.file.parent / Path(server.key_file).expanduser())}
    return {}


class _Unusable(Exception):
    def __init__(self, problem: SettingProblem) -> None:
        self.problem = problem


class _Missing(_Unusable):
    """Raised for a missing folder if nothing else exists at its path."""

    def __init__(self, problem: SettingProblem, folder: Path) -> None:
        super().__init__(problem)
        self.folder = folder


def _vault_folder(vault: VaultSettings, number: int, origin: Origin) -> tuple[Path, SettingProblem | None]:
    """Return the folder of a vault. A missing folder, which may be mounted later, is also returned, with a
    problem."""
    key: Location = ("vaults", number, "path")
    missing: SettingProblem | None = None
    try:
        root = _folder(vault.path, key, origin, "an existing folder")
    except _Missing as error:
        root, missing = error.folder, replace(error.problem, fatal=False)
    home = Path(os.path.realpath(Path.home()))
    if home.is_relative_to(root):
        kind = "the whole disk" if root == root.parent else "the home directory or a folder above it"
        raise _Unusable(origin.problem(key, f"expected a folder of notes, found {kind}: {quote_value(root)}"))
    if (reason := paths.unsuitable_vault_reason(root)) is not None:
        raise _Unusable(origin.problem(key, f"expected a folder of notes; {quote_value(root)} {reason}"))
    return root, missing


def _refuse_duplicate(
    vault: VaultSettings,
    number: int,
    earlier: list[VaultSettings],
    vaults: list[tuple[int, VaultSettings]],
    origin: Origin,
) -> None:
    numbers = {other.name: position for position, other in reversed(vaults)}
    for other in earlier:
        key = f"vaults[{numbers[other.name]}]"
        if vault.name.casefold() == other.name.casefold():
            message = f"expected a unique name, found {quote_value(vault.name)} again ({key})"
            raise _Unusable(origin.problem(("vaults", number, "name"), message))
        if vault.path == other.path:
            message = f"expected a folder that {key} does not use, found {quote_value(vault.path)}"
            raise _Unusable(origin.problem(("vaults", number, "path"), message))


def _model_name(name: str, key: str, origin: Origin) -> str:
    """Return the name of an installed model or stand-in unchanged, and any other name as an absolute path."""
    choices = {AUTO, OFF} if key == "other_languages" else {AUTO}
    if name in {BUNDLED, *PACKED, *choices} or name.partition("-")[0] == HASHING:
        return name
    if (directory := named_directory(name)) is not None:
        return str(directory)
    expected = f'"{AUTO}", "{BUNDLED}", "{MULTILINGUAL.name}", a fetched model or its folder'
    return str(_folder(Path(name), ("model", key), origin, expected))


def _missing_model(name: str, origin: Origin) -> str | None:
    """Return the name or folder of a model that may be added later; only semantic search requires it."""
    if paths.model_directory(name) is not None:
        return name
    try:
        return os.path.realpath(origin.file.parent / Path(name).expanduser())
    except (OSError, RuntimeError, ValueError):
        return None


def _folder(path: Path, key: Location, origin: Origin, expected: str) -> Path:
    full, root = path, None
    try:
        full = origin.file.parent / path.expanduser()
        root = Path(os.path.realpath(full))
        if paths.is_folder(root):
            return root
    except (OSError, RuntimeError, ValueError):  # unknown user in ~user, a NUL, a name too long
        full, root = path, None
    actual = f"a file: {quote_value(full)}" if _exists(full) else f"no folder at {quote_value(full)}"
    problem = origin.problem(key, f"expected {expected}, found {actual}")
    raise _Unusable(problem) if root is None or _exists(full) else _Missing(problem, root)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def access_problems(settings: Settings, origin: Origin) -> list[SettingProblem]:
    """Return a problem for each setting that cannot be used to reach a server."""
    found: list[tuple[Location, str]] = []
    for name, section in settings:
        if isinstance(section, Section):
            found += [((name, key), message) for key, message in section.unusable()]
    for name, section in (("model", settings.model), ("reranker", settings.reranker)):
        found += [((name, *key), message) for key, message in _of_server(section)]
    return [replace(origin.problem(key, message), fatal=False) for key, message in found]


def _of_server(server: ServerSettings) -> Iterator[tuple[Location, str]]:
    if server.url and (fault := Service(server.url).fault) is not None:
        yield ("url",), fault
    if server.key_file and (message := _message(Service("", key_file=server.key_file).key)) is not None:
        yield ("key_file",), message.removeprefix("key_file: ")
    if server.key_file and server.key_variable:
        yield ("key_variable",), "key_file is also set; remove one of them"


def _message(check: Callable[[], object]) -> str | None:
    try:
        check()
    except ConfigError as error:
        return str(error)
    return None


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """An unusable setting: its source, its key, and the expected and actual values."""

    source: str
    """The file, or ``environment variable NAME``."""
    location: Location
    message: str
    fatal: bool = True
    """False if the daemon can still run, with the affected part disabled."""

    def __str__(self) -> str:
        key = f"{dotted_key(self.location)}: " if self.location else ""
        return f"{printable(self.source, limits.PATH_BYTES)}: {key}{self.message}"


class Origin:
    """The sources of the settings: the file and the environment variables that override it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._environment = environment()

    def problem(self, location: Location, message: str) -> SettingProblem:
        """Return a problem with the setting at ``location``, naming the source that set it."""
        variable = self.variable(location)
        source = f"environment variable {variable}" if variable else str(self.file)
        return SettingProblem(source, location, message)

    def variable(self, location: Location) -> str | None:
        """Return the name of the environment variable that sets ``location``; None if no variable does."""
        values: Any = self._environment
        for part in location:
            if not isinstance(values, dict):
                break
            if part not in values:
                return None
            values = values[part]
        names = {name.upper(): name for name in os.environ}
        for end in range(len(location), 0, -1):
            name = ENV_PREFIX + ENV_DELIMITER.join(str(part).upper() for part in location[:end])
            if name in names:
                return names[name]
        return None
