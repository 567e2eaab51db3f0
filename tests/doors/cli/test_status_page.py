"""The output of `vaultseek status`."""

from typing import Any

from vaultseek import __version__
from vaultseek.doors.cli.status_page import page
from vaultseek.doors.cli.terminal import Terminal, width_of

NOW = 1_700_000_000.0


def vault(**more: Any) -> dict[str, Any]:
    return {
        "name": "notes",
        "path": "/home/me/Notes",
        "state": "ready",
        "notes": 1003,
        "chunks": 6210,
        "embedded": 6210,
        "pending": 0,
        "embeddings_computed": 6210,
        "rate": 0.0,
        "eta_seconds": None,
        "last_change": NOW - 200,
        "problems": [],
        "lanes": {"keyword": {"up": True, "reason": None}, "semantic": {"up": False, "reason": "loading"}},
        **more,
    }


def status(*vaults: dict[str, Any]) -> dict[str, Any]:
    worker = {"status": "ready", "reason": None, "model": "all-MiniLM-L6-v2", "memory_bytes": 412 * 1024**2}
    return {
        "daemon": {
            "pid": 12,
            "version": __version__,
            "uptime_seconds": 7400,
            "memory_bytes": 81 * 1024**2,
            "config": "/home/me/config.toml",
            "socket": "/run/daemon.sock",
            "worker": worker,
        },
        "vaults": list(vaults),
    }


def test_everything_at_a_glance() -> None:
    assert page(status(vault()), Terminal(), now=NOW).splitlines() == [
        f"vaultseek {__version__} · pid 12 · up 2 h 3 min · 81 MB",
        "model: all-MiniLM-L6-v2 · ready · 412 MB",
        "config: /home/me/config.toml",
        "socket: /run/daemon.sock",
        "",
        "notes  /home/me/Notes  ready",
        "  1,003 notes · 6,210 passages · all embedded",
        "  last change seen 3 min ago",
        "  searches: keyword up, semantic down (loading)",
    ]


def test_a_vault_with_texts_that_could_not_be_embedded() -> None:
    problems = [
        {"path": "a.md", "code": "not_embedded", "message": "a passage could not be embedded"},
        {"path": "b.md", "code": "too_large", "message": "larger than 2 MiB"},
    ]
    text = page(status(vault(problems=problems)), Terminal(), now=NOW)
    assert "6,210 passages · all embedded, except parts of 1 note" in text


def test_how_vectors_are_computed() -> None:
    about = status()
    about["daemon"]["worker"]["computing"] = "float32 in onnxruntime"
    text = page(about, Terminal(), now=NOW)
    assert "model: all-MiniLM-L6-v2 · ready · 412 MB · float32 in onnxruntime" in text


def test_a_vault_that_is_being_indexed() -> None:
    text = page(
        status(vault(state="indexing", share=0.839, pending=1210, rate=33.2, eta_seconds=36)),
        Terminal(),
        now=NOW,
    )
    assert "/home/me/Notes  indexing" in text
    assert "83 % indexed · 33/s · 36 s left" in text


def test_how_far_search_by_meaning_is() -> None:
    lanes = {"keyword": {"up": True}, "semantic": {"up": True}, "graph": {"up": True}}
    text = page(status(vault(lanes=lanes, embedded=400, pending=5810)), Terminal(), now=NOW)
    assert "searches: keyword up, semantic up (not all passages yet), graph up" in text
    text = page(status(vault(lanes=lanes)), Terminal(), now=NOW)
    assert "searches: keyword up, semantic up, graph up" in text


def test_no_line_is_wider_than_the_terminal() -> None:
    lines = page(status(vault(embedded=5000, pending=1210, rate=33.2)), Terminal(width=40), now=NOW)
    assert max(map(width_of, lines.splitlines())) <= 40


def test_a_vault_whose_folder_is_gone() -> None:
    assert "unreachable; its index is kept (no such folder)" in page(
        status(vault(state="vault_missing", reason="no such folder")), Terminal(), now=NOW
    )


def test_the_first_problems_are_named_and_the_rest_counted() -> None:
    problems = [
        {"path": f"a\x1b{n}.md", "code": "too_large", "message": "larger than 2 MiB"} for n in range(7)
    ]
    lines = page(status(vault(problems=problems, problem_count=40)), Terminal(), now=NOW).splitlines()
    assert lines[-7] == "  40 problems"
    assert lines[-6] == r"    a\x1b0.md: larger than 2 MiB"
    assert lines[-1] == "    and 35 more; `vaultseek status --json` lists them"


def test_addresses_that_cannot_be_used() -> None:
    addresses = {"0.0.0.0:80": "it is taken", "daemon.tcp": "no file can be written", "[::1]:81": None}
    shown = page({"daemon": {"addresses": addresses}}, Terminal(), now=NOW).splitlines()
    assert shown[1:3] == ["team: it is taken", "port: no file can be written"]


def test_no_vault_and_hardly_anything_known() -> None:
    assert "no vault is open" in page(status(), Terminal(), now=NOW)
    assert page({}, Terminal(), now=NOW).startswith("vaultseek · pid ?")
    assert "0 notes" in page({"vaults": [{"name": "a"}]}, Terminal(), now=NOW)


def test_why_a_vault_has_its_model_and_what_fails_of_the_second() -> None:
    models = {
        "main": "bundled",
        "why": "chosen because 4% of the notes are not in English",
        "second": "multilingual-e5-small",
        "second_notes_left": 7,
        "second_problem": "the disk is\x1b full",
    }
    text = " ".join(page(status(vault(models=models)), Terminal(width=200), now=NOW).split())
    assert "model: bundled (chosen because 4% of the notes are not in English)" in text
    assert "multilingual-e5-small, 7 notes to go; trying again after a failure: the disk is\\x1b full" in text


def test_a_daemon_of_another_version_is_named_with_the_command_that_replaces_it() -> None:
    answer = status(vault())
    answer["daemon"]["version"] = "0.0.9"
    shown = " ".join(page(answer, Terminal(), now=NOW).split())
    assert f"the running daemon is 0.0.9, this command {__version__}" in shown
    assert "`vaultseek start --restart`" in shown
