"""Table of extractors: the function, limits and version for each kind of file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from vaultseek.base import limits
from vaultseek.base.model import Note, Problem
from vaultseek.content.kinds import Kind

Read = Callable[..., Note]
"""Function that converts a file's bytes and path to a note; the function for PDFs also takes ``ocr``."""


@dataclass(frozen=True, slots=True)
class Extractor:
    """Function, limits and version for reading one kind of file.

    Increase ``version`` whenever the same file gives different text. If ``kept`` is true, the text is cached
    and not extracted again when the index is rebuilt.
    """

    module: str
    version: int
    most_bytes: int
    kept: bool = False
    seconds: float = limits.EXTRACTION_SECONDS

    def function(self) -> Read:
        """Import the extractor's libraries and return its function."""
        read: Read = import_module(f"vaultseek.content.extractors.{self.module}").read
        return read

    def too_large(self) -> Problem:
        """Return the problem to report for a file that is too large."""
        return Problem(
            "too_large", f"larger than {self.most_bytes // limits.MIB} MiB; only its name is searched"
        )


EXTRACTORS: Mapping[Kind, Extractor] = {
    "canvas": Extractor("canvas", 3, limits.CANVAS_BYTES),
    "base": Extractor("base", 3, limits.BASE_BYTES),
    "excalidraw": Extractor("excalidraw", 4, limits.DRAWING_BYTES),
    "text": Extractor("plain", 3, limits.TEXT_BYTES),
    "org": Extractor("org", 4, limits.TEXT_BYTES),
    "html": Extractor("page", 5, limits.PAGE_BYTES),
    "pdf": Extractor("pdf", 3, limits.PDF_BYTES, kept=True),
    "session": Extractor("session", 2, limits.SESSION_BYTES),
    "image": Extractor("picture", 2, limits.IMAGE_BYTES, kept=True, seconds=limits.OCR_SECONDS),
}
