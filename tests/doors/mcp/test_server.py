"""The server for agents, with a function in place of the daemon: its requests, and its messages when they
fail."""

import re
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from count_tokens import counter, definitions
from mcp import Client

from vaultseek.base import limits
from vaultseek.doors.mcp.reply import WARNING
from vaultseek.doors.mcp.server import Place, note_uri, server
from vaultseek.errors import Busy, NotFound, VaultMissing, advise
from vaultseek.protocol.messages.remarks import with_remarks

NAMES = ["Pump", "Pumpkin"]
PATHS = [f"{n}.md" for n in range(25)]
PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text(encoding="utf-8")


async def nothing(method, params):
    raise AssertionError("the daemon is asked")


def search(*paths: str, partial=(), pending=0, revision=7, **more):
    results = [
        {
            "path": path,
            "title": path,
            "score": 1.0,
            "certainty": 0.9,
            "modified": "2026-11-21T03:12:16+00:00",
            "preview": "text",
        }
        for path in paths
    ]
    index = {"notes": 3, "pending": pending, "revision": revision}
    answer = {
        "vault": "notes",
        "results": results,
        "partial": list(partial),
        "index": index,
        "interpreted": {},
        **more,
    }
    return with_remarks(answer, found=bool(results))


@asynccontextmanager
async def client(
    ask, vault: str | None = None, *, structured: bool = False, compact: bool = False, reports=None
):
    """Yield an agent; ``reports`` receives the daemon's records of what the agent was given."""

    async def answer(method, params):
        if method != "agents/given":
            return await ask(method, params)
        if reports is not None:
            reports.append(params)
        return {"vault": params["vault"], "kept": True}

    place = Place(vault, "/home/ana/notes")
    async with Client(server(answer, place, structured=structured, compact=compact)) as client:
        yield client


def text_of(answer) -> str:
    (block,) = answer.content
    return block.text


@pytest.mark.parametrize("structured", [False, True])
async def test_partial_lanes_and_pending_texts_are_reported(structured):
    async def ask(method, params):
        partial = [{"lane": "semantic", "code": "failing", "reason": "it crashed"}]
        return search("Pump.md", partial=partial, pending=12)

    async with client(ask, structured=structured) as agent:
        answer = await agent.call_tool("search", {"query": "pump"})
    assert "[partial: search by meaning was left out: it crashed]" in text_of(answer)
    assert "[partial: search by meaning is not complete yet: 12 vectors left]" in text_of(answer)
    if structured:
        assert answer.structured_content["partial"][0]["lane"] == "semantic"
        assert answer.structured_content["pending"] == 12
        assert "Pump.md" not in text_of(answer)
    else:
        assert answer.structured_content is None


async def test_what_is_wrong_is_told_in_one_line_without_the_name_of_the_tool():
    async def ask(method, params):
        raise Busy("too many clients; try again")

    async with client(ask) as agent:
        for tool, arguments in (
            ("search", {"query": "x"}),
            ("search", {"query": ["x", "y"]}),
            ("list_links", {"note": "x"}),
            ("vault_status", {}),
        ):
            answer = await agent.call_tool(tool, arguments)
            assert answer.is_error
            assert text_of(answer) == "too many clients; try again"
        for arguments, told in (
            ({"query": "x", "max_tokens": limits.AGENT_TOKENS_LEAST - 1}, "max_tokens: "),
            ({"query": "x", "max_tokens": limits.AGENT_TOKENS_MOST + 1}, "max_tokens: "),
            ({"query": "x", "mode": "fuzzy"}, "mode: "),
            ({"query": ["x"] * 9}, "query: "),
            ({}, "query: "),
        ):
            answer = await agent.call_tool("search", arguments)
            assert answer.is_error
            assert text_of(answer).startswith(told)
            assert len(text_of(answer).splitlines()) == 1
        with pytest.raises(Exception, match="too many clients"):
            await agent.list_resources()


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("search", {"query": "x", "limt": 3}, "limt: unknown key, expected limit?"),
        ("graph", {"depth": 2}, "depth: unknown key, expected one of note, other, stale, vault, max_tokens"),
        ("vault_status", {"a\nb": 1}, r"a\nb: unknown key, expected one of vault, max_tokens"),
    ],
)
async def test_a_parameter_that_no_tool_takes_is_refused(tool, arguments, told):
    async with client(nothing) as agent:
        answer = await agent.call_tool(tool, arguments)
    assert (answer.is_error, text_of(answer)) == (True, told)


NEEDED = {
    "search": {"query": "x"},
    "context": {"query": "x"},
    "read_note": {"note": "x"},
    "related_notes": {"note": "x"},
    "list_links": {"note": "x"},
    "table": {"source": "tag:x"},
}
"""Required parameters of each tool."""


