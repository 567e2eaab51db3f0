"""Frames between the daemon and a reader process: a length and JSON, no pickle."""

from __future__ import annotations

import json
import struct
from typing import IO

from vaultseek.base.model import JSON

_LENGTH = struct.Struct("<I")


def send(stream: IO[bytes], frame: JSON) -> None:
    """Write one frame. Raises OSError."""
    # A path may hold surrogates for bytes that are no UTF-8.
    text = json.dumps(frame, ensure_ascii=False, separators=(",", ":"), check_circular=False)
    data = text.encode("utf-8", "surrogatepass")
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> JSON | None:
    """Read one frame; None if the stream ends. Raises ValueError if it holds something else."""
    prefix = stream.read(_LENGTH.size)
    if len(prefix) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(prefix)
    data = stream.read(length)
    if len(data) < length:
        return None
    frame = json.loads(data.decode("utf-8", "surrogatepass"))
    if not isinstance(frame, dict):
        raise ValueError("a frame that is no object")
    return frame
