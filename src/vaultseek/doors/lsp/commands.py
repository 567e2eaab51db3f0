"""Commands: search, related notes, backlinks, missing links, explanation of a note's rank, block ids."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from lsprotocol import types

from vaultseek.base.model import JSON
from vaultseek.base.text import one_line
from vaultseek.doors.lsp.blocks import INSERT_ID, edit_of_id
from vaultseek.doors.lsp.missing import MISSING, missing_links
from vaultseek.doors.lsp.session import Session, Spot
from vaultseek.doors.lsp.symbols import search_workspace, vaults_of
from vaultseek.errors import UsageError

CHOICES = 9
"""Maximum number of notes offered to the user in one question."""
CHOICE_CHARS = 60

Choose = Callable[[str, Sequence[str]], Awaitable[int | None]]
"""Function that lets the user choose one of several titles; returns None if choosing is impossible or
declined."""
Show = Callable[[str, int], Awaitable[None]]
"""Function that opens a document at a line number, 1-based."""
Apply = Callable[[str, types.WorkspaceEdit], Awaitable[None]]
"""Function that takes a title and an edit, and makes the client apply the edit."""


class Commands:
    """Handlers for ``workspace/executeCommand``; each returns its results as JSON."""

    def __init__(self, session: Session, choose: Choose, show: Show, apply: Apply) -> None:
        self._session = session
        self._choose = choose
        self._show = show
        self._apply = apply

    def all(self) -> dict[str, Callable[..., Awaitable[Any]]]:
        """Return the handlers, keyed by command name."""
        return {
            "vaultseek.search": self.search,
            "vaultseek.related": self.related,
            "vaultseek.backlinks": self.backlinks,
            MISSING: self.missing,
            "vaultseek.why": self.why,
            INSERT_ID: self.insert_id,
        }

    async def search(self, *arguments: Any) -> list[JSON]:
        """Return the results of a search. The first argument is the query, the second the maximum number of
        results."""
        query = _text(arguments, 0, "query")
        limit = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], int) else 20
        results = await search_workspace(self._session, query, max(1, min(limit, 200)))
        vaults = await vaults_of(self._session, results)
        return [_located(result, vaults[str(result["vault_path"])]) for result in results]

    async def related(self, *arguments: Any) -> list[JSON]:
        """Return the notes most similar to a document, and let the user open one of them."""
        spot = await self._spot(arguments, 0)
        answer = await self._session.ask("note/related", spot.root, note=spot.path, limit=CHOICES)
        results = [_located(result, spot) for result in answer["results"]]
        await self._offer("Related notes", results)
        return results

    async def backlinks(self, *arguments: Any) -> list[JSON]:
        """Return the links to a document, and let the user open one of the notes with these links."""
        spot = await self._spot(arguments, 0)
        answer = await self._session.ask("links/backlinks", spot.root, note=spot.path)
        results = [_located(link, spot) for link in answer["links"]]
        await self._offer("Backlinks", results)
        return results

    async def missing(self, *arguments: Any) -> list[JSON]:
        """Return notes to which a document could link, and let the user open one of them."""
        spot = await self._spot(arguments, 0)
        links, _ = await missing_links(self._session, spot)
        results = [_located(item, spot) for item in links]
        await self._offer("Missing links", results)
        return results

    async def why(self, *arguments: Any) -> JSON:
        """Explain a document's rank for a query. The first argument is the query, the second the document."""
        query, spot = _text(arguments, 0, "query"), await self._spot(arguments, 1)
        return await self._session.ask("search/why", spot.root, query=query, note=spot.path)

    async def insert_id(self, *arguments: Any) -> JSON:
        """Make the editor insert a block id. The first argument is the document, the second the id."""
        spot, id = await self._spot(arguments, 0), _text(arguments, 1, "id")
        if made := edit_of_id(self._session, spot, id):
            await self._apply(*made)
        return {"inserted": made is not None}

    async def _spot(self, arguments: Sequence[Any], number: int) -> Spot:
        spot = await self._session.spot(_text(arguments, number, "document"))
        if spot is None:
            raise UsageError(
                "this document is not in a vault; open a note, or add its folder: vaultseek vault add DIR"
            )
        return spot

    async def _offer(self, title: str, results: Sequence[JSON]) -> None:
        shown = [one_line(str(result["title"]), CHOICE_CHARS) for result in results[:CHOICES]]
        chosen = await self._choose(title if shown else f"{title}: none", shown)
        if chosen is not None:
            await self._show(str(results[chosen]["uri"]), int(results[chosen].get("line") or 1))


def _text(arguments: Sequence[Any], number: int, name: str) -> str:
    if len(arguments) <= number or not isinstance(arguments[number], str) or not arguments[number]:
        raise UsageError(f"the command needs a {name}; pass it as argument {number + 1}")
    return str(arguments[number])


def _located(result: JSON, vault: Spot) -> JSON:
    return {**result, "uri": vault.uri(str(result["path"]))}
