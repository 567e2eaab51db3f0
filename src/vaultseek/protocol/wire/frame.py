"""Encode and decode frames and the JSON inside them, bounded and in linear time. No I/O.

A frame is a header of ASCII lines that end in CRLF, an empty line, and a body of exactly ``Content-Length``
bytes of UTF-8 JSON, as in the base protocol of the Language Server Protocol.
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
_INTEGER_DIGITS = len(str(1 << INTEGER_BITS))
_INFINITE = float("inf")
# An unclosed string matches to the end, so that no byte is scanned twice.
_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([\[{])|([\]}])', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def encode(message: JSON) -> bytes:
    """Return the frame of ``message``.

    Lone surrogates (from file names that are not UTF-8) are replaced by U+FFFD. Raises ``ValueError`` or
    ``TypeError`` if the message is not valid JSON, also for NaN and infinity.
    """
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        body = text.encode()
    except UnicodeEncodeError:
        body = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class FrameReader:
    """An incremental parser of a stream of frames.

    ``feed`` it the received bytes, then call ``next`` until it returns None. An error is final, because the
    start of the next frame is unknown; every later call raises it again.
    """

    __slots__ = ("_body_length", "_buffer", "_error", "_head", "_length", "_limit", "_scanned")

    def __init__(self, limit: int = FRAME_BYTES) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._error: ProtocolError | None = None
        self._begin()

    def _begin(self) -> None:
        self._head = 0
        self._scanned = 0
        self._length: int | None = None
        self._body_length: int | None = None

    @property
    def partial(self) -> bool:
        """True if part of a frame was received."""
        return bool(self._buffer) or self._head > 0

    def feed(self, data: bytes) -> None:
        """Append the next bytes of the stream."""
        self._buffer += data

    def next(self) -> bytes | None:
        """Return the next whole body, or None if more bytes are needed.

        Raises FrameTooLarge as soon as the header announces too much, FrameLost if the header is broken.
        """
        if self._error is not None:
            raise self._error
        try:
            return self._take_body() if self._read_head() else None
        except ProtocolError as error:
            self._error = error
            self._buffer.clear()
            raise

    def _read_head(self) -> bool:
        while self._body_length is None:
            line = self._take_line()
            if line is None:
                return False
            if line:
                self._take_header(line)
            elif self._length is None:
                raise FrameLost("a header must name Content-Length")
            else:
                self._body_length = self._length
        return True

    def _take_line(self) -> bytes | None:
        if self._head == 0 and self._buffer and not self._buffer[:1].isalpha():
            raise FrameLost("a message must start with the line 'Content-Length: <bytes>'")
        end = self._buffer.find(b"\n", self._scanned)
        size = len(self._buffer) if end < 0 else end + 1
        if self._head + size > HEADER_BYTES:
            raise FrameLost(f"the header of a message must not be longer than {HEADER_BYTES} bytes")
        if end < 0:
            self._scanned = size
            return None
        line = bytes(self._buffer[:size])
        if not line.endswith(b"\r\n"):
            raise FrameLost("the lines of a header must end in CRLF")
        del self._buffer[:size]
        self._scanned = 0
        self._head += size
        return line[:-2]

    def _take_header(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if not colon or name.lower() not in _HEADERS:
            raise FrameLost("a header must hold Content-Length and Content-Type only")
        if name.lower() == b"content-length":
            if self._length is not None:
                raise FrameLost("a header must name Content-Length once")
            self._length = self._number(value.strip(b" \t"))

    def _number(self, digits: bytes) -> int:
        if not digits.isdigit():
            raise FrameLost("Content-Length must be a number of bytes")
        length = int(digits)
        if length > self._limit:
            raise FrameTooLarge(f"a message must not be longer than {self._limit} bytes")
        return length

    def _take_body(self) -> bytes | None:
        length = self._body_length or 0
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        self._begin()
        return body


class Decoded:
    """A decoded body: its ``value`` as far as it could be parsed, and its ``fault`` in one line, or None."""

    __slots__ = ("fault", "value")

    def __init__(self, value: object, fault: str | None = None) -> None:
        self.value = value
        self.fault = fault


def examine(body: bytes) -> Decoded:
    """Parse ``body`` and report its first fault. Never raises.

    Faults: bytes that are not UTF-8, text that is not JSON, more than ``JSON_DEPTH`` levels, NaN and
    infinity, integers of more than ``INTEGER_BITS`` bits, duplicate keys, lone surrogates. ``value`` is None
    if nothing could be parsed; else it is set despite a fault, so that an error can name the request's id.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        return Decoded(None, f"not UTF-8 at byte {error.start}")
    if _too_deep(text):
        return Decoded(None, f"nested deeper than {JSON_DEPTH} levels")
    strict = _Strict()
    try:
        value = strict.read(text)
    except json.JSONDecodeError as error:
        return Decoded(None, f"not JSON: {error.msg} at character {error.pos}")
    fault = strict.fault
    if fault is None and _SURROGATE.search(text) and _lone_surrogate(value):
        fault = "a string holds half a surrogate pair"
    return Decoded(value, fault)


def _too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= JSON_DEPTH:
        return False
    depth = 0
    for bracket in _BRACKET.finditer(text):
        if bracket.lastindex == 1:
            depth += 1
            if depth > JSON_DEPTH:
                return True
        elif bracket.lastindex == 2:
            depth -= 1
    return False


class _Strict:
    """A JSON parser that continues after a value that we do not allow, and records the first such fault."""

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
        self._record_fault(f"an integer does not fit into {INTEGER_BITS} bits")
        return None

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        value = dict(pairs)
        if len(value) != len(pairs):
            self._record_fault("a key stands twice in one object")
        return value


def _lone_surrogate(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
