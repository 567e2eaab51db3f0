"""The program in a separate process: exit codes and messages without a daemon."""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import numpy
import pytest

from vaultseek import __version__
from vaultseek.doors.cli.commands import vaultseek

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_version_and_help(run: Run) -> None:
    versions = dict(line.split(" ", 1) for line in run("--version").stdout.splitlines())
    assert (versions["vaultseek"], versions["Python"]) == (__version__, platform.python_version())
    assert versions["numpy"] == numpy.__version__
    assert "not installed" not in versions.values()
    for arguments in (["-h"], ["--help"], ["search", "-h"], ["status", "--help"], ["inspect", "-h"]):
        shown = run(*arguments)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert shown.stdout.startswith("Usage: ")
    assert "3 daemon or vault unavailable" in " ".join(run("-h").stdout.split())


@pytest.mark.parametrize("command", ["search", "index", "status", "serve", "start", "stop", "inspect"])
def test_every_command_says_what_it_does(run: Run, command: str) -> None:
    assert command in run("-h").stdout
    assert run(command, "-h").returncode == 0


FIRST = [
    *("find", "search", "read", "open", "links", "graph"),
    *("tags", "table", "status", "index", "vault", "config"),
]


def helps(command=vaultseek, context=None, name="vaultseek"):
    """Yield the help of every command in 80 columns, with the command's full name."""
    context = click.Context(command, parent=context, info_name=name, terminal_width=80)
    yield context.command_path.removeprefix("vaultseek").strip(), command.get_help(context)
    for each in command.list_commands(context) if isinstance(command, click.Group) else ():
        yield from helps(command.get_command(context, each), context, each)


def test_the_first_screen_of_the_help_has_twelve_commands() -> None:
    (_, text), *_ = helps()
    screen = text.splitlines()[:24]
    listed = [line.split()[0] for line in screen[screen.index("Commands:") + 1 :] if line.startswith("  ")]
    assert listed[:12] == FIRST
    assert max(map(len, text.splitlines())) <= 80
    more = text[text.index("More:") : text.index("Options:")]
    assert {"related", "ui", "mcp", "doctor", "serve"} <= {
        line.split()[0] for line in more.splitlines()[1:] if line
    }


def test_no_help_is_cut_or_has_options_or_words_that_do_not_apply() -> None:
    every = dict(helps())
    assert {"search", "graph path", "team token"} <= set(every)
    lines = [line for text in every.values() for line in text.splitlines() if "Usage:" not in line]
    assert [line for line in lines if line.endswith("...") or len(line) > 80] == []
    assert {name for name, text in every.items() if "--pager" in text} >= {
        "",
        "search",
        "graph",
        "service logs",
    }
    for name in ("lsp", "mcp", "complete"):
        assert "--pager" not in every[name]
        assert "--no-color" not in every[name]
    for name, text in every.items():
        if "--limit" in text:
            assert re.search(r"--limit.*?by\s+default\s+(\d|all)", text, re.DOTALL), name
        for of in re.findall(r"^  -.*?(?=^  -|^\n|\Z)", text, re.DOTALL | re.MULTILINE):
            if re.search(r"<=x<=|\[\w+\|", of):
                assert re.search(r"default|required", of), f"{name}: {of}"
        if name.split(" ")[0] not in ("team", "backend", "mcp"):
            assert not re.search(r"\b(lanes?|tokens? of|shards?|searchers?|PostgreSQL|team)\b", text), name


