"""The tables ``given`` and ``given_notes``: the answers given to agents, and the lines of notes that these
answers contained."""

from collections.abc import Sequence
from typing import NamedTuple

from vaultseek.store.ledger.database import Database

KEPT_ANSWERS = 2000
"""Maximum number of answers that are kept; the oldest are deleted."""


class GivenNote(NamedTuple):
    """A note in an answer, with the first and last line shown; both are None if the note was only
    mentioned."""

    path: str
    start_line: int | None = None
    end_line: int | None = None


class Given(NamedTuple):
    """An answer given to an agent: its time, the agent, the tool, the question, the number of tokens, and the
    notes."""

    time: float
    agent: str
    tool: str
    question: str
    tokens: int
    notes: Sequence[GivenNote] = ()


class GivenTable:
    """The tables ``given`` and ``given_notes``. Notes are identified by path, as in ``opens``.

    Writing does not create a revision.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, given: Given) -> None:
        """Add an answer, deleting the oldest if there are too many."""
        *about, notes = given
        with self._database.transaction():
            number = self._database.run(
                "INSERT INTO given (time, agent, tool, question, tokens) VALUES (?, ?, ?, ?, ?)", *about
            ).lastrowid
            for note in notes:
                self._database.run("INSERT INTO given_notes VALUES (?, ?, ?, ?)", number, *note)
            self._database.run("DELETE FROM given WHERE number <= ?", (number or 0) - KEPT_ANSWERS)

    def latest(self, most: int) -> list[Given]:
        """Return up to ``most`` answers, newest first."""
        answers = self._database.all("SELECT * FROM given ORDER BY number DESC LIMIT ?", most)
        notes: dict[int, list[GivenNote]] = {number: [] for number, *_ in answers}
        sql = "SELECT * FROM given_notes WHERE answer >= ? ORDER BY rowid"
        for number, *note in self._database.all(sql, min(notes, default=0)):
            notes[number].append(GivenNote(*note))
        return [Given._make([*about, notes[number]]) for number, *about in answers]

    def count(self) -> int:
        """Return the number of stored answers."""
        ((number,),) = self._database.all("SELECT count(*) FROM given")
        return int(number)

    def forget(self) -> int:
        """Delete all answers, and return their number."""
        with self._database.transaction():
            deleted = self._database.run("DELETE FROM given").rowcount
        self._database.shrink()
        return deleted

    def forget_deleted(self) -> None:
        """Delete from the stored answers the paths of notes that no longer exist."""
        known = "SELECT path FROM notes UNION SELECT path FROM attachments"
        with self._database.transaction():
            self._database.run(f"DELETE FROM given_notes WHERE path NOT IN ({known})")
