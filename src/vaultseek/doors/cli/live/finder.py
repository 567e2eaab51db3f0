"""The state of a live search: the typed query, the last answer, the selected result and its preview."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from vaultseek.base.model import JSON
from vaultseek.base.text import one_line
from vaultseek.content.markdown.resolve import NOTE_SUFFIX
from vaultseek.content.markdown.spelling import can_be_linked, destination
from vaultseek.doors.cli.live.preview import Preview, written_words
from vaultseek.doors.cli.output import with_command
from vaultseek.errors import VaultseekError

SEARCH_GRACE_SECONDS = 0.2
"""Seconds for which a search runs before the next letter may cancel it, so that results appear even during
fast typing."""
QUIET_SECONDS = 0.25
"""Seconds without typing before an empty answer is shown, because an unfinished word may match nothing."""
LINKS_READ = 50
"""Maximum number of completions requested to find the target of a link to a note."""
LINK_TEXT_CHARS = 200
ANY_NOTE = "Untitled.md"
"""Path of an imaginary note in the vault's root, into which a copied link is assumed to be pasted."""
LINES_AROUND = 300
"""Number of lines read before and after the matching line of a note."""

Call = Callable[[str, JSON], Awaitable[JSON]]
"""A function that calls a method of the daemon with parameters. Raises VaultseekError."""


