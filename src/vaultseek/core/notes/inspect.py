"""Inspect a note without the daemon: return all data parsed from the note, as ``inspect --json`` prints
it.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from vaultseek.base.currency import Rules, is_past
from vaultseek.base.limits import FRONTMATTER_BYTES, MODEL_WINDOW, NOTE_READ_BYTES
from vaultseek.base.model import JSON, Chunk, Note, Problem, TokenCount
from vaultseek.base.text import escape_undecodable, fold
from vaultseek.base.when import present
from vaultseek.content.extractors.reader import FileReader, most_bytes
from vaultseek.content.files.ignore import Ignore
from vaultseek.content.files.read import read_note, too_large
from vaultseek.content.files.scan import scan
from vaultseek.content.kinds import DEFAULT_SWITCHES, is_markdown, kind_of
from vaultseek.content.markdown.decode import decode
from vaultseek.content.markdown.parse import lines_of, parse
from vaultseek.content.markdown.resolve import Names, Resolution
from vaultseek.content.markdown.skeleton import FOOTNOTE
from vaultseek.content.markdown.title import file_stem, other_name
from vaultseek.core.indexing.reading import NoteReader
from vaultseek.errors import ConfigError, NotFound


class Inspector:
    """Inspector for the notes of one vault. The vault is scanned once, when the first link is resolved.

    Without a root, links resolve only to the note itself. ``count`` and ``window`` determine the length of
    passages; the defaults are those of the bundled model.
    """

    def __init__(
        self, root: Path | None, count: TokenCount | None = None, window: int = MODEL_WINDOW
    ) -> None:
        self._root = root
        self._count = count
        self._window = window
        self._names: Names | None = None
        self._aliases_known = False

    def inspect_file(self, path: Path) -> JSON:
        """Inspect the file at ``path``. For an unreadable file, the result has only ``problems``.

        Raises:
            NotFound: the file does not exist.
        """
        root, relative = self._place(path)
        file = read_note(root, relative, most_bytes(relative) or NOTE_READ_BYTES)
        if file is None:
            raise NotFound(f"{escape_undecodable(str(path))}: no such file; it may just have been deleted")
        name = relative if self._root is None or root == self._root else path.name
        return self._inspect(file.data, escape_undecodable(name), file.problem)

    def find(self, name: str) -> list[Path]:
        """Return the notes that match ``name``: a path with or without ``.md``, a name or an alias."""
        if self._root is None:
            return []
        names = self._all_names()
        resolution = names.resolve(name, "")
        if resolution.path is None:
            self._add_aliases(names)
            resolution = names.resolve(name, "")
        paths = [resolution.path, *resolution.candidates] if resolution.path else []
        return [self._root / path for path in paths if kind_of(path) is not None]

    def similar(self, name: str) -> list[str]:
        """Return the names in the vault that are most similar to ``name``."""
        names = {
            fold(file_stem(path)): file_stem(path) for path in self._all_names().paths() if is_markdown(path)
        }
        return [names[folded] for folded in get_close_matches(fold(file_stem(name)), names)]

    def inspect_text(self, data: bytes, path: str) -> JSON:
        """Inspect ``data`` as the content of the note at ``path``, relative to the vault."""
        problem = None
        if len(data) > NOTE_READ_BYTES:
            problem = too_large()
        return self._inspect(data, escape_undecodable(path), problem)

    def _inspect(self, data: bytes, path: str, problem: Problem | None) -> JSON:
        if self._count is None:
            self._count = _bundled_count()
        files = FileReader(("ocr",) if kind_of(path) == "image" else DEFAULT_SWITCHES)
        reader = NoteReader(self._root or Path(), self._count, self._window, files=files)
        try:
            note, chunks = reader.parse(path, data, problem)
        finally:
            files.process.close()
        return _note_json(note, self._resolved(note), chunks)

    def _place(self, path: Path) -> tuple[Path, str]:
        if self._root is not None:
            for root, file in ((self._root, path), (self._root.resolve(), path.parent.resolve() / path.name)):
                if file.is_relative_to(root) and ".." not in file.parts:
                    return self._root, file.relative_to(root).as_posix()
        return path.parent, path.name

    def _resolved(self, note: Note) -> list[Resolution]:
        if not note.links:
            return []
        names = self._all_names()
        known = note.path in names
        if not known:
            names.add(note.path, note.aliases)
        resolutions = [names.resolve_link(link, note.path) for link in note.links]
        unsure = [each.path is None or each.by_alias for each in resolutions]
        may_be_alias = [bool(link.target) and "/" not in link.target for link in note.links]
        unknown = [i for i in range(len(resolutions)) if unsure[i] and may_be_alias[i]]
        if unknown:
            self._add_aliases(names)
            names.add(note.path, note.aliases)
            for i in unknown:
                resolutions[i] = names.resolve_link(note.links[i], note.path)
        if not known:
            names.remove(note.path)
        return resolutions

    def _all_names(self) -> Names:
        if self._names is None:
            self._names = Names()
            for file in scan(self._root, Ignore(self._root)) if self._root is not None else ():
                if file.problem is None:
                    self._names.add(file.path)
        return self._names

    def _add_aliases(self, names: Names) -> None:
        if self._aliases_known or self._root is None:
            return
        self._aliases_known = True
        for path in names.paths():
            if is_markdown(path):
                aliases = _aliases(self._root, path)
                if aliases:
                    names.add(path, aliases)


def _aliases(root: Path, path: str) -> Sequence[str]:
    file = read_note(root, path)
    head = file.data[: FRONTMATTER_BYTES + 16] if file else b""
    if b"alias" not in head.replace(b"\0", b"").lower():
        return ()
    text, _ = decode(head)
    lines = lines_of(text)
    fences = [row for row, line in enumerate(lines) if line.rstrip(" \t") == "---"][:2]
    if len(fences) < 2 or fences[0]:
        return ()
    return parse("\n".join(lines[: fences[1] + 1]), path).aliases


def _bundled_count() -> TokenCount:
    from vaultseek.semantic.models.directories import bundled_directory
    from vaultseek.semantic.models.tokens import TokenCounter

    try:
        return TokenCounter.from_tokenizer_file(bundled_directory() / "tokenizer.json")
    except (ConfigError, OSError, ValueError):  # without a tokenizer, use a high estimate
        return lambda text: (len(text.encode("utf-8", "replace")) + 1) // 2


_OF_CHUNK = ("id", "start_line", "end_line", "text", "place")


def _note_json(note: Note, resolutions: Sequence[Resolution], chunks: Sequence[Chunk]) -> JSON:
    return {
        "path": note.path,
        "title": note.title,
        "file_name": other_name(note.title, note.path),
        "kind": kind_of(note.path) or "note",
        "frontmatter": note.frontmatter,
        "tags": list(note.tags),
        "aliases": list(note.aliases),
        "links": [
            {
                **link.as_json(),
                "resolved": resolution.path,
                "ambiguous": list(resolution.candidates),
                "by_alias": resolution.by_alias,
            }
            for link, resolution in zip(note.links, resolutions, strict=True)
        ],
        "headings": [{"level": h.level, "text": h.text, "line": h.line} for h in note.headings],
        "code_blocks": [{"lang": c.lang, "line": c.line, "end_line": c.end_line} for c in note.code_blocks],
        "blocks": [{"id": block.id, "line": block.line} for block in note.blocks],
        "tasks": [
            {"mark": t.mark, "done": t.mark != " ", "text": t.text, "line": t.line} for t in note.tasks
        ],
        "tables": [
            {"line": span.start_line, "end_line": span.end_line}
            for span in note.spans
            if span.kind == "table"
        ],
        "footnotes": list(_footnotes(note)),
        "callouts": [{"kind": c.kind, "title": c.title, "line": c.line} for c in note.callouts],
        "chunks": [
            {name: getattr(each, name) for name in _OF_CHUNK} | {"heading_path": list(each.heading_path)}
            for each in chunks
        ],
        "problems": [problem.as_json() for problem in note.problems],
        **_currency(note),
    }


def _currency(note: Note) -> JSON:
    """Return the note's statement that it is outdated, in the form used in answers; empty without such a
    statement.
    """
    from vaultseek.content.query.currency import read_currency  # compiling its patterns is slow

    stated, successions = read_currency(note)
    successors = [each.target for each in successions if each.is_successor and not each.is_guess]
    text = Rules().reason(stated, note.path, note.tags)
    if successors:
        text = f"superseded by {' and '.join(successors)}"
    elif text is None and is_past(stated, present().date().isoformat()):
        return {"currency": {"state": "stale", "text": f"stale since {stated.until}"}}
    return {} if text is None else {"currency": {"state": "superseded", "text": text}}


def _footnotes(note: Note) -> Iterator[JSON]:
    code = {line for block in note.code_blocks for line in range(block.line, block.end_line + 1)}
    for number, line in enumerate(note.lines[note.body_line - 1 :], note.body_line):
        if number not in code and (marker := FOOTNOTE.match(line)):
            yield {"id": marker[0].partition("[^")[2].partition("]")[0], "line": number}