@pytest.mark.fault("L8")
@pytest.mark.parametrize("blank", ["", "  ", [], [""], 0, None])
async def test_l8_a_blank_value_is_as_if_the_parameter_were_left_out(blank):
    asked = []

    async def ask(method, params):
        asked.append((method, params))
        raise Busy("too many clients; try again")

    async with client(ask, vault="notes") as agent:
        for tool in (await agent.list_tools()).tools:
            needed = NEEDED.get(tool.name, {})
            assert (await agent.call_tool(tool.name, needed)).is_error
            without, asked[:] = list(asked), []
            optional = tool.input_schema["properties"].keys() - tool.input_schema.get("required", [])
            assert optional >= {"vault", "max_tokens"}
            # "folder" is a parameter of some tools, "unheard" of none.
            for names in (*([name] for name in optional), optional, optional | {"folder", "unheard"}):
                answer = await agent.call_tool(tool.name, needed | dict.fromkeys(names, blank))
                assert text_of(answer) == "too many clients; try again"
                assert asked == without
                asked.clear()


async def test_empty_items_of_a_list_are_left_out():
    asked = []

    async def ask(method, params):
        asked.append(params)
        raise Busy("too many clients; try again")

    async with client(ask) as agent:
        await agent.call_tool("search", {"query": ["film", "", " "]})
        await agent.call_tool("read_note", {"note": ["", "Buy wisely"]})
        await agent.call_tool("table", {"source": "tag:x", "columns": ["title", ""]})
    assert [each.get("query") or each.get("note") for each in asked] == ["film", "Buy wisely", "tag:x"]
    assert asked[2]["columns"] == ["title"]


async def test_a_list_of_outdated_notes_is_of_no_single_note():
    async with client(nothing) as agent:
        for name in ("note", "other"):
            answer = await agent.call_tool("graph", {"stale": True, name: "x"})
            assert answer.is_error
            assert text_of(answer) == "stale covers the whole vault; leave out note and other"


@pytest.mark.fault("L8")
@pytest.mark.parametrize(
    "written", ["path:Daily/", "path:Daily", "PATH:/Daily/", "./Daily/", "Daily", " Daily/ "]
)
@pytest.mark.parametrize("name", ["Daily", "My Plugins/Daily", "Ünit"])
async def test_l8_a_folder_may_be_written_as_the_filter_of_a_query(written, name):
    asked = []

    async def ask(method, params):
        asked.append(params)
        raise Busy("too many clients; try again")

    async with client(ask) as agent:
        for folder in (written, f'"{written}"', re.sub("(?<=:)(.*)", r'"\1"', written)):
            await agent.call_tool("list_notes", {"folder": folder.replace("Daily", name)})
        for root in ("/", ".", "./", "path:/", 'path:""'):
            await agent.call_tool("list_notes", {"folder": root})
    assert [each.get("filters") for each in asked] == [{"path": f"{name}/"}] * 3 + [None] * 5


@pytest.mark.fault("L8")
@pytest.mark.parametrize(
    ("written", "listed"),
    [
        ("title, rating", ["title, rating"]),
        (["title", "price * 2"], ["title", "price * 2"]),
        ('["title", "rating"]', ["title", "rating"]),
        ("[1]", ["[1]"]),
    ],
)
async def test_l8_columns_and_sort_may_be_a_text(written, listed):
    asked = []

    async def ask(method, params):
        asked.append(params)
        raise Busy("too many clients; try again")

    async with client(ask) as agent:
        await agent.call_tool("table", {"source": "tag:x", "columns": written, "sort": written})
    assert [(each["columns"], each["sort"]) for each in asked] == [(listed, listed)]


@pytest.mark.fault("L8")
@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("search", {"query": "x", "folder": "Plugins"}, "folder: put it in the query: path:Plugins/"),
        (
            "context",
            {"query": "x", "folder": "/My Plugins/"},
            'folder: put it in the query: path:"My Plugins/"',
        ),
        ("table", {"source": "tag:x", "folder": "/"}, "folder: put it in the query: path:Folder/"),
        ("search", {"query": "x", "tags": ["#work/a", "b"]}, "tags: put it in the query: tag:work/a"),
        ("search", {"query": "x", "since": 7}, "since: put it in the query: after:2026-01-31"),
        ("list_tags", {"folder": "a"}, "folder: unknown key, expected one of first, vault, max_tokens"),
    ],
)
async def test_l8_a_filter_that_is_no_parameter_is_shown_as_the_query_has_it(tool, arguments, told):
    async with client(nothing) as agent:
        answer = await agent.call_tool(tool, arguments)
    assert (answer.is_error, text_of(answer)) == (True, told)


