"""Additions by other packages: commands, settings, parts of the daemon and checks.

Each installed package in ``PACKAGES`` has a table ``ADDS``. For each extension point (``port``), the table
maps the names of the package's additions to ``module:attribute``. An addition is imported when it is first
used, so listing it costs nothing at start-up.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

PACKAGES = ("vaultseek_server",)
"""Packages that may contain additions, listed here because searching all installed packages takes a tenth of
a second."""


def names(port: str) -> Mapping[str, str]:
    """Return a dict from the name of each addition to its ``module:attribute``, without importing any."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        try:
            found |= import_module(package).ADDS.get(port, {})
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
    return found


def load(port: str) -> dict[str, Any]:
    """Import all additions to an extension point; return a dict from name to object."""
    return {name: imported(place) for name, place in names(port).items()}


def imported(place: str) -> Any:
    """Import and return the object that ``module:attribute`` refers to."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
