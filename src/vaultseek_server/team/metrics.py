"""Request counts and vault states over HTTP: ``/health``, and ``/metrics`` for Prometheus."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from vaultseek.base.model import JSON
from vaultseek.protocol.wire.loopback import NAMES, is_of_this_machine, listen

HEALTH, METRICS = "/health", "/metrics"

_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """Request counts and the states of the vaults, in Prometheus' format.

    ``vaults`` returns a dictionary for each open vault: its name, its state, the numbers of notes, passages
    and waiting texts, and the kinds of search that work.
    """

    def __init__(self, vaults: Callable[[], Iterable[JSON]]) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram

        self.registry = CollectorRegistry()
        labels = ("token", "method", "outcome")
        self._requests = Counter(
            "vaultseek_requests", "Requests by token, method and outcome.", labels, registry=self.registry
        )
        self._seconds = Histogram(
            "vaultseek_request_seconds",
            "Time to answer a request.",
            ("method",),
            registry=self.registry,
            buckets=_BUCKETS,
        )
        self._vaults = vaults
        self.registry.register(self)

    def observe(self, token: str, method: str, outcome: str, seconds: float) -> None:
        """Count a request and record its duration. Requests by the user have no token."""
        self._requests.labels(token, method, outcome).inc()
        self._seconds.labels(method).observe(seconds)

    def describe(self) -> list[Any]:
        """Return an empty list, because the gauges are read only when they are collected."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield the gauges that describe the vaults."""
        from prometheus_client.core import GaugeMetricFamily

        vaults = list(self._vaults())
        for key, words in _GAUGES.items():
            gauge = GaugeMetricFamily(f"vaultseek_vault_{key}", words, labels=("vault",))
            for vault in vaults:
                gauge.add_metric((vault["name"],), vault[key])
            yield gauge
        up = GaugeMetricFamily(
            "vaultseek_lane_up", "1 if this kind of search works.", labels=("vault", "lane")
        )
        for vault in vaults:
            for lane, is_up in vault["lanes"].items():
                up.add_metric((vault["name"], lane), float(is_up))
        yield up

    def health(self) -> tuple[bool, JSON]:
        """Return two values: true if every vault can be searched, and the state of each vault."""
        vaults = {vault["name"]: vault for vault in self._vaults()}
        healthy = all(vault["lanes"].get("keyword") for vault in vaults.values())
        states = {name: {"state": vault["state"], "lanes": vault["lanes"]} for name, vault in vaults.items()}
        return healthy, {"status": "ok" if healthy else "degraded", "vaults": states}


_GAUGES = {
    "notes": "Notes in the index.",
    "chunks": "Passages in the index.",
    "pending": "Texts without a vector in the store.",
}


@asynccontextmanager
async def metrics_server(metrics: Metrics, host: str, number: int) -> AsyncIterator[None]:
    """Serve ``metrics`` at an address until the ``with`` block ends. Raises Unavailable."""
    from vaultseek.protocol.wire.http import serving_http  # importing an HTTP server is slow

    # A separate thread, because requests read the ledgers, and must not take threads from searches.
    thread = ThreadPoolExecutor(1, "metrics")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        loop = asyncio.get_running_loop()
        if (refusal := _refusal(scope, hosts)) is not None:
            status, kind, body = refusal, "text/plain", b""
        else:
            status, kind, body = await loop.run_in_executor(thread, _answer, metrics, scope["path"])
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    listening = listen(host, number)
    hosts = _own_hosts(host, listening.getsockname()[1])
    try:
        async with serving_http(app, listening):
            yield
    finally:
        thread.shutdown(wait=False, cancel_futures=True)


def _own_hosts(host: str, port: int) -> frozenset[bytes]:
    """Return the host names accepted in requests to an address on this machine; empty for other addresses.

    Without this restriction, a web page could point its own domain name at this machine and read the answer.
    """
    if not is_of_this_machine(host):
        return frozenset()
    names = (*NAMES, f"[{host}]" if ":" in host else host)
    return frozenset(f"{name}:{port}".encode() for name in names)


def _refusal(scope: Any, hosts: Collection[bytes]) -> int | None:
    """Return the HTTP status with which a request is refused; None if it is read-only and, if ``hosts`` is
    not empty, names one of ``hosts``."""
    named = [value.lower() for name, value in scope["headers"] if name == b"host"]
    if hosts and (len(named) != 1 or named[0] not in hosts):
        return 421
    return None if scope["method"] in ("GET", "HEAD") else 405


def _answer(metrics: Metrics, path: str) -> tuple[int, str, bytes]:
    if path == METRICS:
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return 200, CONTENT_TYPE_LATEST, generate_latest(metrics.registry)
    healthy, state = metrics.health() if path == HEALTH else (False, {"status": "not found"})
    status = 200 if healthy else 503 if path == HEALTH else 404
    return status, "application/json", json.dumps(state).encode()
