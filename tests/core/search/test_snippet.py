"""Previews: their text and their marks."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.model import Chunk
from vaultseek.content.markdown.chunk import chunk
from vaultseek.content.markdown.parse import parse
from vaultseek.core.search.snippet import Matcher, Preview, preview
from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.index import KeywordChunk, KeywordDocument, KeywordIndex
from vaultseek.store.keyword.spans import span_finder

FILLER = "lorem ipsum dolor sit amet consectetur " * 8
ENGLISH = span_finder(LanguageRules("en", for_all=True), frozenset({"en"}))

Highlight = Callable[..., str]


def passage_of(text: str) -> Chunk:
    """A whole note as one passage."""
    empty = Chunk("", (), 1, 1, "")
    return next(iter(chunk(parse(text, "a.md"), lambda _: 1, window=10**9)), empty)


def preview_of(
    text: str,
    width: int,
    matcher: Matcher | None = None,
    *,
    names: tuple[str, ...] = (),
    shared: frozenset[str] = frozenset(),
) -> Preview:
    """The Markdown preview of a note."""
    lines = {heading.line for heading in parse(text, "a.md").headings}
    return preview(passage_of(text), width, matcher, names=names, heading_lines=lines, shared=shared)


def with_marks(preview: Preview) -> str:
    """The preview with its marks in angle brackets."""
    marked, position = "", 0
    for start, end in preview.highlights:
        marked += f"{preview.text[position:start]}<{preview.text[start:end]}>"
        position = end
    return marked + preview.text[position:]


def unsearched(text: str, query: str, width: int = 60) -> str:
    """The preview for a query that was not run on the keyword index."""
    return with_marks(preview_of(text, width, Matcher.of(query, ENGLISH)))


@pytest.fixture
def highlight(tmp_path: Path) -> Highlight:
    """``highlight(text, query)``: the preview of a note with this text in the answer to the query."""

    def search(text: str, query: str, language: str | None = "en") -> str:
        index = KeywordIndex.create(tmp_path / "index", LanguageRules(language, for_all=True))
        index.apply(
            [KeywordDocument(1, "", "", chunks=(KeywordChunk("1.0", passage_of(text).text),))], (), "first"
        )
        matcher = Matcher.of(index.search(query, 10), index.span_finder)
        return with_marks(preview_of(text, 80, matcher))

    return search


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        # words match by the stems of the index
        ("The Rope is old", "rope", "The <Rope> is old"),
        ("ropes, roped and roping", "rope", "<ropes>, <roped> and <roping>"),
        ("he runs and was running, a runner", "running", "he <runs> and was <running>, a runner"),
        ("run to the study", "running studies", "<run> to the <study>"),
        ("contract or contrast", "contract", "<contract> or contrast"),
        ("organs of the organisation", "organ", "<organs> of the organisation"),
        ("Café cafe", "café", "<Café> <cafe>"),
        ("the user's and users", "user", "the <user>'s and <users>"),
        ("a **rope**", "rope", "a <rope>"),
        ("nothing here", "rope", "nothing here"),
        # compounds match whole and by their parts
        ("wlan-router, WLAN and a router", "wlan-router", "<wlan-router>, <WLAN> and a <router>"),
        ("the wlan-router", "router", "the wlan-<router>"),
        ("call getUserName here", "user", "call get<User>Name here"),
        ("in src/my_file.py", "my_file", "in src/<my_file>.py"),
        ("in snake_case or snakes", "snake_case", "in <snake_case> or <snakes>"),
        ("E-4107 not E-4170, E-41077", "E-4107", "<E-4107> not E-4170, E-41077"),
        ("D40 and D401 and D41", "d40", "<D40> and D401 and D41"),
        ("see 30 CFR 75.1725 there", "30 CFR 75.1725", "see <30 CFR 75.1725> there"),
        # scripts without spaces match by pairs
        ("索道的安全要求是每月检查", "安全要求是什么", "索道的<安全要求是>每月检查"),
        ("索道的安全", "索", "<索>道的安全"),
        ("東京タワーの高さ", "タワー", "東京<タワー>の高さ"),
        ("人々の国々", "人々", "<人々>の国々"),
        ("한국어 검색", "한국", "<한국>어 검색"),
        # terms that stand for a word are marked
        ("linked linking links", "link*", "<linked> <linking> <links>"),
        ("the boiler room", "biler", "the <boiler> room"),
        ("schedules of trains", "schedu", "<schedules> of trains"),
        # stop words are marked only alone
        ("the rope of the keel", "the keel of", "the rope of the <keel>"),
        ("to be or not", "to be", "<to> <be> or not"),
    ],
)
def test_matches_are_marked(highlight: Highlight, text: str, query: str, expected: str):
    assert highlight(text, query) == expected


@pytest.mark.parametrize(
    ("language", "text", "query", "expected"),
    [
        ("de", "Häuser am Haus, Hausboot", "Haus", "<Häuser> am <Haus>, Hausboot"),
        ("fr", "les chevaux, un cheval", "cheval", "les <chevaux>, un <cheval>"),
        (None, "runs run", "run", "runs <run>"),
    ],
)
def test_the_language_of_the_index_decides(
    highlight: Highlight, language: str | None, text: str, query: str, expected: str
):
    assert highlight(text, query, language) == expected


def test_a_misspelling_is_not_marked_where_the_word_itself_was_found(highlight: Highlight):
    assert highlight("the boiler and the broiler", "boiler") == "the <boiler> and the broiler"


def test_without_a_keyword_search_the_words_of_the_query_are_marked():
    assert unsearched("he runs to the wlan-router", "running router") == "he <runs> to the wlan-<router>"
    assert unsearched("linked", "link*") == "<linked>"


def test_without_a_query_nothing_is_marked():
    assert with_marks(preview_of("nothing here", 60)) == "nothing here"
    assert unsearched("nothing here", "") == "nothing here"


def test_the_window_with_most_distinct_words_is_shown():
    text = f"rope rope rope. {FILLER} the keel and the rope. {FILLER}"
    assert "<keel> and the <rope>" in unsearched(text, "rope keel")


def test_cuts_fall_between_words_and_show():
    line = unsearched(f"{FILLER} the keel is here {FILLER}", "keel")
    assert line.startswith("…")
    assert line.endswith("…")
    assert set(line.strip("…").replace("<keel>", "keel").split()) <= {
        *FILLER.split(),
        "the",
        "keel",
        "is",
        "here",
    }


def test_without_a_match_the_beginning_is_shown():
    assert unsearched(FILLER, "rope", width=30) == "lorem ipsum dolor sit amet…"


def test_a_short_text_is_shown_whole():
    assert preview_of("keel", 4, Matcher.of("keel", ENGLISH)).text == "keel"


def test_a_word_longer_than_the_window_is_cut():
    cut = preview_of("x" * 500, 40, Matcher.of("x" * 500, ENGLISH))
    assert len(cut.text) <= 40
    assert cut.highlights


@pytest.mark.parametrize("width", [-1, 0, 1, 2, 5])
def test_a_narrow_window_holds_no_more_than_its_width(width: int):
    matcher = Matcher.of("keel", ENGLISH)
    assert len(preview_of(f"{FILLER} keel", width, matcher).text) <= max(width, 0)


HOSTILE = [
    "[[a|",
    "[a](",
    "`",
    "> ",
    " ",
    "-",
    "|",
    "- - ",
    "\t^a",
    "[x ",
    "<a ",
    "*",
    "\x1b[0",
    "\n",
    "~~~",
    "=",
    "--|",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_linear_time(piece: str):
    """Quadratic patterns would take minutes here and exceed the test's time limit."""
    assert len(preview_of(piece * 40_000 + "x", 80, Matcher.of("rope a b x", ENGLISH)).text) <= 80


