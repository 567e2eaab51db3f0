"""Settings in environment variables: ``VAULTSEEK_SEARCH__LIMIT`` is ``limit`` in ``[search]``."""

import os
from collections.abc import Mapping
from typing import Any

from vaultseek.settings import describe
from vaultseek.settings.model import Settings

ENV_PREFIX = "VAULTSEEK_"
ENV_DELIMITER = "__"


def environment() -> dict[str, Any]:
    """Return the settings from environment variables, each converted to the type of its key if possible.

    A section can be a single variable in JSON; variables for its keys take precedence. Empty variables are
    ignored.
    """
    variables = {name.lower(): value for name, value in os.environ.items() if value}
    values: dict[str, Any] = {}
    for name in Settings.model_fields:
        own = f"{ENV_PREFIX}{name}".lower()
        if own in variables:
            values[name] = describe.from_json(variables[own])
        for variable, value in variables.items():
            if variable.startswith(own + ENV_DELIMITER):
                merge(values, [name, *variable.removeprefix(own + ENV_DELIMITER).split(ENV_DELIMITER)], value)
    coerced: dict[str, Any] = describe.coerce(values, Settings)
    return coerced


def merge(values: dict[str, Any], key: list[str], value: Any) -> None:
    """Set ``key``, a list of nested names, in ``values``. If ``value`` is a table, it is merged into an
    existing table."""
    *tables, last = key
    for name in tables:
        inner = values.get(name)
        values[name] = values = dict(inner) if isinstance(inner, dict) else {}
    if isinstance(value, Mapping):
        for name, nested in value.items():
            merge(values, [last, str(name)], nested)
    else:
        values[last] = value
