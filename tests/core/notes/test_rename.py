"""Renaming: afterwards every link leads to the same note as before, and nothing else has changed."""

import json
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from vaultseek.content.markdown.parse import parse
from vaultseek.content.markdown.resolve import Names
from vaultseek.content.markdown.spelling import linkable_heading
from vaultseek.core.notes.rename import (
    Edit,
    Vault,
    all_moves,
    as_moves,
    file_name,
    rename_heading,
    rename_notes,
    rename_tag,
)
from vaultseek.errors import NotFound, UsageError
from worlds import World, write_files

FILES = ("a.md", "b.md", "x/a.md", "x/c.md", "y/x/a.md", "y/p.png")
TARGETS = (
    *("a", "b", "c", "x/a", "y/x/a", "/a", "/x/c", "./a", "../a", "a.md", "p.png", "old", "C"),
    *("x/c.md", "../x/c.md", "nowhere"),
)
LINKS = st.one_of(
    st.sampled_from(TARGETS).map(lambda target: f"[[{target}]]"),
    st.sampled_from(TARGETS).map(lambda target: f"[[{target}#H|t]]"),
    st.sampled_from(TARGETS).map(lambda target: f"[t]({target})"),
    st.sampled_from(TARGETS).map(lambda target: f"`[[{target}]]`"),
)


def vault_of(world) -> Vault:
    return Vault(world.root, world.ledger, world.vault.indexer.names)


def applied(files: Mapping[str, str], edits: list[Edit]) -> dict[str, str]:
    """Apply edits as an editor does: the last edit of a line first."""
    texts = {path: text.split("\n") for path, text in files.items()}
    for edit in sorted(edits, key=lambda edit: (edit.path, edit.place), reverse=True):
        number, start, end = edit.place
        line = texts[edit.path][number - 1]
        assert line[start:end] == edit.old
        texts[edit.path][number - 1] = line[:start] + edit.new + line[end:]
    return {path: "\n".join(lines) for path, lines in texts.items()}


def resolved(files: Mapping[str, str]) -> dict[str, list[str | None]]:
    names = Names()
    for path, text in files.items():
        names.add(path, parse(text, path).aliases)
    return {
        path: [names.resolve_link(link, path).path for link in parse(text, path).links]
        for path, text in files.items()
        if path.endswith(".md")
    }


@examples(30)
@given(
    st.lists(st.lists(LINKS, max_size=4), min_size=6, max_size=6),
    st.sampled_from([*FILES, "x", "y"]),
    st.sampled_from(["new.md", "z/new.md", "x/new.md", "c.md", "y/new.md"]),
)
def test_after_a_rename_every_link_leads_to_the_same_file(links, old, new):
    if old in ("x", "y"):
        new = new.removesuffix(".md")
    texts = {path: " ".join(own) + "\n" for path, own in zip(FILES, links, strict=True)}
    texts["b.md"] = f"---\naliases: [old]\n---\n{texts['b.md']}"
    before = resolved(texts)
    with TemporaryDirectory() as place:
        here = World(write_files(Path(place) / "vault", texts), Path(place))
        with closing(here):
            moves = all_moves({old: new}, here.vault.indexer.names)
            after = applied(texts, rename_notes({old: new}, vault_of(here)))
    moved = {moves.get(path, path): text for path, text in after.items()}
    for path, targets in resolved(moved).items():
        source = next((was for was, now in moves.items() if now == path), path)
        for was, now in zip(before.get(source, targets), targets, strict=True):
            assert was is None or now == moves.get(was, was) or source not in before


def test_only_the_targets_of_links_change(world):
    texts = {
        "Pump.md": "# Pump\n[[#Alarm]]\n",
        "n.md": "- 🧗 [[pump#Alarm|the pump]] `[[Pump]]` ![[Pump]] [p](Pump.md) [r][r] \\[[Pump]]\n"
        "\n[r]: Pump.md\n",
        "t.md": "---\nup: '[[Pump]]'\n---\n| a | [[Pump\\|b]] |\n| --- | --- |\n",
    }
    here = world(texts)
    after = applied(texts, rename_notes({"Pump.md": "sub/Big valve.md"}, vault_of(here)))
    assert after == {
        "Pump.md": "# Pump\n[[#Alarm]]\n",
        "n.md": "- 🧗 [[Big valve#Alarm|the pump]] `[[Pump]]` ![[Big valve]] [p](sub/Big%20valve.md) [r][r]"
        " \\[[Pump]]\n"
        "\n[r]: sub/Big%20valve.md\n",
        "t.md": "---\nup: '[[Big valve]]'\n---\n| a | [[Big valve\\|b]] |\n| --- | --- |\n",
    }


