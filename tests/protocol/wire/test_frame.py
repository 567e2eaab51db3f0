"""Frames of any bytes, in parts of any size."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.limits import FRAME_BYTES, HEADER_BYTES, JSON_DEPTH
from vaultseek.errors import FrameLost, FrameTooLarge, ProtocolError
from vaultseek.protocol.wire.frame import FrameReader, encode, examine

INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(codec="utf-8"))
SCALARS = st.none() | st.booleans() | INT64 | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=8)
MESSAGES = st.dictionaries(TEXT, VALUES, max_size=3)


def bodies(data: bytes, *, cuts: list[int] = (), limit: int = FRAME_BYTES) -> list[bytes]:
    reader = FrameReader(limit)
    frames = []
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in itertools.pairwise(edges):
        reader.feed(data[start:end])
        while (body := reader.next()) is not None:
            frames.append(body)
    return frames


@given(st.lists(MESSAGES, max_size=3), st.lists(st.integers(0, 10_000), max_size=20))
def test_messages_survive_any_cut_of_the_stream(messages, cuts):
    stream = b"".join(encode(message) for message in messages)
    assert [examine(body).value for body in bodies(stream, cuts=cuts)] == messages


def test_a_frame_may_come_byte_by_byte():
    assert bodies(encode({"a": 1}) * 2, cuts=list(range(60))) == [b'{"a":1}'] * 2


HEADER_NOISE = st.lists(
    st.sampled_from(
        [b"Content-Length", b": ", b":", b"5", b"-1", b"\r\n", b"\n", b"\r", b"Content-Type", b"x", b"{}"]
    )
).map(b"".join)
CUTS = st.lists(st.integers(0, 300), max_size=5)


@given(MESSAGES, st.binary(max_size=300) | HEADER_NOISE, CUTS)
def test_noise_after_a_message_does_not_lose_it_and_has_one_outcome_however_it_is_cut(message, noise, cuts):
    stream = encode(message) + noise
    frames, error = outcome(stream, cuts)
    assert examine(frames[0]).value == message
    assert (frames, error) == outcome(stream, [])


@given(st.binary(max_size=300) | HEADER_NOISE, CUTS)
def test_noise_alone_has_one_outcome_however_it_is_cut(noise, cuts):
    assert outcome(noise, cuts) == outcome(noise, [])


def outcome(data: bytes, cuts: list[int]) -> tuple[list[bytes], str | None]:
    reader, frames = FrameReader(), []
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    try:
        for start, end in itertools.pairwise(edges):
            reader.feed(data[start:end])
            while (body := reader.next()) is not None:
                frames.append(body)
    except ProtocolError as error:
        return frames, str(error)
    return frames, None


@pytest.mark.parametrize(
    "header",
    [
        b"content-length:2",
        b"CONTENT-LENGTH:   2  ",
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8",
        b"content-type: x\r\ncontent-length: 02",
    ],
)
def test_headers_are_read_as_editors_write_them(header):
    assert bodies(header + b"\r\n\r\n{}") == [b"{}"]


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: +1\r\n\r\n",
        b"Content-Length: 1_0\r\n\r\n",
        b"Content-Length: ten\r\n\r\n",
        b"Content-Length: \r\n\r\n",
        "Content-Length: ٣\r\n\r\n".encode(),
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Length: 2\n\n{}",
        b"Content-Type: x\r\n\r\n",
        b"\r\n\r\n",
        b'{"jsonrpc":"2.0"}',
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"Host: x\r\nContent-Length: 2\r\n\r\n{}",
        b"C" * (HEADER_BYTES + 1),
        b"Content-Type: x\r\n" * (HEADER_BYTES // 17 + 1),
    ],
)
def test_a_broken_header_is_a_final_error(data):
    reader = FrameReader()
    reader.feed(data)
    with pytest.raises(FrameLost):
        reader.next()
    reader.feed(encode({}))
    with pytest.raises(FrameLost):
        reader.next()


@pytest.mark.fault("F2", "F3")
@pytest.mark.parametrize("length", [FRAME_BYTES + 1, 2**63, int("9" * 900)])
def test_too_long_a_frame_is_refused_from_its_header(length):
    reader = FrameReader()
    reader.feed(b"Content-Length: %d\r\n\r\n" % length)
    with pytest.raises(FrameTooLarge):
        reader.next()


def test_a_frame_may_be_as_long_as_the_limit():
    body = b'"' + b"a" * (FRAME_BYTES - 2) + b'"'
    assert bodies(b"Content-Length: %d\r\n\r\n" % len(body) + body) == [body]


def test_a_reader_knows_of_a_partial_frame():
    reader = FrameReader()
    frame = encode({})
    assert not reader.partial
    for position in range(len(frame) - 1):
        reader.feed(frame[position : position + 1])
        assert reader.next() is None
        assert reader.partial
    reader.feed(frame[-1:])
    assert reader.next() == b"{}"
    assert not reader.partial


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"{} {}", "not JSON"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b'{"a":\xff}', "not UTF-8 at byte 5"),
        (b"[" * 100_000, "nested deeper"),
        (b'{"a":' * 100_000, "nested deeper"),
        (b"[" * (JSON_DEPTH + 1) + b"]" * (JSON_DEPTH + 1), "nested deeper"),
        (b'{"id":1,"a":NaN}', "NaN"),
        (b'{"id":1,"a":-Infinity}', "Infinity"),
        (b'{"id":1,"a":1e999}', "number is too large"),
        (b'{"id":1,"a":%s}' % (b"9" * 5000), "does not fit"),
        (b'{"id":1,"a":9223372036854775808}', "does not fit"),
        (b'{"id":1,"a":1,"a":2}', "appears twice"),
        (b'{"id":1,"a":"\\ud800"}', "surrogate"),
        (b'{"id":1,"\\uDFff":1}', "surrogate"),
    ],
)
def test_rejected_json(body, fault):
    assert fault in (examine(body).fault or "")


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"[" * JSON_DEPTH + b"]" * JSON_DEPTH, None),
        (b'["' + b"[" * 1000 + b'"]', ["[" * 1000]),
        (b'["\\"' + b"[{" * 1000 + b'"]', ['"' + "[{" * 1000]),
        (b"[" + b"[]," * 1000 + b"[]]", [[]] * 1001),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\\\ud800"', "\\ud800"),
        (b"9223372036854775807", 2**63 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b"-0", 0),
    ],
)
def test_accepted_json(body, value):
    assert examine(body).fault is None
    if value is not None:
        assert examine(body).value == value


def test_the_value_of_a_faulty_message_is_available():
    assert examine(b'{"id":7,"a":NaN}').value == {"id": 7, "a": None}


@given(st.text(alphabet='"\\[]{},:u0dD8a1eNI-', max_size=60))
def test_text_without_a_fault_parses_like_json(text):
    examined = examine(text.encode())
    if examined.fault is None:
        assert json.loads(text) == examined.value


def test_file_names_that_are_not_utf8_can_be_sent():
    assert bodies(encode({"path": "a\udcff.md"})) == ['{"path":"a\ufffd.md"}'.encode()]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_values_that_are_not_json_are_not_sent(value):
    with pytest.raises((ValueError, TypeError)):
        encode({"a": value})
