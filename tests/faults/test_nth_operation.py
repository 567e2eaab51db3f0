"""Every operation on a file, a database or a pipe fails once, from the first to the last.

After each failure the index is updated from the disk, as the daemon does after its pause. It must then equal
a fresh index.
"""

import builtins
import errno
import io
import os
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fresh_index import IndexHere, fresh_answers
from semantic_here import WorkerHere
from vaultseek.core import library as measured
from vaultseek.errors import WorkerUnavailable
from vaultseek.store.ledger import database
from worlds import write_files

NOTES = {
    "pump.md": "# Pump\n\nThe pump needs a seal, see [[valve]].\n",
    "valve.md": "---\ntags: [boat]\n---\n# Valve\n\nA valve seal wears out. [[anchor]]\n",
    "deck/anchor.md": "# Anchor\n\nRust on the anchor chain.\n",
    "deck/winch.md": "# Winch\n\nGrease the winch. #boat\n",
}
FILES = (
    "open",
    "read",
    "write",
    "fsync",
    "replace",
    "rename",
    "unlink",
    "mkdir",
    "scandir",
    "stat",
    "lstat",
    "fstat",
)
SAMPLES = 40
"""Number of operations that fail in the quick test; in the long one, every operation fails."""
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


class Failing:
    """Counts the operations inside of ``place`` and makes the one with this number fail; 0 makes none
    fail."""

    def __init__(self, place: Path, number: int = 0) -> None:
        self.place = str(place)
        self.number = number
        self.count = 0
        self.active = False

    def step(self, error: Callable[[], Exception]) -> None:
        """Count an operation; raise ``error`` if this operation is to fail."""
        if self.active:
            self.count += 1
            if self.count == self.number:
                raise error()

    def concerns(self, target: Any) -> bool:
        """True for a path below ``place``, or for the descriptor of such a file."""
        if isinstance(target, int):
            try:
                target = Path(f"/proc/self/fd/{target}").readlink()
            except OSError:
                return False
        try:
            return os.fsdecode(target).startswith(self.place)
        except TypeError:
            return False


def disk_error() -> OSError:
    return OSError(errno.EIO, "Input/output error")


@contextmanager
def shim(failing: Failing, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Wrap the file system, SQLite and the pipe to the worker so that ``failing`` counts their operations."""

    def under(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(target: Any, *arguments: Any, **more: Any) -> Any:
            if failing.active and failing.concerns(target):
                failing.step(disk_error)
            return real(target, *arguments, **more)

        return call

    class Connection(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            failing.step(lambda: sqlite3.OperationalError("disk I/O error"))
            return super().execute(*arguments)

        def executemany(self, *arguments: Any) -> sqlite3.Cursor:
            failing.step(lambda: sqlite3.OperationalError("disk I/O error"))
            return super().executemany(*arguments)

    connect = sqlite3.connect
    with monkeypatch.context() as patch:
        for name in FILES:
            patch.setattr(os, name, under(getattr(os, name)))
        opened = under(io.open)
        patch.setattr(io, "open", opened)
        patch.setattr(builtins, "open", opened)
        patch.setattr(
            database.sqlite3, "connect", lambda *given, **more: connect(*given, factory=Connection, **more)
        )
        yield


class FailingWorker(WorkerHere):
    """A worker whose pipe may break on any call."""

    failing: Failing | None = None

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name not in ("embed", "apply", "version", "count", "drop"):
            return value
        failing = super().__getattribute__("failing")
        if failing is not None:
            failing.step(lambda: WorkerUnavailable("the pipe is broken"))
        return value


def history(root: Path, place: Path, failing: Failing) -> list[Any]:
    """Index a vault that changes twice; after a failure continue as the daemon would; return the answers."""
    worker = FailingWorker()
    worker.failing = failing
    directory = place / "index"
    directory.mkdir()
    index: IndexHere | None = None
    for change in (lambda: write_files(root, NOTES), lambda: change_notes(root), lambda: None):
        change_quietly(failing, change)
        for _ in range(2):
            try:
                index = index or IndexHere(root, directory, worker)
                index.update()
                break
            except Exception:  # the daemon also continues after any of them
                continue
    failing.active = False
    if index is None:
        index = IndexHere(root, directory, worker)
    index.update()
    try:
        return index.answers()
    finally:
        index.close()


def change_quietly(failing: Failing, change: Callable[[], None]) -> None:
    """Change the vault without counting the operations."""
    failing.active = False
    change()
    failing.active = True


def change_notes(root: Path) -> None:
    (root / "pump.md").write_text("# Pump\n\nThe pump is new, of quartz.\n")
    (root / "deck" / "anchor.md").rename(root / "anchor.md")
    if (root / "valve.md").exists():
        (root / "valve.md").unlink()
    write_files(root, {"chart.md": "# Chart\n\nA chart of the rust on the anchor. [[pump]]\n"})


def run(number: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[Any], int]:
    """Return the answers after the failure of this operation, those of a fresh index, and the count."""
    place = Path(tempfile.mkdtemp(prefix="vaultseek-nth-", dir=MEMORY))
    failing = Failing(place, number)
    try:
        with shim(failing, monkeypatch):
            answers = history(place / "vault", place, failing)
        return answers, fresh_answers(place / "vault", place / "fresh"), failing.count
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured.limits, "WORKER_BACKOFF_SECONDS", (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))


@pytest.mark.slow
@pytest.mark.fault("B8", "Invariant 3")
def test_b8_some_operations_fail(monkeypatch):
    answers, fresh, count = run(0, monkeypatch)
    assert answers == fresh
    for number in sorted(random.Random(7).sample(range(1, count + 1), SAMPLES)):
        answers, fresh, _ = run(number, monkeypatch)
        assert answers == fresh, number


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.fault("B8", "Invariant 3")
def test_b8_every_operation_fails(monkeypatch):
    _, _, count = run(0, monkeypatch)
    wrong = []
    for number in range(1, count + 1):
        answers, fresh, _ = run(number, monkeypatch)
        if answers != fresh:
            wrong.append(number)
    assert wrong == []
