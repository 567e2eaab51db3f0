import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from vaultseek.base.model import Chunk, Heading, Note, Span, apply_edits
from vaultseek.content.markdown.chunk import chunk
from vaultseek.content.markdown.embedding_text import passage_text
from vaultseek.content.markdown.frontmatter import REJECTED
from vaultseek.content.markdown.parse import parse
from vaultseek.content.markdown.split import DATA_PIECE
from vaultseek.semantic.models.directories import bundled_directory
from vaultseek.semantic.models.tokens import TokenCounter

COUNT = TokenCounter.from_tokenizer_file(bundled_directory() / "tokenizer.json")


def characters(text: str) -> int:
    """A tokenizer whose counts are not additive across white space."""
    return (len(text) + 3) // 4


def chunks_of(text: str, path: str = "a.md", window: int = 254) -> tuple[Chunk, ...]:
    return chunk(parse(text, path), COUNT, window)


def brief(chunks: tuple[Chunk, ...]) -> list[str]:
    """Return the chunks in a compact form: lines, heading path, beginning of the text."""
    return [
        f"{part.start_line}-{part.end_line} {'/'.join(part.heading_path)}: {' '.join(part.text.split())[:24]}"
        for part in chunks
    ]


def filler(name: str, count: int) -> str:
    """Return about ``count`` tokens in sentences of ten words."""
    return " ".join("end." if n % 10 == 9 else name for n in range(count))


LINES = st.sampled_from(
    [
        *[
            "",
            "",
            "# One",
            "## Two",
            "## Two",
            "### Three",
            "Setext",
            "===",
            "---",
            "text",
            "- item",
            "  - inner",
        ],
        *[
            "1. first",
            "> quote",
            "> [!note] T",
            "```python",
            "```",
            "    code",
            "| a | b |",
            "|---|---|",
            "\tx",
        ],
        *[
            "漢字かな。交じり文、" * 30,
            "a sentence. " * 40,
            "w" * 300,
            "x+y/" * 200,
            "\u3000 \u00a0",
            "%% c",
            "<div>",
        ],
        *["A line. And", "é" * 120, "[[Link|text]] and #tag ^id", "$$", "\x0b", "👩\u200d💻" * 90],
    ]
)
TEXTS = st.lists(LINES | st.text(max_size=40), max_size=40).map("\n".join)


def assert_sound(note: Note, chunks: tuple[Chunk, ...], count: Callable[[str], int], window: int) -> None:
    rejected = note.body_line > 1 and any(problem.code in REJECTED for problem in note.problems)
    first = 2 if rejected else note.body_line
    body = "\n".join(note.lines[first - 1 :])
    joined = "".join("".join(part.source.split()) for part in chunks)
    assert joined == "".join(body.split())
    assert len({part.id for part in chunks}) == len(chunks)
    last = (first, 0)
    for part in chunks:
        assert last[0] <= part.start_line <= part.end_line <= len(note.lines)
        last = (part.end_line, 0)
        rows = range(part.start_line, part.end_line + 1)
        assert part.source in "\n".join(note.lines[row - 1] for row in rows)
        assert part.text in "\n".join(shown_line(note, row) for row in rows)
        assert part.text.strip() == part.text.lstrip() or part.end_line in note.edits
        assert_path(note, part)
        passage = passage_text(
            title=note.title,
            title_is_name=note.title_source == "name",
            aliases=note.aliases,
            heading_path=part.heading_path,
            text=part.text,
            count=count,
            window=window,
        )
        assert count(passage.text) <= window


def shown_line(note: Note, line: int) -> str:
    return apply_edits(note.lines[line - 1], note.edits.get(line, ()))


def assert_path(note: Note, part: Chunk) -> None:
    """Check that the path is the common path of the sections of all lines of the chunk."""
    common: list[Heading] | None = None
    for line in range(part.start_line, part.end_line + 1):
        if note.lines[line - 1].strip():
            above = section_of(note, line)
            common = (
                above
                if common is None
                else [h for h, other in zip(common, above, strict=False) if h is other]
            )
    assert common is not None
    assert part.heading_path == tuple(heading.shown for heading in common)


def section_of(note: Note, line: int) -> list[Heading]:
    above: list[Heading] = []
    for heading in note.headings:
        if heading.line > line:
            break
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
    return above


