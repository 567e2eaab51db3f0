"""``vaultseek service``: the daemon as a service of the user, run by systemd or launchd."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click

from vaultseek import limits, paths
from vaultseek.cli import FOUND, UNAVAILABLE, unit_files
from vaultseek.cli.asking import HELP
from vaultseek.cli.invocation import Invocation, pass_invocation, shared_options
from vaultseek.cli.terminal import clean
from vaultseek.errors import ConfigError, NotFound, Unavailable

LOG_LINES = 50
SERVICE_MANAGER_SECONDS = 60.0
"""What systemctl or launchctl may take."""

Command = TypeVar("Command", bound=Callable[..., object])
_PLACES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
_UNITS = (f"{unit_files.LABEL}.socket", f"{unit_files.LABEL}.service")


@dataclass(frozen=True)
class Manager:
    """A service manager: where its files lie, and the commands that make it take note of them."""

    name: str
    folder: Path
    before: Sequence[Sequence[str]]
    begin: Sequence[Sequence[str]]
    end: Sequence[Sequence[str]]
    forget: Sequence[Sequence[str]]
    state: Sequence[str]


@click.group(context_settings=HELP)
@shared_options
def service() -> None:
    """Run the daemon as a service: from login on, started again when it fails.

    With systemd as units of the user, with launchd as an agent. Without either, `vaultseek start` does.
    """


@service.command(context_settings=HELP)
@click.option("--dry-run", "--print", "dry", is_flag=True, help="Only show what would be written and run.")
@click.option(
    "--sandbox/--no-sandbox",
    default=None,
    help="Let systemd take network and writing away; by default where the system lets users do so.",
)
@shared_options
@pass_invocation
def install(invocation: Invocation, /, dry: bool, sandbox: bool | None) -> int:
    """Write the service's files and start it.

    Files of the user's own folders only. Running it again brings them up to date.
    """
    manager = _launchd() if sys.platform == "darwin" else _systemd()
    files = {manager.folder / name: text for name, text in _files(invocation, sandbox=sandbox).items()}
    if dry:
        _show(manager, files)
        return FOUND
    _reachable(manager)
    for place in (paths.data_directory(), paths.state_directory()):
        paths.private_directory(place)
    for file, text in files.items():
        _write(file, text)
    for command in manager.before:
        _try(command)
    _end_another()
    _run(manager.begin)
    print("the daemon is a service now: it starts when you log in, and again if it fails")
    print("to undo this: vaultseek service remove")
    _left_out()
    return FOUND


@service.command(context_settings=HELP)
@shared_options
def remove() -> int:
    """Stop the service and delete its files. Indexes, logs and settings stay."""
    manager = _launchd() if sys.platform == "darwin" else _systemd()
    files = [manager.folder / name for name in _names()]
    ours = [file for file in files if _ours(file)]
    if not ours:
        print(f"no service is installed: none of {', '.join(map(str, files))} is vaultseek's")
        return FOUND
    for command in manager.end:
        _try(command)
    for file in ours:
        file.unlink(missing_ok=True)
        print(f"deleted {clean(file)}")
    for command in manager.forget:
        _try(command)
    print("the daemon is no service any more; indexes, logs and settings are as they were")
    print("`vaultseek start` starts it by hand, `vaultseek service install` makes it a service again")
    return FOUND


@service.command(context_settings=HELP)
@shared_options
def status() -> int:
    """Say whether the service is installed and runs. Exit code 3 if it does not."""
    from vaultseek.wire import endpoint

    manager = _launchd() if sys.platform == "darwin" else _systemd()
    installed = [manager.folder / name for name in _names() if _ours(manager.folder / name)]
    if not installed:
        print("not installed; `vaultseek service install` makes the daemon a service")
    for file in installed:
        print(f"installed: {clean(file)}")
    said = _try(manager.state)
    if installed:
        words = " · ".join(line.strip() for line in said.stdout.splitlines() if line.strip()) if said else ""
        print(f"{manager.name}: {clean(words) or 'cannot be asked here'}")
    pid = endpoint.holder()
    print("no daemon is running" if pid is None else f"a daemon is running: pid {pid or '?'}")
    return FOUND if installed and pid is not None else UNAVAILABLE


@service.command(context_settings=HELP)
@click.option("-n", "--lines", default=LOG_LINES, type=click.IntRange(1), metavar="N", show_default=True)
@click.option(
    "--journal", is_flag=True, help="What systemd has noted of the service instead: starts, crashes."
)
@shared_options
@pass_invocation
def logs(invocation: Invocation, /, lines: int, journal: bool) -> int:
    """Show the end of the daemon's log."""
    if journal:
        command = ["journalctl", "--user", "--no-pager", "--lines", str(lines)]
        done = _try([*command, *(f"--unit={unit}" for unit in _UNITS)])
        if done is None or done.returncode:
            raise Unavailable("the journal cannot be read here; leave --journal out for the daemon's own log")
        invocation.show(done.stdout.rstrip("\n"))
        return FOUND
    log = paths.log_file()
    try:
        text = _end(log)
    except FileNotFoundError:
        raise NotFound(f"there is no log at {log} yet; the daemon writes it when it runs") from None
    except OSError as error:
        raise Unavailable(
            f"the log {log} cannot be read: {error.strerror}; look at its permissions"
        ) from None
    invocation.show("\n".join(clean(line) for line in text.splitlines()[-lines:]))
    return FOUND


