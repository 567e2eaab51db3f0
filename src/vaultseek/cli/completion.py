"""``vaultseek completion``: scripts that make a shell complete commands, options, notes and tags.

The scripts ask ``vaultseek`` itself, by an environment variable of click's. What click has for zsh serves;
its bash and fish know nothing of names with spaces, colons or commas in them, of which notes are full.
"""

from __future__ import annotations

import os
import re
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

from vaultseek.cli import COMPLETE, FOUND
from vaultseek.cli.invocation import shared_options

_PROGRAM = "vaultseek"
_SPECIAL = re.compile(r"[^\w@%+=:,./-]")
_SPECIAL_IN_DOUBLE_QUOTES = re.compile(r'["$`\\]')


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@shared_options
def completion(shell: str) -> int:
    """Print the script that makes a shell complete commands, options, notes, tags, properties and vaults.

    Notes and tags are known while a daemon runs; completing never starts one.

    \b
    bash:  echo 'eval "$(vaultseek completion bash)"' >> ~/.bashrc
    zsh:   vaultseek completion zsh > ~/.zfunc/_vaultseek     (a folder of your $fpath, before compinit)
    fish:  vaultseek completion fish > ~/.config/fish/completions/vaultseek.fish
    """
    from vaultseek.cli.commands import vaultseek

    print(_SHELLS[shell](vaultseek, {}, _PROGRAM, COMPLETE).source())
    return FOUND


class _Joined(ShellComplete):
    """Gives back ``--tag=work`` whole for ``--tag=wo``, as the shells want it."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        items = super().get_completions(args, incomplete)
        name, equals, _ = incomplete.partition("=")
        if equals and name.startswith("--"):
            for item in items:
                item.value = f"{name}={item.value}"
        return items


class Bash(_Joined, BashComplete):
    """Completion for bash, which inserts what is printed here as it stands."""

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
        """The script."""
        return ShellComplete.source(self)

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, and the one at it as far as it is typed."""
        self._typed = Typed(os.environ.get("COMP_LINE", ""), os.environ.get("COMP_BREAKS", ""))
        return self._typed.words[1:], self._typed.word

    def complete(self) -> str:
        """What to do beside offering words, then the words, one a line."""
        items = self.get_completions(*self.get_completion_args())
        if items and items[0].type in ("file", "dir"):
            return "files" if items[0].type == "file" else "folders"
        values = [str(item.value) for item in items]
        kind = "nospace" if values and all(value.endswith((":", "=", "/")) for value in values) else "words"
        return "\n".join([kind, *map(self._typed.rest_of, values)])


class Fish(_Joined, FishComplete):
    """Completion for fish, which quotes by itself."""

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
    """Completion for zsh, which quotes by itself."""


_SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def answer() -> None:
    """Print what a shell's script has asked for by the environment; silent whatever goes wrong."""
    from vaultseek.cli.commands import vaultseek

    for name, kind in _SHELLS.items():
        add_completion_class(kind, name)
    try:
        vaultseek.main(prog_name=_PROGRAM, complete_var=COMPLETE)
    except Exception:
        return


class Typed:
    """A command line of bash up to the cursor: ``words`` that are done and the ``word`` at the cursor.

    ``breaks`` are the characters at which bash begins to replace anew within a word.
    """

    def __init__(self, line: str, breaks: str) -> None:
        self.words: list[str] = []
        self.word = ""
        self.quote = ""
        self._kept = 0
        self._begun = False
        self._read(line, breaks)

    def rest_of(self, value: str) -> str:
        """What bash has to insert for ``value``, quoted like what was typed."""
        rest = value[self._kept :]
        if self.quote == "'":
            return rest.replace("'", "'\\''")
        if self.quote:
            return _SPECIAL_IN_DOUBLE_QUOTES.sub(r"\\\g<0>", rest)
        return _SPECIAL.sub(r"\\\g<0>", rest)

    def _read(self, line: str, breaks: str) -> None:
        escaped = False
        for character in line:
            if escaped:
                self._take(character)
                escaped = False
            elif character == "\\" and self.quote != "'":
                escaped = True
            elif character == self.quote:
                self.quote = ""
            elif self.quote:
                self._take(character)
            elif character in "\"'":
                self.quote, self._kept, self._begun = character, len(self.word), True
            elif character in " \t\n":
                self._end()
            else:
                self._take(character)
                if character in breaks:
                    self._kept = len(self.word)

    def _take(self, character: str) -> None:
        self.word += character
        self._begun = True

    def _end(self) -> None:
        if self._begun:
            self.words.append(self.word)
        self.word, self._kept, self._begun = "", 0, False
