"""RPC methods about searches."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace

from vaultseek.base import limits
from vaultseek.base.model import JSON, Reason
from vaultseek.base.precedence import searching
from vaultseek.base.threads import Turns
from vaultseek.base.when import present
from vaultseek.core.notes.context import NOTES as CONTEXT_NOTES
from vaultseek.core.notes.context import pack_context
from vaultseek.core.notes.lookup import unknown_names
from vaultseek.core.notes.read import with_property_places
from vaultseek.core.notes.stale import stale
from vaultseek.core.notes.why import why
from vaultseek.core.search.pipeline import Searcher, parse
from vaultseek.core.search.request import (
    ParsedRequest,
    SearchRequest,
    unknown_searches,
    with_saved_searches,
)
from vaultseek.core.search.response import head, search_method
from vaultseek.core.search.retrieve import wants_semantic
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.methods.access import (
    Find,
    FindAll,
    Handlers,
    about_note,
    about_vault,
    find_note,
    progress_reported,
    whole,
    with_degraded,
)
from vaultseek.daemon.methods.currency import add_currency
from vaultseek.daemon.methods.merge import merge_answers
from vaultseek.daemon.visible.rights import CURRENT_RIGHTS
from vaultseek.daemon.visible.view import SeenFollower
from vaultseek.errors import IndexDamaged, Unavailable, WorkerUnavailable
from vaultseek.protocol.messages.params import (
    AllVaultsParams,
    ContextParams,
    Query,
    SearchOptions,
    SearchParams,
    StaleParams,
    WhyParams,
)
from vaultseek.protocol.messages.remarks import with_remarks
from vaultseek.protocol.wire.context import RequestContext
from vaultseek.settings.load import with_overrides
from vaultseek.settings.model import Settings

CONCURRENT_SEARCHES = 4
"""Maximum number of concurrent searches of each type: by words only, with a filter, and with a regular
expression, which may be slow."""
PREFIX_NAMES = 64
"""Maximum number of names beginning with the typed text that are considered."""


class SearchMethods:
    """Handlers of `search`, `search/…` and `vault/stale`."""

    def __init__(self, find: Find, several: FindAll, settings: Callable[[], Settings]) -> None:
        self._find = find
        self._several = several
        self._settings = settings
        self._turns, self._filter_turns, self._expression_turns = (
            Turns(CONCURRENT_SEARCHES) for _ in range(3)
        )

    def handlers(self) -> Handlers:
        """Return the handlers, keyed by method name."""
        return {
            "search": self.search,
            "search/all": self.search_all,
            "search/context": self.context,
            "search/why": self.why,
            "vault/stale": self.stale,
        }

    async def stale(self, call: StaleParams, context: RequestContext) -> JSON:
        """Return the notes that need attention: outdated notes, and notes that link to superseded notes."""
        vault = (await self._find(call)).vault
        rules, today = self._settings().search.currency.rules, present().date().isoformat()
        answer = await asyncio.to_thread(stale, vault.ledger, rules, today, call.limit)
        return about_vault(vault, answer)

    async def search(self, call: SearchParams, context: RequestContext) -> JSON:
        """Return the results of a query in one vault."""
        follower = await self._find(call)
        return await self._answer(call, await self._parsed(call), follower, context)

    async def search_all(self, call: AllVaultsParams, context: RequestContext) -> JSON:
        """Return the results of a query in several vaults."""
        vaults = await self._several(call)
        parsed = await self._parsed(call)
        # The vaults are searched concurrently and count as one request, unless each must be indexed first.
        async with nullcontext() if call.wait else self._turn(parsed):
            answers = await asyncio.gather(
                *(self._answer_or_fail(call, parsed, vault, context) for vault in vaults.values()),
                return_exceptions=True,
            )
        answered = [answer for answer in answers if isinstance(answer, dict)]
        for error in answers:
            if isinstance(error, BaseException) and not (answered and isinstance(error, Unavailable)):
                raise error
        merged = merge_answers(answered, parsed.limit)
        merged["partial"] += [
            {"lane": "vault", **Reason.of(error).as_json(), "vault": name}
            for name, error in zip(vaults, answers, strict=True)
            if isinstance(error, Unavailable)
        ]
        return with_remarks(merged, found=bool(merged["results"]))

    async def _answer_or_fail(
        self,
        call: SearchOptions,
        parsed: ParsedRequest,
        vault: SeenFollower | Exception,
        context: RequestContext,
    ) -> JSON:
        """Return the results from one of several vaults. Raises Unavailable if the vault could not be
        opened."""
        if isinstance(vault, Unavailable):
            raise vault
        if isinstance(vault, Exception):
            raise Unavailable(f"the vault cannot be opened: {vault}")
        return await self._answer(call, parsed, vault, context)

    async def _parsed(self, call: SearchOptions) -> ParsedRequest:
        request = self._request(call, explain=call.explain, brief=call.brief)
        return await parse(replace(request, passages=call.passages))

    async def _answer(
        self, call: SearchOptions, parsed: ParsedRequest, follower: SeenFollower, context: RequestContext
    ) -> JSON:
        await follower.wait_if_new()
        if call.wait:
            vectors = not parsed.is_listing and wants_semantic(parsed)
            waited = whole(follower)
            async with progress_reported(waited, context, wanted=call.progress, vectors=vectors):
                await waited.rescan()
                if vectors:
                    await _wait_for_vectors(waited, expanded=parsed.request.settings.expansion.enabled)
        async with self._turn(parsed):
            parsed = parsed.with_deadline(context.remaining())
            if call.typing:
                named = await asyncio.to_thread(_prefix_named, parsed, follower)
                parsed = replace(parsed, request=replace(parsed.request, typing=True, prefix_named=named))
                follower.keep_names_ranked()
            degraded = follower.degraded_reason()
            answer = with_degraded(await Searcher(follower.vault).search(parsed), degraded)
        if not (answer["results"] or call.typing or degraded or await follower.wait_for_first_scan(0)):
            # The note may have been written while the daemon was not running.
            left = context.remaining()
            seconds = limits.REFRESH_SECONDS if left is None else min(limits.REFRESH_SECONDS, left / 2)
            await follower.wait_for_first_scan(seconds)
            async with self._turn(parsed):
                answer = await Searcher(follower.vault).search(parsed.with_deadline(context.remaining()))
        if any(result.get("property") for result in answer["results"]):
            answer = await asyncio.to_thread(with_property_places, answer, follower.vault.options.root)
        answer["query"] = call.query
        notes: list[str] = answer["interpreted"]["notes"]
        notes += unknown_searches(parsed.request.query, self._saved_searches())
        if not answer["results"] and answer["interpreted"]["filters"]:
            notes += await asyncio.to_thread(
                lambda: list(unknown_names(parsed.query.filter, follower.completer))
            )
        answer = with_remarks(_with_aliases(answer), found=bool(answer["results"]))
        return about_vault(follower.vault, answer)

    @asynccontextmanager
    async def _turn(self, parsed: ParsedRequest) -> AsyncIterator[None]:
        turns = self._turns if parsed.query.filter is None else self._filter_turns
        if parsed.expressions is not None:
            turns = self._expression_turns
        with searching():
            async with turns.turn():
                yield

    async def context(self, call: ContextParams, context: RequestContext) -> JSON:
        """Return evidence for a question."""
        follower = await self._find(call)
        await follower.wait_if_new()
        request = replace(self._request(call), limit=call.limit or CONTEXT_NOTES)
        parsed = await parse(request)
        async with self._turn(parsed):
            parsed = parsed.with_deadline(context.remaining())
            trace = await Searcher(follower.vault).run(parsed)
            packed = await asyncio.to_thread(pack_context, trace, follower.vault.ledger, call.tokens)
        answer = with_degraded({**head(trace), **packed}, follower.degraded_reason())
        answer = with_remarks(answer, found=bool(answer["passages"]))
        return about_vault(follower.vault, {**answer, "query": call.query})

    async def why(self, call: WhyParams, context: RequestContext) -> JSON:
        """Explain the rank of a note for a query, or the stage at which the note was dropped."""
        follower = await self._find(call)
        row = await find_note(call.note, follower)
        answer = await why(row, self._request(call, explain=True), follower.vault)
        answer = about_note(row, with_remarks(answer, found=True))
        rules = self._settings().search.currency.rules
        await asyncio.to_thread(add_currency, "search/why", answer, follower.vault.ledger, rules)
        return about_vault(follower.vault, answer)

    def _request(self, call: Query, *, explain: bool = False, brief: bool = False) -> SearchRequest:
        settings = with_overrides(self._settings().search, call.settings)
        if CURRENT_RIGHTS.get() is not None:  # clients with a token do not see the user's history
            settings = settings.model_copy(update={"learn": False})
        plain = isinstance(call, SearchOptions) and call.plain
        return SearchRequest(
            query=call.query if plain else with_saved_searches(call.query, self._saved_searches()),
            limit=call.limit,
            mode=call.mode or settings.mode,
            explain=explain,
            settings=settings,
            fields=call.filters,
            brief=brief,
            plain=plain,
        )

    def _saved_searches(self) -> Mapping[str, str]:
        """Return the saved searches by name, or none for a client with a token, because answers would show
        the user's own queries."""
        return self._settings().searches if CURRENT_RIGHTS.get() is None else {}


