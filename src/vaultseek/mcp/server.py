"""The Model Context Protocol over standard input and output, for agents that may read the user's notes.

A thin client of the daemon's socket: it opens no index, stores nothing, writes nothing, and exits with its
parent or at the end of standard input. `vaultseek.mcp.answers` formats its answers.

A note may contain instructions that mislead an agent, so the agent can pass only names of known vaults, no
folders; and a server that was started for one vault answers for no other.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from inspect import cleandoc
from typing import Annotated, Any, Literal
from urllib.parse import quote

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, CallToolResult, Completion, Resource, TextContent, ToolAnnotations
from pydantic import Field

from vaultseek import __version__, limits
from vaultseek.client import AsyncClient
from vaultseek.errors import (
    BadPath,
    NotFound,
    NotRunning,
    UsageError,
    VaultMissing,
    VaultseekError,
)
from vaultseek.mcp import answers as mcp_answers
from vaultseek.mcp.answers import WARNING, Reply
from vaultseek.model import JSON, Mode

AGENT_TOKENS = 2_000
AGENT_TOKENS_LEAST = 200
AGENT_LINKS = 200
AGENT_RESOURCES = 50
"""Number of notes listed as resources, the most recently modified first."""
PARENT_POLL_SECONDS = 1.0

Ask = Callable[[str, JSON], Awaitable[JSON]]
"""Function from method and parameters to the daemon's answer; raises VaultseekError."""

_INSTRUCTIONS = (
    "Searches and reads the user's own Markdown notes on this computer; nothing can be changed. "
    "Search first, then read the lines that a result names. " + WARNING
)
_NOTE_URI = "vaultseek:///{vault}/{+path}"
_META = {"untrusted": True}
_PROTOCOL_ERROR = partial(MCPError, INTERNAL_ERROR)

Note = Annotated[str, Field(description="Path in the vault, end of a path, title, alias or file name.")]
Vault = Annotated[str | None, Field(description="Name of the vault; needed only where there are several.")]
Limit = Annotated[int, Field(ge=1, le=limits.RESULTS)]
Budget = Annotated[
    int,
    Field(
        ge=AGENT_TOKENS_LEAST,
        le=limits.AGENT_TOKENS_MOST,
        description="About how many tokens the answer may take; what does not fit is cut with a mark.",
    ),
]


@dataclass(frozen=True, slots=True)
class Place:
    """The notes of a server: one ``vault``, or by default those around the folder ``cwd``."""

    vault: str | None
    cwd: str


def serve(start: Callable[[], object], place: Place) -> None:
    """Answer on standard input and output until standard input or the parent process ends.

    ``start`` is called when a daemon is needed; it starts one unless it runs, or raises VaultseekError.
    """
    # A read of standard input cannot be interrupted; nothing is lost by an immediate exit.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _end_with(os.getppid())
    server(Daemon(start).call, place).run("stdio")


def server(ask: Ask, place: Place) -> MCPServer[Any]:
    """Return a server of the notes at ``place``, for any transport."""
    notes = _Notes(ask, place)
    tools = _Tools(notes)
    server = _Server(notes)
    hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for tool in (tools.search, tools.read_note, tools.related_notes, tools.list_links, tools.vault_status):
        server.add_tool(tool, description=f"{cleandoc(tool.__doc__ or '')}\n\n{WARNING}", annotations=hints)
    server.resource(
        _NOTE_URI,
        name="note",
        description=f"A note as it is on disk. {WARNING}",
        mime_type="text/markdown",
        meta=_META,
    )(notes.text)
    server.completion()(notes.complete)  # type: ignore[no-untyped-call]
    return server


class Daemon:
    """The daemon, started on demand."""

    def __init__(self, start: Callable[[], object]) -> None:
        self._start = start
        self._starting = asyncio.Lock()
        self._client = AsyncClient(name="vaultseek.mcp")

    async def call(self, method: str, params: JSON) -> JSON:
        """Return the answer to ``method``. Raises VaultseekError."""
        with suppress(NotRunning):
            return await self._request(method, params)
        async with self._starting:
            await asyncio.to_thread(self._start)
        return await self._request(method, params)

    async def _request(self, method: str, params: JSON) -> JSON:
        answer: JSON = await self._client.call(method, params)
        return answer


