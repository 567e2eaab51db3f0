"""After the edits of any rename, every link leads to its old target, and nothing else has changed."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from other_reader import find_heading, fold
from renamed_headings import HeadingJudge, HeadingMaker
from renamed_vaults import Judge, Maker, applied
from vaultseek.core.notes.rename import Vault, rename_heading, rename_notes, rename_tag
from vaultseek.errors import UsageError
from worlds import World, write_files

RENAMES = 12
"""Number of renames per vault."""


def faults(seed: int, home: Path) -> Iterator[str]:
    """Yield the faults after renames in the vault with this number."""
    maker = Maker(seed)
    made = maker.vault()
    judge = Judge(made)
    with closing(World(write_files(home / "vault", made.on_disk()), home)) as here:
        for moves in (maker.moves(made) for _ in range(RENAMES)):
            indexer = here.vault.indexer
            place = Vault(here.root, here.ledger, indexer.names, indexer.skips)
            try:
                edits = rename_notes(moves, place)
            except UsageError:  # of a name that no link can have
                continue
            yield from (f"{moves}: {fault}" for fault in judge.faults(moves, edits, place.left))


@pytest.mark.fault("K11", "L11")
@pytest.mark.parametrize("seed", range(24))
def test_l11_after_any_rename_every_link_leads_where_it_did(seed, tmp_path):
    assert [*faults(seed, tmp_path)] == []


@pytest.mark.long
@pytest.mark.fault("K11", "L11")
@pytest.mark.parametrize("start", range(1000, 1400, 20))
def test_l11_after_thousands_of_renames_every_link_leads_where_it_did(start, tmp_path):
    for seed in range(start, start + 20):
        for number, find in enumerate((faults, faults_of_headings, faults_of_tags)):
            (home := tmp_path / f"{seed}-{number}").mkdir()
            assert [*find(seed, home)] == []


def faults_of_headings(seed: int, home: Path) -> Iterator[str]:
    """Yield the faults after headings are renamed in the vault with this number."""
    maker = HeadingMaker(seed)
    made = maker.vault()
    judge = HeadingJudge(made)
    with closing(World(write_files(home / "vault", made.on_disk()), home)) as here:
        for path, text, new in [*maker.renames(made)]:
            at = find_heading(text, judge.headings[path])
            if at is None or not judge.may_be(path, new):
                continue
            place = Vault(here.root, here.ledger, here.vault.indexer.names)
            row = here.ledger.notes.by_path(path)
            assert row is not None
            try:
                edits = rename_heading(row, text, new, place)
            except UsageError:  # of a heading of several lines, or a text that no heading can have
                continue
            yield from (
                f"{path}, {text!r}: {fault}" for fault in judge.faults(path, at, new, edits, place.left)
            )


@pytest.mark.fault("K11", "L11")
@pytest.mark.parametrize("seed", range(12))
def test_l11_after_a_heading_is_renamed_every_link_leads_where_it_did(seed, tmp_path):
    assert [*faults_of_headings(seed, tmp_path)] == []


TAGS = ("work", "Work/Pumps", "workshop", "WORK", "work-2", "tea", "Über", "über/x", "🧗")
PLACES = (
    *(
        "#{} x",
        "- [ ] a #{}",
        "> > q #{}, b",
        "| a | #{} |\n| --- | --- |\n| x #{} | b |",
        "# Head #{}",
        "x\ny #{}\n===",
    ),
    *(
        "**b** (#x) #{}",
        "[[a|x]] #{}",
        "- a\n  1. b\n     #{}",
        "> [!tip] T #{}\n> #{}",
        "up:: #{}",
        "[a #{}](b.md)",
    ),
    *("`#work`", "\\#work", "https://a.b/#work", "```\n#work\n```", "a#work", "$#work$", "y\n\n    #work"),
)
FRONT = (
    *(
        "tags: [{}, {}]",
        "tags:\n  - {}\n  - '#{}'\n  - x",
        "Tags: {}, y {}",
        'tag: "{}"',
        "tags:\n- {} # work\nx: work",
    ),
    *("tags: '#{} z'", "x: work", "aliases: [work]\ntags: {}", "tags: >-\n  {} {}", "tags: &a [{}]"),
)


def faults_of_tags(seed: int, home: Path) -> Iterator[str]:
    """Yield the faults after tags are renamed in the vault with this number."""
    pick = random.Random(seed)

    def text(old: str, new: str, tags: Sequence[str], front: str, body: Sequence[str]) -> str:
        written = iter(tags)

        def tag(_: re.Match[str]) -> str:
            each = next(written)
            is_below = f"{fold(each)}/".startswith(f"{fold(old)}/")
            return new + each[len(old) :] if old and is_below else each

        own = re.sub("{}", tag, "\n\n".join(body))
        return f"---\n{re.sub('{}', tag, front)}\n---\n{own}\n" if front else f"{own}\n"

    def card(text: str) -> str:
        return json.dumps({"nodes": [{"id": "a", "type": "text", "text": text}]}, ensure_ascii=False)

    made = {}
    for number in range(6):
        tags = [pick.choice(TAGS) for _ in range(60)]
        front = pick.choice(FRONT) if number else ""
        made[f"{number}.md"] = tags, front, [pick.choice(PLACES) for _ in range(pick.randint(0, 8))]
    made["m.canvas"] = tags, "", ["word", *PLACES]

    def files(old: str, new: str) -> dict[str, str]:
        return {
            path: (card if path == "m.canvas" else str)(text(old, new, *parts))
            for path, parts in made.items()
        }

    before = files("", "")
    with closing(World(write_files(home / "vault", before), home)) as here:
        for old, new in product(("work", "tea", "über", "work/pumps"), ("job", "a/b", "🚀", "x-y_z")):
            place = Vault(here.root, here.ledger, here.vault.indexer.names)
            edits = rename_tag(old, new, place)
            for path, wanted in files(old, new).items():
                after = applied(before[path], (edit for edit in edits if edit.path == path))
                if after != wanted:
                    yield f"{path}, {old!r} to {new!r}: {after!r} instead of {wanted!r}"
            yield from (f"{path} is left" for path in place.left)


@pytest.mark.fault("K11", "L11")
@pytest.mark.parametrize("seed", range(6))
def test_l11_after_a_tag_is_renamed_it_and_no_other_has_changed(seed, tmp_path):
    assert [*faults_of_tags(seed, tmp_path)] == []
