"""A vault with the notes of a test module."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from semantic_here import index_here
from vaultseek.core.indexing.open_vault import OpenVault


@pytest.fixture
def opened(
    request: pytest.FixtureRequest, vault: Callable[[Mapping[str, str]], Path], tmp_path: Path
) -> Iterator[OpenVault]:
    """The ``NOTES`` of the module, indexed by word, link and meaning."""
    index = index_here(vault(request.module.NOTES), tmp_path / "index")
    yield index
    index.close()


@pytest.fixture
def index_of(
    vault: Callable[[Mapping[str, str]], Path], tmp_path: Path
) -> Iterator[Callable[[Mapping[str, str]], OpenVault]]:
    """``index_of(notes)`` is an index of these notes by word, link and meaning."""
    opened: list[OpenVault] = []

    def index(notes: Mapping[str, str]) -> OpenVault:
        opened.append(index_here(vault(notes), tmp_path / "index"))
        return opened[-1]

    yield index
    for each in opened:
        each.close()