@pytest.mark.parametrize(
    ("settings", "moves", "after"),
    [
        ({}, {"img": "x/img"}, "![i](../x/img/p.png) ![[p.png]] [t](Tea.md) [r]\n\n[r]: ../a/b/See.md"),
        ({}, {"a/n.md": "n.md"}, "![i](img/p.png) ![[p.png]] [t](a/Tea.md) [r]\n\n[r]: a/b/See.md"),
        (
            {},
            {"a/Tea.md": "Tea.md"},
            "![i](../img/p.png) ![[p.png]] [t](../Tea.md) [r]\n\n[r]: ../a/b/See.md",
        ),
        ({".obsidian/app.json": "{}"}, {"a/Tea.md": "Tea.md"}, None),
        (
            {".obsidian/app.json": "{}"},
            {"a/b": "b"},
            "![i](../img/p.png) ![[p.png]] [t](Tea.md) [r]\n\n[r]: ../b/See.md",
        ),
    ],
)
def test_a_markdown_link_that_is_a_true_path_stays_one(world, settings, moves, after):
    text = "![i](../img/p.png) ![[p.png]] [t](Tea.md) [r]\n\n[r]: ../a/b/See.md"
    texts = {"a/n.md": text, "a/Tea.md": "", "a/b/See.md": "", "img/p.png": ""}
    here = world(texts | settings)
    edited = applied(texts, rename_notes(moves, vault_of(here)))["a/n.md"]
    assert edited == (after or text)


def test_a_note_that_changed_since_it_was_indexed_is_read_again(world):
    here = world({"Pump.md": "", "n.md": "[[Pump]]\n"})
    (here.root / "n.md").write_text("New first line.\n\n> [[Pump]] and [[pump|p]]\n")
    edits = rename_notes({"Pump.md": "Valve.md"}, vault_of(here))
    assert [(edit.path, edit.place, edit.new) for edit in edits] == [
        ("n.md", (3, 4, 8), "Valve"),
        ("n.md", (3, 17, 23), "Valve|p"),
    ]


def test_a_link_that_another_name_would_catch_is_made_longer(world):
    texts = {"x/a.md": "", "b.md": "", "n.md": "[[a]]\n"}
    here = world(texts)
    assert applied(texts, rename_notes({"b.md": "a.md"}, vault_of(here)))["n.md"] == "[[x/a]]\n"


def test_the_links_to_a_heading_follow_it(world):
    texts = {
        "Pump.md": "# Pump\n## Both dead?\n### Float\n[[#Both dead?]] [[#Both dead#Float]]\n"
        "## Both dead? ##\n",
        "n.md": "[[Pump#both dead|x]] [p](Pump.md#both-dead) [[Pump#Both dead?#Float]] [[n#Both dead?]]\n",
    }
    here = world(texts)
    after = applied(texts, rename_heading(here.note("Pump.md"), "Both dead?", "One [left]", vault_of(here)))
    assert after == {
        "Pump.md": "# Pump\n## One [left]\n### Float\n[[#One left]] [[#One left#Float]]\n## Both dead? ##\n",
        "n.md": "[[Pump#One left|x]] [p](Pump.md#one-left) [[Pump#One left#Float]] [[n#Both dead?]]\n",
    }
    with pytest.raises(NotFound):
        rename_heading(here.note("Pump.md"), "Nowhere", "x", vault_of(here))


@pytest.mark.parametrize(
    ("other", "heading"), [("दान", "दिन"), ("✅ Plan", "🚀 Plan"), ("a-b", "a b"), ("a b", "a-b")]
)
def test_the_links_to_a_heading_of_nearly_the_same_text_stay(world, other, heading):
    texts = {"a.md": f"# {other}\n# {heading}\n[[#{other}]] [[#{heading}]]\n"}
    here = world(texts)
    assert applied(texts, rename_heading(here.note("a.md"), heading, "New", vault_of(here))) == {
        "a.md": f"# {other}\n# New\n[[#{other}]] [[#New]]\n"
    }


