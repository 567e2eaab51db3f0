"""The process that reads files: bytes in, the text as JSON out. It has no other file and no connection."""

from __future__ import annotations

import contextlib
import resource
import select
import signal
import sys
from typing import BinaryIO

from vaultseek.base import limits
from vaultseek.base.child_process import apply_child_limits, claim_pipes, read, write
from vaultseek.base.failpoints import failpoint
from vaultseek.base.model import JSON, Note
from vaultseek.content.extractors.codec import encode
from vaultseek.content.extractors.composition import named_only
from vaultseek.content.extractors.confinement import confine
from vaultseek.content.extractors.table import EXTRACTORS

NICENESS = 10


def main() -> None:
    """Serve jobs from standard input until it ends, or until there was none for a while."""
    incoming, outgoing = claim_pipes()
    memory = limits.OCR_MEMORY_BYTES if sys.argv[2] == "ocr" else limits.EXTRACTION_MEMORY_BYTES
    apply_child_limits(NICENESS, memory)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    confine()
    with contextlib.suppress(BrokenPipeError):
        while (job := _receive(incoming)) is not None:
            write(outgoing, {}, encode(_extract(*job)))


def _receive(incoming: BinaryIO) -> tuple[JSON, bytes] | None:
    ready, _, _ = select.select([incoming], [], [], limits.EXTRACTION_IDLE_SECONDS)
    return read(incoming) if ready else None


def _extract(job: JSON, data: bytes) -> Note:
    path, ocr = job["path"], bool(job["ocr"])
    extractor = EXTRACTORS[job["kind"]]
    seconds = limits.OCR_SECONDS if ocr else extractor.seconds
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        failpoint(f"extract {path}")
        return extractor.function()(data, path, ocr=ocr)
    except (MemoryError, RecursionError):
        return named_only(path, "too_complex", "reading it takes too much memory")
    except Exception as error:
        return named_only(path, "not_indexed", f"this file could not be read ({type(error).__name__})")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main()
