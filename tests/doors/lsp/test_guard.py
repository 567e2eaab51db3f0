"""Where a link can be inserted without a change of the rest."""

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from vaultseek.base.model import Place
from vaultseek.doors.lsp.documents import Text
from vaultseek.doors.lsp.guard import Change, Guard


def takes(marked: str) -> bool:
    source = marked.replace("▮", "")
    line, column = marked[: marked.index("▮")].count("\n") + 1, len(marked.split("▮")[0].rpartition("\n")[2])
    guard = Guard(Text(source, "N.md", PositionCodec(types.PositionEncodingKind.Utf32)))
    change = Change(Place(line, column, column), "[[Beer trap]]")
    return guard.takes_link(line, column) and bool(guard.adding_links([change]))


@pytest.mark.parametrize(
    "marked",
    [
        "a[^1]\n\n▮[^1]: a footnote text",
        "a[^1]\n\n[^1]▮: a footnote text",
        '[ref]\n\n▮[ref]: https://x.example "Ref title"',
        '[ref]\n\n[ref]: https://x.example "Ref title"▮',
        "▮| cell one | cell two |\n|---|---|\n| a | b |",
        "| one | two |\n|---|---|\n▮| a | b |",
        "> [!note] T\n▮> quote text",
        "a *▮*bold words**",
        "a **bold words*▮*",
        "a ~▮~gone~~",
        "| one | two |\n|---|---|\n| a | b |\n▮\n",
        "> quote\n▮\n",
        "- item\n▮\n",
    ],
)
def test_a_link_that_would_break_its_surroundings_is_not_offered(marked):
    assert not takes(marked)


@pytest.mark.parametrize(
    "marked",
    [
        "▮",
        "a\n\n▮\n\nb",
        "a ▮b",
        "- item▮",
        "> quote▮",
        "| a |\n|---|\n| b▮ |",
        "a **b▮ c** d",
        "x[^1]▮\n\n[^1]: ab",
    ],
)
def test_a_link_is_offered_in_text(marked):
    assert takes(marked)
