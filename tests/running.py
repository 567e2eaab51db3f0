"""A daemon with a client, and its answers compared with those of a fresh index."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from daemons import Daemon, eventually
from near import Near
from vaultseek.client import Client
from vaultseek.errors import VaultseekError
from worlds import own_directories, write_files

QUERIES = ("pump", "valve seal", "rust on the anchor", "tag:boat", "quartz")
CALL_SECONDS = 120.0
MOST_SEGMENTS = 25


class Running:
    """A vault followed by a daemon and queried through a client."""

    def __init__(self, place: Path, files: Mapping[str, str | bytes], **environment: str) -> None:
        place.mkdir(exist_ok=True)
        (place / "home").mkdir()
        self.place = place
        self.daemon = Daemon(place / "home", directories=own_directories(place))
        self.daemon.environment |= environment
        self.root = write_files(place / "vault", files)
        self.socket = self.daemon.socket
        self.process: psutil.Popen | None = None

    @property
    def index(self) -> Path:
        """The folder of the vault's index."""
        (folder,) = (self.place / "data" / "vaultseek" / "vaults").iterdir()
        return folder

    def serve(self) -> None:
        """Start the daemon and wait until it answers."""
        command = [sys.executable, "-m", "vaultseek", "serve"]
        nowhere = subprocess.DEVNULL
        self.process = psutil.Popen(command, env=self.daemon.environment, stdout=nowhere, stderr=nowhere)
        eventually(self.answers_calls, "the daemon answers", 90)

    def client(self) -> Client:
        """Return a connection to the daemon."""
        return Client(self.socket, timeout=CALL_SECONDS)

    def answers_calls(self) -> bool:
        """True if the daemon accepts connections."""
        try:
            self.client().close()
        except VaultseekError:
            return False
        return True

    def settle(self) -> None:
        """Return when everything on disk is indexed and embedded."""
        with self.client() as client:
            client.refresh(vault=str(self.root), timeout=CALL_SECONDS)
            client.wait(vault=str(self.root), timeout=CALL_SECONDS)

    def paths(self, query: str, mode: str = "keyword") -> list[str]:
        """Return the paths of a search's results, best first."""
        with self.client() as client:
            answer = client.search(query, mode=mode, vault=str(self.root), limit=200)  # type: ignore[arg-type]
        return [result["path"] for result in answer["results"]]

    def status(self) -> Any:
        """Return the status of the vault."""
        with self.client() as client:
            (vault,) = client.status()["vaults"]
        return vault

    def answers(self, queries: tuple[str, ...] = QUERIES) -> list[Any]:
        """Return what searches of every mode see, with scores rounded to six places for comparison."""
        rows: list[Any] = []
        with self.client() as client:
            for mode in ("keyword", "semantic", "hybrid"):
                for query in queries:
                    answer = client.search(
                        query,
                        mode=mode,  # type: ignore[arg-type]
                        vault=str(self.root),
                        limit=100,
                        deadline_ms=60_000,
                        timeout=CALL_SECONDS,
                    )
                    found = [(each["path"], Near(each["score"])) for each in answer["results"]]
                    rows.append((mode, query, answer["partial"], sorted(found)))
        return rows

    def fresh_answers(self, queries: tuple[str, ...] = QUERIES) -> list[Any]:
        """Return the answers of another daemon that has just indexed the same folder."""
        other = Running(self.place / "fresh", {})
        other.root = self.root
        other.serve()
        try:
            other.settle()
            return other.answers(queries)
        finally:
            other.end()

    def is_alive(self) -> bool:
        """True while the daemon's process is running."""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """Kill the daemon and wait for its end."""
        if self.process is not None and self.is_alive():
            self.process.kill()
            self.process.wait(30)

    def end(self) -> None:
        """Stop the daemon, and kill it if it does not stop."""
        if self.process is None or not self.is_alive():
            return
        self.process.terminate()
        try:
            self.process.wait(30)
        except psutil.TimeoutExpired:
            self.kill()

    def descriptors(self) -> int:
        """Return how many files the daemon has open, except segments of the keyword index.

        Segments come with changes and go when they are merged; assert that they are few.
        """
        assert self.process is not None
        files = [os.path.realpath(each) for each in Path(f"/proc/{self.process.pid}/fd").iterdir()]
        segments = sum(file.endswith(".post") for file in files)
        assert segments < MOST_SEGMENTS
        return len(files) - segments
