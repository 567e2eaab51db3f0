"""Every message to users: consistent style, and with advice.

An error class or note problem that is not provoked here fails. So does a message without advice.
"""

import asyncio
import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from messages_in_source import ERRORS, problems, raised
from vaultseek.base import limits
from vaultseek.client import Client
from vaultseek.content.files.ignore import Ignore
from vaultseek.content.files.read import read_note
from vaultseek.content.files.scan import scan
from vaultseek.content.query.grammar import parse_query
from vaultseek.core.indexing.reconcile import compare_vault
from vaultseek.core.notes.inspect import Inspector
from vaultseek.core.notes.lookup import resolve_note
from vaultseek.core.search.request import SearchRequest, parse_request
from vaultseek.doors.cli.exit_codes import NO_MATCH, UNAVAILABLE, USAGE
from vaultseek.doors.cli.main import main
from vaultseek.errors import UsageError, VaultseekError
from vaultseek.protocol.messages.check import check_answer
from vaultseek.protocol.messages.params import SearchParams, read
from vaultseek.protocol.wire.endpoint import Endpoint
from vaultseek.protocol.wire.frame import FrameReader
from vaultseek.protocol.wire.server import Limits, Server
from vaultseek.settings.load import load, with_overrides
from vaultseek.settings.search import SearchSettings
from vaultseek.store.keyword.index import KeywordIndex
from vaultseek.store.ledger import Ledger

VERBS = (
    "add|ask|check|choose|connect|correct|delete|drop|end|fetch|free|give|go|install|keep|leave|list|look|make|move|put|"
    "reinstall|remove|rename|restart|run|save|search|see|set|shorten|split|start|stop|try|update|use|write"
)
CONDITION = r"(?:(?:to|if) [^,]+, )?"
ADVICE = re.compile(
    rf"(?:; |, |\? |, so |, or ){CONDITION}(?:{VERBS})\b"
    r"|`vaultseek |\bexpected\b|\bmust\b|\bneeds\b|\bso that\b|\bmay be\b|\b(?:has to|will) be rebuilt\b"
    r"|; (?:it|nothing|its|only|one|each|remaining|the nearest)\b"
)
"""Words that tell users what to do, or what happens by itself."""
WRAPPER = re.compile(r"(?:: |\? |; |^\{\})\{\}$")
"""A template that ends with another message. The tests below provoke these."""


# Errors

Provoke = Callable[[Path], object]


def read_frame(data: bytes) -> object:
    reader = FrameReader(100)
    reader.feed(data)
    return reader.next()


@contextlib.contextmanager
def serving(bounds: Limits) -> Iterator[None]:
    """A daemon's server that never answers ``wait``, in its own thread."""

    async def wait(params: object, context: object) -> None:
        await asyncio.sleep(60)

    async def serve() -> None:
        server = Server({"wait": wait}, bounds=bounds)
        task = asyncio.create_task(server.serve(endpoint.socket))
        await asyncio.to_thread(over.wait)
        await server.close(0.1)
        await task

    over, endpoint = threading.Event(), Endpoint.open()
    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        endpoint.close()


def ask_a_daemon(bounds: Limits | None = None) -> None:
    with serving(bounds or Limits()), Client(timeout=0.3) as client:
        client.call("wait")


def two_daemons() -> None:
    first = Endpoint.open()
    try:
        Endpoint.open()
    finally:
        first.close()


def ask_for_a_note(name: str, root: Path) -> None:
    ledger = Ledger(root / "ledger")
    try:
        resolve_note(name, ledger, root)
    finally:
        ledger.close()


def worker_without_program(root: Path) -> None:
    from vaultseek.semantic.worker.child import Child

    asyncio.run(Child.spawn({}, lambda death: None, command=[str(root / "none")]))


def damaged_index(root: Path) -> None:
    KeywordIndex.create(root / "index").close()
    for file in (root / "index").iterdir():
        file.write_bytes(b"\0" * 10)
    KeywordIndex.open(root / "index")


