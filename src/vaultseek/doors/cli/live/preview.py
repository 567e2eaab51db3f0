"""Rows for results, and the preview of a note: the lines around the match, with highlighted words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from vaultseek.base.model import JSON
from vaultseek.base.text import is_unspaced
from vaultseek.doors.cli.listing import title_and_name
from vaultseek.doors.cli.output import with_command
from vaultseek.doors.cli.terminal import bar, clean, count, cut, width_of, wrap

Row = list[tuple[str, str]]
"""A row on the screen, as pieces of text with the names of their styles."""

SHOWN_ABOVE = 3
"""Divisor of the preview's height: with 3, a third of it is above the matching line."""
_ROWS_OF_A_LINE = 40
_LEAST_COLUMNS = 10


@dataclass(frozen=True)
class Preview:
    """Lines of a note, from line number ``first`` on; ``line`` is the number of the matching line, or 0.

    ``words`` contains the matching words as written in the note.
    """

    lines: tuple[str, ...]
    first: int
    line: int
    words: tuple[str, ...] = ()

    def page(self, columns: int, height: int, scroll: int = 0) -> list[Row]:
        """Return the visible rows after scrolling down ``scroll`` rows from the rows around the match."""
        rows, match = _laid_out(self, columns)
        start = max(0, match - height // SHOWN_ABOVE) + scroll
        return rows[max(0, min(start, len(rows) - 1)) :][:height]

    def scrolled(self, by: int, columns: int, height: int, scroll: int) -> int:
        """Return ``scroll`` plus ``by``, limited so that part of the note stays visible."""
        rows, match = _laid_out(self, columns)
        start = max(0, match - height // SHOWN_ABOVE)
        return max(-start, min(scroll + by, max(0, len(rows) - height) - start, len(rows)))

    @cached_property
    def _marks(self) -> re.Pattern[str] | None:
        parts = [_pattern(word) for word in sorted(self.words, key=len, reverse=True)]
        return re.compile("|".join(parts), re.IGNORECASE) if parts else None

    def _rows(self, columns: int) -> Iterator[tuple[int, Row]]:
        digits = len(str(self.first + len(self.lines) - 1))
        room = max(_LEAST_COLUMNS, columns - digits - 2)
        for number, line in enumerate(self.lines, self.first):
            at = number == self.line
            gutter = f"{number:>{digits}}{'▌' if at else ' '} "
            for piece in _wrapped(line, room):
                yield number, [("match" if at else "number", gutter), *self._marked(piece)]
                gutter = " " * (digits + 1) + " "

    def _marked(self, text: str) -> Row:
        row: Row = []
        done = 0
        for match in self._marks.finditer(text) if self._marks else ():
            row += [("", text[done : match.start()]), ("word", match[0])]
            done = match.end()
        return [*row, ("", text[done:])]


def written_words(result: JSON) -> tuple[str, ...]:
    """Return the highlighted words in a result's preview, as written there."""
    preview = str(result.get("preview") or "")
    words = (preview[low:high] for low, high in result.get("highlights") or ())
    return tuple(dict.fromkeys(word for word in words if word.strip()))


@lru_cache(maxsize=8)
def _laid_out(preview: Preview, columns: int) -> tuple[list[Row], int]:
    """Return all rows of a preview, and the index of the matching line's first row."""
    rows = list(preview._rows(columns))
    match = next((place for place, (number, _) in enumerate(rows) if number == preview.line), 0)
    return [row for _, row in rows], match


def _pattern(word: str) -> str:
    """Return a regular expression that finds a word; in scripts with spaces, it matches only whole words."""
    escaped = re.escape(word)
    return escaped if is_unspaced(word) else rf"(?<!\w){escaped}(?!\w)"


def _wrapped(line: str, columns: int) -> list[str]:
    """Wrap a line of a note into rows; a line that fits keeps all its spaces."""
    text = clean(line.replace("\t", "    "))
    if width_of(text) <= columns:
        return [text]
    indent = " " * min(len(text) - len(text.lstrip()), columns // 2)
    return [indent + piece for piece in wrap(text, columns - len(indent), _ROWS_OF_A_LINE)] or [""]


_SELECTED, _MARKED = "▌", "*"
_BAR_CELLS, _CERTAINTY_COLUMNS = 4, 10
_TITLE_SHARE = 0.7
"""Maximum share of a row's width for a long title; the rest is for the folder."""


def row(result: JSON, columns: int, *, selected: bool, marked: bool = False, scored: bool = False) -> Row:
    """Return the row for a result: mark, title, heading, folder and certainty."""
    certainty = _certainty(result) if scored and columns >= 4 * _CERTAINTY_COLUMNS else ""
    room = max(1, columns - len(_SELECTED + _MARKED) - width_of(certainty))
    title, folder = _title(result), _folder(result)
    if width_of(title) + 2 + width_of(folder) > room:
        title = cut(title, max(int(room * _TITLE_SHARE), room - 2 - width_of(folder)))
    folder = cut(folder, max(0, room - width_of(title) - 2)) if room - width_of(title) > 4 else ""
    gap = " " * (room - width_of(title) - width_of(folder))
    style = "selected" if selected else ""
    marker = ("marker", _SELECTED if selected else " ")
    return [
        marker,
        ("word", _MARKED if marked else " "),
        (f"{style} title", title),
        (style, gap),
        (f"{style} folder", folder),
        (f"{style} certainty", certainty),
    ]


def _certainty(result: JSON) -> str:
    share = float(result.get("certainty") or 0.0)
    return f" {bar(share, _BAR_CELLS)} {share:4.0%}"


def remarks(answer: JSON, message: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of the status line (figures and remarks), each with the name of its style."""
    if message:
        yield "warning", clean(message)
        return
    if answer.get("results"):
        yield "figures", _figures(answer)
    for remark in answer.get("remarks") or ():
        yield "warning", clean(with_command(remark["text"], remark.get("advice")))


def _title(result: JSON) -> str:
    title = title_and_name(result) or clean(result.get("path") or "")
    headings = [clean(heading) for heading in result.get("heading_path") or ()]
    last = headings[-1] if headings else ""
    return f"{title} › {last}" if last and last != clean(result.get("title") or "") else title


def _folder(result: JSON) -> str:
    folder = clean(result.get("path") or "").rpartition("/")[0]
    if currency := result.get("currency"):
        folder = " · ".join(filter(None, (clean(currency["text"]), folder)))
    return f"{clean(result['vault'])}: {folder}" if result.get("vault") else folder


def _figures(answer: JSON) -> str:
    results, total = len(answer["results"]), int(answer.get("total") or 0)
    parts = [count(max(results, total), "note")]
    if answer.get("took_ms") is not None:
        parts.append(f"{float(answer['took_ms']):.0f} ms")
    about = [clean(answer[key]) for key in ("search_method", "vault") if answer.get(key)]
    return " · ".join([*parts, *about])