class _Tools:
    """The tools of the server; the agent sees their names, docstrings and parameters."""

    def __init__(self, notes: _Notes) -> None:
        self._notes = notes

    async def search(
        self,
        query: str,
        limit: Limit = 10,
        mode: Mode = "hybrid",
        vault: Vault = None,
        max_tokens: Budget = AGENT_TOKENS,
    ) -> Annotated[CallToolResult, mcp_answers.Results]:
        """Search the user's notes by word and by meaning; each result is a note with its best passage.

        Plain words rank. "a phrase", -not, tag:x, path:Folder/, [property:value], before:, after: and OR
        filter. `partial` names a kind of search that could not take part.
        """
        params = {"query": query, "limit": limit, "mode": mode}
        return await self._answer(
            "search", params, vault, lambda answer: mcp_answers.results(answer, max_tokens)
        )

    async def read_note(
        self,
        note: Note,
        start_line: Annotated[int, Field(ge=1)] = 1,
        end_line: Annotated[int | None, Field(ge=1)] = None,
        vault: Vault = None,
        max_tokens: Budget = AGENT_TOKENS,
    ) -> Annotated[CallToolResult, mcp_answers.Lines]:
        """Read a note, or some of its lines, with line numbers. Where it is cut, `next_line` goes on."""
        params = {"note": note, "start_line": start_line}
        if end_line is not None:
            params["end_line"] = end_line
        return await self._answer(
            "note/get", params, vault, lambda answer: mcp_answers.lines(answer, max_tokens)
        )

    async def related_notes(
        self, note: Note, limit: Limit = 10, vault: Vault = None, max_tokens: Budget = AGENT_TOKENS
    ) -> Annotated[CallToolResult, mcp_answers.Results]:
        """Find notes like a note: near in meaning, joined by links, or with its words."""
        params = {"note": note, "limit": limit}
        return await self._answer(
            "note/related", params, vault, lambda answer: mcp_answers.results(answer, max_tokens)
        )

    async def list_links(
        self,
        note: Note,
        direction: Literal["both", "outgoing", "backlinks", "unresolved"] = "both",
        first: Annotated[int, Field(ge=1, le=limits.LISTED_ITEMS_MOST)] = 1,
        vault: Vault = None,
        max_tokens: Budget = AGENT_TOKENS,
    ) -> Annotated[CallToolResult, mcp_answers.Links]:
        """List where a note links to, what links to it, or its links that lead nowhere.

        The list begins with link number `first` of `total`. Where it is cut, `next_first` goes on.
        """
        with _errors_as(ToolError):
            directions = ("outgoing", "backlinks") if direction == "both" else (direction,)
            last = min(first - 1 + AGENT_LINKS, limits.LISTED_ITEMS_MOST)
            params = {"note": note, "limit": last}
            answers = [await self._notes.ask(f"links/{way}", params, vault) for way in directions]
        items = [
            {**link, "direction": way}
            for way, answer in zip(directions, answers, strict=True)
            for link in answer["links"]
        ]
        total = sum(int(answer["total"]) for answer in answers)
        page = mcp_answers.Page(items[first - 1 : last], first, total)
        return _result(mcp_answers.links(answers[0], page, max_tokens))

    async def vault_status(
        self, vault: Vault = None, max_tokens: Budget = AGENT_TOKENS
    ) -> Annotated[CallToolResult, mcp_answers.Status]:
        """Tell which vaults are open, how far their indexes are and what does not work."""
        with _errors_as(ToolError):
            return _result(mcp_answers.status(await self._notes.status(vault), max_tokens))

    async def _answer(
        self, method: str, params: JSON, vault: str | None, reply: Callable[[JSON], Reply]
    ) -> CallToolResult:
        with _errors_as(ToolError):
            return _result(reply(await self._notes.ask(method, params, vault)))


