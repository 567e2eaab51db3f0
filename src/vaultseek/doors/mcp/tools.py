"""Tools of the server for agents; each calls the daemon and returns a reply in the requested form.

The tools' names, docstrings and parameters are part of every prompt, so they are short.
"""

import asyncio
import json
import re
from contextlib import suppress
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from vaultseek.base import limits
from vaultseek.base.model import JSON, Mode
from vaultseek.base.text import fold, quote
from vaultseek.doors.addresses import is_table_file
from vaultseek.doors.mcp import answers, lists
from vaultseek.doors.mcp.notes import Notes
from vaultseek.doors.mcp.passages import passages
from vaultseek.doors.mcp.reply import Form, Reply, one_line
from vaultseek.doors.mcp.results import Cursor, evidence, merge_wordings, read_cursor, results, write_cursor
from vaultseek.errors import NotFound, UsageError, VaultseekError

AGENT_LIST = 200
"""Maximum number of items on one page of a list."""
WORDINGS = 5
"""Maximum number of wordings of one question."""
WORDING_RESULTS = 50
"""Number of results requested for each of several wordings; fixed, so that the order is the same on all
pages."""
NOTES_AT_ONCE = 20
"""Maximum number of notes read in one call."""
PROPERTIES_NAMED = 3
"""Maximum number of names suggested in the error for a missing property."""
EVERY_NOTE: JSON = {"query": "ext:md OR ext:jsonl", "mode": "keyword", "brief": True}
"""Search parameters that list all notes, most recently modified first."""


def _as_text(value: object) -> object:
    """Convert a value that the SDK parsed as JSON, such as ``[1]`` or ``null``, back to text."""
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return value
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


Wordings = Annotated[
    str | Annotated[list[str], Field(min_length=1, max_length=WORDINGS)],
    BeforeValidator(_as_text),
    Field(description="Use a list for several wordings of one question."),
]
Addresses = Annotated[
    str | Annotated[list[str], Field(min_length=1, max_length=NOTES_AT_ONCE)],
    BeforeValidator(_as_text),
    Field(description='Path, title, alias, file name, or a part: "a.md:6-16", "a.md#Heading"; or a list.'),
]
Columns = Annotated[str | list[str], BeforeValidator(_as_text)]
"""Columns as a list, or as one string separated by commas."""
Note = Annotated[str, Field(description="Path, title, alias or file name.")]
Limit = Annotated[int, Field(ge=1, le=limits.RESULTS)]
First = Annotated[int, Field(ge=1, le=limits.LISTED_NOTES)]
Budget = Annotated[int, Field(ge=limits.AGENT_TOKENS_LEAST, le=limits.AGENT_TOKENS_MOST)]


