"""Search settings in the environment of the shell, which travel with each request."""

from __future__ import annotations

import os
from contextlib import contextmanager

from vaultseek.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = "VAULTSEEK_SEARCH__"


def environment_settings() -> dict[str, str]:
    """Return the search settings of this shell's environment, which may differ from the daemon's."""
    settings = {}
    for variable, value in os.environ.items():
        if variable.upper().startswith(_PREFIX) and value:
            settings[variable[len(_PREFIX) :].lower().replace("__", ".")] = value
    return settings


@contextmanager
def naming_the_variable(settings: dict[str, str]) -> Iterator[None]:
    """Replace the daemon's error about one of ``settings`` by one that names the environment variable."""
    try:
        yield
    except UsageError:
        if settings:
            from vaultseek.settings.load import check_environment

            check_environment()
        raise
