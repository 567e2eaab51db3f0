"""Plain text of headings, lines and passages."""

import pytest
from vaultseek.content.markdown.plain import plain_heading, plain_line, plain_passage, shown_heading


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**Bold** *it* __under__ ~~gone~~ `code`", "Bold it under gone code"),
        ("[[Note|alias]] and [[Other]]", "alias and Other"),
        ("[map](https://e.org) [ref][1] ![alt](a.png)", "map ref alt"),
        (r"1\. C\# and a \| b", "1. C# and a | b"),
        ("a <b>b</b> <!-- hidden --> c ^id-1", "a b c"),
        ("snake_case and 2 * 3", "snake_case and 2 * 3"),
    ],
)
def test_a_heading(markdown: str, expected: str) -> None:
    assert plain_heading(markdown) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Rope  inspection\n\nEvery\tmonth", "Rope inspection Every month"),
        ("**bold** *it* ~~gone~~ ==lit== ***both***", "bold it gone lit both"),
        ("2 * 3 * 4 and a*b, x == y, snake_case", "2 * 3 * 4 and a*b, x == y, snake_case"),
        ("see [[Square Rig]], [[a/b|the rig]] and ![[pic.png]]", "see Square Rig, the rig and pic.png"),
        ('[docs](http://x.org "t") ![alt](a.png)', "docs alt"),
        ("- one\n* two\n+ three\n- [ ] open\n- [x] done", "• one • two • three • open • done"),
        ("> quoted\n> > twice\n> [!note]- Title", "quoted twice Title"),
        ("```py\nx = 1\n```\nuse `run()`", "x = 1 use run()"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a b 1 2"),
        ("one\n\n---\n\ntwo\n====\nthree ^id-1", "one two three"),
        ("a <b>bold</b> <br/> 1 < 2 > 0 <https://x.org>", "a bold 1 < 2 > 0 <https://x.org>"),
        ("a\x00b\x1b[31mred\x1b[0m \u202eevil\u2066 \ud800z\r\n", "a bred evil z"),
        ("[1] is [not] a [link", "[1] is [not] a [link"),
    ],
)
def test_a_line_to_show(text: str, expected: str) -> None:
    assert plain_line(text) == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("[[Note|text]] and [[Other#Part]]", "text and Other#Part"),
        ("![[pic.png|120x80]] ![alt|30](a/b.png)", "pic.png alt|30"),
        ('[map](https://e.org/x?a=1 "Title") <https://www.e.org/y?q#f>', "map e.org/y"),
        ("Text here. ^block-1\n\n^other", "Text here."),
        ("%%hidden%% <!-- so --> <br/>end", "hidden so end"),
        ("> [!note]- Title\n> - [x] done\n> 1. first", "note Title\ndone\nfirst"),
        ("# H\n\n## **B** ==m== ==a==, x==y", "H\nB m a , x==y"),
        ("| a | b |\n|---|:-:|\n| c | d |", "a b\nc d"),
        (
            "```python\ndef __init__(self, a):\n    return a[0] ** 2\n```",
            "python\ndef __init__(self, a):\nreturn a[0] ** 2",
        ),
        ("a **bold** b**o**ld `code`", "a bold b**o**ld code"),
        ("[ref]: https://example.org/ 'T'", "ref 'T'"),
        ("***\n---\n", ""),
    ],
)
def test_a_passage_to_embed(markdown: str, expected: str) -> None:
    assert plain_passage(markdown) == expected


@pytest.mark.parametrize(
    "text",
    [" " * 10**6 + "|", "|" * 10**6, "[" * 10**6, "*" * 10**6, "\n" * 10**6, "[a](b " * 10**5, "<a " * 10**5],
)
def test_hostile_passages_are_bounded(text: str) -> None:
    assert len(plain_passage(text)) <= 20_000


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**Boiler** [[n|care]] `x`", "Boiler care x"),
        ("plain", "plain"),
        ("<!-- c -->", "<!-- c -->"),
        ("", ""),
    ],
)
def test_a_heading_is_shown_without_its_markup_unless_it_is_nothing_else(markdown: str, shown: str) -> None:
    assert shown_heading(markdown) == shown