@given(TEXTS, st.sampled_from([40, 100, 254]))
@examples(150)
def test_chunks_are_sound_for_any_note(text: str, window: int) -> None:
    note = parse(text, "Some note.md")
    assert_sound(note, chunk(note, COUNT, window), COUNT, window)


@given(TEXTS, st.sampled_from([40, 100, 254]))
@examples(60)
def test_chunks_are_sound_if_counts_do_not_add_up(text: str, window: int) -> None:
    note = parse(text, "Some note.md")
    assert_sound(note, chunk(note, characters, window), characters, window)


@given(TEXTS, st.sampled_from([100, 254]))
@examples(60)
def test_no_text_is_lost_without_structure(text: str, window: int) -> None:
    known = parse(text, "a.md")
    note = Note("a.md", "a", lines=known.lines, body_line=known.body_line, code_blocks=known.code_blocks)
    assert_sound(note, chunk(note, COUNT, window), COUNT, window)


@given(TEXTS)
@examples(60)
def test_code_of_the_chunks_is_the_code_of_the_note(text: str) -> None:
    note = parse(text, "a.md")
    lines = {line for code in note.code_blocks for line in range(code.line, code.end_line + 1)}
    expected = "".join("".join(shown_line(note, line).split()) for line in sorted(lines))
    code = "".join(part.code_text() for part in chunk(note, COUNT))
    assert "".join(code.split()) == expected


SECTIONS = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 9), st.sampled_from([0, 3, 20, 60, 120, 300])),
    min_size=2,
    max_size=25,
)


def outline(sections: list[tuple[int, int, int]]) -> list[list[str]]:
    return [
        [f"{'#' * level} Heading {name} {index}", "", filler(f"w{index}", size), ""]
        for index, (level, name, size) in enumerate(sections)
    ]


