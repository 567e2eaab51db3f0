"""A property in a result links to its line in the file, however it is written."""

from pathlib import Path

import pytest

from vaultseek.core.notes.read import with_property_places

NOTE = """---
tags:
  - people
# a remark
role: Product manager
"with space": yes
categories: [Books, Clippings]
projects:
  - "[[Sump]]"
  - "[[Boat]]"
---
role: not this one
"""


@pytest.mark.parametrize(
    ("name", "preview", "word", "place"),
    [
        ("role", "role: Product manager", "manager", (5, 15)),
        ("role", "role: Product manager", "role", (5, 1)),
        ("with space", "with space: true", "", (6, 1)),
        ("categories", "categories: Books, Clippings", "Clippings", (7, 21)),
        ("projects", "projects: [[Sump]], [[Boat]]", "Boat", (10, 8)),
    ],
)
def test_the_place_of_a_property_is_that_in_the_file(tmp_path: Path, name, preview, word, place):
    (tmp_path / "a.md").write_text(NOTE, "utf-8")
    marks = [[preview.index(word), preview.index(word) + len(word)]] if word else []
    result = {
        "path": "a.md",
        "property": name,
        "preview": preview,
        "highlights": marks,
        "line": 2,
        "end_line": 9,
    }
    (shown,) = with_property_places({"results": [dict(result)]}, tmp_path)["results"]
    assert (shown["line"], shown["column"]) == place
    assert shown["end_line"] >= shown["line"]


def test_what_cannot_be_read_or_is_not_there_stays_as_it_was(tmp_path: Path):
    (tmp_path / "a.md").write_text("no frontmatter", "utf-8")
    for path in ("a.md", "gone.md"):
        result = {"path": path, "property": "role", "preview": "", "highlights": [], "line": 3, "end_line": 4}
        assert with_property_places({"results": [dict(result)]}, tmp_path)["results"] == [result]
