"""Places of tags: in the text of a note as it was read, in its frontmatter by the words of a line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vaultseek.base.model import Note, Place, PlacedTag
from vaultseek.base.text import fold

_KEY = re.compile(r"(\"?'?)tags?\1[ \t]*:", re.IGNORECASE)
_OTHER_KEY = re.compile(r"[^\s#-][^:]*:(?:\s|$)")
_WORD = re.compile(r"[^\s,\[\]{}\"'#]+")


def tag_places(note: Note, tag: str) -> Iterator[PlacedTag]:
    """Yield where a note has ``tag`` or one nested under it, in order."""
    wanted = fold(tag)
    for placed in (*frontmatter_tags(note), *note.placed_tags):
        folded = fold(placed.tag)
        if folded == wanted or folded.startswith(f"{wanted}/"):
            yield placed


def frontmatter_tags(note: Note) -> Iterator[PlacedTag]:
    """Yield the tags in a note's frontmatter."""
    known = {fold(tag) for tag in note.tags}
    inside = False
    for number in range(2, note.body_line - 1):
        line = note.lines[number - 1]
        start = 0
        if key := _KEY.match(line):
            inside, start = True, key.end()
        elif _OTHER_KEY.match(line):
            inside = False
        if not inside:
            continue
        for word in _WORD.finditer(line.split(" #", 1)[0], start):
            if fold(word[0]) in known:
                yield PlacedTag(word[0], Place(number, *word.span()))
