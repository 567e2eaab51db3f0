"""Reaching the daemon: connect to the one that runs, or start one."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from vaultseek import limits, paths
from vaultseek.errors import NotRunning, Unavailable

if TYPE_CHECKING:
    from vaultseek.cli.invocation import Invocation
    from vaultseek.client import Client

DAEMON_START_SECONDS = 20.0
REBIND_SECONDS = 5.0
"""How long a daemon whose socket file is gone is given to make it again."""


def connect(invocation: Invocation) -> Client:
    """A client of the running daemon, started first if there is none and nothing forbids it.

    Raises:
        ConfigError: a daemon would have to be started, and its configuration is wrong.
        Unavailable: there is no daemon, and it was not to be started or did not start; or the one that runs
            has another configuration than the one asked for.
    """
    client = running() or present()
    if client is None:
        return start(invocation)
    if invocation.config is not None:
        _same_configuration(client, invocation.config)
    return client


def running() -> Client | None:
    """A client of the running daemon, or None where none runs."""
    from vaultseek.client import Client

    try:
        return Client(name="vaultseek.cli")
    except NotRunning:
        return None


def holder() -> int | None:
    """The process id of the daemon that runs, None where none does. Starts and connects to nothing."""
    from vaultseek.wire import endpoint

    return endpoint.holder()


def present() -> Client | None:
    """A client of the daemon that runs, or None where none does; nothing is started.

    The lock is asked, not the socket: its file may be gone for a moment, or a service manager may keep it and
    would start a daemon for whoever connects.

    Raises:
        Unavailable: a daemon runs and does not listen.
    """
    deadline = time.monotonic() + REBIND_SECONDS
    while (pid := holder()) is not None:
        if (client := running()) is not None:
            return client
        if time.monotonic() > deadline:
            where = f"a daemon runs (pid {pid or '?'}) and does not listen at {paths.socket_file()}"
            raise Unavailable(f"{where}; end it with `kill {pid or 'PID'}`")
        time.sleep(limits.DAEMON_POLL_SECONDS)
    return None


def start(invocation: Invocation, *, asked: bool = False) -> Client:
    """Start a daemon in the background, wait until it answers, and return a client of it.

    ``asked``: the user said so, which no setting overrules.
    """
    # Read here what the daemon will read: a mistake is told at once, and autostart may be forbidden.
    from vaultseek.client import Client
    from vaultseek.client.launch import start_daemon
    from vaultseek.settings.load import load

    settings = load(invocation.config)
    if not asked and not (invocation.autostart and settings.daemon.autostart):
        raise Unavailable("no daemon is running and it may not be started by itself; run `vaultseek start`")
    start_daemon(serve_command(invocation), paths.log_file(), DAEMON_START_SECONDS)
    return Client(name="vaultseek.cli")


def serve_command(invocation: Invocation) -> list[str]:
    """The command line of a daemon with this invocation's configuration."""
    # -P: a file in the current folder, which may be somebody's vault, must not be imported as a module.
    config = ["--config", str(invocation.config)] if invocation.config else []
    return [sys.executable, "-P", "-m", "vaultseek", *config, "serve"]


def _same_configuration(client: Client, wanted: Path) -> None:
    daemon = client.call("index/status", {}).get("daemon") or {}
    used = daemon.get("config")
    if used is None or os.path.realpath(used) != os.path.realpath(wanted):
        client.close()
        other = used or "no configuration file"
        raise Unavailable(f"the daemon runs with {other}, not with {wanted}; `vaultseek stop` ends it")
