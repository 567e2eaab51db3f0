"""Encoding and decoding of frames and their JSON, with bounded size and in linear time. No I/O.

A frame consists of header lines in ASCII that end in CRLF, an empty line, and a body of exactly
``Content-Length`` bytes of UTF-8 JSON, as in the base protocol of the Language Server Protocol.
"""

from __future__ import annotations

import json
import re

from vaultseek.base.limits import FRAME_BYTES, HEADER_BYTES, INTEGER_BITS, JSON_DEPTH
from vaultseek.errors import FrameLost, FrameTooLarge, ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON

_HEADERS = (b"content-length", b"content-type")
_LINE_FEED = re.compile(rb"(?<!\r)\n")
_INTEGER_DIGITS = len(str(1 << INTEGER_BITS))
_INFINITE = float("inf")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def encode(message: JSON) -> bytes:
    """Return ``message`` encoded as a frame.

    Lone surrogates (from file names that are not UTF-8) are replaced by U+FFFD. Raises ``ValueError`` or
    ``TypeError`` if the message is not valid JSON, including for NaN and infinity.
    """
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        body = text.encode()
    except UnicodeEncodeError:
        body = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    return frame_of(body)


def frame_of(body: bytes) -> bytes:
    """Return the frame for a body that is already encoded as JSON."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class FrameReader:
    """An incremental parser for a stream of frames.

    ``feed`` it the received bytes, then call ``next`` until it returns None. An error is final, because the
    start of the next frame is unknown; every later call raises it again.
    """

    __slots__ = ("_buffer", "_error", "_length", "_limit")

    def __init__(self, limit: int = FRAME_BYTES) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._error: ProtocolError | None = None
        self._length: int | None = None

    @property
    def partial(self) -> bool:
        """True if part of a frame was received."""
        return bool(self._buffer) or self._length is not None

    def feed(self, data: bytes) -> None:
        """Append the next bytes of the stream."""
        self._buffer += data

    def next(self) -> bytes | None:
        """Return the next complete body, or None if more bytes are needed.

        Raises FrameTooLarge if the header announces too many bytes, and FrameLost if the header is broken.
        """
        if self._error is not None:
            raise self._error
        if self._length is None:
            try:
                self._length = self._take_header()
            except ProtocolError as error:
                self._error = error
                self._buffer.clear()
                raise
        if self._length is None or len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return body

    def _take_header(self) -> int | None:
        """Remove the header from the buffer and return the length of the body, or None if the header is
        incomplete."""
        end = self._buffer.find(b"\r\n\r\n", 0, HEADER_BYTES)
        head = bytes(self._buffer[: HEADER_BYTES if end < 0 else end])
        if self._buffer and not self._buffer[:1].isalpha():
            raise FrameLost("a message must start with the line 'Content-Length: <bytes>'")
        if _LINE_FEED.search(head):
            raise FrameLost("header lines must end in CRLF")
        if end >= 0:
            del self._buffer[: end + 4]
            return _body_length(head, self._limit)
        if len(head) == HEADER_BYTES:
            raise FrameLost(f"a message's header must not be longer than {HEADER_BYTES} bytes")
        return None


def _body_length(head: bytes, limit: int) -> int:
    lengths = []
    for line in head.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon or name.lower() not in _HEADERS:
            raise FrameLost("a header must contain only Content-Length and Content-Type")
        if name.lower() == b"content-length":
            lengths.append(value.strip(b" \t"))
    if len(lengths) != 1:
        raise FrameLost("a header must contain Content-Length exactly once")
    if not lengths[0].isdigit():
        raise FrameLost("Content-Length must be a number of bytes")
    if int(lengths[0]) > limit:
        raise FrameTooLarge(f"a message must not be longer than {limit} bytes")
    return int(lengths[0])


class Decoded:
    """A decoded body. ``value`` is None if nothing could be parsed; ``fault`` is one line, or None for a
    valid body."""

    __slots__ = ("fault", "value")

    def __init__(self, value: object, fault: str | None = None) -> None:
        self.value = value
        self.fault = fault


def examine(body: bytes) -> Decoded:
    """Parse ``body`` and report its first fault. Never raises.

    Faults: bytes that are not UTF-8, text that is not JSON, more than ``JSON_DEPTH`` levels, NaN and
    infinity, integers of more than ``INTEGER_BITS`` bits, duplicate keys, lone surrogates. ``value`` is None
    if nothing could be parsed. Otherwise it is set despite the fault, so that the error response can contain
    the request's id.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        return Decoded(None, f"not UTF-8 at byte {error.start}")
    strict = _Strict()
    try:
        value = strict.read(text)
        if text.count("[") + text.count("{") > JSON_DEPTH and _is_deeper(value, JSON_DEPTH):
            raise RecursionError
    except RecursionError:
        return Decoded(None, f"nested deeper than {JSON_DEPTH} levels")
    except json.JSONDecodeError as error:
        return Decoded(None, f"not JSON: {error.msg} at character {error.pos}")
    fault = strict.fault
    if fault is None and _SURROGATE.search(text) and _lone_surrogate(value):
        fault = "a string contains half a surrogate pair"
    return Decoded(value, fault)


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, list | dict):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(each, levels - 1) for each in inner)


class _Strict:
    """A JSON parser that continues after a forbidden value and records the first fault."""

    def __init__(self) -> None:
        self.fault: str | None = None

    def read(self, text: str) -> object:
        return json.loads(
            text,
            parse_constant=self._constant,
            parse_float=self._float,
            parse_int=self._integer,
            object_pairs_hook=self._object,
        )

    def _record_fault(self, fault: str) -> None:
        self.fault = self.fault or fault

    def _constant(self, name: str) -> None:
        self._record_fault(f"{name} is not JSON")

    def _float(self, digits: str) -> float | None:
        value = float(digits)
        if abs(value) != _INFINITE:
            return value
        self._record_fault("a number is too large")
        return None

    def _integer(self, digits: str) -> int | None:
        if len(digits) <= _INTEGER_DIGITS:
            value = int(digits)
            if -(1 << INTEGER_BITS - 1) <= value < 1 << INTEGER_BITS - 1:
                return value
        self._record_fault(f"an integer does not fit in {INTEGER_BITS} bits")
        return None

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        value = dict(pairs)
        if len(value) != len(pairs):
            self._record_fault("a key appears twice in one object")
        return value


def _lone_surrogate(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
