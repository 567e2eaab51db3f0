"""The documented protocol: every example is run, and every answer has the documented shape."""

import inspect
import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from daemons import Indexed
from vaultseek import errors
from vaultseek.base import limits
from vaultseek.base.model import REASON_CODES
from vaultseek.client import Client
from vaultseek.errors import Cancelled, UsageError, VaultseekError
from vaultseek.protocol.messages.check import schemas
from vaultseek.protocol.messages.methods import METHODS, NOTIFICATIONS, OF_EVERY_REQUEST
from vaultseek.protocol.wire import protocol

pytestmark = pytest.mark.shared_daemon
PROJECT = Path(__file__).parents[2]
DOCUMENT = PROJECT / "docs" / "protocol.md"
PAGES = (DOCUMENT, PROJECT / "docs" / "protocol-notes.md", PROJECT / "docs" / "protocol-vaults.md")
SCHEMA = schemas()
SHOWN = "/home/ana/notes"
EXACT = {"path", "title", "vault", "target", "resolved", "kind", "verdict", "code", "line", "direction"}
UNORDERED = {"results", "vaults", "pairs", "suggestions"}


def examples() -> Iterator[tuple[str, Any]]:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for found in re.finditer(r'```json title="(\w+)"\n(.*?)\n```', text, re.DOTALL):
        yield found[1], json.loads(found[2])


@pytest.fixture
def notes(daemon, tmp_path) -> Path:
    """The sample vault, indexed by a daemon."""
    root = tmp_path / "notes"
    shutil.copytree(PROJECT / "tests" / "data" / "vault", root)
    assert daemon.run("search", "pump", "--wait", "--vault", str(root)).returncode == 0
    return root


@pytest.fixture(scope="module")
def sample(indexed_vault) -> Indexed:
    """The sample vault, for tests that change nothing."""
    folder = PROJECT / "tests" / "data" / "vault"
    return indexed_vault(
        {
            file.relative_to(folder).as_posix(): file.read_bytes()
            for file in folder.rglob("*")
            if file.is_file()
        }
    )


@pytest.fixture
def unchanged(daemon, sample) -> Path:
    return sample.root


def same_shape(shown: Any, actual: Any, where: str, *, exact: bool = True) -> None:
    """True if ``actual`` has every field of ``shown`` with the same type and, for some fields, the same
    value."""
    if isinstance(shown, dict):
        assert isinstance(actual, dict), where
        missing = shown.keys() - actual.keys()
        assert not missing, f"{where}: {missing}"
        for key, value in shown.items():
            same_shape(value, actual[key], f"{where}.{key}", exact=exact and key not in UNORDERED)
            if exact and key in EXACT:
                assert actual[key] == value, f"{where}.{key}"
    elif isinstance(shown, list):
        assert isinstance(actual, list), where
        assert actual or not shown, f"{where}: empty"
        if shown and isinstance(shown[0], dict):
            same_shape(shown[0], actual[0], f"{where}[0]", exact=exact)
    elif shown is not None and actual is not None:
        numbers = (int, float)
        both_numbers = type(shown) in numbers and type(actual) in numbers
        assert both_numbers or type(shown) is type(actual), f"{where}: {actual!r}"


def matches(schema: Any, value: Any) -> None:
    """Check with an independent implementation of JSON Schema, as a client in another language would."""
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(value)


def without_common(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name not in OF_EVERY_REQUEST}


def test_every_example_of_the_documentation_runs(notes):
    told: dict[str, Any] = {}
    method, error, answer = "", None, None
    run = set()
    with Client(validate=True) as client:
        for kind, block in examples():
            real = json.loads(json.dumps(block).replace(SHOWN, str(notes)))
            if kind == "request":
                method, error, answer = real["method"], None, None
                run.add(method)
                try:
                    answer = client.call(method, real["params"], timeout=60)
                    matches(SCHEMA["methods"][method]["answer"], answer)
                except VaultseekError as raised:
                    error = raised
            elif kind == "answer":
                assert error is None, f"{method}: {error}"
                same_shape(real, answer, method)
            elif kind == "error":
                assert error is not None, method
                found = {"code": error.number, "message": str(error), "data": {"code": error.code}}
                assert found == real
            else:
                assert kind == "notification"
                if real["method"] == "index/progress":
                    (notes / "Inbox.md").write_text("Something else.")
                deadline = time.monotonic() + 30
                while real["method"] not in told:
                    assert time.monotonic() < deadline, real["method"]
                    told.update(dict(client.notifications(timeout=0.5)))
                same_shape(real["params"], told[real["method"]], real["method"])
                matches(SCHEMA["notifications"][real["method"]], told[real["method"]])
    assert run == METHODS.keys(), "every method has an example"
    assert told.keys() >= NOTIFICATIONS.keys(), "every notification has an example"


def documented_codes(heading: str) -> list[str]:
    """Return the codes at the beginning of each list item below ``heading``."""
    section = DOCUMENT.read_text(encoding="utf-8").split(f"### {heading}\n", 1)[1].split("\n#", 1)[0]
    described = re.findall(r"^\* (`\w+`(?:, `\w+`)*)", section, re.MULTILINE)
    return [code for codes in described for code in re.findall(r"`(\w+)`", codes)]


def test_the_document_lists_every_code_of_a_reason():
    assert documented_codes("Reasons") == list(REASON_CODES)


