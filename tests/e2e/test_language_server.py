"""Every feature of the language server, with pygls' own client, the real command and a real daemon."""

import asyncio
import re
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp_client import CAPABILITIES, ENCODINGS, editor, position
from vaultseek.content.markdown.parse import parse
from vaultseek.core.notes.anchors import block_lines
from worlds import write_files

NOTES = {
    "Windlass.MD": "anchor\n",
    "Pump.md": "---\ntags: [work/pumps]\naliases: [Bilge]\nstatus: open\n---\n"
    "# Pump\n\nSwitch E-4107. [[Tea]]\n\n## Alarm\nIt rings. ^al1\n",
    "Garden.md": "# Garden\n\nSlugs eat the lettuce. See [[Pump|the pump]]\n"
    "and [[nowhere]] and [[pump#Alarm]].\n"
    "The Bilge, 🧗 [[Pump#^al1]] #work/pumps\n",
    "sub/Tea.md": "Green tea at the bilge. #drinks\n\n```sh\n#work\n```\n",
    "sub/Pear.md": "# Pear\n[tea](Tea.md) ![[p.png]] [[Pump#Nope]] [[Twin]] [[#^none]]\n",
    "a/O'Neil.md": "---\nkind: 'in, or out'\n---\n",
    "a/Twin.md": "",
    "b/Twin.md": "---\nbroken: [\n---\n",
    "sub/p.png": "not really",
}


@pytest.fixture(scope="module")
def served(indexed_vault):
    """A vault indexed by a daemon."""
    return indexed_vault(NOTES)


def opened(served, **more):
    return editor(served.daemon.environment, served.root, **more)


def document(uri: str) -> types.TextDocumentIdentifier:
    return types.TextDocumentIdentifier(uri)


async def completed(here, marked: str, path: str = "Garden.md") -> dict[str, str]:
    """Return the label and the new text of each completion at the mark."""
    text, at = position(marked)
    uri = here.open(path, text)
    answer = await here.client.text_document_completion_async(types.CompletionParams(document(uri), at))
    here.close(path)
    return {item.label: item.text_edit.new_text for item in (answer.items if answer else ())}


async def test_whatever_can_be_named_is_completed(served):
    async with opened(served) as here:
        assert (await completed(here, "[[pu¦"))["Pump"] == "Pump]]"
        assert await completed(here, "[[bil¦]]") == {"Bilge": "Pump|Bilge"}
        twins = await completed(here, "x [[twin¦]]")
        assert set(twins.values()) <= {"a/Twin", "b/Twin"}
        assert await completed(here, "[[Pump#al¦]]") == {"Alarm": "Pump#Alarm"}
        assert (await completed(here, "[[Pump^al¦"))["al1"] == "Pump#^al1]]"
        assert await completed(here, "## Own head\n[[#own¦") == {"Own head": "#Own head]]"}
        assert await completed(here, "[[##alar¦") == {"Alarm": "Pump#Alarm]]"}
        assert await completed(here, "[[^^al¦") == {"al1": "Pump#^al1]]"}
        assert await completed(here, "[[^^rings¦") == {"al1": "Pump#^al1]]"}, "by words of the block"
        assert (await completed(here, "![[p.p¦"))["p.png"] == "p.png]]"
        tea = await completed(here, "[x](Tea¦")
        assert tea["Tea"] == "sub/Tea.md)", "without Obsidian, a Markdown link is a relative path"
        assert "work/pumps" in await completed(here, "#wor¦")
        assert await completed(here, "---\nstat¦\n---\n") == {"status": "status: "}
        assert await completed(here, "---\nstatus: o¦\n---\n") == {"open": "open"}
        assert "work/pumps" in await completed(here, "---\ntags:\n  - wor¦\n---\n")
        assert await completed(here, "```\n[[pu¦\n```\n") == {}
        text, at = position("[[Pump¦")
        uri = here.open("Garden.md", text)
        answer = await here.client.text_document_completion_async(types.CompletionParams(document(uri), at))
        item = await here.client.completion_item_resolve_async(answer.items[0])
        assert "Switch E-4107" in item.documentation.value


async def test_a_part_of_a_path_is_completed_and_a_table_keeps_its_cells(served):
    async with opened(served) as here:
        assert await completed(here, "[[sub/te¦") == {"sub/Tea": "Tea]]"}
        assert await completed(here, "[[/sub/te¦") == {"sub/Tea": "Tea]]"}
        assert await completed(here, "[x](sub/Te¦)") == {"sub/Tea": "sub/Tea.md"}
        assert await completed(here, "[x](../pu¦", "sub/Pear.md") == {"Pump": "../Pump.md)"}
        assert await completed(here, "[x](./¦", "sub/Pear.md") == {
            "sub/Tea": "./Tea.md)",
            "sub/Pear": "./Pear.md)",
            "sub/p.png": "./p.png)",
        }
        assert await completed(here, "![[sub/p¦") == {"sub/p.png": "p.png]]", "sub/Pear": "Pear]]"}
        assert (await completed(here, "[[Pump^rings¦"))["al1"] == "Pump#^al1]]", "by words of the block"
        assert await completed(here, "| a |\n| - |\n| [[bil¦ |") == {"Bilge": r"Pump\|Bilge]]"}
        assert await completed(here, "a | [[bil¦\n- | -\n") == {"Bilge": r"Pump\|Bilge]]"}
        assert await completed(here, "a | [[bil¦") == {"Bilge": "Pump|Bilge]]"}
        assert await completed(here, "# Twice\n# Twice\n[[#tw¦") == {"Twice": "#Twice]]"}
        here.open("Garden.md", "| a |\n|---|\n| The Bilge |\n")
        mention = await actions_at(here, "Garden.md", 2, 8)
        assert new_texts(mention["Link Bilge to Pump.md"].edit) == [r"[[Pump\|Bilge]]"]


