"""Shell completion: scripts for bash, zsh and fish, and the words that the scripts request.

The scripts run ``vaultseek`` with an environment variable defined by click. For zsh, click's own script is
used. Click's scripts for bash and fish do not support spaces, colons and commas, which occur in note names.
"""

import os
import re
from collections.abc import Sequence
from typing import ClassVar

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from vaultseek.doors.cli.invocation import COMPLETION_VARIABLE

_PROGRAM = "vaultseek"
_SPECIAL = re.compile(r"[^\w@%+=:,./-]")
_SPECIAL_IN_DOUBLE_QUOTES = re.compile(r'["$`\\]')


class _Joined(ShellComplete):
    """A base class that completes ``--tag=wo`` to the whole word ``--tag=work``, as shells expect."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        items = super().get_completions(args, incomplete)
        name, equals, _ = incomplete.partition("=")
        if equals and name.startswith("--"):
            for item in items:
                item.value = f"{name}={item.value}"
        return items


class BashLine:
    """A bash command line up to the cursor: the complete ``words``, and the partial ``word`` at the cursor.

    ``breaks`` contains the characters at which bash splits words; bash replaces only the part after the last
    such character.
    """

    def __init__(self, line: str, breaks: str) -> None:
        self.words: list[str] = []
        self.word = ""
        self.quote = ""
        self._prefix = 0
        self._started = False
        self._read(line, breaks)

    def offer(self, items: Sequence[CompletionItem[str]]) -> str:
        """Return the text that the bash script reads: the kind of completion, followed by the words, one per
        line."""
        if items and items[0].type in ("file", "dir"):
            return "files" if items[0].type == "file" else "folders"
        values = [item.value for item in items]
        kind = "nospace" if values and all(value.endswith((":", "=", "/")) for value in values) else "words"
        return "\n".join([kind, *map(self.rest_of, values)])

    def rest_of(self, value: str) -> str:
        """Return the text that bash inserts for ``value``, quoted like the word typed so far."""
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
                if self._started:
                    self.words.append(self.word)
                self.word, self._prefix, self._started = "", 0, False
            else:
                self._append(character)
                if character in breaks:
                    self._prefix = len(self.word)

    def _append(self, character: str) -> None:
        self.word += character
        self._started = True


class Bash(_Joined, BashComplete):
    """Completion for bash, which inserts the printed words without quoting them."""

    source_template: ClassVar[str] = """\
%(complete_func)s() {
    local line kind=
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ -z $kind ]]; then
            kind=$line
        else
            COMPREPLY+=("$line")
        fi
    done < <(env COMP_LINE="${COMP_LINE:0:$COMP_POINT}" COMP_BREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    case $kind in
        nospace) compopt -o nospace ;;
        files) compopt -o default ;;
        folders) compopt -o dirnames ;;
    esac 2>/dev/null
}
complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null ||
    complete -F %(complete_func)s %(prog_name)s"""

    def source(self) -> str:
        """Return the completion script for bash."""
        return ShellComplete.source(self)

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the partial word at the cursor."""
        self._line = BashLine(os.environ.get("COMP_LINE", ""), os.environ.get("COMP_BREAKS", ""))
        return self._line.words[1:], self._line.word

    def complete(self) -> str:
        """Return the text that the bash script reads: the kind of completion, followed by the words, one per
        line."""
        items = self.get_completions(*self.get_completion_args())
        return self._line.offer(items)


class Fish(_Joined, FishComplete):
    """Completion for fish, which quotes the words itself."""

    source_template: ClassVar[str] = """\
function %(complete_func)s
    for line in (env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp | string collect) \\
            COMP_CWORD=(commandline -ct | string collect) %(prog_name)s 2>/dev/null)
        set -l parts (string split -m 1 , -- $line)
        switch $parts[1]
            case dir
                __fish_complete_directories (commandline -ct)
            case file
                __fish_complete_path (commandline -ct)
            case plain
                printf '%%s\\n' $parts[2]
        end
    end
end

complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


class Zsh(_Joined, ZshComplete):
    """Completion for zsh, which quotes the words itself."""


_SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def script(shell: str, command: click.Command) -> str:
    """Return the script that completes ``command`` in the given shell."""
    return _SHELLS[shell](command, {}, _PROGRAM, COMPLETION_VARIABLE).source()


def print_completions(command: click.Command) -> None:
    """Print the completions that a shell's script requests through environment variables; errors are not
    printed."""
    for name, kind in _SHELLS.items():
        add_completion_class(kind, name)
    try:
        command.main(prog_name=_PROGRAM, complete_var=COMPLETION_VARIABLE)
    except Exception:
        return
