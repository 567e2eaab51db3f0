"""Two daemons that index separate folders into one engine, and one without a folder that searches it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from daemons import Daemon, eventually
from postgres_server import PostgresServer, postgres_server
from vaultseek.client import Client
from vaultseek.errors import Forbidden, NotFound, Unavailable
from vaultseek_server.team.grants import token_digest, token_proof
from worlds import own_directories, write_files

TESTS = Path(__file__).parent.parent
pytestmark = pytest.mark.long
WIKI = {
    "Sundial.md": "# Sundial\n\nA clock without quartz, see [[Gnomon]]. #time/old",
    "Hidden/Clock.md": "---\nowner: Ana\n---\n# Clock\n\nA xylophone strikes, see [[Sundial]]. #secret",
    "Gnomon.md": "# Gnomon\n\nIt casts the shadow.\n\n- [ ] polish it",
}
SECONDS = 90.0
QUERIES = (
    "hydraulic pump",
    "tag:work pump",
    '"gear pump"',
    "what makes the oil warm",
    "path:Hydraulic",
)


@pytest.fixture
def engine() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def serving(tmp_path: Path, engine: PostgresServer):
    """``serving("a", "index")`` is a daemon in that role, in separate directories."""
    with ExitStack() as ending:

        def serve(name: str, role: str, config: str = "", **more: str) -> Daemon:
            place = tmp_path / name
            (place / "home").mkdir(parents=True)
            write_files(place, {"config/vaultseek/config.toml": config})
            daemon = Daemon(place / "home", directories=own_directories(place))
            daemon.environment |= {
                "VAULTSEEK_INDEX__BACKEND": "postgres",
                "VAULTSEEK_INDEX__URI": engine.uri,
                "VAULTSEEK_INDEX__SECONDS": "3",
                "VAULTSEEK_DAEMON__AUTOSTART": "false",
                **more,
            }
            process = subprocess.Popen(
                [sys.executable, "-m", "vaultseek", "serve", "--role", role],
                env=daemon.environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            ending.callback(process.wait, 60)
            ending.callback(daemon.stop)
            eventually(lambda: daemon.run("status").returncode == 0, f"{name} serves", SECONDS)
            return daemon

        yield serve


def has(daemon: Daemon, query: str, path: str, vault: str = "wiki") -> bool:
    return path in daemon.paths(query, "--vault", vault)


@pytest.mark.timeout(400)
def test_a_searcher_without_a_folder_answers_from_the_engine(serving, engine, tmp_path):
    boats, wiki = tmp_path / "boats", write_files(tmp_path / "wiki", WIKI)
    shutil.copytree(TESTS / "data" / "vault" / "Reference", boats)
    first, second = serving("first", "all"), serving("second", "index")
    assert first.run("index", "--wait", "--vault", str(boats)).returncode == 0
    assert second.run("index", "--wait", "--vault", str(wiki)).returncode == 0
    refused = second.run("search", "shadow", "--vault", str(wiki))
    assert refused.returncode == 3
    assert "only indexes" in refused.stderr

    team, token = team_of_one(tmp_path / "team.tcp", "wiki/Hidden")
    searcher = serving("searcher", "search", team)
    eventually(lambda: searcher.json("status")["vaults"], "the shards are there", SECONDS)
    eventually(
        lambda: not any(each["pending"] or not each["notes"] for each in searcher.json("status")["vaults"])
    )
    eventually(lambda: not missing_shards(searcher), "the indexers say that they are level", SECONDS)
    vaults = {each["name"]: each for each in searcher.json("status")["vaults"]}
    assert {name: vault["notes"] for name, vault in vaults.items()} == {
        "boats": len(list(boats.rglob("*.md"))),
        "wiki": 3,
    }
    for query in QUERIES:
        assert not differences(answers(searcher, query, "boats"), answers(first, query, str(boats)))
    # A different link target or time also changes the order, even if the note's text stays the same.
    source = next(path for path in sorted(boats.rglob("*.md")) if "[[" in path.read_text())
    (boats / "Missing.md").write_text("# Missing\n\nThe gear pump of the boat.")
    (boats / "Links.md").write_text("# Links\n\nSee [[Later]] and [[Missing#Part|the pump]] for gear.")
    assert first.run("index", "--wait", "--vault", str(boats)).returncode == 0
    (boats / "Later.md").write_text("# Later\n\nA gear pump that came later.")
    os.utime(source, (10**9, 10**9))
    assert first.run("index", "--wait", "--vault", str(boats)).returncode == 0
    eventually(lambda: has(searcher, "gear pump later", "Later.md", "boats"), "it is copied", SECONDS)

    def is_answered_alike(query: str) -> bool:
        return not differences(answers(searcher, query, "boats"), answers(first, query, str(boats)))

    # The searcher reads rows for each request; its graph is updated with the next refresh.
    for query in ("links-to:[[Later]]", "gear pump", "modified:2001"):
        eventually(partial(is_answered_alike, query), query, SECONDS)
    assert searcher.paths("task-todo:polish", "--vault", "wiki") == ["Gnomon.md"]
    assert searcher.paths("shadow", "--all-vaults")[0].endswith("Gnomon.md")

    text = searcher.json("read", "Clock", "--vault", "wiki")
    assert text["text"] == "\n\n\n# Clock\n\nA xylophone strikes, see [[Sundial]]. #secret"
    assert (text["from_index"], text["properties"], text["vault_path"]) == (True, {"owner": "Ana"}, "")
    assert searcher.run("search", "shadow", "--paths", "--vault", "wiki").stdout.startswith("Gnomon.md\n")
    opened = searcher.run("open", "Gnomon", "--vault", "wiki")
    assert opened.returncode == 2
    assert "another machine" in opened.stderr
    with Client(searcher.socket) as client:
        links = client.call("links/backlinks", {"vault": "wiki", "note": "Sundial"})["links"]
        assert [link["path"] for link in links] == ["Hidden/Clock.md"]
        with pytest.raises(Unavailable, match="renaming needs the files of wiki, which are on"):
            client.call("vault/rename", {"vault": "wiki", "tag": "secret", "to": "open"})
        with pytest.raises(Unavailable, match="a cluster needs the files of wiki, which are on"):
            client.call("index/texts", {"vault": "wiki", "limit": 0})

    with Client(token) as member:
        answer = member.call("search/all", {"query": "xylophone clock shadow", "limit": 50})
        assert [each["path"] for each in answer["results"]] == ["Hidden/Clock.md"]
        assert member.call("search", {"query": "pump", "vault": "wiki", "mode": "keyword"})["results"] == []
        assert member.call("vault/tags", {"vault": "wiki"})["tags"][0]["tag"] == "secret"
        for note in ("Sundial", "Gnomon.md"):
            with pytest.raises(NotFound):
                member.call("note/get", {"vault": "wiki", "note": note})
        with pytest.raises(Forbidden):
            member.call("search", {"query": "pump", "vault": "boats"})

    engine.freeze()  # like one that is far too slow: each request has a time limit
    eventually(lambda: "does not answer" in reason_of(searcher, "wiki"), "the searcher says so", SECONDS)
    engine.thaw()
    answers_again = partial(searcher.run, "search", "sundial", "--all-vaults")  # may fail for 2 seconds
    eventually(lambda: answers_again().returncode != 3, "it answers", SECONDS)
    eventually(lambda: not missing_shards(searcher), "nothing is missing any more", SECONDS)

    (wiki / "Clepsydra.md").write_text("# Clepsydra\n\nWater measures the hours.")
    (wiki / "Gnomon.md").unlink()
    (wiki / "Sundial.md").rename(wiki / "Moondial.md")
    eventually(lambda: has(searcher, "water hours", "Clepsydra.md"), "a new note is copied", SECONDS)
    eventually(lambda: has(searcher, "quartz", "Moondial.md"), "a moved note is copied", SECONDS)
    eventually(lambda: not has(searcher, "shadow", "Gnomon.md"), "a deleted note is gone", SECONDS)

    engine.stop()
    eventually(lambda: "does not answer" in reason_of(searcher, "boats"), "the searcher says so", SECONDS)
    assert "does not answer" in searcher.run("search", "shadow", "--all-vaults").stderr
    (wiki / "Hourglass.md").write_text("# Hourglass\n\nSand runs through a neck.")
    engine.start()
    eventually(
        lambda: searcher.run("search", "sand", "--vault", "wiki").returncode != 3, "it answers", SECONDS
    )
    eventually(lambda: has(searcher, "sand neck", "Hourglass.md"), "what came meanwhile is copied", SECONDS)
    eventually(lambda: not missing_shards(searcher), "nothing is missing any more", SECONDS)

    wiki.rename(tmp_path / "unplugged")
    eventually(lambda: "reports:" in reason_of(searcher, "wiki"), "the indexer's folder is missing", SECONDS)
    (tmp_path / "unplugged").rename(wiki)
    eventually(lambda: not missing_shards(searcher), "the folder is back", SECONDS)
    second.stop()
    eventually(lambda: "was stopped" in reason_of(searcher, "wiki"), "an indexer has ended", SECONDS)
    assert missing_shards(searcher) == {"wiki"}
    assert has(searcher, "sand neck", "Hourglass.md")


@pytest.mark.timeout(300)
def test_a_frozen_indexer_is_named_until_it_goes_on(serving, tmp_path):
    wiki = write_files(tmp_path / "wiki", WIKI)
    often = {"VAULTSEEK_FAILPOINTS": "indexer.silence=after:4;indexer.beat=after:1"}
    indexer = serving("indexer", "index", **often)
    assert indexer.run("index", "--wait", "--vault", str(wiki)).returncode == 0
    searcher = serving("searcher", "search", **often)
    eventually(lambda: searcher.json("status")["vaults"], "the shard is there", SECONDS)
    eventually(lambda: not missing_shards(searcher), "the indexer says that it is level", SECONDS)
    process = indexer.json("status")["daemon"]["pid"]
    os.kill(process, signal.SIGSTOP)
    try:
        silent = f"the indexer on {socket.gethostname()} has been silent since"
        eventually(lambda: silent in reason_of(searcher, "wiki"), "the silence is noticed", SECONDS)
        partial = searcher.json("search", "quartz", "--vault", "wiki")["partial"]
        assert [each["lane"] for each in partial] == ["vault"]
        assert has(searcher, "quartz", "Sundial.md")
    finally:
        os.kill(process, signal.SIGCONT)
    eventually(lambda: not missing_shards(searcher), "it is heard of again", SECONDS)


def team_of_one(address: Path, sees: str) -> tuple[str, Path]:
    """Return settings with a token for one folder, and the file that lets a client use it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address.write_text(json.dumps({"port": port, "token": "abc", "proof": token_proof("abc")}))
    address.chmod(0o600)
    config = f"""
[team]
listen = "127.0.0.1:{port}"
[[team.tokens]]
name = "anna"
sha256 = "{token_digest("abc")}"
sees = ["{sees}"]
"""
    return config, address


