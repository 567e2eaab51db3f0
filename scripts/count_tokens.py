"""Count the tokens of the agent tools and their answers, and print the table of docs/mcp.md.

    python scripts/count_tokens.py VAULT [COMMAND ...]

COMMAND is the server, by default ``vaultseek mcp`` of this project. Tokens are those of cl100k_base, whose
vocabulary comes with LlamaIndex. Hosts show a model the text of an answer, its structured content, or both;
the last column counts both.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tiktoken
from mcp import Client, StdioServerParameters
from mcp.types import Tool

CALLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("search, 10 results", "search", {"query": "how do I link to a heading"}),
    ("search, 3 results", "search", {"query": "how do I link to a heading", "limit": 3}),
    ("search, filters alone", "search", {"query": "tag:work OR path:docs", "limit": 20}),
    ("read_note, a whole note", "read_note", {"note": ""}),
    ("related_notes, 10", "related_notes", {"note": ""}),
    ("list_links", "list_links", {"note": ""}),
    ("vault_status", "vault_status", {}),
)
"""Names of rows, tools and arguments; an empty note stands for the first search result."""


async def main(vault: str, command: list[str]) -> None:
    """Call each tool and print the tokens of its answer."""
    count = counter()
    server = StdioServerParameters(
        command=command[0], args=[*command[1:], "--vault", vault], env=dict(os.environ)
    )
    print("| answer | text | structured | both |\n|---|---|---|---|")
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        print(f"| the list of {len(tools)} tools | {count(definitions(tools))} | | |")
        note = await first_note(client)
        for row, tool, arguments in CALLS:
            asked = {name: value or note for name, value in arguments.items()}
            answer = await client.call_tool(tool, asked)
            text = count("\n".join(block.text for block in answer.content))
            structured = answer.structured_content
            extra = 0 if structured is None else count(json.dumps(structured, ensure_ascii=False))
            print(f"| {row} | {text} | {extra or ''} | {text + extra} |")


def counter() -> Callable[[str], int]:
    """Return a function that counts the tokens in a string."""
    llama_index = find_spec("llama_index.core")
    assert llama_index is not None
    assert llama_index.origin is not None
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(llama_index.origin).parent / "_static/tiktoken_cache")
    encoding = tiktoken.get_encoding("cl100k_base")
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def definitions(tools: Iterable[Tool]) -> str:
    """Return the definitions of the tools in the form that is sent."""
    dumped = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    return json.dumps(dumped, separators=(",", ":"), ensure_ascii=False)


async def first_note(client: Client) -> str:
    """Return the path of the first note that the first call finds."""
    answer = await client.call_tool("search", CALLS[0][2])
    if answer.structured_content:
        return str(answer.structured_content["results"][0]["path"])
    place = answer.content[0].text.split("\n")[2].removeprefix("- ")
    return place.partition(".md")[0] + ".md"


if __name__ == "__main__":
    default = [str(Path(sys.executable).parent / "vaultseek"), "mcp"]
    asyncio.run(main(sys.argv[1], sys.argv[2:] or default))
