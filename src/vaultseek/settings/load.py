"""Loading of the settings. An environment variable overrides the file, and a request overrides both.

``VAULTSEEK_SEARCH__LIMIT=5`` sets ``limit`` in ``[search]``; lists are JSON. An invalid setting becomes a
one-line ``ConfigError`` with the file or variable, the key, and the expected and actual values. ``examine``
returns all problems together with the usable settings.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from vaultseek.base import paths
from vaultseek.base.text import printable
from vaultseek.errors import ConfigError, UsageError
from vaultseek.settings import describe, toml
from vaultseek.settings.describe import Location, dotted_key
from vaultseek.settings.environment import ENV_DELIMITER, ENV_PREFIX, environment, merge
from vaultseek.settings.model import SavedSearches, Settings, VaultSettings
from vaultseek.settings.resolve import Origin, SettingProblem, resolve_paths
from vaultseek.settings.search import SearchSettings


def load(path: Path | None = None) -> Settings:
    """Read the settings from ``path``, or from the default file if it exists.

    Vault and model paths are returned absolute and resolved; relative paths start at the file's folder. A
    missing model is not an error here: semantic search reports it.

    Raises: ConfigError: one line with the file or variable, the key, and the expected and actual values.
    """
    settings, problems = examine(path)
    _raise_first([problem for problem in problems if problem.fatal])
    return settings


def examine(path: Path | None = None) -> tuple[Settings, tuple[SettingProblem, ...]]:
    """Return the usable settings, with defaults in place of invalid values, and every problem.

    Raises:
        ConfigError: the file cannot be read or is not TOML.
    """
    file = _absolute(path)
    data = toml.read(file, required=path is not None)
    origin = Origin(file)
    problems = _unknown_variables()
    for name in data.keys() - Settings.model_fields:
        problems.append(
            SettingProblem(str(file), (name,), describe.unknown_name(name, Settings.model_fields))
        )
    for name, other in describe.named_twice(data.get("search"), SearchSettings):
        problems.append(SettingProblem(str(file), ("search", name), _also(other)))
    values = {name: value for name, value in data.items() if name in Settings.model_fields}
    for name, value in environment().items():
        merge(values, [name], value)
    try:
        settings = Settings.model_validate(values)
        vaults = list(enumerate(settings.vaults))
    except ValidationError as error:
        problems += _invalid(error, origin)
        settings, vaults = _valid_parts(values)
    resolved, unresolved = resolve_paths(settings, vaults, origin)
    return resolved, (*problems, *unresolved)


def sources(path: Path | None = None) -> Callable[[Location], str]:
    """Return a function that maps a setting's location to its source: the name of an environment variable,
    ``file`` or ``default``. Raises ConfigError if the file cannot be read."""
    file = _absolute(path)
    origin = Origin(file)
    data = toml.read(file, required=path is not None)

    def source(location: Location) -> str:
        value: Any = data
        for part in location:
            if not isinstance(value, Mapping) or part not in value:
                return origin.variable(location) or "default"
            value = value[part]
        return origin.variable(location) or "file"

    return source


def check_environment() -> None:
    """Raise ConfigError if an environment variable has a value that its setting does not allow."""
    problems = [problem for problem in _unknown_variables() if problem.fatal]
    try:
        Settings.model_validate(environment())
    except ValidationError as error:
        problems += _invalid(error, Origin(paths.config_file()))
    _raise_first(problems)


def with_overrides(base: SearchSettings, overrides: Mapping[str, Any]) -> SearchSettings:
    """Return ``base`` with the settings of one request applied.

    ``overrides`` maps dotted keys of ``[search]`` (``"recency.enabled"``) or nested tables to values. Text is
    converted as in the environment.

    Raises: UsageError: one line with the key, and the expected and actual values.
    """
    if not overrides:
        return base
    for name, other in describe.named_twice(overrides, SearchSettings):
        raise UsageError(f"setting {name}: {_also(other)}")
    values = base.model_dump(exclude_unset=True)
    for key, value in overrides.items():
        merge(values, str(key).lower().split("."), value)
    try:
        return SearchSettings.model_validate(describe.coerce(values, SearchSettings))
    except ValidationError as error:
        location, message = describe.first_problem(error, SearchSettings)
        raise UsageError(f"setting {dotted_key(location)}: {message}") from None


def _absolute(path: Path | None) -> Path:
    return Path(os.path.abspath(path or paths.config_file()))  # noqa: PTH100 - keeps links


def _raise_first(problems: list[SettingProblem]) -> None:
    if problems:
        raise ConfigError(f"{problems[0]}{describe.and_more(len(problems) - 1)}")


def _invalid(error: ValidationError, origin: Origin) -> list[SettingProblem]:
    return [origin.problem(*problem) for problem in describe.problems(error, Settings)]


def _also(other: str) -> str:
    return f"{other} is another name for this setting and is also set; remove one of them"


def _unknown_variables() -> list[SettingProblem]:
    problems = []
    keys = [key.upper() for key, _ in describe.keys(Settings) if "." in key]
    mistaken = {key.replace(".", "_"): ENV_PREFIX + key.replace(".", ENV_DELIMITER) for key in keys}
    for variable in sorted(os.environ):
        if not variable.upper().startswith(ENV_PREFIX):
            continue
        name = variable.upper().removeprefix(ENV_PREFIX)
        section, nested, _ = name.partition(ENV_DELIMITER)
        source = f"environment variable {printable(variable)}"
        if nested and section.lower() not in Settings.model_fields:
            message = f"unknown section, expected one of {', '.join(Settings.model_fields)}"
            problems.append(SettingProblem(source, (), message))
        elif name in mistaken:
            message = f"not a setting; did you mean {mistaken[name]}?"
            problems.append(SettingProblem(source, (), message, fatal=False))
    return problems


def _valid_parts(values: Mapping[str, Any]) -> tuple[Settings, list[tuple[int, VaultSettings]]]:
    """Return the sections that are valid on their own, and the valid vaults with their positions."""
    sections: dict[str, Any] = {}
    for name, field in Settings.model_fields.items():
        section = describe.section_of(field.annotation)
        if name in values and section is not None and not describe.is_list(field.annotation):
            with suppress(ValidationError):
                sections[name] = section.model_validate(values[name])
    with suppress(ValidationError):
        sections["searches"] = TypeAdapter(SavedSearches).validate_python(values.get("searches", {}))
    vaults = []
    for number, entry in enumerate(values.get("vaults") or ()):
        with suppress(ValidationError):
            vaults.append((number, VaultSettings.model_validate(entry)))
    return Settings.model_construct(**sections), vaults
