"""Read, parse and chunk one note, in the daemon or in a reader process, without storing it."""

import hashlib
import logging
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from vaultseek.base.failpoints import failpoint
from vaultseek.base.limits import DRAWING_BYTES, NOTE_PARSE_BYTES, NOTE_READ_BYTES
from vaultseek.base.model import JSON, Chunk, Note, Problem, TokenCount
from vaultseek.base.precedence import give_way
from vaultseek.content.extractors.excalidraw import is_drawing, read_markdown
from vaultseek.content.extractors.reader import FileReader, file_kind, most_bytes
from vaultseek.content.files.obsidian import VaultDates
from vaultseek.content.files.read import NoteBytes, read_note, too_large
from vaultseek.content.files.scan import FileStat
from vaultseek.content.kinds import kind_of
from vaultseek.content.languages.detect import SAMPLE_CHARS, detect_language
from vaultseek.content.markdown.chunk import chunk
from vaultseek.content.markdown.decode import decode
from vaultseek.content.markdown.parse import parse
from vaultseek.content.markdown.resolve import link_key
from vaultseek.content.query.note_dates import read_dates
from vaultseek.core.indexing.crash_marker import CRASHED
from vaultseek.errors import VaultseekError
from vaultseek.semantic.models.tokens import describe_counter
from vaultseek.store.ledger import IndexedNote, UnchangedNote


class CrashGuard(Protocol):
    """Interface of a record of notes that crash their reader. ``CrashMarker`` implements it."""

    def is_blocked(self, path: str, digest: bytes) -> bool:
        """True if this content must not be parsed."""

    def parsing(self, path: str, digest: bytes) -> AbstractContextManager[None]:
        """Return a context manager within which the note is parsed."""