def _with_aliases(answer: JSON) -> JSON:
    """Return ``answer`` with the number of results, and with some fields repeated under the names that other
    tools use."""
    partial = [part["lane"] for part in answer["partial"]]
    for result in answer["results"]:
        lanes = result.get("lanes")
        if lanes is not None:
            contributing = ["graph"] if result["via"] else [name for name in lanes if lanes[name]]
            result["search_method"] = search_method(contributing, partial)
            result["vectorRank"] = (lanes.get("semantic") or {}).get("rank")
            result["bm25Rank"] = (lanes.get("keyword") or {}).get("rank")
            result["content_preview"] = result["preview"]
    return {**answer, "count": len(answer["results"])}


def _prefix_named(parsed: ParsedRequest, follower: SeenFollower) -> tuple[int, ...]:
    """Return the ids of notes whose names begin with the query as typed, or with the words of the query that
    are used for ranking.

    Exact names come first, then the notes opened most often.
    """
    texts = dict.fromkeys((parsed.request.query.strip(), parsed.query.rank_text))
    notes = [note for text in texts for note in follower.completer.beginning(text, PREFIX_NAMES)]
    ledger = follower.vault.ledger
    if not (parsed.request.settings.learn and ledger.keeps_opens):
        return tuple(notes)
    named = {note for text in texts for note in ledger.notes.ids_by_name(text)}
    opened = ledger.opens.counts(notes)
    return tuple(sorted(notes, key=lambda note: (note not in named, -opened.get(note, 0))))


async def _wait_for_vectors(follower: VaultFollower, *, expanded: bool) -> None:
    try:
        await follower.wait_until_embedded()
        if expanded:
            await follower.refresh_concepts()
    except (WorkerUnavailable, IndexDamaged):
        return  # the answer lists the missing lanes
