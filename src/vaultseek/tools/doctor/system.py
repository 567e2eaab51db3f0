"""Checks of the system: Python, dependencies, directories, disk space and inotify."""

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from vaultseek.base import limits, paths
from vaultseek.base.extras import MODULES, has_extra, install_command
from vaultseek.base.limits import MIB
from vaultseek.base.text import count
from vaultseek.content.files.watch import mounts, remote_file_system
from vaultseek.tools.doctor.finding import BROKEN, OK, WARNING, Finding

DISK_LOW_BYTES = 500 * MIB
"""Free disk space in bytes below which a warning is given."""
WATCHES_ADVISED = 1_048_576
"""Minimum number of inotify watches to recommend."""
INSTANCES_ADVISED = 1024
"""Minimum number of inotify instances to recommend."""

_MINIMUM_PYTHON = (3, 11)
_MAX_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")
_MAX_INSTANCES = Path("/proc/sys/fs/inotify/max_user_instances")


def check_python() -> Iterator[Finding]:
    """Check the versions of Python and of the dependencies."""
    installed = versions()
    message = f"Python {installed.pop('Python')}, SQLite {sqlite3.sqlite_version}, {sys.platform}"
    if sys.version_info < _MINIMUM_PYTHON:
        yield Finding("python", BROKEN, message, "install Python 3.11 or newer and vaultseek into it")
    else:
        yield Finding("python", OK, message)
    missing = [name for name in ENGINES if installed[name] is None]
    if missing:
        advice = (
            f"run `{Path(sys.executable).name} -m pip install {' '.join(missing)}` in vaultseek's environment"
        )
        yield Finding("engines", BROKEN, f"not installed: {', '.join(missing)}", advice)
    else:
        present = (f"{name} {version}" for name, version in installed.items() if version is not None)
        yield Finding("engines", OK, ", ".join(present))
    yield Finding("extras", OK, _extras())


def _extras() -> str:
    """Return the installed extras, and the command that installs another extra."""
    present = [name for name in MODULES if has_extra(name)]
    absent = [name for name in MODULES if name not in present]
    message = ", ".join(present) or "none"
    another = f"to add EXTRA ({', '.join(absent)}), run `{install_command('EXTRA')}`"
    return f"{message}; {another}" if absent else message


def check_directories() -> Iterator[Finding]:
    """Check that the directories for settings, indexes, logs and the socket are usable and private."""
    for name, folder, private in (
        ("settings", paths.config_file().parent, False),
        ("indexes", paths.data_directory(), True),
        ("logs", paths.state_directory(), True),
        ("socket", paths.socket_file().parent, True),
    ):
        yield _directory(f"directory of {name}", folder, private=private)


def check_disk() -> Iterator[Finding]:
    """Check that there is enough free disk space for the indexes."""
    folder = _nearest(paths.data_directory())
    free = shutil.disk_usage(folder).free
    message = f"{free // limits.MIB:,} MiB free for the indexes"
    advice = f"free some space on the disk that holds {folder}"
    if free < limits.DISK_FREE_BYTES:
        yield Finding("disk", BROKEN, message, advice)
    elif free < DISK_LOW_BYTES:
        yield Finding("disk", WARNING, message, advice)
    else:
        yield Finding("disk", OK, message)


def check_file_system() -> Iterator[Finding]:
    """Check that the indexes are on a local disk."""
    remote = remote_file_system(_nearest(paths.data_directory()).resolve(), mounts())
    if remote is None:
        yield Finding("file system", OK, "the indexes are on a local disk")
        return
    place, kind = remote
    yield Finding(
        "file system",
        WARNING,
        f"the indexes are on {place}, a file system of type {kind}, where SQLite's locks might not work",
        "set XDG_DATA_HOME to a folder on a local disk, then restart the daemon",
        f"the indexes are on a file system of type {kind}",
    )


