"""Shell completions for a word: notes, tags, properties and vaults from the running daemon.

Completion never starts a daemon and never waits long; if there is no answer, it offers nothing.
"""

from __future__ import annotations

import os

from click.shell_completion import CompletionItem

from vaultseek.base import limits
from vaultseek.doors.cli.connect import daemon_pid
from vaultseek.doors.cli.invocation import Invocation, current_folder, vault_argument
from vaultseek.doors.cli.terminal import clean, count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from vaultseek.base.model import JSON

    Complete = Callable[[Invocation, str], "Items"]

Items = list[CompletionItem[str]]

COMPLETION_SECONDS = 0.3
"""Timeout of a completion in seconds; after that, nothing is offered."""


def complete_note(invocation: Invocation, word: str) -> Items:
    """Complete a note by its file name, title or alias; complete a path as a file."""
    if _is_path(word):
        return _items([(word, "")], word, kind="file")
    notes = _daemon_items(invocation, "note", word)
    return _items(((note["text"], note["path"]) for note in notes if note.get("path")), word)


def complete_file_or_note(invocation: Invocation, word: str) -> Items:
    """Complete a note if ``--vault`` is given, otherwise a file."""
    in_vault = bool(invocation.vaults) and not _is_path(word)
    return complete_note(invocation, word) if in_vault else _items([(word, "")], word, kind="file")


def complete_folder(_: Invocation, word: str) -> Items:
    """Complete a folder."""
    return _items([(word, "")], word, kind="dir")


def complete_tag(invocation: Invocation, word: str) -> Items:
    """Complete a tag, with a ``#`` if one was typed."""
    mark = "#" if word.startswith("#") else ""
    tags = _daemon_items(invocation, "tag", word.removeprefix("#"))
    return _items(((mark + tag["text"].removeprefix("#"), about(tag)) for tag in tags), word)


def complete_property(invocation: Invocation, word: str) -> Items:
    """Complete the name of a property."""
    properties = _daemon_items(invocation, "property", word)
    return _items(((item["text"], about(item)) for item in properties), word)


def complete_property_value(invocation: Invocation, word: str) -> Items:
    """Complete the name of a property with ``=`` or, after the ``=``, a value of that property."""
    name, equals, value = word.partition("=")
    if not equals:
        names = complete_property(invocation, word)
        return _items(((f"{item.value}=", item.help or "") for item in names), word)
    values = _daemon_items(invocation, "value", value, property=name)
    return _items(((f"{name}={item['text']}", about(item)) for item in values), word)


def complete_columns(invocation: Invocation, word: str) -> Items:
    """Complete the last property in a comma-separated list; each property may begin with a minus sign."""
    start, comma, last = word.rpartition(",")
    minus = "-" if last.startswith("-") else ""
    names = complete_property(invocation, last.removeprefix("-"))
    return _items(((f"{start}{comma}{minus}{item.value}", item.help or "") for item in names), word)


def complete_query_or_file(invocation: Invocation, word: str) -> Items:
    """Complete part of a query or, if there are no completions, a file."""
    return complete_query(invocation, word) or _items([(word, "")], word, kind="file")


def complete_vault(invocation: Invocation, word: str) -> Items:
    """Complete a vault by its name; complete a path as a folder."""
    vaults = [] if _is_path(word) else _ask_daemon("vault/list", {}).get("vaults") or []
    names = _items(((vault["name"], vault["path"]) for vault in vaults), word)
    return names or _items([(word, "")], word, kind="dir")


def complete_query(invocation: Invocation, word: str) -> Items:
    """Complete an operator, an operator's value, a property after ``[`` or a saved search after ``@``."""
    if word.startswith("@"):
        saved = _saved_searches(invocation)
        return _items(((f"@{name}", query) for name, query in saved.items()), word)
    if not word.removeprefix("-"):
        return []
    found = _daemon_items(invocation, "query", word)
    return _items(
        ((word[: len(word) - item["replaces"]] + item["text"], about(item)) for item in found), word
    )


BY_METAVAR: dict[str, Complete] = {
    "TAG": complete_tag,
    "NOTE": complete_note,
    "NAME": complete_property,
    "NAME=VALUE": complete_property_value,
    "DIR|NAME": complete_vault,
}
"""Completion functions for option values, by the option's metavariable."""


def _saved_searches(invocation: Invocation) -> Mapping[str, str]:
    from vaultseek.errors import ConfigError
    from vaultseek.settings.load import load

    try:
        return load(invocation.config).searches
    except ConfigError:
        return {}


def _daemon_items(invocation: Invocation, kind: str, word: str, **more: str) -> list[JSON]:
    asked = {"kind": kind, "text": word, "limit": limits.COMPLETIONS, "cwd": current_folder(), **more}
    vaults = [{"vault": vault_argument(vault)} for vault in invocation.vaults] or [{}]
    answers = [_ask_daemon("complete", {**asked, **vault}) for vault in vaults]
    return [item for answer in answers for item in answer.get("items") or ()]


def _ask_daemon(method: str, params: JSON) -> JSON:
    from vaultseek.client.caller import Caller
    from vaultseek.errors import VaultseekError

    # Check the lock first, because connecting to a service manager's socket would start a daemon.
    if daemon_pid() is None:
        return {}
    try:
        with Caller(timeout=COMPLETION_SECONDS, name="vaultseek.cli") as client:
            answer: JSON = client.call(method, params)
    except (VaultseekError, OSError):
        return {}
    return answer


def _items(values: Iterable[tuple[str, str]], word: str, *, kind: str = "plain") -> Items:
    """Return completions for the distinct values that begin with ``word``, with their help texts.

    Values with control characters are left out, because the terminal would act on them.
    """
    prefix = word.casefold()
    help_by_value = {
        value: clean(help)
        for value, help in values
        if value.casefold().startswith(prefix) and clean(value) == value
    }
    return [CompletionItem(value, kind, help or None) for value, help in help_by_value.items()]


def about(item: JSON) -> str:
    """Return the description of a completion: its meaning, its path or its number of notes."""
    many = item.get("count")
    return clean(item.get("about") or item.get("path") or "") or (count(int(many), "note") if many else "")


def _is_path(word: str) -> bool:
    return os.sep in word or word.startswith((".", "~"))
