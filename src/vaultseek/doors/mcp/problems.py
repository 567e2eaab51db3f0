"""Errors and reasons as an agent reads them: one line, no commands of a shell, which it cannot run."""

from __future__ import annotations

import re

from pydantic import ValidationError

from vaultseek.doors.mcp.reply import line
from vaultseek.errors import NotRunning, VaultseekError

_NOT_RUNNING = "vaultseek is not running on this computer; the user has to start it"
_OF_A_SHELL = re.compile(r"`vaultseek |\bvaultseek (?:vault|models|config|service) |(?<!\S)--[a-z]")
"""Signs that a clause is about the command line."""
_CLAUSE = re.compile(r"(; |\. (?=[A-Z])|, or )")
_REWORDED = (
    (re.compile(r"use --vault NAME \(known: ([^)]*)\)"), r"give vault one of: \1"),
    (re.compile("use --vault DIR, run this inside a vault"), "none is known; the user has to add one"),
)


def one_line(error: VaultseekError) -> str:
    """Return the message of an error of the daemon."""
    return _NOT_RUNNING if isinstance(error, NotRunning) else without_commands(str(error))


def without_commands(text: str) -> str:
    """Return a message without the clauses that advise a command of the shell, on one line."""
    text = line(text)
    for pattern, words in _REWORDED:
        text = pattern.sub(words, text)
    first, *rest = _CLAUSE.split(text)
    parts = [first]
    for separator, clause in zip(rest[::2], rest[1::2], strict=True):
        if not _OF_A_SHELL.search(clause):
            parts += [separator, clause]
    return "".join(parts)


def wrong_argument(error: ValidationError) -> str:
    """Return what is wrong with the first wrong argument of a tool."""
    first, *others = error.errors(include_url=False, include_context=False, include_input=False)
    name = str(first["loc"][0]) if first["loc"] else "the arguments"
    # One argument of several types has a problem for each; the last is that of the longest type.
    own = [each for each in (first, *others) if each["loc"][:1] == first["loc"][:1]]
    return f"{name}: {line(own[-1]['msg'])}"
