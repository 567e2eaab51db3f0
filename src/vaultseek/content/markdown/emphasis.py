"""Match opening and closing emphasis delimiters, as far as needed to find tags.

The rules follow the observed behaviour of Obsidian's metadata cache, not CommonMark: a delimiter opens
emphasis wherever a closing delimiter follows, even within a word.
"""

import re
from bisect import bisect_left

_DELIMITERS = re.compile(r"\\.|\*+|_+|~~|==", re.DOTALL)
_MATTERS = re.compile(r"[*_~=]#|#[^\s#_]*+_")
_NONSPACE = re.compile(r"\S")


def emphasis_matters(text: str) -> bool:
    """True if a tag in ``text`` is next to a possible emphasis delimiter."""
    return "#" in text and _MATTERS.search(text) is not None


class Emphasis:
    """Emphasis delimiters in one text, scanned from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.singles: dict[str, list[int]] = {"*": [], "_": []}
        """Map from ``*`` and ``_`` to the positions of delimiters that can close emphasis: single delimiters,
        and runs of odd length.

        The search for a closing delimiter stops at such a run."""
        self.doubles: dict[str, list[int]] = {"*": [], "_": [], "~": [], "=": []}
        self.closers: dict[int, int] = {}
        self.ends: list[int] = []
        """Ends of the emphasis ranges that are still open, outermost first."""
        self.run_end = 0
        """End of the last run of delimiters that was measured."""
        for match in _DELIMITERS.finditer(text):
            self._record(match.start(), match.end())

    def consume(self, position: int) -> tuple[int, bool]:
        """Return the end of the delimiter at ``position``, and whether it opens or closes emphasis."""
        self._close_until(position)
        if position in self.closers:
            return position + self.closers.pop(position), True
        for width in (2, 1):
            closer = self._closer(position, width)
            if closer is not None and closer <= self.limit(position):
                self.closers[closer] = width
                self.ends.append(closer)
                return position + width, True
        return position + 1, False

    def limit(self, position: int) -> int:
        """Return the end of the innermost emphasis around ``position``."""
        self._close_until(position)
        return self.ends[-1] if self.ends else len(self.text)

    def _close_until(self, position: int) -> None:
        while self.ends and self.ends[-1] <= position:
            self.ends.pop()

    def _record(self, start: int, end: int) -> None:
        marker, length = self.text[start], end - start
        if marker == "\\":
            return
        if length >= 2 and not (marker in "~=" and _is_space(self.text, start - 1)):
            self.doubles[marker].append(end - 2)
        following = self.text[end : end + 1]
        starts_word = following.isascii() and (following.isalnum() or following == "_")
        if marker in "*_" and length % 2 and not (length == 1 and marker == "_" and starts_word):
            self.singles[marker].append(start)

    def _closer(self, position: int, width: int) -> int | None:
        text, marker = self.text, self.text[position]
        if width == 2:
            return self._double(position, marker) if text.startswith(marker, position + 1) else None
        return self._single(position, marker) if marker in "*_" else None

    def _double(self, position: int, marker: str) -> int | None:
        if marker in "~=" and _is_space(self.text, position + 2):
            return None
        closers = self.doubles[marker]
        index = bisect_left(closers, position + 2)
        return self._unless_blank(position + 2, closers[index]) if index < len(closers) else None

    def _single(self, position: int, marker: str) -> int | None:
        text = self.text
        rest = self._end_of_run(position, marker)
        if (rest - position - 1) % 2:
            return None
        closers = self.singles[marker]
        index = bisect_left(closers, rest)
        limit = self.ends[-1] if self.ends else len(text)
        if index == len(closers) or text.startswith(marker, closers[index] + 1, limit):
            return None
        return self._unless_blank(position + 1, closers[index])

    def _end_of_run(self, position: int, marker: str) -> int:
        if position >= self.run_end:
            self.run_end = position + 1
            while self.text.startswith(marker, self.run_end):
                self.run_end += 1
        return self.run_end

    def _unless_blank(self, start: int, closer: int) -> int | None:
        match = _NONSPACE.search(self.text, start)
        return closer if match and match.start() < closer else None


def _is_space(text: str, position: int) -> bool:
    return not text[position : position + 1].strip()