def test_a_heading_below_the_second_of_two_alike_is_found(world):
    texts = {"a.md": "# T\n## A\n## A\n### B\n[[#A#B]]\n"}
    here = world(texts)
    after = applied(texts, rename_heading(here.note("a.md"), "A#B", "C", vault_of(here)))
    assert after == {"a.md": "# T\n## A\n## A\n### C\n[[#A#C]]\n"}


@pytest.mark.parametrize("empty", ["#", "## ", " ##", "# #", "###\t###"])
def test_an_empty_heading_gets_a_text(world, empty):
    texts = {"a.md": f"{empty}\n"}
    here = world(texts)
    after = applied(texts, rename_heading(here.note("a.md"), "", "New", vault_of(here)))["a.md"]
    assert [heading.text for heading in parse(after, "a.md").headings] == ["New"]


def test_a_heading_of_several_lines_is_refused(world):
    here = world({"a.md": "First\nsecond\n===\n"})
    with pytest.raises(UsageError, match="several lines"):
        rename_heading(here.note("a.md"), "First second", "New", vault_of(here))


@pytest.mark.parametrize(("quote", "name"), [("'", "Bob's note"), ('"', 'The "x" note')])
def test_the_properties_of_a_note_stay_readable(world, quote, name):
    front = f"up: {quote}[[a]]{quote}\npart: {quote}[[a#Old|x]]{quote}\nsee: {quote}[y](a.md#Old){quote}"
    texts = {"a.md": "# Old\n", "n.md": f"---\n{front}\n---\n"}
    here = world(texts)
    there = applied(texts, rename_notes({"a.md": f"{name}.md"}, vault_of(here)))
    moved = parse(there["n.md"], "n.md")
    assert [link.target for link in moved.links] == [name, name, f"{name}.md"]
    edits = rename_heading(here.note("a.md"), "Old", name, vault_of(here))
    renamed = parse(applied(texts, edits)["n.md"], "n.md")
    assert [link.heading for link in renamed.links] == [None, name, name]
    there[f"{name}.md"] = there.pop("a.md")
    (here.root / "a.md").unlink()
    back = applied(there, rename_notes({f"{name}.md": "a.md"}, vault_of(world(there))))
    assert back["n.md"] == texts["n.md"]


@pytest.mark.parametrize("new", ["abc: x.md", "c<d>.md", "100%41 d.md", "A&amp;B x.md", "it's (1).md"])
def test_a_markdown_link_stays_a_link_to_the_note_whatever_its_name(world, new):
    texts = {"a b.md": "", "n.md": "[x](<a b.md>) [y](a%20b.md) [z](<a b.md#H> 't')\n"}
    here = world(texts)
    after = applied(texts, rename_notes({"a b.md": new}, vault_of(here)))
    assert [link.target for link in parse(after["n.md"], "n.md").links] == [new] * 3


def test_a_definition_that_several_links_use_gets_one_edit(world):
    texts = {
        "Own.md": "# Object\n[a][r] and [r] and [s]\n\n[r]: Own.md#Object\n[s]: #Object\n",
        "n.md": "[a][r] and [b][r]\n\n[r]: <Own.md#Object> 'title'\n",
    }
    here = world(texts)
    edits = rename_heading(here.note("Own"), "Object", "Thing", vault_of(here))
    assert len({(edit.path, edit.place) for edit in edits}) == len(edits) == 4
    assert applied(texts, edits) == {
        "Own.md": "# Thing\n[a][r] and [r] and [s]\n\n[r]: Own.md#Thing\n[s]: #Thing\n",
        "n.md": "[a][r] and [b][r]\n\n[r]: <Own.md#Thing> 'title'\n",
    }
    moved = applied(texts, rename_notes({"Own.md": "New.md"}, vault_of(here)))
    assert moved["n.md"] == "[a][r] and [b][r]\n\n[r]: <New.md#Object> 'title'\n"


CARD = 'é🧗 "q" \r\n[[Pump]]\n[p](../Pump.md#Float) #tea/green [[Pump#Float]]'


