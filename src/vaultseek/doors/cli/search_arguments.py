"""The arguments of ``vaultseek search``, read without click, whose import takes longer than a search.

The common arguments are read as click reads them. For everything else (help, another configuration,
mistakes) there is no answer here, and click reads them.
"""

from __future__ import annotations

import os
import re

from vaultseek.base import limits
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.search_call import SearchCall

MODES = ("hybrid", "keyword", "semantic")
FILTERS = (
    ("--tag", "TAG", "Only notes with this tag or a tag nested under it."),
    ("--not-tag", "TAG", "Only notes without this tag."),
    ("--path", "TEXT", "Only notes whose path contains TEXT; FOLDER/ means that folder."),
    ("--not-path", "TEXT", "Only notes whose path does not contain TEXT."),
    ("--property", "NAME=VALUE", "Only notes with this property; also <, <=, >, >= and =null."),
    ("--has-property", "NAME", "Only notes that have the property NAME."),
    ("--created-after", "DATE", "From this date on: 2026-01-31, 2026-01, 7d, 'last week'."),
    ("--created-before", "DATE", "Before this date."),
    ("--modified-after", "DATE", "From this date on."),
    ("--modified-before", "DATE", "Before this date."),
    ("--links-to", "NOTE", "Only notes that link to NOTE."),
    ("--linked-from", "NOTE", "Only notes that NOTE links to."),
    ("--phrase", "TEXT", "Only notes with exactly these words."),
    ("--exclude", "TEXT", "Only notes without this word or phrase."),
)
"""Options that filter, each with its metavariable and its help. All may be repeated."""

FORMATS = ("text", "json", "paths", "vimgrep")
FLAGS = {
    "--json": "json",
    "--paths": "paths",
    "--open": "open",
    "--explain": "explain",
    "--wait": "wait",
    "--all-vaults": "all_vaults",
}
"""Flags of ``search``: the attribute of the call that each sets."""
SHARED_FLAGS = {
    "--no-start": ("autostart", False),
    "--no-color": ("color", False),
    "--pager": ("pager", True),
    "--no-pager": ("pager", False),
}
"""Flags of every command that calls the daemon: the attribute of the invocation and its value."""
# -draft, -tag:old, -"a phrase": an excluded word, but not the options -h and -n 5
_EXCLUSION = re.compile(r"-(?!-|h$|n\d*$).+", re.DOTALL)
LIMIT = ("-n", "--limit")


def is_excluded_word(argument: str, *, after: str) -> bool:
    """True if an argument that stands ``after`` another is ``-word``, a part of the query."""
    # -5 after --limit is a wrong number, not an excluded word.
    return _EXCLUSION.fullmatch(argument) is not None and after not in LIMIT


def read_arguments(arguments: list[str]) -> tuple[SearchCall, Invocation] | None:
    """Return the call that the arguments after ``search`` mean; None if click has to read them."""
    reader = _SearchReader(arguments)
    return (reader.call, reader.invocation) if reader.read() else None


class Reader:
    """Reads arguments of a command from the left: words, and options of every command."""

    def __init__(self, arguments: list[str]) -> None:
        self.invocation = Invocation()
        self.words: list[str] = []
        self._rest = list(reversed(arguments))
        self._previous = ""

    def read(self) -> bool:
        """Read all arguments. False at the first that is not known here, or if a configuration is chosen."""
        if os.environ.get("VAULTSEEK_CONFIG"):
            return False
        while self._rest:
            argument, after = self._pop()
            if argument == "--":
                self.words += reversed(self._rest)
                break
            if argument in ("", "-") or not argument.startswith("-") or self.is_word(argument, after):
                self.words.append(argument)
            elif not (self.set_flag(argument) or self._option(argument)):
                return False
        return True

    def is_word(self, argument: str, after: str) -> bool:
        """True if an argument that begins with ``-`` is a word all the same."""
        return False

    def set_flag(self, name: str) -> bool:
        """Set the flag ``name``. False if it is not known."""
        if name in SHARED_FLAGS:
            setattr(self.invocation, *SHARED_FLAGS[name])
        return name in SHARED_FLAGS

    def set_option(self, name: str, value: str) -> bool:
        """Set an option to a value. False if one of them is not known."""
        if name == "--vault":
            self.invocation.vault = value
        return name == "--vault"

    def _pop(self) -> tuple[str, str]:
        """Return the next argument and the one before it."""
        before, self._previous = self._previous, self._rest.pop()
        return self._previous, before

    def _option(self, argument: str) -> bool:
        name, equals, value = _split(argument)
        if not equals:
            if not self._rest:
                return False
            value, _ = self._pop()
        return self.set_option(name, value)


def limit_of(value: str, most: int) -> int | None:
    """Return the number that a value of ``--limit`` is; None if it is no number from 1 to ``most``."""
    if not (value.isascii() and value.isdecimal()) or len(value) > 6:
        return None
    return int(value) if 1 <= int(value) <= most else None


class _SearchReader(Reader):
    """Reads arguments of ``search`` into a call."""

    def __init__(self, arguments: list[str]) -> None:
        super().__init__(arguments)
        self.call = SearchCall()

    def read(self) -> bool:
        known = super().read()
        self.call.query = tuple(self.words)
        return known

    def is_word(self, argument: str, after: str) -> bool:
        return is_excluded_word(argument, after=after)

    def set_flag(self, name: str) -> bool:
        if name in FLAGS:
            setattr(self.call, FLAGS[name], True)
        return name in FLAGS or super().set_flag(name)

    def set_option(self, name: str, value: str) -> bool:
        if name in _FIELDS:
            self.call.filters.setdefault(_FIELDS[name], []).append(value)
        elif name == "--mode" and value in MODES:
            self.call.mode = value
        elif name == "--format" and value in FORMATS:
            self.call.format = value
        elif name in LIMIT and (limit := limit_of(value, limits.RESULTS)):
            self.call.limit = limit
        else:
            return super().set_option(name, value)
        return True


_FIELDS = {name: name[2:].replace("-", "_") for name, _, _ in FILTERS}


def _split(argument: str) -> tuple[str, str, str]:
    """Return the name of an option, what stands between it and its value, and the value."""
    if argument.startswith("-n") and argument != "-n":
        return "-n", "=", argument[2:]
    return argument.partition("=")
