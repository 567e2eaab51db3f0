"""``vaultseek serve``, ``start``, ``stop`` and ``status``."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from vaultseek import plugins
from vaultseek.base import limits, paths
from vaultseek.doors.cli.exit_codes import SUCCESS, UNAVAILABLE
from vaultseek.doors.cli.garbage import collect_as_usual
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import json_option, local_options, shared_options, vault_option
from vaultseek.doors.cli.output import print_json, print_result, with_command
from vaultseek.doors.cli.terminal import clean
from vaultseek.errors import ConfigError, NotRunning


@click.command()
@local_options
def serve(invocation: Invocation, **options: str) -> int:
    """Run the daemon in the foreground.

    It runs until Ctrl-C or `vaultseek stop`. Service managers use this command. To start the daemon by
    hand, use `vaultseek start`.
    """
    # Otherwise pydantic reads the metadata of every installed package to find plugins, which slows the start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from vaultseek.daemon.main import serve as serve_until_stopped

    collect_as_usual()
    return serve_until_stopped(invocation.config, **options)


serve.params[:0] = plugins.load("options of serve").values()


@click.command()
@click.option("--restart", is_flag=True, help="Stop the running daemon first, for example after an upgrade.")
@local_options
def start(invocation: Invocation, restart: bool) -> None:
    """Start the daemon in the background.

    Waits until the daemon answers. Does nothing if the daemon is already running. The log is daemon.log in
    the state directory.
    """
    from vaultseek.doors.cli.connect import connect_to_running, start_daemon, stop_daemon

    if restart:
        stop_daemon()
    client = connect_to_running()
    state = "already running" if client else "started"
    with client or start_daemon(invocation, by_user=True) as client:
        daemon = client.call("index/status", {}, timeout=limits.CALL_SECONDS).get("daemon") or {}
    print(f"{state}: pid {daemon.get('pid', '?')}, socket {daemon.get('socket') or paths.socket_file()}")


@click.command()
@shared_options
def stop() -> None:
    """Stop the daemon.

    Waits until it has stopped. A daemon that does not answer gets SIGTERM, then SIGKILL. Nothing is lost: the
    next start continues indexing.
    """
    from vaultseek.doors.cli.connect import stop_daemon

    print(stop_daemon() or "no daemon is running")


@click.command()
@json_option()
@vault_option
@local_options
def status(invocation: Invocation) -> int:
    """Show the daemon, its vaults and their problems.

    For each vault: the progress of its index, whether search by word, by meaning and by link works, and the
    notes with problems. Never starts a daemon: if none is running, the exit code is 3.
    """
    from vaultseek.doors.cli.connect import wait_for_running
    from vaultseek.doors.cli.status_page import page

    client = wait_for_running()
    if client is None:
        stopped = NotRunning()
        told = with_command(stopped, stopped.advice)
        lines = filter(None, [told, clean(_settings_problem(invocation.config))])
        print_result({"daemon": None, "vaults": []}, invocation, *lines)
        return UNAVAILABLE
    with client:
        params = invocation.params() if invocation.vault else {}
        answer = client.call("index/status", params, timeout=limits.CALL_SECONDS)
    if invocation.json:
        print_json(answer)
    else:
        file = answer["daemon"].get("config")
        problem = _settings_problem(Path(file) if file else None)
        invocation.show(page(answer, invocation.out, now=time.time(), settings_problem=problem))
    return SUCCESS


def _settings_problem(file: Path | None) -> str:
    """Return the first problem in the daemon's configuration file, or ""; a running daemon keeps its earlier
    settings."""
    from vaultseek.settings.load import examine

    try:
        _, problems = examine(file)
    except ConfigError as error:
        problem = str(error)
    else:
        problem = str(problems[0]) if problems else ""
    return f"{problem}; `vaultseek config check` lists all problems" if problem else ""
