"""Kinds of questions, and the weight of each lane for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.content.query.grammar import parse_query
from vaultseek.content.query.profile import (
    FIXED_PROFILES,
    Profile,
    Weights,
    count_words,
    find_identifiers,
    profile_query,
)
from vaultseek.errors import BadQuery


def of(text: str) -> Profile:
    return profile_query(parse_query(text))


def identifiers(text: str) -> list[str]:
    return [text[start:end] for start, end in find_identifiers(text)]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "D40",
            "E-4107",
            "K8S",
            "H2O",
            "utf8",
            "GPT-4o",
            "COVID-19",
            "snake_case",
            "__init__",
            "_private",
            "MAX_SIZE",
        ),
        *(
            "camelCase",
            "parseHTMLText",
            "HttpServer",
            "os.path.join",
            "notes.md",
            "std::vector",
            "main()",
            "C++",
            "C#",
        ),
        *(
            "30 CFR 75.1725",
            "30 CFR 75.1725(a)",
            "42 U.S.C. 1983",
            "§ 75.1725",
            "RFC 2616",
            "ISO 27001",
            "#1234",
        ),
        *(
            "#project/alpha",
            "v1.2.3",
            "3.11",
            "1.2.3-rc1",
            "75.1725",
            "2026-01-15",
            "src/app/main.py",
            "/etc/passwd",
        ),
        *("~/notes.md", "./run", "a/b/c", "C:\\notes\\x", "https://x.org/a?b=c", "0xDEAD", "f896fac"),
        *("123e4567-e89b-12d3-a456-426614174000", "M8x40", "9X-77", "7Z-004B"),
        *("UN 1203", "UN-1203", "AS 9100", "A-12", "A-1/12", "a1/12", "HDMI-2.1", "HDMI2.1", "hdmi2.11"),
    ],
)
def test_identifiers_are_found_whole(name):
    assert identifiers(f"about {name} now") == [name]
    assert of(name).pure_identifier
    assert of(name).specificity == 1.0


@pytest.mark.parametrize("text", ["5 mg", "0,5mg", "100%", "10 °C"])
def test_a_quantity_is_an_identifier_if_it_is_the_whole_query(text):
    assert of(text).pure_identifier
    assert identifiers(f"about {text} now") == []


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Aboleth",
            "safety",
            "state-of-the-art",
            "open-source",
            "and/or",
            "TCP/IP",
            "18-year-old",
            "mid-1990s",
            "2nd",
        ),
        *(
            "90s",
            "2024",
            "e.g.",
            "U.S.",
            "don't",
            "it's",
            "deadbeef",
            "IN 1999",
            "THE 7",
            "YOU WERE 300 OR 100",
            "3/4",
            "ran 5 km",
            "/slip/",
            "1620-21",
            "and-9",
            "A.De",
            "安全",
        ),
    ],
)
def test_ordinary_words_and_numbers_are_no_identifiers(text):
    assert identifiers(text) == []
    assert not of(text).pure_identifier


@pytest.mark.parametrize(
    ("text", "words", "specificity", "pure"),
    [
        ("D40", 1, 1.0, True),
        ("D40 D41", 2, 1.0, True),
        ("X.25使用哪种网络类型", 5, 0.2, False),
        ("the D40", 2, 1.0, False),
        ("Tell me about D40", 4, 1.0, False),
        ("What are the safety requirements?", 5, 0.0, False),
        ("Aboleth", 1, 0.0, False),
        ("30 CFR 75.1725", 3, 1.0, True),
        ("E-4107 overspeed trip", 3, 1 / 3, False),
        ("", 0, 0.0, False),
        ("安全要求", 2, 0.0, False),
    ],
)
def test_words_and_specificity(text, words, specificity, pure):
    found = of(text)
    assert (found.words, found.specificity, found.pure_identifier) == (
        words,
        pytest.approx(specificity),
        pure,
    )


@pytest.mark.parametrize(
    ("text", "name", "weights"),
    [
        ("rope", "short", Weights(0.5, 1.5, 0.7)),
        ("rope inspection", "short", Weights(0.5, 1.5, 0.7)),
        ("how to inspect ropes", "middle", Weights(1.0, 1.0, 0.7)),
        ("how often must a rope be inspected", "long", Weights(1.5, 0.5, 0.7)),
        ("Tell me about D40", "specific", Weights(0.5, 1.5, 0.3)),
        ("please tell me all there is about the D40", "specific", Weights(0.5, 1.5, 0.3)),
        ("why does relay D40 trip at low speed", "long", Weights(1.5, 0.5, 0.7)),
        ("why does relay D40 trip so very often", "mixed", Weights(1.0, 1.0, 0.5)),
        ("overspeed E-4107", "mixed", Weights(0.5, 1.5, 0.5)),
    ],
)
def test_the_table_by_length(text, name, weights):
    found = profile_query(parse_query(text), "length")
    assert (found.name, found.weights) == (name, weights)


@pytest.mark.parametrize(
    ("text", "name", "weights"),
    [
        ("rope", "plain", Weights(1.0, 1.0, 0.7)),
        ("how often must a rope be inspected", "plain", Weights(1.0, 1.0, 0.7)),
        ("Tell me about D40", "specific", Weights(0.5, 1.5, 0.3)),
        ("overspeed E-4107", "mixed", Weights(1.0, 1.0, 0.5)),
    ],
)
def test_by_default_only_identifiers_move_the_weights(text, name, weights):
    assert (of(text).name, of(text).weights) == (name, weights)


def test_named_profiles_keep_what_was_found_out():
    code = profile_query(parse_query("D40"), "code")
    assert (code.name, code.weights, code.pure_identifier) == ("code", Weights(0.7, 1.3, 0.35), True)
    assert FIXED_PROFILES["conceptual"] == Weights(1.5, 0.5, 0.75)
    assert FIXED_PROFILES["balanced"] == Weights(1.0, 1.0, 0.5)


def test_an_unknown_profile_is_refused():
    with pytest.raises(BadQuery, match="conceptual"):
        profile_query(parse_query("rope"), "clever")


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("Tell me about D40 and E-4107 or D40", ("d40", "e-4107")),
        ('why "Square Rig"', ("square rig",)),
        ("Aboleth", ("aboleth",)),
        ("aboleth", ("aboleth",)),
        ("the", ()),
        ("safety requirements", ()),
        ("D40 -E-4107 tag:K8S", ("d40",)),
    ],
)
def test_anchors(text, anchors):
    assert of(text).anchors == anchors


@pytest.mark.parametrize(
    ("text", "words"), [("", 0), ("a-b it's c", 3), ("? - !", 0), ("索道 rope", 2), ("索", 1)]
)
def test_counting_words(text, words):
    assert count_words(text) == words


@given(st.text(alphabet="aB1_-./:#(§ \\~+x安", max_size=200))
def test_identifiers_lie_in_order_and_apart(text):
    at = 0
    for start, end in find_identifiers(text):
        assert at <= start < end <= len(text)
        at = end


@given(st.text(max_size=80))
def test_every_query_has_a_profile(text):
    found = of(text.replace("(", " "))
    assert 0.0 <= found.specificity <= 1.0
    assert found.words >= 0
    assert not found.pure_identifier or found.specificity == 1.0
