"""Filters evaluated in a ledger match the same notes as reading each one."""

import sqlite3
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from notes_and_queries import NOTE, PATH, QUERY
from vaultseek.base.text import fold
from vaultseek.content.query.filters import Filter, matches
from vaultseek.content.query.grammar import parse_query
from vaultseek.store.keyword.answer import those_within
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.filter import COLUMNS, LedgerFacts, filter_notes
from vaultseek.store.ledger.prefilter import FOLDED_RANGES, prefilter
from worlds import World, in_zone, write_files

NOW = datetime(2026, 10, 21, 15, 30, tzinfo=UTC)


def by_reading(condition: Filter | None, ledger: Ledger) -> list[int]:
    rows = ledger.select(f"SELECT {COLUMNS} FROM notes")
    return sorted(row[0] for row in rows if matches(condition, LedgerFacts(ledger, row)))


def paths(query: str, ledger: Ledger) -> set[str]:
    found = filter_notes(parse_query(query, now=NOW).filter, ledger)
    assert found is not None
    return {row.path for row in ledger.notes.by_id(found.ids.tolist()).values()}


SPELLINGS = {
    "sharp.md": "Die Straße ist zu.",
    "plain.md": "Die STRASSE ist zu.",
    "ligature.md": "An oﬃce with a ﬁle, all ﬂat.",
    "kelvin.md": "Kilometres on the ſtreet.",
    "composed.md": "Grüne Möhren, Ärger, \u1ebf.",
    "decomposed.md": unicodedata.normalize("NFD", "Grüne Möhren, ÄRGER, \u1ebf."),
    "korean.md": unicodedata.normalize("NFD", "한국어 문서"),
    "cyrillic.md": "ФАЙЛ и Йод",
    "greek.md": "ΘΕΌΣ Σίσυφος",
    "compat.md": "昆明 \uf90a",
    "dotted.md": "İstanbul ŉ ẚ",
}


@pytest.fixture(scope="module")
def spellings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    home = tmp_path_factory.mktemp("spellings")
    with closing(World(write_files(home / "vault", SPELLINGS), home)) as here:
        yield here.ledger


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"strasse"', {"sharp.md", "plain.md"}),
        ('"straße"', {"sharp.md", "plain.md"}),
        ('"file"', {"ligature.md"}),
        ('"office"', {"ligature.md"}),
        ('"ﬂat"', {"ligature.md"}),
        ('"kilometres"', {"kelvin.md"}),
        ('"street"', {"kelvin.md"}),
        ('"grüne möhren"', {"composed.md", "decomposed.md"}),
        ('"ärger"', {"composed.md", "decomposed.md"}),
        ('"ế"', {"composed.md", "decomposed.md"}),
        ('"한국어"', {"korean.md"}),
        ('"файл"', {"cyrillic.md"}),
        ('"йод"', {"cyrillic.md"}),
        ('"θεός"', {"greek.md"}),
        ('"σίσυφοσ"', {"greek.md"}),
        ('"金"', {"compat.md"}),
        ('"昆明"', {"compat.md"}),
        ('"i\u0307stanbul"', {"dotted.md"}),
        ("-d*", set(SPELLINGS) - {"sharp.md", "plain.md", "decomposed.md", "dotted.md"}),
    ],
)
def test_a_text_is_found_however_it_is_spelled(spellings, query, expected):
    assert paths(query, spellings) == expected


_LETTERS = st.sampled_from(
    [
        *"aeksftilnjKSu -_/3  ",
        "\u00a0",
        *"ßẞſﬀﬁﬂﬃﬅﬆŉǰẚİKÅéÉüчЧйЙσςΣό",
        *"\u0301\u0308\u0306\u0345\u0344\uf90a昆한が\U00010400",
        "\u1112\u1161\u11ab",
        "か\u3099",
    ]
)


def test_the_ranges_have_every_character_that_folds_to_others():
    letters = set(map(chr, (*range(0x80, 0xD800), *range(0xE000, sys.maxunicode + 1))))
    others = letters - {chr(number) for numbers in FOLDED_RANGES for number in numbers}
    assert not {letter for letter in others if fold(letter) not in (letter, "")}


@given(st.lists(_LETTERS, max_size=8).map("".join), st.data())
def test_a_pattern_misses_no_text(text, data):
    folded = fold(text)
    start = data.draw(st.integers(0, len(folded)))
    words = folded[start : data.draw(st.integers(start, len(folded)))]
    condition = prefilter(words, is_path=data.draw(st.booleans()))
    if condition is not None and fold(words) in folded:
        sql = f"SELECT {condition.sql('text')} FROM (SELECT ? AS text)"
        # The text stands behind the condition in SQL, but before FROM, so its value comes last.
        with sqlite3.connect(":memory:") as connection:
            assert connection.execute(sql, (*condition.values, text)).fetchone()[0]
        connection.close()


@examples(40, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(PATH, NOTE, min_size=1, max_size=5), st.lists(QUERY, min_size=5, max_size=12))
def test_filters_admit_what_reading_every_note_admits(notes, queries):
    with (
        tempfile.TemporaryDirectory() as home,
        closing(World(write_files(Path(home) / "vault", notes), Path(home))) as here,
    ):
        ledger = here.ledger
        for query in queries:
            condition = parse_query(query, now=NOW).filter
            admitted = filter_notes(condition, ledger)
            expected = by_reading(condition, ledger)
            assert (ledger.notes.ids() if admitted is None else admitted.ids.tolist()) == expected, query


