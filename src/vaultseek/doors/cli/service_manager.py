"""systemd and launchd: where their files are, and the commands that start, stop and query a service."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vaultseek.base import paths
from vaultseek.doors.cli import service_files
from vaultseek.errors import Unavailable

SERVICE_MANAGER_SECONDS = 60.0
"""Timeout for systemctl and launchctl."""

_UNITS = (f"{service_files.LABEL}.socket", f"{service_files.LABEL}.service")
_PLIST = f"{service_files.AGENT}.plist"


@dataclass(frozen=True)
class Manager:
    """A service manager: its folder and the service's files there, and its command lines."""

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
        """Paths of the service's files, whether or not they exist."""
        return [self.folder / name for name in self.file_names]


def service_manager() -> Manager:
    """Return the service manager of this platform."""
    return _launchd() if sys.platform == "darwin" else _systemd()


def check_reachable(manager: Manager) -> None:
    """Raise Unavailable if the service manager does not answer this user."""
    result = try_run(manager.probe)
    if result is None or result.returncode:
        raise Unavailable(
            f"{manager.name} does not answer for this user, so nothing was written; start the daemon with "
            "`vaultseek start`, or see the files with `vaultseek service install --print`"
        )


def may_make_namespaces() -> bool:
    """True if users of this system may sandbox a process. If not, a sandboxed unit would not start."""
    result = try_run(("unshare", "--user", "--map-root-user", "--mount", "--net", "true"))
    return result is not None and result.returncode == 0


def journal(lines: int) -> str:
    """Return the last lines of the service in systemd's journal."""
    command = ["journalctl", "--user", "--no-pager", "--lines", str(lines)]
    result = try_run([*command, *(f"--unit={unit}" for unit in _UNITS)])
    if result is None or result.returncode:
        raise Unavailable("cannot read the journal; leave out --journal to see the daemon's own log")
    return result.stdout.rstrip("\n")


def run_all(commands: Sequence[Sequence[str]]) -> None:
    """Run commands in order. Raise Unavailable with the output of the first that fails."""
    for command in commands:
        result = try_run(command)
        if result is None or result.returncode:
            output = (result.stderr or result.stdout).strip().splitlines() if result else []
            raise Unavailable(
                f"`{' '.join(command)}` failed: {output[-1] if output else 'no such program'}; "
                "look for the reason with `vaultseek service logs --journal`, "
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
    """Write a file of the service atomically. Return False if it had this text already.

    Raises:
        Unavailable: the file cannot be written, or was not written by vaultseek.
    """
    try:
        if file.is_symlink() or file.exists():
            if not is_ours(file):
                raise Unavailable(f"{file} was not written by vaultseek; move it away, then install again")
            if file.read_text(encoding="utf-8") == text:
                return False
        _make_folder(file.parent)
        paths.write_atomically(file, text, mode=0o644)
    except OSError as error:
        message = f"cannot write {file}: {error.strerror}; nothing was started, check its permissions"
        raise Unavailable(message) from None
    return True


def is_ours(file: Path) -> bool:
    """True if the file exists and was written by ``vaultseek service install``."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return not file.is_symlink() and service_files.is_ours(file.read_text(encoding="utf-8"))
    return False


def _make_folder(folder: Path) -> None:
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if existing.stat().st_uid != os.geteuid():
        what = f"{existing} belongs to another user, but a service needs folders of your own"
        raise Unavailable(f"{what}; run this as the owner")
    folder.mkdir(parents=True, exist_ok=True)


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
            # Both at once: systemd refuses to start the service while an older socket unit is active.
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
        # launchd refuses to load an agent twice.
        before_start=(unload,),
        start=(("launchctl", "bootstrap", domain, str(folder / _PLIST)),),
        stop=(unload,),
        after_removal=(),
        state=("launchctl", "print", f"{domain}/{service_files.AGENT}"),
        probe=("launchctl", "help"),
    )