def canvas(card: str, file: str, subpath: str = "#Float", **dumped) -> str:
    place = {"x": 0, "y": 0, "width": 1, "height": 1}
    nodes = [
        {"id": "a", "type": "text", "text": card, **place},
        {"id": "b", "type": "file", "file": file, "subpath": subpath, **place},
        {"id": "c", "type": "link", "url": "file: Pump.md", **place},
    ]
    return json.dumps({"nodes": nodes, "edges": []}, **dumped)


@pytest.mark.parametrize("dumped", [{}, {"indent": "\t"}, {"ensure_ascii": False}])
def test_the_cards_and_files_of_a_canvas_follow(world, dumped):
    texts = {"Pump.md": "# Pump\n## Float\n", "maps/a.canvas": canvas(CARD, "Pump.md", **dumped)}
    here = world(texts)

    def after(edits):
        return json.loads(applied(texts, edits)["maps/a.canvas"])

    place = vault_of(here)
    moved = CARD.replace("Pump", 'The "big" pump').replace('(../The "big" pump', "(The%20%22big%22%20pump")
    edits = rename_notes({"Pump.md": 'maps/The "big" pump.md'}, place)
    assert after(edits) == json.loads(canvas(moved, 'maps/The "big" pump.md'))
    edits = rename_heading(here.note("Pump.md"), "Float", "Switch", place)
    assert after(edits) == json.loads(canvas(CARD.replace("Float", "Switch"), "Pump.md", "#Switch"))
    edits = rename_tag("tea", "chai", place)
    assert after(edits) == json.loads(canvas(CARD.replace("tea", "chai"), "Pump.md"))
    edits = rename_notes({"maps": "plans/of"}, place)
    assert after(edits) == json.loads(canvas(CARD.replace("../Pump", "../../Pump"), "Pump.md"))
    assert place.left == []


@pytest.mark.parametrize(
    "moves",
    [
        {"a/Pump.md": "Pump.md", "p.png": "a/p.png"},
        {"a/Pump.md": "a/pump.md", "p.png": "P.png"},
        {"a/Pump.md": "a/Pümp.md", "p.png": "x/y/q.png"},
        {"a": "b"},
        {"a": "A"},
    ],
)
@pytest.mark.parametrize("dumped", [{}, {"indent": "\t"}])
def test_a_canvas_shows_every_file_by_its_whole_path(world, moves, dumped):
    def nodes(note, picture):
        place = {"x": 0, "y": 0, "width": 1, "height": 1}
        cards = [
            {"id": "a", "type": "file", "file": note, "subpath": "#Float", **place},
            {"id": "b", "type": "group", "background": picture, "backgroundStyle": "cover", **place},
            {"id": "c", "type": "file", "file": picture, **place},
            {"id": "d", "type": "file", "file": "Other.md", **place},
        ]
        return {"nodes": cards, "edges": []}

    texts = {"a/Pump.md": "# Float\n", "p.png": "", "x/Other.md": ""}
    texts["m.canvas"] = json.dumps(nodes("a/Pump.md", "p.png"), **dumped)
    place = vault_of(world(texts))
    after = json.loads(applied(texts, rename_notes(moves, place))["m.canvas"])
    moved = all_moves(moves, place.names)
    assert after == nodes(moved["a/Pump.md"], moved.get("p.png", "p.png"))
    assert place.left == []


def test_a_canvas_whose_fields_begin_new_lines_follows(world):
    card = '{"nodes": [{"id": "a", "type": "file", "file"\n:\n"Pump.md"}]}'
    texts = {"Pump.md": "", "m.canvas": card}
    after = applied(texts, rename_notes({"Pump.md": "x/Pump.md"}, vault_of(world(texts))))
    assert after["m.canvas"] == card.replace("Pump.md", "x/Pump.md")


def test_names_that_look_like_something_else_are_followed(world):
    texts = {" lead.md": "# H\n", "http: x.md": "", "m.canvas": canvas("", " lead.md", "#H")}
    texts["o.org"] = "[[file:http: x.md]]\n"
    here = world(texts)
    edits = rename_notes({" lead.md": "b.md", "http: x.md": "c.md"}, vault_of(here))
    after = applied(texts, edits)
    assert (after["m.canvas"], after["o.org"]) == (canvas("", "b.md", "#H"), "[[file:c.md]]\n")
    edits = rename_heading(here.note(" lead.md"), "H", "I", vault_of(here))
    assert applied(texts, edits)["m.canvas"] == canvas("", " lead.md", "#I")