words = st.sampled_from(
    ["rope", "ropes", "keel", "the", "E-4107", "安全要求", "e\u0301te\u0301", "x" * 30, "**b**", "\n- "]
)


@given(
    st.lists(words | st.text(max_size=10), max_size=60).map(" ".join),
    st.lists(words | st.text(max_size=10), max_size=6).map(" ".join),
    st.integers(-2, 120),
)
def test_a_preview_is_one_clean_line_within_its_width(text: str, query: str, width: int):
    line = preview_of(text, width, Matcher.of(query, ENGLISH))
    assert len(line.text) <= max(width, 0)
    assert line.text == line.text.replace("\n", "").replace("\x00", "")
    line.text.encode()
    last = -1
    for start, end in line.highlights:
        assert last < start < end <= len(line.text)
        last = end


@given(
    st.lists(st.sampled_from(["lorem", "ipsum", "dolor"]), max_size=80),
    st.integers(0, 80),
    st.integers(20, 80),
)
def test_a_word_that_is_there_is_shown_and_marked(filler: list[str], place: int, width: int):
    text = " ".join([*filler[:place], "keelson", *filler[place:]])
    line = preview_of(text, width, Matcher.of("keelson", ENGLISH))
    assert [line.text[start:end] for start, end in line.highlights] == ["keelson"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Flour %%buy the other one%% and water", "Flour and water"),
        ("Flour\n%%\nbuy the other one\n%%\nand water", "Flour and water"),
        ("Flour <!-- buy\nthe other --> and water", "Flour and water"),
        ("one %%a%% two <!--b--> three %%c%%", "one two three"),
        ("half %% a comment", "half %% a comment"),
        ("`%%` and `%%` are signs", "%% and %% are signs"),
        ("```python\nx = 1  # %%\n# %%\ny = 2\n```", "x = 1 # %% # %% y = 2"),
        ("a ` tick, then\n%%hidden%% text", "a ` tick, then text"),
        ("one <!-- never ends", "one <!-- never ends"),
        ("<!-- never ends\none", ""),
    ],
)
def test_comments_are_not_shown(text: str, shown: str) -> None:
    assert preview_of(text, 240).text == shown


