"""``vaultseek doctor`` in the states that a user may be in; the model is the stand-in where it may be."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import sqlite3
from pathlib import Path

import pytest

from vaultseek import paths
from vaultseek.doctor import system

NOTES = {"Secret Diary.md": "# Hidden thoughts\n", "sub/b.md": "# B\n"}


@pytest.fixture
def doctor(daemon):
    """``doctor()``: exit code and findings by the name of their check; no daemon is started by it."""

    def examine(*arguments: str, **more):
        done = daemon.run("doctor", "--json", *arguments, **more)
        assert done.stderr == ""
        answer = json.loads(done.stdout)
        assert answer["ok"] == (done.returncode == 0)
        assert daemon.run("status").returncode in (0, 3)
        return done.returncode, {finding["check"]: finding for finding in answer["findings"]}

    return examine


@pytest.fixture
def file(tmp_path) -> Path:
    """The user's configuration file."""
    place = Path(os.environ["XDG_CONFIG_HOME"], "vaultseek", "config.toml")
    place.parent.mkdir(parents=True)
    return place


def data_directory(root: Path) -> Path:
    return paths.vault_data_directory(root)


def test_a_fresh_home_is_sound_and_stays_as_it_is(doctor, tmp_path):
    code, found = doctor()
    assert code == 0
    assert {check for check, finding in found.items() if finding["status"] != "ok"} == {"model"}
    assert "stand-in" in found["model"]["message"]
    assert found["daemon"]["message"].startswith("none is running")
    assert "64 numbers a vector" in found["worker"]["message"]
    assert not (tmp_path / "data").exists()
    assert not (tmp_path / "config").exists()


@pytest.mark.model
def test_the_bundled_model_is_loaded_for_real(daemon, doctor):
    del daemon.environment["VAULTSEEK_MODEL__NAME"]
    code, found = doctor()
    assert code == 0
    assert found["model"]["message"].startswith("bundled, digest ")
    assert "384 numbers a vector" in found["worker"]["message"]


def test_a_running_daemon_and_its_vault(daemon, doctor, vault):
    root = vault(NOTES)
    daemon.run("index", "--wait", "--vault", str(root))
    code, found = doctor("--no-worker")
    assert code == 0
    assert found["daemon"]["message"].startswith("version ")
    assert found["vault vault"]["message"] == "2 notes can be read"
    assert found["index of vault"]["message"].startswith("2 notes, 2 passages, 2 notes by word; ")
    assert found["vectors of vault"]["message"] == "2 passages and 2 notes by meaning"
    assert "worker" not in found


def damage(store: Path) -> None:
    (store / "chroma.sqlite3").write_bytes(os.urandom(50_000))


def lose_a_passage(store: Path) -> None:
    with sqlite3.connect(store / "chroma.sqlite3") as connection:
        connection.execute("DELETE FROM embeddings WHERE id = (SELECT min(id) FROM embeddings)")


@pytest.mark.parametrize(
    ("spoil", "status", "said"),
    [
        (damage, "broken", "the vector index has to be rebuilt: file is not a database"),
        (lose_a_passage, "broken", "the vector store holds 1 passages, 2 were put into it"),
        (shutil.rmtree, "warning", "no vector store at "),
    ],
)
def test_spoilt_vectors_are_named_and_what_is_advised_mends_them(daemon, doctor, vault, spoil, status, said):
    root = vault(NOTES)
    daemon.run("index", "--wait", "--vault", str(root))
    daemon.stop()
    (store,) = (data_directory(root) / "semantic").iterdir()
    spoil(store)
    before = sorted(path.stat().st_mtime_ns for path in store.rglob("*"))
    found = doctor("--no-worker")[1]["vectors of vault"]
    assert found["status"] == status
    assert found["message"].startswith(said)
    assert sorted(path.stat().st_mtime_ns for path in store.rglob("*")) == before, "nothing is changed"
    if "delete" in found["advice"]:
        assert str(store) in found["advice"]
        shutil.rmtree(store)
    daemon.run("index", "--wait", "--vault", str(root))
    found = doctor("--no-worker")[1]["vectors of vault"]
    assert found["message"] == "2 passages and 2 notes by meaning"


