"""Options of ``search`` and ``complete`` in one table, for click and for a faster parser.

Importing click takes longer than a search. Common arguments are therefore parsed here, exactly as click would
parse them. Click handles everything else: help, another configuration file, and invalid arguments.
"""

from __future__ import annotations

import os
import re

from vaultseek.base import limits
from vaultseek.doors.cli.invocation import Invocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Option:
    """An option of a command. An option with neither a metavariable nor choices is a flag."""

    __slots__ = ("choices", "default", "help", "metavar", "most", "name", "repeated")

    def __init__(
        self,
        name: str,
        metavar: str = "",
        help: str = "",
        *,
        choices: tuple[str, ...] = (),
        most: int = 0,
        default: int | str = 0,
        repeated: bool = False,
    ) -> None:
        self.name = name
        self.metavar = metavar
        self.help = help
        self.choices = choices
        self.most = most
        """Maximum value of a numeric option."""
        self.default = default
        """The default shown in the help; the daemon's settings may differ."""
        self.repeated = repeated

    @property
    def names(self) -> tuple[str, ...]:
        """All spellings of the option, such as ``-n`` and ``--limit``."""
        return LIMIT if self.name in LIMIT else (self.name,)

    @property
    def field(self) -> str:
        """The Python name for the option's value."""
        return self.name[2:].replace("-", "_")

    @property
    def is_flag(self) -> bool:
        """True if the option takes no value."""
        return not (self.metavar or self.choices)

    def value(self, text: str) -> int | str | None:
        """Return the option's value for ``text``, or None if the text is invalid or must be parsed by
        click."""
        if self.choices:
            return text if text in self.choices else None
        if not self.most:
            return text
        number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 6 else 0
        return number if 1 <= number <= self.most else None


LIMIT = ("-n", "--limit")
MODES = ("hybrid", "keyword", "semantic")
FORMATS = ("text", "json", "paths", "vimgrep", "agent")
MODE_HELP = "Search by words and meaning, by words only or by meaning only."
KINDS = ("note", "heading", "block", "tag", "property", "value")
FILTERS = tuple(
    Option(name, metavar, help, repeated=True)
    for name, metavar, help in (
        ("--tag", "TAG", "Only notes with this tag or a tag nested under it."),
        ("--not-tag", "TAG", "Only notes without this tag."),
        ("--path", "TEXT", "Only notes whose path contains TEXT; FOLDER/ matches that folder."),
        ("--not-path", "TEXT", "Only notes whose path does not contain TEXT."),
        ("--property", "NAME=VALUE", "Only notes with this value; also accepts <, <=, >, >= and =null."),
        ("--has-property", "NAME", "Only notes that have the property NAME."),
        ("--created-after", "DATE", "On or after this date: 2026-01-31, 2026-01, 7d, 'last week'."),
        ("--created-before", "DATE", "Before this date."),
        ("--modified-after", "DATE", "On or after this date."),
        ("--modified-before", "DATE", "Before this date."),
        ("--links-to", "NOTE", "Only notes that link to NOTE."),
        ("--linked-from", "NOTE", "Only notes that NOTE links to."),
        ("--phrase", "TEXT", "Only notes with exactly this phrase."),
        ("--exclude", "TEXT", "Only notes without this word or phrase."),
    )
)
SEARCH = (
    Option("--limit", "N", "Show at most N results.", most=limits.RESULTS, default=limits.SHOWN_RESULTS),
    Option(
        "--passages", "N", "Show at most N passages from each note.", most=limits.NOTE_PASSAGES, default=1
    ),
    Option(
        "--format",
        help="Print text, one JSON object, paths, one path:line:column:text line per result,"
        " or text for an agent.",
        choices=FORMATS,
        default="text",
    ),
    Option("--json", help="Same as --format json."),
    Option("--paths", help="Same as --format paths: only the paths, one per line."),
    Option("--open", help="Open the best note in your editor, or in Obsidian."),
    Option("--all", help="Also show the less certain notes."),
    Option("--explain", help="Explain the rank of each result."),
    Option("--mode", help=MODE_HELP, choices=MODES, default=MODES[0]),
    Option("--wait", help="Wait until every change on disk is indexed."),
    Option("--all-vaults", help="Search every vault instead of one."),
    *FILTERS,
)
COMPLETE = (
    Option("--kind", help="What to complete.", choices=KINDS, default=KINDS[0]),
    Option("--note", "NOTE", "Note whose headings or blocks are completed."),
    Option("--property", "NAME", "Property whose values are completed."),
    Option("--limit", "N", "Show at most N completions.", most=limits.COMPLETIONS, default=20),
    Option("--json", help="Print one JSON object."),
)
VAULT = Option(
    "--vault",
    "DIR|NAME",
    "Vault, by folder or name. By default, the vault that contains the current folder.",
    repeated=True,
)
SHARED_FLAGS = {
    "--agent": ("agent", True),
    "--no-start": ("autostart", False),
    "--no-color": ("color", False),
    "--pager": ("pager", True),
    "--no-pager": ("pager", False),
}
"""Flags of every command that calls the daemon. Each maps to a pair: an attribute of the invocation, and the
value to set."""
# An excluded word of the query, such as -draft, -tag:old or -"a phrase", but not the options -h and -n 5
_EXCLUSION = re.compile(r"-(?!-|h$|n\d*$).+", re.DOTALL)


class Arguments:
    """The arguments of a command: words, option values by Python name, and shared flags."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.options: dict[str, Any] = {}
        self.invocation = Invocation()


def read(arguments: list[str], options: Iterable[Option], *, excluding: bool = False) -> Arguments | None:
    """Parse the arguments of a command; return None if click must parse them.

    With ``excluding``, an argument such as ``-word`` is part of a query.
    """
    if os.environ.get("VAULTSEEK_CONFIG"):
        return None
    found = Arguments()
    by_name = {name: option for option in (*options, VAULT) for name in option.names}
    rest = [*reversed(arguments)]
    argument = ""
    while rest:
        before, argument = argument, rest.pop()
        if argument == "--":
            found.words += reversed(rest)
            break
        if (
            argument in ("", "-")
            or not argument.startswith("-")
            or (excluding and is_excluded_word(argument, after=before))
        ):
            found.words.append(argument)
        elif argument in SHARED_FLAGS:
            setattr(found.invocation, *SHARED_FLAGS[argument])
        else:
            name, equals, text = _split(argument)
            option = by_name.get(name)
            if option is None or (option.is_flag and equals) or not (option.is_flag or equals or rest):
                return None
            if not (option.is_flag or equals):
                argument = text = rest.pop()
            value = True if option.is_flag else option.value(text)
            if value is None:
                return None
            _set(found, option, value)
    return found


def is_excluded_word(argument: str, *, after: str) -> bool:
    """Return True if ``argument`` is an excluded ``-word`` of a query; ``after`` is the preceding
    argument."""
    # After --limit, -5 is a wrong number, not an excluded word.
    return _EXCLUSION.fullmatch(argument) is not None and after not in LIMIT


def _set(found: Arguments, option: Option, value: int | str) -> None:
    if option is VAULT:
        found.invocation.vaults.append(str(value))
    elif option.repeated:
        found.options.setdefault(option.field, []).append(value)
    else:
        found.options[option.field] = value


def _split(argument: str) -> tuple[str, str, str]:
    """Split an argument into the name of an option, the separator before its value, and the value."""
    if argument.startswith("-n") and argument != "-n":
        return "-n", "=", argument[2:]
    return argument.partition("=")
