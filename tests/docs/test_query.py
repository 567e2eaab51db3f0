"""The examples of docs/query.md, run on the sample vault."""

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from vaultseek.content.query.fields import FIELDS
from vaultseek.content.query.grammar import parse_query
from vaultseek.content.query.operators import OPERATORS
from vaultseek.doors.cli.commands.search import search
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.filter import filter_notes
from worlds import World

PROJECT = Path(__file__).parents[2]
DOCUMENT = (PROJECT / "docs" / "query.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\| `(.+)` \| (\d+) notes?: \*(.+?)\*", DOCUMENT, re.MULTILINE)
NOW = datetime(2026, 11, 20, 12, 0)


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Iterator[Ledger]:
    home = tmp_path_factory.mktemp("sample")
    root = PROJECT / "tests" / "data" / "vault"
    with closing(World(root, home)) as world:
        yield world.ledger


@pytest.mark.parametrize(("query", "count", "note"), EXAMPLES)
def test_an_example_finds_what_the_page_says(sample, query, count, note):
    parsed = parse_query(query, now=NOW)
    found = filter_notes(parsed.filter, sample)
    assert found is not None
    titles = {
        row.path.rpartition("/")[2].removesuffix(".md")
        for row in sample.notes.by_id(found.ids.tolist()).values()
    }
    assert note in titles
    assert len(found.ids) == int(count)
    assert parsed.notes == ()


def test_the_page_names_every_operator_and_every_option():
    assert len(EXAMPLES) > 25
    for name in OPERATORS:
        assert f"`{name}:" in DOCUMENT, name
    options = {option for parameter in search.params for option in parameter.opts}
    for field in FIELDS:
        assert f"--{field.replace('_', '-')}" in options
        assert f"`--{field.replace('_', '-')} " in DOCUMENT
