"""Access control before every method: permissions of tokens and agents, rate limits, and the audit log."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from vaultseek.base.model import JSON
from vaultseek.core.indexing.scoped_vault import general_json
from vaultseek.daemon.team.audit import AuditLog, entry_of
from vaultseek.daemon.team.grants import CURRENT_GRANT, Grant
from vaultseek.daemon.team.hidden import HIDE
from vaultseek.daemon.team.metrics import Metrics
from vaultseek.daemon.team.view import USED_VIEWS, ScopedFollower
from vaultseek.errors import Busy, Forbidden, Unavailable, VaultseekError
from vaultseek.protocol.wire.context import Handler, RequestContext
from vaultseek.settings.sections import TeamSettings
from vaultseek.store.ledger import Counts

ALLOWED = frozenset((
    "search", "search/all", "search/context", "search/why",
    "note/get", "note/related", "graph/neighbors", "complete",
    "links/outgoing", "links/backlinks", "links/unresolved", "links/unlinked",
    "vault/tags", "vault/properties", "vault/orphans", "vault/duplicates", "vault/list",
    "index/status", "$/schema",
))  # fmt: skip
"""Methods for tokens. All of them only read, and reach notes only through `Views`."""
FOR_AGENTS = ALLOWED | {
    "graph/overview", "graph/path", "graph/suggest", "vault/table", "vault/stale", "agents/given",
}  # fmt: skip
"""Methods for the user's agents while notes are hidden from them."""
NOT_FOR_AGENTS = frozenset(("agents/history", "agents/forget"))
"""Methods closed to agents: only the user may see and delete the record of their answers."""
TIMES = 3
"""Maximum attempts at an agent's request if notes become hidden during it."""
_SERVER_SETTINGS = {"rerank_model"}
"""Search settings that refer to something on the server."""


