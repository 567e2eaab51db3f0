"""The pace at which one path may change: a file that is written all the time is read now and then."""

from __future__ import annotations

from dataclasses import dataclass

FREE_CHANGES = 2
"""Changes of a path in a row that are taken at once: a save, and another one right after it."""
FIRST_PAUSE_SECONDS = 2.0
PAUSE_GROWTH = 1.5
"""Factor from one pause to the next, as long as the path keeps changing."""
LONGEST_PAUSE_SECONDS = 10.0


@dataclass(slots=True)
class _Changes:
    """The changes of a path in a row: how many, when the last was taken, and the pause after it."""

    count: int
    taken: float
    pause: float

    def is_over(self, now: float) -> bool:
        """True if the path was quiet for so long that its next change begins a new row."""
        return now - self.taken > 2 * max(self.pause, FIRST_PAUSE_SECONDS)


class Pace:
    """The times at which paths may be taken again, in seconds of any clock that never goes back."""

    def __init__(self) -> None:
        self._changes: dict[str, _Changes] = {}

    def due(self, path: str, now: float) -> float:
        """Return the moment from which a change of the path may be taken, ``now`` or later."""
        changes = self._changes.get(path)
        return now if changes is None or changes.is_over(now) else max(now, changes.taken + changes.pause)

    def take(self, path: str, now: float) -> None:
        """Note that a change of the path was taken."""
        changes = self._changes.pop(path, None)
        if changes is None or changes.is_over(now):
            changes = _Changes(0, now, 0.0)
        changes.count += 1
        changes.taken = now
        if changes.count >= FREE_CHANGES:
            changes.pause = min(max(FIRST_PAUSE_SECONDS, changes.pause * PAUSE_GROWTH), LONGEST_PAUSE_SECONDS)
        self._changes[path] = changes
        self._forget(now)

    def _forget(self, now: float) -> None:
        """Drop what is over; the paths are in the order in which they were taken."""
        while self._changes:
            path = next(iter(self._changes))
            if now - self._changes[path].taken <= 2 * LONGEST_PAUSE_SECONDS:
                break
            del self._changes[path]
