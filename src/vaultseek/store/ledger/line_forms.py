"""Forms of lines. The label of a form is the line without its values, so lines from one template share a
label.

``Sleep: 7h`` and ``Sleep: 8h`` have the label ``sleep``; ``<< [[2026-01-03]] | [[2026-01-05]] >>`` is the
same line in every daily note. A line or property that many notes share says nothing about the subject of a
single note.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from vaultseek.base.model import Chunk, Link, Note
from vaultseek.base.text import fold, fold_case, is_unspaced
from vaultseek.content.markdown.property_text import NAMELESS, value_text
from vaultseek.content.markdown.rendering import render_text
from vaultseek.content.markdown.split import SENTENCE
from vaultseek.content.query.dates import find_dates

LINE_CHARS = 160
"""Maximum length, in characters, of a line whose form is stored. Longer lines are treated as prose."""
FIRST_LINES, LAST_LINES, NOTE_HEADINGS = 40, 8, 20
"""Maximum number of forms stored per note: for first lines (and also for first sentences), for last lines,
and for headings."""
LINE_VALUES = 8
"""Maximum number of values stored for a line or property."""

_NO_VALUES = (0,)
_LINK = "\ufffc"
"""Character that stands for a link in a line."""
_DATED = "\x01"
"""The label of a line that has a date and at most one other word."""
_LABEL_CHARS, _LABEL_WORDS = 32, 4
_AROUND = " \t•-*+>[](){}·・|"
_SEPARATOR = re.compile("::|:(?!\\S)|：|[=|]")
_NO_LABEL = re.compile(rf"[\d{_LINK}]")
_ITEMS = re.compile("[,;，、；]")
_NUMBERS = re.compile(r"(?<!\S)[^\s\d]*+\d\S*")
_DIGITS = re.compile(r"\d+")
_YEAR = re.compile(r"\d{4}")
_LETTER = re.compile(r"[^\W\d_]")
_WORDS = re.compile(r"[^\W\d_]+")


class Form(NamedTuple):
    """The label of a line, and the line's values, which differ between notes. Label and values are stored as
    numbers.

    The number of an empty value is 0.
    """

    label: int
    values: tuple[int, ...]

    @classmethod
    def of(cls, label: str, values: Sequence[str] = ()) -> Form:
        """Return the form of a line with this ``label`` and these ``values``."""
        return cls(_number(label), tuple(map(_number, values)) or _NO_VALUES)


def form_of(line: str, links: Sequence[Link] = ()) -> Form | None:
    """Return the form of a rendered line; None for prose, or if the line has no label. ``links`` are the
    line's links."""
    parts = _label_and_values(line, links)
    return None if parts is None else Form.of(parts[0], [*islice(parts[1], LINE_VALUES)])


def label_of(line: str) -> int | None:
    """Return the label of the form of a rendered line without links; None if the line has no form."""
    return None if (parts := _label_and_values(line)) is None else _number(parts[0])


def _label_and_values(line: str, links: Sequence[Link] = ()) -> tuple[str, Iterable[str]] | None:
    """Return the label of a line, and its values, which are computed only if they are read."""
    if len(line) > LINE_CHARS:
        return None
    for link in links:
        shown = link.alias or link.target
        line = line.replace(shown, _LINK, 1) if shown else line
    targets = tuple([_words(link.target) for link in links[:LINE_VALUES]]) if links else ()
    text = fold_case(line).strip(_AROUND)
    separator = _SEPARATOR.search(text, 1, _LABEL_CHARS)
    label = text[: separator.start()].strip() if separator else ""
    if separator and not _NO_LABEL.search(label) and label.count(" ") < _LABEL_WORDS:
        items = (_words(item) for item in _ITEMS.split(text[separator.end() :]))
        return label, chain(targets, filter(None, items))
    if not _DIGITS.search(text) and not links:
        return (text, ()) if _LETTER.search(text) else None
    label = _words(text)
    if not links and " " not in label and _has_date(text):
        return _DATED, (label,)
    if label or not links:
        return (label, targets) if label else None
    signs = "".join(_DIGITS.sub("", text).split())
    return (signs, targets) if len(signs) > 1 else None


def property_form(name: str, value: Any) -> Form | None:
    """Return the form of a property; None for a property that contains a description, or the note's names or
    tags."""
    if (key := name.casefold()) in NAMELESS or key == "description":
        return None
    items = value if isinstance(value, list) else [value]
    values = (_words(render_text(value_text(item))) for item in items[:LINE_VALUES])
    return Form.of(fold(name), [*values])


def lines_with_links(
    chunk: Chunk, links: Mapping[int, Sequence[Link]]
) -> Iterator[tuple[str, Sequence[Link]]]:
    """Yield each line of a chunk with its links; ``links`` contains the links of the whole note by line."""
    for number, line in enumerate(chunk.text.split("\n"), start=chunk.start_line):
        yield line, links.get(number, ())


def sentences(line: str, links: Sequence[Link]) -> Iterator[tuple[str, Sequence[Link]]]:
    """Yield the sentences of a line with their links."""
    start = 0
    for end in (*(match.end() for match in SENTENCE.finditer(line)), len(line)):
        if text := line[start:end].strip():
            yield text, [link for link in links if (link.alias or link.target) in text] if links else links
        start = end


def links_by_line(links: Iterable[Link]) -> dict[int, list[Link]]:
    """Return the links in a note's text by line number."""
    by_line: defaultdict[int, list[Link]] = defaultdict(list)
    for link in links:
        if link.property is None:
            by_line[link.line].append(link)
    return by_line


def stored_forms(note: Note, chunks: Sequence[Chunk], names: Iterable[str]) -> set[tuple[int, int]]:
    """Return the numbers that represent the forms of a note's ``names``, properties, headings, first and last
    lines, and first sentences."""
    links = links_by_line(note.links)
    first: list[tuple[str, Sequence[Link]]] = []
    for chunk in chunks:
        if len(first) >= FIRST_LINES:
            break
        first += [each for each in lines_with_links(chunk, links) if each[0]]
    last = [each for chunk in chunks[-1:] for each in lines_with_links(chunk, links) if each[0]]
    lines = [*first[:FIRST_LINES], *last[-LAST_LINES:]]
    parts = ([*sentences(*line)] for line in lines if SENTENCE.search(line[0]))
    several = (part for of_line in parts if len(of_line) > 1 for part in of_line)
    lines += islice(several, FIRST_LINES)
    headings = (heading.shown for heading in note.headings[:NOTE_HEADINGS])
    plain = {*names, *headings, *[line for line, links in lines if not links]}
    forms = [property_form(name, value) for name, value in note.frontmatter.items()]
    forms += [*map(form_of, plain)]
    forms += [form_of(line, links) for line, links in lines if links]
    return {(form.label, value) for form in forms if form is not None for value in form.values}


def _words(text: str) -> str:
    """Return the folded words of ``text``, without dates, numbers, and signs or letters attached to
    numbers."""
    text = fold_case(text)
    if _DIGITS.search(text):
        dates = [*find_dates(text)] if _YEAR.search(text) else []
        for date in reversed(dates):
            text = f"{text[: date.start]} {text[date.end :]}"
        text = (_DIGITS if is_unspaced(text) else _NUMBERS).sub(" ", text)
    return " ".join(_WORDS.findall(text))


def _has_date(text: str) -> bool:
    return _YEAR.search(text) is not None and any(True for _ in find_dates(text))


def value_number(name: str) -> int:
    """Return the number that represents a link to the note ``name`` among the values of a form."""
    return _number(_words(name))


def _number(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) if text else 0
