"""Read files other than Markdown, from the cache or in a separate process."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from vaultseek.base.limits import EXTRACTED_CHARS
from vaultseek.base.model import JSON, Note, Problem
from vaultseek.base.paths import private_directory, write_atomically
from vaultseek.content.extractors.codec import decode, encode
from vaultseek.content.extractors.composition import name_of, named_only
from vaultseek.content.extractors.process import ExtractionProcess, ReaderEnded
from vaultseek.content.extractors.table import EXTRACTORS, Extractor
from vaultseek.content.kinds import DEFAULT_SWITCHES, Kind, is_markdown, kind_of


class FileReader:
    """Reader for the files of one vault, with the kinds enabled there, a cache and an extraction process."""

    def __init__(self, switches: Sequence[str] = DEFAULT_SWITCHES, cache: Path | None = None) -> None:
        self.switches = tuple(switches)
        self.cache = TextCache(cache)
        self.process = ExtractionProcess()
        self.ahead: dict[tuple[str, bytes], Note] = {}
        """Map from path and hash to text that ``prepare`` extracted and that is not in the cache."""
        self._directory = cache
        self._suspects: set[tuple[str, bytes]] = set()

    def describe(self) -> JSON:
        """Return the arguments with which another process can create an identical reader."""
        return {"switches": self.switches, "cache": None if self._directory is None else str(self._directory)}

    @classmethod
    def of(cls, described: JSON) -> FileReader:
        """Create a reader from the result of ``describe``."""
        cache = described["cache"]
        return cls(described["switches"], None if cache is None else Path(cache))

    def prepare(self, path: str, data: bytes, digest: bytes, problem: Problem | None = None) -> bool:
        """Extract the text of a file in advance, so that ``read`` returns at once.

        Returns False if the process ended, perhaps for a reason other than the file; the caller then retries
        once, later. Raises the same errors as ``read``.
        """
        if sum(len(line) for note in self.ahead.values() for line in note.lines) >= EXTRACTED_CHARS:
            return True
        key = path, digest
        is_suspect = key in self._suspects
        self._suspects.discard(key)
        try:
            note = self._read(path, data, digest, problem, alone=is_suspect)
        except ReaderEnded:
            if not is_suspect:
                self._suspects.add(key)
                return False
            note = _hostile(path)
        if not EXTRACTORS[_kind(path)].kept or note.problems:
            self.ahead[key] = note
        return True

    def read(self, path: str, data: bytes, digest: bytes, problem: Problem | None = None) -> Note:
        """Return the text of a file or, if the file has a problem, only its name.

        Raises Cancelled after ``process.stop``, or OSError if no process can be started.
        """
        if (prepared := self.ahead.pop((path, digest), None)) is not None:
            return prepared
        for alone in (False, True):
            with contextlib.suppress(ReaderEnded):
                return self._read(path, data, digest, problem, alone=alone)
        return _hostile(path)

    def _read(self, path: str, data: bytes, digest: bytes, problem: Problem | None, *, alone: bool) -> Note:
        kind = _kind(path)
        extractor = EXTRACTORS[kind]
        if len(data) > extractor.most_bytes or (problem is not None and problem.code == "too_large"):
            problem = extractor.too_large()
        if problem is not None:
            return Note(path, name_of(path), problems=(problem,))
        ocr = "ocr" in self.switches and kind in ("pdf", "image")
        note = self.cache.get(digest, extractor, ocr=ocr)
        if note is None:
            note = self.process.extract(kind, path, data, ocr=ocr, alone=alone)
            if not _UNSURE.intersection(problem.code for problem in note.problems):
                self.cache.put(digest, extractor, note, ocr=ocr)
        title = name_of(path) if note.title_source == "name" else note.title
        return replace(note, path=path, title=title)


def _hostile(path: str) -> Note:
    return named_only(path, "ends_reader", "reading the file crashes the process that reads files")


def _kind(path: str) -> Kind:
    kind = file_kind(path)
    assert kind is not None
    return kind


_UNSURE = frozenset({"too_slow", "ends_reader", "not_indexed", "too_complex", "no_ocr"})
"""Codes of problems that may disappear when the file is read again."""


def file_kind(path: str) -> Kind | None:
    """Return the kind of a file that needs an extractor; None for Markdown and attachments."""
    return None if is_markdown(path) else kind_of(path)


def most_bytes(path: str) -> int | None:
    """Return the maximum size, in bytes, for a file of the same kind as ``path``; None for Markdown."""
    kind = file_kind(path)
    return None if kind is None else EXTRACTORS[kind].most_bytes


def reading_version(switches: Collection[str]) -> str:
    """Return the version of the enabled extractors; it changes whenever a file may yield different text."""
    versions = " ".join(f"{kind}{extractor.version}" for kind, extractor in EXTRACTORS.items())
    return f"{versions} ocr" if "ocr" in switches else versions


class TextCache:
    """Cache of extracted texts in a folder. Text that is damaged or cannot be written counts as missing."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def get(self, digest: bytes, extractor: Extractor, *, ocr: bool) -> Note | None:
        """Return the cached text for the content with this hash; None if it is not cached."""
        if self._directory is None or not extractor.kept:
            return None
        try:
            check, _, body = self._file(digest, extractor, ocr=ocr).read_bytes().partition(b"\n")
            return decode(body) if check == _check(body) else None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def put(self, digest: bytes, extractor: Extractor, note: Note, *, ocr: bool) -> None:
        """Store the text for the content with this hash."""
        if self._directory is None or not extractor.kept:
            return
        body = encode(note)
        with contextlib.suppress(OSError):
            private_directory(self._directory)
            write_atomically(
                self._file(digest, extractor, ocr=ocr), (_check(body) + b"\n" + body).decode("ascii")
            )

    def prune(self, used: Collection[bytes]) -> None:
        """Delete all cached texts except those for contents with these hashes."""
        names = {digest.hex() for digest in used}
        if self._directory is None or not self._directory.is_dir():
            return
        for file in self._directory.iterdir():
            if file.name.partition("-")[0] not in names:
                with contextlib.suppress(OSError):
                    file.unlink()

    def _file(self, digest: bytes, extractor: Extractor, *, ocr: bool) -> Path:
        assert self._directory is not None
        with_ocr = "-ocr" if ocr else ""
        return self._directory / f"{digest.hex()}-{extractor.module}-{extractor.version}{with_ocr}"


def _check(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).hexdigest().encode()