@pytest.mark.parametrize("command", ["lsp", "mcp", "vault list"])
def test_an_option_that_changes_nothing_stays_allowed(run: Run, command: str) -> None:
    assert run(*command.split(), "--no-pager", "-h").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serach", "x"], "No such command 'serach'. Did you mean 'search'"),
        (["link", "x"], "Did you mean 'links' or 'unlinked'?"),
        (["xyzzy"], "No such command 'xyzzy'."),
        (["vault", "lst"], "No such command 'lst'. Did you mean 'list'?"),
        (["search"], "search needs a word, a phrase or a filter"),
        (["search", "--jsn", "x"], "No such option '--jsn'. Did you mean '--json'?"),
        (["search", "-n", "ten", "x"], "'ten' is not a valid integer"),
        (["search", "-n", "0", "x"], "0 is not in the range"),
        (["context", "x", "--tokens", "-5"], ": -5 is not in the range"),
        (["search", "--mode", "fast", "x"], "'fast' is not one of"),
        (["--config", "none.toml", "search", "x"], "none.toml: no such file; set --config to a TOML file"),
        (["tags", "v1"], "unexpected extra argument (v1); choose a vault with --vault"),
        (["inspect", "--path", "a.md", "b.md"], "--path is for a note from standard input"),
    ],
)
def test_wrong_use_is_exit_code_two(run: Run, arguments: list[str], said: str) -> None:
    ended = run(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    first = ended.stderr.splitlines()[0]
    assert first.startswith("vaultseek: ")
    assert said in first


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["search", "--json"], "bad_request", 2),
        (["serach", "--json", "x"], "bad_request", 2),
        (["search", "-n", "ten", "x", "--json"], "bad_request", 2),
        (["--config", "none.toml", "status", "--json"], "bad_config", 2),
        (["search", "--no-start", "--json", "x"], "unavailable", 3),
        (["search", "--no-start", "--format", "json", "x"], "unavailable", 3),
        (["table", "--no-start", "--format=json", "x"], "unavailable", 3),
        (["inspect", "--json", "none.md"], "not_found", 1),
    ],
)
def test_with_json_a_failure_is_an_object_too(
    run: Run, arguments: list[str], code: str, exit_code: int
) -> None:
    ended = run(*arguments)
    error = json.loads(ended.stdout)["error"]
    assert (ended.returncode, error["code"]) == (exit_code, code)
    assert ended.stderr.splitlines()[0] == f"vaultseek: {error['message']}"


def test_json_behind_two_dashes_is_a_word_of_the_query(run: Run) -> None:
    assert run("search", "--no-start", "--", "--json").stdout == ""


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    assert "Usage: " in run().stderr
    assert run().returncode == 2


def test_status_and_stop_without_a_daemon(run: Run) -> None:
    status = run("status")
    told = "no daemon is running; start one with `vaultseek start`\n"
    assert (status.returncode, status.stdout, status.stderr) == (3, told, "")
    shown = run("status", "--json")
    assert (shown.returncode, json.loads(shown.stdout)) == (3, {"daemon": None, "vaults": []})
    assert (run("stop").returncode, run("stop").stdout) == (0, "no daemon is running\n")


@pytest.mark.fault("G13")
def test_a_wrong_configuration_is_reported_before_a_daemon_is_started(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[[vaults]]\nname = 'a'\npath = 'config.toml'\n")
    wrong = f"expected an existing folder, found a file: {file}"
    for arguments in (["search", "x"], ["index"], ["start"]):
        ended = run(*arguments, VAULTSEEK_CONFIG=str(file))
        assert ended.returncode == 2
        assert ended.stderr == f"vaultseek: {file}: vaults[0].path: {wrong}\n"


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(["--no-start"], {}), ([], {"VAULTSEEK_DAEMON__AUTOSTART": "false"})],
)
def test_no_daemon_is_started_where_that_is_forbidden(
    run: Run, arguments: list[str], environment: dict[str, str]
) -> None:
    ended = run("search", "x", *arguments, **environment)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr == ("vaultseek: no daemon is running, and autostart is off; run `vaultseek start`\n")


def test_output_that_nobody_reads_is_no_error(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "vaultseek", "-h"]
        ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_closed_streams_are_no_error() -> None:
    command = f"{sys.executable} -m vaultseek --version >&- <&-"
    ended = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_long_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    note = tmp_path / "long.md"
    note.write_text("# Long\n\n" + "One line of many.\n\n" * 5000)
    command = [sys.executable, "-m", "vaultseek", "inspect", str(note)]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert ended.returncode == 3
    assert ended.stderr.startswith(b"vaultseek: cannot write the output: No space left on device")


def test_the_way_of_a_search_imports_nothing_heavy() -> None:
    heavy = ["pydantic", "rich", "asyncio", "numpy", "platformdirs", "subprocess", "shutil", "logging"]
    script = (
        "import sys, vaultseek.doors.cli.commands.search, vaultseek.doors.cli.search_page, vaultseek.client;"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    bare = [sys.executable, "-c", script]
    ended = subprocess.run(bare, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "[]\n"
