"""While a vault is being read, or cannot be, answers come from what is known and say so."""

from __future__ import annotations

import shutil

from vaultseek.client import Client


def test_an_answer_while_the_vault_is_being_read_says_so(daemon, vault, eventually):
    many = {f"{n // 500}/Note {n}.md": f"# Note {n}\n\nThe float switch number {n}." for n in range(6_000)}
    root = vault(many)
    told = daemon.run("search", "float switch", "--vault", str(root))
    assert "results may be out of date: the vault is being read" in told.stdout + told.stderr
    with Client(validate=True) as client:
        early = client.search("float switch", vault=str(root))
        assert [part for part in early["partial"] if part["lane"] == "vault"]
        assert early["index"]["state"] == "indexing"
        ready = eventually(lambda: _ready(client, str(root)), "the vault was read", seconds=90)
        assert not [part for part in ready["partial"] if part["lane"] in ("vault", "keyword")]
        assert ready["index"]["notes"] == len(many)


def _ready(client, root):
    answer = client.search("float switch", vault=root)
    return answer if answer["index"]["state"] == "ready" else None


def test_an_answer_from_a_vault_that_is_not_there_says_so(daemon, vault, eventually):
    root = vault({f"{n}.md": f"The float switch number {n}." for n in range(30)})
    daemon.run("index", "--wait", "--vault", str(root))
    shutil.rmtree(root)
    with Client(validate=True) as client:
        asked = {"query": "float switch", "vault": str(root)}
        answer = eventually(lambda: _with_gap(client, "search", asked), "the loss is noticed")
        assert answer["results"], "the index is kept"
        assert answer["index"]["state"] == "vault_missing"
        assert _with_gap(client, "note/related", {"note": "1.md", "vault": str(root)})
    told = daemon.run("search", "float switch", "--vault", str(root))
    assert "results may be out of date" in told.stdout + told.stderr


def _with_gap(client, method, asked):
    answer = client.call(method, asked)
    return answer if any(part["lane"] == "vault" for part in answer["partial"]) else None
