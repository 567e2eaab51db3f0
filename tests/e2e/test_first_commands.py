"""The first commands of a new user, and where the vault is known afterwards."""

import os
import shutil
from pathlib import Path

import pytest

from worlds import write_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of notes that is not in the configuration."""
    return write_files(tmp_path / "journal", {"Slugs.md": "Slugs ate the salad."})


@pytest.mark.parametrize("wait", [["--wait"], []])
def test_an_indexed_folder_is_a_vault_after_a_restart(daemon, folder: Path, wait: list[str]) -> None:
    done = daemon.run("index", *wait, "--vault", str(folder))
    assert "journal is now one of your vaults" in done.stdout
    daemon.stop()
    (vault,) = daemon.json("vault", "list")["vaults"]
    assert (vault["name"], vault["path"], vault["from"]) == ("journal", str(folder), "added")
    assert daemon.paths("salad", "--wait", cwd=Path("/")) == ["Slugs.md"]


@pytest.mark.shared_daemon
def test_a_vault_is_added_once(daemon, folder: Path) -> None:
    daemon.run("index", "--wait", "--vault", str(folder))
    assert "now one of your vaults" not in daemon.run("index", "--wait", "--vault", "journal").stdout


@pytest.mark.shared_daemon
@pytest.mark.parametrize("command", [["vault", "add"], ["index", "--wait", "--vault"]])
def test_a_vault_in_a_hidden_folder_has_the_name_without_its_dot(daemon, tmp_path, command) -> None:
    for number, place in enumerate(("one", "other")):
        hidden = write_files(tmp_path / place, {".notes/Slugs.md": f"Slugs ate salad {number}."}) / ".notes"
        done = daemon.run(*command, str(hidden))
        assert done.returncode == 0, done.stderr
    vaults = {vault["name"]: vault["from"] for vault in daemon.json("vault", "list")["vaults"]}
    assert vaults == {"notes": "added", "notes-2": "added"}
    assert daemon.paths("salad", "--wait", "--vault", "notes") == ["Slugs.md"]


@pytest.mark.shared_daemon
def test_the_only_open_vault_answers_from_everywhere(daemon, folder: Path) -> None:
    assert daemon.paths("salad", "--wait", "--vault", str(folder)) == ["Slugs.md"]
    assert daemon.paths("salad", cwd=Path("/")) == ["Slugs.md"]
    for query in ("salad", "zzzqqq"):
        assert f"journal ({folder})" in daemon.run("search", query, cwd=Path("/")).stdout, "it is named there"
        assert f"({folder})" not in daemon.run("search", query, cwd=folder).stdout


@pytest.mark.shared_daemon
@pytest.mark.parametrize("wait", [["--wait"], []])
def test_indexing_in_another_folder_says_that_it_is_not_watched(daemon, folder: Path, wait) -> None:
    other = write_files(folder.parent / "journal-2", {"Snails.md": "Snails ate it, too."})
    remark = 'indexed "journal", because this folder is not in a vault; add it with `vaultseek vault add .`'
    assert remark not in daemon.run("index", *wait, "--vault", str(folder), cwd=other).stdout
    assert remark in daemon.run("index", *wait, cwd=other).stdout
    assert remark not in daemon.run("index", *wait, cwd=folder).stdout


@pytest.mark.shared_daemon
def test_several_vaults_are_named_in_the_question(daemon, folder: Path, tmp_path: Path) -> None:
    work = write_files(tmp_path / "work", {"Plan.md": "A plan."})
    for vault in (folder, work):
        daemon.run("index", "--wait", "--vault", str(vault))
    done = daemon.run("search", "salad", cwd=Path("/"))
    assert done.returncode == 2
    assert "which vault? add one, or choose one (known: journal, work) with `--vault NAME`" in done.stderr


@pytest.mark.shared_daemon
def test_all_vaults_are_searched_at_once(daemon, folder: Path, tmp_path: Path) -> None:
    work = write_files(tmp_path / "work", {"Salad.md": "A salad for the party.", "Plan.md": "A plan."})
    for vault in (folder, work):
        daemon.run("index", "--wait", "--vault", str(vault))
    answer = daemon.json("search", "salad", "--all-vaults", "--mode", "keyword", cwd=Path("/"))
    assert {(result["vault"], result["path"]) for result in answer["results"]} == {
        ("journal", "Slugs.md"),
        ("work", "Salad.md"),
    }
    assert [vault["vault"] for vault in answer["vaults"]] == ["journal", "work"]
    done = daemon.run("search", "salad", "--all-vaults", "--mode", "keyword", "--paths", cwd=Path("/"))
    assert set(done.stdout.splitlines()) == {str(folder / "Slugs.md"), str(work / "Salad.md")}
    done = daemon.run("search", "salad", "--all-vaults", "--mode", "keyword", cwd=Path("/"))
    assert "work: Salad.md:1" in done.stdout
    assert daemon.run("search", "salad", "--all-vaults", "--vault", "work").returncode == 2


@pytest.mark.shared_daemon
def test_the_vaults_that_are_named_are_searched_together(daemon, folder: Path, tmp_path: Path) -> None:
    work = write_files(tmp_path / "work", {"Salad.md": "A salad for the party."})
    shop = write_files(tmp_path / "shop", {"List.md": "Oil for the salad."})
    for vault in (folder, work, shop):
        daemon.run("index", "--wait", "--vault", str(vault))
    salad = ("search", "salad", "--mode", "keyword")
    both = daemon.json(*salad, "--vault", "journal", "--vault", str(work), cwd=Path("/"))
    assert {result["vault"] for result in both["results"]} == {"journal", "work"}
    again = daemon.json(*salad, "--vault", "work", "--vault", str(work), "--vault", "shop", cwd=Path("/"))
    assert [vault["vault"] for vault in again["vaults"]] == ["work", "shop"]
    beside = daemon.run(*salad, "--vault", "./work", "--vault=./shop", "--no-pager", cwd=tmp_path)
    assert "work: Salad.md:1" in beside.stdout
    assert "shop: List.md:1" in beside.stdout
    wrong = daemon.run(*salad, "--vault", "journal", "--vault", "wrok", cwd=Path("/"))
    assert wrong.returncode != 0
    assert "did you mean work?" in wrong.stderr
    one = daemon.run("tags", "--vault", "journal", "--vault", "work")
    assert (one.returncode, one.stderr) == (
        2,
        "vaultseek: only search and find accept several vaults; use only one --vault\n",
    )


@pytest.mark.shared_daemon
def test_paths_of_all_vaults_have_the_order_of_the_answer(daemon, folder: Path, tmp_path: Path) -> None:
    work = write_files(tmp_path / "work", {f"{n}.md": f"Plan {n} of the chain works." for n in range(4)})
    write_files(folder, {"Chain.md": "# Chain\n\nThe bicycle chain needs oil.", "Bread.md": "Flour."})
    for vault in (work, folder):
        daemon.run("index", "--wait", "--vault", str(vault))
    query = ("search", "bicycle chain oil", "--all-vaults")
    places = [(each["vault_path"], each["path"]) for each in daemon.json(*query)["results"]]
    paths = daemon.run(*query, "--paths", cwd=Path("/")).stdout.splitlines()
    assert paths == [f"{vault}/{path}" for vault, path in places]
    assert places[0] == (str(folder), "Chain.md")


def test_a_vault_that_cannot_be_opened_is_named_in_the_answer_of_all(
    daemon, folder: Path, tmp_path: Path
) -> None:
    work = write_files(tmp_path / "work", {"Salad.md": "A salad for the party."})
    for vault in (folder, work):
        daemon.run("index", "--wait", "--vault", str(vault))
    daemon.stop()
    data = Path(daemon.environment.get("XDG_DATA_HOME") or os.environ["XDG_DATA_HOME"])
    (broken,) = (data / "vaultseek" / "vaults").glob("work-*")
    shutil.rmtree(broken)
    broken.write_text("a file where the index should be")
    answer = daemon.json("search", "salad", "--all-vaults", "--mode", "keyword", cwd=Path("/"))
    assert [result["vault"] for result in answer["results"]] == ["journal"]
    assert ("vault", "work") in [(lane["lane"], lane["vault"]) for lane in answer["partial"]]
