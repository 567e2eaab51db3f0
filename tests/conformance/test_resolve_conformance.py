"""Every case of ``resolve.jsonl``: the target of a link in an Obsidian-style vault."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from vaultseek.base.model import Link
from vaultseek.content.markdown.resolve import Names, link_key, name_keys
from vaultseek.core.notes.inspect import Inspector

CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("resolve.jsonl").read_text(encoding="utf-8").splitlines()
    if line
]


def link_of(case: dict[str, Any]) -> Link | None:
    """The link as the parser would return it; None for an external URL."""
    text, kind = case["link"], case["kind"]
    if kind == "markdown" and re.match(r"[a-z][a-z0-9+.-]+:", text, re.IGNORECASE):
        return None
    if kind != "markdown":
        text = text.partition("|")[0]
    target, hash_sign, heading = text.partition("#")
    if kind == "markdown":
        target = unquote(target)
    return Link(kind, target.strip(), heading if hash_sign else None, None, None, 1)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_link_resolves_as_the_case_says(case: dict[str, Any]) -> None:
    names = Names()
    for path in case["files"]:
        names.add(path, case["aliases"].get(path, ()))
    link = link_of(case)
    found = names.resolve_link(link, case["from"]) if link else None
    assert (found.path if found else None) == case["expect"], case["why"]


@pytest.mark.parametrize("case", [case for case in CASES if case["expect"]], ids=lambda case: case["id"])
def test_a_link_listens_to_the_name_of_what_it_resolves_to(case: dict[str, Any]) -> None:
    link = link_of(case)
    assert link is not None
    aliases = case["aliases"].get(case["expect"], ())
    assert not link.target or link_key(link.target) in name_keys(case["expect"], aliases)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_same_in_a_real_vault(case: dict[str, Any], tmp_path: Path) -> None:
    for path in case["files"]:
        aliases = case["aliases"].get(path, ())
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(
            f"---\naliases: {json.dumps(aliases)}\n---\n" if aliases else "", "utf-8"
        )
    written = {"wikilink": "[[{}]]", "embed": "![[{}]]", "markdown": "[text]({})"}[case["kind"]]
    data = written.format(case["link"]).encode()
    found = Inspector(tmp_path).inspect_text(data, case["from"])
    assert ([link["resolved"] for link in found["links"]] or [None]) == [case["expect"]], case["why"]
