"""Decoding of bytes to text."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.content.markdown.decode import decode


@pytest.mark.fault("D1", "D2")
@pytest.mark.parametrize(
    ("data", "text", "codes"),
    [
        (b"", "", []),
        ("é日😀".encode(), "é日😀", []),
        (b"\xef\xbb\xbfa", "a", ["byte_order_mark"]),
        (b"\xef\xbb\xbf", "", ["byte_order_mark"]),
        ("é\n".encode("utf-16"), "é\n", ["bad_encoding"]),
        ("plain text\n".encode("utf-16-le"), "plain text\n", ["bad_encoding"]),
        ("plain text\n".encode("utf-16-be"), "plain text\n", ["bad_encoding"]),
        ("x".encode("utf-32"), "x", ["bad_encoding"]),
        (b"caf\xe9 [[n]]", "caf\ufffd [[n]]", ["bad_encoding"]),
        (b"a\0b and more text", "a\0b and more text", ["bad_character"]),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "", ["binary"]),
        (bytes(range(256)) * 4, "", ["binary"]),
        (b"\0" * 100, "", ["binary"]),
    ],
)
def test_decoding(data: bytes, text: str, codes: list[str]) -> None:
    decoded, problems = decode(data)
    assert (decoded, [problem.code for problem in problems]) == (text, codes)


def test_the_line_of_invalid_bytes_is_reported() -> None:
    assert decode(b"a\nb\nc\xff\n")[1][0].line == 3


@pytest.mark.fault("D3")
def test_noise_is_binary() -> None:
    assert decode(os.urandom(20_000))[1][0].code == "binary"


@pytest.mark.fault("D2")
@given(st.binary(max_size=200))
def test_any_bytes_are_decoded(data: bytes) -> None:
    text, _ = decode(data)
    assert isinstance(text, str)


@given(st.text(max_size=200))
def test_text_round_trips(text: str) -> None:
    clean = "".join(char for char in text if char.isprintable() and not "\ud800" <= char <= "\udfff")
    if not clean.startswith("\ufeff"):
        assert decode(clean.encode()) == (clean, ())
