"""Lost file events trigger a rescan; a vault that is missing for a while keeps its index."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys

import pytest

from vaultseek.base import paths

MANY = {f"n{i}.md": f"Note {i} about granite." for i in range(40)}


@pytest.mark.fault("C10")
@pytest.mark.shared_daemon
def test_a_vault_that_vanishes_keeps_its_index(daemon, vault, eventually, tmp_path):
    root = daemon.indexed(vault(MANY))
    root.rename(tmp_path / "away")
    eventually(lambda: state(daemon)["state"] == "vault_missing", "noticed that it is gone")
    assert daemon.json("search", "granite", "--vault", "vault")["results"], "the index still answers"
    root.mkdir()  # an empty mount point
    eventually(lambda: "disappeared at once" in state(daemon)["reason"], "an empty folder is not believed")
    assert state(daemon)["notes"] == 40
    root.rmdir()
    (tmp_path / "away").rename(root)
    (root / "new.md").write_text("back with basalt")
    eventually(lambda: daemon.paths("basalt", "--vault", "vault", "--mode", "keyword") == ["new.md"])
    assert state(daemon)["state"] == "ready"


@pytest.mark.shared_daemon
def test_most_notes_may_be_excluded(daemon, vault, eventually):
    notes = {f"folder/{name}": text for name, text in MANY.items()} | {"left.md": "granite"}
    root = daemon.indexed(vault(notes | {".obsidian/app.json": "{}"}))
    (root / ".obsidian/app.json").write_text('{"userIgnoreFilters": ["folder/"]}')
    eventually(lambda: (state(daemon)["notes"], state(daemon)["state"]) == (1, "ready"))


@pytest.mark.shared_daemon
def test_skipped_files_appear_in_and_vanish_from_the_status(daemon, vault, eventually, tmp_path):
    root = daemon.indexed(
        vault({"a.md": "granite", "inner/.obsidian/app.json": "{}", "inner/b.md": "basalt"})
    )
    assert skipped(daemon) == {"inner": "nested_vault"}
    (root / "elsewhere").symlink_to(tmp_path)
    eventually(lambda: skipped(daemon) == {"inner": "nested_vault", "elsewhere": "link"})
    (root / "elsewhere").unlink()
    shutil.rmtree(root / "inner")
    eventually(lambda: skipped(daemon) == {})


def skipped(daemon) -> dict[str, str]:
    return {problem["path"]: problem["code"] for problem in state(daemon)["problems"]}


@pytest.mark.fault("C10")
@pytest.mark.shared_daemon
def test_a_mass_deletion_is_applied_only_by_the_index_command(daemon, vault, eventually):
    root = daemon.indexed(
        vault({f"folder/{name}": text for name, text in MANY.items()} | {"left.md": "granite"})
    )
    shutil.rmtree(root / "folder")
    eventually(lambda: state(daemon)["state"] == "vault_missing")
    assert state(daemon)["notes"] == 41
    assert "index the vault" in state(daemon)["reason"]
    daemon.run("index", "--vault", str(root))
    eventually(lambda: state(daemon)["notes"] == 1)
    assert state(daemon)["state"] == "ready"


def drop_rights() -> None:
    """Make the process that is about to run a command subject to ordinary permission checks, even as root."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.skipif(sys.platform != "linux", reason="the rights of root are dropped as Linux does it")
