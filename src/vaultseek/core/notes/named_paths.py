"""Find bases and queries whose conditions name a moved file or folder."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from vaultseek.base.limits import BASE_DEPTH, BASE_KEYS
from vaultseek.base.model import Note
from vaultseek.content.kinds import kind_of
from vaultseek.content.markdown.resolve import NOTE_SUFFIX
from vaultseek.content.markdown.yamlcore import Bounds, LoadError, load
from vaultseek.store.ledger import Ledger

QUERY_LANGUAGES = ("base", "dataview", "dataviewjs", "tasks", "query")
"""Languages of code blocks that contain a query for notes."""
_WITH_BLOCKS = (
    "SELECT DISTINCT n.path FROM chunks c JOIN notes n ON n.id = c.note WHERE c.code != '[]' AND ("
    + " OR ".join(f"char(10) || c.text LIKE '%' || char(10) || '{name}%'" for name in QUERY_LANGUAGES)
    + ")"
)
_ABOUT_FILES = re.compile(r"\bfile\b|\bformula\b|\bthis\b|\blink\(")
"""Terms that a base's condition uses to compare the path or the name of a file."""
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'")
_AFTER_OPERATOR = re.compile(r"\b(?:path|folder|file|includes?)[: ]\s*([^\s\"'()]+)")


def naming_moved(
    moves: Mapping[str, str],
    paths: Sequence[str],
    ledger: Ledger,
    notes: Callable[[str], Iterable[tuple[Note, object]]],
    lines: Callable[[str], Sequence[str] | None],
) -> Iterator[str]:
    """Yield the files with a base or query that names a moved file or folder.

    ``paths`` are all files before the moves. A condition may be computed, so no edit is proposed for it.
    """
    gone = _Gone(moves, paths)
    for path in paths:
        if kind_of(path) == "base" and gone.is_named(_of_base("\n".join(lines(path) or ()))):
            yield path
    for (path,) in ledger.select(_WITH_BLOCKS):
        if gone.is_named(name for note, _ in notes(path) for name in _of_blocks(note)):
            yield path


class _Gone:
    """Moved files and folders, with all names that a condition may use for them."""

    def __init__(self, moves: Mapping[str, str], paths: Sequence[str]) -> None:
        after = [moves.get(path, path) for path in paths]
        self._names = {name for path in moves for name in _names(path)}
        self._names.difference_update(name for path in after for name in _names(path))
        self._before, self._after = "\n".join(moves), "\n".join(after)

    def is_named(self, texts: Iterable[str]) -> bool:
        return any(map(self._has, {text.strip("/") for text in texts} - {""}))

    def _has(self, text: str) -> bool:
        # The text may also be a part of a path, such as the beginning in `startsWith`.
        return text in self._names or (text in self._before and text not in self._after)


def _names(path: str) -> Iterator[str]:
    *folders, name = path.split("/")
    yield from (path, path.removesuffix(NOTE_SUFFIX), name, name.rpartition(".")[0])
    for number, folder in enumerate(folders, 1):
        yield from (folder, "/".join(folders[:number]))


def _of_base(text: str) -> Iterator[str]:
    try:
        base = load(text, Bounds(BASE_DEPTH, BASE_KEYS)).value if text.strip() else None
    except LoadError:
        return
    for condition in _texts(base):
        if _ABOUT_FILES.search(condition):
            yield from _quoted(condition)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from _texts(each)


def _of_blocks(note: Note) -> Iterator[str]:
    for block in note.code_blocks:
        language = (block.lang or "").lower()
        text = block.text(note.lines)
        if language == "base":
            yield from _of_base(text)
        elif language in QUERY_LANGUAGES:
            yield from _quoted(text)
            yield from _AFTER_OPERATOR.findall(text)


def _quoted(text: str) -> Iterator[str]:
    for match in _QUOTED.finditer(text):
        yield re.sub(r"\\(.)", r"\1", match[1] or match[2] or "")
