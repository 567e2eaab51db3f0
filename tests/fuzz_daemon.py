"""A daemon attacked with random patterns, formulas and app settings, and another client that measures it."""

import random
import tempfile
import threading
import time
from pathlib import Path

import psutil

import hostile
from daemons import Daemon
from vaultseek.client.caller import Caller
from vaultseek.errors import VaultseekError
from worlds import own_directories, write_files

MEMORY = 512 << 20
"""Maximum growth of the daemon's memory, in bytes."""
LATENCY_SECONDS = 5.0
"""Maximum duration of another client's search; on an idle machine it takes milliseconds."""
ATTACK_SECONDS = 30.0
NOTES = {
    f"n{number}.md": f"---\nrating: {number}\n---\npump [[n0]] #t {'a' * number}\n" for number in range(50)
}


def attacked(seconds: float, seed: int, tries: int | None = None) -> list[str]:
    """Attack a daemon this long, or this many times, and return the delays of another client."""
    with tempfile.TemporaryDirectory(prefix="vaultseek-fuzz-") as folder:
        home = Path(folder)
        daemon = Daemon(home, directories=own_directories(home))
        root = write_files(home / "vault", NOTES)
        try:
            done = daemon.run("index", "--wait", "--vault", str(root))
            assert done.returncode == 0, done.stderr
            about = daemon.json("status")["daemon"]
            return _Attack(about["socket"], int(about["pid"]), root, seed).run(seconds, tries)
        finally:
            daemon.stop()


class _Attack:
    def __init__(self, socket: str, pid: int, root: Path, seed: int) -> None:
        self._socket = socket
        self._process = psutil.Process(pid)
        self._root = root
        self._chance = random.Random(seed)
        self._last = ""
        self._done = threading.Event()
        self._failed: list[str] = []

    def run(self, seconds: float, tries: int | None) -> list[str]:
        """Attack from a thread, and measure in this one."""
        attacker = threading.Thread(target=self._attack, args=(time.monotonic() + seconds, tries))
        memory = self._process.memory_info().rss
        attacker.start()
        problems: dict[str, str] = {}
        with Caller(self._socket, timeout=60.0) as other:
            while not self._done.wait(0.02) and not problems:
                began, last = time.monotonic(), self._last
                other.call("search", {"vault": str(self._root), "query": "pump", "mode": "keyword"})
                if (waited := time.monotonic() - began) > LATENCY_SECONDS:
                    problems["latency"] = f"another client waited {waited:.1f} s: {last} … {self._last}"
                if (grown := self._process.memory_info().rss - memory) > MEMORY:
                    problems["memory"] = f"the daemon grew by {grown >> 20} MiB: {last} … {self._last}"
        self._done.set()
        attacker.join()
        return [*problems.values(), *self._failed]

    def _attack(self, end: float, tries: int | None) -> None:
        left = tries
        try:
            while time.monotonic() < end and left != 0 and not self._done.is_set():
                left = None if left is None else left - 1
                self._try(self._chance.choice([self._search, self._table, self._base, self._settings]))
        finally:
            self._done.set()

    def _try(self, attempt) -> None:
        method, params = attempt()
        self._last = f"{method} {params}"[:2000]
        try:
            with Caller(self._socket, timeout=60.0) as client:
                client.call(
                    method, {"vault": str(self._root), **params, "deadline_ms": ATTACK_SECONDS * 1000}
                )
        except VaultseekError as error:
            if error.code in ("internal", "unavailable", "not_running"):
                self._failed.append(f"{error}: {self._last}")

    def _search(self):
        return "search", {"query": f"pump /{hostile.pattern(self._chance)}/"[:1000]}

    def _table(self):
        columns = [hostile.formula(self._chance) for _ in range(3)]
        return "vault/table", {"query": "pump", "columns": columns}

    def _base(self):
        (self._root / "fuzz.base").write_text(hostile.base(self._chance), encoding="utf-8")
        return "vault/table", {"file": "fuzz.base"}

    def _settings(self):
        folder = self._root / ".obsidian"
        folder.mkdir(exist_ok=True)
        (folder / "app.json").write_text(hostile.app_settings(self._chance), encoding="utf-8")
        return "search", {"query": "pump", "mode": "keyword", "wait": True}
