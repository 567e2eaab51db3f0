"""Where vaultseek keeps things: XDG variables on every platform, and nothing in a vault."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
from pathlib import Path
from typing import IO

from vaultseek.errors import AlreadyRunning, Unavailable

APP = "vaultseek"
DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
_OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)


def config_file() -> Path:
    """``config.toml`` in the user's configuration directory; it need not exist."""
    return _directory("XDG_CONFIG_HOME", "user_config_dir") / "config.toml"


def data_directory() -> Path:
    """Ledgers and indexes, one folder a vault."""
    return _directory("XDG_DATA_HOME", "user_data_dir")


def state_directory() -> Path:
    """Logs, and the socket where there is no runtime directory."""
    return _directory("XDG_STATE_HOME", "user_state_dir")


def runtime_directory() -> Path:
    """The folder of the socket: ``$XDG_RUNTIME_DIR/vaultseek``, else ``run`` in the state directory."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and Path(base).is_dir():
        return Path(base) / APP
    return state_directory() / "run"


def socket_file() -> Path:
    """The daemon's socket."""
    return runtime_directory() / "daemon.sock"


def log_file() -> Path:
    """The daemon's log."""
    return state_directory() / "daemon.log"


def vault_data_directory(root: Path) -> Path:
    """The data folder of the vault at ``root`` (a real path): readable name and a digest of the path."""
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in root.name)[:40]
    return data_directory() / "vaults" / f"{name or 'vault'}-{digest}"


def fetched_model(name: str) -> Path | None:
    """Where the model ``name`` of a hub (``owner/model``) lies once it was fetched; None for no such name."""
    if len(name) > 200 or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name) or name.startswith("."):
        return None
    return data_directory() / "models" / name.replace("/", "--")


def private_directory(path: Path) -> Path:
    """Make ``path`` with mode 0700 and return it. Raises Unavailable where that is not allowed."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=DIRECTORY_MODE)
        if path.stat().st_mode & 0o077:
            path.chmod(DIRECTORY_MODE)
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise
        reason = error.strerror or "it cannot be used"
        raise Unavailable(
            f"the folder {path} is needed and cannot be made: {reason}; look at the folder above it"
        ) from None
    return path


def replace_file(file: Path, text: str) -> None:
    """Put ``text`` in the place of the file, at once and readable by the user alone.

    Raises OSError and leaves the old one as it was.
    """
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
        with os.fdopen(os.open(fresh, _OPEN_NEW, FILE_MODE), "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(file)
    finally:
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()


def is_disk_full(error: BaseException) -> bool:
    """Whether something could not be written for want of room."""
    import sqlite3

    if isinstance(error, sqlite3.OperationalError):
        return "full" in str(error)
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def lock_directory(directory: Path) -> IO[bytes]:
    """Hold ``directory`` for this process; the lock ends with the returned file, or with the process.

    Raises AlreadyRunning if another process holds it.
    """
    import fcntl

    file = (directory / "lock").open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise AlreadyRunning(f"another vaultseek process is using {directory}; stop it first") from None
    return file


def _directory(variable: str, fallback: str) -> Path:
    base = os.environ.get(variable)
    if base and os.path.isabs(base):  # noqa: PTH117 - the variable is a plain string, the standard wants it absolute
        return Path(base) / APP
    import platformdirs

    return Path(getattr(platformdirs, fallback)(APP, appauthor=False))