def check_inotify(folders: int, vaults: int, daemon: int | None) -> Iterator[Finding]:
    """Check that inotify allows a watch for each folder and an instance for each vault.

    Watches and instances of the process ``daemon`` are not counted as used.
    """
    instances, watches = _inotify_in_use(without=daemon)
    messages, lines = [], []
    for what, wanted, kind, used, file, advised in (
        ("folder", folders, "watch", watches, _MAX_WATCHES, WATCHES_ADVISED),
        ("vault", vaults, "instance", instances, _MAX_INSTANCES, INSTANCES_ADVISED),
    ):
        try:
            limit = int(file.read_text())
        except (OSError, ValueError):
            continue
        others = count(used, kind, "watches" if kind == "watch" else None)
        messages.append(f"{count(wanted, what)} to watch, {others} used by other programs, {limit:,} allowed")
        if wanted + used > limit:
            lines.append(f"fs.inotify.{file.name}={max(advised, 2 * (wanted + used))}")
    message = "; ".join(messages)
    if lines:
        yield Finding(
            "inotify",
            WARNING,
            f"{message}: some changes are noticed late",
            f"run `sudo sysctl {' '.join(lines)}`, and to make it permanent `printf '%s\\n' "
            f"{' '.join(lines)} | sudo tee /etc/sysctl.d/60-vaultseek.conf`, then restart the daemon",
        )
    elif messages:
        yield Finding("inotify", OK, message)


def _inotify_in_use(*, without: int | None = None) -> tuple[int, int]:
    """Return the number of inotify instances and watches used by processes in /proc, except the process
    ``without``."""
    instances = watches = 0
    for process in Path("/proc").glob("[0-9]*"):
        if process.name == str(without):
            continue
        with suppress(OSError):
            for descriptor in (process / "fd").iterdir():
                with suppress(OSError):
                    if "inotify" in os.readlink(descriptor):  # noqa: PTH115 - no path, a name
                        info = (process / "fdinfo" / descriptor.name).read_text()
                        instances += 1
                        watches += info.count("inotify wd:")
    return instances, watches


def _directory(check: str, folder: Path, *, private: bool) -> Finding:
    try:
        status = folder.stat()
    except FileNotFoundError:
        parent = _nearest(folder)
        if os.access(parent, os.W_OK | os.X_OK):
            return Finding(check, OK, f"{folder}, created when it is needed")
        return Finding(check, BROKEN, f"{folder} cannot be created in {parent}", f"make {parent} writable")
    except OSError as error:
        return Finding(check, BROKEN, f"{folder}: {error.strerror}", "make the folders above it accessible")
    if not folder.is_dir():
        return Finding(check, BROKEN, f"{folder} is a file", "move it away")
    if status.st_uid != os.geteuid():
        return Finding(
            check, BROKEN, f"{folder} belongs to uid {status.st_uid}", f"run `sudo chown -R $USER {folder}`"
        )
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Finding(check, BROKEN, f"{folder} cannot be written to", f"run `chmod 700 {folder}`")
    mode = status.st_mode & 0o777
    if private and mode & 0o077:
        message = f"{folder} is open to others (mode {mode:o})"
        return Finding(check, WARNING, message, f"run `chmod 700 {folder}`")
    return Finding(check, OK, f"{folder} (mode {mode:o})")


def _nearest(folder: Path) -> Path:
    return next((parent for parent in (folder, *folder.parents) if parent.exists()), Path("/"))


ENGINES = (
    "chromadb",
    "onnxruntime",
    "tokenizers",
    "whoosh-reloaded",
    "tree-sitter",
    "tree-sitter-markdown",
    "watchdog",
    "pydantic",
    "numpy",
)
"""Dependencies needed for indexing and searching."""
OPTIONAL = ("llama-index-core", "mcp", "sentence-transformers", "torch", "transformers")
"""Dependencies of optional extras."""


def versions() -> dict[str, str | None]:
    """Return the version of Python and of each dependency by name; None if a dependency is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    installed: dict[str, str | None] = {"Python": platform.python_version()}
    for name in (*ENGINES, *OPTIONAL):
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = None
    return installed
