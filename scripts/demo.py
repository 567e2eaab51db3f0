"""Demonstrate vaultseek: index the sample vault, search it in three ways, change a note, find its new words.

Run by ``scripts/demo``. Everything happens in temporary directories. The exit code is 0 only if every search
ranks the expected note first.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
PROGRAM = shlex.quote(str(PROJECT / ".venv" / "bin" / "vaultseek"))
COMMAND = [sys.executable, "-m", "vaultseek"]
SEARCHES = [
    ("An identifier, exactly (not E-4170, E-4017)", "E-4107", "Reference/E-4107.md"),
    (
        "A paraphrase: the note is about slugs and lettuce",
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

NEXT = f"""
Now your own notes; they are only read, and the index is kept elsewhere:
  {PROGRAM} index --wait --vault ~/notes
  {PROGRAM} search "a question in your own words"
Install it as a command: see "Install" in README.md."""

times: list[tuple[str, float]] = []


def main() -> int:
    """Run every step and return the exit code."""
    began = float(os.environ.get("DEMO_BEGAN", time.time()))
    times.append(("make .venv and install (nothing to do if it exists)", time.time() - began))
    with tempfile.TemporaryDirectory(prefix="vaultseek-demo-") as folder:
        vault = prepare(Path(folder))
        try:
            success = demonstrate(vault)
        finally:
            timed("stop the daemon", lambda: run("stop"))
    print("\nTime of each step:")
    for step, seconds in times:
        print(f"  {seconds:7.2f} s  {step}")
    print("\nEvery search found its note." if success else "\nA search did not rank its note first.")
    print(NEXT)
    return 0 if success else 1


def prepare(folder: Path) -> Path:
    """Copy the sample vault and point every vaultseek directory into ``folder``."""
    for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME", "RUNTIME_DIR"):
        directory = folder / name.lower()
        directory.mkdir(mode=0o700)
        os.environ[f"XDG_{name}"] = str(directory)
    for name in [name for name in os.environ if name.startswith("VAULTSEEK_")]:
        del os.environ[name]
    vault = folder / "vault"
    shutil.copytree(PROJECT / "tests" / "data" / "vault", vault)
    os.chdir(vault)
    return vault


def demonstrate(vault: Path) -> bool:
    """Run the demonstration. Return True if every search ranks its note first."""
    heading("Start the daemon and index the sample vault")
    timed("start the daemon", lambda: run("start"))
    timed("index its notes, load the model, embed every passage", lambda: run("index", "--wait"))
    success = True
    for title, query, expected in SEARCHES:
        heading(title)
        timed(f"search {query!r}", lambda query=query: run("search", query, "-n", "3"))
        success &= first(query) == expected
    heading("Change a note and search for its new words")
    with (vault / "Inbox.md").open("a", encoding="utf-8") as note:
        note.write(f"\n{NEW_WORDS}\n")
    success &= timed("from saving until the new words are found", lambda: wait_for("theodolite", "Inbox.md"))
    run("search", "theodolite", "-n", "1")
    heading("The status of the daemon")
    run("status")
    return success


def wait_for(query: str, expected: str) -> bool:
    """Search repeatedly until ``expected`` is first."""
    deadline = time.monotonic() + FOUND_WITHIN_SECONDS
    while time.monotonic() < deadline:
        if first(query) == expected:
            return True
        time.sleep(0.02)
    return False


def first(query: str) -> str | None:
    """Return the path of the best result, read from JSON as a script would."""
    done = subprocess.run([*COMMAND, "search", query, "--json"], capture_output=True, text=True, check=False)
    results: list[dict[str, Any]] = json.loads(done.stdout)["results"] if done.stdout else []
    return results[0]["path"] if results else None


def run(*arguments: str) -> bool:
    """Run a command as a user would, with its output on this terminal."""
    print("$ vaultseek " + " ".join(repr(a) if " " in a else a for a in arguments), flush=True)
    done = subprocess.run([*COMMAND, *arguments], check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"the command failed with exit code {done.returncode}")
    return done.returncode == 0


def timed(step: str, work: Callable[[], bool]) -> bool:
    """Do the work and record its time."""
    began = time.monotonic()
    result = work()
    times.append((step, time.monotonic() - began))
    return result


def heading(text: str) -> None:
    """Print the heading of a step."""
    print(f"\n--- {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
