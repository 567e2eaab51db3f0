"""The demonstration: index the sample vault, search it in three ways, change a note, find its new words.

Run by ``scripts/demo``. Everything happens in temporary directories; the exit code is 0 only if every search
put the note that it should find first.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-m", "vaultseek"]
SEARCHES = [
    ("An identifier, exactly (not E-4170, E-4017)", "E-4107", "Reference/E-4107.md"),
    (
        "A paraphrase: the note speaks of slugs and lettuce",
        "snails eating the salad",
        "Areas/Garden/Slimy Visitors.md",
    ),
    (
        "A filter: only notes tagged #work/pumps",
        "tag:work/pumps alarm float",
        "Projects/Sump/Float Switch Wiring.md",
    ),
]
NEW_WORDS = "Borrowed a theodolite from the survey office."
FOUND_WITHIN_SECONDS = 10.0

times: list[tuple[str, float]] = []


def main() -> int:
    """Run every step; returns the exit code."""
    began = float(os.environ.get("DEMO_BEGAN", time.time()))
    times.append(("make .venv and install (nothing to do if it is there)", time.time() - began))
    with tempfile.TemporaryDirectory(prefix="vaultseek-demo-") as folder:
        vault = prepare(Path(folder))
        try:
            good = show(vault)
        finally:
            timed("stop the daemon", lambda: run("stop"))
    print("\nHow long each step took:")
    for step, seconds in times:
        print(f"  {seconds:7.2f} s  {step}")
    print("\nEverything was found." if good else "\nSomething was not found as it should be.")
    return 0 if good else 1


def prepare(folder: Path) -> Path:
    """Copy the sample vault and point every directory of vaultseek into ``folder``."""
    for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME", "RUNTIME_DIR"):
        place = folder / name.lower()
        place.mkdir(mode=0o700)
        os.environ[f"XDG_{name}"] = str(place)
    for name in [name for name in os.environ if name.startswith("VAULTSEEK_")]:
        del os.environ[name]
    vault = folder / "vault"
    shutil.copytree(PROJECT / "tests" / "data" / "vault", vault)
    os.chdir(vault)
    return vault


def show(vault: Path) -> bool:
    """The demonstration itself; whether everything was found."""
    heading("Start the daemon and index the sample vault")
    timed("start the daemon", lambda: run("start"))
    timed("index its notes, load the model, embed every passage", lambda: run("index", "--wait"))
    good = True
    for title, query, expected in SEARCHES:
        heading(title)
        timed(f"search {query!r}", lambda query=query: run("search", query, "-n", "3"))
        good &= first(query) == expected
    heading("Change a note and search for its new words")
    with (vault / "Inbox.md").open("a", encoding="utf-8") as note:
        note.write(f"\n{NEW_WORDS}\n")
    good &= timed("from the save until the new words are found", lambda: wait_for("theodolite", "Inbox.md"))
    run("search", "theodolite", "-n", "1")
    heading("Where everything stands")
    run("status")
    return good


def wait_for(query: str, expected: str) -> bool:
    """Search again and again until ``expected`` comes first."""
    deadline = time.monotonic() + FOUND_WITHIN_SECONDS
    while time.monotonic() < deadline:
        if first(query) == expected:
            return True
        time.sleep(0.02)
    return False


def first(query: str) -> str | None:
    """The path of the best result, as a script would ask for it."""
    done = subprocess.run([*COMMAND, "search", query, "--json"], capture_output=True, text=True, check=False)
    results: list[dict[str, Any]] = json.loads(done.stdout)["results"] if done.stdout else []
    return results[0]["path"] if results else None


def run(*arguments: str) -> bool:
    """Run a command as a user would, its output on this terminal."""
    print("$ vaultseek " + " ".join(repr(a) if " " in a else a for a in arguments), flush=True)
    done = subprocess.run([*COMMAND, *arguments], check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"the command failed with exit code {done.returncode}")
    return done.returncode == 0


def timed(step: str, work: Callable[[], bool]) -> bool:
    """Do the work and remember how long it took."""
    began = time.monotonic()
    result = work()
    times.append((step, time.monotonic() - began))
    return result


def heading(text: str) -> None:
    """A line that says what comes."""
    print(f"\n--- {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
