"""Frontmatter: its position, YAML 1.2 values, tags and aliases, and its errors."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.limits import FRONTMATTER_BYTES, FRONTMATTER_KEYS
from vaultseek.base.model import Note
from vaultseek.content.markdown.parse import parse
from vaultseek.content.markdown.yamlcore import LoadError, load


def with_block(block: str) -> Note:
    return parse(f"---\n{block}\n---\n# Body #alive\n", "n.md")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("True", True),
        ("~", None),
        ("", None),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2031-03-09", "2031-03-09"),
        ("2031-13-45T99:00", "2031-13-45T99:00"),
        (".5", 0.5),
        ("1e3", 1000.0),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("9" * 30, "9" * 30),
        ("9" * 5000, "9" * 5000),
        ("'it''s'", "it's"),
        ('"a\\tb"', "a\tb"),
        ('"\\ud800"', "\ufffd"),
        ("a\tb", "a\tb"),
        ('"a:\tb,\t# c"\t# d', "a:\tb,\t# c"),
        ("\t'it''s:\ta'", "it's:\ta"),
        ("a\u2028b", "a\u2028b"),
        ("[a, [b, 1], {c: d}]", ["a", ["b", 1], {"c": "d"}]),
        ("!!str 12", "12"),
        ("!!int 12", 12),
        ("https://ex.org:80/a#b # comment", "https://ex.org:80/a#b"),
    ],
)
def test_values_are_those_of_yaml_1_2(written: str, value: Any) -> None:
    assert with_block(f"key: {written}").frontmatter == {"key": value}


@pytest.mark.parametrize(
    ("block", "properties"),
    [
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("a: &x {k: 1}\nb:\n  <<: *x", {"a": {"k": 1}, "b": {"<<": {"k": 1}}}),
        ("2031: a\nnull: b\ntrue: c", {"2031": "a", "null": "b", "true": "c"}),
        ("a: |\n  b\n  --- c\nd: >-\n  e\n  f", {"a": "b\n--- c\n", "d": "e f"}),
        ('{\n\t"a": ["b"]\n}', {"a": ["b"]}),
        ("a b: c\n名: 山", {"a b": "c", "名": "山"}),
        ("a:\tb\t\nc: d", {"a": "b", "c": "d"}),
        ("# only a remark", {}),
        ("", {}),
    ],
)
def test_documents(block: str, properties: dict[str, Any]) -> None:
    note = with_block(block)
    assert note.frontmatter == properties
    assert not note.problems


BOMB = "\n".join(
    [f"a0: &a0 [{','.join(['x'] * 9)}]"]
    + [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
)


@pytest.mark.fault("D8")
@pytest.mark.parametrize(
    "block",
    [
        "a: [",
        'a: "b',
        "a: b: c",
        "a: {{title}}",
        "\ta: b",
        "a: @b",
        "a: *nowhere",
        "a: !!python/object/apply:os.system [x]",
        "a: !mine b",
        "a: 1\na: 2",
        "? [a]\n: b",
        "just text #no",
        "- a\n- b",
        "42",
        "a: b\n...\nc: d",
        BOMB,
        "a: &a [*a]",
        f"a: &a {'x' * 60_000}\nb: [{', '.join(['*a'] * 20)}]",
        "a: " + "[" * 17 + "]" * 17,
        "a: " + "[x, " * 40 + "]" * 40,
        "\n".join(f"{' ' * n}a:" for n in range(20)),
        "\n".join(f"k{n}: {{a: 1}}" for n in range(FRONTMATTER_KEYS)),
        '"\\UFFFFFFFF": b',
    ],
)
def test_invalid_frontmatter_is_reported_and_the_body_is_read(block: str) -> None:
    note = with_block(block)
    assert note.frontmatter == {}
    assert [problem.code for problem in note.problems] == ["bad_frontmatter"]
    assert note.tags == ("alive",)
    assert note.headings[0].line == note.body_line == block.count("\n") + 4
    assert 1 <= (note.problems[0].line or 0) < note.body_line


def test_a_placeholder_of_a_template_is_reported_with_what_to_do() -> None:
    (problem,) = with_block("title: a\ncreated: {{date}}").problems
    told = "the frontmatter was not read: quotes are missing around a value that begins with { or ["
    assert (problem.message, problem.line) == (told, 3)


def test_a_block_beyond_the_bound_is_skipped() -> None:
    note = with_block("a: " + "x" * FRONTMATTER_BYTES)
    assert [problem.code for problem in note.problems] == ["frontmatter_too_large"]
    assert note.tags == ("alive",)


@pytest.mark.parametrize(
    ("text", "body_line", "properties"),
    [
        ("---\na: b\n---", 4, {"a": "b"}),
        ("\ufeff---\r\na: b\r\n---\r\n", 4, {"a": "b"}),
        ("---  \na: b\n---\t\nx", 4, {"a": "b"}),
        ("\n---\na: b\n---\n", 1, {}),
        ("----\na: b\n----\n", 1, {}),
        (" ---\na: b\n---\n", 1, {}),
        ("---\n\nrule, no frontmatter\n", 1, {}),
        ("---\na: b\n ---\n---x\n", 1, {}),
    ],
)
def test_position_of_frontmatter(text: str, body_line: int, properties: dict[str, Any]) -> None:
    note = parse(text, "n.md")
    assert (note.body_line, note.frontmatter) == (body_line, properties)


def test_an_open_block_is_a_problem_only_if_it_looks_like_properties() -> None:
    assert [it.code for it in parse("---\na: b\n\ntext\n", "n.md").problems] == ["bad_frontmatter"]
    assert not parse("---\ntext\n", "n.md").problems


@pytest.mark.parametrize(
    ("block", "tags", "aliases"),
    [
        ("tags: [a, b/c]\naliases: [X, Y z]", ("a", "b/c"), ("X", "Y z")),
        ("tags: a, b c", ("a", "b", "c"), ()),
        ("TAG: '#a'\nAlias: X, Y", ("a",), ("X", "Y")),
        ("tags:\n  - '#a'\n  - b c\n  - d,e\n  - 2031\n  - '2031'\n  - true\n  -", ("a", "d", "e"), ()),
        ("aliases:\n  - 2031\n  - ' X '\n  - ''", (), ("X",)),
        ("tags:\naliases: []", (), ()),
        ("meta:\n  tags: [a]", (), ()),
    ],
)
def test_tags_and_aliases(block: str, tags: tuple[str, ...], aliases: tuple[str, ...]) -> None:
    note = with_block(block)
    assert (note.tags, note.aliases) == ((*tags, "alive"), aliases)


scalars = st.one_of(
    st.sampled_from(
        ["", "a b", "no", "010", "1.5", "2031-01-02", "12:30", "true", "~", "a:b", "a: b", "a #b", "a#b"]
    ),
    st.sampled_from(
        ['"q: #x"', "'s'", '"a\\n"', "[a, b]", "[]", "[a,, b]", "{}", "-", "- a", "*a", "é x", "0x1f", "…"]
    ),
    st.text(st.sampled_from("ab01 :#-'\"[],.é_/"), max_size=8),
)
keys = st.one_of(
    st.sampled_from(["a", "b-c", "tags", "null", "a b"]), st.text(st.sampled_from("ab_ -1"), max_size=3)
)
block_lines = st.one_of(
    st.builds("{}: {}".format, keys, scalars),
    st.builds("{}:{}".format, keys, scalars),
    st.builds("{}- {}".format, st.sampled_from(["", "  ", "    "]), scalars),
    st.sampled_from(["", "# c", "  continued"]),
)


@pytest.mark.fault("D9")
@given(st.one_of(st.text(), st.lists(block_lines, max_size=8).map("\n".join)))
def test_any_text_is_rejected_or_json(text: str) -> None:
    try:
        value = load(text).value
    except LoadError:
        return
    again = json.loads(json.dumps(value, allow_nan=False))
    assert again == value
    assert not any(isinstance(number, float) and math.isinf(number) for number in [value])
    json.dumps(value, ensure_ascii=False).encode()
