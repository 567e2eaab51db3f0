"""A server for several people: in every method, each token sees only what it is allowed to see."""

import contextlib
import json
import socket
import stat
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from daemons import eventually
from team_calls import CALLS, HIDDEN, OF_ALL, WIKI
from vaultseek.base import limits, paths
from vaultseek.client import Client
from vaultseek.daemon.visible.gate import ALLOWED
from vaultseek.errors import Busy, Forbidden, UsageError, VaultseekError
from vaultseek.protocol.messages.methods import METHODS
from vaultseek.protocol.wire.frame import encode
from vaultseek.protocol.wire.protocol import request
from vaultseek_server.team.grants import token_digest, token_proof
from worlds import write_files

TIMES = {"took_ms", "timings_ms", "milliseconds", "uptime_seconds"}


@pytest.fixture
def server(daemon: Any, tmp_path: Path) -> Any:
    """A daemon with two vaults and four tokens; ``server(name)`` connects with one of them."""
    wiki, other = (
        write_files(tmp_path / "wiki", WIKI),
        write_files(tmp_path / "other", {"Private.md": "Mine"}),
    )
    ports = [free_port(), free_port()]
    head = f"""
[team]
listen = "127.0.0.1:{ports[0]}"
metrics = "127.0.0.1:{ports[1]}"
[[vaults]]
name = "wiki"
path = "{wiki}"
[[vaults]]
name = "other"
path = "{other}"
"""
    made = {"anna": daemon.json("team", "token", "anna", "wiki/Handbook")}
    for name, sees in {"boss": "wiki", "slow": "wiki", "all": "*"}.items():
        settings = {"name": name, "sha256": token_digest(f"token of {name}"), "sees": [sees]}
        of_client = {"token": f"token of {name}", "proof": token_proof(f"token of {name}")}
        made[name] = {"settings": settings, "address_file": of_client}

    def block(name: str) -> str:
        settings = made[name]["settings"] | ({"requests_per_minute": 2} if name == "slow" else {})
        return "[[team.tokens]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in settings.items())

    class Server:
        config = paths.config_file()
        metrics = f"http://127.0.0.1:{ports[1]}"

        def allow(self, *names: str) -> None:
            self.config.parent.mkdir(parents=True, exist_ok=True)
            self.config.write_text(head + "".join(map(block, names)))

        def connect(self, name: str) -> socket.socket:
            """Return a connection that has sent only its token."""
            connection = socket.create_connection(("127.0.0.1", ports[0]), timeout=20)
            of_client = {"token": made[name]["address_file"]["token"]}
            params = {"protocol_version": 1, "client": "silent", **of_client}
            connection.sendall(encode(request(1, "initialize", params)))
            assert connection.recv(1), "answered or refused"
            return connection

        def __call__(self, name: str) -> Client:
            file = tmp_path / f"{name}.tcp"
            file.touch(0o600)
            file.write_text(json.dumps(made[name]["address_file"] | {"port": ports[0]}))
            return Client(file)

    server = Server()
    server.allow(*made)
    assert daemon.run("index", "--wait", "--vault", "wiki").returncode == 0
    assert daemon.run("index", "--wait", "--vault", "other").returncode == 0
    return server


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def fetch(url: str | urllib.request.Request) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def asked(client: Client, method: str, params: dict[str, Any]) -> str:
    """Return the answer as lower-case text, without the query that it repeats."""
    of_vault = {} if method in OF_ALL else {"vault": "wiki"}
    answer = client.call(method, {**params, **of_vault})
    for key in ("query", "interpreted", "remarks", "explain"):
        if isinstance(answer, dict):
            answer.pop(key, None)
    return json.dumps(answer).lower()


