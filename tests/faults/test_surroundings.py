"""The daemon's surroundings: folders, users, settings, libraries, expensive queries."""

import ast
import contextlib
import json
import os
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from fresh_index import IndexHere
from vaultseek.base import paths
from vaultseek.core.search import pipeline
from vaultseek.errors import BadQuery
from vaultseek.protocol.wire.endpoint import Endpoint
from vaultseek.semantic.worker.child import environment
from vaultseek.settings.load import load
from vaultseek.tools.doctor import system
from work import calls
from worlds import write_files

SOURCE = Path(__file__).parents[2] / "src" / "vaultseek"


@pytest.mark.fault("B9")
@pytest.mark.parametrize(("kind", "status"), [("nfs4", "warning"), ("cifs", "warning"), ("ext4", "ok")])
def test_b9_indexes_on_a_network_file_system_are_warned_of(monkeypatch, kind, status):
    folder = paths.data_directory()
    folder.mkdir(parents=True)
    mounts = ["/dev/sda1 / ext4 rw 0 0", f"there:/export {folder.parent} {kind} rw 0 0"]
    monkeypatch.setattr(system, "mounts", lambda: mounts)
    (finding,) = system.check_file_system()
    assert finding.status == status
    assert (kind in finding.message) == (status == "warning")


@pytest.mark.fault("G8")
def test_g8_the_socket_is_beside_the_indexes_whatever_the_session_is(monkeypatch, tmp_path):
    for value in (None, "", str(tmp_path), str(tmp_path / "missing"), "relative/folder", "/root"):
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
        if value is not None:
            monkeypatch.setenv("XDG_RUNTIME_DIR", value)
        assert paths.socket_file() == paths.data_directory() / "run" / "daemon.sock"
        endpoint = Endpoint.open()
        try:
            assert stat.S_IMODE(endpoint.path.parent.stat().st_mode) == 0o700
            assert stat.S_IMODE(endpoint.path.stat().st_mode) == 0o600
        finally:
            endpoint.close()


@pytest.mark.fault("G8")
def test_g8_a_folder_that_is_open_to_others_holds_a_private_one(monkeypatch, tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "open"))
    endpoint = Endpoint.open()
    try:
        folders = [endpoint.path.parent, paths.data_directory()]
        assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700, 0o700]
    finally:
        endpoint.close()


HOSTILE = {
    "config.toml": '[model]\nname = "/tmp/evil"\n',
    "vaultseek.toml": '[model]\nname = "/tmp/evil"\n',
    ".vaultseek/config.toml": '[model]\nname = "/tmp/evil"\n',
    ".config/vaultseek/config.toml": '[model]\nname = "/tmp/evil"\n',
    ".env": "VAULTSEEK_MODEL__NAME=/tmp/evil\n",
    "pyproject.toml": '[tool.vaultseek]\nmodel = "/tmp/evil"\n',
    "sitecustomize.py": "raise SystemExit('code of the vault was run')",
    "vaultseek.py": "raise SystemExit('code of the vault was run')",
    "json.py": "raise SystemExit('code of the vault was run')",
    "note.md": "granite",
}


@pytest.mark.fault("G14")
def test_g14_no_configuration_of_a_vault_is_read(vault, monkeypatch):
    defaults = load()
    monkeypatch.chdir(vault(HOSTILE))
    assert load() == defaults


@pytest.mark.slow
@pytest.mark.fault("G14")
@pytest.mark.shared_daemon
def test_g14_no_code_of_a_vault_is_run(vault, daemon):
    root = daemon.indexed(vault(HOSTILE))
    done = subprocess.run(
        [
            Path(sys.executable).with_name("vaultseek"),
            "search",
            "granite",
            "--mode",
            "keyword",
            "--vault",
            str(root),
        ],
        cwd=root,
        env=daemon.environment,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert (done.returncode, "note.md" in done.stdout) == (0, True), done.stderr
    assert "evil" not in json.dumps(daemon.json("status"))


@pytest.mark.slow
@pytest.mark.fault("G12")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start it as root")
def test_g12_root_can_use_it_and_the_log_says_so_once(vault, daemon):
    root = daemon.indexed(vault({"note.md": "granite"}))
    assert daemon.paths("granite", "--vault", str(root), "--mode", "keyword") == ["note.md"]
    assert daemon.log().count("started as root") == 1


COSTLY = [
    "*",
    "a*",
    "[a TO z]",
    "abcdefgh~9",
    "* * * * * * * *",
    "/.*/",
    " ".join(f"{letter}*" for letter in "abcdefghijklmnopqrst"),
    "path:*",
    "(" * 30 + "a*" + ")" * 30,
    "-a -b -c",
    "a" * 900,
    "a" * 1_000_000,
    "/((a{100}){100}){400}/",
    "(" * 20_000,
]
CALLS = {"-a -b -c": 900}
"""Maximum number of calls for each note. Words of one letter that notes must not contain are looked for in
every note, once for each word."""
FEW_CALLS = 200
COSTLY_NOTES = 1000


@pytest.mark.fault("H4")
def test_h4_no_query_matches_everything_at_great_cost(tmp_path, monkeypatch):
    async def here(parsed, step, *arguments):
        return step(*arguments)

    async def parsed(request):
        return pipeline.parse_request(request)

    monkeypatch.setattr(pipeline, "in_search_thread", here)
    monkeypatch.setattr(pipeline, "parse", parsed)
    words = [f"{first}{second}{third}" for first in "abcdefgh" for second in "aeiou" for third in "klmnrst"]
    taken: dict[str, float] = {}
    for notes in (1, COSTLY_NOTES):  # modules are imported for the first one
        files = {f"{number}.md": " ".join(words[number % 200 :][:40]) for number in range(notes)}
        (tmp_path / f"index{notes}").mkdir()
        index = IndexHere(write_files(tmp_path / f"vault{notes}", files), tmp_path / f"index{notes}")
        index.update()

        def ask(query, index=index):
            with contextlib.suppress(BadQuery):
                index.answers((query,), ("keyword",))

        taken = {query: calls(partial(ask, query)) / notes for query in COSTLY}
        index.close()
    assert {query[:40]: each for query, each in taken.items() if each > CALLS.get(query, FEW_CALLS)} == {}


@pytest.mark.fault("I7")
def test_i7_models_run_on_the_processor_wherever_they_are_loaded():
    devices, sessions, seen = [], 0, 0
    for file in (SOURCE / "semantic").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            if name in ("SentenceTransformer", "CrossEncoder"):
                devices.append(given["device"])
            elif name == "InferenceSession":
                sessions += 1
                seen += given["providers"] == "['CPUExecutionProvider']"
    assert set(devices) == {"'cpu'"}
    assert sessions == seen > 0


@pytest.mark.fault("I10")
def test_i10_libraries_are_told_to_stay_offline_before_they_are_imported():
    told = environment({"HF_HUB_OFFLINE": "0", "ANONYMIZED_TELEMETRY": "True"})
    assert (told["HF_HUB_OFFLINE"], told["TRANSFORMERS_OFFLINE"], told["ANONYMIZED_TELEMETRY"]) == (
        "1",
        "1",
        "False",
    )
    program = "import sys, vaultseek.semantic.worker.main, vaultseek.daemon.main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"transformers", "sentence_transformers", "chromadb", "huggingface_hub"} & {
        *done.stdout.split()
    }
