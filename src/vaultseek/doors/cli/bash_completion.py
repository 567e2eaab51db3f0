"""Completion in bash without click, whose import takes longer than the daemon's answer.

This covers notes, tags, properties and vaults in the usual places; for everything else click is asked.
"""

from __future__ import annotations

from vaultseek.doors.cli import completion_values as values
from vaultseek.doors.cli.bash_line import BashLine
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.search_arguments import FILTERS, FLAGS, SHARED_FLAGS, read_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Complete = Callable[[values.Context, object, str], values.Items]

ABOUT_A_NOTE = ("read", "related", "links", "neighbors", "unlinked")
"""Commands whose first argument is a note."""
BY_METAVAR: dict[str, Complete] = {
    "TAG": values.complete_tag,
    "NOTE": values.complete_note,
    "NAME": values.complete_property,
    "NAME=VALUE": values.complete_property_value,
}
"""Completions of the options of ``search`` that filter."""

_OF_OPTION: dict[str, Complete] = {"--vault": values.complete_vault} | {
    name: BY_METAVAR[metavar] for name, metavar, _ in FILTERS if metavar in BY_METAVAR
}


def offered() -> str | None:
    """Return what to print for the line in the environment; None if click has to complete it."""
    line = BashLine.of_environment()
    items = _items(line.words[1:], line.word)
    return None if items is None else line.offer(items)


def _items(words: list[str], word: str) -> values.Items | None:
    if not words or word == "=" or (word.startswith("-") and "--" not in words):
        return None
    command, *before = words
    complete: Complete | None = None
    if before and before[-1].startswith("-") and before[-1] not in ("--", *FLAGS, *SHARED_FLAGS):
        option = before.pop()
        complete = _OF_OPTION.get(option)
        if complete is None or (command != "search" and option != "--vault"):
            return None
    if command == "search":
        call = read_arguments(before)
        invocation = None if call is None else call[1]
        complete = complete or values.complete_query
    else:
        invocation = _shared(before) if command in ABOUT_A_NOTE else None
        complete = complete or values.complete_note
    return None if invocation is None else complete(_Context(invocation), None, word)


def _shared(arguments: list[str]) -> Invocation | None:
    """Return the invocation that shared options mean; None if there is anything else."""
    invocation = Invocation()
    rest = iter(arguments)
    for argument in rest:
        if argument in SHARED_FLAGS:
            setattr(invocation, *SHARED_FLAGS[argument])
        elif argument == "--vault":
            invocation.vault = next(rest, None)
        else:
            return None
    return invocation


class _Context:
    """Stands for click's context."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation

    def ensure_object(self, object_type: type[values.T]) -> values.T:
        """Return the invocation."""
        assert isinstance(self._invocation, object_type)
        return self._invocation
