"""Work for answers about a whole note or vault is linear in its size: counted, not timed."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

import hostile
from vaultseek.base.model import Place
from vaultseek.content.extractors import pdf
from vaultseek.content.markdown.resolve import Names
from vaultseek.core.graph.overview import overview
from vaultseek.core.graph.structure import Structure
from vaultseek.core.notes.complete import VaultCompleter
from vaultseek.core.notes.links import backlinks, neighbours, orphans, outgoing, unresolved
from vaultseek.core.notes.mentions import unlinked
from vaultseek.core.notes.read import block_ids
from vaultseek.core.notes.rename import Vault, rename_heading
from vaultseek.core.notes.targets import problems
from vaultseek.doors.lsp.blocks import blocks_without_id
from vaultseek.doors.lsp.documents import Text
from vaultseek.doors.lsp.guard import Change, Guard
from vaultseek.doors.lsp.labels import undefined
from vaultseek.doors.lsp.symbols import sections
from work import GROWTH, LINEAR, growth
from worlds import World, write_files

SIZE = 30


def many(number: int, *kinds: str) -> str:
    """Return the lines of each of the ``kinds``, formatted with every number below ``number``."""
    return "\n".join("\n".join(kind.format(each) for each in range(number)) for kind in kinds)


NOTES = {
    "headings": lambda n: many(n, "# Pump {0}", "\n[[#Pump {0}]]"),
    "headings that differ in signs": lambda n: many(n, "# a", "\n[[#a" + "!{0}" + "]]"),
    "headings of another note": lambda n: many(n, "# Pump {0}", "\n[[other#Pump {0}]]"),
    "missing headings": lambda n: many(n, "# Pump {0}", "\n[[#Gone {0}]]"),
    "chains": lambda n: many(n, "# a", "## b {0}", "\n[[#a#a#b {0}]] [[#a#b {0}]]"),
    "chains of other names": lambda n: many(n, "# a{0}\n## b", "\n[[#a{0}#b]] [[#a{0}#a#b]]"),
    "deep chains": lambda n: many(n, "# a\n## a\n### a\n#### a\n##### a\n###### b{0}", "\n[[#a#a#a#b{0}]]"),
    "blocks": lambda n: many(n, "Pump. ^p{0}\n", "[[#^p{0}]]"),
    "missing blocks": lambda n: many(n, "Pump. ^p{0}\n", "[[#^q{0}]]"),
    "one list item of many blocks": lambda n: "- a\n" + many(n, "\n  b ^c{0}", "\n  [[#^c{0}]]"),
    "the same line": lambda n: "- pump\n" * n,
    "one line": lambda n: "ü " + many(n, "[[gone{0}]]").replace("\n", " ") + "\n# H",
    "many passages": lambda n: many(n, "# H {0}\n\n" + "word " * 60 + "\n\n[[gone {0}]] [[other]]"),
    "code": lambda n: many(n, "```\nx\n```\n[a][b{0}] [^{0}]\n"),
    "backticks": lambda n: "[^1] " + " ".join("`" * run for run in range(1, round((50 * n) ** 0.5))),
    "nested headings": lambda n: many(n, "# a{0}\n## b{0}\n### c{0}"),
}
"""Notes of a given size, by what they contain many times."""

ASKED: dict[str, Callable[[World], Any]] = {
    "vault/problems": lambda here: problems(here.ledger, here.vault.indexer.names),
    "vault/problems of a note": lambda here: problems(
        here.ledger, here.vault.indexer.names, here.note("a.md")
    ),
    "links/outgoing": lambda here: outgoing(here.note("a.md"), here.ledger),
    "links/backlinks": lambda here: backlinks(here.note("other.md"), here.ledger),
    "links/unresolved": lambda here: unresolved(here.ledger),
    "links/unlinked": lambda here: unlinked(here.note("other.md"), here.ledger),
    "complete block": lambda here: block_ids(here.note("a.md"), here.ledger, here.root),
    "complete blocks": lambda here: VaultCompleter(here.ledger).complete_parts("block", "pump", 20),
    "vault/rename": lambda here: rename_heading(
        here.note("other.md"), "Start", "Begin", Vault(here.root, here.ledger, here.vault.indexer.names)
    ),
}


def text_of(source: str) -> Text:
    return Text(source, "a.md", PositionCodec(types.PositionEncodingKind.Utf16))


SHOWN: dict[str, Callable[[Text], Any]] = {
    "ranges of links": lambda text: [text.range(link.place) for link in text.note.links if link.place],
    "symbols and folds": lambda text: list(sections(text)),
    "counts and diagnostics": lambda text: [
        (text.anchors.heading(link.heading or ""), text.anchors.block(link.block or ""))
        for link in text.note.links
    ],
    "labels": undefined,
    "blocks without an id": lambda text: list(blocks_without_id(text)),
    "links at the end of all lines": lambda text: Guard(text).adding_links(
        [Change(Place(number, len(line), len(line)), "[[x]]") for number, line in enumerate(text.lines, 1)]
    ),
}
"""The language server's requests about a whole note."""


VAULTS = {
    "notes of one name": lambda n: {f"d{each}/x.md": "[[x]] [[gone]]" for each in range(n)},
    "notes of one name and folder": lambda n: {f"d{each}/a/x.md": "[[a/x]]" for each in range(n)},
    "notes of one alias": lambda n: {
        f"n{each}.md": f"---\naliases: A\ntags: [t{each}, t]\np{each}: {each}\np: {each}\n---\n[[A]] #u{each}"
        for each in range(n)
    },
    "a chain of notes": lambda n: {f"n{each}.md": f"# N\n[[n{each + 1}#N]] other" for each in range(n)},
    "links to one note": lambda n: (
        {f"n{each}.md": f"[[other#H {each}]] other" for each in range(n)} | {"other.md": many(n, "# H {0}")}
    ),
}
"""Vaults of a given size, by what they contain many times."""

