import hashlib
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vaultseek.base.limits import HEADER_SHARE
from vaultseek.content.markdown.embedding_text import (
    EmbeddingText,
    compact,
    fit,
    heading_line,
    headings_room,
    names_room,
    note_text,
    passage_text,
)
from vaultseek.content.markdown.property_text import property_lines
from vaultseek.semantic.models.directories import bundled_directory
from vaultseek.semantic.models.tokens import TokenCounter

COUNT = TokenCounter.from_tokenizer_file(bundled_directory() / "tokenizer.json")


def passage(**fields: Any) -> EmbeddingText:
    values: dict[str, Any] = {
        "title": "Reef",
        "title_is_name": False,
        "aliases": (),
        "heading_path": (),
        "text": "Fish live in the reef all year.",
        "count": COUNT,
        "window": 254,
    }
    return passage_text(**(values | fields))


def whole(**fields: Any) -> EmbeddingText:
    values: dict[str, Any] = {
        "title": "Reef",
        "title_is_name": False,
        "aliases": (),
        "tags": (),
        "description": "",
        "opening": "Fish live in the reef all year.",
        "count": COUNT,
        "window": 254,
    }
    return note_text(**(values | fields))


def test_a_passage_is_title_aliases_heading_path_and_text() -> None:
    result = passage(aliases=("AR", "Wreck"), heading_path=("Life", "Fish"), text="Fish\n\nThey  swim.")
    assert result.text == "Reef\nAR, Wreck\nLife > Fish\nFish\nThey swim."


def test_a_note_is_title_aliases_tags_description_and_opening() -> None:
    result = whole(
        aliases=("AR",), tags=("sea/fish", "dive"), description="A wreck.", opening="Reef\n\nIt lies deep."
    )
    assert result.text == "Reef\nAR\nsea/fish, dive\nA wreck.\nIt lies deep."


def test_properties_in_words_are_part_of_a_note() -> None:
    properties = property_lines(
        {
            "role": "Product manager",
            "created": "2026-03-01",
            "id": "X9kQ2vTz7",
            "url": "https://example.org/some/page",
            "publish": True,
            "team": ["[[Core|core team]]", "Ops"],
            "description": "A wreck.",
            "tags": ["sea"],
            "城市": "北京",
        }
    )
    result = whole(tags=("sea",), description="A wreck.", properties=properties)
    assert result.text == (
        "Reef\nsea\nA wreck.\nrole: Product manager\nteam: core team, Ops\n城市: 北京\n"
        "Fish live in the reef all year."
    )
    assert result.key != whole(tags=("sea",), description="A wreck.").key


def test_long_properties_leave_room_for_the_text() -> None:
    text = whole(properties=property_lines({"log": "many words of it " * 99})).text
    assert COUNT(text) < 254 / 4
    assert text.endswith("Fish live in the reef all year.")


def test_a_heading_equal_to_the_title_is_not_repeated() -> None:
    assert passage(heading_path=("Reef", "Fish")).text.startswith("Reef\nFish\n")


@pytest.mark.parametrize("by_name", [False, True])
def test_texts_with_equal_keys_are_equal(by_name: bool) -> None:
    made = [
        make(title=title, title_is_name=by_name, aliases=aliases)
        for make in (passage, whole)
        for title in ("Old", "New", " ")
        for aliases in ((), ("New",))
    ]
    assert len(set(made)) == len({each.key for each in made})


def test_a_text_without_title_does_not_get_the_vector_that_0_1_0_stored_for_one_with_a_title() -> None:
    text = passage(title=" ", title_is_name=True)
    former = hashlib.sha256(f"1\0\0{text.text}".encode()).hexdigest()
    assert text.key != former


@pytest.mark.parametrize(
    ("file_name", "first_line"),
    [
        ("sea.wrecks.great-reef", "Reef (sea wrecks great reef)"),
        ("暗礁", "Reef (暗礁)"),
        ("2031-03-09", "Reef"),
        ("a36p3", "Reef"),
        (None, "Reef"),
    ],
)
def test_a_file_name_in_words_stands_beside_another_title(file_name: str | None, first_line: str) -> None:
    for make in (passage, whole):
        named = make(file_name=file_name)
        assert named.text.startswith(f"{first_line}\n")
        assert (named.key == make().key) == (first_line == "Reef")