class _Notes:
    """The daemon's answers, restricted to the notes of this server."""

    def __init__(self, ask: Ask, place: Place) -> None:
        self._ask = ask
        self._place = place

    async def ask(self, method: str, params: JSON, vault: str | None) -> JSON:
        """Return the answer about ``vault``, by default the server's own."""
        try:
            answer = await self._ask(method, {**params, **self._which(vault)})
        except VaultMissing:
            # After a restart the daemon does not know a vault's name until the vault is opened by folder.
            if self._place.vault or vault is None:
                raise
            await self._ask("search", {"query": "ext:md", "mode": "keyword", "limit": 1, **self._which(None)})
            answer = await self._ask(method, {**params, **self._which(vault)})
        self._check(vault, [answer.get("vault")])
        return answer

    async def status(self, vault: str | None) -> JSON:
        """Return the answer to ``index/status``: of one vault, or of all that the server may show."""
        answer = await self._ask("index/status", self._which(vault))
        self._check(vault, [item.get("name") for item in answer["vaults"]])
        return answer

    async def recent(self) -> list[Resource]:
        """Return the most recently modified notes as resources."""
        with _errors_as(_PROTOCOL_ERROR):
            params = {"query": "ext:md", "mode": "keyword", "limit": AGENT_RESOURCES}
            answer = await self.ask("search", params, None)
        return [
            Resource(
                uri=note_uri(answer["vault"], item["path"]),
                name=item["path"],
                title=item["title"],
                mime_type="text/markdown",
                _meta=_META,
            )
            for item in answer["results"]
        ]

    async def text(self, vault: str, path: str) -> str:
        """Return the text of the note of a resource."""
        with _errors_as(ResourceError):
            answer = await self.ask("note/get", {"note": path}, vault)
            if answer["path"] != path:
                raise NotFound(f"no note at {path!r}; the nearest is {answer['path']!r}")
            return mcp_answers.note_text(answer)

    async def complete(self, of: Any, argument: Any, context: Any) -> Completion | None:
        """Complete the ``path`` of a resource."""
        if argument.name != "path":
            return None
        vault = (context.arguments or {}).get("vault") if context else None
        with _errors_as(_PROTOCOL_ERROR):
            params = {"text": argument.value, "limit": AGENT_RESOURCES}
            answer = await self.ask("complete", params, vault)
        paths = dict.fromkeys(item["path"] for item in answer["items"])
        return Completion(values=list(paths))

    def _which(self, vault: str | None) -> JSON:
        if vault is not None and ("/" in vault or vault.startswith("~")):
            raise BadPath(
                "the vault must be a name, not a folder; leave it out, or list the names with vault_status"
            )
        name = self._place.vault or vault
        return {"cwd": self._place.cwd, **({"vault": name} if name else {})}

    def _check(self, vault: str | None, names: list[Any]) -> None:
        if vault is None or self._place.vault is None:
            return
        if [str(name).casefold() for name in names] != [vault.casefold()]:
            raise UsageError(f"this server is for the vault {names[0]!r} only; leave out the vault")


class _Server(MCPServer[Any]):
    """The SDK's server, with a dynamic list of resources."""

    def __init__(self, notes: _Notes) -> None:
        super().__init__(
            "vaultseek",
            title="Notes (vaultseek)",
            instructions=_INSTRUCTIONS,
            version=__version__,
            log_level="ERROR",
        )
        self._notes = notes

    async def list_resources(self) -> list[Resource]:
        """Return the most recently modified notes."""
        return await self._notes.recent()


def note_uri(vault: str, path: str) -> str:
    """Return the URI of a note as a resource."""
    return f"vaultseek:///{quote(vault, safe='')}/{quote(path)}"


def _result(reply: Reply) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=reply.text)], structured_content=reply.structured, _meta=_META
    )


@contextmanager
def _errors_as(kind: Callable[[str], Exception]) -> Iterator[None]:
    """Raise errors of the daemon as ``kind``, which the SDK shows to the agent; it hides other errors."""
    try:
        yield
    except VaultseekError as error:
        raise kind(str(error)) from error


def _end_with(parent: int) -> None:
    """Exit when ``parent`` is no longer the parent of this process.

    Standard input may still be open then, if another process holds its other end.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_POLL_SECONDS)
        os._exit(0)

    threading.Thread(target=watch, daemon=True, name="parent").start()
