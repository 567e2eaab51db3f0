"""Completion in bash without click, whose import takes longer than the daemon's answer.

This covers notes, tags, properties and vaults in the usual places; for everything else click is asked.
"""

from __future__ import annotations

import os
import re

from vaultseek.doors.cli import completion_values as values
from vaultseek.doors.cli.arguments import SEARCH, SHARED_FLAGS, VAULT, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class Item(Protocol):
        """A value to offer, of the type plain, file or dir."""

        value: str
        type: str


ABOUT_A_NOTE = ("read", "related", "links", "neighbors", "unlinked")
"""Commands whose first argument is a note."""
_SPECIAL = re.compile(r"[^\w@%+=:,./-]")
_SPECIAL_IN_DOUBLE_QUOTES = re.compile(r'["$`\\]')


class BashLine:
    """A command line of bash up to the cursor: complete ``words`` and the ``word`` at the cursor.

    ``breaks`` are the characters after which bash starts a new replacement within a word.
    """

    def __init__(self, line: str, breaks: str) -> None:
        self.words: list[str] = []
        self.word = ""
        self.quote = ""
        self._prefix = 0
        self._started = False
        self._read(line, breaks)

    @classmethod
    def of_environment(cls) -> BashLine:
        """Return the line that the script of the completion passes on."""
        return cls(os.environ.get("COMP_LINE", ""), os.environ.get("COMP_BREAKS", ""))

    def offer(self, items: Sequence[Item]) -> str:
        """Return what the script expects: a line that says how to complete, then the words, one per line."""
        if items and items[0].type in ("file", "dir"):
            return "files" if items[0].type == "file" else "folders"
        values = [item.value for item in items]
        kind = "nospace" if values and all(value.endswith((":", "=", "/")) for value in values) else "words"
        return "\n".join([kind, *map(self.rest_of, values)])

    def rest_of(self, value: str) -> str:
        """Return the text that bash inserts for ``value``, quoted like the word so far."""
        rest = value[self._prefix :]
        if self.quote == "'":
            return rest.replace("'", "'\\''")
        if self.quote:
            return _SPECIAL_IN_DOUBLE_QUOTES.sub(r"\\\g<0>", rest)
        return _SPECIAL.sub(r"\\\g<0>", rest)

    def _read(self, line: str, breaks: str) -> None:
        escaped = False
        for character in line:
            if escaped:
                self._append(character)
                escaped = False
            elif character == "\\" and self.quote != "'":
                escaped = True
            elif character == self.quote:
                self.quote = ""
            elif self.quote:
                self._append(character)
            elif character in "\"'":
                self.quote, self._prefix, self._started = character, len(self.word), True
            elif character in " \t\n":
                self._end()
            else:
                self._append(character)
                if character in breaks:
                    self._prefix = len(self.word)

    def _append(self, character: str) -> None:
        self.word += character
        self._started = True

    def _end(self) -> None:
        if self._started:
            self.words.append(self.word)
        self.word, self._prefix, self._started = "", 0, False


def offered() -> str | None:
    """Return what to print for the line in the environment; None if click has to complete it."""
    line = BashLine.of_environment()
    items = _items(line.words[1:], line.word)
    return None if items is None else line.offer(items)


def _items(words: list[str], word: str) -> values.Items | None:
    if not words or word == "=" or (word.startswith("-") and "--" not in words):
        return None
    command, *before = words
    searches = command == "search"
    if not searches and command not in ABOUT_A_NOTE:
        return None
    options = SEARCH if searches else ()
    flags = {option.name for option in options if option.is_flag}
    complete: values.Complete | None = values.complete_query if searches else values.complete_note
    if before and before[-1].startswith("-") and before[-1] not in ("--", *flags, *SHARED_FLAGS):
        name = before.pop()
        metavars = [option.metavar for option in (*options, VAULT) if option.name == name]
        complete = values.BY_METAVAR.get(metavars[0]) if metavars else None
    arguments = read(before, options, excluding=searches)
    if complete is None or arguments is None or (arguments.words and not searches):
        return None
    return complete(arguments.invocation, word)
