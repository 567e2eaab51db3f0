"""Renames through the language server, with the edits applied and the links followed by an independent
reader."""

import json
import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.uris import to_fs_path

from lsp_client import editor, position
from vaultseek.client import Client
from vaultseek.errors import UsageError
from worlds import write_files

pytestmark = pytest.mark.shared_daemon
LINK = re.compile(r"\[\[([^]|#]*)(?:#([^]|]*))?[^]]*\]\]|\]\(([^)#]*)(?:#([^)]*))?\)")


@pytest.fixture
def served(daemon, vault):
    """A daemon with an indexed vault of these files."""

    def serve(files):
        return daemon.indexed(vault(files))

    return serve


def dangling(root: Path) -> list[str]:
    """Return the links without a target file or heading, found without the ledger or the parser."""
    files = [path for path in root.rglob("*") if path.is_file()]
    wrong = []
    for note in root.rglob("*.md"):
        for found in LINK.finditer(note.read_text()):
            target, heading = unquote(found[1] or found[3] or ""), unquote(found[2] or found[4] or "")
            names = {target, f"{target}.md"} if target else {note.name}
            goals = [file for file in files if names & {file.name, file.relative_to(root).as_posix()}]
            if not goals or (heading and f"# {heading}\n" not in goals[0].read_text()):
                wrong.append(found[0])
    return wrong


def apply(root: Path, edit: types.WorkspaceEdit) -> int:
    """Apply an edit of ASCII texts to the files; return the number of changes."""
    changed = 0
    for change in edit.document_changes or ():
        if isinstance(change, types.RenameFile):
            Path(to_fs_path(change.old_uri) or "").rename(to_fs_path(change.new_uri) or "")
            continue
        assert isinstance(change, types.TextDocumentEdit)
        file = Path(to_fs_path(change.text_document.uri) or "")
        lines = file.read_text().split("\n")
        for each in sorted(change.edits, key=lambda each: each.range.start, reverse=True):
            assert isinstance(each, types.TextEdit)
            start, end = each.range.start, each.range.end
            line = lines[start.line]
            lines[start.line] = line[: start.character] + each.new_text + line[end.character :]
            changed += 1
        file.write_text("\n".join(lines))
    return changed


async def rename(here, path: str, marked: str, name: str) -> types.WorkspaceEdit:
    """Return the rename edit at a note's mark."""
    text, at = position(marked)
    uri = here.open(path, text)
    return await here.client.text_document_rename_async(
        types.RenameParams(types.TextDocumentIdentifier(uri), at, name)
    )


OWN = "# Own\n\n## Obj¦ect\n\n[[#Object]] [[Own#Object|Object]] [a](Own.md#Object) [b](#Object)\n"


@pytest.mark.fault("K11")
async def test_a_heading_is_followed_by_the_links_of_its_own_note_by_name(daemon, served):
    root = served({"Own.md": OWN.replace("¦", ""), "Other.md": "[[Own#Object]]\n"})
    async with editor(daemon.environment, root) as here:
        assert apply(root, await rename(here, "Own.md", OWN, "Subject")) == 6
    assert dangling(root) == []
    assert "Object" not in (root / "Own.md").read_text().replace("|Object", "")


@pytest.mark.fault("K11")
async def test_an_attachment_keeps_its_extension(daemon, served):
    root = served({"A.md": "![[image.png]] ![x](image.png)\n", "image.png": b"\x89PNG", "other/b.png": b""})
    async with editor(daemon.environment, root) as here:
        for old, new in (("image", "photo"), ("photo", "scan.png"), ("scan", "other/last")):
            text = (root / "A.md").read_text()
            apply(root, await rename(here, "A.md", text.replace(old, f"{old[:2]}¦{old[2:]}", 1), new))
            here.close("A.md")
            assert (root / new).with_suffix(".png").is_file()
            assert dangling(root) == []


@pytest.mark.fault("K11")
async def test_what_was_saved_a_moment_ago_follows(daemon, served):
    root = served({"Pump.md": "# Pump\n", "A.md": "[[Pump]]\n"})
    async with editor(daemon.environment, root) as here:
        for turn in range(3):  # a note is saved, and the rename requested immediately
            old, new = ("Pump", "Valve", "Seal", "Cap")[turn : turn + 2]
            (root / f"Saved {turn}.md").write_text(f"[[{old}]] [[{old}#{old}]]\n")
            marked = f"[[{old[:2]}¦{old[2:]}]]\n"
            apply(root, await rename(here, "A.md", marked, new))
            here.close("A.md")
            assert dangling(root) == []
            (root / f"Again {turn}.md").write_text(f"[[{new}#{old}]]\n")
            heading = f"# {old[:2]}¦{old[2:]}\n"
            apply(root, await rename(here, f"{new}.md", heading, new))
            here.close(f"{new}.md")
            assert dangling(root) == []


@pytest.mark.fault("K11", "L11")
def test_l11_a_canvas_that_was_saved_a_moment_ago_follows(daemon, served):
    names = ("Pump", "Valve", "Seal", "Cap")
    root = served({"Pump.md": "# Pump\n"})
    with Client(daemon.socket) as client:
        for turn, (old, new) in enumerate(pairwise(names)):
            nodes = [
                {"id": "a", "type": "file", "file": f"{old}.md"},
                {"id": "b", "type": "text", "text": "#tea"},
            ]
            write_files(root, {f"{turn}.canvas": json.dumps({"nodes": nodes})})
            write_files(root, {f"{turn}.org": f"[[file:{old}.md]]\n", f"{turn}.pdf": b"%PDF-"})
            moves = [{"old": f"{old}.md", "new": f"x/{old}.md"}]
            edits = client.propose_rename(moves=moves, vault=str(root))["edits"]
            assert {f"{turn}.canvas", f"{turn}.org"} <= {edit["path"] for edit in edits}
            edits = client.propose_rename(tag="tea", to="chai", vault=str(root))["edits"]
            assert len(edits) == turn + 1
            (root / f"{old}.md").rename(root / f"{new}.md")


