"""Answers while a vault is being indexed or is missing: from the existing index, marked as partial."""

import re
import shutil

import pytest

from vaultseek.client import Client

pytestmark = pytest.mark.shared_daemon


def test_an_answer_during_indexing_is_marked_partial(daemon, vault, eventually):
    many = {f"{n // 500}/Note {n}.md": f"# Note {n}\n\nThe float switch number {n}." for n in range(2_000)}
    root = vault(many)
    printed = daemon.run("search", "float switch", "--vault", str(root))
    assert re.search(r"still (reading, [\d,]+ of 2,000|looking for)", " ".join(printed.stdout.split()))
    with Client(validate=True) as client:
        early = client.search("float switch", vault=str(root))
        assert [part for part in early["partial"] if part["lane"] == "vault"]
        assert early["index"]["state"] == "indexing"
        ready = eventually(lambda: _complete(client, str(root)), "the vault was read", seconds=90)
        assert ready["index"]["notes"] == len(many)


def _complete(client, root):
    answer = client.search("float switch", vault=root)
    missing = [part for part in answer["partial"] if part["lane"] in ("vault", "keyword")]
    return answer if answer["index"]["state"] == "ready" and not missing else None


def test_an_answer_from_a_missing_vault_is_marked_partial(daemon, vault, eventually):
    root = daemon.indexed(vault({f"{n}.md": f"The float switch number {n}." for n in range(30)}))
    shutil.rmtree(root)
    with Client(validate=True) as client:
        params = {"query": "float switch", "vault": str(root)}
        answer = eventually(lambda: _partial(client, "search", params), "the loss is noticed")
        assert answer["results"], "the index is kept"
        assert answer["index"]["state"] == "vault_missing"
        assert _partial(client, "note/related", {"note": "1.md", "vault": str(root)})
    printed = daemon.run("search", "float switch", "--vault", str(root))
    assert "notes may be missing" in printed.stdout + printed.stderr


def test_an_answer_from_a_paused_vault_says_so(daemon, vault):
    root = daemon.indexed(vault({"Boiler.md": "The float switch."}))
    assert daemon.run("vault", "pause", str(root)).returncode == 0
    with Client(validate=True) as client:
        of_search = client.search("float switch", vault=str(root))
        assert [part["code"] for part in of_search["partial"] if part["lane"] == "vault"] == ["paused"]
        assert _partial(client, "note/related", {"note": "Boiler.md", "vault": str(root)})
    printed = " ".join(daemon.run("search", "float switch", "--vault", str(root)).stdout.split())
    told = f"notes may be missing: the vault {root.name} is paused; resume it"
    assert f"{told} with `vaultseek vault resume {root.name}`" in printed
    read_by_agent = daemon.run("search", "float switch", "--vault", str(root), "--format", "agent").stdout
    assert f"[partial: {told} (ask the user)]" in read_by_agent
    misspelt = daemon.run("links", "Boyler", "--vault", str(root)).stderr
    assert "is paused" in misspelt
    assert 'did you mean "Boiler"?' in misspelt


def _partial(client, method, params):
    answer = client.call(method, params)
    return answer if any(part["lane"] == "vault" for part in answer["partial"]) else None
