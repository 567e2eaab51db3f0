"""RPC methods about notes opened from search results."""

import asyncio
import contextlib
import time
from collections.abc import Callable

from vaultseek.base.limits import QUERY_EMBED_SECONDS
from vaultseek.base.model import JSON
from vaultseek.base.when import iso_time
from vaultseek.content.query.words import words_of
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.search.pipeline import parse
from vaultseek.core.search.request import SearchRequest, with_saved_searches
from vaultseek.daemon.methods.access import Find, Handlers, about_vault, find_note, whole
from vaultseek.errors import IndexDamaged, NotFound, Unavailable
from vaultseek.protocol.messages.params import ForgetParams, ListParams, OpenedParams
from vaultseek.protocol.wire.context import RequestContext
from vaultseek.settings.model import Settings
from vaultseek.store.ledger.opens import KEPT_OPENS, Meaning, Open


class HistoryMethods:
    """Handlers of `search/opened`, `search/history` and `search/forget`."""

    def __init__(self, find: Find, settings: Callable[[], Settings]) -> None:
        self._find = find
        self._settings = settings

    def handlers(self) -> Handlers:
        """Return the handlers, keyed by method name."""
        return {
            "search/opened": self.opened,
            "search/history": self.history,
            "search/forget": self.forget,
        }

    async def opened(self, call: OpenedParams, context: RequestContext) -> JSON:
        """Record that a note was opened from the results of a query, unless the settings forbid it."""
        follower = whole(await self._find(call))
        vault, query = follower.vault, " ".join(call.query.split())
        if not (self._settings().search.learn and query and vault.ledger.keeps_opens):
            return about_vault(vault, {"kept": False})
        row = await find_note(call.note, follower)
        text = await self._words(query)
        meaning = await _meaning(text, vault)
        opened = Open(query, row.path, call.position, time.time(), context.client.name)
        await vault.in_writer(vault.ledger.opens.add, words_of(text), opened, meaning)
        return about_vault(vault, {"kept": True})

    async def history(self, call: ListParams, context: RequestContext) -> JSON:
        """Return the notes opened from search results, latest first."""
        vault = whole(await self._find(call)).vault
        kept = vault.ledger.keeps_opens
        rows = await asyncio.to_thread(vault.ledger.opens.latest, KEPT_OPENS) if kept else []
        opened = [{**row._asdict(), "time": iso_time(row.time)} for row in rows[: call.limit]]
        answer = {"opened": opened, "count": len(opened), "total": len(rows)}
        return about_vault(vault, {**answer, "learn": self._settings().search.learn})

    async def forget(self, call: ForgetParams, context: RequestContext) -> JSON:
        """Delete the records of a query or of a note; if the request names neither, delete all records."""
        follower = whole(await self._find(call))
        vault = follower.vault
        forget = vault.ledger.opens.forget
        forgotten = 0
        if call.what is None:
            forgotten = await vault.in_writer(forget)
        elif words := words_of(await self._words(call.what)):
            forgotten = await vault.in_writer(forget, words)
        if call.what and not forgotten:
            path = call.what
            with contextlib.suppress(NotFound):
                path = (await find_note(call.what, follower)).path
            forgotten = await vault.in_writer(forget, "", path)
        return about_vault(vault, {"forgotten": forgotten})

    async def _words(self, query: str) -> str:
        """Return the query's words that are used for ranking."""
        settings = self._settings()
        request = SearchRequest(with_saved_searches(query, settings.searches), settings.search)
        return (await parse(request)).query.rank_text


async def _meaning(text: str, vault: OpenVault) -> Meaning | None:
    """Return the vector of a query, or None if it cannot be computed now."""
    if not text or vault.spaces.reason(text) or vault.spaces.unsupported_language_reason(text):
        return None
    with contextlib.suppress(Unavailable, IndexDamaged, TimeoutError):
        async with asyncio.timeout(QUERY_EMBED_SECONDS):
            answer = await vault.spaces.ask(text, 1, None)
            return Meaning(answer.model, answer.vector)
    return None
