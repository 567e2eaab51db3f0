"""Addresses that agents read by: a note, some of its lines, a heading or a block."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.doors.addresses import Address, part, readings, section
from vaultseek.errors import NotFound

HEADINGS = [(1, "Pump", 1), (2, "Alarm", 5), (3, "The *loud* one", 7), (2, "C# notes", 9), (2, "Alarm", 12)]
NOTE = {
    "path": "Pump.md",
    "lines": 20,
    "headings": [{"level": level, "text": text, "line": line} for level, text, line in HEADINGS],
}


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("Pump", Address("Pump")),
        ("sub/Pump.md", Address("sub/Pump.md")),
        ("Pump.md:6-16", Address("Pump.md", "", 6, 16)),
        ("Pump.md:6", Address("Pump.md", "", 6, 6)),
        ("Pump.md:6-", Address("Pump.md", "", 6, None)),
        ("Pump.md#Alarm", Address("Pump.md", "Alarm")),
        ("a #1.md#Alarm", Address("a #1.md", "Alarm")),
        ("a #1.md", Address("a #1.md")),
        ("[[Pump|the pump]]", Address("Pump")),
        ("Ratio 3:2", Address("Ratio 3:2")),
    ],
)
def test_the_likeliest_reading_comes_first(name, first):
    assert next(readings(name)) == first


def test_a_name_may_be_read_in_several_ways():
    assert list(readings("[[C##Syntax]]")) == [
        Address("C##Syntax"),
        Address("C", "#Syntax"),
        Address("C#", "Syntax"),
    ]
    assert Address("Ratio 3", "", 2, 2) in readings("Ratio 3:2")


def test_a_name_of_signs_is_not_tried_without_end():
    assert len(list(readings("a" + "#" * 4000))) < 10


@given(st.text(min_size=1, max_size=40))
def test_any_name_may_be_a_note(name):
    assert Address(name.strip()) in readings(name) or name.strip().startswith(("[[", "![["))


@pytest.mark.parametrize(
    ("anchor", "lines"),
    [
        ("Alarm", (5, 8)),
        ("alarm#the loud one", (7, 8)),
        ("C# notes", (9, 11)),
        ("Pump#Alarm", (5, 8)),
        ("PUMP", (1, 20)),
    ],
)
def test_a_section_ends_before_the_next_heading_of_its_level(anchor, lines):
    address = section(anchor, NOTE)
    assert (address.note, address.first, address.last) == ("Pump.md", *lines)


def test_a_missing_heading_names_those_that_exist():
    with pytest.raises(NotFound, match=r'Pump.md has no heading "Valve"; its headings are "Pump", "Alarm"'):
        section("Valve", NOTE)
    with pytest.raises(NotFound, match="the note has no headings"):
        section("Valve", {**NOTE, "headings": []})


def test_a_block_is_found_in_any_case():
    note = {"path": "Log.md", "chunks": [{"start_line": 5, "end_line": 9, "place": None}]}
    blocks = [{"text": "p12", "line": 2}, {"text": "p1", "line": 7}]
    assert part("^P1", note, blocks) == Address("Log.md", first=5, last=9, line=7)