def test_headings_that_stand_above_the_preview_are_not_repeated() -> None:
    text = "![](float.png)\n\n# The Float\n\n## Wiring\n\nRed is live.\n"
    assert preview_of(text, 240, names=("The Float", "Wiring")).text == "Red is live."
    text = "# The *Float* Switch\n\n## Wiring\n\nRed is live.\n\n# The Float Switch\n"
    above = ("The Float Switch", "Wiring")
    assert preview_of(text, 240, names=above).text == "Red is live.…"
    assert preview_of(text, 240, names=above[:1]).text == "Wiring — Red is live.…"
    assert preview_of("# Float\n", 240, names=("Float",)).text == ""
    assert preview_of("float and more", 240, names=("float and more",)).text == "float and more"


@given(st.text(alphabet="a%`<!->\n", max_size=60))
def test_any_signs_of_comments_are_read_to_the_end(text: str) -> None:
    assert len(preview_of(text, 240).text) <= len(text) + 60


def shown_line(text: str, query: str, width: int = 60, names: tuple[str, ...] = ()) -> tuple[str, str]:
    """The source line of the preview from its column on, and the preview."""
    shown = preview_of(text, width, Matcher.of(query, ENGLISH), names=names)
    lines = text.split("\n")[passage_of(text).start_line - 1 :]
    return lines[shown.line][passage_of(text).column(shown.offset) :], shown.text


def test_the_preview_shows_the_line_that_it_names():
    far = f"A sail, {FILLER}\n\n{FILLER}\n- a sail and a mast\n{FILLER}\nsail, sail, sail"
    assert shown_line(far, "sail mast")[0] == "sail and a mast"
    assert "a sail and a mast" in shown_line(far, "sail mast")[1]
    long = f"One rope. {FILLER} Two ropes, a rope and a rope."
    named, text = shown_line(long, "rope")
    assert (named[:10], text[:9]) == ("rope. lore", "One rope."), "a place that repeats the word says no more"


def test_a_heading_is_named_only_if_no_other_line_has_a_word():
    assert shown_line("## Rope and mast\n\nA rope is long.", "rope mast")[0] == "rope is long."
    assert shown_line("## The rope\n\nIt is long.", "sail")[0] == "It is long."
    assert shown_line("## The rope\n", "sail")[0] == "The rope"
    text = "## The rope\n\nA rope is long."
    assert shown_line(text, "rope", names=("The rope",)) == ("rope is long.", "A rope is long.")
    assert shown_line("## The rope\n\nIt is long.", "rope", names=("The rope",))[0] == "rope"