def test_a_broken_configuration_is_a_finding_and_the_rest_is_looked_at(doctor, file, vault):
    root = vault(NOTES)
    file.write_text(
        f'[search]\nlimt = 3\n[[vaults]]\nname = "mine"\npath = "{root}"\n[[vaults]]\nname = "b"\n'
    )
    code, found = doctor("--no-worker")
    assert (code, found["configuration"]["status"]) == (1, "broken")
    assert found["vault mine"]["message"] == "2 notes can be read"
    file.write_text("[search\n")
    code, found = doctor("--no-worker")
    assert code == 1
    assert "line 1: not valid TOML" in found["configuration"]["message"]
    assert "config check" in found["configuration"]["advice"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("ledger.sqlite", "ledger: "), ("keyword", "keyword index: ")],
    ids=["ledger", "keyword"],
)
def test_a_damaged_index_is_named_and_what_is_advised_mends_it(daemon, doctor, vault, name, said):
    root = vault(NOTES)
    daemon.run("index", "--wait", "--vault", str(root))
    daemon.stop()
    place = data_directory(root) / name
    for path in [place] if place.is_file() else [path for path in place.iterdir() if path.stat().st_size]:
        data = bytearray(path.read_bytes())
        data[len(data) // 4 :] = os.urandom(len(data) - len(data) // 4)
        path.write_bytes(data)
    code, found = doctor("--no-worker")
    assert (code, found["index of vault"]["status"]) == (1, "broken")
    assert found["index of vault"]["message"].startswith(said)
    assert "start it again" in found["index of vault"]["advice"]
    daemon.run("index", "--wait", "--vault", str(root))
    assert doctor("--no-worker")[1]["index of vault"]["status"] == "ok"


def test_a_vault_that_is_gone_and_notes_that_cannot_be_read(daemon, doctor, file, vault, tmp_path):
    root = vault(NOTES)
    link = root / "elsewhere.md"
    link.symlink_to(tmp_path / "nowhere.md")
    (tmp_path / "gone").mkdir()
    for folder in (root, tmp_path / "gone"):
        assert daemon.run("vault", "add", str(folder)).returncode == 0
    daemon.stop()
    (tmp_path / "gone").rmdir()
    code, found = doctor("--no-worker")
    assert code == 1
    assert found["vault gone"]["message"] == f"no folder at {tmp_path / 'gone'}"
    assert "vault remove" in found["vault gone"]["advice"]
    assert found["vault vault"]["message"] == "2 notes, but 1 not a file"


def test_a_model_that_is_no_model_and_a_folder_open_to_all(daemon, doctor, tmp_path):
    (tmp_path / "empty").mkdir()
    daemon.environment["VAULTSEEK_MODEL__NAME"] = str(tmp_path / "empty")
    (tmp_path / "data" / "vaultseek").mkdir(parents=True, mode=0o755)
    code, found = doctor()
    assert code == 1
    assert found["model"]["status"] == found["worker"]["status"] == "broken"
    assert "models use bundled" in found["model"]["advice"]
    assert found["directory of indexes"]["status"] == "warning"
    assert found["directory of indexes"]["advice"].startswith("run `chmod 700 ")


def test_the_report_names_nothing_of_the_users(daemon, file, vault, tmp_path):
    root = vault(NOTES)
    private = tmp_path / "My Lawsuit"
    root.rename(private)
    file.write_text(
        f'wife = "x"\n[[vaults]]\nname = "Affairs"\npath = "{private}"\n'
        '[[vaults]]\nname = "Debts"\npath = "~/Debts"\n'
    )
    done = daemon.run("doctor", "--report", "--no-worker")
    assert done.returncode == 1
    assert "- broken: configuration: wrong or unknown: vaults.path" in done.stdout
    assert "- ok: vault <vault 1>: 2 notes can be read" in done.stdout
    hidden = [str(tmp_path), str(daemon.home), "Lawsuit", "Affairs", "Debts", "Diary", "Hidden", "wife"]
    for word in [*hidden, socket.gethostname()]:
        assert word not in done.stdout
    assert f" {getpass.getuser()}" not in done.stdout


def test_a_vault_that_is_called_like_a_word_of_ours_leaves_the_report_legible(daemon, file, vault):
    file.write_text(f'[[vaults]]\nname = "notes"\npath = "{vault(NOTES)}"\n')
    done = daemon.run("doctor", "--report", "--no-worker")
    assert "- ok: vault <vault 1>: 2 notes can be read" in done.stdout


def test_the_page_says_what_to_do_and_forms_exclude_each_other(daemon, file):
    file.write_text("[search]\nlimit = 0\n")
    done = daemon.run("doctor", "--no-worker")
    assert done.returncode == 1
    assert "broken" in done.stdout.splitlines()[-1]
    assert "→ correct it; `vaultseek config check` names the line" in done.stdout
    both = daemon.run("doctor", "--json", "--report")
    assert (both.returncode, json.loads(both.stdout)["error"]["code"]) == (2, "bad_request")


def test_too_few_watches_come_with_the_line_to_type(tmp_path, monkeypatch):
    limit = tmp_path / "max_user_watches"
    monkeypatch.setattr(system, "_MAX_WATCHES", limit)
    assert list(system.check_watches(10, None)) == []
    limit.write_text("5\n")
    (found,) = system.check_watches(10, None)
    assert found.status == "warning"
    assert "`sudo sysctl fs.inotify.max_user_watches=1048576`" in found.advice
    limit.write_text("100000000\n")
    (found,) = system.check_watches(10, None)
    assert found.status == "ok"
