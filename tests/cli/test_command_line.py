"""The real program in a process of its own: exit codes and messages where no daemon is needed."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest

from vaultseek import __version__

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """``run("search", "x")`` in an empty home; keywords are environment variables."""
    work = tmp_path / "work"
    work.mkdir()

    def run_in_empty_home(
        *arguments: str, input: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith("VAULTSEEK_")}
        return subprocess.run(
            [sys.executable, "-m", "vaultseek", *arguments],
            cwd=work,
            env={**ours, "HOME": str(tmp_path), "PYTHONIOENCODING": "utf-8", **environment},
            input=input,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return run_in_empty_home


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
        (["search", "--mode", "fast", "x"], "'fast' is not one of"),
        (["--config", "none.toml", "search", "x"], "none.toml: no such file; set --config to a TOML file"),
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
    assert (status.returncode, status.stdout, status.stderr) == (3, "no daemon is running\n", "")
    shown = run("status", "--json")
    assert (shown.returncode, json.loads(shown.stdout)) == (3, {"daemon": None, "vaults": []})
    assert (run("stop").returncode, run("stop").stdout) == (0, "no daemon is running\n")


def test_a_wrong_configuration_is_told_before_a_daemon_is_started(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[[vaults]]\nname = 'a'\npath = 'gone'\n")
    wrong = f"expected an existing folder, found no folder at {tmp_path / 'gone'}"
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
    assert ended.stderr == (
        "vaultseek: no daemon is running, and autostart is off; start it with `vaultseek start`\n"
    )


def test_output_that_nobody_reads_is_no_error(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "vaultseek", "-h"]
        ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_the_way_of_a_search_imports_nothing_heavy() -> None:
    heavy = ["pydantic", "rich", "asyncio", "numpy", "platformdirs", "subprocess", "shutil", "logging"]
    script = (
        "import sys, vaultseek.cli.commands.search, vaultseek.cli.search_page, vaultseek.client;"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    bare = [sys.executable, "-c", script]
    ended = subprocess.run(bare, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "[]\n"


def test_inspect_prints_one_object_a_note(run: Run, vault: Callable[..., Path]) -> None:
    root = vault(
        {
            "a.md": "---\nstatus: open\n---\n# A\n\n[[b]] and [[gone]] #tag\n",
            "sub/b.md": "B",
            ".obsidian/x": "",
        }
    )
    ended = run("inspect", "--json", str(root / "a.md"), str(root / "sub" / "b.md"))
    assert (ended.returncode, ended.stderr) == (0, "")
    first, second = (json.loads(line) for line in ended.stdout.splitlines())
    assert set(first) >= {
        "path", "title", "frontmatter", "tags", "aliases", "links", "headings", "code_blocks", "blocks",
        "chunks", "problems",
    }  # fmt: skip
    assert (first["path"], first["title"], first["frontmatter"]) == ("a.md", "A", {"status": "open"})
    assert [link["resolved"] for link in first["links"]] == ["sub/b.md", None]
    assert second["path"] == "sub/b.md"


def test_inspect_for_people(run: Run, vault: Callable[..., Path]) -> None:
    root = vault({"a.md": "# A\n\n[[b]] and [[gone]]\n", "sub/b.md": "B"})
    ended = run("inspect", "--vault", str(root), str(root / "a.md"))
    assert ended.returncode == 0
    assert ended.stdout.startswith("A  a.md\n")
    assert "b -> sub/b.md" in ended.stdout
    assert "gone -> missing" in ended.stdout


def test_inspect_reads_standard_input(run: Run) -> None:
    ended = run("inspect", "-", "--path", "ideas/draft.md", "--json", input="# Idea\n\n#tag")
    assert ended.returncode == 0
    note = json.loads(ended.stdout)
    assert (note["path"], note["title"], note["tags"]) == ("ideas/draft.md", "Idea", ["tag"])


def test_inspect_goes_on_after_a_note_that_is_not_there(run: Run, vault: Callable[..., Path]) -> None:
    root = vault({"a.md": "A", "sub/b.md": "B", "binary.md": bytes(range(256)) * 50})
    ended = run("inspect", "--json", str(root / "none.md"), str(root / "a.md"))
    assert ended.returncode == 1
    missing = "no such file; to look it up in a vault by path or name, use --vault DIR"
    assert ended.stderr == f"vaultseek: {root / 'none.md'}: {missing}\n"
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    assert (told[0]["error"]["code"], told[1]["path"]) == ("not_found", "a.md")
    folder = run("inspect", str(root / "sub"))
    assert (folder.returncode, folder.stderr) == (
        2,
        f"vaultseek: {root / 'sub'} is a folder, expected a note\n",
    )
    binary = run("inspect", "--json", str(root / "binary.md"))
    assert binary.returncode == 0
    assert json.loads(binary.stdout)["problems"]


def test_inspect_finds_a_note_of_the_vault_by_path_name_and_alias(
    run: Run, vault: Callable[..., Path]
) -> None:
    root = vault({"sub/Boiler.md": "---\naliases: [Heater]\n---\n", "x/Pump.md": "", "y/Pump.md": ""})
    for name in ("sub/Boiler.md", "sub/boiler", "Boiler", "Heater"):
        found = run("inspect", "--json", "--vault", str(root), name)
        assert json.loads(found.stdout)["path"] == "sub/Boiler.md", found.stderr
    several = run("inspect", "--vault", str(root), "Pump")
    assert (several.returncode, several.stderr) == (
        2,
        "vaultseek: Pump matches 2 notes; use the path of one: x/Pump.md, y/Pump.md\n",
    )
    none = run("inspect", "--vault", str(root), "Nothing")
    assert (none.returncode, "no such note in the vault" in none.stderr) == (1, True)


def test_inspect_knows_vaults_that_were_added_by_command(run: Run, vault: Callable[..., Path]) -> None:
    root = vault({"Boiler.md": "x"})
    file = Path(os.environ["XDG_DATA_HOME"]) / "vaultseek" / "vaults.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"vaults": [{"name": "house", "path": str(root)}], "paused": []}))
    assert run("inspect", "--vault", "House", "Boiler").stdout.startswith("Boiler  Boiler.md\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--path", "../../x", "-"], "--path ../../x is outside the vault; use a path from its root"),
        (["--path", "/etc/x", "-"], "--path /etc/x is outside the vault"),
        (["--path", "a/../..", "-"], "is outside the vault"),
        (["-", "-"], "standard input can be read only once; use - once"),
        (["--vault", "VAULT", "OUTSIDE"], "is not in the vault VAULT; leave out --vault"),
        (
            ["--vault", "OUTSIDE", "a.md"],
            "--vault OUTSIDE is a file, expected a folder or the name of a vault",
        ),
        (["--vault", "play", "a.md"], "--vault play: no such folder or vault"),
    ],
)
def test_inspect_says_what_it_cannot_do(
    run: Run, vault: Callable[..., Path], tmp_path: Path, arguments: list[str], said: str
) -> None:
    places = {"VAULT": str(vault({"a.md": "x"})), "OUTSIDE": str(tmp_path / "outside.md")}
    Path(places["OUTSIDE"]).write_text("x")
    ended = run("inspect", *(places.get(argument, argument) for argument in arguments), input="x")
    assert (ended.returncode, ended.stdout) == (2, "")
    for name, place in places.items():
        said = said.replace(name, place)
    assert said in ended.stderr


def test_inspect_sums_up_a_giant_note_and_says_so(run: Run, vault: Callable[..., Path]) -> None:
    root = vault({"a.md": "".join(f"# Heading {n}\n" for n in range(500))})
    short = run("inspect", str(root / "a.md")).stdout
    assert "  … and 470 more; --all shows them" in short
    assert len(short.splitlines()) < 100
    assert "Heading 499" in run("inspect", "--all", str(root / "a.md")).stdout


def test_inspect_says_where_links_were_not_looked_up(run: Run, vault: Callable[..., Path]) -> None:
    root = vault({"a.md": "[[b]]"})
    assert run("inspect", str(root / "a.md")).stdout.endswith("use --vault DIR to set one\n")
    assert "--vault DIR" not in run("inspect", "--vault", str(root), str(root / "a.md")).stdout


def test_nothing_is_cut_in_a_pipe(run: Run, vault: Callable[..., Path]) -> None:
    target = "very long name " * 10
    root = vault({"a.md": f"---\nkey: {'value ' * 40}\n---\n# {target}\n[[{target}]]"})
    lines = run("inspect", str(root / "a.md"), COLUMNS="40").stdout
    assert "…" not in lines
    assert f"wikilink {target.strip()} -> missing" in lines