class Tools:
    """The tools for agents. All methods may raise VaultseekError."""

    def __init__(self, notes: Notes, *, structured: bool = False) -> None:
        self._notes = notes
        self._structured = structured
        self._found: dict[tuple[str, str], JSON] = {}
        """The results of the last search, by vault and path, as parameters for ``search/opened``."""

    async def search(
        self,
        query: Wordings,
        limit: Limit = 10,
        mode: Mode = "hybrid",
        cursor: Annotated[str | None, Field(description="The cursor from the end of the last page.")] = None,
        vault: str | None = None,
        max_tokens: Budget = limits.AGENT_TOKENS,
    ) -> Annotated[Reply, answers.Results]:
        """Search the user's notes by word and meaning; a result is a note's best passage with its lines.

        Words rank. "a phrase", -not, tag:x, path:Folder/, [property:value], before:2026-01-31, after: and OR
        filter notes.
        """
        wordings = [query] if isinstance(query, str) else query
        question = (wordings, mode, vault)
        page = read_cursor(cursor, *question)
        depth = min(page.offset + limit + 1, limits.RESULTS)
        if len(wordings) == 1:
            answer = await self._search(wordings[0], depth, mode, vault)
        else:
            asked = (self._search(each, WORDING_RESULTS, mode, vault) for each in wordings)
            answer = merge_wordings(await asyncio.gather(*asked))
        revision = int(answer["index"].get("revision") or 0)
        if page.revision not in (None, revision):
            _add_remark(
                answer, "notes have changed since the last page: a result may be missing or appear twice"
            )
        every: list[JSON] = answer["results"]
        certain = len(every) - int(answer.get("less_certain") or 0)
        end = page.offset + limit
        # Less certain results are on pages of their own.
        ends_certain = page.offset < certain <= end
        shown = every[page.offset : certain if ends_certain else end]

        def next_page(number: int) -> str | None:
            after = page.offset + number
            return write_cursor(Cursor(after, revision), *question) if after < len(every) else None

        self._found = {
            (answer["vault"], each["path"]): {"query": wordings[0], "note": each["path"], "position": place}
            for place, each in enumerate(shown, page.offset + 1)
        }
        form = self._form(max_tokens)
        rest = "less certain ones" if ends_certain else "more"
        found = {**answer, "results": shown}
        return results(found, form, offset=page.offset, next_page=next_page, rest=rest)

    async def context(
        self, query: str, vault: str | None = None, max_tokens: Budget = limits.AGENT_TOKENS
    ) -> Annotated[Reply, answers.Context]:
        """Gather what several notes say about a question, as much as fits, in one call."""
        form, size = self._form(max_tokens), max_tokens
        while True:
            size = max(size, limits.AGENT_TOKENS_LEAST)
            params = {"query": query, "tokens": size}
            reply = evidence(await self._notes.ask("search/context", params, vault))
            excess = reply.tokens(form) - max_tokens
            if excess <= 0 or size == limits.AGENT_TOKENS_LEAST:
                return reply
            size -= excess

    async def read_note(
        self,
        note: Addresses,
        start_line: Annotated[int, Field(ge=1)] = 1,
        end_line: Annotated[int | None, Field(ge=1)] = None,
        vault: str | None = None,
        max_tokens: Budget = limits.AGENT_TOKENS,
    ) -> Annotated[Reply, answers.Passages]:
        """Read notes, or sections or lines of them, with line numbers."""
        names = [note] if isinstance(note, str) else note
        problems: list[str] = []
        if (start_line, end_line) != (1, None):
            if len(names) > 1:
                raise UsageError("start_line and end_line are for one note; for several, write a.md:6-16")
            if end_line is not None and end_line < start_line:
                raise UsageError(
                    f"start_line {start_line} is after end_line {end_line}; swap them, or leave out"
                    " end_line to read to the end"
                )
            params = {"note": names[0], "start_line": start_line}
            more = {} if end_line is None else {"end_line": end_line}
            whole = [await self._notes.ask("note/get", params | more, vault)]
        else:
            whole, problems = await self._read(names, vault)
        for opened in filter(None, (self._found.pop((each["vault"], each["path"]), None) for each in whole)):
            with suppress(VaultseekError):
                await self._notes.ask("search/opened", opened, vault)
        return passages(whole, self._form(max_tokens), problems=problems)

    async def related_notes(
        self,
        note: Note,
        limit: Limit = 10,
        vault: str | None = None,
        max_tokens: Budget = limits.AGENT_TOKENS,
    ) -> Annotated[Reply, answers.Results]:
        """Find notes similar to a note in meaning, links or words."""
        answer = await self._notes.ask("note/related", {"note": note, "limit": limit}, vault)
        return results(answer, self._form(max_tokens))

    async def list_notes(
        self,
        folder: str = "",
        order: Literal["recent", "path"] = "recent",
        first: First = 1,
        vault: str | None = None,
        max_tokens: Budget = limits.AGENT_TOKENS,
    ) -> Annotated[Reply, answers.Notes]:
        """List the notes below a folder, most recently changed first, or by path with counts per folder."""
        folder = _folder(folder)
        params = dict(EVERY_NOTE)
        if folder:
            params["filters"] = {"path": f"{folder}/"}
        last = first - 1 + AGENT_LIST
        if order == "recent" and last <= limits.RESULTS:
            params["limit"] = last
        answer = await self._notes.ask("search", params, vault)
        notes: list[JSON] = answer["results"]
        if order == "path":
            notes = sorted(notes, key=lambda note: note["path"])
        if folder and not notes:
            raise NotFound(await self._no_folder(folder, vault))
        page = lists.Page(notes[first - 1 : last], first, int(answer.get("total") or len(notes)))
        paths = [note["path"] for note in notes] if order == "path" else []
        form = self._form(max_tokens)
        return lists.notes(answer, page, form, folder=folder, paths=paths, is_dated=order == "recent")

    async def list_tags(
        self, first: First = 1, vault: str | None = None, max_tokens: Budget = limits.AGENT_TOKENS
    ) -> Annotated[Reply, answers.Tags]:
        """List tags, the most common first; search finds their notes with tag:x."""
        answer = await self._notes.ask("vault/tags", {}, vault)
        tags = sorted(answer["tags"], key=lambda tag: (-tag["total"], tag["tag"]))
        return lists.tags(answer, lists.page_of(tags, first, AGENT_LIST), self._form(max_tokens))

    async def list_properties(
        self,
        name: str | None = None,
        first: First = 1,
        vault: str | None = None,
        max_tokens: Budget = limits.AGENT_TOKENS,
    ) -> Annotated[Reply, answers.Properties]:
        """List properties, or the values of the one called name; search accepts [name:value] filters."""
        answer = await self._notes.ask("vault/properties", {"name": name} if name else {}, vault)
        form = self._form(max_tokens)
        if name and not answer["values"]:
            params: JSON = {"kind": "property", "text": name[: limits.QUERY_CHARS], "limit": PROPERTIES_NAMED}
            names = [item["text"] for item in (await self._notes.ask("complete", params, vault))["items"]]
            if fold(name) not in map(fold, names):
                advice = (
                    f"the nearest are {', '.join(map(quote, names))}"
                    if names
                    else "call this without name to list all properties"
                )
                raise NotFound(f"no note has the property {quote(name)}; {advice}")
        if name:
            return lists.values(answer, lists.page_of(answer["values"], first, AGENT_LIST), form)
        listed = sorted(answer["properties"], key=lambda each: (-each["count"], each["name"]))
        return lists.properties(answer, lists.page_of(listed, first, AGENT_LIST), form)

    async def list_links(
        self,
        note: Note,
        direction: Literal["both", "outgoing", "backlinks", "unresolved"] = "both",
        first: First = 1,
        vault: str | None = None,
        max_tokens: Budget = limits.AGENT_TOKENS,
    ) -> Annotated[Reply, answers.Links]:
        """List a note's outgoing links, its backlinks, or its links to missing notes (unresolved)."""
        directions = ("outgoing", "backlinks") if direction == "both" else (direction,)
        last = min(first - 1 + AGENT_LIST, limits.LISTED_ITEMS_MOST)
        params = {"note": note, "limit": last}
        asked = [await self._notes.ask(f"links/{way}", params, vault) for way in directions]
        items: list[JSON] = [
            {**link, "direction": way}
            for way, answer in zip(directions, asked, strict=True)
            for link in answer["links"]
        ]
        total = sum(int(answer["total"]) for answer in asked)
        page = lists.Page(items[first - 1 : last], first, total)
        return lists.links(asked[0], page, self._form(max_tokens))

    async def table(
        self,
        source: Annotated[
            str, Field(description='A query such as "tag:book", a ".base" file, or a ".md" note with bases.')
        ],
        columns: Annotated[
            Columns | None, Field(description='Properties, "title", "modified", or Bases expressions.')
        ] = None,
        sort: Annotated[Columns | None, Field(description='"-rating" is descending.')] = None,
        group: str | None = None,
        view: str | None = None,
        first: First = 1,
        vault: str | None = None,
        max_tokens: Budget = limits.AGENT_TOKENS,
    ) -> Annotated[Reply, answers.Tables]:
        """Show a query's notes (with columns, sort, group) or an Obsidian base (with view) as a table."""
        is_file = is_table_file(source)
        last = min(first - 1 + AGENT_LIST, limits.LISTED_ITEMS_MOST)
        lists_of: JSON = {
            name: [value] if isinstance(value, str) else value
            for name, value in (("columns", columns), ("sort", sort))
        }
        asked: JSON = {**lists_of, "group": group, "view": view, "limit": last}
        params = {name: value for name, value in asked.items() if value is not None}
        params["file" if is_file else "query"] = source
        answer = await self._notes.ask("vault/table", params, vault)
        return lists.tables(answer, first, last, self._form(max_tokens))

    async def graph(
        self,
        note: str | None = None,
        other: str | None = None,
        stale: bool = False,
        vault: str | None = None,
        max_tokens: Budget = limits.AGENT_TOKENS,
    ) -> Annotated[Reply, answers.Graph]:
        """Show hubs and clusters of links; with note, links it may lack; with note and other, a path.

        With stale, show outdated notes and links to them.
        """
        form = self._form(max_tokens)
        if stale:
            if note or other:
                raise UsageError("stale covers the whole vault; leave out note and other")
            return lists.stale(await self._notes.ask("vault/stale", {"limit": AGENT_LIST}, vault), form)
        if note is None and other is None:
            return lists.overview(
                await self._notes.ask("graph/overview", {"without_bridges": True}, vault), form
            )
        if note is None:
            raise UsageError("a path needs two notes; add note")
        if other is None:
            return lists.suggestions(await self._notes.ask("graph/suggest", {"note": note}, vault), form)
        params = {"note": note, "other": other, "limit": 1}
        return lists.route(await self._notes.ask("graph/path", params, vault), form)

    async def vault_status(
        self, vault: str | None = None, max_tokens: Budget = limits.AGENT_TOKENS
    ) -> Annotated[Reply, answers.Status]:
        """Show the vaults by name, their indexing progress, and what does not work."""
        return lists.status(await self._notes.status(vault), self._form(max_tokens))

    async def _read(self, names: list[str], vault: str | None) -> tuple[list[JSON], list[str]]:
        """Return the answers for the notes that can be read, and an error message for each other note."""
        asked = (self._notes.read(name, vault) for name in names)
        answered = await asyncio.gather(*asked, return_exceptions=True)
        whole = [answer for answer in answered if not isinstance(answer, BaseException)]
        errors = [error for error in answered if isinstance(error, BaseException)]
        for error in errors:
            if not whole or not isinstance(error, VaultseekError):
                raise error
        return whole, [one_line(error) for error in errors if isinstance(error, VaultseekError)]

    async def _no_folder(self, folder: str, vault: str | None) -> str:
        every = (await self._notes.ask("search", dict(EVERY_NOTE), vault))["results"]
        names = lists.folders_like(folder, [note["path"] for note in every])
        known = ", ".join(f"{quote(name)}" for name in names[: lists.FOLDERS_NAMED])
        advice = f"; use one of {known}" if known else "; leave out the folder"
        return f"no note is in the folder {quote(folder)}{advice}"

    def _form(self, budget: int) -> Form:
        return Form(budget, self._structured)

    async def _search(self, query: str, limit: int, mode: Mode, vault: str | None) -> JSON:
        return await self._notes.ask("search", {"query": query, "limit": limit, "mode": mode}, vault)


def _folder(text: str) -> str:
    """Return the path of a folder, which may be written as a filter such as ``path:"a b/"``."""
    text = re.sub(r"^path:", "", text.strip(" \"'"), flags=re.IGNORECASE)
    path = text.strip(" \"'").removeprefix("./").strip("/")
    return "" if path == "." else path


def _add_remark(answer: JSON, remark: str) -> None:
    answer["remarks"] = [*answer["remarks"], {"code": "query", "text": remark}]
