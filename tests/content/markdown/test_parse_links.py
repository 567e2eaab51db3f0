"""Links of every kind, in a compact form: ``kind target #heading ^block |alias @line``."""

import pytest

from vaultseek.base.model import Link
from vaultseek.content.markdown.parse import parse


def links(text: str) -> list[str]:
    return [compact(link) for link in parse(text, "note.md").links]


def compact(link: Link) -> str:
    parts = [f"{link.kind[0]}:{link.target}"]
    parts += [f"#{link.heading}"] if link.heading else []
    parts += [f"^{link.block}"] if link.block else []
    parts += [f"|{link.alias}"] if link.alias else []
    return " ".join([*parts, f"@{link.line}"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # wikilinks
        ("[[A]] x\n[[B/C d]]", ["w:A @1", "w:B/C d @2"]),
        ("[[ A # h |  b ]]", ["w:A #h |b @1"]),
        ("[[A#h#i]] [[A#^k]] [[#h]] [[#^k]]", ["w:A #h#i @1", "w:A ^k @1", "w: #h @1", "w: ^k @1"]),
        ("[[A#]] [[A|]] [[A^k]]", ["w:A @1", "w:A @1", "w:A^k @1"]),
        ("[[]] [[ ]] [[#]] [[|b]]", []),
        ("![[i.png|40x50]] !\\[[no]] ! [[n]]", ["e:i.png |40x50 @1", "w:n @1"]),
        ("[[A ]b]] [[C|d [1]]] [[[E]]]", ["w:A ]b @1", "w:C |d [1] @1", "w:E @1"]),
        ("[[A [[B]] C]] [[open\n[[D]]", ["w:B @1", "w:D @2"]),
        ("[[A\nB]]", []),
        ("[[A\\|b]]", ["w:A |b @1"]),
        ("`[[no]]` $[[no]]$ \\[[no]] <!-- [[no]] -->[[A]]", ["w:A @1"]),
        ("# H [[A]]\n\n- [ ] [[B]]\n\n> [[C]]", ["w:A @1", "w:B @3", "w:C @5"]),
        (
            "| [[A\\|b]] | ![[c.png\\|9]] |\n|---|---|\n| [[x|y]] | [[D]] |",
            ["w:A |b @1", "e:c.png |9 @1", "w:D @3"],
        ),
        ("%%\n# no heading\n[[A]]\n%%\n[[B]]", ["w:A @3", "w:B @5"]),
        ("one ^[see [[A]]].\n\n[^1]: [[B]]\n\n    [[C]]", ["w:A @1", "w:B @3", "w:C @5"]),
        # markdown links
        (
            "[a](N.md) [b](<N m.md>) [c](N%20m.md#h%20i)",
            ["m:N.md |a @1", "m:N m.md |b @1", "m:N m.md #h i |c @1"],
        ),
        ("[a](N.md#^k) [b](#h) [c](#)", ["m:N.md ^k |a @1", "m: #h |b @1"]),
        ("[a](100%.md) [b](%ff.md) [c](x%23y.md)", ["m:100%.md |a @1", "m:%ff.md |b @1", "m:x#y.md |c @1"]),
        ("[a](N (1).md) [b](N(1).md) [c](N\\).md)", ["m:N(1).md |b @1", "m:N).md |c @1"]),
        (
            "[a](Q&notes.md) [b](Q&amp;A.md) [c](&#78;.md) [d](&#x4e;.md)",
            ["m:Q&notes.md |a @1", "m:Q&A.md |b @1", "m:N.md |c @1", "m:N.md |d @1"],
        ),
        ("[a](&notes;.md) [b](\\&amp;.md)", ["m:&notes;.md |a @1", "m:&amp;.md |b @1"]),
        ("[a](N.md 't') [b](N.md (t)) [c](N.md \"t)", ["m:N.md |a @1", "m:N.md |b @1"]),
        ("[a](https://x.y/z.md) [b](mailto:x@y) [c](//x/y) ![d](http://x/y.png) <http://x>", []),
        ("[](N.md) [b]() [c](<>)", ["m:N.md @1"]),
        (
            "[a [b] c](N.md) [`]`](M.md) [d\\]](O.md)",
            ["m:N.md |a [b] c @1", "m:M.md |`]` @1", "m:O.md |d\\] @1"],
        ),
        ("![a|9](i.png) [![b](j.png)](N.md)", ["e:i.png |a|9 @1", "m:N.md |![b](j.png) @1", "e:j.png |b @1"]),
        ("[a [b](N.md) c](M.md)", ["m:N.md |b @1"]),
        ("[a\nb](N.md)\n[c](M.md)", ["m:N.md |a\nb @1", "m:M.md |c @3"]),
        ("[a] (N.md) \\[b](N.md) [c]\\(N.md)", []),
        # reference links
        ("[a][k] [K][] [k]\n\n[k]: N.md 't'", ["m:N.md |a @1", "m:N.md |K @1", "m:N.md |k @1"]),
        ("[k]: N.md\n[k]: M.md\n\n[k] ![k]", ["m:N.md |k @4", "e:N.md |k @4"]),
        ("[a][b][c]\n\n[b]: B.md\n[c]: C.md", ["m:B.md |a @1", "m:C.md |c @1"]),
        ("[a  b][]\n\n[A B]: <x y.md#h>", ["m:x y.md #h |a  b @1"]),
        ("[a][nope] [k]\n\n[k]: https://ex.org", []),
        ("> [k]: N.md\n\n[k]", ["m:N.md |k @3"]),
        ("[^1] [x]\n\n[^1]: N.md", []),
    ],
)
def test_links(text: str, expected: list[str]) -> None:
    assert links(text) == expected


def test_property_links_come_first_and_name_their_property() -> None:
    note = parse(
        '---\nup: "[[A#h|b]]"\nsee:\n  - "[[B]]"\n  - "[c](C.md)"\n  - x [[D]]\n---\n[[E]]\n', "n.md"
    )
    assert [(link.property, compact(link)) for link in note.links] == [
        ("up", "w:A #h |b @2"),
        ("see", "w:B @4"),
        ("see", "m:C.md |c @5"),
        (None, "w:E @8"),
    ]
