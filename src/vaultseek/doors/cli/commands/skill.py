"""``vaultseek skill``: a file that tells agents with shell access how to search the notes."""

from importlib.resources import files
from pathlib import Path

import click

from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.options import is_confirmed, shared_options
from vaultseek.errors import UsageError

AGENTS = (
    ((".claude",), ".claude/skills"),
    ((".agents", ".codex", ".gemini", ".config/opencode"), ".agents/skills"),
)
"""Pairs, in the home folder: folders that show that an agent is installed, and the folder for its skills."""


@click.command()
@click.option(
    "--install",
    is_flag=True,
    help="Write the file to the folders where agents on this computer look for skills.",
)
@click.option("--yes", is_flag=True, help="With --install, write without asking.")
@shared_options
def skill(install: bool, yes: bool) -> int:
    """Print instructions for agents that run commands.

    The instructions explain when and how to search the notes. --install lists the files that it would write,
    asks, and writes them. Agents that use MCP need no skill: `vaultseek mcp` provides the instructions.

    \b
    vaultseek skill --install
    """
    text = files("vaultseek.doors").joinpath("SKILL.md").read_text("utf-8")
    if not install:
        print(text, end="")
        return SUCCESS
    places = [place for place in skill_files(Path.home()) if _content(place) != text]
    if not places:
        print("The skill is installed and up to date.")
        return SUCCESS
    for place in places:
        print(f"{'replace' if place.exists() else 'write'} {place} ({len(text.encode()):,} bytes)")
    if not yes and not is_confirmed("Write this?"):
        return SUCCESS
    for place in places:
        if place.is_symlink():
            raise UsageError(
                f"{place} is a link to another file; remove it, or write the skill there yourself"
            )
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
        except OSError as error:
            raise UsageError(
                f"cannot write {place}: {error.strerror}; print it with `vaultseek skill`"
            ) from None
    print("The skill was written. Agents read it the next time they start.")
    return SUCCESS


def skill_files(home: Path) -> list[Path]:
    """Return the path of the skill file for each agent found in ``home``. Raises UsageError if no agent is
    found."""
    folders = [folder for signs, folder in AGENTS if any((home / sign).is_dir() for sign in signs)]
    if not folders:
        raise UsageError(
            "no agent was found in your home folder; save the output of `vaultseek skill` as SKILL.md in"
            " the folder where your agent looks for skills"
        )
    return [home / folder / "vaultseek" / "SKILL.md" for folder in folders]


def installed_skills(home: Path) -> list[Path]:
    """Return the skill files in ``home`` that were written by any version of vaultseek."""
    places = [home / folder / "vaultseek" / "SKILL.md" for _, folder in AGENTS]
    return [place for place in places if not place.is_symlink() and _is_ours(_content(place) or "")]


def _is_ours(text: str) -> bool:
    return text.startswith("---\nname: vaultseek\n")


def _content(place: Path) -> str | None:
    try:
        return place.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
