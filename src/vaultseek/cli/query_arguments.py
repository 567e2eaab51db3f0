"""Queries on the command line: excluded words that look like options, and settings of the shell."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import click

from vaultseek.errors import UsageError

_SETTINGS_PREFIX = "VAULTSEEK_SEARCH__"
# -draft, -tag:old, -"a phrase": an excluded word, but not the options -h and -n 5
_EXCLUSION = re.compile(r"-(?!-|h$|n\d*$).+", re.DOTALL)
_OPTIONS_WITH_NUMBER = ("-n", "--limit")
_ESCAPE = "\0"  # cannot occur in an argument of a process


class QueryCommand(click.Command):
    """Command that takes ``-word`` as a part of the query, not as an unknown option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse with every excluded word escaped; ``unescaped`` gives the words back."""
        previous = ("", *args)  # -5 after --limit is a wrong number, not an excluded word
        escaped = [
            _ESCAPE + arg if _EXCLUSION.fullmatch(arg) and option not in _OPTIONS_WITH_NUMBER else arg
            for option, arg in zip(previous, args, strict=False)
        ]
        return super().parse_args(ctx, escaped)


def unescaped(text: str) -> str:
    """Return an argument of a ``QueryCommand`` as the user typed it."""
    return text.removeprefix(_ESCAPE)


def environment_settings() -> dict[str, str]:
    """Return the search settings of this shell's environment, which may differ from the daemon's."""
    settings = {}
    for variable, value in os.environ.items():
        if variable.upper().startswith(_SETTINGS_PREFIX) and value:
            settings[variable[len(_SETTINGS_PREFIX) :].lower().replace("__", ".")] = value
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
