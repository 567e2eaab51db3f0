"""``vaultseek config`` in a process of its own."""

import json
import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from worlds import run_alone

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """``run("config", "show")`` in an empty home; keywords are environment variables."""
    return partial(run_alone, tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The user's configuration file, which does not exist yet."""
    return tmp_path / "config" / "vaultseek" / "config.toml"


def test_init_writes_a_file_that_is_sound_and_never_writes_over_one(run: Run, file: Path) -> None:
    assert run("config", "path").stdout == f"{file}\n"
    assert run("config", "init").stdout == f"wrote {file}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert run("config", "check").stdout == f"{file}: no problems\n"
    file.write_text("# mine\n")
    again = run("config", "init")
    assert (again.returncode, again.stderr) == (
        2,
        f"vaultseek: {file} already exists; nothing was written\n",
    )
    assert file.read_text() == "# mine\n"


def test_check_names_saved_searches_that_do_not_work(run: Run, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text('[searches]\na = "tag:"\nb = "@b"\nc = "[due:<nope"\nd = "tag:x @b"\n')
    done = run("config", "check", "--json")
    problems = json.loads(done.stdout)["problems"]
    assert done.returncode == 2
    assert [(each["key"], each["line"]) for each in problems] == [
        ("searches.a", 2),
        ("searches.b", 3),
        ("searches.c", 4),
        ("searches.c", 4),
    ]
    assert "inside another one" in problems[1]["message"]


def test_a_variable_with_a_single_underscore_is_named(run: Run) -> None:
    done = run("config", "check", VAULTSEEK_SEARCH_LIMIT="2", VAULTSEEK_SEARCH_RECENCY_ENABLED="true")
    assert done.returncode == 2
    assert "VAULTSEEK_SEARCH_LIMIT: not a setting; did you mean VAULTSEEK_SEARCH__LIMIT?" in done.stderr
    assert "did you mean VAULTSEEK_SEARCH__RECENCY__ENABLED?" in done.stderr
    assert run("config", "show", VAULTSEEK_SEARCH_LIMIT="2").returncode == 0, "it did no harm before"


def test_init_may_name_a_vault(run: Run, file: Path, vault: Callable[..., Path]) -> None:
    root = vault({"a.md": "A"})
    assert run("config", "init", "--vault", str(root)).returncode == 0
    shown = json.loads(run("config", "show", "--json").stdout)
    assert [(v["name"], v["path"], v["source"]) for v in shown["vaults"]] == [("vault", str(root), "file")]
    assert {entry["source"] for entry in shown["settings"].values()} == {"default"}


def test_init_writes_nothing_that_check_would_refuse(run: Run, file: Path, tmp_path: Path) -> None:
    home = run("config", "init", "--vault", "~")
    assert (home.returncode, file.exists()) == (2, False)
    home = run("config", "init", "--vault", str(tmp_path))
    assert (home.returncode, file.exists()) == (2, False)
    assert "contains your home directory; set --vault to the folder of your notes" in home.stderr
    odd = tmp_path / '.odd "name"\t\x7f'
    odd.mkdir()
    bytes_only = tmp_path / os.fsdecode(b"\xff")
    bytes_only.mkdir()
    assert "not valid UTF-8" in run("config", "init", "--vault", str(bytes_only)).stderr
    assert run("config", "init", "--vault", str(odd)).returncode == 0
    assert run("config", "check").stdout == f"{file}: no problems\n"
    assert json.loads(run("config", "show", "--json").stdout)["vaults"][0]["path"] == str(odd)


def test_check_names_every_wrong_key_with_its_line(run: Run, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(
        '[[vaults]]\nname = "a"\npath = "gone"\n\n[search]\nlimt = 5\nrrf_k = [\n  1,\n]\nmode = "hybird"\n'
    )
    ended = run("config", "check", VAULTSEEK_SEARCH__ALPHA="7")
    assert (ended.returncode, ended.stdout) == (2, "")
    start = f"vaultseek: {file}: line "
    assert ended.stderr.splitlines() == [
        "vaultseek: environment variable VAULTSEEK_SEARCH__ALPHA: search.alpha: "
        "expected a number from 0 to 1, found 7.0",
        f"{start}3: vaults[0].path: expected an existing folder, found no folder at {file.parent / 'gone'}",
        f"{start}6: search.limt: unknown key, expected search.limit?",
        f"{start}7: search.rrf_k: expected a number from 1 to 1000, found [1]",
        f'{start}10: search.mode: expected one of "hybrid", "keyword", "semantic", found "hybird"; '
        'did you mean "hybrid"?',
    ]
    told = json.loads(run("config", "check", "--json").stdout)
    assert (told["ok"], [problem["line"] for problem in told["problems"]]) == (False, [3, 6, 7, 10])


def test_a_pipe_as_configuration_is_one_line(run: Run, file: Path) -> None:
    file.parent.mkdir(parents=True)
    os.mkfifo(file)
    for command in (["config", "check"], ["config", "show"], ["search", "x"]):
        ended = run(*command)
        assert (ended.returncode, ended.stderr) == (
            2,
            f"vaultseek: {file}: cannot be read (not a regular file); expected a readable file\n",
        )


def test_show_says_where_each_value_comes_from(run: Run, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("[search]\nlimit = 3\nalpha = 0.5\n")
    ended = run("config", "show", VAULTSEEK_SEARCH__ALPHA="0.6")
    rows = {line.split()[0]: line.split()[1:] for line in ended.stdout.splitlines()}
    assert rows["search.limit"] == ["3", "file"]
    assert rows["search.alpha"] == ["0.6", "VAULTSEEK_SEARCH__ALPHA"]
    assert rows["search.mode"] == ['"hybrid"', "default"]


@pytest.mark.parametrize("command", ["init", "check", "show", "path"])
def test_every_form_has_an_example(run: Run, command: str) -> None:
    shown = run("config", command, "--help").stdout
    assert f"  vaultseek config {command}" in shown or f"vaultseek config {command})" in shown


def test_check_names_what_no_server_can_be_reached_with(run: Run, file: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t")
    token.chmod(0o644)
    key = tmp_path / "key"
    key.write_text("k")
    key.chmod(0o644)
    file.parent.mkdir(parents=True)
    file.write_text(
        f"""[index]
backend = "postgres"
uri = "x.db"
token_file = "{token}"
certificate = "/nowhere/at/all.pem"
token_variable = "MY_TOKEN"
[model]
class = "package.Class"
options = {{api_key = "sk-never"}}
[reranker]
url = "http://localhost:1/v1"
key_file = "{key}"
"""
    )
    checked = run("config", "check", "--json")
    assert checked.returncode == 2
    assert "sk-never" not in checked.stdout
    problems = [(each["line"], each["key"]) for each in json.loads(checked.stdout)["problems"]]
    assert problems == [
        (3, "index.uri"),
        (4, "index.token_file"),
        (5, "index.certificate"),
        (6, "index.token_variable"),
        (8, "model.class"),
        (12, "reranker.key_file"),
    ]
    messages = run("config", "check").stderr
    assert "index.uri: expected postgresql://HOST/DATABASE" in messages
    assert "chmod 600" in messages
    assert "key_file" in messages

    for text, said in (
        ('[index]\nbackend = "postgres"\n', "line 1: index.uri: missing: "),
        ('[index]\nbackend = "milvus"\n', "(Milvus is no longer supported"),
        ('[index]\nuri = "junk"\n', "line 2: index.uri: expected postgresql://HOST/DATABASE"),
        ('[model]\nclass = "nonsense"\n', "no longer a setting; set url"),
    ):
        file.write_text(text)
        assert said in run("config", "check").stderr
    token.chmod(0o600)
    key.chmod(0o600)
    file.write_text(
        f'[index]\nbackend = "postgres"\nuri = "postgresql://m.example/notes"\ntoken_file = "{token}"\n'
        f'[model]\nurl = "http://localhost:1/v1"\nname = "m"\nkey_file = "{key}"\n'
    )
    assert "no problems" in run("config", "check").stdout