@pytest.mark.fault("K11")
async def test_nothing_is_moved_to_where_it_is_not_seen(daemon, served):
    root = served(
        {".obsidian/app.json": '{"userIgnoreFilters": ["Private/"]}', "A.md": "[[B]]\n", "B.md": ""}
    )
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    async with editor(daemon.environment, root) as here:
        for name in (".obsidian/x", "sub/.hidden/x", "Private/x", "node_modules/x", "../x", "/x"):
            with pytest.raises(JsonRpcException, match=r"hidden or excluded|not a path inside the vault"):
                await rename(here, "A.md", "[[B¦]]\n", name)
            here.close("A.md")
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


@pytest.mark.fault("K11")
def test_a_move_that_loses_the_extension_is_refused(daemon, served):
    root = served({"A.md": "![[image.png]]\n", "image.png": b"\x89PNG"})
    with Client(daemon.socket) as client, pytest.raises(UsageError, match=r"photo\.png"):
        client.propose_rename(moves=[{"old": "image.png", "new": "photo"}], vault=str(root))
    write_files(root, {"B.md": "![[image.png]]\n"})
    with Client(daemon.socket) as client:
        answer = client.propose_rename(moves=[{"old": "image.png", "new": "photo.png"}], vault=str(root))
    assert sorted(edit["path"] for edit in answer["edits"]) == ["A.md", "B.md"]


@pytest.mark.fault("K11")
def test_a_tag_that_a_note_could_not_have_is_refused(daemon, served):
    root = served({"A.md": "---\ntags: [tea]\n---\n#tea\n"})
    with Client(daemon.socket) as client:
        for new in (
            "@home",
            "*",
            "%x",
            "&x",
            "~",
            "null",
            "True",
            "a=b",
            "home+",
            "12",
            "1e3",
            "0x1F",
            "-",
            "$",
        ):
            with pytest.raises(UsageError, match="letters, digits"):
                client.propose_rename(tag="tea", to=new, vault=str(root))
        for new in ("#home/", "job-1/old_one", "-x", "2031/03", "Café", "🧗"):
            answer = client.propose_rename(tag="tea", to=new, vault=str(root))
            assert [edit["new"] for edit in answer["edits"]] == [new.strip("#/")] * 2


@pytest.mark.fault("K11")
async def test_the_properties_of_an_open_note_stay_readable(daemon, served):
    text = "---\nup: '[[Pu¦mp]]'\npart: \"[[Pump#Old]]\"\n---\n"
    root = served({"A.md": text.replace("¦", ""), "Pump.md": "# Old\n"})
    async with editor(daemon.environment, root) as here:
        apply(root, await rename(here, "A.md", text, "Bob's pump"))
        here.close("A.md")
        apply(root, await rename(here, "Bob's pump.md", "# O¦ld\n", 'The "x"'))
    assert (root / "A.md").read_text() == (
        "---\nup: '[[Bob''s pump]]'\npart: \"[[Bob's pump#The \\\"x\\\"]]\"\n---\n"
    )


async def test_a_canvas_follows_and_a_page_that_does_not_is_named(daemon, served):
    page = "<html><body><p>See <a href='Pump.md'>the pump</a> of the house</p></body></html>"
    card = '{"nodes": [{"id": "a", "type": "file", "file": "Pump.md"}]}'
    root = served({"Pump.md": "# Pump\n", "A.md": "[[Pump]]\n", "b.canvas": card, "c.html": page})
    async with editor(daemon.environment, root) as here:
        assert apply(root, await rename(here, "A.md", "[[Pu¦mp]]\n", "Valve")) == 2
        assert [message for message in here.messages if "c.html" in message]
    assert (root / "b.canvas").read_text() == card.replace("Pump", "Valve")


@pytest.mark.fault("K11", "L11")
async def test_l11_a_file_that_moves_under_its_own_name_takes_its_cards_along(daemon, served):
    card = '{"nodes": [{"id": "a", "type": "file", "file": "x/Pump.md"}]}'
    page = "---\nup: '[[Pump\n  two]]'\n---\n[[Pump two]] ![a](x/p.png)\n"
    root = served({"x/Pump.md": "", "x/Pump two.md": "", "x/p.png": "", "b.canvas": card, "A.md": page})
    moves = (("x/Pump.md", "y/Pump.md"), ("y/Pump.md", "y/pump.md"), ("x/p.png", "p.png"))
    async with editor(daemon.environment, root) as here:
        here.open("A.md", page)
        for old, new in moves:
            files = [types.FileRename(here.uri(old), here.uri(new))]
            edit = await here.client.workspace_will_rename_files_async(types.RenameFilesParams(files))
            (root / new).parent.mkdir(exist_ok=True)
            assert apply(root, edit or types.WorkspaceEdit()) == 1
            (root / old).rename(root / new)
        assert not here.messages
        files = [types.FileRename(here.uri("x/Pump two.md"), here.uri("Valve.md"))]
        edit = await here.client.workspace_will_rename_files_async(types.RenameFilesParams(files))
        assert apply(root, edit or types.WorkspaceEdit()) == 1
        assert [message for message in here.messages if "A.md" in message]
    assert (root / "b.canvas").read_text() == card.replace("x/Pump", "y/pump")
    assert (root / "A.md").read_text() == page.replace("[[Pump two]]", "[[Valve]]").replace("x/p", "p")
