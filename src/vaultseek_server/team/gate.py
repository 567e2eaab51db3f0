"""Requests from clients with a token: allowed methods, rate limits, audit log and metrics."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from vaultseek.base.model import JSON
from vaultseek.daemon.visible.gate import ALLOWED
from vaultseek.daemon.visible.rights import CURRENT_RIGHTS
from vaultseek.errors import Busy, Forbidden, VaultseekError
from vaultseek.protocol.wire.context import Handler, RequestContext
from vaultseek_server.settings import TeamSettings
from vaultseek_server.team.audit import AuditLog, entry_of
from vaultseek_server.team.grants import Grant
from vaultseek_server.team.metrics import Metrics

_SERVER_SETTINGS = {"rerank_model"}
"""Search settings that refer to files or models on the server."""


class TokenGate:
    """Gate that records requests, and admits those that the rights of a client's token allow.

    ``current`` returns a token's current rights.
    """

    def __init__(
        self,
        settings: Callable[[], TeamSettings],
        current: Callable[[Grant], Awaitable[Grant]],
        audit: AuditLog,
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._current = current
        self._audit = audit
        self._metrics = metrics
        self._quotas = Quotas(clock)
        self._refusals = Refusals(clock)

    def guard(self, method: str, handler: Handler) -> Handler:
        """Return a handler for ``method`` that calls ``handler`` and also serves clients with a token."""

        async def answer(params: JSON, context: RequestContext) -> Any:
            if context.client.grant is None and self._metrics is None:
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
            elif grant is None:
                answer = await handler(params, context)
            else:
                raise Forbidden("this connection's rights are unknown; connect again")
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
            before = CURRENT_RIGHTS.set(grant)
            try:
                return await handler(params, context)
            finally:
                CURRENT_RIGHTS.reset(before)

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


def _refuse_waiting(params: JSON) -> None:
    """Raise Forbidden for requests that cost more than a search, or that name files on the server."""
    if params.get("wait"):
        raise Forbidden("clients with a token cannot request a comparison with the disk; leave out 'wait'")
    settings = params.get("settings")
    named = {str(key).lower() for key in settings} if isinstance(settings, dict) else set()
    if refused := sorted(named & _SERVER_SETTINGS):
        raise Forbidden(f"{refused[0]} is set by the server's administrator; leave it out")


# -- limits of a token


REFUSAL_SECONDS = 60.0
"""Number of seconds during which similar refused requests get only one line in the audit log."""
_REFUSED = (Busy.code, Forbidden.code)


class Refusals:
    """Counts of refused requests. They keep such requests, which a client can send at little cost, from
    filling the audit log."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[tuple[str, str, str], tuple[float, int]] = {}

    def repeated(self, grant: str, method: str, outcome: str) -> int | None:
        """Return the number of similar requests left out of the log since the last logged one; None if this
        request should be left out as well."""
        key, now = (grant, method, outcome), self._clock()
        since, count = self._seen.get(key, (now - REFUSAL_SECONDS, 0))
        if now - since < REFUSAL_SECONDS:
            self._seen[key] = since, count + 1
            return None
        self._seen[key] = now, 0
        return count


@dataclass(slots=True)
class _Usage:
    """Usage of a token: the number of remaining requests, the time of that count, and the number of requests
    in progress."""

    left: float
    since: float
    running: int = 0


class Quotas:
    """Limits on the requests with each client's token. A bucket that holds one minute's requests limits the
    rate."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._usage: dict[str, _Usage] = {}

    @contextlib.contextmanager
    def request(self, grant: Grant) -> Iterator[None]:
        """Count a request while it runs. Raises Busy if the token has reached a limit."""
        most, now = grant.token.requests_per_minute, self._clock()
        use = self._usage.setdefault(grant.token.sha256, _Usage(most, now))
        use.left = min(most, use.left + (now - use.since) * most / 60)
        use.since = now
        if use.left < 1:
            raise Busy(f"this token has made more than {most} requests in a minute; try again in a moment")
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
