"""``vaultseek service``: run the daemon as a user service of systemd or launchd."""

from __future__ import annotations

import os
from pathlib import Path

import click

from vaultseek.base import limits, paths
from vaultseek.doors.cli.exit_codes import SUCCESS, UNAVAILABLE
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import pass_invocation, shared_options
from vaultseek.doors.cli.service_manager import (
    Manager,
    check_reachable,
    is_ours,
    journal,
    may_make_namespaces,
    run_all,
    service_manager,
    try_run,
    write_file,
)
from vaultseek.doors.cli.terminal import clean
from vaultseek.errors import ConfigError, NotFound, Unavailable

LOG_LINES = 50
_XDG_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")


@click.group()
@shared_options
def service() -> None:
    """Run the daemon as a service that starts at login and restarts when it fails.

    Uses user units of systemd or an agent of launchd. Without either, use `vaultseek start`.
    """


@service.command()
@click.option("--dry-run", "--print", "dry_run", is_flag=True, help="Only print the files and commands.")
@click.option(
    "--sandbox/--no-sandbox",
    default=None,
    help="Deny the daemon network and write access, with systemd. By default if users may do so.",
)
@shared_options
@pass_invocation
def install(invocation: Invocation, /, dry_run: bool, sandbox: bool | None) -> int:
    """Write the files of the service and start it.

    Writes only in your own folders. Run it again to update the files.
    """
    manager = service_manager()
    files = {manager.folder / name: text for name, text in _files(invocation, sandbox=sandbox).items()}
    if dry_run:
        _print_plan(manager, files)
        return SUCCESS
    check_reachable(manager)
    for folder in (paths.data_directory(), paths.state_directory()):
        paths.private_directory(folder)
    for file, text in files.items():
        changed = write_file(file, text)
        print(f"wrote {clean(file)}" if changed else f"up to date: {clean(file)}")
    for command in manager.before_start:
        try_run(command)
    _stop_running_daemon()
    run_all(manager.start)
    print("the daemon is now a service: it starts when you log in and restarts when it fails")
    print("to undo this: vaultseek service remove")
    _print_ignored_variables()
    return SUCCESS


@service.command()
@shared_options
def remove() -> int:
    """Stop the service and delete its files. Indexes, logs and settings stay."""
    manager = service_manager()
    files = [file for file in manager.files if is_ours(file)]
    if not files:
        print(f"the service is not installed: vaultseek has no files in {clean(manager.folder)}")
        return SUCCESS
    for command in manager.stop:
        try_run(command)
    for file in files:
        file.unlink(missing_ok=True)
        print(f"deleted {clean(file)}")
    for command in manager.after_removal:
        try_run(command)
    print("the daemon is no longer a service; indexes, logs and settings are unchanged")
    print("to start it by hand: vaultseek start; to install the service again: vaultseek service install")
    return SUCCESS


@service.command()
@shared_options
def status() -> int:
    """Show whether the service is installed and running. Exit code 3 if it is not."""
    from vaultseek.protocol.wire import reach

    manager = service_manager()
    files = [file for file in manager.files if is_ours(file)]
    if not files:
        print("not installed; to install it: vaultseek service install")
    for file in files:
        print(f"installed: {clean(file)}")
    if files:
        result = try_run(manager.state)
        lines = result.stdout.splitlines() if result else []
        state = " · ".join(line.strip() for line in lines if line.strip())
        print(f"{manager.name}: {clean(state) or 'no answer'}")
    pid = reach.holder()
    print("no daemon is running" if pid is None else f"a daemon is running: pid {pid or '?'}")
    return SUCCESS if files and pid is not None else UNAVAILABLE


@service.command()
@click.option("-n", "--lines", default=LOG_LINES, type=click.IntRange(1), metavar="N", show_default=True)
@click.option("--journal", "journal_", is_flag=True, help="Show the journal of systemd: starts, crashes.")
@shared_options
@pass_invocation
def logs(invocation: Invocation, /, lines: int, journal_: bool) -> int:
    """Show the end of the daemon's log."""
    if journal_:
        invocation.show(journal(lines))
        return SUCCESS
    log = paths.log_file()
    try:
        text = _read_end(log)
    except FileNotFoundError:
        raise NotFound(f"no log at {log} yet; start the daemon with `vaultseek start`") from None
    except OSError as error:
        raise Unavailable(f"cannot read the log {log}: {error.strerror}; check its permissions") from None
    invocation.show("\n".join(clean(line) for line in text.splitlines()[-lines:]))
    return SUCCESS


def _files(invocation: Invocation, *, sandbox: bool | None) -> dict[str, str]:
    from vaultseek.doors.cli.connect import serve_command
    from vaultseek.doors.cli.service_files import launchd_agent, systemd_units

    command = serve_command(invocation)
    folders = {name: os.environ[name] for name in _XDG_VARIABLES if _is_absolute(os.environ.get(name, ""))}
    try:
        for text in (*command, *folders.values(), str(paths.socket_file())):
            text.encode()
    except UnicodeEncodeError:
        message = f"{clean(text)} is not valid UTF-8, which the service's files must be; rename it"
        raise ConfigError(message) from None
    if service_manager().name == "launchd":
        return launchd_agent(command, folders, paths.log_file())
    writable = [paths.data_directory(), paths.state_directory()]
    if not paths.runtime_directory().is_relative_to(paths.state_directory()):
        writable.append(paths.runtime_directory())
    sandboxed = may_make_namespaces() if sandbox is None else sandbox
    network = _needs_network(invocation)
    return systemd_units(command, paths.socket_file(), folders, writable, sandbox=sandboxed, network=network)


def _needs_network(invocation: Invocation) -> bool:
    """True if the settings name a server, or a port to listen on."""
    from vaultseek.settings.load import examine

    settings, _ = examine(invocation.config)
    asked = (settings.model.class_name, settings.reranker.class_name)
    return any((*asked, settings.team.listen, settings.team.metrics, settings.daemon.tcp))


def _is_absolute(folder: str) -> bool:
    return os.path.isabs(folder)


def _read_end(log: Path) -> str:
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - limits.LOG_BYTES))
        return file.read(limits.LOG_BYTES).decode("utf-8", "replace")


def _print_plan(manager: Manager, files: dict[Path, str]) -> None:
    for file, text in files.items():
        print(f"# {clean(file)}\n{text}")
    for command in manager.start:
        print(f"$ {clean(' '.join(command))}")


def _stop_running_daemon() -> None:
    """Stop a daemon that was started by hand, which would keep the service's daemon from starting."""
    from vaultseek.doors.cli.connect import stop_daemon

    if stop_daemon():
        print("stopped the running daemon; the service starts its own")


def _print_ignored_variables() -> None:
    names = sorted(name for name in os.environ if name.startswith("VAULTSEEK_"))
    if names:
        variables = ", ".join(map(clean, names))
        print(f"the service does not see {variables} of this shell; put these settings into config.toml")