def folder_that_is_a_file(root: Path) -> None:
    (root / "run").touch()
    Endpoint.open(root / "run" / "daemon.sock")


def address_that_others_can_read(root: Path) -> None:
    file = root / "daemon.tcp"
    file.write_text("{}")
    file.chmod(0o644)
    Client(file)


def wrong_configuration(root: Path) -> None:
    file = root / "config.toml"
    file.write_text("[search]\nlimit = 'many'\n")
    load(file)


PROVOKED: dict[str, Provoke] = {
    "bad_config": wrong_configuration,
    "bad_request": lambda root: with_overrides(SearchSettings(), {"nothing": "1"}),
    "bad_query": lambda root: parse_query("x" * (limits.QUERY_CHARS + 1)),
    "bad_path": lambda root: ask_for_a_note("../../x.md", root),
    "not_found": lambda root: Inspector(root).inspect_file(root / "none.md"),
    "unavailable": folder_that_is_a_file,
    "not_running": lambda root: Client(),
    "vault_missing": lambda root: compare_vault(root / "gone", Ignore(root), ledger=None),
    "already_running": lambda root: two_daemons(),
    "worker_unavailable": worker_without_program,
    "forbidden": address_that_others_can_read,
    "busy": lambda root: ask_a_daemon(Limits(clients=0)),
    "cancelled": lambda root: ask_a_daemon(),
    "invalid": lambda root: check_answer("vault/list", None),
    "too_large": lambda root: read_frame(b"Content-Length: 101\r\n\r\n"),
    "bad_frame": lambda root: read_frame(b"GET / HTTP/1.1\r\n\r\n"),
    "index_damaged": damaged_index,
}


@pytest.mark.parametrize("code", PROVOKED)
def test_an_error_says_what_happened_in_one_line(code: str, tmp_path: Path) -> None:
    with pytest.raises(VaultseekError) as caught:
        PROVOKED[code](tmp_path)
    error = caught.value
    assert error.code == code
    assert (error.exit_code, str(error)) != (0, "")
    assert well_written(str(error))


def test_every_error_is_in_the_table() -> None:
    assert set(PROVOKED) == {kind.code for kind in ERRORS.values()} - {VaultseekError.code}


def test_messages_are_one_plain_clause() -> None:
    assert [message for message in raised() if not well_written(message.text)] == []


def test_messages_say_what_to_do_next() -> None:
    """Errors of child processes are exempt: users see them as the reason for a missing lane."""
    inner = ("semantic/worker/", "base/child_process.py")
    read = [message for message in raised() if not message.place.startswith(inner)]
    assert [it for it in read if not (ADVICE.search(it.text) or WRAPPER.search(it.text))] == []


# Errors that people read: from the command line and from requests

