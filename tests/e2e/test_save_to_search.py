"""From a saved note to a result on the terminal, through a real daemon."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

RESULT_KEYS = {
    "rank", "path", "title", "heading_path", "chunk_id", "start_line", "end_line", "score", "preview", "tags",
    "modified", "lanes", "recency",
}  # fmt: skip
NOTES = {
    "pump.md": "---\ntags: [work/pumps]\naliases: [Bilge]\n---\n# Pump\n\nThe float switch shows E-4107.\n",
    "garden.md": "# Garden\n\n## Pests\n\nSlugs eat the lettuce. See [[pump]].\n",
    "sub/tea.md": "Green tea, seventy degrees. #drinks\n",
}


@pytest.mark.shared_daemon
def test_a_search_prints_the_contract(daemon, vault):
    root = vault(NOTES)
    answer = daemon.json("search", "lettuce", "--vault", str(root), "--wait")
    assert {"query", "vault", "mode", "took_ms", "results", "partial", "index"} <= set(answer)
    first = answer["results"][0]
    assert set(first) >= RESULT_KEYS
    assert (first["path"], first["rank"], first["score"]) == ("garden.md", 1, 1.0)
    assert (first["heading_path"], first["start_line"]) == (["Garden"], 1)
    assert set(first["lanes"]) == {"keyword", "semantic", "graph"}
    assert set(answer["index"]) >= {"notes", "chunks", "embedded", "pending", "revision"}
    assert (answer["index"]["notes"], answer["index"]["pending"]) == (3, 0)


@pytest.mark.shared_daemon
def test_identifiers_filters_and_exit_codes(daemon, vault):
    assert daemon.run("search", "x").returncode == 2, "no vault is known"
    root = daemon.indexed(vault(NOTES))
    assert daemon.paths("E-4107", "--vault", str(root))[0] == "pump.md"
    assert daemon.paths("tag:work", "--vault", str(root)) == ["pump.md"]
    assert daemon.paths("tag:drinks lettuce", "--vault", str(root)) in ([], ["sub/tea.md"])
    assert daemon.run("search", "E-9999", "--mode", "keyword", "--vault", str(root)).returncode == 1
    assert daemon.run("search", "x", "--vault", str(root / "nowhere")).returncode == 3
    assert daemon.run("search", "x", "--vault", "nobody").returncode == 3
    assert daemon.run("search").returncode == 2


@pytest.mark.shared_daemon
def test_a_folder_with_obsidians_settings_is_a_vault_from_anywhere_inside(daemon, vault):
    root = vault(NOTES | {".obsidian/app.json": "{}"})
    assert daemon.paths("tea", "--wait", cwd=root / "sub")[0] == "sub/tea.md"


@pytest.mark.fault("H7")
@pytest.mark.shared_daemon
def test_saves_renames_and_deletions_are_seen(daemon, vault, eventually):
    root = daemon.indexed(vault(NOTES))
    (root / "new.md").write_text("A theodolite.")
    eventually(lambda: daemon.paths("theodolite", "--vault", str(root), "--mode", "keyword") == ["new.md"])
    (root / "new.md").rename(root / "sub" / "moved.md")
    eventually(
        lambda: daemon.paths("theodolite", "--vault", str(root), "--mode", "keyword") == ["sub/moved.md"]
    )
    daemon.run(
        "index", "--wait", "--vault", str(root)
    )  # a note that was just written is embedded a moment later
    before = daemon.json("status")["vaults"][0]["embeddings_computed"]
    (root / "sub").rename(root / "folder")
    eventually(
        lambda: daemon.paths("theodolite", "--vault", str(root), "--mode", "keyword") == ["folder/moved.md"]
    )
    daemon.run("index", "--wait", "--vault", str(root))
    assert daemon.json("status")["vaults"][0]["embeddings_computed"] == before
    (root / "folder" / "moved.md").unlink()
    eventually(lambda: daemon.paths("theodolite", "--vault", str(root), "--mode", "keyword") == [])


@pytest.mark.fault("A1")
def test_a_killed_daemon_comes_back_with_what_it_knew(daemon, vault):
    root = daemon.indexed(vault(NOTES))
    before = daemon.json("search", "slugs", "--vault", str(root), "--wait")
    computed = daemon.json("status")["vaults"][0]["embeddings_computed"]
    daemon.kill()
    (root / "late.md").write_text("Written while nobody looked: quicksilver.")
    assert daemon.paths("quicksilver", "--vault", str(root), "--wait")[0] == "late.md"
    after = daemon.json("search", "slugs", "--vault", str(root), "--wait")
    assert after["results"][0]["chunk_id"] == before["results"][0]["chunk_id"]
    assert daemon.json("status")["vaults"][0]["embeddings_computed"] - computed in (1, 2)


@pytest.mark.fault("G6")
def test_nothing_is_written_into_the_vault_and_nobody_else_can_read_the_index(daemon, vault, tmp_path):
    root = vault(NOTES)
    before = sorted(path.stat().st_mtime_ns for path in root.rglob("*"))
    daemon.run("index", "--wait", "--vault", str(root))
    assert sorted(path.stat().st_mtime_ns for path in root.rglob("*")) == before
    for folder in ("data", "state"):
        paths = list((tmp_path / folder).rglob("*"))
        assert paths, folder
        for path in paths:
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


@pytest.mark.shared_daemon
def test_bad_notes_are_named_and_cost_nothing_else(daemon, vault):
    root = vault(NOTES | {"binary.md": bytes(range(256)) * 50, "yaml.md": "---\na: [\n---\nBody quartz.\n"})
    (root / "link.md").symlink_to(root / "pump.md")
    daemon.run("index", "--wait", "--vault", str(root))
    status = daemon.json("status")["vaults"][0]
    assert {problem["path"] for problem in status["problems"]} == {"binary.md", "link.md", "yaml.md"}
    assert all(problem["code"] and problem["message"] for problem in status["problems"])
    assert daemon.paths("quartz", "--vault", str(root))[0] == "yaml.md"


@pytest.mark.fault("G1")
def test_a_second_daemon_is_one_clear_line(daemon, vault):
    daemon.run("start")
    second = daemon.run("serve")
    assert second.returncode == 3
    assert len(second.stderr.strip().splitlines()) == 1
    assert str(daemon.pid()) in second.stderr
    assert daemon.run("status").returncode == 0


@pytest.mark.fault("A13")
def test_stop_ends_it_and_status_says_so(daemon):
    daemon.run("start")
    assert daemon.run("stop").returncode == 0
    assert daemon.run("status").returncode == 3
    assert daemon.run("stop").returncode == 0


@pytest.mark.fault("G2")
def test_a_stale_socket_is_replaced(daemon, vault):
    root = vault(NOTES)
    daemon.run("start")
    daemon.kill()
    assert daemon.paths("lettuce", "--vault", str(root), "--wait")[0] == "garden.md"


@pytest.mark.shared_daemon
def test_settings_of_the_shell_hold_for_a_running_daemon(daemon, vault):
    root = daemon.indexed(vault(NOTES))
    one = daemon.paths("pump lettuce tea", "--vault", str(root), env={"VAULTSEEK_SEARCH__LIMIT": "1"})
    assert len(one) == 1
    wrong = daemon.run("search", "x", "--vault", str(root), env={"VAULTSEEK_SEARCH__LIMIT": "many"})
    assert wrong.returncode == 2
    assert "limit" in wrong.stderr


def test_configured_vaults_by_name_and_by_folder(daemon, vault, tmp_path):
    root = vault(NOTES)
    config = Path(daemon.environment["XDG_CONFIG_HOME"]) / "vaultseek" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[[vaults]]\nname = "notes"\npath = "{root}"\n')
    assert daemon.paths("tea", "--vault", "notes", "--wait")[0] == "sub/tea.md"
    assert daemon.paths("tea")[0] == "sub/tea.md", "the only one configured"
    config.write_text(f'[[vaults]]\nname = "notes"\npath = "{root}"\nnonsense = 1\n')
    broken = daemon.run("search", "tea")
    assert broken.returncode == 2
    assert "nonsense" in broken.stderr
    assert len(broken.stderr.strip().splitlines()) == 1


def test_inspect_needs_no_daemon(daemon, vault):
    root = vault(NOTES)
    note = daemon.json("inspect", str(root / "garden.md"))
    assert note["links"][0]["resolved"] == "pump.md"
    assert daemon.run("status").returncode == 3


@pytest.mark.fault("F14")
def test_many_commands_at_once_start_one_daemon(daemon, vault):
    root = vault(NOTES)
    command = [
        sys.executable,
        "-m",
        "vaultseek",
        "search",
        "lettuce",
        "--vault",
        str(root),
        "--wait",
        "--json",
    ]
    started = [
        subprocess.Popen(
            command, env=daemon.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(5)
    ]
    for process in started:
        output, errors = process.communicate(timeout=90)
        assert process.returncode == 0, errors
        assert json.loads(output)["results"][0]["path"] == "garden.md"
    assert daemon.pid()


@pytest.mark.model
@pytest.mark.timeout(300)
def test_the_bundled_model_finds_what_was_said_in_other_words(daemon, vault):
    daemon.environment["VAULTSEEK_MODEL__NAME"] = "bundled"
    root = vault(NOTES)
    answer = daemon.json("search", "snails eating the salad", "--vault", str(root), "--wait")
    assert answer["results"][0]["path"] == "garden.md"
    assert answer["partial"] == []
    assert answer["results"][0]["lanes"]["semantic"]["rank"] == 1
    nothing = daemon.run("search", "qzxv wkjh ppfft", "--vault", str(root))
    assert nothing.returncode == 1
    assert "the closest is" in nothing.stdout


def test_a_search_waits_only_for_the_vectors_that_it_needs(daemon, vault, eventually):
    root = daemon.indexed(vault({"a.md": "#garden Slugs ate the salad."}))
    worker = eventually(lambda: daemon.json("status")["daemon"]["worker"]["pid"], "the worker runs")
    os.kill(worker, signal.SIGSTOP)  # no vector is computed from here on
    try:
        (root / "b.md").write_text("#garden Beetles ate the beans, order E-4107.")
        for query in ("tag:garden beetles --mode keyword", "tag:garden", "E-4107"):
            assert "b.md" in daemon.paths(*query.split(), "--wait", "--vault", str(root))
    finally:
        os.kill(worker, signal.SIGCONT)