@pytest.mark.parametrize(
    ("link", "after"),
    [("[[Pump]]", "[[pump]]"), ("[x](a/Pump.md)", "[x](a/pump.md)"), ("[[PUMP]]", "[[PUMP]]")],
)
def test_a_link_that_is_spelled_like_its_file_stays_so(world, link, after):
    texts = {"a/Pump.md": "", "n.md": f"{link}\n"}
    edited = applied(texts, rename_notes({"a/Pump.md": "a/pump.md"}, vault_of(world(texts))))
    assert edited["n.md"] == f"{after}\n"


def test_an_image_is_a_true_path_and_an_embed_a_name(world):
    texts = {"a/n.md": "![x](p.png) ![[p.png]] ![x][r]\n\n[r]: p.png\n", "a/p.png": ""}
    after = applied(texts, rename_notes({"a/n.md": "n.md"}, vault_of(world(texts))))
    assert after["a/n.md"] == "![x](a/p.png) ![[p.png]] ![x][r]\n\n[r]: a/p.png\n"


@pytest.mark.parametrize(
    ("written", "after"),
    [
        ("|-\n  [[Pump]]", '|-\n  [[Bob\'s "valve"]]'),
        (">\n    [[Pump|x]]\n", '>\n    [[Bob\'s "valve"|x]]\n'),
        ('"[[\\x50ump]]"', '"[[Bob\'s \\"valve\\"]]"'),
        ('&a "[[Pum\\u0070#Oné\\\\]]"', '&a "[[Bob\'s \\"valve\\"#Oné\\\\]]"'),
        ("[ x,\t'[[Pump]]', \"[[Pump]]\"]", '[ x,\t\'[[Bob\'\'s "valve"]]\', "[[Bob\'s \\"valve\\"]]"]'),
        ("'[x (1)](Pump.md \"t\")'", "'[x (1)](Bob''s%20%22valve%22.md \"t\")'"),
        ("\n  '[[Pump]]'", "\n  '[[Bob''s \"valve\"]]'"),
    ],
)
def test_a_link_in_a_property_follows_however_it_is_written(world, written, after):
    texts = {"Pump.md": "", "n.md": f"---\nup: {written}\n---\n"}
    place = vault_of(world(texts))
    edited = applied(texts, rename_notes({"Pump.md": 'Bob\'s "valve".md'}, place))
    assert edited["n.md"] == f"---\nup: {after}\n---\n"
    assert place.left == []


def test_a_file_is_named_if_one_of_its_links_does_not_follow(world):
    front = '---\nup: "[[Big\n  pump]]"\n---\n'
    texts = {
        "Big pump.md": "",
        "[c#]/Pump.md": "",
        "n.md": f"{front}[[Big pump]]\n",
        "x/Pump.md": "",
        "c.md": "[[Pump]] [[x/Pump]]\n",
        "o.org": "[[file:Big pump.md]]\n",
    }
    here = world(texts)
    for moves, new, left in (
        ({"Big pump.md": "Valve.md"}, {"n.md": f"{front}[[Valve]]\n"}, ["n.md"]),
        ({"x/Pump.md": "y/Pump.md", "[c#]/Pump.md": "[c#]/z/Pump.md"}, {"c.md": "[[y/Pump]]"}, []),
        ({"Big pump.md": "a::b.md"}, {"o.org": texts["o.org"]}, ["n.md", "o.org"]),
    ):
        place = vault_of(here)
        after = applied(texts, rename_notes(moves, place))
        assert all(text in after[path] for path, text in new.items())
        assert place.left == left


