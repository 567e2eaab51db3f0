"""Suggestions for Tab: the rest of an unfinished filter, or filters that narrow the results."""

from collections.abc import Sequence

from vaultseek.base.model import JSON
from vaultseek.doors.cli.live.filters import suggest

RESULTS = [
    {"path": "Projects/Sump/Float.md", "tags": ["work/pumps", "project"]},
    {"path": "Projects/Old pump.md", "tags": ["work/brakes"]},
    {"path": "Daily/2026-01-01.md", "tags": ["daily"]},
]


async def offered(before: str, items: Sequence[JSON] = ()) -> list[str]:
    """Return, for each suggestion, the text before the cursor once it is accepted."""

    async def complete(text):
        assert text == before
        return items

    offers = await suggest(before, RESULTS, complete)
    return [before[: len(before) - offer.replaced] + offer.text for offer in offers]


async def test_what_the_daemon_completes_comes_alone():
    items = [{"text": "work/pumps", "replaces": 2, "count": 3}]
    assert await offered("pump tag:wo", items) == ["pump tag:work/pumps"]


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

    async def complete(text):
        return []

    offers = await suggest("pump", results, complete)
    assert [offer.text for offer in offers] == [" kind:note", " kind:pdf"]


async def test_an_empty_prompt_gets_no_space_first():
    assert (await offered(""))[0] == "tag:work"
