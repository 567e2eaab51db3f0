"""Paths of vaultseek's directories, which follow XDG variables on every platform, and access to private
files.

Nothing is ever written into a vault.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys

from vaultseek.base.limits import KEY_BYTES, STATE_BYTES
from vaultseek.errors import AlreadyRunning, ConfigError, Unavailable

TYPE_CHECKING = False  # pathlib is imported late: the command line needs only the name of the socket
if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO, Any

APP = "vaultseek"
DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
REPORT = "report.json"
"""Name of the file with a vault's last measurement, in its ``evaluation_directory``."""
_OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_LOCK = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_OF_LINUX = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)
_CHECKED_BYTES = 1 << 20
TOO_MANY_FILES = "too many files are open; raise the limit (`ulimit -n`), or quit other programs"


def config_file() -> Path:
    """Return the path of ``config.toml`` in the user's configuration directory; the file need not exist."""
    return _directory("XDG_CONFIG_HOME", "user_config_dir") / "config.toml"


def data_directory() -> Path:
    """Return the directory that contains the socket, and one folder per vault with its ledger and indexes."""
    return _directory("XDG_DATA_HOME", "user_data_dir")


def state_directory() -> Path:
    """Return the directory that contains the logs."""
    return _directory("XDG_STATE_HOME", "user_state_dir")


def socket_file() -> Path:
    """Return the path of the daemon's socket, inside the directory that contains the indexes.

    The path does not depend on variables of a login session, because agents' hosts, cron and ``su`` do not
    pass these variables on.
    """
    return _path(socket_name())


def socket_name() -> str:
    """Return ``socket_file`` as a string, without the cost of importing pathlib."""
    return os.path.join(_folder("XDG_DATA_HOME", "user_data_dir"), "run", "daemon.sock")


def log_file() -> Path:
    """Return the path of the daemon's log."""
    return state_directory() / "daemon.log"


def vault_data_directory(root: Path) -> Path:
    """Return the data folder for the vault at ``root``, a resolved path. The folder's name consists of the
    vault's name and a digest of the path."""
    import hashlib

    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in root.name)[:40]
    return data_directory() / "vaults" / f"{name or 'vault'}-{digest}"


def evaluation_directory(root: Path) -> Path:
    """Return the folder for the evaluation index of the vault at ``root``, a resolved path."""
    return data_directory() / "evaluate" / vault_data_directory(root).name


def models_directory() -> Path:
    """Return the directory for fetched models; it need not exist."""
    return data_directory() / "models"


def model_directory(name: str) -> Path | None:
    """Return the folder for the fetched model ``name`` (``owner/model``); None if the name is invalid."""
    if len(name) > 200 or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name) or name.startswith("."):
        return None
    return models_directory() / name.replace("/", "--")


