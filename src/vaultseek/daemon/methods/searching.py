"""The methods ``search`` and ``search/why``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.methods.access import Find, found_note, of_note, of_vault, with_gap
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.messages.params import SearchParams, WhyParams, read
from vaultseek.model import JSON
from vaultseek.notes.why import why
from vaultseek.search.pipeline import Searcher
from vaultseek.search.request import SearchRequest
from vaultseek.settings.load import with_overrides
from vaultseek.settings.model import SearchSettings
from vaultseek.wire.context import Handler, RequestContext


class Searching:
    """Handlers of the questions that rank."""

    def __init__(self, find: Find, settings: Callable[[], SearchSettings]) -> None:
        self._find = find
        self._settings = settings

    def handlers(self) -> dict[str, Handler]:
        """Method name to handler."""
        return {"search": self.search, "search/why": self.why}

    async def search(self, params: JSON, context: RequestContext) -> JSON:
        """Answer a query."""
        asked = read(SearchParams, params)
        follower = await self._find(asked)
        request = self._request(asked, explain=asked.explain, brief=asked.brief)
        await follower.wait_if_new()
        if asked.wait:
            await follower.rescan()
            await _embedded(follower, request)
        request = replace(request, seconds=context.remaining())
        gap = follower.degraded_reason()
        answer = with_gap(await Searcher(follower.vault).search(request), gap)
        return of_vault(follower, _with_aliases(answer))

    async def why(self, params: JSON, context: RequestContext) -> JSON:
        """Say why a note is where it is in the answer to a query, or where it was lost."""
        asked = read(WhyParams, params)
        follower = await self._find(asked)
        row = await found_note(asked.note, follower)
        return of_note(follower, row, await why(row, self._request(asked, explain=True), follower.vault))

    def _request(
        self, asked: SearchParams | WhyParams, *, explain: bool = False, brief: bool = False
    ) -> SearchRequest:
        settings = with_overrides(self._settings(), asked.settings)
        return SearchRequest(
            query=asked.query,
            limit=asked.limit,
            mode=asked.mode or settings.mode,
            explain=explain,
            settings=settings,
            fields=asked.filters,
            brief=brief,
        )


def _with_aliases(answer: JSON) -> JSON:
    """``answer`` with the number of its results, and the names that other tools have for our fields."""
    for result in answer["results"]:
        lanes = result.get("lanes")
        if lanes is not None:
            took_part = [name for name in ("semantic", "keyword", "graph") if lanes.get(name)]
            result["search_method"] = _method(took_part)
            result["vectorRank"] = (lanes.get("semantic") or {}).get("rank")
            result["bm25Rank"] = (lanes.get("keyword") or {}).get("rank")
            result["content_preview"] = result["preview"]
    return {**answer, "count": len(answer["results"])}


def _method(lanes: list[str]) -> str:
    return "hybrid" if len(lanes) > 1 else lanes[0] if lanes else "filter"


async def _embedded(follower: VaultFollower, request: SearchRequest) -> None:
    if request.mode == "keyword":
        return
    try:
        await follower.wait_until_embedded()
        if request.settings.expansion.enabled:
            await follower.refresh_concepts()
    except (WorkerUnavailable, IndexDamaged):
        return  # the answer says which lanes did not take part
