"""Currency of notes: whether a note is still valid, according to its own statements and to rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from vaultseek.base.text import fold

State = Literal["superseded", "stale"]
"""State of an outdated note: ``superseded`` if it has a successor or a rule says so, ``stale`` if it is past
its date."""

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
"""Values of the property ``status`` that mark a note as superseded by default."""


class Stated(NamedTuple):
    """Statements in a note about its own currency.

    ``statuses`` are folded. ``until`` is the ISO date from which the note is stale, or "". ``struck``
    contains the first and last line of each struck-out paragraph; ``is_struck`` is true if all paragraphs are
    struck out.
    """

    statuses: Sequence[str] = ()
    until: str = ""
    struck: Sequence[Sequence[int]] = ()
    is_struck: bool = False


NOTHING_STATED = Stated()


@dataclass(frozen=True, slots=True)
class Rules:
    """The statuses, folders and tags that mark notes as superseded."""

    statuses: tuple[str, ...] = STATUSES
    folders: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def reason(self, stated: Stated, path: str, tags: Iterable[str]) -> str | None:
        """Return, in a few words, the reason why a note is superseded; None if no rule applies."""
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
    """Return true if ``path`` is inside ``folder``, ignoring case. Both are relative to the vault."""
    folder = fold(folder).strip("/")
    return bool(folder) and fold(path).startswith(f"{folder}/")


def is_tagged(tag: str, names: Collection[str]) -> bool:
    """Return true if a tag is one of ``names`` or nested under one of them."""
    folded = f"{fold(tag).removeprefix('#')}/"
    return any(folded.startswith(f"{fold(name).removeprefix('#').strip('/')}/") for name in names)


def state_of(
    stated: Stated, path: str, tags: Iterable[str], *, has_successor: bool, rules: Rules, today: str
) -> State | None:
    """Return the state of a note on the ISO date ``today``; None if the note is current."""
    if has_successor or rules.reason(stated, path, tags) is not None:
        return "superseded"
    return "stale" if is_past(stated, today) else None


def is_past(stated: Stated, today: str) -> bool:
    """Return true if ``today`` is at or after the date from which a note is stale."""
    return bool(stated.until) and stated.until <= today
