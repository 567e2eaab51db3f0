"""``vaultseek serve``, ``start`` and ``stop``: the daemon's life."""

from __future__ import annotations

import gc
import time

import click

from vaultseek import limits, paths
from vaultseek.cli import FOUND, USUAL_COLLECTIONS
from vaultseek.cli.invocation import Invocation, pass_invocation, shared_options
from vaultseek.errors import Unavailable

DAEMON_STOP_SECONDS = 30.0

_CONTEXT = {"help_option_names": ["-h", "--help"]}


@click.command(context_settings=_CONTEXT)
@shared_options
@pass_invocation
def serve(invocation: Invocation) -> int:
    """Run the daemon in the foreground.

    It runs until Ctrl-C or `vaultseek stop`. This is what a service manager runs; by hand, `vaultseek start`
    is the one to use.
    """
    from vaultseek.daemon.main import serve as serve_until_stopped

    gc.set_threshold(*USUAL_COLLECTIONS)
    return serve_until_stopped(invocation.config)


@click.command(context_settings=_CONTEXT)
@shared_options
@pass_invocation
def start(invocation: Invocation) -> int:
    """Start the daemon in the background.

    Waits until it answers; where one runs already, there is nothing to do. Its log is daemon.log in the
    state directory.
    """
    from vaultseek.cli import reach

    client = reach.running()
    words = "already running" if client else "started"
    with client or reach.start(invocation, asked=True) as client:
        daemon = client.call("index/status", {}, timeout=limits.CALL_SECONDS).get("daemon") or {}
    print(f"{words}: pid {daemon.get('pid', '?')}, socket {daemon.get('socket') or paths.socket_file()}")
    return FOUND


@click.command(context_settings=_CONTEXT)
@shared_options
def stop() -> int:
    """Stop the daemon.

    Waits until it is gone. Nothing is lost: what was not indexed yet follows after the next start.
    """
    print("stopped" if end_daemon() else "no daemon is running")
    return FOUND


def end_daemon() -> bool:
    """End the daemon and wait until it is gone; whether one ran.

    Raises:
        Unavailable: it cannot be reached, or does not end.
    """
    from vaultseek.cli import reach

    pid = reach.holder()
    client = reach.present()
    if pid is None or client is None:
        return False
    with client:
        client.call("shutdown", {}, timeout=limits.CALL_SECONDS)
    _wait_until_gone(pid)
    return True


def _wait_until_gone(pid: int) -> None:
    from vaultseek.cli import reach

    deadline = time.monotonic() + DAEMON_STOP_SECONDS
    # Where a service manager has started another one meanwhile, the one that was meant is gone.
    while reach.holder() == pid:
        if time.monotonic() > deadline:
            raise Unavailable(f"the daemon (pid {pid}) has not stopped yet; its log is {paths.log_file()}")
        time.sleep(limits.DAEMON_POLL_SECONDS)
