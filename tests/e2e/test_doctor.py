"""``vaultseek doctor`` in healthy and broken states, mostly with the stand-in model."""

import contextlib
import getpass
import json
import os
import shutil
import socket
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from vaultseek.base import paths
from vaultseek.base.model import NOT_EMBEDDED, Problem
from vaultseek.semantic.vectors.index import VectorIndex
from vaultseek.semantic.vectors.port import VectorBatch
from vaultseek.store.ledger import Ledger
from vaultseek.tools.doctor import system
from vaultseek.tools.doctor.finding import Finding
from vaultseek.tools.doctor.report import report
from vaultseek.tools.doctor.vaults import KnownVault, check_notes

NOTES = {"Secret Diary.md": "# Hidden thoughts\n", "sub/b.md": "# B\n"}


@pytest.fixture
def doctor(daemon):
    """``doctor()`` returns the exit code and the findings by check name; it does not start a daemon."""

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


def test_a_fresh_home_has_no_problems_and_stays_unchanged(doctor, tmp_path):
    code, findings = doctor()
    assert code == 0
    assert {check for check, finding in findings.items() if finding["status"] != "ok"} == {"model"}
    assert "stand-in" in findings["model"]["message"]
    assert findings["daemon"]["message"].startswith("not running")
    assert "64 numbers per vector; by hashing words" in findings["worker"]["message"]
    assert not (tmp_path / "data").exists()
    assert not (tmp_path / "config").exists()


@pytest.mark.model
def test_the_bundled_model_is_loaded_for_real(daemon, doctor):
    del daemon.environment["VAULTSEEK_MODEL__NAME"]
    code, findings = doctor()
    assert code == 0
    assert findings["model"]["message"].startswith("bundled, digest ")
    assert "384 numbers per vector" in findings["worker"]["message"]


@pytest.mark.shared_daemon
def test_a_running_daemon_and_its_vault(daemon, doctor, vault):
    daemon.indexed(vault(NOTES | {"long.md": "# Long\n\n" + "word " * 400}))
    code, findings = doctor("--no-worker")
    assert code == 0
    assert findings["daemon"]["message"].startswith("version ")
    assert findings["vault vault"]["message"] == "3 notes can be read"
    indexed = "3 notes, 4 passages, 3 notes searchable by word; "
    assert findings["index of vault"]["message"].startswith(indexed)
    assert findings["vectors of vault"]["message"] == "4 passages and 3 notes embedded"
    assert "worker" not in findings


def damage(store: Path) -> None:
    (store / "chunks.journal").write_bytes(os.urandom(50_000))


def lose_a_passage(store: Path) -> None:
    index = VectorIndex(store, "chunks")
    index.apply(VectorBatch.empty(), np.array([1]))


@pytest.mark.parametrize(
    ("spoil", "status", "message"),
    [
        (damage, "broken", "the vector index has to be rebuilt: the journal has an unknown header"),
        (lose_a_passage, "broken", "the vector store holds 1 passage, 2 expected"),
        (shutil.rmtree, "warning", "no vector store at "),
    ],
)
def test_damaged_vectors_are_reported_and_the_advice_repairs_them(
    daemon, doctor, vault, spoil, status, message
):
    root = daemon.indexed(vault(NOTES))
    daemon.stop()
    (store,) = (data_directory(root) / "semantic").iterdir()
    spoil(store)
    before = sorted(path.stat().st_mtime_ns for path in store.rglob("*"))
    finding = doctor("--no-worker")[1]["vectors of vault"]
    assert finding["status"] == status
    assert finding["message"].startswith(message)
    assert sorted(path.stat().st_mtime_ns for path in store.rglob("*")) == before, "nothing is changed"
    if "delete" in finding["advice"]:
        assert str(store) in finding["advice"]
        shutil.rmtree(store)
    daemon.run("index", "--wait", "--vault", str(root))
    finding = doctor("--no-worker")[1]["vectors of vault"]
    assert finding["message"] == "2 passages and 2 notes embedded"


