"""Vaults and directories for tests, each created in one expression."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from semantic_here import open_here
from vaultseek.base.zone import client_zone
from vaultseek.core.notes.lookup import resolve_note
from vaultseek.store.graph import Graph
from vaultseek.store.ledger import Ledger, NoteRow


def write_files(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write ``files`` below ``root``, creating folders as needed, and return ``root``."""
    root.mkdir(exist_ok=True)
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def own_directories(home: Path) -> dict[str, str]:
    """Create the program's directories below ``home`` and return the environment that names them."""
    runtime = home / "user"
    runtime.mkdir(mode=0o700)
    homes = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    return homes | {"XDG_RUNTIME_DIR": str(runtime)}


def run_alone(
    home: Path, *arguments: str, cwd: Path | None = None, input: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command without settings in the environment, except those in ``environment``."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("VAULTSEEK_")}
    return subprocess.run(
        [sys.executable, "-m", "vaultseek", *arguments],
        cwd=cwd or home,
        env={**ours, "HOME": str(home), "PYTHONIOENCODING": "utf-8", **environment},
        input=input,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )


@contextmanager
def in_zone(name: str) -> Iterator[ZoneInfo]:
    """Answer as for a client in this time zone."""
    zone = ZoneInfo(name)
    token = client_zone.set(zone)
    try:
        yield zone
    finally:
        client_zone.reset(token)


async def until(condition: Callable[[], Any]) -> None:
    """Wait until the condition holds, for at most a minute."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


class World:
    """A vault whose notes are indexed by word and by link, without a daemon or a model."""

    def __init__(self, root: Path, home: Path) -> None:
        """Index the notes of ``root``; the index is stored in ``home``."""
        self.root = root
        self.directory = home / "index"
        self.open()
        self.index()

    def open(self) -> None:
        """Open the existing index."""
        self.vault = open_here(self.root, self.directory)

    def index(self) -> None:
        """Compare the index with the folder and index the differences."""
        self.vault.indexer.apply(self.vault.indexer.reconcile())

    @property
    def ledger(self) -> Ledger:
        """The ledger of the index."""
        return self.vault.ledger

    def write(self, files: Mapping[str, str | None]) -> None:
        """Write these files, delete those that are None, and index the changes."""
        write_files(self.root, {path: text for path, text in files.items() if text is not None})
        for path in (path for path, text in files.items() if text is None):
            (self.root / path).unlink()
        self.index()

    def note(self, name: str) -> NoteRow:
        """Return the row of the note with this name."""
        return resolve_note(name, self.ledger, self.root)

    def graph(self) -> Graph:
        """Return the graph of the links."""
        return Graph.of(self.ledger)

    def close(self) -> None:
        """Close the index."""
        self.vault.close()
