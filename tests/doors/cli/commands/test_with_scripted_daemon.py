"""Each command with a scripted daemon: requests, output and exit codes."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from vaultseek import errors
from vaultseek.base.extras import install_command
from vaultseek.base.model import Reason
from vaultseek.doors.cli import connect
from vaultseek.doors.cli.exit_codes import BUG
from vaultseek.doors.cli.main import main

RESULT = {
    "rank": 1,
    "path": "a.md",
    "title": "A",
    "heading_path": [],
    "start_line": 1,
    "score": 1.0,
    "preview": "x",
}
INDEX = {"notes": 1, "chunks": 1, "embedded": 1, "pending": 0, "revision": 1}
ANSWER = {
    "query": "q",
    "vault": "notes",
    "mode": "hybrid",
    "took_ms": 1.0,
    "results": [RESULT],
    "index": INDEX,
}
VAULT = {
    "name": "notes",
    "path": "/n",
    "state": "ready",
    "notes": 3,
    "chunks": 9,
    "embedded": 9,
    "pending": 0,
}
STATUS = {"daemon": {"pid": 7, "version": "0.1.0", "socket": "/run/s"}, "vaults": [VAULT]}


class FakeDaemon:
    """Answers by method: an exception is raised, a function is called."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {
            "search": ANSWER,
            "index/status": STATUS,
            "index/refresh": {},
            "shutdown": {},
            **answers,
        }
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.notifications: list[tuple[str, dict[str, Any]]] = []
        self.open = True

    def call(
        self,
        method: str,
        params: dict[str, Any],
        *,
        timeout: float | None = None,
        on_notification: Callable[[str, dict[str, Any]], object] | None = None,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> Any:
        assert self.open
        meanwhile()
        json.dumps(params)
        self.calls.append((method, params))
        for notification in self.notifications if on_notification else ():
            on_notification(*notification)
        answer = self.answers[method]
        if isinstance(answer, BaseException):
            raise answer
        return answer(params) if callable(answer) else answer

    def close(self) -> None:
        self.open = False

    def __enter__(self) -> "FakeDaemon":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """``run(daemon, "search", "x")`` returns exit code, output and error output; None means that no daemon
    runs."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VAULTSEEK_")]:
        monkeypatch.delenv(name)

    def run_with(daemon: FakeDaemon | None, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(
            connect, "connect_to_running", lambda **_: daemon if daemon and daemon.open else None
        )
        monkeypatch.setattr(connect, "daemon_pid", lambda: 7 if daemon and daemon.open else None)
        code = main(arguments)
        return code, *capsys.readouterr()

    return run_with


def test_search_asks_for_what_the_command_line_says(run: Run, tmp_path: Path) -> None:
    daemon = FakeDaemon()
    assert (
        run(daemon, "search", "two", "words", "-n", "3", "--mode", "keyword", "--wait", "--explain")[0] == 0
    )
    assert daemon.calls == [
        (
            "search",
            {
                "query": "two words",
                "limit": 3,
                "mode": "keyword",
                "wait": True,
                "progress": True,
                "explain": True,
                "settings": {},
                "cwd": str(tmp_path),
            },
        )
    ]
    assert not daemon.open


def test_with_json_an_error_of_the_daemon_keeps_its_code(run: Run) -> None:
    code, out, err = run(FakeDaemon(search=errors.BadQuery("too long")), "search", "x", "--json")
    assert (code, err) == (2, "vaultseek: too long\n")
    assert json.loads(out) == {"error": {"code": "bad_query", "message": "too long"}}
    code, out, _ = run(FakeDaemon(search=ValueError("odd")), "search", "x", "--json")
    assert (code, json.loads(out)["error"]["code"]) == (BUG, "internal")


def test_search_leaves_to_the_daemon_what_was_not_said(run: Run) -> None:
    daemon = FakeDaemon()
    run(daemon, "search", "x")
    assert {"limit", "mode"}.isdisjoint(daemon.calls[0][1])


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        (["keel", "-rope", "mast"], "keel -rope mast"),
        (["keel", '-"old rope"'], 'keel -"old rope"'),
        (["-tag:work", "-n", "4", "plan"], "-tag:work plan"),
        (["-notes", "plan"], "-notes plan"),
        (["-n4", "plan"], "plan"),
        (["--", "--json", "-n"], "--json -n"),
        (['"square rig" OR [status:open]'], '"square rig" OR [status:open]'),
    ],
)
def test_a_minus_excludes_words_and_stays_where_it_stood(run: Run, arguments: list[str], query: str) -> None:
    daemon = FakeDaemon()
    assert run(daemon, "search", *arguments)[0] == 0
    assert daemon.calls[0][1]["query"] == query


def test_a_list_folds_unless_all_or_a_number_of_notes_is_asked_for(run: Run) -> None:
    results = [{"path": "a.md", "certainty": 0.9}, {"path": "b.md", "certainty": 0.01}]
    answer = {"results": results, "less_certain": 1, "vault_path": "/v"}
    folded = run(FakeDaemon(search=answer), "search", "x")[1]
    assert "b.md" not in folded
    assert "    1 less certain note: --all\n" in folded
    for options in (["--all"], ["-n", "2"], ["--paths"], ["--json"]):
        whole = run(FakeDaemon(search=answer), "search", "x", *options)[1]
        assert "b.md" in whole
        assert "--all" not in whole


def test_filters_are_options_that_may_be_given_several_times(run: Run) -> None:
    daemon = FakeDaemon()
    arguments = ["--tag", "work", "--tag", "pumps", "--property", "n>=2", "--exclude", "-old rig"]
    assert run(daemon, "search", *arguments, "--modified-after", "last week")[0] == 0
    assert daemon.calls[0][1]["query"] == ""
    assert daemon.calls[0][1]["filters"] == {
        "tag": ["work", "pumps"],
        "property": ["n>=2"],
        "exclude": ["-old rig"],
        "modified_after": ["last week"],
    }
    assert run(FakeDaemon(), "search")[0] == 2


def test_several_passages_of_each_note_are_asked_for(run: Run) -> None:
    daemon = FakeDaemon(search=ANSWER)
    assert run(daemon, "search", "x", "--passages", "3")[0] == 0
    assert daemon.calls[0][1]["passages"] == 3
    assert run(FakeDaemon(), "search", "x", "--passages", "21")[0] == 2


def test_paths_are_one_a_line_and_open_from_where_one_is(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes" / "sub").mkdir(parents=True)
    found = [RESULT, {**RESULT, "path": "sub/b c.md"}, RESULT]
    answer = {**ANSWER, "results": found, "vault_path": str(tmp_path / "notes")}
    daemon = FakeDaemon(search=answer)
    assert run(daemon, "search", "x", "--paths")[1] == f"{tmp_path}/notes/a.md\n{tmp_path}/notes/sub/b c.md\n"
    assert daemon.calls[0][1]["brief"] is True
    monkeypatch.chdir(tmp_path / "notes" / "sub")
    assert run(FakeDaemon(search=answer), "search", "x", "--paths")[1] == "../a.md\nb c.md\n"


def test_open_starts_the_editor_at_the_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/opened\n')
    editor.chmod(0o700)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    recorded: list[tuple[str, str]] = []
    monkeypatch.setattr(
        connect, "call_daemon", lambda _, method, params: recorded.append((method, params["note"]))
    )
    answer = {**ANSWER, "results": [{**RESULT, "path": "a b.md", "start_line": 12}], "vault_path": "/n"}
    assert run(FakeDaemon(search=answer), "search", "x", "--open")[0] == 0
    assert (tmp_path / "opened").read_text() == "+12 /n/a b.md\n"
    assert recorded == [("search/opened", "a b.md")]


def test_an_editor_with_an_open_quotation_mark_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "vim -c 'set nu")
    code, _, problem = run(FakeDaemon(search={**ANSWER, "vault_path": "/n"}), "search", "x", "--open")
    assert code == 2
    assert problem.startswith('vaultseek: the editor "vim -c \'set nu" has an unclosed quotation mark; set ')


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("tag:wo", {"kind": "tag", "text": "wo"}),
        ("#wo", {"kind": "tag", "text": "wo"}),
        ("link:Pu", {"kind": "note", "text": "Pu"}),
        ("[sta", {"kind": "property", "text": "sta"}),
        ("[status:op", {"kind": "value", "property": "status", "text": "op"}),
        ("Notes: a", {"kind": "note", "text": "Notes: a"}),
    ],
)
def test_an_operator_of_the_query_language_says_what_is_completed(
    run: Run, text: str, asked: dict[str, str]
) -> None:
    daemon = FakeDaemon(complete={"items": []})
    run(daemon, "complete", text)
    assert asked.items() <= daemon.calls[0][1].items()


def test_lines_in_the_wrong_order_are_refused_with_the_right_one(run: Run) -> None:
    code, _, problem = run(FakeDaemon(), "read", "a", "--lines", "9-5")
    assert (code, problem) == (
        2,
        "vaultseek: --lines 9-5: the last line is before the first; use --lines 5-9\n",
    )


@pytest.mark.parametrize("lines", ["0-3", "0", "3-0"])
def test_there_is_no_line_zero(run: Run, lines: str) -> None:
    code, _, problem = run(FakeDaemon(), "read", "a", "--lines", lines)
    assert (code, problem) == (2, f"vaultseek: --lines {lines}: lines are counted from 1; use --lines 1-10\n")


def test_values_of_no_property_are_refused_with_the_option(run: Run) -> None:
    code, _, problem = run(FakeDaemon(), "complete", "--kind", "value", "op")
    assert (code, problem) == (2, "vaultseek: --kind value needs a property; add --property NAME\n")


def test_a_long_value_is_cut_where_all_properties_are_listed(run: Run) -> None:
    value = {"value": "long " * 50, "count": 1}
    listed = {"name": "abstract", "count": 1, "types": ["text"], "values": [value]}
    daemon = FakeDaemon(**{"vault/properties": {"properties": [listed], "count": 1, "total": 1}})
    assert len(run(daemon, "properties")[1].splitlines()[1]) < 60


@pytest.mark.parametrize("command", [[], ["search"], ["vault", "add"]])
def test_help_is_a_command_too(run: Run, command: list[str]) -> None:
    assert run(FakeDaemon(), "help", *command) == run(FakeDaemon(), *command, "--help")


def test_settings_of_the_shell_travel_with_the_request(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSEEK_SEARCH__SEMANTIC_WEIGHT", "0.7")
    monkeypatch.setenv("VAULTSEEK_SEARCH__RECENCY__ENABLED", "false")
    monkeypatch.setenv("VAULTSEEK_SEARCH__ALPHA", "")
    monkeypatch.setenv("VAULTSEEK_DAEMON__AUTOSTART", "false")
    daemon = FakeDaemon()
    run(daemon, "search", "x")
    assert daemon.calls[0][1]["settings"] == {"semantic_weight": "0.7", "recency.enabled": "false"}


def test_a_vault_that_is_a_path_is_made_absolute_and_a_word_is_left(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    daemons = [FakeDaemon() for _ in range(3)]
    for daemon, vault in zip(daemons, ("./sub", "sub", "gone/away"), strict=True):
        run(daemon, "search", "x", "--vault", vault)
    given = [daemon.calls[0][1]["vault"] for daemon in daemons]
    assert given == [str(tmp_path / "sub"), "sub", str(tmp_path / "gone/away")]


def test_remarks_are_said_beside_paths_and_places(run: Run) -> None:
    remarks = [
        {"code": "closest", "text": "no note matches; these are the closest"},
        {"code": "query", "text": "before:x was left out; expected a date"},
    ]
    for arguments in (["--paths"], ["--format", "vimgrep"]):
        daemon = FakeDaemon(search={"results": [{"path": "a.md"}], "remarks": remarks})
        code, out, err = run(daemon, "search", "before:x", *arguments)
        assert (code, out[:4]) == (0, "a.md")
        assert err == (
            "vaultseek: no note matches; these are the closest\n"
            "vaultseek: before:x was left out; expected a date\n"
        )


def test_notes_of_one_name_are_told_apart_in_completions(run: Run) -> None:
    names = [("Readme", "a/Readme.md"), ("readme", "b/readme.md"), ("Reading", "Reading.md")]
    daemon = FakeDaemon(complete={"items": [{"text": text, "path": path} for text, path in names]})
    assert run(daemon, "complete", "read")[1].split() == ["a/Readme.md", "b/readme.md", "Reading"]


def test_search_json_is_the_answer_in_one_line_of_utf8(run: Run) -> None:
    answer = {**ANSWER, "query": "温水器\x1b\x9b\ud800", "extra": 1}
    code, out, err = run(FakeDaemon(search=answer), "search", "--json", "x")
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    assert "温水器" in out
    assert not set(out) & set("\x1b\x9b")
    assert json.loads(out) == answer


def test_nothing_found_is_exit_code_one(run: Run) -> None:
    empty = {**ANSWER, "results": []}
    assert run(FakeDaemon(search=empty), "search", "x")[:2] == (
        1,
        "No match for q in 1 note; try other or fewer words.\n",
    )
    code, out, _ = run(FakeDaemon(search=empty), "search", "--json", "x")
    assert code == 1
    assert json.loads(out)["results"] == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.BadQuery("the query is empty; give a word"), 2),
        (errors.VaultMissing("notes: its folder is missing"), 3),
        (errors.NotFound("no vault is called x"), 1),
        (errors.ConfigError("config.toml: search.limit: wrong"), 2),
        (errors.Unavailable("a\nb\x1b[31m"), 3),
    ],
)
def test_what_the_daemon_refuses_is_one_line_and_an_exit_code(run: Run, error: Exception, code: int) -> None:
    got, out, err = run(FakeDaemon(search=error), "search", "x")
    assert (got, out) == (code, "")
    assert err.startswith("vaultseek: ")
    assert err.count("\n") == 1
    assert "\x1b" not in err


@pytest.mark.parametrize(
    ("advice", "command"),
    [
        (errors.advise("start"), "vaultseek start"),
        (errors.advise("stop"), "vaultseek stop"),
        (errors.advise("add"), "vaultseek vault add DIR"),
        (errors.advise("choose", "a", "b"), "--vault NAME"),
        (errors.advise("resume", "My notes"), "vaultseek vault resume 'My notes'"),
        (errors.advise("index", "notes"), "vaultseek index --vault notes"),
        (errors.advise("fetch", "owner/model"), "vaultseek models fetch owner/model"),
        (errors.advise("install", "ocr"), install_command("ocr")),
    ],
)
def test_advice_is_a_command_of_the_shell(run: Run, advice: dict[str, Any], command: str) -> None:
    error = errors.Unavailable("it fails; do this", advice=advice)
    for failing in (error, Reason.of(error).error()):
        _, _, line = run(FakeDaemon(search=failing), "search", "x")
        assert line == f"vaultseek: it fails; do this with `{command}`\n"
    _, out, _ = run(FakeDaemon(search=error), "search", "x", "--json")
    assert json.loads(out)["error"]["message"] == f"it fails; do this with `{command}`"


def test_advice_of_a_newer_daemon_is_left_to_the_message(run: Run) -> None:
    error = errors.Unavailable("it fails; dance", advice={"kind": "dance", "names": []})
    assert run(FakeDaemon(search=error), "search", "x")[2] == "vaultseek: it fails; dance\n"


def test_a_bug_is_reported_as_one_and_is_not_nothing_found(run: Run) -> None:
    code, _, err = run(FakeDaemon(search=ZeroDivisionError("oops")), "search", "x")
    assert code == 70
    assert "Traceback" in err
    assert err.splitlines()[-1].endswith("please report the lines above: ZeroDivisionError: oops")


def test_interrupts_and_broken_pipes_are_silent(run: Run) -> None:
    assert run(FakeDaemon(**{"index/status": click.Abort()}), "status") == (130, "", "")
    code, out, err = run(FakeDaemon(search=KeyboardInterrupt()), "search", "x")
    assert (code, out, err.strip()) == (130, "", "")
    code, out, err = run(FakeDaemon(**{"index/refresh": KeyboardInterrupt()}), "index")
    assert (code, out, err.strip()) == (130, "", "")
    assert run(FakeDaemon(search=BrokenPipeError()), "search", "x") == (141, "", "")


def test_index_asks_for_a_look_at_the_disk(run: Run, tmp_path: Path) -> None:
    daemon = FakeDaemon()
    code, out, _ = run(daemon, "index")
    assert (code, daemon.calls[0]) == (
        0,
        ("index/refresh", {"remember": True, "cwd": str(tmp_path)}),
    )
    assert "vaultseek index --wait" in out


def test_index_does_not_wait_for_a_large_vault(run: Run) -> None:
    daemon = FakeDaemon(**{"index/refresh": errors.Cancelled("no answer in time")})
    code, out, err = run(daemon, "index", "--json")
    assert (code, json.loads(out), err) == (0, STATUS, "")


def test_index_wait_shows_progress_and_a_summary(run: Run, tmp_path: Path) -> None:
    daemon = FakeDaemon(**{"index/wait": {**VAULT, "problems": [{"path": "b.md", "message": "binary"}]}})
    progress = {"vault": "notes", "notes_done": 1, "notes_total": 3, "phase": "reading", "share": 0.1}
    daemon.notifications = [
        ("index/progress", progress),
        ("index/progress", {**progress, "notes_done": 2}),
        ("something/else", {}),
        ("index/progress", {**progress, "share": 0.4, "phase": "embedding", "rate": 4.0}),
    ]
    code, out, err = run(daemon, "index", "--wait")
    assert code == 0
    assert daemon.calls[0] == (
        "index/wait",
        {"progress": True, "remember": True, "cwd": str(tmp_path)},
    )
    assert err.splitlines() == [
        "notes: 10 % · reading files, 1 of 3",
        "notes: 40 % · computing vectors, 4/s",
    ]
    summary = "notes: 3 notes · 9 passages · all embedded; 1 problem, listed by `vaultseek status`"
    assert out.splitlines()[0] == summary


def test_index_wait_json_prints_the_state_and_nothing_else(run: Run) -> None:
    daemon = FakeDaemon(**{"index/wait": VAULT})
    daemon.notifications = [("index/progress", {"notes": 1})]
    code, out, err = run(daemon, "index", "--wait", "--json")
    assert (code, json.loads(out), err) == (0, VAULT, "")
    assert daemon.calls[0][1]["progress"] is False


def test_status_of_everything_or_of_one_vault(run: Run, tmp_path: Path) -> None:
    daemon = FakeDaemon()
    code, out, _ = run(daemon, "status")
    assert (code, daemon.calls) == (0, [("index/status", {})])
    assert out.startswith("vaultseek 0.1.0 · pid 7")
    one = FakeDaemon()
    assert json.loads(run(one, "status", "--json", "--vault", "notes")[1]) == STATUS
    assert one.calls == [("index/status", {"vault": "notes", "cwd": str(tmp_path)})]


@pytest.mark.parametrize("text", ["[search]\nlimits = 5\n", "[search\n"])
def test_status_names_what_is_wrong_with_the_file_of_a_running_daemon(
    run: Run, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    daemon = FakeDaemon(**{"index/status": {**STATUS, "daemon": {**STATUS["daemon"], "config": str(file)}}})
    shown = " ".join(run(daemon, "status")[1].split())
    assert f"config: {file} {file}: " in shown
    assert "`vaultseek config check` lists all problems" in shown


def test_start_finds_the_daemon_that_runs(run: Run) -> None:
    assert run(FakeDaemon(), "start")[:2] == (0, "already running: pid 7, socket /run/s\n")


def test_stop_waits_until_the_daemon_is_gone(run: Run) -> None:
    daemon = FakeDaemon()
    assert run(daemon, "stop")[:2] == (0, "stopped\n")
    assert daemon.calls == [("shutdown", {})]


def test_stop_without_a_daemon_has_nothing_to_do(run: Run) -> None:
    assert run(None, "stop")[:2] == (0, "no daemon is running\n")


def test_status_without_a_daemon_starts_none(run: Run) -> None:
    told = "no daemon is running; start one with `vaultseek start`\n"
    assert run(None, "status")[:2] == (3, told)
    code, out, _ = run(None, "status", "--json")
    assert (code, json.loads(out)) == (3, {"daemon": None, "vaults": []})


def test_status_without_a_daemon_says_what_is_wrong_with_the_settings(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[semantic]")
    code, out, _ = run(None, "--config", str(file), "status")
    assert (code, out.splitlines()[0]) == (3, "no daemon is running; start one with `vaultseek start`")
    assert f"{file}: semantic: unknown key" in out


def test_the_notes_of_a_vault_that_is_being_opened_are_not_counted(run: Run) -> None:
    vaults = [
        {"name": name, "path": f"/{name}", "from": "config", "state": state, "notes": 0}
        for name, state in (("a", "opening"), ("b", "ready"))
    ]
    lines = run(FakeDaemon(**{"vault/list": {"vaults": vaults}}), "vault", "list")[1].splitlines()
    assert ["note" in line for line in lines] == [False, True]


def test_a_daemon_with_another_configuration_does_not_answer_for_this_one(run: Run, tmp_path: Path) -> None:
    ours, other = tmp_path / "ours.toml", tmp_path / "other.toml"
    ours.touch()
    other.touch()
    for used, code in ((str(ours), 0), (str(other), 3), (None, 3)):
        status = {"daemon": {**STATUS["daemon"], "config": used}, "vaults": []}
        got, _, err = run(FakeDaemon(**{"index/status": status}), "search", "x", "--config", str(ours))
        assert got == code
        assert ("stop it with `vaultseek stop`" in err) == (code == 3)


def test_shared_options_stand_before_or_after_the_command(run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[search]\nlimit = 'x'\n")
    for arguments in (
        ["--config", "c.toml", "search", "x"],
        ["search", "x", "--config", "c.toml", "--no-color"],
    ):
        code, _, err = run(None, *arguments)
        assert code == 2
        assert err == (
            f"vaultseek: {tmp_path / 'c.toml'}: search.limit: "
            'expected a whole number from 1 to 200, found "x"\n'
        )


READING = ("index/progress", {"vault": "notes", "notes_done": 1, "notes_total": 3, "phase": "reading"})


def test_a_search_that_waits_says_what_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultseek.doors.cli.progress.DELAY_SECONDS", 0.0)
    daemon = FakeDaemon()
    daemon.notifications = [READING]
    assert run(daemon, "search", "x", "--wait")[2] == "notes: 0 % · reading files, 1 of 3\n"
    for silent in (("search", "x"), ("search", "x", "--wait", "--json")):
        daemon = FakeDaemon()
        daemon.notifications = [READING]
        assert run(daemon, *silent)[2] == ""
        assert "progress" not in daemon.calls[0][1]


BROKEN = [
    {"path": "b.md", "line": 3, "target": "Tea", "text": "see [[Tea]]"},
    {"path": "a.md", "line": 1, "target": "Nowhere", "heading": "Top", "text": "a [[Nowhere#Top]]"},
    {"path": "c.md", "line": 9, "target": "nowhere", "text": "to [[nowhere]]"},
]


def test_broken_links_stand_under_the_note_that_is_missing(run: Run) -> None:
    daemon = FakeDaemon(**{"links/unresolved": {"links": BROKEN, "count": 3, "total": 3}})
    assert run(daemon, "broken-links")[1].splitlines() == [
        "Broken links (3)",
        "",
        "Nowhere (2)",
        "  a.md:1  a [[Nowhere#Top]]",
        "  c.md:9  to [[nowhere]]",
        "",
        "Tea (1)",
        "  b.md:3  see [[Tea]]",
    ]


def test_tags_and_properties_of_most_notes_come_first(run: Run) -> None:
    tags = [("area", 0, 3), ("area/home", 3, 3), ("book", 9, 9), ("car", 3, 3)]
    rows = [{"tag": tag, "count": count, "total": total} for tag, count, total in tags]
    daemon = FakeDaemon(**{"vault/tags": {"tags": rows, "count": 4, "total": 4}})
    shown = [line.split()[0] for line in run(daemon, "tags")[1].splitlines()]
    assert shown == ["#book", "#area", "#area/home", "#car"]
    names = [
        {"name": name, "count": n, "types": {"text": n}, "values": []} for name, n in (("a", 1), ("b", 2))
    ]
    daemon = FakeDaemon(**{"vault/properties": {"properties": names, "count": 2, "total": 2}})
    assert [line[0] for line in run(daemon, "properties")[1].splitlines()] == ["b", "a"]


def test_a_note_without_neighbours_is_said_to_have_none(run: Run) -> None:
    head = {"vault": "notes", "vault_path": "/n", "path": "a.md", "title": "A"}
    daemon = FakeDaemon(**{"graph/neighbors": {**head, "notes": [], "edges": [], "total": 0, "depth": 1}})
    code, out, _ = run(daemon, "neighbors", "a")
    assert (code, out.splitlines()[-1]) == (
        1,
        "This note has no links and no backlinks.",
    )


def test_suggestions_are_printed_as_they_are_found(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    def suggested(source: str, path: str, score: float) -> dict[str, Any]:
        about = {"path": path, "title": path.removesuffix(".md"), "tags": [], "modified": "", "created": ""}
        return {
            **about,
            "score": score,
            "likely": True,
            "reasons": [],
            "source": {"path": source, "title": ""},
        }

    first, again, better = (
        suggested("a.md", "b.md", 2.0),
        suggested("b.md", "a.md", 1.0),
        suggested("c.md", "d.md", 3.0),
    )
    vault = {"vault": "notes", "vault_path": "/n", "markdown": False}
    printed: list[str] = []

    def answer(params: dict[str, Any]) -> dict[str, Any]:
        printed.append(capsys.readouterr().out)
        parts = {0: ([first], 4), 4: ([again], 9), 9: ([better], None)}
        items, rest = parts[params.get("start", 0)]
        return {**vault, "suggestions": items, "next": rest}

    class Connected(FakeDaemon):
        def close(self) -> None:
            """Stay open for the next call."""

    code, out, err = run(Connected(**{"graph/suggest": answer}), "graph", "suggest", "-n", "2")
    assert not err
    assert (code, ["a.md -> " in text for text in printed]) == (0, [False, True, False])
    assert "c.md -> " in out
    code, out, _ = run(Connected(**{"graph/suggest": answer}), "graph", "suggest", "-n", "1", "--json")
    assert [item["path"] for item in json.loads(out)["suggestions"]] == ["d.md"]