@dataclass(frozen=True, slots=True)
class NoteReader:
    """Parser and chunker for the notes of one vault.

    ``count`` and ``window`` come from the embedding model. ``files`` reads files other than Markdown.
    """

    root: Path
    count: TokenCount
    window: int
    max_bytes: int = NOTE_PARSE_BYTES
    files: FileReader = field(default_factory=FileReader)

    def describe(self) -> JSON | None:
        """Return the data that a reader process needs to build an identical reader; None if it cannot build
        one.
        """
        counter = describe_counter(self.count)
        if counter is None:
            return None
        return {
            "root": str(self.root),
            "counter": counter,
            "window": self.window,
            "max_bytes": self.max_bytes,
            "files": self.files.describe(),
        }

    def read(
        self, path: str, stored_hash: bytes | None, guard: CrashGuard
    ) -> IndexedNote | UnchangedNote | None:
        """Read one note; return UnchangedNote if its bytes match ``stored_hash``, or None if the note was
        deleted.
        """
        content = self.content(path)
        if content is None:
            return None
        digest = content_digest(content)
        if content.problem is None and stored_hash == digest:
            return UnchangedNote(path, content.stat, content.racy, content.stat.mtime_ns / 1e9)
        return self._indexed(content, digest, *self._parse_guarded(path, content, digest, guard))

    def content(self, path: str) -> NoteBytes | None:
        """Return the bytes of a note; None if the note was deleted."""
        drawing = kind_of(path) == "excalidraw"
        return read_note(self.root, path, most_bytes(path) or (DRAWING_BYTES if drawing else NOTE_READ_BYTES))

    def parse(self, path: str, data: bytes, problem: Problem | None = None) -> tuple[Note, tuple[Chunk, ...]]:
        """Parse and chunk a note from its bytes, without reading the file.

        If a ``problem`` is given, only the note's name is indexed.
        """
        return self._parse(path, NoteBytes(data, FileStat(len(data), 0, 0, 0), False, problem), b"")

    def prepare(self, paths: Iterable[str]) -> set[str]:
        """Extract the text of files other than Markdown in advance, so that ``read`` is quick.

        Returns the files to retry later (see `FileReader.prepare`).
        """
        self.files.ahead.clear()
        later = set()
        for path in paths:
            give_way()
            content = self.content(path) if file_kind(path) is not None else None
            if content is not None:
                digest = content_digest(content)
                if not self.files.prepare(path, content.data, digest, content.problem):
                    later.add(path)
        return later

    def read_name(self, path: str, problem: Problem) -> IndexedNote | None:
        """Return a note that is indexed only by name, because of ``problem``; None if the note was
        deleted.
        """
        content = self.content(path)
        if content is None:
            return None
        content = replace(content, problem=content.problem or problem)
        return self._indexed(content, content_digest(content), *self._parse(path, content, b""))

    def _indexed(
        self, content: NoteBytes, digest: bytes, note: Note, chunks: tuple[Chunk, ...]
    ) -> IndexedNote:
        modified = content.stat.mtime_ns / 1e9
        keys = tuple(link_key(link.target) for link in note.links)
        dates = read_dates(note, modified, VaultDates(self.root, (self.root / note.path).parent))
        language = detect_language(_prose(chunks))
        return IndexedNote(
            note,
            chunks,
            keys,
            content.stat,
            content.racy,
            digest,
            modified,
            dates.created,
            language,
            dates.name_day,
            dates.day_first,
        )

    def _parse_guarded(
        self, path: str, content: NoteBytes, digest: bytes, guard: CrashGuard
    ) -> tuple[Note, tuple[Chunk, ...]]:
        """Parse and chunk a note, unless the same content has crashed a reader before."""
        if guard.is_blocked(path, digest):
            return self._parse(path, replace(content, problem=CRASHED), digest)
        # Files are read in another process, which may be slow. If this process is stopped in the meantime,
        # that is not a crash.
        file = self.files.read(path, content.data, digest, content.problem) if file_kind(path) else None
        with guard.parsing(path, digest):
            failpoint(f"note.read {path}")
            if file is not None:
                return file, chunk(file, self.count, self.window)
            return self._parse(path, content, digest)

    def _parse(self, path: str, content: NoteBytes, digest: bytes) -> tuple[Note, tuple[Chunk, ...]]:
        if file_kind(path) is not None:
            file = self.files.read(path, content.data, digest, content.problem)
            return file, chunk(file, self.count, self.window)
        problem = content.problem
        drawn = kind_of(path) == "excalidraw"  # most of a drawing is data that is left out
        if (len(content.data) > self.max_bytes and not drawn) or (
            problem is not None and problem.code == "too_large"
        ):
            problem = too_large(self.max_bytes)
        text, problems = decode(content.data) if problem is None else ("", (problem,))
        drawn = drawn or is_drawing(text)
        note = read_markdown(text, path, problems) if drawn else parse(text, path, problems)
        return note, chunk(note, self.count, self.window)


def content_digest(content: NoteBytes) -> bytes:
    """Return the hash of a note's bytes, as the ledger stores it."""
    return hashlib.blake2b(content.data, digest_size=16).digest()


def _prose(chunks: Sequence[Chunk]) -> str:
    texts: list[str] = []
    size = 0
    for each in chunks:
        texts.append(each.prose_text())
        size += len(texts[-1])
        if size >= SAMPLE_CHARS:
            break
    return "\n".join(texts)


log = logging.getLogger(__name__)


def is_note_error(error: Exception) -> bool:
    """True if an error was caused by a note's content, not by the disk, the ledger file or the machine."""
    if isinstance(error, sqlite3.DatabaseError):
        return isinstance(error, sqlite3.ProgrammingError | sqlite3.DataError | sqlite3.IntegrityError)
    return not isinstance(error, OSError | MemoryError | VaultseekError)


def not_indexed(error: Exception) -> Problem:
    """Return the problem to record for a note that this error prevents from being read or stored."""
    what = f"this note could not be indexed ({type(error).__name__})"
    return Problem(
        "not_indexed", f"{what}, so only its name is searched until it changes; please report this"
    )


def read_or_report(
    reader: NoteReader, path: str, stored_hash: bytes | None, guard: CrashGuard
) -> IndexedNote | UnchangedNote | None:
    """Read a note. If that fails, return only the note's name and a problem."""
    try:
        return reader.read(path, stored_hash, guard)
    except Exception as error:
        if not is_note_error(error):
            raise
        log.warning("a note could not be read (%s)", type(error).__name__)
        return reader.read_name(path, not_indexed(error))
