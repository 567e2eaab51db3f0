"""A vault that cannot be opened reports why, blocks no other vault, and is opened as soon as possible."""

import json
import shutil
from pathlib import Path

import pytest

from vaultseek.base import paths
from worlds import write_files

RESTARTS = pytest.mark.parametrize(
    "restarts",
    [pytest.param(False, marks=pytest.mark.shared_daemon, id="running"), pytest.param(True, id="restarted")],
)


@pytest.fixture
def two(daemon, tmp_path):
    """Two vaults in the configuration: ``bad`` and ``good``."""
    for name in ("bad", "good"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"granite of {name}")
    config = tmp_path / "config" / "vaultseek" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        "".join(f"[[vaults]]\nname = '{name}'\npath = '{tmp_path / name}'\n" for name in ("bad", "good"))
    )
    return tmp_path / "bad"


def states(daemon) -> dict[str, str]:
    return {vault["name"]: vault["state"] for vault in daemon.json("status")["vaults"]}


@pytest.mark.fault("B7")
def test_a_file_where_the_index_should_be(daemon, two, eventually):
    place = paths.vault_data_directory(two)
    place.parent.mkdir(parents=True, mode=0o700)
    place.write_text("in the way")
    assert daemon.paths("granite", "--wait", "--vault", "good") == ["a.md"]
    eventually(lambda: states(daemon) == {"good": "ready", "bad": "failing"})
    asked = daemon.run("search", "granite", "--vault", "bad")
    assert asked.returncode == 3
    assert "cannot create the folder" in asked.stderr
    everywhere = daemon.json("search", "granite", "--all-vaults")
    assert [part["vault"] for part in everywhere["partial"] if part["lane"] == "vault"] == ["bad"]
    for name in ("bad", "BAD", str(two)):
        assert daemon.json("status", "--vault", name)["vaults"][0]["state"] == "failing"
    listed = {each["name"]: each["state"] for each in daemon.json("vault", "list")["vaults"]}
    assert listed["bad"] == "failing"
    place.unlink()
    eventually(lambda: states(daemon) == {"bad": "ready", "good": "ready"}, "it is tried again")
    assert daemon.paths("granite", "--vault", "bad") == ["a.md"]


@RESTARTS
@pytest.mark.parametrize("way", ["search inside", "vault add", "without Obsidian"])
def test_a_renamed_folder_is_the_same_vault(daemon, eventually, tmp_path, way, restarts):
    root, renamed = tmp_path / "notes", tmp_path / "elsewhere" / "wiki"
    write_files(root, {"a.md": "# Granite\n\nHard rock.", "b.md": "# Chalk\n\nSoft rock."})
    if way != "without Obsidian":
        (root / ".obsidian").mkdir()
    assert daemon.run("vault", "add", str(root)).returncode == 0
    assert daemon.run("index", "--wait", "--vault", "notes").returncode == 0
    if restarts:
        daemon.stop()
    renamed.parent.mkdir()
    root.rename(renamed)
    before = sorted(path.name for path in renamed.rglob("*"))
    if way == "vault add":
        assert daemon.run("vault", "add", str(renamed)).returncode == 0
    answer = json.loads(daemon.run("search", "hard rock", "--json", cwd=renamed).stdout)
    assert [answer["vault"], answer["results"][0]["path"]] == ["wiki", "a.md"]
    assert answer["index"]["embedded"] == answer["index"]["chunks"], "nothing is embedded again"
    eventually(lambda: states(daemon) == {"wiki": "ready"})
    listed = daemon.json("vault", "list")["vaults"]
    assert [(each["name"], each["path"], each["from"]) for each in listed] == [
        ("wiki", str(renamed), "added")
    ]
    assert sorted(path.name for path in renamed.rglob("*")) == before, "nothing is written into the vault"
    assert not paths.vault_data_directory(root).exists()
    renamed.rename(root)
    assert daemon.run("search", "chalk", "--paths", "--mode", "keyword", cwd=root).stdout.split() == ["b.md"]
    assert list(states(daemon)) == ["notes"]


@pytest.mark.shared_daemon
@pytest.mark.parametrize("name", ["notes", "mine"])
def test_a_renamed_folder_is_indexed_by_the_first_command_inside_it(daemon, tmp_path, name):
    """``index`` adds the vault that contains the current folder. It has just recognised that folder."""
    root, renamed = tmp_path / "notes", tmp_path / "wiki"
    write_files(root, {".obsidian/app.json": "{}", "a.md": "granite"})
    assert daemon.run("vault", "add", str(root), "--name", name).returncode == 0
    assert daemon.run("index", "--wait", cwd=root).returncode == 0
    root.rename(renamed)
    done = daemon.run("index", "--wait", cwd=renamed)
    assert (done.returncode, done.stderr.count("vaultseek:")) == (0, 0), done.stderr
    kept = {"notes": "wiki", "mine": "mine"}[name]
    assert states(daemon) == {kept: "ready"}
    assert daemon.paths("granite", cwd=renamed) == ["a.md"]


@pytest.mark.shared_daemon
def test_a_name_that_the_user_chose_stays_when_the_folder_is_renamed(daemon, tmp_path):
    root, renamed = tmp_path / "notes", tmp_path / "wiki"
    write_files(root, {".obsidian/app.json": "{}", "a.md": "granite"})
    assert daemon.run("vault", "add", str(root), "--name", "mine").returncode == 0
    assert daemon.run("index", "--wait", "--vault", "mine").returncode == 0
    root.rename(renamed)
    assert daemon.run("search", "granite", "--paths", cwd=renamed).stdout.split() == ["a.md"]
    assert [(each["name"], each["path"]) for each in daemon.json("vault", "list")["vaults"]] == [
        ("mine", str(renamed))
    ]