def answers(daemon: Daemon, query: str, vault: str) -> dict[str, object]:
    """Return every value in the explained results of an answer, which must be complete."""
    answer = daemon.json("search", query, "--vault", vault, "--explain")
    assert not answer["partial"]
    assert answer["results"], query
    places = leaves(answer["results"])
    return {place: value for place, value in places if not place.endswith("obsidian_url")}


def differences(mine: dict[str, object], theirs: dict[str, object]) -> list[tuple[str, object, object]]:
    """Return the values that differ; numbers may differ by a millionth."""
    pairs = ((place, mine.get(place), theirs.get(place)) for place in sorted({*mine, *theirs}))
    return [
        (place, one, other)
        for place, one, other in pairs
        if one != (pytest.approx(other, abs=1e-6) if isinstance(other, float) else other)
    ]


def leaves(value: object, place: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, f"{place}/{key}")
    else:
        yield place, value


def reason_of(searcher: Daemon, name: str) -> str:
    """Return the reason that a searcher's status gives for a shard."""
    vaults = searcher.json("status")["vaults"]
    return next(each["reason"] or "" for each in vaults if each["name"] == name)


def missing_shards(searcher: Daemon) -> set[str]:
    """Return the shards that a search of all shards reports as unavailable."""
    done = searcher.run("search", "sundial", "--all-vaults", "--json")
    if done.returncode == 3:  # the engine was unreachable a moment ago
        return {done.stderr}
    partial = json.loads(done.stdout)["partial"]
    return {each["vault"] for each in partial if each["lane"] == "vault"}


def test_a_searcher_needs_an_engine(daemon):
    daemon.environment["VAULTSEEK_INDEX__BACKEND"] = "embedded"
    process = subprocess.run(
        [sys.executable, "-m", "vaultseek", "serve", "--role", "search"],
        env=daemon.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert process.returncode == 2
    assert 'a searcher needs index.backend = "postgres"' in process.stderr