def test_backlinks_and_the_count_of_each_step(world):
    from vaultseek.content.query.fields import from_fields

    ledger = world({"a.md": "[[b]] #x", "b.md": "#x", "sub/b2.md": "[[a]]", "c.md": ""}).ledger
    condition = from_fields({"linked_from": "A", "tag": "x"}, now=NOW)
    found = filter_notes(condition, ledger)
    assert found is not None
    assert found.steps == (("tag x", 2), ('linked from "A"', 1))
    assert found.ids.tolist() == by_reading(condition, ledger)
    assert filter_notes(None, ledger) is None


def test_a_filter_is_decided_once_between_two_commits_and_anew_after_one(world):
    ledger = world({"a.md": "#work", "b.md": "#home"}).ledger
    condition = parse_query("tag:work", now=NOW).filter
    first = filter_notes(condition, ledger)
    assert filter_notes(parse_query("tag:work", now=NOW).filter, ledger) is first
    world({"c.md": "#work"})
    assert paths("tag:work", ledger) == {"a.md", "c.md"}


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
def test_membership_in_the_notes_of_a_filter_is_that_of_sets(ids, allowed):
    assert those_within(ids, np.array(sorted(allowed), np.int64)) == ids & allowed
    assert those_within(ids, None) == ids


LONG = "apple " + "gravel and sand, " * 100 + "zebra"
CHINESE = "红" * 50 + "，".join(f"第{chr(0x4E00 + number)}只灰色的猫在屋顶上睡觉" for number in range(200))
STRUCTURE = {
    "long.md": f"before\n\n{LONG}\nafter",
    "chinese.md": CHINESE,
    "code.md": "# One\n\nalpha\n\n```sh\nls\n\n# remark\npwd\n```\n\nomega",
    "setext.md": "One\n===\n\nalpha\n\nTwo\n---\nomega",
    "quote.md": "> alpha\n> beta\n# Head\ngamma\n- delta\n- epsilon",
}


@pytest.fixture(scope="module")
def structure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    home = tmp_path_factory.mktemp("structure")
    with closing(World(write_files(home / "vault", STRUCTURE), home)) as here:
        yield here.ledger


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("line:(apple zebra)", {"long.md"}),
        ("block:(apple zebra)", {"long.md"}),
        ("/apple.*zebra/", {"long.md"}),
        ("/^(gravel|and|sand)/", set()),
        ("line:(before after)", set()),
        ("section:(alpha omega)", {"code.md"}),
        ("section:(two omega)", {"setext.md"}),
        ("block:(ls pwd)", {"code.md"}),
        ("block:(pwd omega)", set()),
        ("block:(alpha beta)", {"quote.md"}),
        ("block:(head gamma)", set()),
        ("block:(two omega)", set()),
        ("block:(gamma delta)", set()),
        ("block:(delta epsilon)", set()),
    ],
)
def test_lines_sections_and_blocks_are_those_of_the_file(structure, query, expected):
    assert paths(query, structure) == expected


def test_a_phrase_in_a_script_without_spaces_is_found_wherever_passages_end(structure):
    missed = [at for at in range(0, len(CHINESE) - 4, 2) if not paths(f'"{CHINESE[at : at + 4]}"', structure)]
    assert missed == []


NAMED = {
    "Daily/a.md": "---\ndue date: 2031-03-09\nkinds: [ab, cd]\n---\n"
    "# **Bold** text and [[Target|see]] it\n#work/Pumps",
    "b.md": "# Plain text\n#home\n## The **K**iln",
}


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    home = tmp_path_factory.mktemp("named")
    with closing(World(write_files(home / "vault", NAMED), home)) as here:
        yield here.ledger


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('heading:"bold text"', {"Daily/a.md"}),
        ('heading:"text and see it"', {"Daily/a.md"}),
        ('heading:"**bold** text"', {"Daily/a.md"}),
        ("heading:kiln", {"b.md"}),
        ("heading:/^(bold|plain) text/", {"Daily/a.md", "b.md"}),
        ("-heading:/^plain/", {"Daily/a.md"}),
        ("-path:/a\\.md$|x/", {"b.md"}),
        ("path:/^daily/ OR file:/^b/", {"Daily/a.md", "b.md"}),
        ("path:/daily/", {"Daily/a.md"}),
        ("tag:/^work.pumps$/", {"Daily/a.md"}),
        ('["due date":/^2031/]', {"Daily/a.md"}),
        ("-[kinds:/^d/]", {"Daily/a.md", "b.md"}),
        ("[kinds:/^c/ OR x]", {"Daily/a.md"}),
    ],
)
def test_regular_expressions_and_shown_headings(query: str, expected: set[str], named: Ledger) -> None:
    assert paths(query, named) == expected


@pytest.mark.fault("L5")
@pytest.mark.parametrize("name", ["Pacific/Kiritimati", "Europe/Berlin", "America/Los_Angeles"])
def test_l5_the_same_filter_is_decided_in_the_zone_of_each_client(world, name):
    late = "2026-03-15T23:30:00Z"
    made = world(
        {"2026-03-16.md": "", "a.md": f"---\ncreated: {late}\n---\n", "b.md": f"---\nat: {late}\n---\n"}
    )
    for query, other in (
        ("created:2026-03-16", "a.md"),
        ("[at:2026-03-16]", "b.md"),
        ("[at:>=2026-03-16]", "b.md"),
    ):
        found = {}
        for each in ("Pacific/Kiritimati", name):
            with in_zone(each):
                condition = parse_query(query).filter
                result = filter_notes(condition, made.ledger)
                assert result is not None
                assert result.ids.tolist() == by_reading(condition, made.ledger)
                found[each] = {row.path for row in made.ledger.notes.by_id(result.ids.tolist()).values()}
        assert (other in found["Pacific/Kiritimati"], other in found[name]) == (
            True,
            name != "America/Los_Angeles",
        )
        assert ("2026-03-16.md" in found[name]) is query.startswith("created")
