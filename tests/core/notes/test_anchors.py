"""The lines of a block that a link names by its id."""

import pytest

from vaultseek.content.markdown.parse import parse
from vaultseek.core.notes.anchors import block_lines, find_block

TEXT = """---
status: open
---
First. ^first
# Tea
- one
- two
  more ^two

  - three ^three
\t- four
lazy ^four
    - five ^five

      of five
  - six ^six

    of six ^6

  of two
- seven ^seven

| a |
|---|
| b |

^table

```
Code. ^late
```

Late. ^late
"""


@pytest.mark.parametrize(
    ("id", "lines"),
    [
        ("first", (4, 4)),
        ("two", (7, 20)),
        ("three", (10, 15)),
        ("four", (11, 12)),
        ("five", (13, 15)),
        ("six", (16, 18)),
        ("6", (16, 18)),
        ("Seven", (21, 21)),
        ("TABLE", (23, 25)),
        ("late", (33, 33)),
    ],
)
def test_a_block_is_a_paragraph_or_a_list_item_with_what_is_nested_in_it(id, lines):
    note = parse(TEXT, "Tea.md")
    block = find_block(id, note.blocks)
    assert block is not None
    assert block_lines(note, block.line) == lines