@pytest.mark.parametrize(
    ("text", "query", "named"),
    [
        ("Shopping list, I think:\n\n- paper\n- ink", "ink", "ink"),
        ("the wlan-router\n\ngetUserName", "user", "UserName"),
        ("为了安全\n\n安全要求", "安全要求", "安全要求"),
    ],
)
def test_a_word_is_not_named_inside_another_one(text: str, query: str, named: str):
    assert shown_line(text, query)[0] == named


PARTS = st.sampled_from(["rope", "mast", "[[Rope]]", "**sail**", "x", "lorem ipsum dolor", "\n", "\n- ", " "])


@given(st.lists(PARTS, max_size=40).map(" ".join), st.integers(20, 60))
def test_the_line_that_is_named_has_a_word_that_is_shown(text: str, width: int):
    shown = preview_of(text, width, Matcher.of("rope sail mast", ENGLISH))
    words = {shown.text[low:high] for low, high in shown.highlights}
    assert not words or any(word in passage_of(text).text.split("\n")[shown.line] for word in words)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Rope\n\nIt is long.", "Rope — It is long."),
        ("#rope #mast\n\nIt is long.", "It is long."),
        ("https://example.org/rope\n\nIt is long.", "It is long."),
        ("- #rope\n- It is long.", "• It is long."),
        ("[a]: https://example.org\n\n![](rope.png)\n\nIt is long.", "It is long."),
        ("```\nx = 1\n```\n\nIt is long.", "It is long."),
        ("It is long.[^1]\n\n[^1]: Said\n    a sailor.", "It is long."),
        ('<img src="a.png" alt="Logo">\n\nIt is long.', "It is long."),
        ("- ![[rope.png]]\n- It is long.", "• It is long."),
        ("<%* tp.date.now()\nconst a = 1\n%>\n\nIt is long.", "It is long."),
        ("- {{query (task TODO)}}\n- It is {{long}}.", "• It is {{long}}."),
        ("It is long.\n\n## Knots\n\n## Uses\n", "It is long.…"),
        ("# Rope\n\n## Knots\n", "Rope — Knots"),
        ("- It\n- is\n\n| a | b |\n|---|---|\n| c | d |", "• It • is a | b c | d"),
        ("#rope #mast", "#rope #mast"),
        ("```\nx = 1\n```", "x = 1"),
    ],
)
def test_prose_is_shown_unless_there_is_none(text: str, shown: str) -> None:
    assert preview_of(text, 240).text == shown


def test_code_and_bare_tags_are_shown_where_more_words_match() -> None:
    text = "#mast\n\nA rope.\n\n```\nkeel = 1\n```"
    assert unsearched(text, "rope") == "A <rope>."
    assert unsearched(text, "rope keel") == "A <rope>. <keel> = 1"
    assert unsearched(text, "rope mast") == "#<mast> A <rope>. keel = 1"
    assert unsearched("A rope.\n\n## Keel\n", "rope keel") == "A <rope>. <Keel>"


def test_lines_shared_with_other_notes_are_shown_where_more_words_match() -> None:
    text = "A rope.\n\n[Edit](https://example.org) **this note**"
    shared = frozenset({"Edit this note"})
    for query, shown in (("rope", "A rope."), ("edit note", "A rope. Edit this note")):
        assert preview_of(text, 240, Matcher.of(query, ENGLISH), shared=shared).text == shown


@pytest.mark.parametrize(
    ("pattern", "line"),
    [(r"https://e\.org", 2), (r"\*\*long", 2), ("hidden", 4), ("sail", 6), (r"&amp;", 6)],
)
def test_a_match_in_the_source_alone_names_its_line(pattern: str, line: int) -> None:
    text = "One.\n\nThe [rope](https://e.org) is **long**.\n\n%%hidden%%\n\nMast &amp; sail."
    shown = preview_of(text, 240, Matcher.of("", ENGLISH, (pattern,)))
    assert shown.line == line
    assert shown.text == "One. The rope is long. Mast & sail."