def private_directory(path: Path) -> Path:
    """Create the folder ``path`` with mode 0700, or give an existing folder that mode; return the path.
    Raises Unavailable if either fails, or if the folder belongs to another user."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=DIRECTORY_MODE)
        status = path.stat()
        if status.st_uid != os.geteuid():
            raise Unavailable(
                f"the folder {path} belongs to another user, who could read and change its content; "
                "remove it, or run `sudo chown -R $USER` on it"
            )
        if status.st_mode & 0o077:
            path.chmod(DIRECTORY_MODE)
    except OSError as error:
        if shortage(error):
            raise
        reason = error.strerror or "the folder cannot be used"
        raise Unavailable(f"cannot create the folder {path}: {reason}; check its parent folder") from None
    return path


def read_private(file: Path, most_bytes: int) -> bytes | None:
    """Return the content of a file, up to ``most_bytes`` bytes; None if another user owns or can read the
    file. Raises OSError."""
    with file.open("rb") as stream:
        status = os.fstat(stream.fileno())
        if status.st_mode & 0o077 or status.st_uid != os.geteuid():
            return None
        return stream.read(most_bytes)


def read_secret(variable: str, file: str, setting: str) -> str | None:
    """Return the secret stored in an environment variable or in a private file; None if neither is set.

    ``variable`` and ``file`` are the values of the settings ``{setting}_variable`` and ``{setting}_file``.
    Raises a one-line ConfigError if the secret is missing, or if other users can read the file.
    """
    if variable:
        if not (value := os.environ.get(variable, "").strip()):
            raise ConfigError(
                f"the environment variable {variable} ({setting}_variable) is not set in the "
                f"daemon's environment; set it there, or use {setting}_file"
            )
        return value
    if not file:
        return None
    from pathlib import Path

    place = Path(file).expanduser()
    try:
        data = read_private(place, KEY_BYTES)
    except OSError as error:
        raise ConfigError(
            f"{setting}_file: {place} cannot be read ({error.strerror}); correct the setting"
        ) from None
    if data is None:
        raise ConfigError(
            f"{setting}_file: other users can read {place}, or you do not own it; run `chmod 600` on it"
        )
    if not (value := data.decode("utf-8", "replace").strip()):
        raise ConfigError(f"{setting}_file: {place} is empty; write the secret into it")
    return value


def is_folder(path: str | Path) -> bool:
    """Return true if a reachable folder exists at ``path``.

    ``Path.is_dir`` would raise an error if a mount is broken, or if a folder above cannot be read.
    """
    return os.path.isdir(path)


def no_folder_reason(path: str | Path) -> str:
    """Return the reason why no folder can be reached at ``path``."""
    try:
        os.stat(path)
    except PermissionError:
        return "one of its parent folders is not accessible; check that folder's permissions"
    except (OSError, ValueError):
        return "no such folder"
    return "a file, not a folder of notes"


def folder_bytes(path: Path) -> int:
    """Return the total size, in bytes, of all files in a folder and its subfolders. Files deleted in the
    meantime count as 0."""
    sizes = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                sizes += os.lstat(os.path.join(folder, name)).st_size
    return sizes


def write_atomically(file: Path, text: str, mode: int = FILE_MODE) -> None:
    """Replace the content of ``file`` atomically: readers see either the old or the new content, even after a
    crash.

    On failure, raises OSError and leaves the old content unchanged.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        with os.fdopen(os.open(temporary, _OPEN_NEW, FILE_MODE), "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


def checksum(file: Path) -> str:
    """Return the checksum of a file's content as text, such as ``crc32 0a1b2c3d``. Raises OSError."""
    import zlib

    total = 0
    with file.open("rb") as stream:
        while block := stream.read(_CHECKED_BYTES):
            total = zlib.crc32(block, total)
    return f"crc32 {total:08x}"


def read_json(file: Path, largest: int = STATE_BYTES) -> Any:
    """Return the JSON value in one of the daemon's own small files; excessive nesting counts as damage.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not JSON, or has more than ``largest`` bytes.
    """
    import json

    with file.open("rb") as stream:
        data = stream.read(largest + 1)
    if len(data) > largest:
        raise ValueError(f"{file} is too large")
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError(f"{file} is nested too deeply") from None


def remove(path: Path) -> None:
    """Remove a file, or a folder with its contents; a missing path is ignored. Raises OSError."""
    import shutil

    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_unless_file(file: Path) -> None:
    """Remove anything other than a regular file at ``file``, the path of one of vaultseek's own files.

    Raises OSError.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(file.lstat().st_mode):
            remove(file)


def unsuitable_vault_reason(root: Path) -> str | None:
    """Return the reason why the folder ``root`` cannot be a vault; None if it can. ``root`` is absolute and
    resolved.

    System folders, vaultseek's own folders, and folders above the home directory cannot be vaults.
    """
    if _path(os.path.realpath(os.path.expanduser("~"))).is_relative_to(root):
        return "contains your home directory"
    below = any(root.is_relative_to(folder) for folder in _SYSTEM_TREES)
    if (below and not root.is_relative_to("/dev/shm")) or str(root) in _SYSTEM_FOLDERS:
        return "is a system folder"
    for folder, content in (
        (data_directory(), "vaultseek's own indexes"),
        (state_directory(), "vaultseek's own log"),
    ):
        own = _path(os.path.realpath(folder))
        if own.is_relative_to(root) or root.is_relative_to(own):
            return f"holds {content}"
    return None


_SYSTEM_TREES = ("/proc", "/sys", "/dev", "/etc", "/boot")
_SYSTEM_FOLDERS = ("/bin", "/dev/shm", "/lib", "/lib64", "/opt", "/run", "/sbin", "/usr", "/var")


def obsidian_url(file: str) -> str:
    """Return the URL that opens a note in Obsidian, provided that an Obsidian vault contains the note."""
    path = "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in os.fsencode(file))
    return f"obsidian://open?path={path}"


_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"


def is_disk_full(error: BaseException) -> bool:
    """Return true if an error means that the disk is full."""
    import sqlite3

    if isinstance(error, sqlite3.OperationalError):
        return "full" in str(error)
    return isinstance(error, OSError) and error.errno in _DISK_FULL


def shortage(error: BaseException) -> str:
    """Return a message, with advice, if ``error`` means that a resource is exhausted; otherwise ""."""
    if is_disk_full(error):
        return "the disk is full; free some space"
    return TOO_MANY_FILES if isinstance(error, OSError) and error.errno in _OUT_OF_FILES else ""


def check_files() -> None:
    """Raise OSError if the process cannot open any more files. SQLite would only report that it cannot open
    its own file."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        if error.errno in _OUT_OF_FILES:
            raise OSError(error.errno, TOO_MANY_FILES) from None


def lock_directory(directory: Path) -> IO[bytes]:
    """Lock ``directory`` for this process until the returned file is closed.

    Raises AlreadyRunning if another process holds the lock, or OSError if the lock file cannot be opened.
    """
    import fcntl

    remove_unless_file(directory / "lock")
    file = os.fdopen(os.open(directory / "lock", _OPEN_LOCK, FILE_MODE), "ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise AlreadyRunning(f"another vaultseek process is using {directory}; stop it first") from None
    return file


def _directory(variable: str, fallback: str) -> Path:
    return _path(_folder(variable, fallback))


def _folder(variable: str, fallback: str) -> str:
    base = os.environ.get(variable)
    if base and os.path.isabs(base):  # the XDG standard ignores relative paths
        return os.path.join(base, APP)
    home = os.environ.get("HOME", "")
    if not base and sys.platform == "linux" and home.startswith("/") and "ANDROID_DATA" not in os.environ:
        # The same result as platformdirs, whose import takes longer than a search.
        return os.path.join(home, _OF_LINUX[variable], APP)
    import platformdirs

    return str(getattr(platformdirs, fallback)(APP, appauthor=False))


def _path(name: str) -> Path:
    from pathlib import Path

    return Path(name)