async def test_signs_of_a_name_that_end_a_link_or_a_cell_do_not(served):
    signs = "---\naliases: ['br]]acket', Post | Site]\n---\n"
    async with opened(served) as here:
        write_files(served.root, {"Signs.md": signs})
        served.daemon.run("index", "--wait", "--vault", str(served.root))
        assert await completed(here, "[[br]]ack¦") == {}
        assert (await completed(here, "[[brack¦"))["br]]acket"] == "Signs]]"
        table = "| a |\n| - |\n| [[post¦ |"
        assert (await completed(here, table))["Post | Site"] == r"Signs\|Post \| Site]]"
        (served.root / "Signs.md").unlink()
        served.daemon.run("index", "--wait", "--vault", str(served.root))


NESTED = "## First\n### Same\n## Second\n### Same\n### Other\n## C# notes\n## Third\n#### Same\n"


async def test_a_completed_heading_is_the_one_that_was_chosen(served):
    async with opened(served) as here:
        assert await completed(here, f"{NESTED}[[#sa¦") == {
            "Same": "#Same]]",
            "Second#Same": "#Second#Same]]",
            "Third#Same": "#Third#Same]]",
        }
        assert await completed(here, f"{NESTED}[[#Second#sa¦") == {"Same": "#Second#Same]]"}
        assert set(await completed(here, f"{NESTED}[[#Second#¦")) == {"Same", "Other"}
        assert await completed(here, f"{NESTED}[x](#Second#sa¦") == {"Same": "#Second#Same)"}
        assert await completed(here, f"{NESTED}[[#C# no¦") == {"C# notes": "#C notes]]"}
        here.open("Pump.md", NESTED)
        assert await completed(here, "[[Pump#second#ot¦") == {"Other": "Pump#second#Other]]"}
        here.close("Pump.md")
        assert (await completed(here, "[[Pump#alrm¦"))["Alarm"] == "Pump#Alarm]]", "with a typing error"


async def test_a_hover_in_plain_text_shows_the_note_as_it_is(served):
    text = "# G\n\nSum $\\frac{a}{b}$, C:\\temp, 2**3**4 and <b>. ^s\n\n[[#^s]]\n"
    plain = types.HoverClientCapabilities(content_format=[types.MarkupKind.PlainText])
    about = types.TextDocumentClientCapabilities(hover=plain)
    async with opened(served, text_document=about) as here:
        uri = here.open("Garden.md", text)
        shown = await here.client.text_document_hover_async(
            types.HoverParams(document(uri), types.Position(4, 3))
        )
    assert shown.contents.kind == types.MarkupKind.PlainText
    assert r"Sum $\frac{a}{b}$, C:\temp, 2**3**4 and <b>. ^s" in shown.contents.value
    assert shown.contents.value.startswith("Garden · Garden.md")


async def replaced(here, marked: str, path: str = "Garden.md") -> str:
    """Return the line at the mark after the first completion is accepted."""
    text, at = position(marked)
    uri = here.open(path, text)
    answer = await here.client.text_document_completion_async(types.CompletionParams(document(uri), at))
    here.close(path)
    item = answer.items[0]
    edit = item.text_edit
    line = text.split("\n")[at.line]
    assert item.filter_text.startswith(line[edit.range.start.character : at.character])
    return line[: edit.range.start.character] + edit.new_text + line[edit.range.end.character :]


QUOTED = {
    'status: "o¦"': 'status: "open"',
    'status: "o¦': 'status: "open"',
    "status: 'o¦pe' # why": "status: 'open' # why",
    'tags: ["work/p¦"]': 'tags: ["work/pumps"]',
    'tags: ["work/p¦, "b"]': 'tags: ["work/pumps", "b"]',
    "tags: [x, \"a, b\", 'work/p¦']": "tags: [x, \"a, b\", 'work/pumps']",
    'kind: ["in, o¦"]': 'kind: ["in, or out"]',
    "up: '[[O'¦]]'": "up: '[[O''Neil]]'",
    'up: ["[[a]]", "[[O\'¦"]': 'up: ["[[a]]", "[[O\'Neil]]"]',
}
CLOSED = {
    "[[pum¦|alias]] x": "[[Pump|alias]] x",
    "[[bil¦|alias]]": "[[Pump|alias]]",
    "[[pum¦#Alarm]]": "[[Pump#Alarm]]",
    "[[pu¦mp|alias]]": "[[Pump|alias]]",
    "[[Pump#al¦arm|alias]]": "[[Pump#Alarm|alias]]",
    "[[pum¦ and [[Tea]]": "[[Pump]] and [[Tea]]",
    "| a |\n| - |\n| [[pum¦\\|b]] |": "| [[Pump\\|b]] |",
    "[x](Pum¦p.md#Alarm) y": "[x](Pump.md#Alarm) y",
    '[x](Pum¦ "title")': '[x](Pump.md "title")',
    "[x](<Pum¦>)": "[x](<Pump.md>)",
    "[x](<Pu¦mp.md#Alarm>) y": "[x](<Pump.md#Alarm>) y",
    "[x](<Pum¦": "[x](<Pump.md>)",
}


async def test_what_stands_in_quotation_marks_stays_in_them(served):
    async with opened(served) as here:
        after = {marked: await replaced(here, f"---\n{marked}\n---\n") for marked in QUOTED}
    assert after == QUOTED


async def test_the_rest_of_a_link_that_is_closed_stays(served):
    async with opened(served) as here:
        assert {marked: await replaced(here, marked) for marked in CLOSED} == CLOSED


