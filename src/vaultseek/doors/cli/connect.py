"""Connection to the daemon: use the running daemon or start one, and call its methods."""

from __future__ import annotations

import os
import sys
import time

from vaultseek.base import limits
from vaultseek.errors import Cancelled, NotFound, NotRunning, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from vaultseek.base.model import JSON
    from vaultseek.client.caller import Caller
    from vaultseek.doors.addresses import Address
    from vaultseek.doors.cli.invocation import Invocation
    from vaultseek.doors.mcp.reply import Reply

DAEMON_START_SECONDS = 20.0
DAEMON_ANSWER_SECONDS = 6.0
"""Seconds within which a daemon must answer ``initialize``; after that, it is considered frozen."""
DAEMON_STOP_SECONDS = 10.0
"""Seconds within which the daemon must end after ``shutdown``; unfinished work is cancelled after 1.5 s."""
DAEMON_TERM_SECONDS = 2.0
"""Seconds between SIGTERM and SIGKILL."""
REBIND_SECONDS = 5.0
"""Seconds within which a daemon recreates its socket file after the file was deleted."""


def call_daemon(invocation: Invocation, method: str, params: JSON) -> JSON:
    """Call a method of the daemon and return its answer."""
    with connect(invocation) as client:
        answer: JSON = client.call(method, params, timeout=limits.CALL_SECONDS)
    return answer


def call_vault(invocation: Invocation, method: str, **params: Any) -> JSON:
    """Call ``method`` for the requested vault; parameters that are None are left out."""
    return call_daemon(invocation, method, invocation.params(**params))


def call_note(invocation: Invocation, method: str, note: str | None, **params: Any) -> JSON:
    """Call ``method`` for a note or, if ``note`` is None, for the vault. The note may be a file in any
    folder."""
    file = note_file(note, invocation) if note else ""
    if file and invocation.vault is None:
        invocation.folder = os.path.dirname(file)
    return call_vault(invocation, method, note=file or note, **params)


def vault_folder(invocation: Invocation) -> str:
    """Return the folder of the vault that the command refers to. Raises the daemon's errors."""
    answer = call_vault(invocation, "search", query="ext:md", limit=1, mode="keyword", brief=True)
    return str(answer["vault_path"])


def record_open(invocation: Invocation, results: Sequence[JSON]) -> None:
    """Report that results were opened; each result contains its query and its vault's folder. Errors are
    ignored."""
    from contextlib import suppress

    from vaultseek.errors import VaultseekError

    for result in results:
        opened = {"query": result["query"], "position": result["rank"]}
        place = {"vault": result["vault_path"], "note": result["path"]}
        with suppress(VaultseekError):
            call_daemon(invocation, "search/opened", {**opened, **place})


def record_given(invocation: Invocation, reply: Reply, command: str, question: str) -> None:
    """Report an answer given to an agent; errors are ignored."""
    from contextlib import suppress

    from vaultseek.doors.mcp.reply import Form, reports
    from vaultseek.errors import VaultseekError

    for vault, given in reports(reply, Form(0), command, question):
        with suppress(VaultseekError):
            call_daemon(invocation, "agents/given", {**given, "vault": vault})


def find_part(invocation: Invocation, name: str, no_note: NotFound) -> tuple[JSON, Address]:
    """Return a note and the part of it that follows a hash or colon in ``name``, such as a heading, block,
    page or lines.

    If nothing is found, raises NotFound; if ``name`` contains no hash or colon, raises ``no_note``.
    """
    from vaultseek.doors.addresses import part, readings

    missing: NotFound | None = None
    no_part: NotFound | None = None
    for address in readings(name):
        note, anchor = address.note, address.anchor
        if not anchor.strip() and (address.first, address.last) == (1, None):
            continue
        try:
            answer = call_note(invocation, "note/get", note, end_line=1)
        except NotFound as error:
            missing = missing or error
            continue
        if not anchor.strip():
            return answer, address
        blocks: list[JSON] = []
        if anchor.startswith("^"):
            asked = {"kind": "block", "note": answer["path"], "text": anchor}
            blocks = call_vault(invocation, "complete", **asked)["items"]
        try:
            return answer, part(anchor, answer, blocks)
        except NotFound as error:
            no_part = no_part or error
    raise no_part or missing or no_note