async def test_lines_whose_end_is_before_their_start_are_refused():
    async with client(nothing) as agent:
        answer = await agent.call_tool("read_note", {"note": "Pump", "start_line": 9, "end_line": 4})
    told = "start_line 9 is after end_line 4; swap them, or leave out end_line to read to the end"
    assert (answer.is_error, text_of(answer)) == (True, told)


async def test_a_missing_note_brings_the_nearest_names():
    async def ask(method, params):
        if method == "complete":
            return {"vault": "notes", "items": [{"path": f"{name}.md"} for name in (*NAMES, NAMES[0])]}
        raise NotFound('no note matches "Pmup"; did you mean "Pump"?', advise("search", "Pump"))

    async with client(ask) as agent:
        for tool in ("read_note", "related_notes", "list_links"):
            answer = await agent.call_tool(tool, {"note": "Pmup"})
            told = 'no note matches "Pmup"; the nearest are "Pump.md", "Pumpkin.md"'
            assert (answer.is_error, text_of(answer)) == (True, told)


async def test_without_similar_names_the_notes_that_the_name_finds_are_the_nearest():
    asked = []

    async def ask(method, params):
        if method == "complete":
            return {"vault": "notes", "items": []}
        if method == "search":
            asked.append(params["query"])
            sure, unsure = search("graph.md")["results"][0], search("far.md")["results"][0]
            return {**search(), "results": [{**sure, "confidence": 0.8}, {**unsure, "confidence": 0.4}]}
        raise NotFound("no note matches it; search for these words", advise("search"))

    async with client(ask) as agent:
        answer = await agent.call_tool("read_note", {"note": "-graf: visualization/"})
    assert text_of(answer) == 'no note matches "-graf: visualization/"; the nearest are "graph.md"'
    assert asked == ["graf visualization"]


async def test_a_property_that_no_note_has_brings_the_nearest():
    async def ask(method, params):
        if method == "complete":
            names = ["categories"] if params["text"] != "zzz" else []
            return {"vault": "notes", "items": [{"text": name} for name in names]}
        return {"vault": "notes", "property": params["name"], "values": [], "total": 0}

    async with client(ask) as agent:
        told = {
            name: text_of(await agent.call_tool("list_properties", {"name": name}))
            for name in ("categoris", "zzz", "Categories")
        }
    assert told["categoris"] == 'no note has the property "categoris"; the nearest are "categories"'
    assert told["zzz"] == 'no note has the property "zzz"; call this without name to list all properties'
    assert "0 values of Categories" in told["Categories"]


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("Features/", '"docs/user/features"'),
        ("user/fetures", '"docs/user/features"'),
        ("Fetures", '"docs/user/features"'),
        ("nowhere", '"dev", "docs"'),
    ],
)
async def test_a_folder_without_notes_brings_those_it_may_be(folder, told):
    async def ask(method, params):
        return search() if "filters" in params else search("docs/user/features/a.md", "dev/b.md", "c.md")

    async with client(ask) as agent:
        answer = await agent.call_tool("list_notes", {"folder": folder})
    assert answer.is_error
    assert text_of(answer).endswith(f"; use one of {told}")


async def test_a_server_for_one_vault_does_not_name_the_others():
    async def ask(method, params):
        advice = advise("choose", "diary")
        raise VaultMissing("no vault named 'notes'; choose one (known: diary)", advice=advice)

    async with client(ask, "notes") as agent:
        answer = await agent.call_tool("search", {"query": "x"})
        assert text_of(answer) == 'the vault "notes" is missing; ask the user to check the folder'
    async with client(ask) as agent:
        answer = await agent.call_tool("search", {"query": "x"})
        assert text_of(answer) == "no vault named 'notes'; choose one (known: diary)"


async def test_pages_of_a_search_follow_its_cursor():
    asked = []

    async def ask(method, params):
        asked.append(params)
        return search(*PATHS[: params["limit"]])

    async with client(ask, structured=True) as agent:
        seen, cursor = [], None
        while True:
            more = {"cursor": cursor} if cursor else {}
            answer = await agent.call_tool("search", {"query": "pump", "limit": 10, **more})
            assert not answer.is_error
            seen.append([result["path"] for result in answer.structured_content["results"]])
            cursor = answer.structured_content["next_cursor"]
            if cursor is None:
                break
        other = await agent.call_tool("search", {"query": "tea", "cursor": "10-0000-7"})
        assert "a different search" in text_of(other)
    assert [len(page) for page in seen] == [10, 10, 5]
    assert [path for page in seen for path in page] == PATHS
    assert [params["limit"] for params in asked] == [11, 21, 31]