async def test_new_links_are_markdown_where_the_vault_wants_that(served, tmp_path):
    files = {
        ".obsidian/app.json": '{"useMarkdownLinks": true, "newLinkFormat": "relative"}',
        "a/Big pump.md": "---\naliases: [Bilge]\n---\n# Big pump\n## Alarm [1]\n",
        "a/p.png": "",
        "b/n.md": "",
    }
    root = write_files(tmp_path / "markdown", files)
    assert served.daemon.run("index", "--wait", "--vault", str(root)).returncode == 0
    async with editor(served.daemon.environment, root) as here:
        assert await replaced(here, "x [[big¦]] y", "b/n.md") == "x [Big pump](../a/Big%20pump.md) y"
        assert await replaced(here, "x [[bil¦", "b/n.md") == "x [Bilge](../a/Big%20pump.md)"
        assert await replaced(here, "![[p.p¦]]", "b/n.md") == "![p.png](../a/p.png)"
        assert await replaced(here, "[[big pump#al¦]]", "b/n.md") == "[Alarm 1](big%20pump.md#Alarm%201)"
        assert await replaced(here, "[[##al¦", "b/n.md") == "[Alarm 1](../a/Big%20pump.md#Alarm%201)"
        assert (
            await replaced(here, "[[big¦#Alarm 1|loud]]", "b/n.md") == "[loud](../a/Big%20pump.md#Alarm%201)"
        )
        assert await replaced(here, "# Own\n[[#ow¦", "b/n.md") == "[Own](#Own)"
        assert await replaced(here, "---\nup: '[[big¦]]'\n---\n", "b/n.md") == "up: '[[../a/Big pump]]'"
        draft = "untitled:Untitled-1"
        item = types.TextDocumentItem(draft, "markdown", 1, "[[big")
        here.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        params = types.CompletionParams(document(draft), types.Position(0, 5))
        item = (await here.client.text_document_completion_async(params)).items[0]
        assert item.text_edit.new_text == "[Big pump](a/Big%20pump.md)"


async def test_references_are_those_of_the_editors_text(served):
    async def referred(here, path: str, line: int, column: int) -> list[tuple[str, int, int]]:
        context = types.ReferenceContext(include_declaration=False)
        params = types.ReferenceParams(context, document(here.uri(path)), types.Position(line, column))
        places = await here.client.text_document_references_async(params)
        return [(here.path(each.uri), each.range.start.line, each.range.start.character) for each in places]

    async with opened(served) as here:
        here.open("Pump.md")
        assert await referred(here, "Pump.md", 10, 3) == [("Garden.md", 4, 14)], "the block's own"
        assert await referred(here, "Pump.md", 9, 3) == [("Garden.md", 3, 20)], "the heading's own"
        here.open("Garden.md", "\n🧗 [[Pump#^AL1]] [[Pump#New one]]\n")
        assert await referred(here, "Pump.md", 10, 3) == [("Garden.md", 1, 3)]
        assert await referred(here, "Pump.md", 9, 3) == []
        text = "# Pump\n\n## New one\n[[#New one]] [[Pump#new one]]\n"
        here.change("Pump.md", 2, types.TextDocumentContentChangeWholeDocument(text))
        places = [("Garden.md", 1, 17), ("Pump.md", 3, 0), ("Pump.md", 3, 13)]
        assert await referred(here, "Pump.md", 2, 3) == places
        assert await referred(here, "Pump.md", 0, 3) == [
            ("Garden.md", 1, 3),
            ("Garden.md", 1, 17),
            ("sub/Pear.md", 1, 25),
        ], "the note's, from the editor's text where it is open"


async def test_links_lead_where_obsidian_would_lead(served):
    async with opened(served) as here:
        uri = here.open("Garden.md")
        (at,) = await here.client.text_document_definition_async(
            types.DefinitionParams(document(uri), types.Position(3, 22))
        )
        assert (at.uri, at.range.start.line) == (here.uri("Pump.md"), 9)
        links = await here.client.text_document_document_link_async(types.DocumentLinkParams(document(uri)))
        assert [link.target for link in links] == [
            here.uri("Pump.md"),
            here.uri("Pump.md") + "#L10",
            here.uri("Pump.md") + "#L11",
        ]
        shown = await here.client.text_document_hover_async(
            types.HoverParams(document(uri), types.Position(2, 33))
        )
        assert "Switch E-4107" in shown.contents.value
        assert "4 backlinks: Garden, Pear" in shown.contents.value
        assert (shown.range.start.character, shown.range.end.character) == (27, 44)
        context = types.ReferenceContext(include_declaration=False)
        found = await here.client.text_document_references_async(
            types.ReferenceParams(context, document(uri), types.Position(2, 33))
        )
        assert [here.path(each.uri) for each in found] == ["Garden.md"] * 3 + ["sub/Pear.md"]
        tagged = await here.client.text_document_references_async(
            types.ReferenceParams(context, document(uri), types.Position(4, 34))
        )
        assert [(here.path(each.uri), each.range.start.line) for each in tagged] == [
            ("Garden.md", 4),
            ("Pump.md", 1),
        ]


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_ranges_are_in_the_units_of_the_client(served, encoding):
    line = "漢字 e\u0301 🧗‍♀️ [[nowhere]] \u2028 [[Pump]]"
    units = {"utf-8": lambda text: len(text.encode()), "utf-32": len}
    units["utf-16"] = lambda text: len(text.encode("utf-16-le")) // 2
    unit = units[encoding]
    async with opened(served, encoding=encoding) as here:
        assert here.server.position_encoding == ENCODINGS[encoding]
        uri = here.open("Garden.md", f"\r\n{line}\r\nx")
        (item,) = await here.until_published("Garden.md", lambda items: items)
        start = line.index("[[nowhere")
        at = item.range
        assert (at.start.line, at.start.character) == (1, unit(line[:start]))
        assert at.end.character == unit(line[: start + len("[[nowhere]]")])
        links = await here.client.text_document_document_link_async(types.DocumentLinkParams(document(uri)))
        assert links[0].range.start.character == unit(line[: line.index("[[Pump")])
        name = types.Range(
            types.Position(1, unit(line[: start + 2])), types.Position(1, unit(line[: start + 9]))
        )
        here.change("Garden.md", 2, types.TextDocumentContentChangePartial(name, "Tea"))
        await here.until_published("Garden.md", lambda items: items == [])