@RESTARTS
def test_a_moved_folder_keeps_its_name(daemon, tmp_path, restarts):
    root, moved = tmp_path / "notes", tmp_path / "up" / "notes"
    write_files(root, {".obsidian/app.json": "{}", "a.md": "granite"})
    assert daemon.run("vault", "add", str(root)).returncode == 0
    assert daemon.run("index", "--wait", "--vault", "notes").returncode == 0
    if restarts:
        daemon.stop()
    moved.parent.mkdir()
    root.rename(moved)
    assert json.loads(daemon.run("search", "granite", "--json", cwd=moved).stdout)["vault"] == "notes"
    assert [(each["name"], each["path"]) for each in daemon.json("vault", "list")["vaults"]] == [
        ("notes", str(moved))
    ]
    assert daemon.paths("granite", "--vault", "notes") == ["a.md"]


@pytest.mark.shared_daemon
def test_a_copy_of_a_vault_is_another_vault(daemon, tmp_path):
    root, copy = tmp_path / "notes", tmp_path / "copy"
    write_files(root, {".obsidian/app.json": "{}", "a.md": "granite"})
    assert daemon.run("vault", "add", str(root)).returncode == 0
    shutil.copytree(root, copy)
    assert daemon.run("vault", "add", str(copy)).returncode == 0
    assert {each["name"] for each in daemon.json("vault", "list")["vaults"]} == {"notes", "copy"}


@pytest.mark.fault("C10")
def test_a_vault_that_is_not_mounted_answers_from_its_index(daemon, two, eventually, tmp_path):
    daemon.run("index", "--wait", "--vault", "bad")
    daemon.stop()
    two.rename(tmp_path / "away")
    assert daemon.paths("granite", "--vault", "good") == ["a.md"]
    answer = daemon.json("search", "granite", "--vault", "bad")
    assert [result["path"] for result in answer["results"]] == ["a.md"]
    eventually(lambda: states(daemon)["bad"] == "vault_missing")
    (tmp_path / "away").rename(two)
    (two / "b.md").write_text("basalt")
    eventually(lambda: daemon.paths("basalt", "--vault", "bad", "--mode", "keyword") == ["b.md"])
    assert states(daemon)["bad"] == "ready"


@pytest.fixture
def disk(daemon, tmp_path):
    """The folder that contains the vaults ``near`` and ``beside``; a third vault, ``far``, is elsewhere."""
    (tmp_path / "disk").mkdir()
    for root in ("disk/near", "disk/beside", "far"):
        daemon.run("vault", "add", str(write_files(tmp_path / root, {"a.md": "granite"})))
        daemon.indexed(tmp_path / root)
    return tmp_path / "disk"


def break_disk(disk: Path) -> None:
    """Move the folder away, and make every access below it fail with an error other than "no such file"."""
    disk.rename(disk.with_name("away"))
    disk.symlink_to("x" * 300)


def test_vaults_that_cannot_be_reached_stop_no_other_one(daemon, disk, eventually):
    daemon.stop()
    break_disk(disk)
    assert daemon.paths("granite", "--vault", "far") == ["a.md"]
    assert daemon.paths("granite", "--vault", "near") == ["a.md"], "its index answers"
    eventually(lambda: states(daemon) == {"near": "vault_missing", "beside": "vault_missing", "far": "ready"})
    listed = daemon.json("vault", "list")["vaults"]
    assert {each["name"]: each["state"] for each in listed} == states(daemon)
    assert daemon.run("vault", "remove", "beside").returncode == 0
    examined = daemon.run("doctor")
    assert "near: no such folder" in examined.stdout
    assert "Traceback" not in examined.stderr
    disk.unlink()
    disk.with_name("away").rename(disk)
    eventually(lambda: states(daemon) == {"near": "ready", "far": "ready"})


def test_a_vault_that_can_no_longer_be_reached_is_missing(daemon, disk, eventually):
    break_disk(disk)
    eventually(lambda: states(daemon)["near"] == "vault_missing")
    assert daemon.paths("granite", "--vault", "near") == ["a.md"]


@pytest.mark.shared_daemon
def test_a_folder_that_holds_no_notes_is_refused(daemon, vault):
    root = vault({"a.md": "granite"})
    assert daemon.run("vault", "add", str(root)).returncode == 0
    known = [each["path"] for each in daemon.json("vault", "list")["vaults"]]  # with those of other tests
    own = str(paths.data_directory() / "vaults")
    for folder in ("/proc", "/sys/kernel", "/dev", "/etc", own, "/" + "x" * 5000):
        done = daemon.run("vault", "add", folder)
        assert done.returncode in (2, 3), folder
        assert "incident" not in done.stderr, folder
        assert [each["path"] for each in daemon.json("vault", "list")["vaults"]] == known, folder


@pytest.mark.shared_daemon
def test_a_removed_index_is_gone(daemon, vault, tmp_path):
    root = vault({"a.md": "granite"})
    daemon.run("vault", "add", str(root))
    daemon.run("index", "--wait", "--vault", str(root))
    assert paths.vault_data_directory(root).is_dir()
    assert daemon.run("vault", "remove", str(root), "--delete-index").returncode == 0
    assert not paths.vault_data_directory(root).exists()
    shutil.rmtree(root)
