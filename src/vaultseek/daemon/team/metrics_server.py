"""Health and metrics over HTTP: ``/health`` and, for Prometheus, ``/metrics``.

They are served by a thread of their own, so that a monitor gets an answer while the daemon is busy. Imported
only where they are wanted, because a server of HTTP takes long to import.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from vaultseek.daemon.team.metrics import Metrics
from vaultseek.errors import Unavailable
from vaultseek.model import JSON

HEALTH, METRICS = "/health", "/metrics"


class MetricsServer:
    """The HTTP server of ``metrics``, from the start to `close`; ``number`` is its port."""

    def __init__(self, host: str, number: int, metrics: Metrics) -> None:
        from prometheus_client import make_wsgi_app

        exposition = make_wsgi_app(metrics.registry)

        def application(environ: JSON, start_response: Callable[..., Any]) -> Iterable[bytes]:
            path = environ.get("PATH_INFO", "")
            if path == METRICS:
                answer: Iterable[bytes] = exposition(environ, start_response)
                return answer
            healthy, state = metrics.health() if path == HEALTH else (False, {"status": "not found"})
            status = "200 OK" if healthy else "503 Service Unavailable" if path == HEALTH else "404 Not Found"
            start_response(status, [("Content-Type", "application/json")])
            return [json.dumps(state).encode()]

        try:
            self._http = make_server(host, number, application, WSGIServer, _Silent)
        except OSError as error:
            raise Unavailable(
                f"cannot listen on {host}:{number} for metrics: {error.strerror or error}; set team.metrics"
            ) from None
        self.number = self._http.server_port
        threading.Thread(target=self._http.serve_forever, name="metrics", daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._http.shutdown()
        self._http.server_close()


class _Silent(WSGIRequestHandler):
    timeout = 10.0

    def log_message(self, *_: Any) -> None:
        """Write nothing: a monitor asks every few seconds."""