def note_file(note: str, invocation: Invocation) -> str:
    """Return the absolute path of a note given as a file, or "" if the note is given by name.

    For an agent, only the spelling of ``note`` is checked, because checking the disk could reveal hidden
    notes.
    """
    if invocation.agent:
        is_file = note.startswith((os.sep, f"{os.curdir}{os.sep}", f"{os.pardir}{os.sep}"))
    else:
        is_file = (os.sep in note or note.lower().endswith(".md")) and os.path.isfile(note)
    return os.path.realpath(note) if is_file else ""


def connect(invocation: Invocation) -> Caller:
    """Return a client of the running daemon, starting a daemon if necessary and allowed.

    Raises ConfigError if the configuration is invalid, and Unavailable if the daemon must not be started,
    does not start, or is running with a configuration other than the one given by ``--config``.
    """
    agent = invocation.agent
    client = connect_to_running(agent=agent) or wait_for_running(agent=agent)
    if client is None:
        return start_daemon(invocation)
    if invocation.config is not None:
        used = (client.call("index/status", {}).get("daemon") or {}).get("config")
        if used is None or os.path.realpath(used) != os.path.realpath(invocation.config):
            client.close()
            runs = (
                f"the daemon is running with {used or 'no configuration file'}, not with {invocation.config}"
            )
            raise Unavailable(f"{runs}; stop it with `vaultseek stop`")
    return client


def ensure_running(invocation: Invocation) -> None:
    """Start the daemon unless it is running. Raises ConfigError or Unavailable."""
    connect(invocation).close()


def connect_to_running(*, agent: bool = False) -> Caller | None:
    """Return a client of the running daemon, or None if no daemon is running."""
    from vaultseek.client.caller import Caller

    try:
        return Caller(name="vaultseek.cli", connect_seconds=DAEMON_ANSWER_SECONDS, agent=agent)
    except NotRunning:
        return None


def daemon_pid() -> int | None:
    """Return the process id of the running daemon, or None, without starting a daemon or connecting to it."""
    from vaultseek.protocol.wire import reach

    return reach.holder()


def wait_for_running(*, agent: bool = False) -> Caller | None:
    """Return a client of the running daemon, or None if no daemon is running. Never starts a daemon.

    Checks the lock instead of the socket: the socket file may be missing briefly, and a service manager may
    listen on it and start a daemon for any connection. Raises Unavailable if a daemon is running but does not
    listen.
    """
    deadline = time.monotonic() + REBIND_SECONDS
    while (pid := daemon_pid()) is not None:
        if (client := connect_to_running(agent=agent)) is not None:
            return client
        if time.monotonic() > deadline:
            from vaultseek.base import paths

            what = f"a daemon is running (pid {pid or '?'}) but is not listening at {paths.socket_file()}"
            raise Unavailable(f"{what}; {_by_hand(pid)}")
        time.sleep(limits.DAEMON_POLL_SECONDS)
    return None


def _by_hand(pid: int) -> str:
    """Return advice on how to end a daemon that does not answer; id 0 means a different machine."""
    if pid:
        return f"run `kill -9 {pid}`"
    return "stop it on the machine where it runs, or set XDG_DATA_HOME to a folder on this machine"


def start_daemon(invocation: Invocation, *, by_user: bool = False) -> Caller:
    """Start a daemon in the background, wait until it answers, and return a client connected to it.

    With ``by_user``, the user requested the start, so the autostart setting is ignored.
    """
    from vaultseek.base import paths
    from vaultseek.client.caller import Caller
    from vaultseek.client.launch import start_daemon as start

    if not by_user and not (invocation.autostart and _may_start(invocation.config)):
        raise Unavailable("no daemon is running, and autostart is off; run `vaultseek start`")
    # The first start takes several seconds, during which nothing else would indicate any activity.
    shown = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    if shown:
        print("Starting…", end="", file=sys.stderr, flush=True)
    try:
        start(serve_command(invocation), paths.log_file(), DAEMON_START_SECONDS)
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return Caller(name="vaultseek.cli", agent=invocation.agent)


