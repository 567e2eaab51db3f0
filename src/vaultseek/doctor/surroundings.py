"""What vaultseek stands on: Python, engines, directories, disk, and how many folders may be watched."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from vaultseek import limits, paths
from vaultseek.doctor.finding import BROKEN, OK, WARNING, Finding
from vaultseek.doctor.versions import versions
from vaultseek.limits import MIB

DISK_LOW_BYTES = 500 * MIB
WATCHES_ADVISED = 1_048_576

_LEAST_PYTHON = (3, 11)
_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")


def python() -> Iterator[Finding]:
    """Python and the engines that pip installed."""
    found = versions()
    words = f"Python {found.pop('Python')}, SQLite {sqlite3.sqlite_version}, {sys.platform}"
    if sys.version_info < _LEAST_PYTHON:
        yield Finding("python", BROKEN, words, "install Python 3.11 or newer and vaultseek into it")
    else:
        yield Finding("python", OK, words)
    missing = [name for name, version in found.items() if version is None]
    if missing:
        advice = f"run `{Path(sys.executable).name} -m pip install {' '.join(missing)}` where vaultseek is"
        yield Finding("engines", BROKEN, f"not installed: {', '.join(missing)}", advice)
    else:
        yield Finding("engines", OK, ", ".join(f"{name} {version}" for name, version in found.items()))


def directories() -> Iterator[Finding]:
    """Where settings, indexes, logs and the socket are kept: whether they can be used, and by whom."""
    for name, folder, private in (
        ("settings", paths.config_file().parent, False),
        ("indexes", paths.data_directory(), True),
        ("logs", paths.state_directory(), True),
        ("socket", paths.runtime_directory(), True),
    ):
        yield _directory(f"directory of {name}", folder, private=private)


def disk() -> Iterator[Finding]:
    """Room for the indexes."""
    folder = _nearest(paths.data_directory())
    free = shutil.disk_usage(folder).free
    words = f"{free // limits.MIB:,} MiB free where the indexes are"
    advice = f"make room on the disk of {folder}"
    if free < limits.VECTOR_FREE_BYTES:
        yield Finding("disk", BROKEN, words, advice)
    elif free < DISK_LOW_BYTES:
        yield Finding("disk", WARNING, words, advice)
    else:
        yield Finding("disk", OK, words)


def watches(folders: int, daemon: int | None) -> Iterator[Finding]:
    """Whether Linux lets so many folders be watched; the watches of the ``daemon`` (its pid) are its own."""
    try:
        limit = int(_WATCHES.read_text())
    except (OSError, ValueError):
        return
    others = watches_in_use(without=daemon)
    words = f"{folders:,} folders to watch, {others:,} watches of other programs, {limit:,} allowed"
    if folders + others <= limit:
        yield Finding("inotify", OK, words)
        return
    enough = max(WATCHES_ADVISED, 2 * (folders + others))
    line = f"fs.inotify.max_user_watches={enough}"
    yield Finding(
        "inotify",
        WARNING,
        f"{words}: some changes are seen late",
        f"run `sudo sysctl {line}`, and to keep it "
        f"`echo {line} | sudo tee /etc/sysctl.d/60-vaultseek.conf`, then start the daemon anew",
    )


def watches_in_use(*, without: int | None = None) -> int:
    """How many inotify watches the user's processes hold, as far as /proc tells."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        if process.name == str(without):
            continue
        with suppress(OSError):
            for descriptor in (process / "fd").iterdir():
                with suppress(OSError):
                    if "inotify" in os.readlink(descriptor):  # noqa: PTH115 - no path, a name
                        held = (process / "fdinfo" / descriptor.name).read_text()
                        total += held.count("inotify wd:")
    return total


def _directory(check: str, folder: Path, *, private: bool) -> Finding:
    try:
        status = folder.stat()
    except FileNotFoundError:
        above = _nearest(folder)
        if os.access(above, os.W_OK | os.X_OK):
            return Finding(check, OK, f"{folder}, made when it is needed")
        return Finding(check, BROKEN, f"{folder} cannot be made in {above}", f"make {above} writable for you")
    except OSError as error:
        return Finding(check, BROKEN, f"{folder}: {error.strerror}", "make every folder above it accessible")
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
        words = f"{folder} is open to others (mode {mode:o})"
        return Finding(check, WARNING, words, f"run `chmod 700 {folder}`")
    return Finding(check, OK, f"{folder} (mode {mode:o})")


def _nearest(folder: Path) -> Path:
    return next((above for above in (folder, *folder.parents) if above.exists()), Path("/"))