@given(SECTIONS, st.data())
@examples(100)
def test_a_longer_section_changes_no_other_chunk(
    sections: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    parts = outline(sections)
    edited = data.draw(st.integers(0, len(parts) - 1))
    before = chunks_of("\n".join(line for part in parts for line in part))
    start = sum(map(len, parts[:edited])) + 1
    end = start + len(parts[edited]) - 1
    parts[edited][2] += " " + filler("more", data.draw(st.sampled_from([1, 10, 100, 400])))
    after = {part.id for part in chunks_of("\n".join(line for part in parts for line in part))}
    others = [part for part in before if part.end_line < start or part.start_line > end]
    assert [part.id for part in others if part.id not in after] == []


@given(SECTIONS, st.data())
@examples(100)
def test_a_shorter_section_changes_other_chunks_only_by_joining_them(
    sections: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    parts = outline(sections)
    edited = data.draw(st.integers(0, len(parts) - 1))
    before = chunks_of("\n".join(line for part in parts for line in part))
    start = sum(map(len, parts[:edited])) + 1
    parts[edited][2] = parts[edited][2][:5]
    after = chunks_of("\n".join(line for part in parts for line in part))
    ids = {part.id for part in after}
    joined = next(part for part in after if part.start_line <= start <= part.end_line)
    for part in before:
        if part.end_line < start or part.start_line > start + 3:
            assert part.id in ids or joined.start_line <= part.start_line <= part.end_line <= joined.end_line


def test_a_small_note_is_one_chunk_below_its_heading() -> None:
    assert brief(chunks_of("# T\n\nIntro.\n\n## A\n\nOne.\n\n## B\n\nTwo.\n")) == [
        "1-11 T: T Intro. A One. B Two."
    ]


def test_small_siblings_join_below_their_parent() -> None:
    text = f"# T\n\n{filler('x', 140)}\n\n## A\n\nOne.\n\n## B\n\nTwo.\n"
    assert brief(chunks_of(text)) == ["1-3 T: T x x x x x x x x x end.", "5-11 T: A One. B Two."]


def test_a_bare_heading_joins_the_next_chunk() -> None:
    text = f"# T\n\n## A\n\n{filler('x', 140)}\n\n## B\n\n{filler('y', 140)}\n"
    assert brief(chunks_of(text)) == ["1-5 T: T A x x x x x x x x x en", "7-9 T/B: B y y y y y y y y y end."]


def test_only_the_part_with_the_heading_above_has_the_shorter_path() -> None:
    text = f"# T\n\n## A\n\n{filler('x', 150)}\n\n{filler('y', 150)}\n"
    assert brief(chunks_of(text)) == ["1-5 T: T A x x x x x x x x x en", "7-7 T/A: y y y y y y y y y end. y"]


def test_siblings_of_one_name_are_not_one_section() -> None:
    chunks = chunks_of("# Day\n\nOne.\n\n# Day\n\nTwo.\n")
    assert [part.heading_path for part in chunks] == [()]


def test_a_long_section_is_split_between_paragraphs() -> None:
    text = "\n\n".join(filler(f"w{n}", 90) for n in range(5))
    chunks = chunks_of(text)
    assert [(part.start_line, part.end_line) for part in chunks] == [(1, 1), (3, 3), (5, 5), (7, 7), (9, 9)][
        : len(chunks)
    ]
    assert all(part.text.endswith("end.") for part in chunks)


def test_a_long_line_is_split_between_sentences() -> None:
    chunks = chunks_of(filler("word", 1000))
    assert len(chunks) > 4
    assert {(part.start_line, part.end_line) for part in chunks} == {(1, 1)}
    assert all(part.text.endswith("end.") and part.text.startswith("word") for part in chunks)


def test_a_sentence_that_is_too_long_is_split_between_words() -> None:
    words = [f"number{n}" for n in range(500)]
    chunks = chunks_of(" ".join(words))
    assert [word for part in chunks for word in part.text.split()] == words


def test_chinese_is_split_between_sentences() -> None:
    chunks = chunks_of("我们今天去海边看鸟。" * 100)
    assert len(chunks) > 4
    assert all(part.text.endswith("。") for part in chunks)


def test_a_word_that_is_too_long_is_cut_outside_of_names() -> None:
    address = "https://example.org/" + "/".join(f"part{n}" for n in range(200))
    chunks = chunks_of(address)
    assert len(chunks) > 2
    assert "".join(part.text for part in chunks) == address
    assert all(part.text[-1] in "/-" for part in chunks[:-1])


def test_code_and_tables_stay_whole_where_they_fit() -> None:
    code = "```python\n" + "x = 1\n" * 40 + "```"
    table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 40
    text = f"{filler('x', 100)}\n\n{code}\n\n{filler('y', 100)}\n\n{table}"
    chunks = chunks_of(text)
    assert [part.source for part in chunks if "x = 1" in part.text] == [code]
    assert [part.source.strip() for part in chunks if "|" in part.text] == [table.strip()]


def test_long_code_and_long_lists_are_split_between_lines() -> None:
    code = "```python\n" + "".join(f"value_{n} = {n}\n" for n in range(200)) + "```"
    items = "".join(f"- item {n}\n  continued {n}\n" for n in range(100))
    chunks = chunks_of(f"{code}\n\n{items}")
    assert "\n".join(part.source for part in chunks).split() == f"{code}\n{items}".split()
    assert all(part.text.startswith(("python\nvalue_", "value_", "• item")) for part in chunks)
    assert all(
        part.text.split("\n")[-1].startswith(("value_", "continued")) for part in chunks if part.text.strip()
    )


def test_a_chunk_knows_its_code() -> None:
    (part,) = chunks_of("Before.\n\n```sh\nmake it\n```\n\n- item\n\n      indented code\n\nAfter.\n")
    assert part.code_text().split("\n") == ["sh", "make it", "", "    indented code"]
    assert "make" not in part.prose_text()
    assert "After." in part.prose_text()


def test_equal_passages_have_different_ids() -> None:
    chunks = chunks_of("\n\n".join(["# Same", filler("x", 150)] * 3))
    assert len({part.text for part in chunks}) == 1
    assert len({part.id for part in chunks}) == 3
    assert all(len(part.id) == 20 for part in chunks)


def test_ids_depend_on_the_path_and_borders_do_not() -> None:
    text = f"{filler('x', 600)}\n\n# A\n\n{filler('y', 600)}"
    one, other = chunks_of(text, "a.md"), chunks_of(text, "a very long name of a note " * 8 + ".md")
    assert [part.text for part in one] == [part.text for part in other]
    assert not {part.id for part in one} & {part.id for part in other}


@pytest.mark.parametrize("text", ["", "\n \n", "---\ntags: [a]\n---\n", "\ufeff"])
def test_a_note_without_a_body_has_no_chunk(text: str) -> None:
    assert chunks_of(text) == ()


def test_enormous_titles_aliases_and_headings_leave_room_for_the_passage() -> None:
    huge = " ".join(f"title{n}" for n in range(3000))
    text = f"---\ntitle: {huge}\naliases: [{huge}, b]\n---\n# {huge}\n\n## {huge}\n\n{filler('x', 500)}\n"
    note = parse(text, "a.md")
    assert_sound(note, chunk(note, COUNT), COUNT, 254)


@pytest.mark.parametrize(
    "front", ["\n# Title\n\nIntro", "title: Foo: Bar\nsummary: Intro", "a: 1\na: Intro", "- Intro #x [[y]]"]
)
def test_the_words_of_frontmatter_that_is_not_read_are_kept(front: str) -> None:
    note = parse(f"---\n{front}\n---\nrest\n", "n.md")
    (only,) = chunk(note, COUNT, 100)
    assert only.text.split() == [*front.split(), "---", "rest"]
    assert (only.heading_path, note.tags, note.links) == ((), (), ())


def test_lines_are_those_of_the_file() -> None:
    chunks = chunks_of("---\ntags: a\n---\n\n\n# T\n\nText.\n\n")
    assert brief(chunks) == ["6-8 T: T Text."]


def test_spans_and_headings_may_be_built_directly() -> None:
    note = Note(
        "a.md",
        "a",
        lines=("# T", "text", "stray"),
        headings=(Heading(1, "T", 1), Heading(2, "lost", 99)),
        spans=(Span("heading", 1, 1), Span("paragraph", 2, 2), Span("other", 7, 9)),
    )
    assert brief(chunk(note, COUNT)) == ["1-3 T: # T text stray"]


def test_the_last_chunk_of_a_long_section_is_not_a_leftover() -> None:
    chunks = chunks_of("\n\n".join(filler(name, 45) for name in "abcde"))
    assert [(part.start_line, part.end_line) for part in chunks] == [(1, 5), (7, 9)]


@pytest.mark.parametrize(
    "text",
    [
        "# same\n" * 3000,
        "- item\n" * 3000,
        "x " + " " * 50_000 + "y",
        "漢字" * 3000,
        "> q\n>\n" * 1000,
        "| a |\n|---|\n" + "| b |\n" * 2000,
        "👩\u200d💻" * 3000,
    ],
    ids=lambda text: text[:6],
)
def test_monotonous_notes_are_cut_soundly(text: str) -> None:
    chunks = chunks_of(text)
    assert "".join("".join(part.source.split()) for part in chunks) == "".join(text.split())
    assert all(COUNT(part.text) <= 254 and len(part.text) <= 254 * 40 for part in chunks)


@pytest.mark.parametrize(
    "text", ["w" * 300_000, "a+b/" * 50_000, "." * 200_000, "e" + "\u0301" * 150_000, '{"a":[1,2]},' * 20_000]
)
def test_a_line_of_data_is_a_few_large_passages(text: str) -> None:
    chunks = chunks_of(f"Before it.\n\n{text}\n")
    assert "".join(part.source for part in chunks[1:]) == text
    assert len(chunks) == 1 + -(-len(text) // DATA_PIECE)


@pytest.mark.parametrize("text", ["e" * 300_000, '{"a":"a word.","b":[1,2]},' * 12_000])
@pytest.mark.parametrize(
    "note", ["```json\n{}\n```\n", "```\nlet a = 1\n{}\nlet b = 2\n```\n", "- item\n  {}\n"]
)
def test_a_line_of_data_in_a_block_is_a_few_large_passages(note: str, text: str) -> None:
    chunks = chunks_of(note.format(text) if "{" not in text else note.replace("{}", text))
    assert text in "".join(part.text for part in chunks)
    assert len(chunks) <= 3 + -(-len(text) // DATA_PIECE)


THAI = "เรืออยู่ที่ท่าเรือมาสองวันแล้วแต่กัปตันยังไม่กลับบ้าน"


@pytest.mark.parametrize("between", ["", " "])
def test_a_script_that_the_model_cannot_read_has_passages_of_the_usual_length(between: str) -> None:
    chunks = chunks_of("# เรือ\n\n" + between.join([THAI] * 60))
    assert 3 <= len(chunks) <= 8
    assert max(len(part.text) for part in chunks) < 1000


def test_a_run_is_not_cut_within_a_syllable() -> None:
    for part in chunks_of(THAI * 60)[1:]:
        assert unicodedata.category(part.text[0]) == "Lo"
        assert part.text[0] not in "ะาำ"