FILES = {
    "wrong.toml": "[search]\nlimit = 'many'\n",
    "broken.toml": "[search\n",
    "queries": '{"id": "1", "query": "x"}\n',
    "qrels": "1\ta.md\t1\n",
}
JUDGED = ["--queries", "queries", "--qrels", "qrels"]
SEARCH_PARAMS: dict[str, dict[str, object]] = {
    "an_empty_query": {"query": " "},
    "a_query_that_is_too_long": {"query": "x" * (limits.QUERY_CHARS + 1)},
    "too_many_conditions": {"query": " ".join(f"-w{n}" for n in range(limits.QUERY_TERMS + 1))},
    "deep_parentheses": {"query": "(" * 1000 + "x"},
    "an_unknown_filter": {"query": "x", "filters": {"colour": "red"}},
    "a_filter_of_another_type": {"query": "x", "filters": {"tag": 7}},
    "an_empty_filter": {"query": "x", "filters": {"tag": ""}},
    "a_date_that_is_none": {"query": "x", "filters": {"created_after": "soon"}},
    "a_property_without_value": {"query": "x", "filters": {"property": "status"}},
    "a_property_without_order": {"query": "x", "filters": {"property": "n>abc"}},
    "an_unknown_profile": {"query": "x", "settings": {"profile": "loud"}},
    "an_unknown_parameter": {"query": "x", "colour": "red"},
    "a_parameter_of_another_type": {"query": 7},
    "a_wrong_setting": {"query": "x", "settings": {"limit": "many"}},
    "an_unknown_setting": {"query": "x", "settings": {"limt": "3"}},
}
COMMANDS: dict[str, list[str]] = {
    "no_query": ["search"],
    "no_daemon": ["search", "x", "--no-start"],
    "no_such_configuration": ["--config", "none.toml", "status"],
    "a_configuration_with_a_wrong_value": ["--config", "wrong.toml", "config", "show"],
    "a_configuration_with_wrong_syntax": ["--config", "broken.toml", "config", "show"],
    "a_configuration_that_is_a_folder": ["--config", ".", "config", "show"],
    "the_home_directory_as_a_vault": ["config", "init", "--vault", "/"],
    "a_configuration_that_exists": ["config", "init", "wrong.toml"],
    "lines_that_are_no_range": ["read", "a.md", "--lines", "some"],
    "a_note_that_is_missing": ["inspect", "none.md"],
    "a_folder_as_a_note": ["inspect", "."],
    "standard_input_twice": ["inspect", "-", "-"],
    "a_path_outside_the_vault": ["inspect", "-", "--path", "../x.md"],
    "a_vault_that_is_a_file": ["inspect", "x.md", "--vault", "wrong.toml"],
    "a_vault_that_is_unknown": ["inspect", "x.md", "--vault", "none"],
    "two_forms_of_a_report": ["doctor", "--json", "--report"],
    "a_model_without_a_name": ["models", "fetch", "no name"],
    "a_model_that_is_missing": ["models", "use", "owner/none"],
    "a_folder_that_is_no_model": ["models", "use", "."],
    "a_comparison_of_nothing": ["evaluate", *JUDGED, "--compare", "flat"],
    "a_comparison_of_an_unknown_setting": ["evaluate", *JUDGED, "--compare", "a=limt:3"],
    "queries_that_are_none": ["evaluate", "--queries", "wrong.toml", "--qrels", "qrels"],
    "a_measurement_of_no_vault": ["evaluate", *JUDGED],
    "a_log_that_is_missing": ["service", "logs"],
}


def read_search(params: dict[str, object]) -> None:
    """Read the parameters of a search as the daemon does."""
    request = read(SearchParams, params)
    settings = with_overrides(SearchSettings(), request.settings)
    parse_request(SearchRequest(request.query, settings, fields=request.filters))


