"""Print the changelog's section of a version, without its heading.

    python scripts/release_notes.py VERSION

Exits with 1 if pyproject.toml has a different version, or if the changelog has no section for VERSION.
"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent


def notes_of(version: str, changelog: str) -> str:
    """Return the section of a version; an empty string if it is missing or has only headings."""
    section = re.search(rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    text = section.group(1).strip() if section else ""
    return text if any(line.startswith("- ") for line in text.splitlines()) else ""


def main(version: str) -> int:
    """Print the section, or report on standard error what is missing."""
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if declared != version:
        print(f"release: pyproject.toml has version {declared}, not {version}", file=sys.stderr)
        return 1
    notes = notes_of(version, (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if not notes:
        print(f"release: CHANGELOG.md has nothing about {version}", file=sys.stderr)
        return 1
    print(notes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
