"""Entry point of a reader: a child process that reads notes and writes segments of the keyword index.

Run as ``python -P -m vaultseek.core.indexing.reader_process``, by a ``ReaderPool`` only. A reader handles one
job after another and ends when its pipe is closed. It records the number of the current note in a file, so
that the daemon can determine which note crashed the reader.
"""

import contextlib
import gc
import os
import signal
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from vaultseek.base.child_process import apply_child_limits, read, reserve_pipes, write
from vaultseek.base.limits import READER_JOB_BYTES, READER_MEMORY_BYTES
from vaultseek.base.model import JSON
from vaultseek.base.precedence import give_way
from vaultseek.content.extractors.reader import FileReader
from vaultseek.core.indexing.crash_marker import crash_key
from vaultseek.core.indexing.reading import NoteReader, read_or_report
from vaultseek.errors import VaultseekError
from vaultseek.semantic.models.tokens import load_counter
from vaultseek.store.documents import parsed_document
from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.inverter import KeywordDocument
from vaultseek.store.keyword.merge import PreparedSegment, SegmentPreparer
from vaultseek.store.ledger import IndexedNote, UnchangedNote, note_rows

_NICENESS = 5
COLLECTION_THRESHOLD = 300_000
"""Threshold of the garbage collector, in new objects. Parsed notes contain no reference cycles, and with
Python's default of 700, collections would take a tenth of the time."""
_FRAME_CHARS = 200_000
_INDEX = struct.Struct("<i")
NO_NOTE = _INDEX.pack(-1)
"""Content of the progress file while no note is being read."""


def read_index(progress: int) -> int:
    """Return the number of the note being read, from the open progress file ``progress``; -1 if none is being
    read.
    """
    return int(_INDEX.unpack(os.pread(progress, _INDEX.size, 0))[0])


def main() -> None:
    """Run jobs from standard input until it is closed."""
    incoming, outgoing = reserve_pipes()
    apply_child_limits(_NICENESS, READER_MEMORY_BYTES)
    hello = read(incoming)
    if hello is None:
        return
    server = _Server(hello[0], outgoing)
    gc.set_threshold(COLLECTION_THRESHOLD)
    with contextlib.suppress(BrokenPipeError):
        while (frame := read(incoming)) is not None:
            job = frame[0]
            write(outgoing, server.merge(**job) if "files" in job else server.read(**job))


class _Server:
    """Job handler of one reader process."""

    def __init__(self, hello: JSON, outgoing: BinaryIO) -> None:
        counter = load_counter(hello["counter"])
        files = FileReader.of(hello["files"]) if hello["files"] else FileReader()
        self._reader = NoteReader(Path(hello["root"]), counter, hello["window"], hello["max_bytes"], files)
        self._progress: int = hello["progress"]
        self._seconds: float = hello["seconds"]
        self._outgoing = outgoing
        self._preparers: dict[str, SegmentPreparer] = {}

    def read(
        self,
        notes: Sequence[Sequence[Any]],
        blocked: Sequence[str],
        directory: str | None,
        rules: Sequence[Any],
    ) -> JSON:
        """Read notes, given as (id, path, stored hash), and write them to a segment under the language
        ``rules``.

        Each note is sent in its own frame; the return value is the last frame. Reading ends early after
        ``READER_JOB_BYTES``; ``done`` in the last frame is the number of notes that were read.
        """
        began = time.process_time()
        guard = _Blocked(frozenset(blocked))
        documents: list[KeywordDocument] = []
        frame: list[Any] = []
        chars = done = total = 0
        for index, (number, path, stored) in enumerate(notes):
            give_way()
            os.pwrite(self._progress, _INDEX.pack(index), 0)
            # Limit processor time, so that a busy machine does not make a note fail.
            signal.setitimer(signal.ITIMER_PROF, self._seconds)
            before = bytes.fromhex(stored) if stored else None
            result = read_or_report(self._reader, path, before, guard)
            entry, size = _entry(number, result)
            if isinstance(result, IndexedNote):
                documents.append(parsed_document(number, result))
            frame.append(entry)
            chars, total, done = chars + size, total + size, index + 1
            if chars > _FRAME_CHARS:
                write(self._outgoing, {"notes": frame})
                frame, chars = [], 0
            if total > READER_JOB_BYTES:
                break
        signal.setitimer(signal.ITIMER_PROF, 0)
        os.pwrite(self._progress, NO_NOTE, 0)
        segment = self._segment(documents, directory, LanguageRules(*rules))
        seconds = time.process_time() - began
        return {"notes": frame, "done": done, "segment": segment, "seconds": seconds}

    def merge(self, files: Sequence[tuple[str, list[int]]], directory: str) -> JSON:
        return {"segment": _named(self._preparer(directory).merged_files(files))}

    def _segment(
        self, documents: Sequence[KeywordDocument], directory: str | None, rules: LanguageRules
    ) -> list[Any] | None:
        """Write a segment of the documents; return its name and size, or None if it is empty or cannot be
        written.
        """
        if not documents or directory is None:
            return None
        with contextlib.suppress(VaultseekError, OSError):
            return _named(self._preparer(directory).documents(documents, rules))
        return None

    def _preparer(self, directory: str) -> SegmentPreparer:
        if directory not in self._preparers:
            self._preparers = {directory: SegmentPreparer.of(Path(directory))}
        return self._preparers[directory]


class _Blocked:
    """Crash guard of a reader: notes that must not be parsed, and the file that records the note being
    parsed.
    """

    def __init__(self, keys: frozenset[str]) -> None:
        self._keys = keys

    def is_blocked(self, path: str, digest: bytes) -> bool:
        return bool(self._keys) and crash_key(path, digest) in self._keys

    @contextlib.contextmanager
    def parsing(self, path: str, digest: bytes) -> Iterator[None]:
        yield


def _entry(number: int, result: IndexedNote | UnchangedNote | None) -> tuple[Any, int]:
    if result is None:
        return None, 0
    if isinstance(result, UnchangedNote):
        return [result.path, result.stat, result.racy, result.modified], 0
    rows = note_rows(result)
    return [number, [*rows[:3], rows.hash.hex(), *rows[4:]]], result.stat.size


def _named(segment: PreparedSegment) -> list[Any]:
    return [segment.path.name, segment.size]


if __name__ == "__main__":
    main()
