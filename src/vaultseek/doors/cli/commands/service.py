"""``vaultseek service``: run the daemon as a user service of systemd or launchd."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from vaultseek.base import limits, paths
from vaultseek.doors.cli import service_files
from vaultseek.doors.cli.connect import serve_command, stop_daemon
from vaultseek.doors.cli.exit_codes import SUCCESS, UNAVAILABLE
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import local_options, shared_options
from vaultseek.doors.cli.terminal import clean
from vaultseek.errors import ConfigError, NotFound, Unavailable

LOG_LINES = 50
_XDG_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")


@click.group()
@shared_options
def service() -> None:
    """Run the daemon as a service that starts at login.

    The service restarts when it fails. Uses systemd user units or a launchd agent. Without systemd or
    launchd, use `vaultseek start`.
    """


@service.command()
@click.option("--dry-run", "--print", "dry_run", is_flag=True, help="Only print the files and commands.")
@click.option(
    "--sandbox/--no-sandbox",
    default=None,
    help="Let systemd restrict the daemon's network and write access; on by default if the system allows it.",
)
@local_options
def install(invocation: Invocation, /, dry_run: bool, sandbox: bool | None) -> None:
    """Write the service's files and start the service.

    Writes only to your own folders. Run the command again to update the files.
    """
    manager = service_manager()
    files = {manager.folder / name: text for name, text in _files(invocation, sandbox=sandbox).items()}
    if dry_run:
        for file, text in files.items():
            print(f"# {clean(file)}\n{text}")
        for command in manager.start:
            print(f"$ {clean(' '.join(command))}")
        return
    check_reachable(manager)
    for folder in (paths.data_directory(), paths.state_directory()):
        paths.private_directory(folder)
    for file, text in files.items():
        changed = write_file(file, text)
        print(f"wrote {clean(file)}" if changed else f"up to date: {clean(file)}")
    unload(manager)
    # A daemon that was started manually would prevent the service's daemon from starting.
    if stop_daemon():
        print("stopped the running daemon; the service starts its own")
    run_all(manager.start)
    print("the daemon is now a service: it starts when you log in and restarts if it fails")
    print("to undo this: vaultseek service remove")
    if names := sorted(name for name in os.environ if name.startswith("VAULTSEEK_")):
        variables = ", ".join(map(clean, names))
        print(f"the service does not see this shell's {variables}; put these settings into config.toml")


@service.command()
@shared_options
def remove() -> None:
    """Stop the service and delete its files. Indexes, logs and settings stay."""
    files = remove_service()
    if not files:
        folder = service_manager().folder
        print(f"the service is not installed: vaultseek has no files in {clean(folder)}")
        return
    for file in files:
        print(f"deleted {clean(file)}")
    print("the daemon is no longer a service; indexes, logs and settings are unchanged")
    print("to start it by hand: vaultseek start; to install the service again: vaultseek service install")


@service.command()
@local_options
def status(invocation: Invocation) -> int:
    """Show whether the service is installed and running. If not, the exit code is 3."""
    from vaultseek.protocol.wire import reach

    manager = service_manager()
    files = installed_files()
    if not files:
        print("not installed; to install it: vaultseek service install")
    for file in files:
        print(f"installed: {clean(file)}")
    if files:
        result = try_run(manager.state)
        lines = result.stdout.splitlines() if result else []
        state = " · ".join(line.strip() for line in lines if line.strip())
        print(f"{manager.name}: {clean(state) or 'no answer'}")
    if keys := outdated_keys(invocation):
        print(f"{OUTDATED} ({', '.join(keys)}): run `vaultseek service install` again")
    pid = reach.holder()
    print("no daemon is running" if pid is None else f"a daemon is running: pid {pid or '?'}")
    return SUCCESS if files and pid is not None else UNAVAILABLE


@service.command()
@click.option("-n", "--lines", default=LOG_LINES, type=click.IntRange(1), metavar="N", show_default=True)
@click.option("--journal", "journal_", is_flag=True, help="Show systemd's journal of starts and crashes.")
@local_options
def logs(invocation: Invocation, /, lines: int, journal_: bool) -> None:
    """Show the end of the daemon's log."""
    if journal_:
        invocation.show(journal(lines))
        return
    log = paths.log_file()
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - limits.LOG_BYTES))
            text = file.read(limits.LOG_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        raise NotFound(f"no log at {log} yet; start the daemon with `vaultseek start`") from None
    except OSError as error:
        raise Unavailable(f"cannot read the log {log}: {error.strerror}; check its permissions") from None
    invocation.show("\n".join(clean(line) for line in text.splitlines()[-lines:]))


def _files(invocation: Invocation, *, sandbox: bool | None) -> dict[str, str]:
    from vaultseek.doors.cli.service_files import launchd_agent, systemd_units

    command = serve_command(invocation)
    folders = {name: os.environ[name] for name in _XDG_VARIABLES if os.path.isabs(os.environ.get(name, ""))}
    try:
        for text in (*command, *folders.values(), str(paths.socket_file())):
            text.encode()
    except UnicodeEncodeError:
        message = f"{clean(text)} is not valid UTF-8, which the service's files require; rename it"
        raise ConfigError(message) from None
    if service_manager().name == "launchd":
        return launchd_agent(command, folders, paths.log_file())
    writable = [paths.data_directory(), paths.state_directory()]
    sandboxed = may_make_namespaces() if sandbox is None else sandbox
    from vaultseek.settings.load import examine

    settings, _ = examine(invocation.config)
    asked = (settings.model.url, settings.reranker.url, settings.index.sends)
    network = any((*asked, *settings.addresses, settings.daemon.tcp))
    return systemd_units(command, paths.socket_file(), folders, writable, sandbox=sandboxed, network=network)


OUTDATED = "the service's unit is outdated"


def outdated_keys(invocation: Invocation) -> list[str]:
    """Return the keys in the installed unit file that `install` would now set to different values."""
    manager = service_manager()
    unit = manager.folder / _UNITS[1]
    if unit not in manager.files or not is_ours(unit):
        return []
    installed = unit.read_text(encoding="utf-8")
    try:
        text = _files(invocation, sandbox=service_files.is_sandboxed(installed))[unit.name]
    except ConfigError:  # the settings are invalid, so the unit's requirements are unknown
        return []
    changed = {*installed.splitlines()} ^ {*text.splitlines()}
    # Another shell may set the same folders with other variables, or with none at all.
    return sorted({line.partition("=")[0] for line in changed} - {"Environment"})


SERVICE_MANAGER_SECONDS = 60.0
"""Timeout in seconds for systemctl and launchctl."""
UNLOAD_POLL_SECONDS = 0.1

_UNITS = (f"{service_files.LABEL}.socket", f"{service_files.LABEL}.service")
_PLIST = f"{service_files.AGENT}.plist"


@dataclass(frozen=True)
class Manager:
    """A service manager: the folder and names of the service's files, and the commands that control the
    service."""

    name: str
    folder: Path
    file_names: Sequence[str]
    before_start: Sequence[Sequence[str]]
    start: Sequence[Sequence[str]]
    stop: Sequence[Sequence[str]]
    after_removal: Sequence[Sequence[str]]
    state: Sequence[str]
    probe: Sequence[str]

    @property
    def files(self) -> list[Path]:
        """Paths of the service's files, which need not exist."""
        return [self.folder / name for name in self.file_names]


def service_manager() -> Manager:
    """Return the service manager used on this platform."""
    return _launchd() if sys.platform == "darwin" else _systemd()


def installed_files() -> list[Path]:
    """Return the service's files that were written by `vaultseek service install`."""
    return [file for file in service_manager().files if is_ours(file)]


def remove_service() -> list[Path]:
    """Stop the service and delete its files; return the paths of the deleted files."""
    manager = service_manager()
    if files := installed_files():
        for command in manager.stop:
            try_run(command)
        for file in files:
            file.unlink(missing_ok=True)
        for command in manager.after_removal:
            try_run(command)
    return files


def check_reachable(manager: Manager) -> None:
    """Check that the service manager answers this user. Raises Unavailable if it does not."""
    result = try_run(manager.probe)
    if result is None or result.returncode:
        raise Unavailable(
            f"{manager.name} is not available to this user, so nothing was written; start the daemon with "
            "`vaultseek start`, or see the files with `vaultseek service install --print`"
        )


def may_make_namespaces() -> bool:
    """Return True if users of this system may sandbox a process; otherwise, a sandboxed unit would not
    start."""
    result = try_run(("unshare", "--user", "--map-root-user", "--mount", "--net", "true"))
    return result is not None and result.returncode == 0


def journal(lines: int) -> str:
    """Return the service's last lines in systemd's journal."""
    command = ["journalctl", "--user", "--no-pager", "--lines", str(lines)]
    result = try_run([*command, *(f"--unit={unit}" for unit in _UNITS)])
    if result is None or result.returncode:
        raise Unavailable("cannot read the journal; leave out --journal to see the daemon's own log")
    return result.stdout.rstrip("\n")


def unload(manager: Manager) -> None:
    """Unload the old service before the new one is started; wait up to a minute for the old one to end."""
    deadline = time.monotonic() + SERVICE_MANAGER_SECONDS
    for command in manager.before_start:
        try_run(command)
        while time.monotonic() < deadline:
            state = try_run(manager.state)
            if state is None or state.returncode:
                break
            time.sleep(UNLOAD_POLL_SECONDS)


def run_all(commands: Sequence[Sequence[str]]) -> None:
    """Run commands in order. If a command fails, raises Unavailable with the last line of its output."""
    for command in commands:
        result = try_run(command)
        if result is None or result.returncode:
            output = (result.stderr or result.stdout).strip().splitlines() if result else []
            raise Unavailable(
                f"`{' '.join(command)}` failed: {output[-1] if output else 'no such program'}; "
                "see `vaultseek service logs --journal` for the reason, "
                "or undo the rest with `vaultseek service remove`"
            )


def try_run(command: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    """Run a command and return its result, or None if it cannot be started or takes too long."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SERVICE_MANAGER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def write_file(file: Path, text: str) -> bool:
    """Write one of the service's files atomically. Return False if it already contains ``text``.

    Raises Unavailable if the file cannot be written, or if an existing file was not written by vaultseek.
    """
    try:
        if file.is_symlink() or file.exists():
            if not is_ours(file):
                raise Unavailable(
                    f"{file} was not written by vaultseek; move it elsewhere, then install again"
                )
            if file.read_text(encoding="utf-8") == text:
                return False
        existing = next(parent for parent in (file.parent, *file.parent.parents) if parent.exists())
        if existing.stat().st_uid != os.geteuid():
            what = f"{existing} belongs to another user, but a service needs folders that you own"
            raise Unavailable(f"{what}; run this as the owner")
        file.parent.mkdir(parents=True, exist_ok=True)
        paths.write_atomically(file, text, mode=0o644)
    except OSError as error:
        message = f"cannot write {file}: {error.strerror}; nothing was started; check its permissions"
        raise Unavailable(message) from None
    return True


def is_ours(file: Path) -> bool:
    """Return True if the file exists and was written by ``vaultseek service install``."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return not file.is_symlink() and service_files.MARK in file.read_text(encoding="utf-8")
    return False


def _systemd() -> Manager:
    home = os.environ.get("XDG_CONFIG_HOME")
    config = Path(home) if home and Path(home).is_absolute() else Path.home() / ".config"
    control = ("systemctl", "--user")
    return Manager(
        "systemd",
        config / "systemd" / "user",
        file_names=_UNITS,
        before_start=(),
        start=(
            (*control, "daemon-reload"),
            (*control, "enable", *_UNITS),
            # Restart both units at once: systemd refuses to start the service while an older socket unit is
            # active.
            (*control, "restart", *_UNITS),
        ),
        stop=((*control, "disable", "--now", *_UNITS),),
        after_removal=((*control, "daemon-reload"),),
        state=(*control, "show", "--property=ActiveState,SubState,StatusText", _UNITS[1]),
        probe=(*control, "show", "--property=Version"),
    )


def _launchd() -> Manager:
    folder = Path.home() / "Library" / "LaunchAgents"
    domain = f"gui/{os.getuid()}"
    unload = ("launchctl", "bootout", f"{domain}/{service_files.AGENT}")
    return Manager(
        "launchd",
        folder,
        file_names=(_PLIST,),
        # launchd refuses to load an agent twice, even if the first is still ending.
        before_start=(unload,),
        start=(("launchctl", "bootstrap", domain, str(folder / _PLIST)),),
        stop=(unload,),
        after_removal=(),
        state=("launchctl", "print", f"{domain}/{service_files.AGENT}"),
        probe=("launchctl", "help"),
    )
