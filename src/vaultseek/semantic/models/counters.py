"""Counters of tokens described in a string, so that another process can make the same one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vaultseek.semantic.models.packed import PACKED, PackedCounter
from vaultseek.semantic.models.tokens import TokenCounter, count_words


def describe_counter(count: Callable[[str], int]) -> str | None:
    """Return what ``load_counter`` needs to make the same counter in another process; None if it cannot."""
    if count is count_words:
        return ""
    if isinstance(count, PackedCounter):
        return count.model.name
    return str(count.file) if isinstance(count, TokenCounter) and count.file else None


def load_counter(description: str) -> Callable[[str], int]:
    """Return the counter of a description. Raises OSError or ValueError."""
    if description in PACKED:
        return PackedCounter(PACKED[description])
    return TokenCounter.from_tokenizer_file(Path(description)) if description else count_words
