"""``vaultseek inspect`` in a process of its own."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_prints_one_object_a_note(run: Run, vault: Callable[..., Path]) -> None:
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


def test_for_people(run: Run, vault: Callable[..., Path]) -> None:
    root = vault({"a.md": "# A\n\n[[b]] and [[gone]]\n", "sub/b.md": "B"})
    ended = run("inspect", "--vault", str(root), str(root / "a.md"))
    assert ended.returncode == 0
    assert ended.stdout.startswith("A  a.md\n")
    assert "b -> sub/b.md" in ended.stdout
    assert "gone -> missing" in ended.stdout


def test_reads_standard_input(run: Run) -> None:
    ended = run("inspect", "-", "--path", "ideas/draft.md", "--json", input="# Idea\n\n#tag")
    assert ended.returncode == 0
    note = json.loads(ended.stdout)
    assert (note["path"], note["title"], note["tags"]) == ("ideas/draft.md", "Idea", ["tag"])


def test_goes_on_after_a_note_that_is_not_there(run: Run, vault: Callable[..., Path]) -> None:
    root = vault({"a.md": "A", "sub/b.md": "B", "binary.md": bytes(range(256)) * 50})
    ended = run("inspect", "--json", str(root / "none.md"), str(root / "a.md"))
    assert ended.returncode == 1
    missing = "no such file; to look it up in a vault by path or name, use --vault DIR"
    assert ended.stderr == f"vaultseek: {root / 'none.md'}: {missing}\n"
    objects = [json.loads(line) for line in ended.stdout.splitlines()]
    assert (objects[0]["error"]["code"], objects[1]["path"]) == ("not_found", "a.md")
    folder = run("inspect", str(root / "sub"))
    assert (folder.returncode, folder.stderr) == (
        2,
        f"vaultseek: {root / 'sub'} is a folder; use the path of a note\n",
    )
    binary = run("inspect", "--json", str(root / "binary.md"))
    assert binary.returncode == 0
    assert json.loads(binary.stdout)["problems"]


def test_finds_a_note_of_the_vault_by_path_name_and_alias(run: Run, vault: Callable[..., Path]) -> None:
    root = vault({"sub/Boiler.md": "---\naliases: [Heater]\n---\n", "x/Pump.md": "", "y/Pump.md": ""})
    for name in ("sub/Boiler.md", "sub/boiler", "Boiler", "Heater"):
        ended = run("inspect", "--json", "--vault", str(root), name)
        assert json.loads(ended.stdout)["path"] == "sub/Boiler.md", ended.stderr
    several = run("inspect", "--vault", str(root), "Pump")
    assert (several.returncode, several.stderr) == (
        2,
        "vaultseek: Pump matches 2 notes; use the path of one: x/Pump.md, y/Pump.md\n",
    )
    none = run("inspect", "--vault", str(root), "Nothing")
    assert (none.returncode, "no such note in the vault" in none.stderr) == (1, True)


def test_knows_vaults_that_were_added_by_command(run: Run, vault: Callable[..., Path]) -> None:
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
            "--vault OUTSIDE is a file; use a folder or the name of a vault",
        ),
        (["--vault", "play", "a.md"], "--vault play: no such folder or vault"),
    ],
)
def test_says_what_it_cannot_do(
    run: Run, vault: Callable[..., Path], tmp_path: Path, arguments: list[str], said: str
) -> None:
    places = {"VAULT": str(vault({"a.md": "x"})), "OUTSIDE": str(tmp_path / "outside.md")}
    Path(places["OUTSIDE"]).write_text("x")
    ended = run("inspect", *(places.get(argument, argument) for argument in arguments), input="x")
    assert (ended.returncode, ended.stdout) == (2, "")
    for name, place in places.items():
        said = said.replace(name, place)
    assert said in ended.stderr


def test_sums_up_a_giant_note_and_says_so(run: Run, vault: Callable[..., Path]) -> None:
    root = vault({"a.md": "".join(f"# Heading {n}\n" for n in range(500))})
    short = run("inspect", str(root / "a.md")).stdout
    assert "  … and 470 more; --all shows them" in short
    assert len(short.splitlines()) < 100
    assert "Heading 499" in run("inspect", "--all", str(root / "a.md")).stdout


def test_says_where_links_were_not_looked_up(run: Run, vault: Callable[..., Path]) -> None:
    root = vault({"a.md": "[[b]]"})
    assert run("inspect", str(root / "a.md")).stdout.endswith("use --vault DIR to set one\n")
    assert "--vault DIR" not in run("inspect", "--vault", str(root), str(root / "a.md")).stdout


def test_nothing_is_cut_in_a_pipe(run: Run, vault: Callable[..., Path]) -> None:
    target = "very long name " * 10
    root = vault({"a.md": f"---\nkey: {'value ' * 40}\n---\n# {target}\n[[{target}]]"})
    lines = run("inspect", str(root / "a.md"), COLUMNS="40").stdout
    assert "…" not in lines
    assert f"wikilink {target.strip()} -> missing" in lines
