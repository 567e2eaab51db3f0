"""A parsed note with its passages as text, on its way from a process that parsed it elsewhere.

Such a process is not trusted: types and ranges are checked, and that each passage stands in the lines that it
names. What follows from the path, the file or other values is not sent but derived here, as ids of passages.
"""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from vaultseek.base.limits import FRONTMATTER_DEPTH, MIB
from vaultseek.base.model import BlockId, Chunk, Heading, Link, Note, Problem, Task
from vaultseek.content.markdown.chunk import chunk_id
from vaultseek.content.markdown.decode import decode as bytes_to_text
from vaultseek.content.markdown.parse import lines_of

MOST_BYTES = 8 * MIB
"""Most JSON of one note."""


class _Passage(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    heading_path: tuple[str, ...]
    start_line: int
    end_line: int
    text: str
    code: tuple[tuple[int, int], ...] = ()
    place: str | None = None


class _Parsed(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    title: str
    title_source: Literal["frontmatter", "heading", "name"]
    properties: str
    """JSON, as Python writes it: numbers may be of any size, or none."""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    headings: tuple[Heading, ...] = ()
    blocks: tuple[BlockId, ...] = ()
    tasks: tuple[Task, ...] = ()
    problems: tuple[Problem, ...] = ()
    passages: tuple[_Passage, ...] = ()


_TAKEN = _Parsed.model_fields.keys() - {"properties", "passages"}
"""Fields that are sent as the note has them."""


def encode(note: Note, chunks: Sequence[Chunk]) -> str:
    """Return a note and its passages as ASCII. Raises ValueError if they hold what is no text."""
    values = {name: getattr(note, name) for name in _TAKEN} | {
        "properties": json.dumps(note.frontmatter, separators=(",", ":")),
        "passages": tuple(
            _Passage.model_construct(**{name: getattr(chunk, name) for name in _Passage.model_fields})
            for chunk in chunks
        ),
    }
    parsed = _Parsed.model_construct(**values)
    return base64.b85encode(zlib.compress(parsed.model_dump_json(exclude_defaults=True).encode(), 1)).decode()


def decode(text: str, path: str, data: bytes) -> tuple[Note, tuple[Chunk, ...]]:
    """Return the note at ``path``, a file with these bytes, and its passages.

    Raises ValueError unless ``encode`` could have made this text of such a file.
    """
    lines = lines_of(bytes_to_text(data)[0])
    try:
        parsed = _Parsed.model_validate_json(_inflated(text))
        properties = json.loads(parsed.properties)
    except (ValidationError, RecursionError) as error:
        raise ValueError(f"no parsed note: {type(error).__name__}") from error
    if not isinstance(properties, dict) or _is_deep(properties, FRONTMATTER_DEPTH):
        raise ValueError("no properties")
    if not all(0 < line <= len(lines) + 1 for line in _line_numbers(parsed)):
        raise ValueError("lines that the file does not have")
    note = Note(path, frontmatter=properties, **{name: getattr(parsed, name) for name in _TAKEN})
    return note, _chunks(parsed, path, lines)


def _is_deep(value: object, most: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(most == 0 or _is_deep(each, most - 1) for each in inner)


def _inflated(text: str) -> bytes:
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(base64.b85decode(text), MOST_BYTES)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not inflater.eof:
        raise ValueError("too long, or cut off")
    return data


def _chunks(parsed: _Parsed, path: str, lines: Sequence[str]) -> tuple[Chunk, ...]:
    seen: Counter[tuple[tuple[str, ...], str]] = Counter()
    chunks = []
    for passage in parsed.passages:
        heading_path, text = passage.heading_path, passage.text
        if not _are_ranges(passage.code, len(text)):
            raise ValueError("ranges of code that are not in their passage")
        first, last = passage.start_line, passage.end_line
        has_them = last - first == text.count("\n", 0, -1)
        if not (has_them and text in "\n".join((*lines[first - 1 : last], ""))):
            raise ValueError("a passage that is not in its lines")
        id = chunk_id(path, heading_path, text, seen[heading_path, text])
        seen[heading_path, text] += 1
        chunks.append(Chunk(id, heading_path, first, last, text, passage.code, passage.place))
    return tuple(chunks)


def _are_ranges(code: Sequence[tuple[int, int]], end: int) -> bool:
    before = 0
    for first, last in code:
        if not before <= first < last <= end:
            return False
        before = last
    return True


def _line_numbers(parsed: _Parsed) -> Iterator[int]:
    yield from (heading.line for heading in parsed.headings)
    yield from (block.line for block in parsed.blocks)
    yield from (task.line for task in parsed.tasks)
    for link in parsed.links:
        yield link.line
        if link.place is not None:
            yield link.place.line
    for passage in parsed.passages:
        yield from (passage.start_line, passage.end_line)
    yield from (problem.line for problem in parsed.problems if problem.line is not None)
