"""Engines for tests: files of Milvus Lite, each served by one process."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaultseek.engines.milvus.lite import lite_server
from vaultseek.settings.engine import EngineOptions

MISSING = "needs the extra: pip install 'vaultseek[milvus]'"
NEEDS_MILVUS = pytest.mark.skipif(importlib.util.find_spec("milvus_lite") is None, reason=MISSING)


@contextlib.contextmanager
def lite_engine(folder: Path, **options: float) -> Iterator[EngineOptions]:
    """Yield the way to an engine in a file that is served meanwhile; skip the test if there is none."""
    pytest.importorskip("pymilvus", reason=MISSING)
    pytest.importorskip("milvus_lite", reason=MISSING)
    server = lite_server(file := folder / "engine.db")
    server.use()
    try:
        yield EngineOptions(uri=str(file), **options)
    finally:
        server.release()
