"""Suggestions for Tab: the rest of an unfinished filter, or filters that narrow the results."""

import pytest

from vaultseek.content.query.filters import PropertyEquals
from vaultseek.content.query.grammar import parse_query
from vaultseek.doors.cli.live.filters import quoted, suggest

RESULTS = [
    {"path": "Projects/Sump/Float.md", "tags": ["work/pumps", "project"]},
    {"path": "Projects/Old pump.md", "tags": ["work/brakes"]},
    {"path": "Daily/2026-01-01.md", "tags": ["daily"]},
]
NAMES = {
    "tag": [{"text": "#work/pumps", "count": 3}],
    "property": [{"text": "status", "count": 12}],
    "value": [{"text": "open", "count": 7}],
    "note": [{"text": "Float Switch", "path": "Projects/Float Switch.md"}],
}


async def offered(before: str) -> list[str]:
    """Return the texts before the cursor after each suggestion."""

    async def complete(kind, params):
        asked.append((kind, params))
        return NAMES[kind]

    asked: list = []
    offers = await suggest(before, RESULTS, complete)
    return [before[: len(before) - offer.replaced] + offer.text for offer in offers]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pump tag:wo", "pump tag:work/pumps"),
        ("-tag:#wo", "-tag:#work/pumps"),
        ("a [sta", "a [status:"),
        ("[status:o", "[status:open]"),
        ("link:Flo", 'link:"Float Switch"'),
        ('x link:"Float S', 'x link:"Float Switch"'),
        ("path:Sum", "path:Projects/Sump/"),
        ("pump -kind:ca", "pump -kind:canvas"),
    ],
)
async def test_a_filter_is_completed(before, after):
    assert await offered(before) == [after]


async def test_otherwise_filters_that_some_of_the_results_pass():
    assert await offered("pump") == [
        "pump tag:work",
        "pump tag:daily",
        "pump tag:project",
        "pump tag:work/brakes",
        "pump tag:work/pumps",
        "pump path:Projects/",
        "pump path:Daily/",
        "pump path:Projects/Sump/",
    ]
    assert "pump tag:work tag:project" in await offered("pump tag:work ")
    assert "pump tag:work  tag:work" not in await offered("pump tag:work ")


async def test_kinds_are_offered_where_the_results_are_of_several():
    results = [{"path": "a.md", "kind": "note"}, {"path": "b.pdf", "kind": "pdf"}]
    offers = await suggest("pump", results, None)
    assert [offer.text for offer in offers] == [" kind:note", " kind:pdf"]


async def test_an_empty_prompt_gets_no_space_first():
    assert (await offered(""))[0] == "tag:work"


@pytest.mark.parametrize(
    "value", ["[Draft] Foo", "[[Index]]", 'say "hi] x', "this OR that", "null", ">5", "/re/"]
)
async def test_a_completed_value_is_found_as_it_is(value):
    async def complete(kind, params):
        assert params == {"text": "[Dra", "property": "aliases"}
        return [{"text": value, "count": 1}]

    before = '[aliases:"[Dra'
    (offer,) = await suggest(before, [], complete)
    query = parse_query(before[: -offer.replaced] + offer.text)
    assert query.filter == PropertyEquals("aliases", value)
    assert not query.rank_text


def test_values_are_quoted_where_the_grammar_needs_it():
    assert [quoted(value) for value in ("a/b", "a b/", 'say "x"')] == ["a/b", '"a b/"', '"say \\"x\\""']
