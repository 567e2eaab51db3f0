"""Completion in real shells, with values from a real daemon."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vaultseek.doors.cli.shell_completion import BashLine
from vaultseek.protocol.wire import reach

BREAKS = " \t\n\"'@><=;|&(:"
TOOLS = Path(sys.executable).parent
DEADLINE = 20.0
NOTES = {
    ".obsidian/x": "",
    "Boiler Room.md": "---\nstatus: open\naliases: ['Heizung: Keller']\n---\n#house/heating #house/water",
    "Pump's Log.md": "---\nstatus: 'done: all'\n---\n#work",
    "Pump 100% $HOME.md": "x",
    "Weird \x1b[31m.md": "x",
}


@pytest.fixture
def knowing(daemon, vault: Callable[..., Path]):
    """A daemon that has indexed the notes."""
    root = vault(NOTES)
    assert daemon.run("search", "--wait", "x", cwd=root).returncode == 0
    daemon.root = root
    return daemon


Complete = Callable[[str], list[str]]


@pytest.fixture
def bash(knowing) -> Complete:
    """``bash("vaultseek read Boi")`` returns what bash's completion function offers."""
    script = """
        eval "$(vaultseek completion bash)"
        COMP_LINE=$1 COMP_POINT=${#1}
        _vaultseek_completion vaultseek
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    return lambda line: shell(knowing, ["bash", "--norc", "-c", script, "bash", line])


def shell(daemon, command: list[str]) -> list[str]:
    environment = daemon.environment | {"PATH": f"{TOOLS}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=daemon.root, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.shared_daemon
def test_bash_completes_commands_options_and_what_the_daemon_knows(bash: Complete) -> None:
    for line, offered in {
        "vaultseek rel": ["related"],
        "vaultseek search --modi": ["--modified-after", "--modified-before"],
        "vaultseek search --mode ": ["hybrid", "keyword", "semantic"],
        "vaultseek read Boi": [r"Boiler\ Room"],
        "vaultseek read boi": [r"Boiler\ Room"],
        "vaultseek read 'Boi": ["Boiler Room"],
        'vaultseek read "Pump 1': [r"Pump 100% \$HOME"],
        r"vaultseek read Pump\'": [r"Pump\'s\ Log"],
        "vaultseek read Weird": [],
        r"vaultseek links Heizung:\ K": [r"\ Keller"],
        "vaultseek search tag:house/h": ["house/heating"],
        "vaultseek search -- -tag:wo": ["work"],
        "vaultseek search kind:ca": ["canvas"],
        "vaultseek search -- -tas": ["-task-done:", "-task-todo:", "-task:"],
        "vaultseek search --tag wo": ["work"],
        "vaultseek search --tag=wo": ["work"],
        "vaultseek search --has-property st": ["status"],
        "vaultseek search --property sta": ["status="],
        "vaultseek search --property status=": [r"open", r"done:\ all"],
        "vaultseek search --vault va": ["vault"],
        "vaultseek search [st": [r"\[status:"],
        "vaultseek properties st": ["status"],
    }.items():
        assert sorted(bash(line)) == sorted(offered), line


def test_completion_starts_no_daemon_and_is_silent_without_one(bash: Complete, knowing) -> None:
    knowing.stop()
    assert bash("vaultseek read Boi") == []
    assert bash("vaultseek rel") == ["related"]
    assert reach.holder() is None


class Screen:
    """A shell on a terminal of its own."""

    def __init__(self, command: list[str], cwd: Path, environment: dict[str, str]) -> None:
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(command[0], command, environment)
        self.seen = ""

    def type(self, text: str, until: str) -> None:
        """Type, and wait until the expected text appears."""
        os.write(self._terminal, text.encode())
        deadline = time.monotonic() + DEADLINE
        while until not in self.seen:
            assert select.select([self._terminal], [], [], deadline - time.monotonic())[0], self.seen
            self.seen += os.read(self._terminal, 4096).decode(errors="replace")
        self.seen = ""

    def end(self) -> None:
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self._terminal)


SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(vaultseek completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], 'autoload -Uz compinit; compinit -u; eval "$(vaultseek completion zsh)"'),
    "fish": (["fish", "--no-config", "-i"], "vaultseek completion fish | source"),
}


@pytest.fixture(params=SHELLS)
def screen(request: pytest.FixtureRequest, knowing, tmp_path: Path) -> Iterator[Screen]:
    command, setup = SHELLS[request.param]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    path = f"{TOOLS}:{os.environ['PATH']}"
    environment = knowing.environment | {"PATH": path, "TERM": "vt100", "PS1": "> ", "LINES": "40"}
    made = Screen(command, knowing.root, environment)
    made.type(f"{setup}; echo re''ady\n", "ready")
    yield made
    made.end()


@pytest.mark.shared_daemon
def test_a_name_with_a_space_is_typed_so_that_the_command_gets_it(screen: Screen) -> None:
    screen.type("vaultseek read Boi\t", "Room")
    screen.type("| grep -c house/heating; echo do''ne\n", "1\r\ndone")


def test_the_words_of_a_line_as_bash_has_them() -> None:
    for line, (words, word, quote) in {
        "": ([], "", ""),
        "a b ": (["a", "b"], "", ""),
        "a 'b c": (["a"], "b c", "'"),
        'a "b\\"c" d\\ e': (["a", 'b"c'], "d e", ""),
        "a ''": (["a"], "", ""),
        "a '' b": (["a", ""], "b", ""),
        "a b\\": (["a"], "b", ""),
    }.items():
        typed = BashLine(line, BREAKS)
        assert (typed.words, typed.word, typed.quote) == (words, word, quote), line


def test_bash_replaces_only_what_stands_behind_a_break() -> None:
    assert BashLine("v --tag=a:b", BREAKS).rest_of("--tag=a:bcd") == "bcd"
    assert BashLine("v a:b", "").rest_of("a:bcd") == "a:bcd"
    assert BashLine("v 'a:b", BREAKS).rest_of("a:b'd") == "a:b'\\''d"
