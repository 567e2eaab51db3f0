"""Decode a note's bytes: byte order marks, UTF-16, invalid UTF-8, and binary files."""

import codecs

from vaultseek.base.limits import BINARY_PROBE_BYTES
from vaultseek.base.model import Problem

CONTROL_SHARE = 0.1
"""Minimum share of control characters among the first bytes at which a file counts as binary."""
ZERO_SHARE = 0.3
"""Minimum share of zero bytes, at even or at odd offsets, for a file without a byte order mark to count as
UTF-16."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(set(range(32)) - {0x09, 0x0A, 0x0C, 0x0D, 0x1B}) + b"\x7f"


def decode(data: bytes) -> tuple[str, tuple[Problem, ...]]:
    """Decode ``data``; return its text without the byte order mark, and any problems.

    UTF-8 is expected. UTF-16 and UTF-32 are decoded if they have a byte order mark, UTF-16 also if the
    encoding is obvious. Invalid bytes become U+FFFD (problem ``bad_encoding``); binary data gives ``""``
    (problem ``binary``).
    """
    mark, encoding = _encoding(data)
    if encoding == "utf-8" and _is_binary(data):
        return "", (
            Problem("binary", "not text, so only its name is searched; rename it if it is not a note"),
        )
    body = data[len(mark) :]
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        line = 1 + body.count(b"\n", 0, error.start) if encoding == "utf-8" else None
        problem = Problem(
            "bad_encoding",
            f"not valid {encoding.upper()}, so unreadable bytes were replaced; save the note as UTF-8",
            line,
        )
        return body.decode(encoding, errors="replace"), (problem,)
    if encoding == "utf-8":
        return text, _harmless(mark, text)
    return text, (Problem("bad_encoding", f"read as {encoding.upper()}; save the note as UTF-8"),)


def _harmless(mark: bytes, text: str) -> tuple[Problem, ...]:
    problems: list[Problem] = []
    if mark:
        problems.append(
            Problem("byte_order_mark", "a byte order mark was ignored; save the note without one", 1)
        )
    zero = text.find("\0")
    if zero >= 0:
        line = text.count("\n", 0, zero) + 1
        problems.append(
            Problem("bad_character", "null characters were replaced; remove them from the note", line)
        )
    return tuple(problems)


def _encoding(data: bytes) -> tuple[bytes, str]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return mark, encoding
    return b"", _unmarked_utf16(data[:BINARY_PROBE_BYTES]) or "utf-8"


def _unmarked_utf16(probe: bytes) -> str | None:
    if len(probe) < 4 or b"\0" not in probe:
        return None
    even, odd = probe[::2], probe[1::2]
    if odd.count(0) > ZERO_SHARE * len(odd) and not even.count(0):
        return "utf-16-le"
    if even.count(0) > ZERO_SHARE * len(even) and not odd.count(0):
        return "utf-16-be"
    return None


def _is_binary(data: bytes) -> bool:
    probe = data[:BINARY_PROBE_BYTES]
    controls = len(probe) - len(probe.translate(None, _CONTROLS))
    if controls > CONTROL_SHARE * len(probe):
        return True
    if b"\0" not in probe:
        return False
    # A stray zero byte in valid UTF-8 is damage; together with invalid bytes it means another format.
    readable = probe.decode("utf-8", errors="ignore").encode()
    return len(probe) - len(readable) > 3