async def test_what_is_wrong_with_links_is_said_for_the_editors_text_and_for_the_whole_vault(served):
    async with opened(served) as here:
        here.open("sub/Pear.md")
        items = await here.until_published("sub/Pear.md", lambda items: items)
        assert [item.code for item in items] == ["missing_heading", "ambiguous", "missing_block"]
        pump = here.open("Pump.md")
        here.change("Pump.md", 2, types.TextDocumentContentChangeWholeDocument("# Pump\n## Nope\n"))
        here.change(
            "sub/Pear.md", 2, types.TextDocumentContentChangeWholeDocument("[[Pump#Nope]] [[Pump#Alarm]]")
        )
        (item,) = await here.until_published("sub/Pear.md", lambda items: items and len(items) == 1)
        assert (item.code, item.range.start.character) == ("missing_heading", 14)
        assert pump
    text = CAPABILITIES["text_document"]
    pulling = types.TextDocumentClientCapabilities(
        **{**vars_of(text), "diagnostic": types.DiagnosticClientCapabilities()}
    )
    async with opened(served, text_document=pulling) as here:
        uri = here.open("Garden.md")
        report = await here.client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(document(uri))
        )
        assert [item.code for item in report.items] == ["missing_note"]
        whole = await here.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams([]))
        codes = {here.path(each.uri): [item.code for item in each.items] for each in whole.items}
        assert codes == {
            "b/Twin.md": ["bad_frontmatter"],
            "sub/Pear.md": ["missing_heading", "ambiguous", "missing_block"],
        }
        other = {"Twin": "%54win", "Pear": "P%65ar"}
        known = [
            types.PreviousResultId(each.uri.replace(name, encoded), each.result_id)
            for each in whole.items
            for name, encoded in other.items()
            if name in each.uri
        ]
        again = await here.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams(known))
        kinds = [each.kind for each in again.items]
        assert kinds == [types.DocumentDiagnosticReportKind.Unchanged] * 2, "an encoding of a client's own"
        assert here.published == {}


def vars_of(value) -> dict:
    return {name: getattr(value, name) for name in type(value).__slots__ if not name.startswith("__")}


async def test_the_search_is_the_list_of_symbols(served):
    async with opened(served) as here:
        found = await here.client.workspace_symbol_async(types.WorkspaceSymbolParams("lettuce"))
        assert (found[0].name, here.path(found[0].location.uri)) == ("Garden", "Garden.md")
        assert found[0].location.range.start.line == 2
        assert await here.client.workspace_symbol_async(types.WorkspaceSymbolParams(""))
    async with opened(served, name="Visual Studio Code") as here:
        found = await here.client.workspace_symbol_async(types.WorkspaceSymbolParams("lettuce"))
        assert found[0].name == "lettuce · 01 Garden", "it drops what lacks the letters of the query"


async def test_headings_are_the_outline_and_folds_and_counts_are_there_when_asked_for(served):
    async with opened(served, options={"codeLens": True, "inlayHints": True}) as here:
        uri = here.open("Pump.md")
        (top,) = await here.client.text_document_document_symbol_async(
            types.DocumentSymbolParams(document(uri))
        )
        assert (top.name, [child.name for child in top.children]) == ("Pump", ["Alarm"])
        assert (top.range.start.line, top.range.end.line) == (5, 10)
        folds = await here.client.text_document_folding_range_async(types.FoldingRangeParams(document(uri)))
        assert [(fold.start_line, fold.end_line) for fold in folds] == [(0, 4), (5, 10), (9, 10)]
        lenses = await here.client.text_document_code_lens_async(types.CodeLensParams(document(uri)))
        assert [(lens.range.start.line, lens.command.title) for lens in lenses] == [
            (5, "4 backlinks"),
            (9, "1 link"),
        ]
        whole = types.Range(types.Position(0, 0), types.Position(20, 0))
        hints = await here.client.text_document_inlay_hint_async(types.InlayHintParams(document(uri), whole))
        assert [hint.label for hint in hints] == ["4 backlinks", "1 link"]
    async with opened(served) as here:
        uri = here.open("Pump.md")
        assert not await here.client.text_document_code_lens_async(types.CodeLensParams(document(uri)))


LACKING = {
    "Steam.md": "# Steam\n\nSee [[Boiler]] and [[Valve]].\n",
    "Heat.md": "# Heat\n\nSee [[Boiler]] and [[Valve]].\n",
    "Boiler.md": "# Boiler\n\nIt is heavy.\n",
    "Valve.md": "# Valve\n\nIt belongs to the boiler.\n",
    "Tea.md": "# Tea\n\nGreen.\n",
}