class Finder:
    """A live search. ``recent`` is the answer shown while nothing is typed; ``query`` is the initial text.

    ``on_change`` is called whenever there is something new to display.
    """

    def __init__(
        self,
        call: Call,
        request: JSON,
        recent: JSON,
        *,
        query: str = "",
        method: str = "search",
        on_change: Callable[[], object] = lambda: None,
    ) -> None:
        self.query = " ".join(query.split())
        self.answer = {} if self.query else recent
        self.message = ""
        """The reason why there is no answer to the query, or ""."""
        self.selected = 0
        self.unfolded = False
        """True once the selection has moved beyond the certain results, which reveals the less certain
        results."""
        self.marked: dict[tuple[str, str], JSON] = {}
        """The marked results, keyed by vault and path, in the order in which they were marked; a new query
        keeps them."""
        self.preview: Preview | None = None
        self.on_change = on_change
        self._call = call
        self._request = request
        self._recent = recent
        self._method = method
        self._answered = ""
        self._typed = asyncio.Event()
        self._moved = asyncio.Event()
        self._moved.set()
        self._settled = asyncio.Condition()

    @property
    def results(self) -> Sequence[JSON]:
        """The visible results in the last answer, best first."""
        results: list[JSON] = self.answer.get("results") or []
        return results[: len(results) - self.folded]

    @property
    def folded(self) -> int:
        """Number of less certain results that are still hidden."""
        return 0 if self.unfolded else int(self.answer.get("less_certain") or 0)

    @property
    def result(self) -> JSON | None:
        """The selected result, or None."""
        return self.results[self.selected] if self.results else None

    @property
    def pending(self) -> bool:
        """True until the answer to the current query has arrived."""
        return self._answered != self.query

    @property
    def is_beginning(self) -> bool:
        """True until there is an answer or an error to display."""
        return not (self.answer or self.message)

    def type(self, text: str) -> None:
        """Search for ``text`` from now on; if only its spaces have changed, a running search continues."""
        query = " ".join(text.split())
        if query != self.query:
            self.query = query
            self._typed.set()

    def move(self, by: int) -> None:
        """Move the selection in the list. Moving beyond the last result reveals the hidden results."""
        self.unfolded = self.unfolded or self.selected + by >= len(self.results)
        selected = max(0, min(self.selected + by, len(self.results) - 1))
        if selected != self.selected:
            self.selected = selected
            self._select()

    @property
    def chosen(self) -> Sequence[JSON]:
        """The marked results or, if none are marked, the selected result."""
        if self.marked or self.result is None:
            return list(self.marked.values())
        return [self._chosen(self.result)]

    def is_marked(self, result: JSON) -> bool:
        """Return True if the result is marked."""
        return self._place(result) in self.marked

    def mark(self) -> None:
        """Toggle the mark on the selected result, and select the next result."""
        if self.result is not None:
            place = self._place(self.result)
            if self.marked.pop(place, None) is None:
                self.marked[place] = self._chosen(self.result)
            self.move(1)
            self.on_change()

    def _chosen(self, result: JSON) -> JSON:
        """Return a result together with its vault's folder and the query that it answers."""
        return {**result, "vault_path": self.vault_path(result), "query": self._answered}

    def _place(self, result: JSON) -> tuple[str, str]:
        # A searcher knows only the vault's name, not its folder.
        named = result.get("vault") or self.answer.get("vault") or ""
        return self.vault_path(result) or str(named), result["path"]

    async def links(self) -> list[str]:
        """Return a link to each chosen note, in the style of the note's vault. Raises VaultseekError."""
        return await asyncio.gather(*map(self._link, self.chosen))

    async def _link(self, result: JSON) -> str:
        vault, path = self._place(result)
        suffix = path.endswith(NOTE_SUFFIX)
        wanted = {"text": f"/{path.removesuffix(NOTE_SUFFIX)}", "source": ANY_NOTE, "limit": LINKS_READ}
        answer = await self._call("complete", {"vault": vault, "kind": "note", **wanted})
        names = (item["link"] for item in answer["items"] if item["path"] == path)
        link = next(names, path.removesuffix(NOTE_SUFFIX))
        if not answer["markdown"] and can_be_linked(link) and link.isprintable():
            return f"[[{link}]]"
        link += NOTE_SUFFIX if suffix and not link.endswith(NOTE_SUFFIX) else ""
        text = re.sub(r"([\[\]\\])", r"\\\1", one_line(str(result.get("title") or path), LINK_TEXT_CHARS))
        return f"[{text}]({destination(link)})"

    def vault_path(self, result: JSON) -> str:
        """Return the folder of the vault that contains a result, or "" if it is unknown."""
        return str(result.get("vault_path") or self.answer.get("vault_path") or "")

    async def run(self) -> None:
        """Keep the answer and the preview up to date until cancelled; may be called again afterwards."""
        if self.pending:
            self._typed.set()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_query())
            tasks.create_task(self._follow_selection())

    async def settled(self) -> None:
        """Wait for the answer to the current query."""
        async with self._settled:
            await self._settled.wait_for(lambda: not self.pending)

    async def _follow_query(self) -> None:
        while True:
            await self._typed.wait()
            self._typed.clear()
            if not self.pending:
                continue
            query = self.query
            search = asyncio.ensure_future(self._search(query))
            try:
                if await self._is_answered(search) and not await self._is_transient(search):
                    await self._show(query, search)
            finally:
                search.cancel()

    async def _is_answered(self, search: asyncio.Future[JSON]) -> bool:
        """Wait for the answer. Return False if a different query is typed before a slow answer arrives."""
        await asyncio.wait([search], timeout=SEARCH_GRACE_SECONDS)
        if not search.done():
            typed = asyncio.ensure_future(self._typed.wait())
            both: list[asyncio.Future[Any]] = [search, typed]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            typed.cancel()
        return search.done()

    async def _is_transient(self, search: asyncio.Future[JSON]) -> bool:
        """Return True if the answer is empty, the list is not, and typing continues; the list is then
        kept."""
        if search.exception() is not None or search.result().get("results") or not self.results:
            return False
        try:
            async with asyncio.timeout(QUIET_SECONDS):
                await self._typed.wait()
        except TimeoutError:
            return False
        return True

    async def _search(self, query: str) -> JSON:
        return await self._call(self._method, {**self._request, "query": query}) if query else self._recent

    async def _show(self, query: str, search: asyncio.Future[JSON]) -> None:
        """Show an answer. If the daemon refuses the query, the last results are kept."""
        try:
            self.answer, self.message = search.result(), ""
            self.selected, self.unfolded = 0, False
            self._select()
        except VaultseekError as error:
            self.message = with_command(error, error.advice)
        self._answered = query
        self.on_change()
        async with self._settled:
            self._settled.notify_all()

    def _select(self) -> None:
        self._moved.set()
        self.on_change()

    async def _follow_selection(self) -> None:
        while True:
            await self._moved.wait()
            self._moved.clear()
            result = self.result
            self.preview = None if result is None else await self._read(result)
            self.on_change()

    async def _read(self, result: JSON) -> Preview:
        line = int(result.get("line") or result.get("start_line") or 1)
        first = max(1, line - LINES_AROUND)
        vault, path = self._place(result)
        note = {"vault": vault, "note": path}
        try:
            answer = await self._call(
                "note/get", {**note, "start_line": first, "end_line": line + LINES_AROUND}
            )
        except VaultseekError as error:
            return Preview((with_command(error, error.advice),), first=1, line=0)
        lines = str(answer.get("text") or "").split("\n")
        return Preview(tuple(lines), first=first, line=line, words=written_words(result))
