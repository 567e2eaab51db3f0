"""Cut a reproducible part out of a large vault, for a set of judged questions.

    python scripts/cut_vault.py SOURCE DESTINATION --one-in 6 --folder pages

A note belongs to the part if the SHA-256 of its path, relative to SOURCE, is divisible by ``--one-in``. So
adding or changing a note in SOURCE does not move other notes into or out of the part. DESTINATION is a new or
empty folder.
"""

import argparse
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path


def part(source: Path, folder: str, one_in: int) -> Iterator[str]:
    """Yield the paths of the part's notes, relative to ``source``, sorted."""
    paths = (path.relative_to(source).as_posix() for path in (source / folder).rglob("*.md"))
    for path in sorted(paths):
        if int(hashlib.sha256(path.encode()).hexdigest(), 16) % one_in == 0:
            yield path


def main() -> None:
    """Copy the notes and print their number."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("destination", type=Path)
    parser.add_argument("--one-in", type=int, required=True, help="how many notes stand for one of the part")
    parser.add_argument("--folder", default="", help="only notes in this folder of SOURCE")
    arguments = parser.parse_args()
    if arguments.one_in < 1:
        parser.error("--one-in must be at least 1")
    if arguments.destination.exists() and any(arguments.destination.iterdir()):
        parser.error(f"{arguments.destination} is not empty; name another folder")
    paths = list(part(arguments.source, arguments.folder, arguments.one_in))
    if not paths:
        parser.error(f"no notes in {arguments.source / arguments.folder}")
    for path in paths:
        copy = arguments.destination / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(arguments.source / path, copy)
    print(f"{len(paths)} notes")


if __name__ == "__main__":
    main()
