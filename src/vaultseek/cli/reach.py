"""Reaching the daemon: connect to the one that runs, or start one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vaultseek import limits, paths
from vaultseek.errors import Unavailable

if TYPE_CHECKING:
    from vaultseek.cli.invocation import Invocation
    from vaultseek.client import Client


def connect(invocation: Invocation) -> Client:
    """A client of the running daemon, started first if there is none and nothing forbids it.

    Raises:
        ConfigError: a daemon would have to be started, and its configuration is wrong.
        Unavailable: there is no daemon, and it was not to be started or did not start; or the one that runs
            has another configuration than the one asked for.
    """
    client = running()
    if client is None:
        return start(invocation)
    if invocation.config is not None:
        _same_configuration(client, invocation.config)
    return client


def running() -> Client | None:
    """A client of the running daemon, or None where none runs."""
    from vaultseek.client import Client
    from vaultseek.wire.endpoint import NO_DAEMON

    try:
        return Client(name="vaultseek.cli")
    except Unavailable as error:
        if str(error) != NO_DAEMON:
            raise
        return None


def gone() -> bool:
    """Whether no daemon runs any more; one that is just ending still counts as running."""
    try:
        client = running()
    except Unavailable:
        return False
    if client is not None:
        client.close()
    return client is None


def start(invocation: Invocation, *, asked: bool = False) -> Client:
    """Start a daemon in the background, wait until it answers, and return a client of it.

    ``asked``: the user said so, which no setting overrules.
    """
    # Read here what the daemon will read: a mistake is told at once, and autostart may be forbidden.
    from vaultseek.client import Client, start_daemon
    from vaultseek.config import load

    settings = load(invocation.config)
    if not asked and not (invocation.autostart and settings.daemon.autostart):
        raise Unavailable("no daemon is running and it may not be started by itself; run `vaultseek start`")
    start_daemon(serve_command(invocation), paths.log_file(), limits.DAEMON_START_SECONDS)
    return Client(name="vaultseek.cli")


def serve_command(invocation: Invocation) -> list[str]:
    """The command line of a daemon with this invocation's configuration."""
    config = ["--config", str(invocation.config)] if invocation.config else []
    return [sys.executable, "-m", "vaultseek", *config, "serve"]


def _same_configuration(client: Client, wanted: Path) -> None:
    daemon = client.call("index/status", {}).get("daemon") or {}
    used = daemon.get("config")
    if used is None or os.path.realpath(used) != os.path.realpath(wanted):
        client.close()
        other = used or "no configuration file"
        raise Unavailable(f"the daemon runs with {other}, not with {wanted}; `vaultseek stop` ends it")
