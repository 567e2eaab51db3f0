"""The process that reads files, with a text reader that has been taken over and tries what it can."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from vaultseek.base.model import Note
from vaultseek.content.extractors import process
from vaultseek.content.extractors.composition import name_of
from vaultseek.content.extractors.table import EXTRACTORS, Extractor


def attempts(places: dict[str, str]) -> dict[str, Callable[[], object]]:
    """Return the attacks by name; each raises OSError if it is not possible."""

    def connect() -> None:
        with socket.socket(socket.AF_UNIX) as end:
            end.connect(places["socket"])

    def datagram() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(b"secret", ("127.0.0.1", 9))

    return {
        "read a note": Path(places["note"]).read_text,
        "read the passwords": Path("/etc/passwd").read_text,
        "list a folder": lambda: os.listdir(places["folder"]),  # noqa: PTH208
        "write a file": lambda: Path(places["folder"], "written").touch(),
        "write to a temporary folder": lambda: Path("/tmp", f"vaultseek-{os.getpid()}").touch(),
        "delete a file": lambda: Path(places["note"]).unlink(),
        "read the parent's environment": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
        "connect by TCP": lambda: socket.create_connection(("127.0.0.1", int(places["port"])), 5).close(),
        "send a datagram": datagram,
        "connect to the daemon": connect,
        "run a program": lambda: subprocess.run(["/bin/sh", "-c", "true"], check=True),
    }


def read(data: bytes, path: str, *, ocr: bool = False) -> Note:
    """Return the successful attacks and the environment, as a note's only line."""
    possible: list[str] = []
    for name, attempt in attempts(json.loads(data)).items():
        try:
            attempt()
        except OSError:
            continue
        possible.append(name)
    found = {"possible": possible, "environment": dict(os.environ), "folder": os.getcwd()}  # noqa: PTH109
    return Note(path, name_of(path), lines=(json.dumps(found),))


if __name__ == "__main__":
    module = cast(Any, ModuleType("vaultseek.content.extractors.hostile"))
    module.read = read
    sys.modules[module.__name__] = module
    cast(dict[str, Extractor], EXTRACTORS)["text"] = Extractor("hostile", 1, 1_000_000)
    process.main()
