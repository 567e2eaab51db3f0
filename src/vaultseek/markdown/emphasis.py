"""Delimiters of emphasis: which open and which close it, as far as tags beside them depend on it.

The rules are those that Obsidian's metadata cache was observed to follow, not CommonMark's: a delimiter opens
wherever a closing one follows, also within a word.
"""

from __future__ import annotations

import re
from bisect import bisect_left

_DELIMITERS = re.compile(r"\\.|\*+|_+|~~|==", re.DOTALL)
_MATTERS = re.compile(r"[*_~=]#|#[^\s#_]*+_")
_NONSPACE = re.compile(r"\S")


def emphasis_matters(text: str) -> bool:
    """True if a tag in ``text`` touches a possible delimiter."""
    return _MATTERS.search(text) is not None


class Emphasis:
    """The delimiters of one text, scanned from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.singles: dict[str, list[int]] = {"*": [], "_": []}
        """Single delimiters that can close, and odd runs, which end a search."""
        self.doubles: dict[str, list[int]] = {"*": [], "_": [], "~": [], "=": []}
        self.closers: dict[int, int] = {}
        self.ends: list[int] = []
        """The ends of the emphasis that is open, outermost first."""
        self.run_end = 0
        """The end of the last run of delimiters that was measured."""
        for match in _DELIMITERS.finditer(text):
            self._note(match.start(), match.end())

    def take(self, at: int) -> tuple[int, bool]:
        """Return where the scan continues after the delimiter at ``at``, and if it opens or closes any."""
        self._leave(at)
        if at in self.closers:
            return at + self.closers.pop(at), True
        for width in (2, 1):
            closer = self._closer(at, width)
            if closer is not None and closer <= self.limit(at):
                self.closers[closer] = width
                self.ends.append(closer)
                return at + width, True
        return at + 1, False

    def limit(self, at: int) -> int:
        """Return the end of the innermost emphasis around ``at``."""
        self._leave(at)
        return self.ends[-1] if self.ends else len(self.text)

    def _leave(self, at: int) -> None:
        while self.ends and self.ends[-1] <= at:
            self.ends.pop()

    def _note(self, start: int, end: int) -> None:
        marker, length = self.text[start], end - start
        if marker == "\\":
            return
        if length >= 2 and not (marker in "~=" and _is_space(self.text, start - 1)):
            self.doubles[marker].append(end - 2)
        if marker in "*_" and length % 2 and not (length == 1 and marker == "_" and self._word(end)):
            self.singles[marker].append(start)

    def _word(self, at: int) -> bool:
        following = self.text[at : at + 1]
        return following.isascii() and (following.isalnum() or following == "_")

    def _closer(self, at: int, width: int) -> int | None:
        text, marker = self.text, self.text[at]
        if width == 2:
            if not text.startswith(marker, at + 1):
                return None
            return self._double(at, marker)
        return self._single(at, marker) if marker in "*_" else None

    def _double(self, at: int, marker: str) -> int | None:
        if marker in "~=" and _is_space(self.text, at + 2):
            return None
        closers = self.doubles[marker]
        index = bisect_left(closers, at + 2)
        return self._if_filled(at + 2, closers[index]) if index < len(closers) else None

    def _single(self, at: int, marker: str) -> int | None:
        text = self.text
        rest = self._run(at, marker)
        if (rest - at - 1) % 2:
            return None
        closers = self.singles[marker]
        index = bisect_left(closers, rest)
        limit = self.ends[-1] if self.ends else len(text)
        if index == len(closers) or text.startswith(marker, closers[index] + 1, limit):
            return None
        return self._if_filled(at + 1, closers[index])

    def _run(self, at: int, marker: str) -> int:
        if at >= self.run_end:
            self.run_end = at + 1
            while self.text.startswith(marker, self.run_end):
                self.run_end += 1
        return self.run_end

    def _if_filled(self, start: int, closer: int) -> int | None:
        match = _NONSPACE.search(self.text, start)
        return closer if match and match.start() < closer else None


def _is_space(text: str, at: int) -> bool:
    return not text[at : at + 1].strip()