@pytest.mark.parametrize("params", SEARCH_PARAMS.values(), ids=SEARCH_PARAMS)
def test_a_search_that_is_refused_says_what_to_do(params: dict[str, object]) -> None:
    with pytest.raises(UsageError) as caught:
        read_search(params)
    assert well_written(str(caught.value))
    assert ADVICE.search(str(caught.value)), caught.value


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_command_that_fails_says_what_to_do(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert main(arguments) in (USAGE, UNAVAILABLE, NO_MATCH)
    line = capsys.readouterr().err.splitlines()[0]
    assert line.startswith("vaultseek: ")
    assert well_written(line.removeprefix("vaultseek: "))
    assert ADVICE.search(line), line


def well_written(text: str) -> bool:
    """Check that a message is one line, begins in lower case or with a name, and has no full stop at its
    end."""
    first = text.split()[0].strip("':;,")
    small = not first[0].isupper() or first in ("Content-Length",) or "/" in first or "." in first
    return text.isprintable() and small and not text.rstrip("\"'").endswith((".", "!"))


# Problems of notes

LONG = "---\n" + "a: b\n" * 20_000 + "---\n"


def many(text: str, number: int) -> bytes:
    return (text * (number + 1)).encode()


NOTES: dict[str, bytes] = {
    "bad_encoding": b"caf\xe9 and more",
    "byte_order_mark": b"\xef\xbb\xbftext",
    "bad_character": b"a\0b and more text",
    "binary": bytes(range(256)) * 50,
    "frontmatter_too_large": LONG.encode(),
    "bad_frontmatter": b"---\na: [\n---\n",
    "too_large": b"x" * (limits.NOTE_PARSE_BYTES + 1),
    "too_long": many("x\n\n", limits.NOTE_LINES // 2 + 1),
    "too_many_marks": many("[", limits.NOTE_MARKS * 2),
    "too_many_links": b"".join(b"[[%d]] " % n for n in range(limits.NOTE_LINKS + 1)),
    "too_many_tags": b"".join(b"#t%d " % n for n in range(limits.NOTE_TAGS + 1)),
    "too_many_headings": many("# x\n", limits.NOTE_HEADINGS),
}


def make_link(root: Path) -> None:
    (root / "a.md").symlink_to(root / "elsewhere.md")


def make_folder_link(root: Path) -> None:
    (root / "folder").symlink_to(root / "elsewhere")


def make_inner_vault(root: Path) -> None:
    (root / "inner" / ".obsidian").mkdir(parents=True)


def make_bad_rule(root: Path) -> None:
    (root / ".obsidian").mkdir()
    (root / ".obsidian" / "app.json").write_text('{"userIgnoreFilters": ["/(/"]}')
    (root / "a.md").write_text("x")  # a rule is read only when there is something to compare it with


def make_bad_name(root: Path) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.md")).write_text("x")


def make_hole(root: Path) -> None:
    with (root / "a.md").open("wb") as file:
        file.truncate(4096)


PLACES: dict[str, Callable[[Path], None]] = {
    "bad_rule": make_bad_rule,
    "not_a_file": make_link,
    "link": make_folder_link,
    "nested_vault": make_inner_vault,
    "bad_name": make_bad_name,
    "not_local": make_hole,
}
ELSEWHERE = {
    "path_too_long": "no system here has such paths",
    "bad_base": "of a base, not of a note",
    "query": "of a table, not of a note",
    "unreadable": "root may read everything",
    "unreadable_folder": "root may read everything",
    "not_embedded": "needs a model that fails",
    "ends_daemon": "needs a daemon that dies",
    "not_indexed": "needs a note that breaks the parser or the ledger",
}
"""Problems that are not provoked here, and why; their wording is tested anyway."""


@pytest.mark.parametrize("code", NOTES)
def test_a_problem_of_a_note_says_what_to_do(code: str, vault: Callable[..., Path]) -> None:
    root = vault({"a.md": NOTES[code]})
    problems = Inspector(root).inspect_file(root / "a.md")["problems"]
    messages = {problem["code"]: problem["message"] for problem in problems}
    assert well_written(messages[code])
    assert ADVICE.search(messages[code])


@pytest.mark.parametrize("code", PLACES)
def test_a_file_that_is_left_out_has_a_problem(code: str, vault: Callable[..., Path]) -> None:
    root = vault({})
    PLACES[code](root)
    found = [file.problem for file in scan(root, Ignore(root)) if file.problem]
    if not found:
        found = [read.problem for read in [read_note(root, "a.md")] if read and read.problem]
    assert [problem.code for problem in found] == [code]
    assert all(well_written(problem.message) for problem in found)


def test_every_problem_is_in_a_table() -> None:
    known = {*NOTES, *PLACES, *ELSEWHERE}
    found = {message.of for message in problems()} - {"too_many_{}"}
    assert found <= known


def test_problems_are_written_like_errors() -> None:
    assert [message for message in problems() if message.text and not well_written(message.text)] == []
