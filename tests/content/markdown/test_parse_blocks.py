"""The structure of a note: headings, code, block ids, tasks, callouts, and spans."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultseek.base.model import Note
from vaultseek.content.markdown.parse import parse


def headings(text: str) -> list[tuple[int, str, int]]:
    return [(it.level, it.text, it.line) for it in parse(text, "n.md").headings]


def spans(note: Note) -> list[str]:
    return [f"{span.kind} {span.start_line}-{span.end_line}" for span in note.spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# a\n## b ##\n### c#\n####### d", [(1, "a", 1), (2, "b", 2), (3, "c#", 3)]),
        ("one\n===\ntwo\n---\n", [(1, "one", 1), (2, "two", 3)]),
        ("a\nb\n===", [(1, "a\nb", 1)]),
        ("#\n##  \n#\tx", [(1, "", 1), (2, "", 2), (1, "x", 3)]),
        ("> # a\n\n- # b\n\n# c", [(1, "c", 5)]),
        ("```\n# a\n```\n    # b\n\n<!--\n# c\n-->\n\n$$\n# d\n$$\n\n%%\n# e\n%%\n# f", [(1, "f", 17)]),
        ("a\u2028b\x0bc\x85d\n# x", [(1, "x", 2)]),
        ("a\rb\r\n# x\r", [(1, "x", 3)]),
        ("---\nk: v\n---\n# x", [(1, "x", 4)]),
    ],
)
def test_headings_of_the_note(text: str, expected: list[tuple[int, str, int]]) -> None:
    assert headings(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```py x\na\n```", [("py", 1, 3)]),
        ("~~~ {.r}\na", [("{.r}", 1, 2)]),
        ("a\n\n    b\n\n    c\n\nd", [(None, 3, 5)]),
        ("    ```x\n    y", [(None, 1, 2)]),
        ("- a\n  ```js\n  b\n  ```\n- c", [("js", 2, 4)]),
        ("> ```lua\n> x\n\ny", [("lua", 1, 2)]),
        ("````\n```\n````", [(None, 1, 3)]),
        ("$$\na\n$$\n\n%%\n```\nb\n```\n%%", []),
    ],
)
def test_code_blocks(text: str, expected: list[tuple[str | None, int, int]]) -> None:
    assert [(it.lang, it.line, it.end_line) for it in parse(text, "n.md").code_blocks] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a ^b-1", [("b-1", 1)]),
        ("a\nb ^c\n\n^d", [("c", 2), ("d", 4)]),
        ("- a ^b\n  - c ^d\n\n> e ^f\n\n# g ^h", [("b", 1), ("d", 2), ("f", 4), ("h", 6)]),
        ("a^b\n\na ^b c\n\na ^b_c\n\n`a ^b`\n\n```\na ^b\n```", []),
        ("| a |\n|---|\n| b |\n^c", [("c", 4)]),
    ],
)
def test_block_ids(text: str, expected: list[tuple[str, int]]) -> None:
    assert [(it.id, it.line) for it in parse(text, "n.md").blocks] == expected


def test_tasks_keep_their_mark_and_the_first_line_of_their_text() -> None:
    note = parse("- [ ] a\n  more\n1. [x] b ^c\n   * [/] d\n- [] e\n- [ ]f\n> - [-] g\n", "n.md")
    assert [(it.mark, it.text, it.line) for it in note.tasks] == [
        (" ", "a", 1),
        ("x", "b ^c", 3),
        ("/", "d", 4),
        ("-", "g", 7),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "- [ ] a\n  - [x] b\n    - [ ] c\n- [ ] d",
        "> - [ ] a\n>   - [x] b\n>     - [ ] c\n> - [ ] d",
        ">- [ ] a\n>\t- [x] b\n>\t\t- [ ] c\n>- [ ] d",
        "> > - [ ] a\n> >   1. [x] b\n> >      - [ ] c\n> > - [ ] d",
        "- [ ] a\n  > - [x] b\n  >   - [ ] c\n- [ ] d",
        "> [!todo] Yard\n> - [ ] a\n>     * [x] b\n>         + [ ] c\n> - [ ] d",
        "> [!todo] Yard\n> > [!note]\n> > - [ ] a\n> >   - [x] b\n> >     - [ ] c\n> > - [ ] d",
        "> 1. [ ] a\n>    text\n>    - [x] b\n>\n>      text\n>      - [ ] c\n>\n> 2. [ ] d",
    ],
)
def test_nested_tasks_are_found_in_any_quote(text: str) -> None:
    assert [(it.mark, it.text) for it in parse(text, "n.md").tasks] == [
        (" ", "a"),
        ("x", "b"),
        (" ", "c"),
        (" ", "d"),
    ]


def test_callouts_are_quotes_that_start_with_a_type() -> None:
    text = "> [!Tip]- Fold [[a]]\n> > [!my type|wide]\n\n> text\n> [!no] x\n\n[!no]\n\n- > [!note]+\n"
    assert [(it.kind, it.title, it.line) for it in parse(text, "n.md").callouts] == [
        ("tip", "Fold [[a]]", 1),
        ("my type", "", 2),
        ("note", "", 9),
    ]


def test_spans_name_the_blocks_of_the_body() -> None:
    text = (
        "---\nk: v\n---\n# h\npara\nlazy\n\n- a\n\n  b\n- c\n\n1. d\n> q\n> q\n\n```\nx\n\n```\n\n"
        "    code\n\n| a |\n|---|\n| b |\n\n"
        "<div>\n</div>\n\n$$\nx\n$$\n***\n[k]: x.md\n[^1]: foot\n    note\n\nt\n===\n"
    )
    assert spans(parse(text, "n.md")) == [
        "heading 4-4",
        "paragraph 5-6",
        "list 8-11",
        "list_item 8-10",
        "list_item 11-11",
        "list 13-13",
        "list_item 13-13",
        "quote 14-15",
        "code 17-20",
        "code 22-22",
        "table 24-26",
        "html 28-29",
        "math 31-33",
        "break 34-34",
        "other 35-35",
        "paragraph 36-37",
        "heading 39-40",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in the year\n2031. that was", ["paragraph 1-2"]),
        ("a\n2. b\n3. c\n4. d\n5. e\n   f\n6. g", ["paragraph 1-7"]),
        ("a\n2. b\n3. c\n1. d\n3. e", ["paragraph 1-3", "list 4-5", "list_item 4-4", "list_item 5-5"]),
        ("a\n2. b\n\n3. c", ["paragraph 1-2", "list 4-4", "list_item 4-4"]),
        ("a\n    > b\n\t> c", ["paragraph 1-3"]),
        ("a\n\n    > b", ["paragraph 1-1", "code 3-3"]),
        ("> a\n>     > b", ["quote 1-2"]),
        ("- a\n2. b", ["list 1-1", "list_item 1-1", "list 2-2", "list_item 2-2"]),
        ("- a\n- 5. b", ["list 1-2", "list_item 1-1", "list_item 2-2"]),
        ("a\n    `b`\n    ]c", ["paragraph 1-3"]),
        ("a\n\n    `b`", ["paragraph 1-1", "code 3-3"]),
        ("[^1]: a\n[^2]: b\n\n    c", ["paragraph 1-1", "paragraph 2-4"]),
        ("%%\n- a\n\nb\n%%", ["paragraph 1-5"]),
    ],
)
def test_spans_of_text_that_the_grammar_misreads(text: str, expected: list[str]) -> None:
    assert spans(parse(text, "n.md")) == expected


PIECES = [
    *("# ", "## ", "\n", "\n\n", "- ", "1. ", "> ", "```", "~~~", "    ", "\t", "|", "---", "===", "- [ ] "),
    *(
        "[",
        "]",
        "(",
        ")",
        "[[",
        "]]",
        "![",
        "#a",
        "^x",
        " ^id",
        "$",
        "$$",
        "%%",
        "<",
        ">",
        "`",
        "*",
        "_",
        "**",
    ),
    *(
        "<div>",
        "</div>",
        "<!--",
        "-->",
        "<pre>",
        "<?",
        "<h1>",
        "<!A",
        "==",
        "\\",
        "a",
        "word ",
        "é",
        "日",
        "😀",
    ),
    *("\u2028", "\x85", "\x0b", "\r", "\r\n", "\0", "\ufeff", "\ud800", "[^1]: ", "[^1]", "[k]: x.md"),
    *("http://a.b/#c", "---\n", "a: b\n", "> [!note] ", "|---|\n", "| a |\n", "&a", "*a", "!!x", "{", "}"),
]
soup = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


@given(st.one_of(soup, soup.map(lambda text: f"---\n{text}\n---\n{text}"), st.text()))
@example("[^1]: a\n1. b\n[^2]: c")
@example("> ```\nlazy\n    code\n> $$\nx")
def test_every_line_of_any_text_is_in_one_span(text: str) -> None:
    note = parse(text, "folder/note.md")
    covered: list[int] = []
    of_list = range(0)
    for span in note.spans:
        lines = range(span.start_line, span.end_line + 1)
        assert lines
        if span.kind == "list_item":
            assert set(lines) <= set(of_list)
            of_list = range(lines[-1] + 1, of_list.stop)
            continue
        covered += lines
        of_list = lines if span.kind == "list" else range(0)
    assert covered == sorted(set(covered))
    body = {n for n, line in enumerate(note.lines, 1) if n >= note.body_line and line.strip()}
    assert body <= set(covered)
    assert set(covered) <= set(range(note.body_line, len(note.lines) + 1))


@given(soup)
def test_elements_are_on_lines_of_the_note_in_order(text: str) -> None:
    note = parse(text, "note.md")
    for found in (note.links, note.headings, note.code_blocks, note.blocks, note.tasks, note.callouts):
        lines = [it.line for it in found]
        assert lines == sorted(lines)
        assert all(1 <= line <= len(note.lines) for line in lines)
    assert len({tag.casefold() for tag in note.tags}) == len(note.tags)
    str(note).encode()
