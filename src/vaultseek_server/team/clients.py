"""Clients of a team's server: the addresses for them, and the gate that admits their requests."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from vaultseek.base import paths
from vaultseek.base.model import JSON
from vaultseek.daemon.clients import Clients, authenticated
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.errors import Unavailable
from vaultseek.protocol.wire.context import Handler
from vaultseek.protocol.wire.loopback import is_of_this_machine, listen
from vaultseek.protocol.wire.server import Server
from vaultseek_server.settings import address_of, team_of
from vaultseek_server.team.audit import AuditLog
from vaultseek_server.team.gate import TokenGate
from vaultseek_server.team.grants import TeamVerifier
from vaultseek_server.team.metrics import Metrics, metrics_server

log = logging.getLogger(__name__)


class TeamClients(Clients):
    """Clients whose tokens are in the settings."""

    def __init__(self, registry: VaultRegistry, refresh: Callable[[], Awaitable[None]]) -> None:
        self._team = team_of(registry.settings)
        """The team's settings when the daemon started. Addresses do not change until the daemon restarts."""
        self._verifier = TeamVerifier(lambda: registry.settings, refresh)
        self._audit = AuditLog(paths.state_directory() / "audit.log")
        self._metrics = (
            Metrics(lambda: map(_vault_metrics, registry.followers)) if self._team.metrics else None
        )
        self._gate = TokenGate(
            lambda: team_of(registry.settings), self._verifier.current, self._audit, self._metrics
        )

    def guard(self, method: str, handler: Handler) -> Handler:
        """Return a handler for ``method`` that calls ``handler`` and also serves clients with a token."""
        return self._gate.guard(method, handler)

    @contextlib.asynccontextmanager
    async def served(self, server: Server, addresses: dict[str, str | None]) -> AsyncIterator[None]:
        """Accept clients with a token and serve metrics. Addresses that cannot be opened are skipped."""
        of_clients = partial(_accept, server, self._verifier)
        async with contextlib.AsyncExitStack() as servers:
            await servers.enter_async_context(_open_address(self._team.listen, of_clients, addresses))
            if self._metrics is not None:
                of_metrics = partial(metrics_server, self._metrics)
                await servers.enter_async_context(_open_address(self._team.metrics, of_metrics, addresses))
            yield

    def close(self) -> None:
        """Close the audit log."""
        self._audit.close()


@contextlib.asynccontextmanager
async def _open_address(
    text: str,
    serve_at: Callable[[str, int], contextlib.AbstractAsyncContextManager[None]],
    addresses: dict[str, str | None],
) -> AsyncIterator[None]:
    """Serve at an address from the settings; if that fails, continue without it. Record in ``addresses`` the
    reason for the failure, or None."""
    async with contextlib.AsyncExitStack() as stack:
        if (address := address_of(text)) is not None:
            try:
                await stack.enter_async_context(serve_at(*address))
                addresses[text] = None
            except Unavailable as error:
                log.error("%s", error)
                addresses[text] = str(error)
        yield


@contextlib.asynccontextmanager
async def _accept(server: Server, verifier: TeamVerifier, host: str, number: int) -> AsyncIterator[None]:
    with contextlib.closing(listen(host, number)) as listening:
        log.info("listening for team clients on %s:%d", host, number)
        if not is_of_this_machine(host):
            log.warning("%s:%d can be reached from other machines, without encryption", host, number)
        async with authenticated(server, listening, verifier):
            yield


def _vault_metrics(follower: VaultFollower) -> JSON:
    status = follower.status().as_json()
    lanes = {name: lane["up"] for name, lane in status["lanes"].items()}
    return {key: status[key] for key in ("name", "state", "notes", "chunks", "pending")} | {"lanes": lanes}