def test_links_to_a_heading_follow_when_a_link_in_it_does(world):
    texts = {
        "Ana.md": "",
        "n.md": "First [[Ana]]\nand [b](Ana.md)\n===\n## With [[Ana|A]]\n[[#With Ana A]]\n# Ana\n[[#Ana]]\n",
        "a/t.md": "[[n#First Ana and b Ana md#With Ana A|x]] [x](../n.md#with-anaa) [[n#Ana]]\n"
        "[[n#First Ana and b Ana md]]\n",
        "m.canvas": canvas("[[n#With Ana A]]", "n.md", "#With Ana A"),
    }
    place = vault_of(world(texts))
    after = applied(texts, rename_notes({"Ana.md": "Bo Li.md", "n.md": "x/o.md"}, place))
    assert after == {
        "Ana.md": "",
        "n.md": "First [[Bo Li]]\nand [b](../Bo%20Li.md)\n===\n## With [[Bo Li|A]]\n[[#With Bo Li A]]\n"
        "# Ana\n[[#Ana]]\n",
        "a/t.md": "[[o#First Bo Li and b (../Bo%20Li.md)#With Bo Li A|x]] "
        "[x](../x/o.md#with-anaa) [[o#Ana]]\n"
        "[[o#First Bo Li and b (../Bo%20Li.md)]]\n",
        "m.canvas": canvas("[[o#With Bo Li A]]", "x/o.md", "#With Bo Li A"),
    }
    assert place.left == []


def test_links_to_a_heading_follow_when_a_tag_or_another_heading_in_it_does(world):
    texts = {
        "n.md": "# Plan #work\n## Of [[t#Old]]\n[[#Plan work]] [x](#plan-work)\n",
        "t.md": "# Old\n## See [[n#Of t Old]]\n[[n#Plan work#Of t Old]] [[#See n Of t Old]]\n",
    }
    here = world(texts)
    after = applied(texts, rename_tag("work", "job", vault_of(here)))
    assert after == {path: text.replace("work", "job") for path, text in texts.items()}
    after = applied(texts, rename_heading(here.note("t.md"), "Old", "New", vault_of(here)))
    assert after == {path: text.replace("Old", "New") for path, text in texts.items()}


def test_a_note_is_named_if_one_of_its_tags_is_not_renamed(world):
    texts = {"a.md": '---\ntags: [tea, "te\\u0061"]\n---\n#tea\n', "b.md": "---\ntags: [tea]\n---\n#tea\n"}
    place = vault_of(world(texts))
    after = applied(texts, rename_tag("tea", "chai", place))
    assert after == {path: text.replace("tea", "chai") for path, text in texts.items()}
    assert place.left == ["a.md"]


@pytest.mark.parametrize("text", ["C #", "- C", "1. C", "> C", "# C", "```"])
@pytest.mark.parametrize("heading", ["# Old", "# Old #", "Old\n==="])
def test_a_heading_gets_its_new_text_or_is_refused(world, heading, text):
    texts = {"a.md": f"{heading}\n\n[[#Old]]\n"}
    here = world(texts)
    edits = []
    with suppress(UsageError):
        edits = rename_heading(here.note("a.md"), "Old", text, vault_of(here))
    after = parse(applied(texts, edits)["a.md"], "a.md")
    assert [each.text for each in after.headings] == [text if edits else "Old"]
    assert [link.heading for link in after.links] == [linkable_heading(text) if edits else "Old"]


def test_the_links_of_an_org_file_follow(world):
    org = "* H\n=[[file:Pump.md]]= [[file:Pump.md][=the= pump]] [[file:Pump.md::*Float]] [[https://a.org]]\n"
    texts = {"Pump.md": "# Pump\n## Float\n", "a.org": org + "#+begin_src\n[[file:Pump.md]]\n#+end_src\n"}
    place = vault_of(world(texts))
    changed = applied(texts, rename_notes({"Pump.md": "x/A valve.md"}, place))["a.org"]
    head, line, *code = texts["a.org"].split("\n")
    assert changed.split("\n") == [
        head,
        line.replace("Pump.md", "x/A valve.md").replace("x/A valve.md", "Pump.md", 1),
        *code,
    ]
    assert place.left == []


