"""Entry point of the process that embeds in bulk, in bfloat16, for the semantic worker.

Run as ``python -P -m vaultseek.semantic.worker.bulk_main PARENT NAME DIRECTORY``, by the worker only. It
reports that it is ready, answers texts with vectors, and ends when its input does.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from vaultseek.base.child_process import apply_child_limits, claim_pipes
from vaultseek.errors import VaultseekError
from vaultseek.semantic.worker.pipe import pack, read
from vaultseek.semantic.worker.queues import LOWEST_PRIORITY


def main() -> None:
    """Answer requests from standard input until it ends. Never returns."""
    incoming, outgoing = claim_pipes()
    apply_child_limits(LOWEST_PRIORITY)
    _, name, directory = sys.argv[1:]
    from vaultseek.semantic.inference.embed import load

    try:
        encoder = load(name, Path(directory) if directory else None, half=True)
        encoder.encode(["warm up"])
        outgoing.write(pack({"fingerprint": encoder.fingerprint}))
        outgoing.flush()
        while (frame := read(incoming)) is not None:
            vectors = encoder.encode(frame.header["texts"], query=frame.header["query"])
            outgoing.write(pack({}, [vectors]))
            outgoing.flush()
    except (OSError, VaultseekError):
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