# The two managers


def _systemd() -> Manager:
    home = os.environ.get("XDG_CONFIG_HOME")
    folder = Path(home) if home and Path(home).is_absolute() else Path.home() / ".config"
    control = ("systemctl", "--user")
    return Manager(
        "systemd",
        folder / "systemd" / "user",
        before=(),
        begin=(
            (*control, "daemon-reload"),
            (*control, "enable", *_UNITS),
            # Both at once, or the service would be refused while the socket of an older one is there.
            (*control, "restart", *_UNITS),
        ),
        end=((*control, "disable", "--now", *_UNITS),),
        forget=((*control, "daemon-reload"),),
        state=(*control, "show", "--property=ActiveState,SubState,StatusText", _UNITS[1]),
    )


def _launchd() -> Manager:
    folder = Path.home() / "Library" / "LaunchAgents"
    domain = f"gui/{os.getuid()}"
    goodbye = ("launchctl", "bootout", f"{domain}/{unit_files.AGENT}")
    return Manager(
        "launchd",
        folder,
        # An agent that is loaded already is refused.
        before=(goodbye,),
        begin=(("launchctl", "bootstrap", domain, str(folder / f"{unit_files.AGENT}.plist")),),
        end=(goodbye,),
        forget=(),
        state=("launchctl", "print", f"{domain}/{unit_files.AGENT}"),
    )


def _names() -> Sequence[str]:
    return (f"{unit_files.AGENT}.plist",) if sys.platform == "darwin" else _UNITS


def _files(invocation: Invocation, *, sandbox: bool | None) -> dict[str, str]:
    from vaultseek.cli.reach import serve_command

    command = serve_command(invocation)
    places = {name: os.environ[name] for name in _PLACES if os.path.isabs(os.environ.get(name, ""))}  # noqa: PTH117
    try:
        for text in (*command, *places.values(), str(paths.socket_file())):
            text.encode()
    except UnicodeEncodeError:
        raise ConfigError(
            f"{clean(text)} is not valid UTF-8 and cannot stand in a service's file; rename it"
        ) from None
    if sys.platform == "darwin":
        return unit_files.launchd_agent(command, places, paths.log_file())
    writable = [paths.data_directory(), paths.state_directory()]
    if not paths.runtime_directory().is_relative_to(paths.state_directory()):
        writable.append(paths.runtime_directory())
    boxed = _may_make_namespaces() if sandbox is None else sandbox
    return unit_files.systemd_units(command, paths.socket_file(), places, writable, sandbox=boxed)


def _may_make_namespaces() -> bool:
    """Whether this system lets users shut a process off; where it does not, such a unit would not start."""
    done = _try(("unshare", "--user", "--map-root-user", "--mount", "--net", "true"))
    return done is not None and done.returncode == 0


def _reachable(manager: Manager) -> None:
    advice = "`vaultseek start` starts the daemon, `vaultseek service install --print` shows the files"
    probe = (
        ("launchctl", "help")
        if manager.name == "launchd"
        else ("systemctl", "--user", "show", "--property=Version")
    )
    done = _try(probe)
    if done is None or done.returncode:
        raise Unavailable(f"no {manager.name} answers for this user here, so nothing was written; {advice}")


# Files


def _write(file: Path, text: str) -> None:
    """Write a file, unless it is like that already; says what it did."""
    try:
        if file.is_symlink() or file.exists():
            if not _ours(file):
                raise Unavailable(f"{file} is there and not vaultseek's; move it away, then install again")
            if file.read_text(encoding="utf-8") == text:
                print(f"up to date: {clean(file)}")
                return
        _own_folder(file.parent)
        paths.write_atomically(file, text, mode=0o644)
    except OSError as error:
        raise Unavailable(f"{file} cannot be written: {error.strerror}; nothing was started") from None
    print(f"wrote {clean(file)}")


def _own_folder(folder: Path) -> None:
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if there.stat().st_uid != os.geteuid():
        raise Unavailable(f"{there} belongs to another user; service files go into your own folders only")
    folder.mkdir(parents=True, exist_ok=True)


def _ours(file: Path) -> bool:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return not file.is_symlink() and unit_files.is_ours(file.read_text(encoding="utf-8"))
    return False


def _end(log: Path) -> str:
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - limits.LOG_BYTES))
        return file.read(limits.LOG_BYTES).decode("utf-8", "replace")


def _show(manager: Manager, files: dict[Path, str]) -> None:
    for file, text in files.items():
        print(f"# {clean(file)}\n{text}")
    for command in manager.begin:
        print(f"$ {clean(' '.join(command))}")


# Commands


def _end_another() -> None:
    """A daemon that was started by hand would keep the service's from starting."""
    from vaultseek.cli.lifecycle import end_daemon

    if end_daemon():
        print("stopped the daemon that was running; the service starts its own")


def _run(commands: Sequence[Sequence[str]]) -> None:
    for command in commands:
        done = _try(command)
        if done is None or done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() if done else []
            raise Unavailable(
                f"`{' '.join(command)}` failed: {said[-1] if said else 'no such program'}; "
                "`vaultseek service logs --journal` may say why, `vaultseek service remove` undoes the rest"
            )


def _try(command: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
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


def _left_out() -> None:
    ours = sorted(name for name in os.environ if name.startswith("VAULTSEEK_"))
    if ours:
        print(f"not part of the service: {', '.join(map(clean, ours))} of this shell; say it in config.toml")