def test_a_token_sees_its_folder_in_every_method_and_nothing_else(server, daemon):
    assert CALLS.keys() == ALLOWED
    revealed = set()
    with server("anna") as anna, server("boss") as boss:
        for method, calls in CALLS.items():
            for params in calls:
                seen = asked(anna, method, params)
                for word in HIDDEN:
                    assert word.lower() not in seen, (method, params, word)
                revealed |= {word for word in HIDDEN if word.lower() in asked(boss, method, params)}
        assert revealed == set(HIDDEN), "whoever sees the whole vault does see it"

        found = anna.search("float switch", vault="wiki")
        assert {result["path"] for result in found["results"]} == {"Handbook/Pump.md", "Handbook/Alarm.md"}
        assert not found["partial"]
        assert [each["path"] for each in anna.related("Pump", vault="wiki")["results"]] == [
            "Handbook/Alarm.md"
        ]
        (status,) = anna.call("index/status", {})["vaults"]
        assert [status[name] for name in ("notes", "chunks", "embedded", "pending")] == [2, 2, 2, 0]
        assert [each["notes"] for each in anna.vaults()["vaults"]] == [2]
        assert (status["share"], status["eta_seconds"], status["problems"]) == (1.0, None, [])
        assert status["lanes"]["keyword"] == {"up": True, "code": None, "reason": None}
        # A note that she cannot see contains this word, and nothing may reveal that.
        misspelt = anna.search("flaot", vault="wiki", mode="keyword", explain=True)
        assert {each["path"] for each in misspelt["results"]} == {"Handbook/Pump.md", "Handbook/Alarm.md"}
        assert boss.search("flaot", vault="wiki", mode="keyword")["results"][0]["path"] == "HR/Salaries.md"
        assert anna.call("vault/tags", {})["tags"] == [{"tag": "tools", "count": 2, "total": 2}]
        assert anna.call("links/outgoing", {"note": "Pump"})["links"][0]["resolved"] is None
        for note in ("Salaries", "HR/Salaries.md", "Near", "Salarie"):
            with pytest.raises(VaultseekError) as caught:
                anna.note(note, vault="wiki")
            said = str(caught.value).replace(note, "")
            assert not any(word in said for word in ("HR/", "Salaries", "Near"))
        with pytest.raises(Forbidden):
            anna.search("float", vault="other")
        for hidden in ("other", "unheard-of", str(Path(boss.vaults()["vaults"][0]["path"]))):
            with pytest.raises(Forbidden, match="only to: wiki"):
                anna.search_all("float", vaults=["wiki", hidden])

        # A note that is written later, and one that moves out of the folder.
        root = Path(boss.vaults()["vaults"][0]["path"])
        (root / "Handbook/Late.md").write_text("A hydraulic ram.")
        (root / "Handbook/Alarm.md").rename(root / "HR/Alarm.md")
        daemon.run("index", "--vault", "wiki")
        assert anna.search("hydraulic")["results"][0]["path"] == "Handbook/Late.md"
        names = json.dumps([anna.call("complete", {"text": "al"}), anna.search("rings when it fails")])
        assert "Alarm" not in names


@pytest.mark.fault("K15")
def test_no_figure_of_any_answer_moves_with_notes_that_a_token_does_not_see(server, daemon, tmp_path):
    """Scores, counts, terms, revisions and times are those of the visible notes."""
    root = tmp_path / "wiki"
    with server("anna") as anna, server("boss") as boss:

        def answers(client: Client) -> dict[str, Any]:
            return {
                f"{method} {params}": without_times(
                    client.call(method, {**params, **({} if method in OF_ALL else {"vault": "wiki"})})
                )
                for method, calls in CALLS.items()
                for params in calls
            }

        before, all_before = answers(anna), answers(boss)
        for number in range(12):
            text = (
                f"# Pump {number}\nA float switch, floats, a pump alarm; xylophone. #tools [[Pump]] [[Alarm]]"
            )
            (root / f"HR/Pump {number}.md").write_text(f"---\nowner: Bo\nkind: {number}\n---\n{text}")
        (root / "HR/Salaries.md").write_text("Another text, which rings: switch.")
        (root / "Handbook2/Near.md").unlink()
        (root / "Pump.md").write_text("# Pump\nThe note that links by this name lead to, in the whole vault.")
        assert daemon.run("index", "--wait", "--vault", "wiki").returncode == 0
        after, all_after = answers(anna), answers(boss)
    for call, answer in before.items():
        assert after[call] == answer, call
    moved = {call.split()[0] for call in all_before if all_after[call] != all_before[call]}
    assert moved >= {"search", "search/why", "note/related", "vault/list", "index/status", "vault/tags"}


def without_times(answer: Any) -> Any:
    """Return an answer without the parts that differ between two identical requests."""
    if isinstance(answer, dict):
        return {key: without_times(value) for key, value in answer.items() if key not in TIMES}
    return [without_times(each) for each in answer] if isinstance(answer, list) else answer


def test_a_token_can_only_read_and_only_named_vaults(server, tmp_path, daemon):
    elsewhere = write_files(tmp_path / "elsewhere", {"Passwords.md": "hunter2"})
    with server("all") as client:
        for method in METHODS.keys() - ALLOWED - {"initialize", "$/cancelRequest"}:
            with pytest.raises(Forbidden):
                client.call(method, {})
        for params in (
            {"query": "x", "wait": True, "vault": "wiki"},
            {"query": "x", "settings": {"rerank_model": str(elsewhere)}, "vault": "wiki"},
            {"query": "x", "vault": str(elsewhere)},
            {"query": "x", "vault": str(tmp_path / "wiki")},
        ):
            with pytest.raises(Forbidden):
                client.call("search", params)
        with pytest.raises(UsageError, match="which vault"):
            client.call("search", {"query": "x", "cwd": str(tmp_path / "other")})
        assert {each["name"] for each in client.vaults()["vaults"]} == {"wiki", "other"}
        daemon.run("search", "x", "--vault", str(elsewhere))
        assert len(daemon.json("status")["vaults"]) == 3
        for answer in (client.vaults(), client.status()):
            assert {each["name"] for each in answer["vaults"]} == {"wiki", "other"}
    with server("boss") as client:
        assert [each["name"] for each in client.vaults()["vaults"]] == ["wiki"]
        assert [each["name"] for each in client.status()["vaults"]] == ["wiki"]
        assert "Private" not in json.dumps(client.search_all("mine"))


