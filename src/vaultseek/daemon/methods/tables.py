"""The RPC method `vault/table`."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.base.threads import FairThreads
from vaultseek.core.search.pipeline import Searcher, in_search_thread, parse
from vaultseek.core.search.request import SearchRequest, unknown_searches, with_saved_searches
from vaultseek.core.search.response import head
from vaultseek.core.tables.place import base_path, has_base
from vaultseek.daemon.methods.access import (
    Find,
    Handlers,
    about_vault,
    find_note,
    folder_of,
    with_degraded,
)
from vaultseek.daemon.methods.currency import add_currency
from vaultseek.daemon.visible.view import SeenFollower
from vaultseek.errors import NotFound, Unavailable, UsageError
from vaultseek.protocol.messages.params import TableParams
from vaultseek.protocol.messages.remarks import with_remarks
from vaultseek.protocol.wire.context import RequestContext
from vaultseek.settings.model import Settings
from vaultseek.store.ledger.filter import filter_notes

if TYPE_CHECKING:
    from vaultseek.core.tables.scope import Budget

T = TypeVar("T")

_threads = FairThreads(3, thread_name_prefix="table")
"""Separate threads for building tables: a table may read every note of a vault and must not delay
searches."""


class TableMethods:
    """The handler of `vault/table`."""

    def __init__(self, find: Find, settings: Callable[[], Settings]) -> None:
        self._find = find
        self._settings = settings

    def handlers(self) -> Handlers:
        """Return the handlers, keyed by method name."""
        return {"vault/table": self.table}

    async def table(self, call: TableParams, context: RequestContext) -> JSON:
        """Return the tables in a base or in a note, or one table of the notes found by a query."""
        if (call.file is None) == (call.query is None):
            raise UsageError('a table needs a file or a query; set either "file" or "query"')
        follower = await self._find(call)
        await follower.wait_if_new()
        degraded = follower.degraded_reason()
        if call.file is not None:
            tables = await self._of_file(call, call.file, follower, context)
        else:
            tables = [await self._of_query(call, call.query or "", follower, context)]
        answer: JSON = {"tables": tables, "count": sum(table["count"] for table in tables), "partial": []}
        rules = self._settings().search.currency.rules
        await _in_thread(add_currency, "vault/table", answer, follower.vault.ledger, rules)
        return about_vault(follower.vault, with_degraded(answer, degraded))

    async def _of_file(
        self, call: TableParams, file: str, follower: SeenFollower, context: RequestContext
    ) -> list[JSON]:
        if call.columns or call.sort or call.group or call.summaries:
            raise UsageError(
                "a base has its own columns, sort, group and summaries; use these only with a query"
            )
        from vaultseek.core.tables.run import tables_of  # imported here, because the import is slow

        vault = follower.vault
        folder = folder_of(vault, "a table of a file")
        path = await _path(file, follower)
        this = None if call.this is None else await _path(call.this, follower)
        return await _in_thread(
            tables_of,
            path,
            vault.ledger,
            folder,
            call.view,
            this,
            most=call.limit or limits.LISTED_ITEMS_MOST,
            budget=_budget(context),
        )

    async def _of_query(
        self, call: TableParams, query: str, follower: SeenFollower, context: RequestContext
    ) -> JSON:
        if call.view is not None or call.this is not None:
            raise UsageError('"view" and "this" are for a base; with a query, use columns, sort and group')
        from vaultseek.core.tables.run import table_of_notes

        vault, settings = follower.vault, self._settings()
        parsed = await parse(
            SearchRequest(
                with_saved_searches(query, settings.searches),
                settings.search,
                limit=call.limit and min(call.limit, limits.RESULTS),
                mode=settings.search.mode,
                brief=True,
                seconds=context.remaining(),
            )
        )
        remarks = unknown_searches(query, settings.searches)
        if parsed.is_listing:
            filtered = await in_search_thread(parsed, filter_notes, parsed.query.filter, vault.ledger)
            ids = [] if filtered is None else filtered.ids.tolist()
            remarks += parsed.query.notes
        else:
            trace = await Searcher(vault).run(parsed)
            ids = [candidate.about.id for candidate in trace.results]
            remarked = with_remarks(head(trace), found=bool(ids))["remarks"]
            remarks += [remark["text"] for remark in remarked]
        return await _in_thread(
            table_of_notes,
            ids,
            vault.ledger,
            vault.options.root,
            columns=call.columns,
            sort=call.sort,
            group=call.group,
            summaries=call.summaries,
            ranked=not parsed.is_listing,
            remarks=remarks,
            most=call.limit or limits.LISTED_ITEMS_MOST,
            budget=_budget(context),
        )


def _budget(context: RequestContext) -> "Budget":
    """Return the time budget for a table, limited by the request's deadline."""
    from vaultseek.core.tables.scope import Budget

    remaining = context.remaining()
    seconds = limits.TABLE_SECONDS if remaining is None else min(limits.TABLE_SECONDS, remaining)
    return Budget(seconds, context.cancelled)


async def _path(name: str, follower: SeenFollower) -> str:
    vault = follower.vault
    if not has_base(name):
        return (await find_note(name, follower)).path
    skips = vault.indexer.skips
    try:
        return await asyncio.to_thread(base_path, name, vault.ledger, vault.options.root, skips)
    except NotFound:
        # The file may not have been seen yet, if the daemon was just started or the file was just written.
        if not await follower.wait_for_first_scan(limits.REFRESH_SECONDS):
            raise Unavailable(f"{vault.name} is still being read; try again in a moment") from None
    return await asyncio.to_thread(base_path, name, vault.ledger, vault.options.root, skips)


async def _in_thread(function: Callable[..., T], *arguments: Any, **more: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads, partial(function, *arguments, **more))