async def test_links_that_are_missing_are_counted_offered_and_inserted(daemon, vault):
    root = daemon.indexed(vault(LACKING))
    async with editor(daemon.environment, root, options={"codeLens": True}) as here:
        uri = here.open("Valve.md")
        lenses = await here.client.text_document_code_lens_async(types.CodeLensParams(document(uri)))
        assert [each.command.title for each in lenses] == ["2 backlinks", "1 link missing"]
        run = here.client.workspace_execute_command_async
        (missing,) = await run(types.ExecuteCommandParams("vaultseek.missing", arguments=[uri]))
        assert missing["uri"] == here.uri("Boiler.md")
        end = types.Range(types.Position(2, 26), types.Position(2, 26))
        invoked = types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Invoked)
        by_hand = await here.client.text_document_code_action_async(
            types.CodeActionParams(document(uri), end, invoked)
        )
        (insert,) = (each for each in by_hand if each.title == "Insert a link to Boiler.md")
        assert new_texts(insert.edit) == ["[[Boiler]]"]
        assert "Insert a link to Boiler.md" not in await actions_at(here, "Valve.md", 2, 26)
        uri = here.open("Tea.md")
        lenses = await here.client.text_document_code_lens_async(types.CodeLensParams(document(uri)))
        assert [each.command.title for each in lenses] == ["0 backlinks"]


async def actions_at(here, path: str, line: int, column: int) -> dict[str, types.CodeAction]:
    at = types.Range(types.Position(line, column), types.Position(line, column))
    params = types.CodeActionParams(document(here.uri(path)), at, types.CodeActionContext([]))
    return {action.title: action for action in await here.client.text_document_code_action_async(params)}


def new_texts(edit: types.WorkspaceEdit) -> list[str]:
    return [change.new_text for each in edit.document_changes for change in getattr(each, "edits", ())]


async def test_links_can_be_mended_and_mentions_linked(served):
    async with opened(served) as here:
        here.open(
            "Garden.md",
            "See [[Pumpe]] and [[Pump#Alram]] and [[Twin]].\nThe bilge and the Bilge, `Bilge`.\n\n"
            "The Bilge\n===\n\n> [!bilge]\n> #bilge [^bilge] [up](../bilge/x.md 'a (bilge)') ^bilge\n\n"
            "%%\nbilge\n%%\n\n- $$\n  bilge\n  $$\n\n<div>\nbilge\n</div>\n",
        )
        repairs = await actions_at(here, "Garden.md", 0, 7)
        (made,) = repairs["Create Pumpe.md"].edit.document_changes
        assert made.uri == here.uri("Pumpe.md")
        assert new_texts(repairs["Change to Pump"].edit) == ["Pump"]
        assert new_texts((await actions_at(here, "Garden.md", 0, 20))["Change to #Alarm"].edit) == [
            "Pump#Alarm"
        ]
        assert new_texts((await actions_at(here, "Garden.md", 0, 40))["Point to b/Twin.md"].edit) == [
            "b/Twin"
        ]
        mention = await actions_at(here, "Garden.md", 1, 6)
        assert new_texts(mention["Link bilge to Pump.md"].edit) == ["[[Pump|bilge]]"]
        every = await here.client.code_action_resolve_async(
            mention["Link every mention of Pump in this note"]
        )
        assert new_texts(every.edit) == ["[[Pump|bilge]]", "[[Pump|Bilge]]"]
        assert "vaultseek.related" in str(mention["Related notes"])
        here.open("Shed.MD", "See [[Pumpe]].\n")
        assert "Change to Pump" in await actions_at(here, "Shed.MD", 0, 7)
        here.open("Hut.md", "See [w](Windlas.md).\n")
        mended = await actions_at(here, "Hut.md", 0, 10)
        assert [new_texts(mended[title].edit) for title in mended if "Windlass" in title] == [["Windlass.MD"]]
        assert (await completed(here, "[w](Windl¦)"))["Windlass.MD"] == "Windlass.MD"
        assert await here.until_published("Shed.MD", bool)


async def test_an_edit_has_the_version_of_the_text_that_it_was_made_for(served):
    async with opened(served) as here:
        uri = here.open("Garden.md", "[[Pumpp]]\n")
        await actions_at(here, "Garden.md", 0, 4)
        asked = asyncio.ensure_future(actions_at(here, "Garden.md", 0, 4))
        await asyncio.sleep(0)  # the request is on its way
        here.change("Garden.md", 2, types.TextDocumentContentChangeWholeDocument("ab [[Pumpp]]\n"))
        (change,) = (await asked)["Change to Pump"].edit.document_changes
        assert change.text_document.uri == uri
        assert (change.text_document.version, change.edits[0].range.start.character) in ((1, 2), (2, 5))


async def test_commands_search_and_explain(served):
    async with opened(served) as here:
        run = here.client.workspace_execute_command_async
        found = await run(types.ExecuteCommandParams("vaultseek.search", arguments=["lettuce", 1]))
        assert [result["uri"] for result in found] == [here.uri("Garden.md")]
        like = await run(types.ExecuteCommandParams("vaultseek.related", arguments=[here.uri("Pump.md")]))
        assert "Garden.md" in [result["path"] for result in like]
        links = await run(types.ExecuteCommandParams("vaultseek.backlinks", arguments=[here.uri("Pump.md")]))
        assert len(links) == 4
        why = await run(
            types.ExecuteCommandParams("vaultseek.why", arguments=["slugs", here.uri("Garden.md")])
        )
        assert why["verdict"] == "found"
        with pytest.raises(JsonRpcException, match="needs a query"):
            await run(types.ExecuteCommandParams("vaultseek.search", arguments=[]))


async def test_the_command_searches_the_folders_of_the_workspace(served, tmp_path):
    for name in ("second", "third"):
        root = write_files(tmp_path / name, {f"{name}.md": "Lettuce again.\n", ".obsidian/app.json": "{}"})
        served.daemon.run("index", "--wait", "--vault", str(root))
    async with opened(served, folders=[served.root, tmp_path / "second"]) as here:
        run = here.client.workspace_execute_command_async
        found = await run(types.ExecuteCommandParams("vaultseek.search", arguments=["lettuce"]))
        assert {"second.md", "Garden.md"} <= {result["path"] for result in found}
        assert "third.md" not in {result["path"] for result in found}