def test_limits_audit_metrics_and_a_token_that_is_withdrawn(server, daemon):
    with server("slow") as client:
        client.search("pump", vault="wiki")
        client.search("pump", vault="wiki")
        with pytest.raises(Busy, match="2 requests in a minute"):
            client.search("pump", vault="wiki")
    with server("boss") as client:
        client.search("a confidential question", vault="wiki")
        good = server.config.read_text()
        server.config.write_text(f"{good}\nbad = =\n")
        with server("boss") as another:
            assert another.vaults()["vaults"] == client.vaults()["vaults"] != []
        assert "bad_config" in daemon.run("search", "pump", "--vault", "wiki", "--json").stdout
        server.allow("anna")
        with pytest.raises(Forbidden, match="no longer valid"):
            client.search("pump", vault="wiki")
    with pytest.raises(Forbidden), server("boss") as client:
        client.status()

    audit = paths.state_directory() / "audit.log"
    assert stat.S_IMODE(audit.stat().st_mode) == 0o600
    text = audit.read_text()
    entries = [json.loads(line) for line in text.splitlines()]
    assert "confidential" not in text
    assert [(each["token"], each["method"], each["outcome"]) for each in entries] == [
        ("slow", "search", "ok"),
        ("slow", "search", "ok"),
        ("slow", "search", "busy"),
        ("boss", "search", "ok"),
        ("boss", "vault/list", "ok"),
        ("boss", "vault/list", "ok"),
        ("boss", "search", "forbidden"),
    ]
    assert entries[0]["vault"] == "wiki"

    status, health = fetch(f"{server.metrics}/health")
    assert (status, json.loads(health)["status"]) == (200, "ok")
    status, metrics = fetch(f"{server.metrics}/metrics")
    assert status == 200
    assert 'vaultseek_requests_total{method="search",outcome="ok",token="slow"} 2.0' in metrics
    assert 'vaultseek_vault_notes{vault="wiki"} 4.0' in metrics
    assert fetch(f"{server.metrics}/else")[0] == 404
    assert fetch(f"{server.metrics.replace('127.0.0.1', 'localhost')}/health")[0] == 200
    of_web_page = urllib.request.Request(f"{server.metrics}/metrics", headers={"Host": "page.example"})
    assert fetch(of_web_page) == (421, "")
    assert fetch(urllib.request.Request(f"{server.metrics}/health", data=b""))[0] == 405
    assert "Traceback" not in daemon.log()


@pytest.mark.fault("F8", "K4", "K5")
def test_an_address_that_is_taken_is_named_and_the_other_one_answers(server, daemon):
    port = free_port()
    place = f"127.0.0.1:{port}"
    config = server.config.read_text()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        listen = config.index("listen")
        start, end = config[:listen], config[config.index("\n", listen) :]
        server.config.write_text(f'{start}listen = "{place}"{end}')
        assert daemon.run("start", "--restart").returncode == 0
        assert f"{place} cannot be used" in eventually(
            lambda: daemon.json("status")["daemon"]["addresses"].get(place)
        )
        assert place in daemon.run("status").stdout
        assert fetch(f"{server.metrics}/health")[0] in (200, 503), "the other address is open"
        findings = [
            each for each in daemon.json("doctor", "--no-worker")["findings"] if each["check"] == "team"
        ]
        assert [(each["status"], place in each["message"]) for each in findings] == [("broken", True)]


def test_silent_clients_keep_nobody_out_and_delay_nobody(server, daemon):
    metrics = int(server.metrics.rpartition(":")[2])
    with contextlib.ExitStack() as silent:
        for _ in range(2 * limits.CLIENTS):
            silent.enter_context(server.connect("anna"))
        for _ in range(3):
            waiting = silent.enter_context(socket.create_connection(("127.0.0.1", metrics)))
            waiting.sendall(b"GET /health HTTP/1.1\r\n")
        assert len(daemon.json("status")["vaults"]) == 2, "the user gets in"
        with server("boss") as boss:
            assert boss.search("pump", vault="wiki")["results"]
        with pytest.raises(Busy, match="with this token"), server("anna") as anna:
            anna.vaults()
        began = time.monotonic()
        assert fetch(f"{server.metrics}/health")[0] == 200
        assert time.monotonic() - began < limits.HTTP_REQUEST_SECONDS / 2

    def gets_in() -> bool:
        with contextlib.suppress(Busy), server("anna") as anna:
            return bool(anna.vaults()["vaults"])
        return False

    eventually(gets_in, "the daemon has noticed that the silent ones are gone")
