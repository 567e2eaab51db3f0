"""Cases of reading a note as Obsidian does: one JSON object per line, with the rule in ``why``."""

import json
from pathlib import Path
from typing import Any

import pytest

from vaultseek.base.model import Note
from vaultseek.content.markdown.parse import parse

CASES = [json.loads(line) for line in (Path(__file__).parent / "parse.jsonl").read_text("utf-8").splitlines()]


def seen(note: Note) -> dict[str, Any]:
    """Return the parts of a note that the cases compare, in the cases' format."""
    return {
        "frontmatter": note.frontmatter or None,
        "tags": {tag.casefold() for tag in note.tags},
        "aliases": list(note.aliases),
        "title": note.title,
        "links": [
            {key: getattr(link, key) for key in ("kind", "target", "heading", "block", "alias", "line")}
            for link in note.links
        ],
        "headings": [{"level": it.level, "text": it.text, "line": it.line} for it in note.headings],
        "code_blocks": [{"lang": it.lang, "line": it.line} for it in note.code_blocks],
        "blocks": [{"id": it.id, "line": it.line} for it in note.blocks],
    }


def expected(key: str, value: Any) -> Any:
    if key == "tags":
        return {tag.casefold() for tag in value}
    if key == "frontmatter":
        return value or None
    return value


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_note_is_read_as_the_case_says(case: dict[str, Any]) -> None:
    note = seen(parse(case["note"], case.get("path", "note.md")))
    assert {key: note[key] for key in case["expect"]} == {
        key: expected(key, value) for key, value in case["expect"].items()
    }, case["why"]
