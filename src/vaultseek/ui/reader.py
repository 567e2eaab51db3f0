"""A note for the page: its properties, its text as HTML, and the part that a link or an embed names."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from vaultseek.errors import NotFound, VaultseekError
from vaultseek.markdown.frontmatter import read_frontmatter
from vaultseek.mcp.addresses import section
from vaultseek.model import JSON
from vaultseek.paths import obsidian_url

RENDERED_CHARS = 200_000
"""Characters of a note that are rendered; of a longer one, those around the line that was asked for."""
LINES_BEFORE = 200
"""Lines before that line, then."""

Ask = Callable[[str, JSON], Awaitable[JSON]]
AsHTML = Callable[[str, JSON, int], str]


class Part(NamedTuple):
    """Lines of a note, 1-based and inclusive."""

    first: int
    last: int


async def read_note(ask: Ask, vault: str, note: str, anchor: str = "", line: int = 1) -> JSON:
    """Return a note, or the section or block ``anchor`` of it. Raises VaultseekError.

    ``html`` are the lines from ``first_line`` to ``last_line``; ``cut`` says that there are others.
    """
    answer = await ask("note/get", {"vault": vault, "note": note})
    lines = answer["text"].split("\n")
    body = Part(min(read_frontmatter(lines).body_line, len(lines) + 1), len(lines))
    whole = part_of(anchor, answer, lines) if anchor else body
    part = _window(lines, whole, line)
    targets = await _targets(ask, vault, answer["path"])
    text = "\n".join(lines[part.first - 1 : part.last])
    from vaultseek.ui.rendering import as_html

    return {
        **{key: value for key, value in answer.items() if key not in ("text", "chunks")},
        "html": await asyncio.to_thread(as_html, text, targets, part.first),
        "first_line": part.first,
        "last_line": part.last,
        "cut": part != whole or bool(answer["truncated"]),
        "obsidian_url": obsidian_url(os.path.join(answer["vault_path"], answer["path"])),  # noqa: PTH118
    }


def part_of(anchor: str, note: JSON, lines: list[str]) -> Part:
    """Return the lines of a heading, or of the block with the ``^id``. Raises NotFound."""
    if not anchor.startswith("^"):
        address = section(anchor, note)
        return Part(address.first, address.last or len(lines))
    for number, line in enumerate(lines, start=1):
        if line.rstrip().endswith(f" {anchor}") or line.strip() == anchor:
            first = number
            while first > 1 and lines[first - 2].strip():
                first -= 1
            return Part(first, number)
    raise NotFound(f"{note['path']} has no block {anchor}; check the link")


def _window(lines: list[str], part: Part, line: int) -> Part:
    """Return the lines of ``part`` around ``line`` that are not too long to render."""
    if sum(len(each) + 1 for each in lines[part.first - 1 : part.last]) <= RENDERED_CHARS:
        return part
    first = max(part.first, min(line, part.last) - LINES_BEFORE)
    size = 0
    for number in range(first, part.last + 1):
        size += len(lines[number - 1]) + 1
        if size > RENDERED_CHARS:
            return Part(first, max(first, number - 1))
    return Part(first, part.last)


async def _targets(ask: Ask, vault: str, path: str) -> dict[str, str | None]:
    """Return the paths that the note's links lead to, by their targets as written."""
    try:
        answer = await ask("links/outgoing", {"vault": vault, "note": path})
    except VaultseekError:
        return {}
    return {link["target"]: link["resolved"] for link in answer["links"]}