async def test_the_less_certain_results_are_a_page_of_their_own():
    async def ask(method, params):
        return search(*PATHS[:7], less_certain=3)

    async with client(ask, structured=True) as agent:
        pages, cursor = [], None
        while cursor is not None or not pages:
            more = {"cursor": cursor} if cursor else {}
            answer = await agent.call_tool("search", {"query": "pump", **more})
            pages.append(len(answer.structured_content["results"]))
            cursor = answer.structured_content["next_cursor"]
            if len(pages) == 1:
                assert f'[less certain ones: search again with cursor="{cursor}"]' in text_of(answer)
    assert pages == [4, 3]


async def test_a_page_says_if_the_notes_have_changed_since_the_last():
    revisions = iter([7, 8])

    async def ask(method, params):
        return search("a.md", "b.md", "c.md", revision=next(revisions))

    async with client(ask, structured=True) as agent:
        first = await agent.call_tool("search", {"query": "x", "limit": 1})
        cursor = first.structured_content["next_cursor"]
        second = await agent.call_tool("search", {"query": "x", "limit": 1, "cursor": cursor})
    assert "changed" not in text_of(first)
    assert "[note: notes have changed since the last page" in text_of(second)


async def test_several_wordings_are_asked_at_once_and_a_query_may_look_like_json():
    asked = []

    async def ask(method, params):
        asked.append(params["query"])
        return search(f"{len(params['query'])}.md", "both.md")

    async with client(ask) as agent:
        text = text_of(await agent.call_tool("search", {"query": ["pump", "float"]}))
        assert asked == ["pump", "float"]
        assert [text.count(f"- {path}") for path in ("4.md", "5.md", "both.md")] == [1, 1, 1]
        for query in ("[1]", "null", '{"a": 1}', '["pump", 2]', '"a phrase"', "2026", "true"):
            asked.clear()
            assert not (await agent.call_tool("search", {"query": query})).is_error
            assert asked == [query]


async def test_a_vault_known_from_its_folder_is_found_by_name_after_a_restart():
    opened: set[str] = set()

    async def ask(method, params):
        if "vault" not in params:
            opened.add("notes")
        elif params["vault"] not in opened:
            raise VaultMissing("no vault named so")
        return search("Pump.md")

    async with client(ask) as agent:
        answer = await agent.call_tool("search", {"query": "x", "vault": "notes"})
        assert not answer.is_error
        assert (await agent.call_tool("search", {"query": "x", "vault": "other"})).is_error


@pytest.mark.parametrize("structured", [False, True])
async def test_schemas_are_short_and_only_structured_answers_have_one(structured):
    async with client(nothing, structured=structured) as agent:
        for tool in (await agent.list_tools()).tools:
            assert (tool.output_schema is not None) is structured
            assert '"title"' not in tool.model_dump_json(include={"input_schema"})
            assert tool.input_schema["properties"]["max_tokens"]["type"] == "integer"
            assert len(tool.description) < 600


async def test_every_tool_has_a_title_and_the_instructions_alone_warn_before_an_answer():
    async with client(nothing) as agent:
        tools = (await agent.list_tools()).tools
        assert WARNING in agent.instructions
    assert len({tool.title for tool in tools}) == len(tools)
    assert not any(WARNING in definitions([tool]) for tool in tools)


async def test_the_page_names_every_tool_and_says_what_the_definitions_take():
    async with client(nothing) as agent:
        tools = (await agent.list_tools()).tools
    taken = counter()(definitions(tools))
    assert taken < 1_500
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE.split("\n## ")[1], re.MULTILINE)
    assert [name for name, _ in rows] == [tool.name for tool in tools]
    for tool, (_, parameters) in zip(tools, rows, strict=True):
        named = [
            name for name in re.findall(r"`(\w+)`", parameters) if name in tool.input_schema["properties"]
        ]
        assert {*named, "vault", "max_tokens"} == tool.input_schema["properties"].keys()
    assert f"| the list of {len(tools)} tools | {taken:,} |" in PAGE


async def test_the_compact_mode_has_three_tools_below_500_tokens():
    async with client(nothing) as agent:
        all_tools = {tool.name: tool for tool in (await agent.list_tools()).tools}
    async with client(nothing, compact=True) as agent:
        tools = (await agent.list_tools()).tools
        instructions = agent.instructions
        refused = await agent.call_tool("list_tags", {})
    assert [tool.name for tool in tools] == ["search", "context", "read_note"]
    assert all(tool == all_tools[tool.name] for tool in tools)
    assert refused.is_error
    assert WARNING in instructions
    for name in all_tools.keys() - {tool.name for tool in tools}:
        assert name not in instructions + definitions(tools), name
    taken = counter()(definitions(tools))
    assert taken < 500
    assert f"| the list of 3 tools, with `--compact` | {taken:,} |" in PAGE


def test_addresses_of_resources_are_encoded():
    assert note_uri("my notes", "sub/a b#1.md") == "vaultseek:///my%20notes/sub/a%20b%231.md"