async def test_renames_are_proposed_with_every_link(served):
    async with opened(served) as here:
        uri = here.open("Garden.md")
        at = types.Position(2, 31)
        ready = await here.client.text_document_prepare_rename_async(
            types.PrepareRenameParams(document(uri), at)
        )
        assert (ready.placeholder, ready.range.start.character, ready.range.end.character) == ("Pump", 29, 33)
        here.change(
            "Garden.md", 2, types.TextDocumentContentChangeWholeDocument("\n\nNot saved: [[Pump#Alarm|x]]\n")
        )
        at = types.Position(2, 15)
        edit = await here.client.text_document_rename_async(types.RenameParams(document(uri), at, "Valve"))
        *edits, file = edit.document_changes
        assert (file.old_uri, file.new_uri) == (here.uri("Pump.md"), here.uri("Valve.md"))
        assert {
            here.path(each.text_document.uri): [one.new_text for one in each.edits] for each in edits
        } == {
            "Garden.md": ["Valve#Alarm|x"],
            "sub/Pear.md": ["Valve#Nope"],
        }
        heading = await here.client.text_document_rename_async(
            types.RenameParams(document(uri), types.Position(2, 20), "Bell")
        )
        assert {
            here.path(each.text_document.uri): new_texts_of(each) for each in heading.document_changes
        } == {
            "Pump.md": ["Bell"],
            "Garden.md": ["Pump#Bell|x"],
        }
        moved = await here.client.workspace_will_rename_files_async(
            types.RenameFilesParams([types.FileRename(here.uri("sub"), here.uri("deep/sub"))])
        )
        assert moved is None, "links by name still lead there"
        (move,) = (
            await here.client.workspace_will_rename_files_async(
                types.RenameFilesParams([types.FileRename(here.uri("a") + "/", here.uri("b/a") + "/")])
            )
        ).document_changes
        assert here.path(move.text_document.uri) == "sub/Pear.md"
        assert new_texts_of(move) == ["a/Twin"], "the shortest that leads to the same of two"
        moved = await here.client.workspace_will_rename_files_async(
            types.RenameFilesParams([types.FileRename(here.uri("sub/Tea.md"), here.uri("Leaf tea.md"))])
        )
        assert {here.path(each.text_document.uri): new_texts_of(each) for each in moved.document_changes} == {
            "Pump.md": ["Leaf tea"],
            "sub/Pear.md": ["../Leaf%20tea.md"],
        }
        for name, wrong in (
            ("", "needs a name"),
            (".x", "hidden"),
            ("x" * 300, "file"),
            ("a|b", "leave out"),
        ):
            with pytest.raises(JsonRpcException, match=wrong):
                await here.client.text_document_rename_async(types.RenameParams(document(uri), at, name))
        lines = await here.client.text_document_rename_async(
            types.RenameParams(document(uri), types.Position(2, 20), "One\nline")
        )
        assert new_texts_of(lines.document_changes[0]) == ["One line"]
        with pytest.raises(JsonRpcException, match="already"):
            await here.client.text_document_rename_async(types.RenameParams(document(uri), at, "Garden"))


def new_texts_of(change: types.TextDocumentEdit) -> list[str]:
    return [each.new_text for each in change.edits]


async def test_each_note_belongs_to_the_vault_that_the_daemon_sees(served, tmp_path):
    outer = write_files(tmp_path / "outer", {".obsidian/app.json": "{}", "A.md": "[[B]]\n"})
    inner = write_files(outer / "inner", {".obsidian/app.json": "{}", "B.md": "[[A]]\n"})
    async with opened(served, folders=[outer, inner]) as here:
        uri = (inner / "B.md").as_uri()
        item = types.TextDocumentItem(uri, "markdown", 1, "[[A]]")
        here.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        async with asyncio.timeout(60):
            while not here.published.get(uri):
                await asyncio.sleep(0.02)
        (problem,) = here.published[uri]
        assert problem.code == "missing_note", "the inner vault knows nothing of the outer one"
        stray = tmp_path / "stray.md"
        item = types.TextDocumentItem(stray.as_uri(), "markdown", 1, "[[A]]")
        here.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        assert not await here.client.text_document_document_link_async(
            types.DocumentLinkParams(document(stray.as_uri()))
        )


@pytest.mark.fault("L10")
@pytest.mark.parametrize("folder", ["", "sub", "..", "/"])
async def test_l10_every_address_is_the_one_that_the_editor_knows(served, tmp_path, folder):
    (tmp_path / "above").mkdir()
    shown = tmp_path / "above" / "notes"
    shown.symlink_to(served.root)
    workspace = {"": shown, "sub": shown / "sub", "..": tmp_path / "above", "/": f"{shown.as_uri()}/"}[folder]
    async with editor(
        served.daemon.environment, shown, folders=[workspace], options={"codeLens": True}
    ) as here:
        uri = here.open("Garden.md")
        note, at = document(uri), types.Position(4, 20)
        client, answers = here.client, {}
        answers["links"] = await client.text_document_document_link_async(types.DocumentLinkParams(note))
        answers["definition"] = await client.text_document_definition_async(types.DefinitionParams(note, at))
        for method, params in (
            ("references", types.ReferenceParams(types.ReferenceContext(True), note, types.Position(2, 32))),
            ("rename", types.RenameParams(note, types.Position(2, 32), "Pomp")),
            ("code_lens", types.CodeLensParams(note)),
        ):
            answers[method] = await getattr(client, f"text_document_{method}_async")(params)
        answers["symbols"] = await client.workspace_symbol_async(types.WorkspaceSymbolParams("bilge"))
        answers["notes"] = await client.workspace_symbol_async(types.WorkspaceSymbolParams(""))
        answers["problems"] = await client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams([]))
        answers["create"] = (await actions_at(here, "Garden.md", 3, 8))["Create nowhere.md"]
        moved = types.RenameFilesParams([types.FileRename(here.uri("Pump.md"), here.uri("Pomp.md"))])
        answers["moved"] = await client.workspace_will_rename_files_async(moved)
        run = client.workspace_execute_command_async
        for name, argument in (("search", "bilge"), ("related", uri), ("backlinks", here.uri("Pump.md"))):
            answers[name] = await run(types.ExecuteCommandParams(f"vaultseek.{name}", arguments=[argument]))
    for name, answer in answers.items():
        addresses = re.findall(r"file://[^'\"#]*", str(answer))
        assert addresses, name
        assert {each for each in addresses if not each.startswith(shown.as_uri())} == set(), name
        assert "//" not in str(answer).replace("file://", ""), name


