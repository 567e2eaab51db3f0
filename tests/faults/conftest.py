"""A vault with its own daemon."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from running import Running


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """``running(files)`` is a vault with these files, not yet followed; call ``serve`` to follow it."""
    made: list[Running] = []

    def make(files: Mapping[str, str | bytes], **environment: str) -> Running:
        made.append(Running(tmp_path / f"running{len(made)}", files, **environment))
        return made[-1]

    yield make
    for each in made:
        each.end()
