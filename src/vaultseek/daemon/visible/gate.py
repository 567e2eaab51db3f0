"""Access control, in every method, for agents and for clients with limited rights."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from vaultseek.base.model import JSON
from vaultseek.core.indexing.scoped_vault import general_json
from vaultseek.daemon.visible.hidden import HIDE
from vaultseek.daemon.visible.rights import CURRENT_RIGHTS, Rights
from vaultseek.daemon.visible.view import USED_VIEWS, ScopedFollower
from vaultseek.errors import Forbidden, Unavailable, VaultseekError
from vaultseek.protocol.wire.context import Handler, RequestContext
from vaultseek.store.ledger import Counts

ALLOWED = frozenset((
    "search", "search/all", "search/context", "search/why",
    "note/get", "note/related", "graph/neighbors", "complete",
    "links/outgoing", "links/backlinks", "links/unresolved", "links/unlinked",
    "vault/tags", "vault/properties", "vault/orphans", "vault/duplicates", "vault/list",
    "index/status", "$/schema",
))  # fmt: skip
"""Methods for clients with limited rights; they only read, and access notes only through `Views`."""
FOR_AGENTS = ALLOWED | {
    "graph/overview", "graph/path", "graph/suggest", "vault/table", "vault/stale", "agents/given",
}  # fmt: skip
"""Methods for the user's agents while some notes are hidden from agents."""
NOT_FOR_AGENTS = frozenset(("agents/history", "agents/forget"))
"""Methods forbidden to agents: only the user may see and delete the record of answers given to agents."""
TIMES = 3
"""Maximum number of attempts to answer an agent's request if more notes are hidden during an attempt."""


class AccessControl:
    """Access control that admits all requests from the user and shows other clients only what they may see.

    ``names`` returns the configured vaults included in a client's rights; ``counts`` returns the counts of a
    vault's visible notes. ``hide`` returns the entries of ``[agents] hide``, and raises ConfigError if the
    setting is invalid.
    """

    def __init__(
        self,
        names: Callable[[Rights], Collection[str]],
        counts: Callable[[str], Awaitable[Counts]],
        hide: Callable[[], Awaitable[tuple[str, ...]]],
    ) -> None:
        self._names = names
        self._counts = counts
        self._hide = hide

    def guard(self, method: str, handler: Handler) -> Handler:
        """Return a handler that adds access control to ``handler``."""

        async def answer(params: JSON, context: RequestContext) -> Any:
            client = context.client
            if client.grant is not None:
                rights = CURRENT_RIGHTS.get()
                if rights is None:
                    raise Forbidden("this connection's rights are unknown; connect again")
                return await self._redacted(method, await handler(params, context), rights)
            if client.is_agent and method in NOT_FOR_AGENTS:
                raise Forbidden(f"{method} is for the user, not for agents; ask the user")
            if client.is_agent and (hide := await self._hide()):
                before = HIDE.set(hide)
                try:
                    return await self._for_agent(method, handler, params, context)
                finally:
                    HIDE.reset(before)
            return await handler(params, context)

        return answer

    async def _for_agent(self, method: str, handler: Handler, params: JSON, context: RequestContext) -> Any:
        if method not in FOR_AGENTS:
            raise Forbidden(f"{method} is not available to agents while [agents] hide is set; ask the user")
        if params.get("wait"):
            raise Forbidden("agents cannot request a comparison with the disk; leave out 'wait'")
        for _ in range(TIMES):
            used: list[ScopedFollower] = []
            before = USED_VIEWS.set(used)
            try:
                answer = await self._redacted(method, await handler(dict(params), context), None)
                if await asyncio.to_thread(_still_hide, used):
                    return answer
            finally:
                USED_VIEWS.reset(before)
        raise Unavailable("notes are being hidden at the moment; try again")

    async def _redacted(self, method: str, answer: Any, rights: Rights | None) -> Any:
        """Return ``answer`` with only the vaults and fields that a client with a token, or an agent, may
        see."""
        if method == "vault/list":
            seen = [
                each
                for each in answer["vaults"]
                if rights is None or (each["from"] != "request" and rights.sees(each["name"]))
            ]
            return {"vaults": [await self._listed(each, rights) for each in seen]}
        if method == "index/status":
            names = None if rights is None else self._names(rights)
            seen = [each for each in answer["vaults"] if names is None or each["name"] in names]
            # The user's agents may see settings, but nothing that depends on how many notes there are.
            own = _pick(answer["daemon"], "config", "socket", "addresses") if rights is None else {}
            return {
                "daemon": _daemon(answer["daemon"]) | own,
                "vaults": [await self._status(each, rights) for each in seen],
            }
        return answer

    async def _listed(self, vault: JSON, rights: Rights | None) -> JSON:
        if _sees_all(rights, vault["name"]):
            return vault
        return _pick(vault, "name", "path", "from", "state") | {
            "notes": (await self._visible(vault["name"])).notes
        }

    async def _status(self, vault: JSON, rights: Rights | None) -> JSON:
        """Return the status of a vault. If only part of the vault is visible, the counts cover only visible
        notes."""
        if _sees_all(rights, vault["name"]):
            return vault
        counts = await self._visible(vault["name"])
        return {
            **_pick(vault, "name", "path", "state"),
            **general_json(vault),
            "notes": counts.notes,
            "chunks": counts.chunks,
            "embedded": counts.embedded,
            "pending": counts.pending,
            "embeddings_computed": 0,
            "share": 1.0,
            "rate": 0.0,
            "eta_seconds": None,
            "last_change": None,
            "revision": None,
            "problems": [],
            "problem_count": 0,
            "lanes": {
                name: {"up": lane["up"], **general_json(lane)} for name, lane in vault["lanes"].items()
            },
            # A vault that cannot be opened has no models.
            "models": vault["models"]
            and {
                **_pick(vault["models"], "main", "only_english", "second", "second_problem", "advice"),
                "why": None,  # it may contain a count of all notes
                "second_notes_left": None,
            },
        }

    async def _visible(self, vault: str) -> Counts:
        try:
            return await self._counts(vault)
        except VaultseekError:  # the vault is not open
            return Counts(0, 0, 0, 0)


def _still_hide(views: list[ScopedFollower]) -> bool:
    return all(view.still_hides() for view in views)


def _sees_all(rights: Rights | None, vault: str) -> bool:
    return not HIDE.get() and (rights is None or rights.folders(vault) is None)


def _daemon(daemon: JSON) -> JSON:
    """Return the daemon's part of a status, without fields that depend on other people's notes."""
    worker = daemon["worker"]
    return {
        **dict.fromkeys(daemon),
        **_pick(daemon, "version", "uptime_seconds"),
        "pid": 0,
        "memory_bytes": 0,
        "config": None,
        "socket": "",
        "addresses": {},
        "worker": {**_pick(worker, "status", "model", "computing", "sends"), **general_json(worker)},
    }


def _pick(answer: JSON, *keys: str) -> JSON:
    """Return only the fields ``keys`` of an answer, so that new fields are private by default."""
    return {key: answer[key] for key in keys}