def test_the_document_lists_every_kind_of_advice():
    written = re.search(r"AdviceKind = Literal(\[.*?\])", inspect.getsource(errors))
    (sentence,) = re.findall(r"\sKinds: ([^.]*)\.", DOCUMENT.read_text(encoding="utf-8"))
    kinds = re.findall(r"`(\w+)`", sentence)
    assert sorted(kinds) == sorted(json.loads(written[1]))


def test_the_document_lists_every_code_of_an_error():
    own = {
        kind.code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, VaultseekError) and kind is not VaultseekError
    }
    assert set(documented_codes("Errors")) == own | {
        protocol.unknown_method("x").code,
        protocol.duplicate_id(1).code,
        protocol.internal("1").code,
    }


def test_the_daemon_serves_the_schema(unchanged):
    with Client(validate=True) as client:
        assert client.call("$/schema") == SCHEMA


def test_the_examples_themselves_are_as_the_schema_says():
    method = ""
    for kind, block in examples():
        if kind == "request":
            method = block["method"]
            matches(SCHEMA["methods"][method]["params"], without_common(block["params"]))
        elif kind == "answer":
            matches(SCHEMA["methods"][method]["answer"], block)
        elif kind == "notification":
            matches(SCHEMA["notifications"][block["method"]], block["params"])


def test_the_daemon_has_the_methods_of_the_schema_and_no_others(unchanged):
    with Client() as client:
        for method in METHODS.keys() - {"initialize", "$/cancelRequest"}:
            with pytest.raises(UsageError, match="parameter"):
                client.call(method, {"nonsense": 1, "cwd": 5})
        with pytest.raises(UsageError, match="unknown method"):
            client.call("vault/format", {})


@pytest.mark.fault("F5")
def test_wrong_parameters_are_named_and_cost_nothing(unchanged):
    here = {"vault": str(unchanged)}
    with Client() as client:
        for limit in (0, -1, 2**62, True, 1.5, "3", [], {}):
            for method, more in (("search", {"query": "pump"}), ("note/related", {"note": "Inbox"})):
                with pytest.raises(UsageError, match="limit") as caught:
                    client.call(method, {**here, **more, "limit": limit})
                assert caught.value.code == "bad_request"
        wrong = (
            ("note/get", {"note": "Inbox", "start_line": 0}, "start_line"),
            ("graph/neighbors", {"note": "Inbox", "depth": 99}, "depth"),
            ("complete", {"kind": "song"}, "kind"),
            ("links/resolve", {"source": "a.md", "links": [{"aim": "b"}]}, "aim"),
            ("vault/rename", {"tag": "a"}, "to"),
            ("complete", {"kind": "value"}, "property"),
            ("search", {"query": "x", "filters": {"colour": "red"}}, "colour"),
            ("search", {"query": ""}, "empty"),
            ("search", {"query": "x" * 5_000}, "5,000"),
            ("search", {}, "query"),
        )
        for method, params, named in wrong:
            with pytest.raises(UsageError, match=named):
                client.call(method, {**here, **params})
        assert client.call("search", {**here, "query": "pump", "limit": None})["results"]


@pytest.mark.fault("E7")
def test_paths_out_of_the_vault_are_refused_whatever_is_there(notes, tmp_path):
    (tmp_path / "secret.md").write_text("sesame")
    bad = [
        "../secret.md",
        str(tmp_path / "secret.md"),
        "a/../../secret.md",
        "/etc/passwd",
        "\0",
        "a\0b.md",
        "..",
        "",
    ]
    bad += ["x" * (limits.PATH_BYTES + 1), "\n", " ", "/", f"{notes}/../secret.md"]
    with Client() as client:
        for method in ("note/get", "note/related", "links/backlinks", "graph/neighbors", "links/unlinked"):
            for path in bad:
                with pytest.raises(UsageError) as caught:
                    client.call(method, {"vault": str(notes), "note": path})
                assert caught.value.code == "bad_path", (method, path)
                assert "sesame" not in str(caught.value)


def test_a_deadline_leaves_out_what_is_not_ready_and_a_newer_search_takes_the_place(unchanged):
    with Client() as client:
        answer = client.call("search", {"vault": str(unchanged), "query": "pump alarm", "deadline_ms": 0})
        assert [lane["lane"] for lane in answer["partial"]] == ["semantic"]
        assert answer["partial"][0]["code"] == "deadline"
        assert answer["results"]
        with pytest.raises((Cancelled, UsageError)):
            client.call("search", {"vault": str(unchanged), "query": "pump", "deadline_ms": -1})


def test_a_subscriber_is_notified_until_it_has_enough(notes):
    with Client() as client, Client() as other:
        vaults = client.call("index/subscribe", {})["vaults"]
        assert "notes" in {each["vault"] for each in vaults}
        client.call("index/subscribe", {"vault": str(notes)})
        (notes / "new.md").write_text("A theodolite.")
        seen: set[str] = set()
        changes: list[Any] = []
        deadline = time.monotonic() + 30
        while "new.md" not in seen:
            assert time.monotonic() < deadline
            for method, params in client.notifications(timeout=0.5):
                if method == "index/changed":
                    assert params["vault_path"] == str(notes)
                    assert params not in changes, "once, though it subscribed to all and to one"
                    changes.append(params)
                    seen.update(params["paths"])
        assert (
            client.call("search", {"vault": str(notes), "query": "theodolite"})["results"][0]["path"]
            == "new.md"
        )
        client.call("index/unsubscribe", {})
        (notes / "new.md").unlink()
        other.call("index/refresh", {"vault": str(notes)})
        assert "index/changed" not in dict(client.notifications(timeout=0.5))
        assert list(other.notifications(timeout=0.1)) == []
