"""Health and metrics over HTTP: ``/health`` and, for Prometheus, ``/metrics``.

Imported only where they are wanted, because a server of HTTP takes long to import.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from vaultseek.daemon.team.metrics import Metrics
from vaultseek.protocol.wire.http import serving_http
from vaultseek.protocol.wire.loopback import listen

HEALTH, METRICS = "/health", "/metrics"


class _Answer(NamedTuple):
    """The answer to one request."""

    status: int
    kind: str
    body: bytes


@asynccontextmanager
async def serving_metrics(host: str, number: int, metrics: Metrics) -> AsyncIterator[None]:
    """Serve the ``metrics`` at this address for as long as the context lasts. Raises Unavailable."""
    # A thread of their own: the ledgers are read, and however many ask, searches have theirs.
    thread = ThreadPoolExecutor(1, "metrics")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(thread, _answer, metrics, scope["path"])
        headers = [
            (b"content-type", answer.kind.encode()),
            (b"content-length", str(len(answer.body)).encode()),
        ]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    try:
        async with serving_http(app, listen(host, number)):
            yield
    finally:
        thread.shutdown(wait=False, cancel_futures=True)


def _answer(metrics: Metrics, path: str) -> _Answer:
    if path == METRICS:
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return _Answer(200, CONTENT_TYPE_LATEST, generate_latest(metrics.registry))
    healthy, state = metrics.health() if path == HEALTH else (False, {"status": "not found"})
    status = 200 if healthy else 503 if path == HEALTH else 404
    return _Answer(status, "application/json", json.dumps(state).encode())
