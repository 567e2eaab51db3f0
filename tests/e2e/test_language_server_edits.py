"""Every edit that a code action proposes, anywhere in many notes, leaves the rest unchanged."""

import asyncio
import itertools
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from lsprotocol import types
from pygls.workspace import PositionCodec

from lsp_client import Editor, editor
from vaultseek.base.model import Link, Note
from vaultseek.content.markdown.parse import parse
from vaultseek.doors.lsp.blocks import blocks_without_id, insertion
from vaultseek.doors.lsp.documents import Text

VAULT = {
    "Boiler.md": "---\naliases: [heater]\n---\n# Boiler\n\n## Alarm\nIt rings. ^al1\n\nIt is loud.\n",
    "Valve.md": "# Valve\n\nSee [[Boiler]].\n",
    "Pump.md": "# Pump\n\nThe boiler has a valve.\n",
    "a/Twin.md": "",
    "b/Twin.md": "",
    "Draft.md": "The boiler and the valve and the pump.\n",
}
FRONTS = (
    "",
    "---\nboiler: 1\n---\n",
    '---\ntags: [work, "valve"]\nsee: "[[Pumpe]]"\nlist:\n  - \'[[Boiler#Alram]]\'\n  - valve: boiler\n---\n',
    "---\nopen: boiler\nlist: valve\n\n",
)
PIECES = (
    "The boiler and the Valve, a heater.",
    "# Boiler heading\n\ntext",
    "Boiler\n===",
    "- boiler\n- [ ] valve task\n  more boiler",
    "> [!note] Boiler\n> the valve",
    "```\nboiler [[Pumpe]]\n\nvalve\n```",
    "    boiler code",
    "`boiler` and ``the `valve` ``",
    "$boiler$ and $$valve$$\n\n$$\nboiler\n$$",
    "%% boiler %% and %%\nvalve\n\n#boiler\n%%",
    "<!-- boiler -->\n\n<div>\nboiler\n</div>\n\nthe <b>boiler</b>",
    "[[Pumpe|boiler]] [[Boiler]] ![[Valve]]",
    '[boiler](Valvee.md) ![valve](p.png "boiler")',
    "[boiler][ref] and [ref] valve\n\n[ref]: Valvee.md 'boiler'",
    "[^1] boiler\n\n[^1]: the valve",
    "#boiler #work/valve boiler#valve",
    "boiler ^id1",
    "| boiler | valve |\n|---|---|\n| boiler | [[Pumpe\\|x]] |",
    "https://boiler.example/valve and <https://valve.example>",
    "\\[boiler\\] \\#valve",
    "[[Twin]] [[Boiler#Alram]] [[Boiler#^none]] [[Boiler#^al2|x]]",
    "***boiler*** _valve_ ~~boiler~~ ==valve==",
    "---",
    "- a\n\n  boiler ^id2\n\n      code\n- b",
    "1. boiler\n2. valve ^id3",
    "🧗 boiler é",
    "[see boiler",
    "boiler] (valve !",
    "[[Boiler",
    "Valve]]",
    "up:: valve\n(key:: boiler) [key:: valve]",
    "text^[inline boiler note]",
    "> [!tip]- T\n> | a | b |\n> |--|--|\n> | boiler | `x` |",
    "~~~py\nboiler\n~~~",
    "<a href='boiler'>valve</a> {{valve}} <% boiler %>",
    "",
)
NOTES = 9
HIDDEN = re.compile(r"%%.*?%%|`[^`\n]+`|\$\$.*?\$\$|<!--.*?-->|<div>.*?</div>|(?<!<)https?://\S+", re.DOTALL)


def generated(number: int = NOTES, seed: int = 49) -> Iterator[str]:
    """Yield notes of a few pieces each, the same on every call."""
    choose = random.Random(seed)
    pieces = itertools.chain.from_iterable(choose.sample(PIECES, len(PIECES)) for _ in itertools.count())
    for made in range(number):
        joint = choose.choice(("\n", "\n\n", "\n\n"))
        yield (
            FRONTS[made % len(FRONTS)] + joint.join(itertools.islice(pieces, 4)) + choose.choice(("", "\n"))
        )