def _may_start(config: Path | None) -> bool:
    """Return True unless the settings forbid autostart. Raises ConfigError if the settings are invalid.

    If all settings have their defaults, they are not loaded here, because loading is slow.
    """
    from vaultseek.base import paths

    are_set = any(name.upper().startswith("VAULTSEEK_") for name in os.environ)
    if config is None and not are_set and not os.path.lexists(paths.config_file()):
        return True
    from vaultseek.settings.load import load

    return load(config).daemon.autostart


def stop_daemon() -> str:
    """Stop the daemon and wait until it has ended. Return a description of how it ended, or "" if none was
    running.

    A daemon that does not answer, or does not end on request, is sent SIGTERM and then SIGKILL; committed
    data survives this. Raises Unavailable if the daemon belongs to another user, or does not end.
    """
    import signal

    former = _stop_former()
    pid = daemon_pid()
    if pid is None:
        return former
    try:
        client = wait_for_running()
        if client is None:
            return ""
        with client:
            client.call("shutdown", {}, timeout=DAEMON_ANSWER_SECONDS)
    except (Unavailable, Cancelled):
        pass  # the daemon does not answer, or ended before it answered
    else:
        if _has_ended(pid, DAEMON_STOP_SECONDS):
            return "stopped"
    if _signal_ends(pid, signal.SIGTERM, DAEMON_TERM_SECONDS):
        return "stopped: the daemon did not answer, so it was sent SIGTERM; nothing is lost"
    if _signal_ends(pid, signal.SIGKILL, DAEMON_STOP_SECONDS):
        return f"stopped: the daemon did not answer, so the process {pid} was killed; nothing is lost"
    raise Unavailable(f"the daemon (pid {pid or '?'}) did not stop; {_by_hand(pid)}")


def _stop_former() -> str:
    """Stop a daemon of vaultseek 0.1, which listened in the login session's runtime folder."""
    from contextlib import suppress
    from pathlib import Path

    from vaultseek.base import paths
    from vaultseek.client.caller import Caller
    from vaultseek.protocol.wire import reach

    session = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(session, paths.APP) if os.path.isdir(session) else paths.state_directory() / "run"
    path = folder / paths.socket_file().name
    if path == paths.socket_file() or reach.holder(path) is None:
        return ""
    with suppress(Unavailable, Cancelled), Caller(path, connect_seconds=DAEMON_ANSWER_SECONDS) as client:
        client.call("shutdown", {}, timeout=DAEMON_ANSWER_SECONDS)
    deadline = time.monotonic() + DAEMON_STOP_SECONDS
    while reach.holder(path) is not None and time.monotonic() < deadline:
        time.sleep(limits.DAEMON_POLL_SECONDS)
    return "stopped"


def _has_ended(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    # If the process id is different, a service manager has already started the next daemon.
    while daemon_pid() == pid:
        if time.monotonic() > deadline:
            return False
        time.sleep(limits.DAEMON_POLL_SECONDS)
    return True


def _signal_ends(pid: int, number: int, seconds: float) -> bool:
    """Send a signal to the process that holds the lock, if it belongs to the user. Return True if it ends
    within ``seconds``."""
    from contextlib import suppress

    if daemon_pid() != pid:
        return True
    with suppress(OSError):
        # Without /proc, the system's own check of the process's owner decides.
        is_ours = not os.path.isdir("/proc/self") or os.stat(f"/proc/{pid}").st_uid == os.geteuid()
        if pid and pid != os.getpid() and is_ours:
            os.kill(pid, number)
            return _has_ended(pid, seconds)
    return daemon_pid() != pid


def serve_command(invocation: Invocation) -> list[str]:
    """Return the command line that starts a daemon with this invocation's configuration."""
    # With -P, files in the current folder, which may be a vault, are not imported as modules.
    config = ["--config", str(invocation.config)] if invocation.config else []
    return [sys.executable, "-P", "-m", "vaultseek", *config, "serve"]