def test_a_text_without_a_vector_is_a_finding_until_it_is_embedded(daemon, doctor, vault):
    root = daemon.indexed(vault(NOTES))
    daemon.stop()
    directory = data_directory(root)
    (store,) = (directory / "semantic").iterdir()
    lose_a_passage(store)
    ledger = Ledger(directory / "ledger.sqlite")
    ((path,),) = ledger.select("SELECT path FROM notes n JOIN chunks c ON c.note = n.id WHERE c.number = 1")
    ledger.problems.add(path, Problem(NOT_EMBEDDED, "it could not be embedded"))
    ledger.close()
    finding = doctor("--no-worker")[1]["vectors of vault"]
    message = "1 passage and 2 notes embedded, but 1 note with text that could not be embedded"
    assert (finding["status"], finding["message"]) == ("warning", message)
    daemon.run("index", "--wait", "--vault", str(root))
    finding = doctor("--no-worker")[1]["vectors of vault"]
    assert (finding["status"], finding["message"]) == ("ok", "2 passages and 2 notes embedded")


def test_a_broken_configuration_is_a_finding_and_the_other_checks_run(doctor, file, vault):
    root = vault(NOTES)
    file.write_text(
        f'[search]\nlimt = 3\n[[vaults]]\nname = "mine"\npath = "{root}"\n[[vaults]]\nname = "b"\n'
    )
    code, findings = doctor("--no-worker")
    assert (code, findings["configuration"]["status"]) == (1, "broken")
    assert findings["vault mine"]["message"] == "2 notes can be read"
    file.write_text("[search\n")
    code, findings = doctor("--no-worker")
    assert code == 1
    assert "line 1: not valid TOML" in findings["configuration"]["message"]
    assert "config check" in findings["configuration"]["advice"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("ledger.sqlite", "ledger: "), ("keyword", "keyword index: ")],
    ids=["ledger", "keyword"],
)
def test_a_damaged_index_is_reported_and_the_advice_repairs_it(daemon, doctor, vault, name, message):
    root = daemon.indexed(vault(NOTES))
    daemon.stop()
    place = data_directory(root) / name
    for path in [place] if place.is_file() else [path for path in place.iterdir() if path.stat().st_size]:
        data = bytearray(path.read_bytes())
        data[len(data) // 4 :] = os.urandom(len(data) - len(data) // 4)
        path.write_bytes(data)
    code, findings = doctor("--no-worker")
    assert (code, findings["index of vault"]["status"]) == (1, "broken")
    assert findings["index of vault"]["message"].startswith(message)
    assert "`vaultseek start --restart`" in findings["index of vault"]["advice"]
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
    code, findings = doctor("--no-worker")
    assert code == 1
    assert findings["vault gone"]["message"] == f"{tmp_path / 'gone'}: no such folder"
    assert "vault remove" in findings["vault gone"]["advice"]
    assert findings["vault vault"]["message"] == "2 notes, but 1 not a file"


def test_a_model_that_is_no_model_and_a_folder_open_to_all(daemon, doctor, tmp_path):
    (tmp_path / "empty").mkdir()
    daemon.environment["VAULTSEEK_MODEL__NAME"] = str(tmp_path / "empty")
    (tmp_path / "data" / "vaultseek").mkdir(parents=True, mode=0o755)
    code, findings = doctor()
    assert code == 1
    assert findings["model"]["status"] == findings["worker"]["status"] == "broken"
    assert "models use bundled" in findings["model"]["advice"]
    assert findings["directory of indexes"]["status"] == "warning"
    assert findings["directory of indexes"]["advice"].startswith("run `chmod 700 ")


@pytest.mark.model
def test_a_wrong_model_for_other_languages_is_no_good_model(daemon, doctor):
    daemon.environment |= {
        "VAULTSEEK_MODEL__NAME": "bundled",
        "VAULTSEEK_MODEL__OTHER_LANGUAGES": "owner/none",
    }
    code, findings = doctor()
    assert code == 1
    assert findings["model for other languages"]["status"] == "broken"
    assert "'owner/none' is not on this machine" in findings["model for other languages"]["message"]
    assert "model.other_languages" in findings["model for other languages"]["advice"]


def test_the_report_hides_the_users_names(daemon, file, vault, tmp_path):
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


def test_no_part_of_a_path_is_in_the_report(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    config = home / "Clients" / "Acme Divorce" / "vaultseek.toml"
    messages = {
        f"{config}: no errors": "<path>: no errors",
        f"no folder at {home}/Clients/Acme Divorce": "no folder at <path>",
        "'/srv/My Clients/Acme/data': it is a file": "'<path>': it is a file",
        f"{paths.data_directory()} belongs to uid 7": "<path> belongs to uid 7",
        "/usr/bin/python3 and /dev/shm, 1/2 read": "/usr/bin/python3 and /dev/shm, 1/2 read",
    }
    lines = report([Finding("a check", "ok", message) for message in messages], config).splitlines()[2:]
    assert lines == [f"- ok: a check: {message}" for message in messages.values()]


def test_a_vault_with_a_common_name_leaves_the_report_readable(daemon, file, vault):
    file.write_text(f'[[vaults]]\nname = "notes"\npath = "{vault(NOTES)}"\n')
    done = daemon.run("doctor", "--report", "--no-worker")
    assert "- ok: vault <vault 1>: 2 notes can be read" in done.stdout


def test_a_vault_is_hidden_whatever_its_name(file, vault):
    root = vault(NOTES)
    for name in ("notes", "read", "model", "My Debts"):
        file.write_text(f'[[vaults]]\nname = "{name}"\npath = "{root}"\n')
        kinds = ("vault", "index of", "vectors of", "audit of", "engine of", "state of", "model of")
        findings = [Finding(f"{kind} {name}", "ok", f"3 notes can be read of '{name}'") for kind in kinds]
        findings.append(Finding(f"model of {name} for other languages", "ok", "read"))
        findings.append(Finding("state of a shard", "ok", "read"))
        lines = report([*findings, Finding("model", "ok", "read")], file).splitlines()[2:]
        assert lines == [
            *(f"- ok: {kind} <vault 1>: 3 notes can be read of '<vault 1>'" for kind in kinds),
            "- ok: model of <vault 1> for other languages: read",
            "- ok: state of <vault>: read",
            "- ok: model: read",
        ]


def test_the_remedy_fits_what_is_wrong_with_a_note(vault):
    root = vault(NOTES)
    (root / "a.md").symlink_to("nowhere.md")
    (finding,) = check_notes(KnownVault("vault", root))
    assert "replace the link with a copy of the note" in finding.advice
    assert "chmod" not in finding.advice
    (root / "a.md").rename(root / os.fsdecode(b"\xff.md"))
    (finding,) = check_notes(KnownVault("vault", root))
    assert "rename" in finding.advice
    assert "link" not in finding.advice


def test_the_page_says_what_to_do_and_forms_exclude_each_other(daemon, file):
    file.write_text("[search]\nlimit = 0\n")
    done = daemon.run("doctor", "--no-worker")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("1 problem")
    assert "→ correct it; `vaultseek config check` names the line" in done.stdout
    both = daemon.run("doctor", "--json", "--report")
    assert (both.returncode, json.loads(both.stdout)["error"]["code"]) == (2, "bad_request")


def test_too_few_watches_or_instances_come_with_the_line_to_type(tmp_path, monkeypatch):
    limit = tmp_path / "max_user_watches"
    monkeypatch.setattr(system, "_MAX_WATCHES", limit)
    instances = tmp_path / "max_user_instances"
    monkeypatch.setattr(system, "_MAX_INSTANCES", instances)
    assert list(system.check_inotify(10, 2, None)) == []
    limit.write_text("5\n")
    (finding,) = system.check_inotify(10, 2, None)
    assert finding.status == "warning"
    assert "`sudo sysctl fs.inotify.max_user_watches=1048576`" in finding.advice
    limit.write_text("100000000\n")
    instances.write_text("100000000\n")
    (finding,) = system.check_inotify(10, 2, None)
    assert finding.status == "ok"
    instances.write_text("1\n")
    (finding,) = system.check_inotify(10, 2, None)
    assert finding.status == "warning"
    assert "`sudo sysctl fs.inotify.max_user_instances=1024`" in finding.advice


@pytest.mark.fault("K8")
@pytest.mark.shared_daemon
def test_an_audit_finds_a_vector_of_another_text(doctor, daemon, vault):
    root = daemon.indexed(vault({f"{n}.md": f"Note {n} about granite and basalt." for n in range(3)}))
    check = f"audit of {root.name}"
    code, findings = doctor("--audit", "--no-worker")
    assert (code, findings[check]["message"]) == (0, "3 notes with up-to-date vectors")
    assert check not in doctor("--no-worker")[1]
    with contextlib.closing(sqlite3.connect(data_directory(root) / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("UPDATE notes SET title = 'Gneiss' WHERE path = '1.md'")
    code, findings = doctor("--audit", "--no-worker")
    assert code == 1
    assert findings[check]["message"] == "1 note of 3 with outdated vectors: 1.md"