def applied(text: str, edits: list[types.TextEdit]) -> str:
    lines = text.split("\n")
    starts = list(itertools.accumulate((len(line) + 1 for line in lines), initial=0))

    def offset(at: types.Position) -> int:
        return starts[at.line] + at.character

    for edit in sorted(edits, key=lambda edit: offset(edit.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def properties(text: str) -> Any:
    match = re.match(r"---\n(.*?)\n---(?:\n|\Z)", text, re.DOTALL)
    try:
        return yaml.safe_load(match[1]) if match else None
    except yaml.YAMLError:
        return match and match[1]


def facts(note: Note) -> dict[str, object]:
    """Return the facts that no action may change."""
    return {
        "tags": [*note.tags, *(tag.tag for tag in note.placed_tags)],
        "headings": [(heading.level, heading.text) for heading in note.headings],
        "code": ["\n".join(note.lines[code.line - 1 : code.end_line]) for code in note.code_blocks],
        "tasks": [task.mark for task in note.tasks],
        "callouts": [callout.kind for callout in note.callouts],
        "tables": [span.kind for span in note.spans].count("table"),
        "hidden": HIDDEN.findall("\n".join(note.lines[note.body_line - 1 :])),
        "problems": [problem.code for problem in note.problems],
    }


def key(link: Link) -> tuple[object, ...]:
    return link.kind, link.target, link.heading, link.block, link.alias


def harm(title: str, text: str, changed: str) -> str | None:
    """Return what an action has broken; None if it did only what its title says."""
    before, after = parse(text, "Draft.md"), parse(changed, "Draft.md")
    old, new = facts(before), facts(after)
    if title.startswith(("Change to", "Point to")):
        # The link's address is in its definition, or the link itself is in hidden text.
        wrong = [name for name in old if old[name] != new[name] and name != "hidden"]
    else:
        wrong = [name for name in old if old[name] != new[name]]
    same = properties(text) == properties(changed)
    links, now = [key(link) for link in before.links], [key(link) for link in after.links]
    ids, ids_now = ([block.id for block in note.blocks] for note in (before, after))
    if title.startswith(("Insert a link", "Link ")):
        added = list(now)
        for link in links:
            if link not in added:
                return f"lost {link}"
            added.remove(link)
        many = title.startswith("Link every")
        wrong += [] if len(added) == 1 or (many and added) else [f"{len(added)} links"]
        wrong += [] if same and ids == ids_now else ["properties or ids"]
        wrong += [f"embed {link}" for link in added if link[0] == "embed"]
    elif title.startswith(("Change to", "Point to")):
        written = [link.written for link in before.links]
        differ = {written[at] for at, (a, b) in enumerate(zip(links, now, strict=False)) if a != b}
        wrong += [] if len(links) == len(now) and len(differ) == 1 and ids == ids_now else [f"links {differ}"]
    elif title.startswith("Insert ^"):
        wrong += [] if same and links == now and len(ids_now) == len(ids) + 1 else ["links or ids"]
    return ", ".join(wrong) or None


async def offered(
    here: Editor, uri: str, text: str, every: int
) -> dict[str, tuple[str, list[types.TextEdit]]]:
    """Return the distinct actions offered at each ``every``-th column of a note, by title and edits."""

    async def at(line: int, start: int, end: int) -> list[types.CodeAction]:
        where = types.Range(types.Position(line, start), types.Position(line, end))
        kinds = [types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorRewrite]
        context = types.CodeActionContext([], kinds, types.CodeActionTriggerKind.Invoked)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
        actions = await here.client.text_document_code_action_async(params) or []
        return [each if each.edit else await here.client.code_action_resolve_async(each) for each in actions]

    places = [
        (line, column, column)
        for line, each in enumerate(text.split("\n"))
        for column in sorted({*range(0, len(each), every), len(each)})
    ]
    found = {}

    for start in range(0, len(places), 50):
        for actions in await asyncio.gather(*(at(*place) for place in places[start : start + 50])):
            for action in actions:
                for change in action.edit.document_changes if action.edit else ():
                    if isinstance(change, types.TextDocumentEdit) and change.text_document.uri == uri:
                        edits = list(change.edits)
                        found[f"{action.title} {edits}"] = action.title, edits
    return found


@pytest.mark.fault("L9")
def test_l9_an_id_that_a_block_gets_leaves_the_rest_of_a_note_as_it_was():
    broken = []
    for source in generated(200):
        text = Text(source, "Draft.md", PositionCodec(types.PositionEncodingKind.Utf32))
        for block in blocks_without_id(text):
            change = insertion(text, block)
            changed = applied(source, [types.TextEdit(text.range(change.place), change.new)])
            if reason := harm(f"Insert ^{block.id}", source, changed):
                broken.append(f"{block}: {reason}\n{changed}")
    assert "\n\n".join(broken[:3]) == ""


@pytest.fixture(scope="module")
def served(indexed_vault):
    return indexed_vault(VAULT)


@pytest.mark.fault("L9")
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.long)])
async def test_l9_every_edit_that_an_action_proposes_leaves_the_rest_of_a_note_as_it_was(served, every):
    titles = set()
    broken = []
    async with editor(served.daemon.environment, served.root, encoding="utf-32") as here:
        for text in generated():
            uri = here.open("Draft.md", text)
            for title, edits in (await offered(here, uri, text, every)).values():
                titles.add(" ".join(title.split()[:2]))
                changed = applied(text, edits)
                if reason := harm(title, text, changed):
                    broken.append(f"{title}: {reason}\n{changed}")
            here.close("Draft.md")
    assert "\n\n".join(broken[:3]) == ""
    assert {"Insert a", "Link boiler", "Link every", "Change to", "Point to"} <= titles