ASKED_OF_VAULTS: dict[str, Callable[[World], Any]] = {
    "vault/problems": ASKED["vault/problems"],
    "links/unresolved": ASKED["links/unresolved"],
    "vault/tags": lambda here: VaultCompleter(here.ledger).tags(),
    "vault/properties": lambda here: VaultCompleter(here.ledger).properties(),
    "vault/orphans": lambda here: orphans(here.graph(), here.ledger),
    "complete note": lambda here: VaultCompleter(here.ledger).complete("note", "x", 20),
    "complete heading": lambda here: VaultCompleter(here.ledger).complete_parts("heading", "n", 20),
    "graph/neighbors": lambda here: neighbours(
        here.ledger.notes.by_id([1])[1], here.graph(), here.ledger, sys.maxsize, 20
    ),
    "graph/overview": lambda here: overview(
        Structure([], [], {}, []), [], here.graph(), here.ledger, 20, 0.0
    ),
    "graph/path": lambda here: here.graph().shortest(1, here.ledger.counts().notes, 3),
}


def grown(
    files: Callable[[int], Mapping[str, str]],
    size: int,
    asked: Mapping[str, Callable[[World], Any]],
    home: Path,
) -> dict[str, float]:
    """Return, for each method whose work on a vault of files is not linear, the growth of the work."""
    worlds = {
        each: World(write_files(home / f"{each}", files(each)), home / f"of{each}")
        for each in (size, GROWTH * size)
    }
    by = {name: growth(lambda size, ask=ask: partial(ask, worlds[size]), size) for name, ask in asked.items()}
    for each in worlds.values():
        each.close()
    return {name: factor for name, factor in by.items() if factor >= LINEAR}


@pytest.mark.fault("L9")
@pytest.mark.parametrize("kind", VAULTS)
def test_l9_what_is_asked_of_many_notes_takes_work_that_is_linear_in_their_number(kind, tmp_path):
    assert grown(VAULTS[kind], SIZE, ASKED_OF_VAULTS, tmp_path) == {}


@pytest.mark.fault("L9")
@pytest.mark.parametrize("kind", NOTES)
def test_l9_what_is_asked_of_a_vault_takes_work_that_is_linear_in_its_size(kind, tmp_path):
    def files(size: int) -> dict[str, str]:
        note = NOTES[kind](size)
        headings = "\n".join(line for line in note.splitlines() if line.startswith("#"))
        return {"a.md": note, "other.md": f"# Start\n{headings}\n"}

    assert grown(files, SIZE, ASKED, tmp_path) == {}


NAMESAKES = {
    "name": lambda n: ([f"d{each}/x.md" for each in range(n)], "x"),
    "folder and name": lambda n: ([f"d{each}/a/x.md" for each in range(n)], "a/x"),
    "folders": lambda n: (
        [f"s{each}/x.md" for each in range(n)] + [f"deep/{each:09}/x.md" for each in range(n)],
        "x",
    ),
    "case": lambda n: (
        [
            "".join(sign.upper() if each >> bit & 1 else sign for bit, sign in enumerate("abcdefghij"))
            + ".md"
            for each in range(n)
        ],
        "abcdefghij",
    ),
    "page": lambda n: ([f"d{each}/a___b.md" for each in range(n)], "a/b"),
}
"""Paths of files that a target may mean, by what they have in common, and the target."""


@pytest.mark.fault("L9")
@pytest.mark.parametrize("kind", [*NAMESAKES, "alias"])
def test_l9_links_to_many_files_of_one_name_take_work_that_is_linear_in_their_number(kind):
    def of(size: int) -> Callable[[], object]:
        paths, target = NAMESAKES.get(kind, NAMESAKES["name"])(size)
        aliases = ("One",) if kind == "alias" else ()
        names = Names.of((path, aliases) for path in paths)
        sources = [f"deep/{each}.md" for each in range(size)] if kind == "folders" else paths
        return lambda: [names.resolve("one" if aliases else target, source) for source in sources]

    assert growth(of, 200) < LINEAR


@pytest.mark.fault("L9", "Invariant 6")
def test_l9_the_outline_of_a_pdf_takes_work_that_is_linear_in_its_size():
    """The page has the titles as numbered lines."""

    def of(size: int) -> Callable[[], object]:
        data = hostile.pdf(f"outline {'|'.join(f'a{number}' for number in range(size))}")
        return lambda: pdf.read(data, "a.pdf")

    assert growth(of, 1000) < LINEAR


@pytest.mark.fault("L9")
@pytest.mark.parametrize("kind", NOTES)
def test_l9_what_an_editor_shows_of_a_note_takes_work_that_is_linear_in_its_size(kind):
    def of(size: int, show: Callable[[Text], Any]) -> Callable[[], object]:
        source = NOTES[kind](size)
        note = text_of(source).note  # the parser has tests of its own

        def shown() -> object:
            text = text_of(source)
            text.__dict__["note"] = note
            return show(text)

        return shown

    by = {name: growth(partial(of, show=show), SIZE) for name, show in SHOWN.items()}
    assert {name: factor for name, factor in by.items() if factor >= LINEAR} == {}
