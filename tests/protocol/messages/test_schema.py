"""The protocol as types: the schema, and the requests and answers checked against it."""

import json
import subprocess
import sys

import pytest

from vaultseek.errors import ProtocolError, UsageError, advise
from vaultseek.protocol.messages import check
from vaultseek.protocol.messages.check import schemas

ADDED = {"name": "notes", "path": "/home/ana/notes"}


def test_the_schema_can_be_printed():
    command = [sys.executable, "-m", "vaultseek.protocol.messages"]
    printed = subprocess.run(command, capture_output=True, check=True).stdout
    assert json.loads(printed) == schemas()


def test_the_schema_describes_fields_and_inherited_ones():
    search = schemas()["methods"]["search"]["answer"]
    assert search["description"].startswith("Results")
    assert search["properties"]["vault_path"]["description"].startswith("Absolute")
    assert search["$defs"]["FullResult"]["properties"]["kind"]["description"].startswith("The kind of file")
    assert "vault_path" in search["required"]
    assert "weak" not in search["required"]
    assert schemas()["methods"]["$/cancelRequest"]["answer"] == {"type": "null"}


def test_a_request_as_documented_passes_with_what_may_go_with_any():
    check.check_request("search", {"query": "pump", "deadline_ms": 100, "supersedes": 4})
    check.check_request("vault/add", {"path": "/notes", "exclude": ("a", "b")})
    check.check_request("method/of-a-newer-daemon", {"anything": True})


@pytest.mark.parametrize(
    ("method", "asked", "named"),
    [
        ("search", {}, "query"),
        ("search", {"query": 5}, "query"),
        ("search", {"query": "pump", "limit": 0}, "limit"),
        ("search", {"query": "pump", "limt": 5}, "limt"),
        ("complete", {"kind": "song"}, "kind"),
        ("initialize", {"client": "me"}, "protocol_version"),
        ("$/cancelRequest", {"id": None}, "id"),
        ("shutdown", {"now": True}, "now"),
    ],
)
def test_a_wrong_request_is_named(method, asked, named):
    with pytest.raises(UsageError, match=named):
        check.check_request(method, asked)


def test_answers_may_say_more_than_is_documented():
    check.check_answer("vault/add", {**ADDED, "colour": "red"})
    check.check_answer("$/cancelRequest", None)
    check.check_answer("method/of-a-newer-daemon", 5)


@pytest.mark.parametrize(
    ("method", "answer", "named"),
    [
        ("vault/add", {"name": "notes"}, "path"),
        ("vault/add", {**ADDED, "name": None}, "name"),
        ("vault/list", {"vaults": [{"name": "notes"}]}, r"vaults\.0\.from"),
        ("vault/add", None, "the whole answer"),
        ("shutdown", [], "the whole answer"),
        ("$/cancelRequest", {}, "the whole answer"),
    ],
)
def test_a_wrong_answer_is_named_in_one_line_without_its_text(method, answer, named):
    with pytest.raises(ProtocolError, match=named) as caught:
        check.check_answer(method, answer)
    assert "\n" not in str(caught.value)
    assert caught.value.advice == advise("stop")
    assert "/home/ana" not in str(caught.value)
