"""Texts of files that take long to read, by the hash of their content and the version of their extractor."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection
from pathlib import Path

from vaultseek.base.model import Note
from vaultseek.base.paths import private_directory, write_atomically
from vaultseek.content.extractors.codec import decode, encode
from vaultseek.content.extractors.table import Extractor


class TextCache:
    """A folder of texts. One that is damaged or cannot be written counts as absent."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def get(self, digest: bytes, extractor: Extractor, *, ocr: bool) -> Note | None:
        """Return the text of the content with this hash; None if it is not there."""
        if self._directory is None or not extractor.kept:
            return None
        try:
            check, _, body = self._file(digest, extractor, ocr=ocr).read_bytes().partition(b"\n")
            return decode(body) if check == _check(body) else None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def put(self, digest: bytes, extractor: Extractor, note: Note, *, ocr: bool) -> None:
        """Keep the text of the content with this hash."""
        if self._directory is None or not extractor.kept:
            return
        body = encode(note)
        with contextlib.suppress(OSError):
            private_directory(self._directory)
            write_atomically(
                self._file(digest, extractor, ocr=ocr), (_check(body) + b"\n" + body).decode("ascii")
            )

    def prune(self, used: Collection[bytes]) -> None:
        """Delete the texts of all contents but those with these hashes."""
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