def test_files_are_named_whose_links_and_tags_do_not_follow(world):
    texts = {
        "Pump.md": "# Pump\n## Float\n",
        "a.html": "<html><body><p>See <a href='Pump.md#Float'>the pump</a> of the house</p></body></html>",
        "b.org": "[[file:Pump.md::*Float]]\n",
        "c.org": "* H :tea:\n",
        "escaped.md": '---\ntags: ["te\\u0061"]\n---\n',
        "n.md": "[[Pump]] #tea\n",
    }
    here = world(texts)
    for edits, left in (
        (lambda place: rename_notes({"Pump.md": "Valve.md"}, place), ["a.html"]),
        (lambda place: rename_heading(here.note("Pump"), "Float", "Switch", place), ["a.html", "b.org"]),
        (lambda place: rename_tag("tea", "chai", place), ["c.org", "escaped.md"]),
    ):
        place = vault_of(here)
        assert edits(place)
        assert place.left == left


@pytest.mark.parametrize(
    ("name", "old", "path"),
    [
        ("photo", "a/image.png", "a/photo.png"),
        ("photo.png", "image.png", "photo.png"),
        ("photo.PNG", "image.png", "photo.PNG"),
        ("version 1.2", "image.png", "version 1.2.png"),
        ("b/photo", "a/image.png", "b/photo.png"),
        ("backup", "a/old.tar.gz", "a/backup.tar.gz"),
        ("backup.tar.gz", "old.tar.gz", "backup.tar.gz"),
        ("dev.pump", "dev.md", "dev.pump.md"),
        ("scan.pdf", "Note.md", "scan.pdf.md"),
        ("Read me", "LICENSE", "Read me"),
    ],
)
def test_a_file_keeps_its_extension(name, old, path):
    assert file_name(name, old) == path


@pytest.mark.parametrize(
    ("name", "old"), [("photo.jpg", "image.png"), ("backup.zip", "old.tar.gz"), ("backup.gz", "old.tar.gz")]
)
def test_another_extension_is_refused(name, old):
    with pytest.raises(UsageError, match="the extension"):
        file_name(name, old)


def test_a_tag_is_renamed_with_those_below_it_and_in_frontmatter(world):
    texts = {
        "a.md": "---\ntags: [work/Pumps, workshop]\n---\n#work and #work/pumps/x, #workshop `#work`\n",
        "b.md": '---\ntags:\n  - "#work"\n  - tea\nx: work\n---\n#Work\n',
    }
    here = world(texts)
    assert applied(texts, rename_tag("work", "job/old", vault_of(here))) == {
        "a.md": "---\ntags: [job/old/Pumps, workshop]\n---\n"
        "#job/old and #job/old/pumps/x, #workshop `#work`\n",
        "b.md": '---\ntags:\n  - "#job/old"\n  - tea\nx: work\n---\n#job/old\n',
    }


@pytest.mark.parametrize(
    ("front", "old", "after"),
    [
        ('tags: "#foo, #bar"', "bar", 'tags: "#foo, #new"'),
        ('tags: "it\'s b"', "it's", 'tags: "new b"'),
        ("{tags: [b]}", "b", "{tags: [new]}"),
        ('tags: ["a b", c, b]', "b", 'tags: ["a b", c, new]'),
        ("tags:\n- c#b\n- b", "b", "tags:\n- c#b\n- new"),
        ("tags: >-\n  ab\n  b\nx: b", "b", "tags: >-\n  ab\n  new\nx: b"),
    ],
)
def test_a_tag_in_frontmatter_is_renamed_where_yaml_has_it(world, front, old, after):
    texts = {"a.md": f"---\n{front}\n---\n#{old}\n"}
    edits = rename_tag(old, "new", vault_of(world(texts)))
    assert applied(texts, edits)["a.md"].split("---\n")[1] == f"{after}\n"


@pytest.mark.parametrize("new", ["/abs.md", "../out.md", "a//b.md", ""])
def test_a_path_outside_the_vault_is_refused(new):
    with pytest.raises(UsageError):
        as_moves([("a.md", new)])


def test_a_name_that_no_link_can_have_is_refused():
    names = Names()
    names.add("a.md")
    with pytest.raises(UsageError):
        all_moves({"a.md": "a#b.md"}, names)


FOLDER_CONDITIONS = (
    *('file.folder == "A"', "file.folder != 'A'", 'file.inFolder("A")', 'file.inFolder("A/deep")'),
    *('file.path == "A/x.md"', 'file.path.startsWith("A/")', '["A", "C"].contains(file.folder)'),
    *('file("A/x").size > 1', 'link("A/x") == up', 'formula.place == "A"', 'this.file.folder == "A"'),
)


