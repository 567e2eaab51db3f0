"""Notes as HTML: Obsidian's notation, and no active content."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.doors.ui.rendering import ATTRIBUTES, CLASSES, ELEMENTS, FORMULAS, as_html

TARGETS = {
    "Tea": "sub/Tea.md",
    "dot.png": "pictures/dot.png",
    "sub/Tea.md": "sub/Tea.md",
    "plan.pdf": "plan.pdf",
}


class Elements(HTMLParser):
    """The elements in a piece of HTML, with their attributes."""

    def __init__(self, html):
        super().__init__()
        self.elements = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))


def elements(text, targets=TARGETS):
    return Elements(as_html(text, targets)).elements


def only(text, tag):
    (found,) = [attributes for name, attributes in elements(text) if name == tag]
    return {name: value for name, value in found.items() if name not in ("data-line", "data-end", "rel")}


@pytest.mark.parametrize(
    ("text", "tag", "attributes"),
    [
        ("[[Tea]]", "a", {"data-note": "sub/Tea.md"}),
        ("[[Tea#Steep it|how]]", "a", {"data-note": "sub/Tea.md", "data-anchor": "Steep it"}),
        ("[[Tea#^id]]", "a", {"data-note": "sub/Tea.md", "data-anchor": "^id"}),
        ("[[#Here]]", "a", {"class": "here", "data-anchor": "Here"}),
        ("[[Nowhere]]", "a", {"class": "lost", "data-target": "Nowhere"}),
        ("[tea](sub/Tea.md#Steep%20it)", "a", {"data-note": "sub/Tea.md", "data-anchor": "Steep it"}),
        ("[x](https://a.example/b?c=d)", "a", {"href": "https://a.example/b?c=d", "class": "outside"}),
        ("![[Tea]]", "span", {"class": "embed", "data-note": "sub/Tea.md"}),
        ("![[Tea#Steep]]", "span", {"class": "embed", "data-note": "sub/Tea.md", "data-anchor": "Steep"}),
        ("![[dot.png|200]]", "img", {"data-file": "pictures/dot.png", "alt": "dot.png", "width": "200"}),
        ("![a dot](dot.png)", "img", {"data-file": "pictures/dot.png", "alt": "a dot"}),
        ("![far](https://a.example/x.png)", "img", {"alt": "far", "data-address": "https://a.example/x.png"}),
        ("![[plan.pdf]]", "span", {"data-note": "plan.pdf", "class": "embed"}),
        ("see #work/pumps now", "a", {"class": "tag", "data-tag": "work/pumps"}),
        ("> [!warning] Mind *this*\n> text", "blockquote", {"class": "callout", "data-kind": "warning"}),
        ("> [!warning]- Mind *this*\n> text", "details", {"class": "callout", "data-kind": "warning"}),
        ("a ==mark== b", "mark", {}),
        ("text ^block-1", "span", {"data-block": "block-1"}),
    ],
)
def test_the_notation_becomes_elements(text, tag, attributes):
    assert only(text, tag) == attributes


def test_the_text_of_the_notation():
    assert ">Mind <em>this</em></p>" in as_html("> [!note] Mind *this*\n> text", {})
    assert ">Note</p>" in as_html("> [!note]\n> text", {})
    assert ">how</a>" in as_html("[[Tea|how]]", TARGETS)
    assert "hidden" not in as_html("a %%hidden%% b\n\n%%\nhidden\n\nhidden too\n%%\n\nshown", {})
    assert "shown" in as_html("%%\nhidden\n%%\n\nshown", {})
    assert as_html("C# and 1#2 and #1", {}).count("<a") == 0
    assert as_html("`[[Tea]] ==x== #tag %%c%%`", TARGETS).count("<a") == 0
    assert 'type="checkbox"' in as_html("- [x] done\n- [ ] not", {})
    assert "<table" in as_html("| a | b |\n|---|---|\n| [[Tea\\|x]] | c |", TARGETS)
    assert as_html("| a |\n|---|\n| [[Tea\\|x]] |", TARGETS).count("sub/Tea.md") == 1
    assert "footnote-ref" in as_html("a[^1]\n\n[^1]: b", {})


def test_blocks_have_the_lines_of_the_file():
    html = as_html("# A\n\none\ntwo\n\n- x\n", {}, first_line=10)
    assert '<h1 data-line="10" data-end="10">' in html
    assert '<p data-line="12" data-end="13">' in html
    assert '<ul data-line="15" data-end="15">' in html


def test_harmless_html_is_shown_without_attributes_and_of_all_other_the_text():
    inline = 'H<sub class="x">2</sub>O <kbd>Ctrl</kbd> <b>bold</b> <font id="query">red</font><br>next'
    assert "H<sub>2</sub>O <kbd>Ctrl</kbd> <strong>bold</strong> red<br>next" in as_html(inline, {})
    block = as_html("<details>\n<summary>More</summary>\n<center>a &amp; b</center>\n</details>\n", {}, 3)
    lines = '<div data-line="3" data-end="6">'
    assert f"{lines}<details>\n<summary>More</summary>\na &amp; b\n</details>" in block
    assert "hidden" not in as_html("<!-- hidden -->\n\na <!-- hidden --> b\n\n<style>\nhidden\n</style>", {})
    assert "1 &lt; 2 &gt; 0" in as_html("1 < 2 > 0", {})


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe srcdoc='<script>1</script>'></iframe>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](data:text/html,<script>1</script>)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example/x)",
    "<javascript:alert(1)>",
    "![x](javascript:alert(1))",
    "![x](data:image/svg+xml,<svg>)",
    '![x" onerror="alert(1)](dot.png)',
    '[[Tea|" onclick="alert(1)]]',
    '[[x" onclick="alert(1)]]',
    "[[<img src=x onerror=1>]]",
    '![[dot.png|" onerror="1]]',
    '#tag"onclick="x',
    '```js" onclick="x\ncode\n```',
    '> [!note" onclick="x] title',
    '^id" onclick="x',
    "[a]: javascript:alert(1)\n\n[a]",
    "&lt;script&gt;1&lt;/script&gt;",
    "%%<script>%%",
    "[^<script>]: x\n\n[^<script>]",
    "==<b onclick=x>==",
    "<style>*{display:none}</style>",
    "<form action=//x><button>",
    "\0<script>\0",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_a_note_acts(text):
    check(as_html(text, TARGETS | {"x": text, 'x" onclick="alert(1)': text}))


@given(st.lists(st.sampled_from([*HOSTILE, "\n", "\n\n", " ", "> ", "- ", "`", "[[", "]]", "==", "%%", "|"])))
def test_nothing_of_any_mixture_acts(parts):
    check(as_html("".join(parts), TARGETS))


@given(st.text(st.characters(codec="utf-8")))
def test_any_text_is_rendered(text):
    check(as_html(text, {text: text}))


def check(html):
    for tag, attributes in Elements(html).elements:
        assert tag in ELEMENTS | FORMULAS
        allowed = ATTRIBUTES["*"] | ATTRIBUTES.get(tag, set()) | {"rel", "class"}
        assert attributes.keys() <= allowed, (tag, attributes)
        assert set((attributes.get("class") or "").split()) <= CLASSES.get(tag, set())
        assert re.match(r"https?:|mailto:|#", attributes.get("href") or "#")
        assert "src" not in attributes


@pytest.mark.parametrize(
    "text",
    [
        "*a _b " * 5_000,
        "[[" * 20_000,
        "==" * 20_000,
        "%%\n" * 20_000,
        "![[" * 10_000,
        "> " * 5_000 + "x",
        "[" * 20_000,
        "#a" * 20_000,
        "- " * 5_000,
        "`" * 20_000,
        "==a" * 10_000,
        "%a" * 20_000,
        "^a\n" * 10_000,
        "<a " * 10_000,
        "<b>" * 10_000,
        "<!--" * 10_000,
        "<script>" * 10_000,
        "$a^{$" * 10_000,
        "$" + "x^{" * 5_000 + "$",
        "```python\n" + "(" * 20_000,
        "```bash\n" + "$((" * 6_000,
    ],
    ids=lambda text: text[:6],
)
@pytest.mark.timeout(60)
def test_no_text_takes_long(text):
    check(as_html(text, {}))


def test_a_callout_has_a_title_of_its_own_and_folds():
    html = as_html("> [!warning]- Wet *floor*\n> Stand [[Tea|dry]].\n>\n> > [!tip]+ In\n", TARGETS)
    assert '<details class="callout" data-kind="warning" data-line="1"' in html
    assert '<summary data-line="1" data-end="1">Wet <em>floor</em></summary>' in html
    assert '<p data-line="2" data-end="2">Stand <a' in html
    assert '<details class="callout" data-kind="tip" open' in html
    assert html.count("<summary") == html.count("</summary>") == html.count("</details>") == 2
    plain = as_html("> [!note] Water\n> Deep.", TARGETS)
    assert '<p class="title" data-line="1" data-end="1">Water</p>' in plain
    assert '<blockquote class="callout" data-kind="note"' in plain


@pytest.mark.parametrize(
    ("written", "kind", "title"),
    [
        ("[!NOTE]", "note", "Note"),
        ("[!tldr]", "abstract", "Tldr"),
        ("[!caution] Hot", "warning", "Hot"),
        ("[!important|wide right]", "tip", "Important"),
        ("[!my own kind]", "note", "My own kind"),
    ],
)
def test_a_callout_has_the_kind_that_obsidian_gives_it(written, kind, title):
    html = as_html(f"> {written}\n> text", {})
    assert f'data-kind="{kind}"' in html
    assert f">{title}</p>" in html


@pytest.mark.parametrize("mark", ["-", "*", "1."])
@pytest.mark.parametrize("state", list(' xX/-!?>"'))
def test_a_task_has_its_state(mark, state):
    item = only(f"{mark} [{state}] pump it", "input")
    assert item["data-task"] == state
    assert ("checked" in item) == (state != " ")
    html = as_html(f"{mark} [{state}] pump it", {})
    assert ("<s>pump it</s>" in html) == (state in "xX-")
    assert "task-list-item" in html


@pytest.mark.parametrize("text", ["[ab] c", "[x](y)", "[x]y", "`[x]` y", "[[x]] y", "[] y"])
def test_what_is_no_task_stays_text(text):
    assert "<input" not in as_html(f"- {text}", {})


def test_a_formula_is_set_or_stays_as_it_is_written():
    assert "<math" in as_html("so $a^2$ is", {})
    assert 'class="math"><math display="block">' in as_html("$$\na*b*c <i>\n$$", {})
    assert "<em>" not in as_html("$$\na*b*c <i>\n$$", {})
    assert '<span class="math">$a*b*c_1_$</span>' in as_html("so $a*b*c_1_$ is", {})
    assert "math" not in as_html("it costs $5 or $6", {})


def test_code_has_colours_if_its_language_is_one():
    assert '<span class="k">def</span>' in as_html("```python\ndef f(): ...\n```", {})
    assert "span" not in as_html("```nothing\ndef f(): ...\n```", {})


def test_an_address_is_a_link_and_the_name_of_a_file_is_none():
    assert only("see https://a.example/b_c_d?e=f.", "a") == {
        "href": "https://a.example/b_c_d?e=f",
        "class": "outside",
    }
    assert "<a" not in as_html(
        "README.md, www.a.example, ana@a.example, javascript://a.example/%0aalert(1)", {}
    )


def test_lines_end_where_the_program_of_the_vault_shows_it():
    assert "<br>" in as_html("a\nb", {}, line_breaks=True)
    assert "<br>" not in as_html("a\nb", {})


@pytest.mark.parametrize("text", ["[" * 100_000, "![" * 50_000, "[" * 50_000 + "]" * 50_000, "[[" * 50_000])
def test_brackets_without_end_are_text(text):
    # Pairing them takes quadratic time: without the limit, this would run for minutes.
    assert f">{text}<" in as_html(text, {})