def test_empty_notes_do_not_share_a_vector() -> None:
    empty = {"title_is_name": True, "opening": "• "}
    assert whole(title="Apples", **empty).key != whole(title="Rockets", **empty).key


@pytest.mark.parametrize(
    "change", [{"text": "Other fish live there."}, {"aliases": ("AR",)}, {"heading_path": ("Life",)}], ids=str
)
def test_every_other_field_is_in_the_key(change: dict[str, Any]) -> None:
    assert passage(**change).key != passage().key
    assert passage(**change, title_is_name=True).key != passage(title_is_name=True).key


def test_an_address_that_is_not_embedded_is_not_in_the_key() -> None:
    one = passage(text="See https://www.example.org/map?size=9#top of the reef.")
    assert one.key == passage(text="See http://example.org/map?size=1 of the reef.").key
    assert one.text.endswith("See example.org/map of the reef.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("• one\n2) two\n   • three", "one\ntwo\nthree"),
        ("a | b\n\n1 | 2", "a b\n1 2"),
        ("a|b x || y", "a|b x || y"),
        ("  if x:\n\ty  =  1", "if x:\ny = 1"),
        ("• ", ""),
    ],
)
def test_signs_of_lists_and_tables_and_white_space_are_not_embedded(text: str, expected: str) -> None:
    assert compact(text) == expected


TEXT = st.text() | st.lists(
    st.sampled_from(["word", "[[a|b]]", "**x**", "漢字", "\n", " ", "`c`", "#", "|"])
).map("".join)


@given(
    TEXT,
    st.lists(TEXT, max_size=5),
    st.lists(TEXT, max_size=4),
    TEXT,
    st.sampled_from([32, 100, 254]),
    st.booleans(),
)
@example("t " * 500, ["a " * 300, "b"], ["h " * 400, "i " * 90], "w " * 900, 254, True)
@settings(deadline=None)
def test_no_text_is_longer_than_the_window(
    title: str, aliases: list[str], path: list[str], text: str, window: int, by_name: bool
) -> None:
    name = None if by_name else text
    values = {
        "title": title,
        "title_is_name": by_name,
        "aliases": aliases,
        "window": window,
        "file_name": name,
    }
    result = passage(**values, heading_path=path, text=text)
    assert COUNT(result.text) <= window
    result = whole(**values, tags=path, description=text, opening=text + title)
    assert COUNT(result.text) <= window


@given(st.lists(TEXT, max_size=5), TEXT)
@settings(deadline=None)
def test_text_that_a_chunk_has_room_for_is_not_cut(path: list[str], text: str) -> None:
    text = fit(text, COUNT, 254 - names_room(254) - headings_room(254))
    result = passage(title="t " * 99, aliases=("a " * 15,), heading_path=path, text=text)
    assert result.text.endswith(compact(text))


def test_the_heading_path_loses_its_outer_headings_first() -> None:
    line = heading_line(["outer " * 60, "middle", "inner"], COUNT, 254)
    assert line == "middle > inner"
    assert heading_line(["inner " * 99], COUNT, 254) == ("inner " * 99)[: 6 * headings_room(254)].strip()


def test_the_header_has_its_share() -> None:
    assert names_room(254) + headings_room(254) == int(254 * HEADER_SHARE)


@given(st.text(), st.integers(0, 30))
@settings(deadline=None)
def test_fit_gives_a_beginning_that_fits(text: str, room: int) -> None:
    prefix = fit(text, COUNT, room)
    assert COUNT(prefix) <= room
    assert text.strip().startswith(prefix)


@given(TEXT | st.lists(st.sampled_from(["a", "unusual", "\x1c", "\u2028", "\x0b", " ", "\n"])).map("".join))
@example("one\x1ctwo three")
@settings(deadline=None)
def test_fit_is_the_same_whether_counts_add_up_or_not(text: str) -> None:
    for room in range(12):
        assert fit(text, COUNT, room) == fit(text, lambda part: COUNT(part), room)


def test_fit_cuts_between_words_if_it_can() -> None:
    assert fit("one two three", COUNT, 2) == "one two"
    assert fit("a/b/c/d", COUNT, 3) == "a/b"