def test_a_folder_that_was_closed_is_watched_when_it_can_be_read(daemon, vault, eventually):
    root = vault({"a.md": "granite", "closed/deep/b.md": "granite"})
    (root / "closed").chmod(0)
    assert daemon.run("index", "--wait", "--vault", str(root), preexec_fn=drop_rights).returncode == 0
    assert skipped(daemon) == {"closed": "unreadable_folder"}
    (root / "closed").chmod(0o755)
    eventually(lambda: state(daemon)["notes"] == 2)
    assert skipped(daemon) == {}
    (root / "closed/deep/c.md").write_text("basalt")
    eventually(
        lambda: daemon.paths("basalt", "--vault", "vault", "--mode", "keyword") == ["closed/deep/c.md"]
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the rights of root are dropped as Linux does it")
def test_a_folder_that_is_closed_is_called_so(daemon, vault, eventually):
    root = vault({"notes/closed/b.md": "granite"})
    daemon.run("index", "--wait", "--vault", str(root / "notes"), preexec_fn=drop_rights)
    (root / "notes/closed").chmod(0)
    read = daemon.run("read", "closed/b.md", "--vault", str(root / "notes"))
    assert "cannot be read: Permission denied; check its folder's permissions" in read.stderr
    root.chmod(0)
    eventually(lambda: state(daemon)["state"] == "vault_missing")
    assert "one of its parent folders is not accessible" in state(daemon)["reason"]
    for other in (["vault", "add"], ["search", "granite", "--vault"]):
        assert "one of its parent folders is not accessible" in daemon.run(*other, str(root / "other")).stderr


@pytest.mark.fault("C1")
@pytest.mark.shared_daemon
def test_an_overflow_of_events_loses_nothing(daemon, vault, eventually):
    root = daemon.indexed(vault({"a.md": "granite"}))
    pid = daemon.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        for folder in range(3):
            (root / f"f{folder}").mkdir()
            for number in range(700):
                (root / f"f{folder}" / f"{number}.md").write_text(f"slate {number}")
    finally:
        os.kill(pid, signal.SIGCONT)
    eventually(lambda: state(daemon)["notes"] == 2101, "every note is indexed")


@pytest.mark.fault("C3")
@pytest.mark.shared_daemon
@pytest.mark.parametrize("end", ["removed", "renamed"])
def test_notes_are_seen_after_a_process_left_a_removed_folder(daemon, vault, eventually, end):
    root = daemon.indexed(vault({"a.md": "granite", "f/b.md": "granite"}))
    process = subprocess.Popen(["sleep", "600"], cwd=root / "f")
    try:
        shutil.rmtree(root / "f")
        (root / "f").mkdir()
        (root / "f/c.md").write_text("basalt")
        eventually(lambda: found(daemon, root, "basalt") == ["f/c.md"], "the new folder is watched")
        if end == "removed":
            shutil.rmtree(root / "f")
        else:
            (root / "f").rename(root / "g")
        eventually(lambda: "f/c.md" not in found(daemon, root, "basalt"))
    finally:
        process.kill()
        process.wait()
    (root / "d.md").write_text("slate")
    eventually(lambda: found(daemon, root, "slate") == ["d.md"], "a new note is seen")
    assert state(daemon)["state"] == "ready"
    assert "Overwritten" not in daemon.log()


@pytest.mark.fault("C3")
@pytest.mark.shared_daemon
def test_notes_are_seen_in_folders_that_were_moved_and_made_again(daemon, vault, eventually):
    root = daemon.indexed(vault({"f/a.md": "granite"}))
    pid = daemon.pid()
    os.kill(pid, signal.SIGSTOP)  # it reads the events when the folders have already been renamed
    try:
        (root / "f/new").mkdir()
        (root / "f/new/b.md").write_text("basalt")
        (root / "f/new").rename(root / "f/moved")
        (root / "f/new").mkdir()
    finally:
        os.kill(pid, signal.SIGCONT)
    eventually(lambda: found(daemon, root, "basalt") == ["f/moved/b.md"])
    (root / "f/moved/c.md").write_text("slate")
    eventually(lambda: found(daemon, root, "slate") == ["f/moved/c.md"], "a new note is seen")
    assert "Overwritten" not in daemon.log()


def found(daemon, root, word) -> list[str]:
    return daemon.paths(word, "--vault", str(root), "--mode", "keyword")


@pytest.mark.fault("B3")
@pytest.mark.shared_daemon
def test_a_lost_keyword_index_is_rebuilt_while_it_runs(daemon, vault, eventually):
    root = daemon.indexed(vault(MANY))
    computed = state(daemon)["embeddings_computed"]
    shutil.rmtree(paths.vault_data_directory(root) / "keyword")
    (root / "new.md").write_text("basalt")
    eventually(lambda: daemon.paths("basalt", "--vault", str(root), "--mode", "keyword") == ["new.md"])
    eventually(
        lambda: len(daemon.paths("granite", "--vault", str(root), "--mode", "keyword", "-n", "50")) == 40
    )
    daemon.run("index", "--wait", "--vault", str(root))
    assert state(daemon)["embeddings_computed"] <= computed + 2


def test_a_lost_vector_store_is_rebuilt_without_the_model(daemon, vault, tmp_path):
    root = daemon.indexed(vault(MANY))
    computed = state(daemon)["embeddings_computed"]
    daemon.stop()
    (store,) = (tmp_path / "data" / "vaultseek" / "vaults").glob("*/semantic")
    shutil.rmtree(store)
    daemon.run("index", "--wait", "--vault", str(root))
    assert (state(daemon)["embeddings_computed"], state(daemon)["pending"]) == (computed, 0)
    answer = daemon.json("search", "granite", "--mode", "semantic", "--vault", str(root))
    assert len(answer["results"]) == 10


@pytest.fixture
def limited(daemon, eventually):
    """Start the test's daemon in a user namespace with these limits, as in /proc/sys/user."""
    try:
        subprocess.run(["unshare", "-Ur", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("user namespaces are not allowed here")
    processes = []

    def start(**limits: int) -> subprocess.Popen:
        orders = [f"echo {value} > /proc/sys/user/{name}" for name, value in limits.items()]
        script = " && ".join([*orders, f"exec {sys.executable} -m vaultseek serve"])
        processes.append(subprocess.Popen(["unshare", "-Ur", "sh", "-c", script], env=daemon.environment))
        eventually(lambda: daemon.run("status").returncode == 0)
        return processes[-1]

    yield start
    daemon.stop()
    for process in processes:
        process.wait(30)


@pytest.mark.fault("C2")
@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_polling_takes_over_at_the_limit_of_watches(daemon, vault, eventually, limited):
    root = vault({f"f{i}/a.md": f"granite {i}" for i in range(40)})
    limited(max_inotify_watches=10)
    daemon.run("index", "--vault", str(root))
    eventually(lambda: state(daemon)["state"] == "polling")
    assert "max_user_watches" in state(daemon)["reason"]
    for number in range(40):
        (root / f"f{number}" / "b.md").write_text("basalt")
    eventually(lambda: state(daemon)["notes"] == 80)


@pytest.mark.fault("C2")
@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_polling_takes_over_when_the_watches_run_out_later(daemon, vault, eventually, limited):
    root = vault({"a.md": "granite"})
    limited(max_inotify_watches=10)
    daemon.run("index", "--vault", str(root))
    assert state(daemon)["state"] == "ready"
    for number in range(20):
        (root / f"f{number}").mkdir()
    eventually(lambda: state(daemon)["state"] == "polling", "the limit is noticed")
    (root / "f19" / "b.md").write_text("basalt")
    eventually(lambda: state(daemon)["notes"] == 2, "what is not watched is looked at")
    for number in range(20):
        shutil.rmtree(root / f"f{number}")
    eventually(lambda: state(daemon)["state"] == "ready", "all of it is watched again", 60)


@pytest.mark.fault("K6")
@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_polling_takes_over_without_an_inotify_instance(daemon, vault, eventually, limited):
    root = vault({"a.md": "granite"})
    process = limited(max_inotify_instances=0)
    assert daemon.run("index", "--wait", "--vault", str(root)).returncode == 0
    assert state(daemon)["state"] == "polling"
    assert "max_user_instances" in state(daemon)["reason"]
    (root / "b.md").write_text("basalt")
    eventually(lambda: state(daemon)["notes"] == 2, "an edit is found")
    inside = ["nsenter", "--preserve-credentials", "-U", "-t", str(process.pid)]
    subprocess.run([*inside, "sh", "-c", "echo 9 > /proc/sys/user/max_inotify_instances"], check=True)
    eventually(lambda: state(daemon)["state"] == "ready", "it is watched again", 60)


@pytest.mark.fault("C10")
@pytest.mark.shared_daemon
def test_a_save_does_not_hide_that_most_notes_are_gone(daemon, vault, eventually, tmp_path):
    root = daemon.indexed(
        vault({f"folder/{name}": text for name, text in MANY.items()} | {"left.md": "granite"})
    )
    (root / "folder").rename(tmp_path / "away")
    eventually(lambda: state(daemon)["state"] == "vault_missing")
    (root / "left.md").write_text("basalt")
    eventually(lambda: daemon.paths("basalt", "--vault", str(root), "--mode", "keyword") == ["left.md"])
    answer = daemon.json("search", "granite", "--vault", str(root), "--mode", "keyword")
    assert state(daemon)["state"] == "vault_missing"
    assert [part["code"] for part in answer["partial"]] == ["vault_missing"]
    assert state(daemon)["notes"] == 41
    (tmp_path / "away").rename(root / "folder")
    eventually(lambda: state(daemon)["state"] == "ready")


@pytest.mark.fault("E6")
def test_a_folder_whose_name_is_no_text_is_a_problem_and_no_failure(daemon, vault, eventually):
    root = daemon.indexed(vault({"a.md": "granite"}))
    folder = root / os.fsdecode(b"b\xff")
    folder.mkdir()
    eventually(lambda: skipped(daemon) == {"b\\xff": "bad_name"}, "the folder is reported")
    (folder / "c.md").write_text("basalt")
    (root / "d.md").write_text("basalt")
    eventually(lambda: daemon.paths("basalt", "--vault", str(root), "--mode", "keyword") == ["d.md"])
    assert state(daemon)["state"] == "ready"
    shutil.rmtree(folder)
    eventually(lambda: skipped(daemon) == {}, "the folder is gone")
    assert "Traceback" not in daemon.log()


@pytest.mark.fault("E6")
@pytest.mark.parametrize("name", ["two\nlines.md", "a\ttab.md", "an\x1b[31mescape.md", "a\u202emark.md"])
@pytest.mark.shared_daemon
def test_a_note_with_an_odd_name_can_be_read(daemon, vault, name):
    root = daemon.indexed(vault({name: "granite"}))
    assert daemon.paths("granite", "--vault", str(root)) == [name]
    assert daemon.json("read", name, "--vault", str(root))["text"] == "granite"


def state(daemon):
    """Return the status of the only vault."""
    (vault,) = daemon.json("status")["vaults"]
    return vault