async def test_without_a_daemon_that_may_be_started_the_editor_is_told_and_works(tmp_path, daemon):
    daemon.environment["VAULTSEEK_DAEMON__AUTOSTART"] = "false"
    root: Path = write_files(tmp_path / "vault", {"A.md": "# A\n## B\n"})
    async with editor(daemon.environment, root) as here:
        uri = here.open("A.md")
        (top,) = await here.client.text_document_document_symbol_async(
            types.DocumentSymbolParams(document(uri))
        )
        assert [child.name for child in top.children] == ["B"]
        async with asyncio.timeout(30):
            while not here.messages:
                await asyncio.sleep(0.02)
        assert here.messages == [
            "vaultseek: no daemon is running, and autostart is off; run `vaultseek start`"
        ]


async def test_a_new_note_exists_before_it_is_saved(served):
    async with opened(served) as here:
        here.open("sub/Brand new.md", "---\naliases: [Fresh]\n---\n# Brand new\n\n## Part\n")
        here.open("Garden.md", "[[Brand new]] [[brand new#Part]] [[Fresh]] [[Brand new#Nope]]\n")
        (item,) = await here.until_published("Garden.md", lambda items: items)
        assert (item.code, item.range.start.character) == ("missing_heading", 43)
        here.close("Garden.md")
        assert (await completed(here, "[[brand¦"))["Brand new"] == "Brand new]]"
        assert await completed(here, "[[Brand new#pa¦") == {"Part": "Brand new#Part]]"}


async def test_a_broken_embed_or_block_is_changed_to_the_nearest_of_its_kind(served, tmp_path):
    files = {"N.md": "x", "pit.md": "", "pump/pits.png": "", "pits.mp3": "", "Pump.md": "It rings. ^al1\n"}
    root = write_files(tmp_path / "kinds", files)
    assert served.daemon.run("index", "--wait", "--vault", str(root)).returncode == 0
    async with editor(served.daemon.environment, root) as here:
        here.open("N.md", "![[pit.png]] [[Pump#^al2]]\n")
        embed = await actions_at(here, "N.md", 0, 5)
        assert new_texts(embed["Change to pits.png"].edit) == ["pits.png"]
        assert [title for title in embed if title.startswith("Change")] == ["Change to pits.png"]
        assert not any(title.startswith("Create") for title in embed)
        block = await actions_at(here, "N.md", 0, 18)
        assert new_texts(block["Change to #^al1"].edit) == ["Pump#^al1"]


async def test_a_hover_on_a_block_shows_the_block(served):
    async with opened(served) as here:
        uri = here.open(
            "Garden.md", "# G\n\nOne\ntwo. ^b1\n\nNext.\n\n- a\n- b ^b2\n- c\n\n[[#^b1]] [[#^b2]]\n"
        )
        for column, own in ((3, "One\ntwo. ^b1"), (12, "- b ^b2")):
            shown = await here.client.text_document_hover_async(
                types.HoverParams(document(uri), types.Position(11, column))
            )
            assert f"\n\n{own}\n\n---" in shown.contents.value


async def test_folders_are_completed_by_name(served):
    async with opened(served) as here:
        assert "sub/Tea" in await completed(here, "[[sub¦")


async def test_a_note_in_no_vault_has_its_own_headings(served, tmp_path):
    lone = write_files(tmp_path / "lone", {"Alone.md": ""})
    async with editor(served.daemon.environment, lone) as here:
        assert await completed(here, "# Top\n[[#to¦", "Alone.md") == {"Top": "#Top]]"}
        assert await completed(here, "[[pu¦", "Alone.md") == {}


LABELS = (
    "A[^1] and [tea][t] and [^2], `[^3]`, x[0][1] ¦\n\n[^1]: The *first*.\n[t]: sub/Tea.md\n\n```\n[^4]\n"
)


async def test_footnotes_and_labels_of_links_are_names_too(served):
    async with opened(served) as here:
        assert await completed(here, LABELS.replace("¦", "[^fir¦")) == {"^1": "^1]"}
        assert await completed(here, LABELS.replace("¦", "[x][¦]")) == {"t": "t"}
        assert await completed(here, "> [!war¦") == {"warning": "warning]"}
        uri = here.open("Garden.md", LABELS.replace("¦", ""))
        (item,) = await here.until_published("Garden.md", lambda items: items)
        assert (item.code, item.range.start.character) == ("missing_label", 24)
        assert "footnote [^2]" in item.message
        (at,) = await here.client.text_document_definition_async(
            types.DefinitionParams(document(uri), types.Position(0, 3))
        )
        assert (at.uri, at.range.start.line) == (uri, 2)
        shown = await here.client.text_document_hover_async(
            types.HoverParams(document(uri), types.Position(0, 3))
        )
        assert "The *first*." in shown.contents.value
        for column, line in ((3, 2), (17, 3)):
            places = await here.client.text_document_references_async(
                types.ReferenceParams(
                    types.ReferenceContext(include_declaration=True),
                    document(uri),
                    types.Position(0, column),
                )
            )
            assert [each.range.start.line for each in places] == [line, 0]