class AccessControl:
    """Admits all requests of the user, and requests of clients with a token that their rights allow.

    ``current`` returns a token's current rights, ``names`` the configured vaults that it may see, and
    ``counts`` the counts of the visible notes of a vault. ``hide`` returns what is hidden from agents, and
    raises ConfigError if the setting is invalid.
    """

    def __init__(
        self,
        settings: Callable[[], TeamSettings],
        current: Callable[[Grant], Awaitable[Grant]],
        names: Callable[[Grant], Collection[str]],
        counts: Callable[[str], Awaitable[Counts]],
        audit: AuditLog,
        hide: Callable[[], Awaitable[tuple[str, ...]]],
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._current = current
        self._names = names
        self._counts = counts
        self._audit = audit
        self._hide = hide
        self._metrics = metrics
        self._quotas = Quotas(clock)
        self._refusals = Refusals(clock)

    def guard(self, method: str, handler: Handler) -> Handler:
        """Return the handler of a method with access control added."""

        async def answer(params: JSON, context: RequestContext) -> Any:
            client = context.client
            if client.is_agent and method in NOT_FOR_AGENTS:
                raise Forbidden(f"{method} is for the user, not for agents; ask the user")
            if client.is_agent and client.grant is None and (hide := await self._hide()):
                before = HIDE.set(hide)
                try:
                    return await self._recorded(method, handler, params, context)
                finally:
                    HIDE.reset(before)
            if client.grant is None and self._metrics is None:
                return await handler(params, context)
            return await self._recorded(method, handler, params, context)

        return answer

    async def _recorded(self, method: str, handler: Handler, params: JSON, context: RequestContext) -> Any:
        grant = context.client.grant
        began, outcome, answer = time.perf_counter(), "ok", None
        asked = dict(params)
        try:
            if isinstance(grant, Grant):
                answer = await self._for_token(method, handler, grant, params, context)
            elif grant is None and HIDE.get():
                answer = await self._for_agent(method, handler, params, context)
            elif grant is None:
                answer = await handler(params, context)
            else:
                raise Forbidden("the rights of this connection are unknown; connect again")
            return answer
        except VaultseekError as error:
            outcome = error.code
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        except BaseException:
            outcome = "internal"
            raise
        finally:
            seconds = time.perf_counter() - began
            name = grant.name if isinstance(grant, Grant) else ""
            if self._metrics is not None:
                self._metrics.observe(name, method, outcome, seconds)
            if name:
                self._write(name, context.client.name, method, asked, outcome, seconds, answer)

    async def _for_token(
        self, method: str, handler: Handler, grant: Grant, params: JSON, context: RequestContext
    ) -> Any:
        grant = await self._current(grant)
        if method not in ALLOWED:
            raise Forbidden(
                f"{method} is not available to clients with a token; ask the server's administrator"
            )
        _refuse_waiting(params)
        with self._quotas.request(grant):
            before = CURRENT_GRANT.set(grant)
            try:
                return await self._redacted(method, await handler(params, context), grant)
            finally:
                CURRENT_GRANT.reset(before)

    async def _for_agent(self, method: str, handler: Handler, params: JSON, context: RequestContext) -> Any:
        if method not in FOR_AGENTS:
            raise Forbidden(f"{method} is not available to agents while [agents] hide is set; ask the user")
        if params.get("wait"):
            raise Forbidden("agents cannot request a comparison with the disk; leave 'wait' out")
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

    async def _redacted(self, method: str, answer: Any, grant: Grant | None) -> Any:
        """Return an answer about vaults, reduced to what a token or an agent may see."""
        if method == "vault/list":
            seen = [
                each
                for each in answer["vaults"]
                if grant is None or (each["from"] != "request" and grant.sees(each["name"]))
            ]
            return {"vaults": [await self._listed(each, grant) for each in seen]}
        if method == "index/status":
            names = None if grant is None else self._names(grant)
            seen = [each for each in answer["vaults"] if names is None or each["name"] in names]
            # The user's agents may see settings, but nothing that depends on the number of notes.
            own = _pick(answer["daemon"], "config", "socket", "addresses") if grant is None else {}
            return {
                "daemon": _daemon(answer["daemon"]) | own,
                "vaults": [await self._status(each, grant) for each in seen],
            }
        return answer

    async def _listed(self, vault: JSON, grant: Grant | None) -> JSON:
        if _sees_all(grant, vault["name"]):
            return vault
        return _pick(vault, "name", "path", "from", "state") | {
            "notes": (await self._visible(vault["name"])).notes
        }

    async def _status(self, vault: JSON, grant: Grant | None) -> JSON:
        """Return the status of a vault; for a part of one, with only the counts of visible notes."""
        if _sees_all(grant, vault["name"]):
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
            # A vault that cannot be opened has none.
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
        except VaultseekError:  # it is not open
            return Counts(0, 0, 0, 0)

    def _write(
        self, grant: str, client: str, method: str, params: JSON, outcome: str, seconds: float, answer: Any
    ) -> None:
        settings = self._settings()
        repeated = self._refusals.repeated(grant, method, outcome) if outcome in _REFUSED else 0
        if not settings.audit or repeated is None:
            return
        entry = {
            **entry_of(grant, client, method, params),
            "outcome": outcome,
            "ms": round(1000 * seconds, 1),
            **({"repeated": repeated} if repeated else {}),
        }
        if isinstance(answer, dict):
            entry |= {key: answer[key] for key in ("vault", "count", "path") if key in answer}
        query = params.get("query", params.get("text"))
        self._audit.write(entry, query if settings.audit_queries and isinstance(query, str) else None)


def _still_hide(views: list[ScopedFollower]) -> bool:
    return all(view.still_hides() for view in views)


def _sees_all(grant: Grant | None, vault: str) -> bool:
    return not HIDE.get() and (grant is None or grant.folders(vault) is None)


def _refuse_waiting(params: JSON) -> None:
    """Raise Forbidden for requests that cost more than a search, or that name files of the server."""
    if params.get("wait"):
        raise Forbidden("clients with a token cannot request a comparison with the disk; leave 'wait' out")
    settings = params.get("settings")
    named = {str(key).lower() for key in settings} if isinstance(settings, dict) else set()
    if refused := sorted(named & _SERVER_SETTINGS):
        raise Forbidden(f"{refused[0]} is set by the server's administrator; leave it out")


def _daemon(daemon: JSON) -> JSON:
    """Return the daemon's part of a status, without anything that depends on other people's notes."""
    worker = daemon["worker"]
    return {
        **_pick(daemon, "version", "uptime_seconds"),
        "pid": 0,
        "memory_bytes": 0,
        "config": None,
        "socket": "",
        "addresses": {},
        "shards_problem": None,
        "worker": {**_pick(worker, "status", "model", "computing", "sends"), **general_json(worker)},
    }


def _pick(answer: JSON, *keys: str) -> JSON:
    """Return only these fields of an answer, so that new fields are private by default."""
    return {key: answer[key] for key in keys}


# -- limits of a token


REFUSAL_SECONDS = 60.0
"""Seconds in which refused requests of one kind get only one line in the audit log."""
_REFUSED = (Busy.code, Forbidden.code)


class Refusals:
    """Counts refused requests, which cost a client little, so that they do not fill the audit log."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[tuple[str, str, str], tuple[float, int]] = {}

    def repeated(self, grant: str, method: str, outcome: str) -> int | None:
        """Return how many similar requests were not logged since the last logged one; None to skip this one
        too."""
        key, now = (grant, method, outcome), self._clock()
        since, count = self._seen.get(key, (now - REFUSAL_SECONDS, 0))
        if now - since < REFUSAL_SECONDS:
            self._seen[key] = since, count + 1
            return None
        self._seen[key] = now, 0
        return count


@dataclass(slots=True)
class _Usage:
    """The usage of a token: remaining requests, the time of that count, and requests in progress."""

    left: float
    since: float
    running: int = 0


class Quotas:
    """Limits the requests of each token with a token bucket that holds a minute's worth."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._usage: dict[str, _Usage] = {}

    @contextlib.contextmanager
    def request(self, grant: Grant) -> Iterator[None]:
        """Count a request while it runs. Raises Busy if the token has reached its limit."""
        most, now = grant.token.requests_per_minute, self._clock()
        use = self._usage.setdefault(grant.token.sha256, _Usage(most, now))
        use.left = min(most, use.left + (now - use.since) * most / 60)
        use.since = now
        if use.left < 1:
            raise Busy(f"more than {most} requests in a minute with this token; try again in a moment")
        if use.running >= grant.token.in_flight:
            raise Busy(
                f"{use.running} requests with this token are running; try again when one of them has finished"
            )
        use.left -= 1
        use.running += 1
        try:
            yield
        finally:
            use.running -= 1