@pytest.mark.fault("K11", "L11")
@pytest.mark.parametrize("condition", FOLDER_CONDITIONS)
@pytest.mark.parametrize("moves", [{"A": "B"}, {"A/x.md": "B/x.md", "A/deep/y.md": "B/y.md"}])
def test_l11_a_base_that_names_what_has_moved_away_is_left(tmp_path, condition, moves):
    formulas = "formulas:\n  place: file.folder\n"
    base = f"filters:\n  and:\n    - {json.dumps(condition)}\n{formulas}"
    card = {"id": "a", "type": "text", "text": f"```base\n{base}```"}
    files = {
        "A/x.md": "",
        "A/deep/y.md": "",
        "C/z.md": "",
        "of.base": base,
        "view.base": f"views:\n  - type: table\n    filters: {json.dumps(condition)}\n",
        "block.md": f"> ```base\n> {base.replace(chr(10), chr(10) + '> ')}```\n",
        "card.canvas": json.dumps({"nodes": [card]}),
        "broken.base": "filters: [",
        "empty.base": "",
    }
    with closing(World(write_files(tmp_path / "vault", files), tmp_path)) as world:
        vault = vault_of(world)
        assert rename_notes(moves, vault) == []
        assert sorted(vault.left) == ["block.md", "card.canvas", "of.base", "view.base"]


@pytest.mark.fault("K11", "L11")
@pytest.mark.parametrize("query", ['```dataview\nLIST FROM "A"\n```', "```query\npath:A/\n```"])
def test_l11_a_query_that_names_what_has_moved_away_is_left(tmp_path, query):
    files = {"A/x.md": "", "C/z.md": "", "q.md": f"Text\n\n{query}\n", "other.md": query.replace("A", "C")}
    with closing(World(write_files(tmp_path / "vault", files), tmp_path)) as world:
        vault = vault_of(world)
        assert (rename_notes({"A": "B"}, vault), vault.left) == ([], ["q.md"])


@pytest.mark.parametrize(
    ("condition", "moves"),
    [
        ('file.folder == "A"', {"A/x.md": "B/x.md"}),
        ('file.folder == "C"', {"A": "B"}),
        ('status == "A"', {"A": "B"}),
        ('file.hasTag("A")', {"C": "A"}),
        ('file.ext == "md"', {"A/x.md": "B/x.md", "A/deep/y.md": "B/y.md"}),
    ],
)
def test_a_base_that_still_selects_the_same_files_is_not_left(tmp_path, condition, moves):
    files = {"A/x.md": "", "A/deep/y.md": "", "C/z.md": "", "of.base": f"filters: {json.dumps(condition)}\n"}
    with closing(World(write_files(tmp_path / "vault", files), tmp_path)) as world:
        vault = vault_of(world)
        assert (rename_notes(moves, vault), vault.left) == ([], [])


FOLDED = (
    *(
        'p: "[[A/some\n  note]]"',
        "p: '[[A/some\n  note]]'",
        "p: >\n  [[A/some\n  note]]",
        "p:\n  '[[A/some\n  note]]'",
    ),
    *('p:\n  - "[[A/some\n    note]]"', 'p: "[[A/some \\\n  note]]"', 'p: ["[[A/some\n  note]]", x]'),
    *(
        'p: "[t](<A/some\n  note.md>)"',
        'p: "[two\n  words](A/some%20note.md)"',
        'p: "[[A/some note|two\n  words]]"',
    ),
    *('p: {q: "[[A/some\n  note]]"}', 'p: &a "[[A/some\n  note]]"\nq: *a'),
)


@pytest.mark.fault("K11", "L11")
@pytest.mark.parametrize("text", FOLDED)
def test_l11_a_link_that_is_folded_over_lines_of_a_property_is_edited_or_left(tmp_path, text):
    files = {"A/some note.md": "", "some note.md": "", "n.md": f"---\n{text}\n---\n"}
    with closing(World(write_files(tmp_path / "vault", files), tmp_path)) as world:
        vault = vault_of(world)
        edits = rename_notes({"A": "B"}, vault)
        assert bool(edits) != bool(vault.left), (edits, vault.left)
