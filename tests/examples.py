"""The number of examples of property tests."""

from typing import Any

from hypothesis import settings

ALL = 100
"""``max_examples`` of the profile that tries every example of every test."""


def examples(number: int, **more: Any) -> settings:
    """Return settings for this many examples, or for the share of them that the profile tries."""
    return settings(max_examples=max(1, number * settings.default.max_examples // ALL), **more)
