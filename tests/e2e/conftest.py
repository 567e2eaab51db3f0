"""The order and the marks of the tests that run a daemon."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder as slow and run them first, so that no worker ends with a long file."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: HERE not in item.path.parents)
