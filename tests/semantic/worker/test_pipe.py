"""Frames pass through the pipe unchanged, and invalid ones are refused without a crash."""

import asyncio
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from vaultseek.base import limits
from vaultseek.errors import FrameLost, FrameTooLarge
from vaultseek.semantic.worker import pipe

ARRAYS = st.lists(
    st.one_of(
        st.lists(st.floats(width=32, allow_nan=False), max_size=8).map(lambda v: np.array(v, np.float32)),
        st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8).map(lambda v: np.array(v, np.int64)),
        st.just(np.zeros((0, 384), np.float32)),
        st.just(np.ones((3, 2), np.float32)),
    ),
    max_size=4,
)
HEADERS = st.dictionaries(
    st.text(max_size=5).filter(lambda key: key != "arrays"), st.none() | st.integers() | st.text(), max_size=4
)


@given(HEADERS, ARRAYS)
def test_frames_round_trip(header: dict[str, object], arrays: list[np.ndarray]) -> None:
    frame = pipe.read(io.BytesIO(pipe.pack(header, arrays)))
    assert frame is not None
    assert frame.header == header
    assert [array.shape for array in frame.arrays] == [array.shape for array in arrays]
    for ours, theirs in zip(arrays, frame.arrays, strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)


def test_several_frames_and_then_the_end() -> None:
    stream = io.BytesIO(pipe.pack({"n": 1}) + pipe.pack({"n": 2}, [np.zeros(2, np.float32)]))
    frames = [pipe.read(stream) for _ in range(3)]
    assert [frame and frame.header["n"] for frame in frames] == [1, 2, None]


@given(st.binary(min_size=1, max_size=64))
def test_noise_is_refused(noise: bytes) -> None:
    with pytest.raises(FrameLost):
        pipe.read(io.BytesIO(noise))


@given(st.data())
@examples(500)
def test_a_damaged_frame_is_refused_or_read(data: st.DataObject) -> None:
    whole = pipe.pack({"id": 1, "text": "x"}, [np.arange(6, dtype=np.float32).reshape(2, 3)])
    damaged = bytearray(whole)
    damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    received = bytes(damaged[: data.draw(st.just(len(whole)) | st.integers(1, len(whole)))])
    try:
        frame = pipe.read(io.BytesIO(received))
    except FrameLost:
        assert received != whole
    else:
        assert frame is not None
        payload = b"".join(array.tobytes() for array in frame.arrays)
        assert received.endswith(payload)
        again = pipe.read(io.BytesIO(pipe.pack(frame.header, frame.arrays)))
        assert again is not None
        assert again.header == frame.header
        assert len(received) == len(whole)


async def test_asyncio_reads_the_same() -> None:
    stream = asyncio.StreamReader()
    stream.feed_data(pipe.pack({"n": 1}, [np.ones(3, np.float32)]) + b"vsw1\x00")
    stream.feed_eof()
    frame = await pipe.read_async(stream)
    assert frame is not None
    assert frame.arrays[0].tolist() == [1, 1, 1]
    with pytest.raises(FrameLost):
        await pipe.read_async(stream)


async def test_asyncio_sees_a_cut_in_the_middle_and_the_end() -> None:
    stream = asyncio.StreamReader()
    stream.feed_data(pipe.pack({"n": 1})[:-1])
    stream.feed_eof()
    with pytest.raises(FrameLost):
        await pipe.read_async(stream)
    assert await pipe.read_async(stream) is None


def test_too_large_is_refused_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pipe.pack({"text": "x" * 100})
    monkeypatch.setattr(limits, "CHILD_FRAME_BYTES", 50)
    with pytest.raises(FrameLost):
        pipe.read(io.BytesIO(data))
    with pytest.raises(FrameTooLarge):
        pipe.pack({"text": "x" * 100})
