"""Whether Chroma is used for vectors, by the setting, the vectors' size and the machine's memory."""

from pathlib import Path

import numpy as np
import pytest

from vaultseek.base import limits
from vaultseek.semantic.vectors.port import VectorBatch
from vaultseek.semantic.worker import store_cache
from vaultseek.semantic.worker.store_cache import StoreCache, has_memory


@pytest.mark.parametrize(
    ("kind", "size", "is_asked"),
    [("exact", 0, False), ("auto", 10**12, False), ("auto", 1, True), ("chroma", 10**12, True)],
)
def test_chroma_is_asked_as_the_setting_says(tmp_path, monkeypatch, kind, size, is_asked):
    monkeypatch.setattr(limits, "PROPOSED_BYTES", size)
    cache = StoreCache(kind)
    vectors = np.eye(4, 8, dtype=np.float32)
    index = cache.writing(str(tmp_path / "store"), "chunks")
    index.apply(VectorBatch(np.arange(4), np.arange(4), vectors))
    assert index.search(vectors[0], 1).notes.tolist() == [0]
    assert (index._current.proposals is not None) == is_asked
    cache.drop(str(tmp_path / "store"))


@pytest.mark.parametrize(("available", "is_enough"), [(0, False), (10**9, True)])
def test_little_memory_leaves_chroma_out(monkeypatch, tmp_path, available, is_enough):
    file = tmp_path / "meminfo"
    file.write_text(f"MemTotal:  1 kB\nMemAvailable:   {available} kB\n")
    monkeypatch.setattr(store_cache, "Path", lambda name: Path(file))
    assert has_memory(limits.PROPOSED_BYTES) == is_enough
    assert not has_memory(limits.PROPOSED_BYTES - 1)