BLOCKS = """# Blocks

One line  
and two.

- milk
  - skimmed
- bread ^b1

> A quote
> of two.

```sh
ls
```
Last.

With an id. ^b2
"""


async def block_items(here, path: str, marked: str) -> dict[str, types.CompletionItem]:
    text, at = position(marked)
    uri = here.open(path, text)
    answer = await here.client.text_document_completion_async(types.CompletionParams(document(uri), at))
    return {item.label: item for item in answer.items}


def inserted(text: str, edit: types.TextEdit) -> str:
    lines = text.split("\n")
    start, end = edit.range.start, edit.range.end
    line = lines[start.line]
    assert start.line == end.line
    lines[start.line] = line[: start.character] + edit.new_text + line[end.character :]
    return "\n".join(lines)


async def test_a_block_without_an_id_gets_one_when_a_link_to_it_is_completed(served):
    async with opened(served) as here:
        items = await block_items(here, "Garden.md", f"{BLOCKS}\n[[#^¦")
        words = ["One line and two.", "- milk", "> A quote > of two.", "```sh ls ```", "Last."]
        assert list(items) == ["b1", "b2", *words]
        for label, shape in (
            ("One line and two.", "and two. ^{id}\n\n- milk\n"),
            ("- milk", "- milk ^{id}\n  - skimmed\n"),
            ("> A quote > of two.", "> of two.\n\n^{id}\n\n```"),
            ("```sh ls ```", "ls\n```\n\n^{id}\n\nLast."),
        ):
            (edit,) = items[label].additional_text_edits
            id = items[label].text_edit.new_text.removeprefix("#^").removesuffix("]]")
            text = inserted(BLOCKS, edit)
            assert shape.format(id=id) in text
            note = parse(text, "Garden.md")
            block = next(block for block in note.blocks if block.id == id)
            first, _ = block_lines(note, block.line)
            assert note.lines[first - 1].startswith(BLOCKS.split("\n")[first - 1].strip())
            here.close("Garden.md")
            again = await block_items(here, "Garden.md", f"{text}\n[[#^{id}¦")
            assert list(again) == [id], "it has its id now"


async def test_a_list_item_gets_no_id_in_a_line_of_code_a_table_or_a_formula(served):
    async with opened(served) as here:
        for last in ("```\n  ls\n  ```", "| a |\n  | - |\n  | 1 |", "$$\n  x\n  $$"):
            items = await block_items(here, "Garden.md", f"- one\n  {last}\n- two\n  lines\n\n[[#^¦")
            assert list(items) == ["- two lines"]
            here.close("Garden.md")


async def test_a_block_of_another_note_gets_its_id_by_an_edit_of_the_editor(served):
    async with opened(served) as here:
        text, at = position("x [[tea^green¦]]")
        uri = here.open("Garden.md", text)
        answer = await here.client.text_document_completion_async(types.CompletionParams(document(uri), at))
        (item,) = answer.items
        link = item.text_edit.new_text
        id = link.removeprefix("tea#^")
        await here.client.workspace_execute_command_async(
            types.ExecuteCommandParams(item.command.command, item.command.arguments)
        )
        (edit,) = here.applied
        tea = (served.root / "sub/Tea.md").read_text()
        assert edit.document_changes[0].text_document.uri == here.uri("sub/Tea.md")
        assert inserted(tea, edit.document_changes[0].edits[0]) == tea.replace("#drinks", f"#drinks ^{id}")
        assert (served.root / "sub/Tea.md").read_text() == tea, "the server writes nothing"
        # If the editor ran no command, the broken link has an action that does the same.
        here.close("Garden.md")
        here.open("Garden.md", f"x [[{link}]]\n")
        actions = await actions_at(here, "Garden.md", 0, 6)
        (action,) = (actions[title] for title in actions if title.startswith(f"Insert ^{id} in sub/Tea.md"))
        assert action.edit == edit
    async with opened(served, workspace=None) as here:
        assert await completed(here, "[[tea^green¦") == {}, "an editor that makes no edits is offered none"


async def test_a_name_that_notes_link_to_is_completed_before_it_exists(served, tmp_path):
    files = {
        ".obsidian/app.json": '{"newFileLocation": "folder", "newFileFolderPath": "new"}',
        "a.md": "[[Pump room]] [[pump house]] [[pumps.png]] [[Pump room#Door]]",
        "b.md": "[[Pump room]] [[Pumpkin]] [[People/Pumper]]",
        "Pump.md": "[[../../outside/pumpoutside]]",
        "Pumpkin.md": "",
    }
    root = write_files(tmp_path / "missing", files)
    assert served.daemon.run("index", "--wait", "--vault", str(root)).returncode == 0
    async with editor(served.daemon.environment, root) as here:
        found = await completed(here, "[[pump¦", "a.md")
        assert list(found.items()) == [
            ("Pump", "Pump]]"),
            ("Pumpkin", "Pumpkin]]"),
            ("Pump room", "Pump room]]"),
            ("pump house", "pump house]]"),
            ("People/Pumper", "People/Pumper]]"),
        ]
        here.open("new/Pump room.md", "# Pump room\n")
        answer = await block_items(here, "a.md", "[[pump r¦")
        assert answer["Pump room"].detail == "new/Pump room.md", "it is written now, if not saved"
        assert "Pump room" not in await completed(here, "![[pump h¦", "b.md")
        assert "pump house" not in await completed(here, "[x](pump h¦", "b.md")
