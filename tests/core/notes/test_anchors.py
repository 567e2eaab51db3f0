"""The lines of a block that a link refers to by its id."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.model import Heading
from vaultseek.content.markdown.parse import parse
from vaultseek.core.notes.anchors import Anchors, block_lines

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
    block = Anchors(note.headings, note.blocks).block(id)
    assert block is not None
    assert block_lines(note, block.line) == lines


NAMES = st.sampled_from(["a", "b", "A", "c#d", "c", "d"])
HEADINGS = st.lists(st.builds(Heading, st.integers(1, 4), NAMES, st.just(1)), max_size=12)


def first_chain(names: Sequence[str], headings: Sequence[Heading]) -> list[int] | None:
    """Return the first nested headings with these names, found by brute force."""

    def below(names: Sequence[str], start: int, end: int) -> list[int] | None:
        if not names:
            return []
        for at in range(start, end):
            if headings[at].text.lower() == names[0].lower():
                ends = (each for each in range(at + 1, end) if headings[each].level <= headings[at].level)
                if (rest := below(names[1:], at + 1, next(ends, end))) is not None:
                    return [at, *rest]
        return None

    return below(names, 0, len(headings))


@given(HEADINGS, st.lists(st.lists(NAMES, min_size=1, max_size=4), min_size=1, max_size=6))
def test_nested_names_lead_to_the_first_heading_that_all_of_them_lead_to(headings, chains):
    anchors = Anchors(headings)
    for names in chains:
        assert anchors.nested(names) == first_chain(names, headings)
        whole = "#".join(names)
        expected = first_chain([whole], headings) or first_chain(whole.split("#"), headings)
        assert anchors.chain(whole) == expected


def test_the_very_text_of_a_heading_goes_before_one_that_differs_in_signs():
    anchors = Anchors([Heading(1, "C!", 1), Heading(2, "x", 2), Heading(1, "c", 3), Heading(2, "X", 4)])
    assert [anchors.nested(["c"]), anchors.nested(["C!"]), anchors.nested(["c?"])] == [[2], [0], [0]]
    assert [anchors.nested(["c", "x"]), anchors.nested(["c!", "x"])] == [[2, 3], [0, 1]]
    assert anchors.nested(["c", "x", "x"]) is None


def test_a_section_ends_before_the_next_heading_of_its_level():
    anchors = Anchors([Heading(level, "x", 1) for level in (1, 3, 2, 1, 2)])
    assert [anchors.section_end(at) for at in range(5)] == [3, 2, 3, 5, 5]
