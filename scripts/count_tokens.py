"""Count the tokens that the tools for agents and their answers take, and print the table of docs/mcp.md.

    python scripts/count_tokens.py VAULT [COMMAND ...]

COMMAND is the server, by default ``vaultseek mcp`` of this project. Tokens are those of cl100k_base, whose
vocabulary comes with LlamaIndex. Hosts show a model the text of an answer, its structured content, or both;
the last column is what the model reads of both.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import llama_index.core
import tiktoken
from mcp import Client, StdioServerParameters

CALLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("search, 10 results", "search", {"query": "how do I link to a heading"}),
    ("search, 3 results", "search", {"query": "how do I link to a heading", "limit": 3}),
    ("search, filters alone", "search", {"query": "tag:work OR path:docs", "limit": 20}),
    ("read_note, a whole note", "read_note", {"note": ""}),
    ("related_notes, 10", "related_notes", {"note": ""}),
    ("list_links", "list_links", {"note": ""}),
    ("vault_status", "vault_status", {}),
)
"""Names of rows, tools and arguments; an empty note is the first result of the search."""


async def main(vault: str, command: list[str]) -> None:
    """Ask each tool, and print what its answer takes."""
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(llama_index.core.__file__).parent / "_static/tiktoken_cache")
    encoding = tiktoken.get_encoding("cl100k_base")

    def count(text: str) -> int:
        return len(encoding.encode(text, disallowed_special=()))

    server = StdioServerParameters(
        command=command[0], args=[*command[1:], "--vault", vault], env=dict(os.environ)
    )
    print("| answer | text | structured | both |\n|---|---|---|---|")
    async with Client(server) as client:
        tools = [
            tool.model_dump(mode="json", by_alias=True, exclude_none=True)
            for tool in (await client.list_tools()).tools
        ]
        print(f"| the list of {len(tools)} tools | {count(json.dumps(tools))} | | |")
        note = await first_note(client)
        for row, tool, arguments in CALLS:
            asked = {name: value or note for name, value in arguments.items()}
            answer = await client.call_tool(tool, asked)
            text = count("\n".join(block.text for block in answer.content))
            structured = answer.structured_content
            extra = 0 if structured is None else count(json.dumps(structured, ensure_ascii=False))
            print(f"| {row} | {text} | {extra or ''} | {text + extra} |")


async def first_note(client: Client) -> str:
    """Return the path of the note that the first call finds."""
    answer = await client.call_tool("search", CALLS[0][2])
    if answer.structured_content:
        return str(answer.structured_content["results"][0]["path"])
    place = answer.content[0].text.split("\n")[2].removeprefix("- ")
    return place.partition(".md")[0] + ".md"


if __name__ == "__main__":
    default = [str(Path(sys.executable).parent / "vaultseek"), "mcp"]
    asyncio.run(main(sys.argv[1], sys.argv[2:] or default))
