"""The currency of a note: whether it still holds, by its own statements and by rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from vaultseek.base.text import fold

State = Literal["superseded", "stale"]
"""``superseded`` notes have a successor, or a status to that effect; ``stale`` notes are past their date."""

STATUSES = (
    "deprecated",
    "superseded",
    "obsolete",
    "outdated",
    "archived",
    "replaced",
    "retired",
    "withdrawn",
)
"""Default values of the property ``status`` which mean that a note no longer holds."""


class Stated(NamedTuple):
    """A note's own statements about its currency.

    ``statuses`` are folded. ``until`` is the ISO day on which the note becomes stale, or "". ``struck`` are
    the first and last lines of paragraphs that are struck out; ``is_struck`` is true if all paragraphs are.
    """

    statuses: Sequence[str] = ()
    until: str = ""
    struck: Sequence[Sequence[int]] = ()
    is_struck: bool = False


NOTHING_STATED = Stated()


@dataclass(frozen=True, slots=True)
class Rules:
    """The statuses, folders and tags of notes that no longer hold."""

    statuses: tuple[str, ...] = STATUSES
    folders: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def reason(self, stated: Stated, path: str, tags: Iterable[str]) -> str | None:
        """Return, in words, the reason why a note no longer holds, or None."""
        if stated.statuses:
            outdated = set(map(fold, self.statuses))
            for status in stated.statuses:
                if status in outdated:
                    return f"marked {status}"
        if stated.is_struck:
            return "struck out"
        for folder in self.folders:
            if is_within(path, folder):
                return f"in the folder {folder.strip('/')}"
        if self.tags:
            for tag in tags:
                if is_tagged(tag, self.tags):
                    return f"tagged #{tag}"
        return None


def is_within(path: str, folder: str) -> bool:
    """Return true if a path is inside a folder of the vault; case does not matter."""
    folder = fold(folder).strip("/")
    return bool(folder) and fold(path).startswith(f"{folder}/")


def is_tagged(tag: str, names: Collection[str]) -> bool:
    """Return true if a tag is one of these tags or nested under one of them."""
    folded = f"{fold(tag).removeprefix('#')}/"
    return any(folded.startswith(f"{fold(name).removeprefix('#').strip('/')}/") for name in names)


def state_of(
    stated: Stated, path: str, tags: Iterable[str], *, has_successor: bool, rules: Rules, today: str
) -> State | None:
    """Return the state of a note on a day; None if the note is current."""
    if has_successor or rules.reason(stated, path, tags) is not None:
        return "superseded"
    return "stale" if is_past(stated, today) else None


def is_past(stated: Stated, today: str) -> bool:
    """Return true if a note is past its date."""
    return bool(stated.until) and stated.until <= today
