"""The rendered text of a note, and the mapping back to its source."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from vaultseek.base.model import Chunk, apply_edits
from vaultseek.content.markdown.chunk import chunk
from vaultseek.content.markdown.parse import parse
from vaultseek.content.markdown.rendering import render_plain, render_text

SHY, ZERO_WIDTH, WORD_JOINER, BOM = "\u00ad", "\u200b", "\u2060", "\ufeff"
NON_JOINER, JOINER = "\u200c", "\u200d"


def chunks_of(text: str, window: int = 254) -> tuple[Chunk, ...]:
    return chunk(parse(text, "a.md"), lambda part: len(part.split()), window)


def shown(text: str) -> str:
    """Return the rendered text of a note, without its empty lines."""
    lines = "\n".join(part.text for part in chunks_of(text)).split("\n")
    return "\n".join(line for line in lines if line.strip())


@pytest.mark.parametrize("sign", ["-", "_", "*"])
def test_a_rule_of_any_length_is_not_text(sign: str) -> None:
    assert shown(f"Above.\n\n{sign * 3_000}\n\nBelow.\n") == "Above.\nBelow."


@pytest.mark.parametrize("size", [1_000, 30_000, 200_000])
def test_a_definition_with_the_data_of_a_picture_is_not_text(size: int) -> None:
    assert shown(f"A ![][chart] pie.\n\n[chart]: <data:image/png;base64,{'Qm9' * size}>\n").split() == [
        "A",
        "pie.",
    ]


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        (
            "**Bold** *it* __under__ _it_ ***both*** ~~gone~~ ==lit== `code`",
            "Bold it under it both gone lit code",
        ),
        ("[[Note|alias]] and [[Other]]", "alias and Other"),
        ("see [[Square Rig]], [[a/b|the rig]] and ![[pic.png]]", "see Square Rig, the rig and pic.png"),
        (
            "[[Other#Part]] [[#Part]] [[Other#Part#Sub]] [[Other#^id]]",
            "Other > Part Part Other > Part > Sub Other",
        ),
        ("![[pic.png|120x80]] ![alt|30](a/b.png)", "pic.png alt"),
        ('[map](https://e.org/x?a=1 "Title") ![alt](a.png)', "map alt"),
        ("[**bold** link](a.md) and [ref][1]", "bold link and [ref][1]"),
        (r"1\. C\# and a \| b, my\_own\_setting", "1. C# and a | b, my_own_setting"),
        ("a <b>b</b> <!-- hidden --> c ^id-1", "a b c"),
        ("Flour %%buy the other one%% and water", "Flour and water"),
        ("half %% a comment <!-- never ends", "half %% a comment <!-- never ends"),
        ("`%%` and `%%` are signs", "%% and %% are signs"),
        ("`` a ` b `` and `**not bold**`", "a ` b and **not bold**"),
        ("snake_case and 2 * 3 * 4 and a*b, x == y", "snake_case and 2 * 3 * 4 and a*b, x == y"),
        ("a **bold** b**o**ld and **un**important", "a bold bold and unimportant"),
        ("H<sub>2</sub>O, E = mc<sup>2</sup>, un<em>import</em>ant", "H2O, E = mc2, unimportant"),
        ("CO~2~, Na^+^, 10~20~30, a ~ b, ~/x", "CO2, Na+, 10~20~30, a ~ b, ~/x"),
        ("<ruby>漢<rt>kan<rt>ji</ruby>字", "漢 (kan ji)字"),
        ("one<br>two<br/>three", "one two three"),
        ("1 < 2 > 0 <https://x.org> <me@x.org>", "1 < 2 > 0 https://x.org me@x.org"),
        ("Caf&eacute;&nbsp;chips, R&amp;D &ndash; K&ouml;ln, &#65;&#x42;", "Café chips, R&D – Köln, AB"),
        ("&unknown; AT&T &amp;lt;", "&unknown; AT&T &lt;"),
        (r"\&amp; and \*not bold\*", "&amp; and *not bold*"),
        ("[1] is [not] a [link", "[1] is [not] a [link"),
        ("One[^1] two[^note].", "One two."),
        ("A wharf^[Built by *the* [guild](a.md).], old.", "A wharf (Built by the guild.), old."),
        ("match ^[a-z]+ and [[https://e.org/x][the page]]", "match ^[a-z]+ and the page"),
        ("$a_b$ and $5 and $6, $$x_1 * y_1 * z$$", "$a_b$ and $5 and $6, $$x_1 * y_1 * z$$"),
        ("https://e.org/a_b_c and www.e.org/*x*", "https://e.org/a_b_c and www.e.org/x"),
        ("![chart](data:image/png;base64,iVBORw0KGgo=)", "chart"),
        ('<img src="a.png" alt="a cat"> <img src=b.png>', "a cat"),
        ("<!-- c -->", ""),
        ("", ""),
    ],
)
def test_inline_markup_is_shown_as_its_text(markdown: str, expected: str) -> None:
    assert render_text(markdown) == expected


@pytest.mark.parametrize(
    "markdown",
    [
        "One **giant** stride",
        "One *giant* stride",
        "One __giant__ stride",
        "One _giant_ stride",
        "One ~~giant~~ stride",
        "One ==giant== stride",
        "One `giant` stride",
        "One [giant](https://e.org) stride",
        "One [[Net|giant]] stride",
        "One [[Net|*giant*]] stride",
        "One [[giant]] stride",
        "One <u>giant</u> stride",
        "One giant[^1] stride",
        "One giant%%or small%% stride",
        "One giant\u200b stride",
        "One giant&nbsp;stride",
        "One [giant][net] stride",
    ],
)
def test_no_markup_stands_between_the_words_of_a_phrase(markdown: str) -> None:
    definition = "\n\n[net]: https://e.org"
    cell = markdown.replace("|", "\\|")
    for text in (
        f"{markdown}.",
        f"# {markdown}",
        f"- {markdown}",
        f"> {markdown}",
        f"| a |\n|---|\n| {cell} |",
    ):
        assert "One giant stride" in shown(text + definition)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"her{SHY}ring{ZERO_WIDTH}bone {WORD_JOINER}x{BOM}", "herringbone x"),
        (f"La{JOINER}tin{NON_JOINER}", "Latin"),
        (f"می{NON_JOINER}خواهم", f"می{NON_JOINER}خواهم"),
        (f"👩{JOINER}💻", f"👩{JOINER}💻"),
        ("\u202eevil\u2066", "evil"),
    ],
)
def test_invisible_characters_are_removed_except_joiners_where_they_join(text: str, expected: str) -> None:
    for markdown in (text, f"# {text}", f"- {text}", f"```\n{text}\n```", f"<div>\n{text}\n</div>"):
        assert shown(markdown).strip("• \n") == expected
    assert apply_edits(text, render_plain([text], 1).get(1, ())) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # headings
        ("# Rope inspection\n\nEvery\tmonth", "Rope inspection\nEvery\tmonth"),
        ("## Closed ##\n\n### **B** and `c`", "Closed\nB and c"),
        ("two\n====\nthree *and*\nfour\n----", "two\nthree and\nfour"),
        # lists and tasks
        ("- one\n* two\n+ three\n- [ ] open\n- [x] done", "• one\n• two\n• three\n• open\n• done"),
        ("1. one\n2) two\n   - nested\n     10. deep", "1. one\n2) two\n• nested\n10. deep"),
        ("- one\n\n  more of one\n  and **more**", "• one\nmore of one\nand more"),
        # quotes and callouts
        ("> quoted\n> > twice\n> and again", "quoted\ntwice\nand again"),
        ("> - one\n>   - two\n>     still", "• one\n• two\nstill"),
        ("> [!note]- Title\n> - [x] done\n> 1. first", "Title\n• done\n1. first"),
        ("> [!warning]\n> Hot.", "Warning\nHot."),
        # code
        ("```py\nx = a[0] ** 2\n```\nuse `run()`", "py\nx = a[0] ** 2\nuse run()"),
        ("~~~\n# no heading\n[[no link]]\n~~~", "# no heading\n[[no link]]"),
        ("> ```\n> if x:\n>     y\n> ```", "if x:\n    y"),
        ("- a\n  ```\n  if x:\n      y\n  ```", "• a\nif x:\n    y"),
        ("> - a\n>   ```\n>   if x:\n>       y\n>   ```", "• a\nif x:\n    y"),
        ("> > 1. a\n> >    ```\n> >    if x:\n> >        y\n> >    ```", "1. a\nif x:\n    y"),
        ("    **indented**", "    **indented**"),
        # tables
        ("| a | b |\n|---|:-:|\n| 1 | **2** |", "a | b\n1 | 2"),
        ("a|b\n-|-\n1\\|2|[[Net\\|brass]]", "a | b\n1|2 | brass"),
        ("> | a | b |\n> |---|---|\n> | 1 | 2 |", "a | b\n1 | 2"),
        # what is not shown
        ("one\n\n---\n\ntwo\n\n***", "one\ntwo"),
        ("Text here. ^block-1\n\n^other", "Text here."),
        ("Flour\n%%\nbuy the other one\n%%\nand water", "Flour\nand water"),
        ("Flour <!-- buy\nthe other --> and water", "Flour \n and water"),
        ("[map][ref] and [ref]\n\n[ref]: https://e.org 'T'", "map and ref"),
        ("One[^1] two.\n\n[^1]: The *note*.", "One two.\nThe note."),
        ("a ` tick, then\n%%hidden%% text", "a ` tick, then\n text"),
        # HTML
        ('<div class="a">\n<p>Text <b>bo</b>ld &amp; more</p>\n</div>', "\u2029Text bold & more\u2029"),
        ("<script>\nlet x = 1\n</script>\n\nAfter.", "After."),
        ('<p title="no">yes</p>', "\u2029yes\u2029"),
        ("<ul><li>cork</li><li>screw</li></ul>", "\u2029\u2029• cork \u2029• screw \u2029"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "\u2029\u2029 | a  | b \u2029\u2029"),
        ("[TOC]\n\n[[_TOC_]]\n\n#+BEGIN_SRC python\nx\n#+END_SRC\nText", "x\nText"),
        # formulas
        ("$$\nx_1 * y_1\n$$", "$$\nx_1 * y_1\n$$"),
    ],
)
def test_blocks_are_shown_as_their_text(text: str, expected: str) -> None:
    assert shown(text).strip("\n ") == expected.strip("\n ")


def test_data_in_a_note_is_not_its_text() -> None:
    picture = f"![chart](data:image/png;base64,{'iVBOR' * 40_000})"
    (part,) = chunks_of(f"# Sales\n\n{picture}\n\nThey rose.\n")
    assert part.text.split() == ["Sales", "chart", "They", "rose."]
    assert picture in part.source


def test_a_passage_leads_back_to_its_source() -> None:
    text = "# R&amp;D **plan**\n\n> - see [[Net|the net]] and *this*\n"
    (part,) = chunks_of(text)
    assert part.text == "R&D plan\n\n• see the net and this"
    assert part.source == text.strip()
    for word in ("plan", "see", "net", "this"):
        offset = part.text.index(word)
        line = text.split("\n")[part.text.count("\n", 0, offset)]
        assert line[part.column(offset) :].startswith(word)


PIECES = st.sampled_from(
    [
        *[
            "**",
            "*",
            "_",
            "`",
            "```",
            "~~",
            "==",
            "[",
            "]",
            "(",
            ")",
            "[[",
            "]]",
            "|",
            "\\",
            "<",
            ">",
            "&",
            "&amp;",
        ],
        *[
            "<b>",
            "</b>",
            "<!--",
            "-->",
            "%%",
            "$",
            "$$",
            "^a",
            "[^1]",
            "[^1]: ",
            "[a]: b",
            "![",
            "](u)",
            "---",
        ],
        *[
            "\n",
            "\n\n",
            "\n- ",
            "\n  - [ ] ",
            "\n> ",
            "\n> > ",
            "\n# ",
            "\n    ",
            "\n|--|--|\n",
            "\n```\n",
            "\n1. ",
        ],
        *[
            "word ",
            "two words",
            "漢字。",
            " ",
            "\t",
            SHY,
            JOINER,
            "👩\u200d💻",
            "<div>\n",
            "&nbsp;",
            "> [!note] ",
            "\r\n",
        ],
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=60).map("".join)


@given(TEXTS, st.sampled_from([8, 40, 254]))
@examples(300)
def test_any_note_is_rendered_with_the_way_back(text: str, window: int) -> None:
    note = parse(text, "a.md")
    rendered = {
        number: apply_edits(line, note.edits.get(number, ())) for number, line in enumerate(note.lines, 1)
    }
    assert not any("\n" in line for line in rendered.values())
    for edits in note.edits.values():
        assert all(first.end <= second.start for first, second in pairwise(edits))
    chunks = chunk(note, lambda part: len(part.split()), window)
    if note.body_line == 1:
        assert "".join("".join(part.source.split()) for part in chunks) == "".join(
            "".join(note.lines).split()
        )
    for part in chunks:
        rows = range(part.start_line, part.end_line + 1)
        assert apply_edits(part.text, part.edits) == part.source
        assert part.source in "\n".join(note.lines[row - 1] for row in rows)
        assert part.text in "\n".join(rendered[row] for row in rows)
        assert part.text.count("\n") == part.source.count("\n")


@given(TEXTS)
def test_any_inline_text_is_one_line_without_outer_white_space(text: str) -> None:
    line = render_text(text)
    assert line == " ".join(line.split())
