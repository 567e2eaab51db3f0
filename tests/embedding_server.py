"""A server that embeds and reranks over HTTP, and fails on demand."""

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from vaultseek.semantic.inference.embed import HashingEncoder

POISON = "poisonous"
"""A word in texts that the server refuses."""


class EmbeddingServer:
    """The server and its behaviour: ``status`` is its answer's status, ``seconds`` its delay."""

    def __init__(self, port: int = 0) -> None:
        self.status = 200
        self.seconds = 0.0
        self.failures = 0
        """Number of requests that fail with 503 before the next one succeeds."""
        self.zeros = 0
        """Number of requests that get zero vectors before the next one gets a good answer."""
        self.redirect = ""
        """The address to which every request is redirected."""
        self.endless = False
        """Send an endless answer."""
        self.drips = False
        """Send an endless answer one byte at a time."""
        self.drips_headers = False
        """Send endless headers one byte at a time."""
        self.always: Any = ...
        """The fixed answer to every request."""
        self.numbers_of: dict[str, float] = {}
        """For each word, the number that fills the vectors of texts that contain it."""
        self.sent = 0
        """Bytes sent of the last endless answer."""
        self.encoder = HashingEncoder(32)
        self.requests: list[int] = []
        """The number of texts in each request."""
        self.keys: set[str] = set()
        self.connections: list[socket.socket] = []
        handler = type("Handler", (_Handler,), {"owner": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.port = int(self._http.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Stop listening and close all connections; later clients are refused."""
        self._http.shutdown()
        self._http.server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def answer(self, path: str, body: Any) -> tuple[int, Any]:
        """Return the status and the answer to a request."""
        time.sleep(self.seconds)
        if self.failures:
            self.failures -= 1
            return 503, {"error": "busy"}
        texts = body.get("texts") or body.get("input") or []
        texts = [texts] if isinstance(texts, str) else texts
        self.requests.append(len(texts))
        if self.status != 200:
            return self.status, {"error": {"message": f"no, not with {sorted(self.keys)}"}}
        if self.always is not ...:
            return 200, self.always
        if any(POISON in text for text in texts):
            return 400, {"error": {"message": "this text is refused"}}
        if "rerank" in path:
            words = _words(body["query"])
            scores = [float(len(words & _words(text))) for text in texts]
            order = sorted(range(len(texts)), key=lambda i: -scores[i])
            if path.startswith("/v1"):
                return 200, {"results": [{"index": i, "relevance_score": scores[i]} for i in order]}
            return 200, [{"index": i, "score": scores[i]} for i in order]
        rows = [[round(value, 6) for value in row] for row in self.encoder.encode(texts).tolist()]
        if self.zeros:
            self.zeros -= 1
            rows = [[0.0] * len(row) for row in rows]
        for word, number in self.numbers_of.items():
            rows = [
                [number] * len(row) if word in text else row for text, row in zip(texts, rows, strict=True)
            ]
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)][::-1]
        return 200, {
            "object": "list",
            "model": "m",
            "data": data,
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


class _Handler(BaseHTTPRequestHandler):
    owner: EmbeddingServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.owner.connections.append(self.connection)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.owner.redirect:
            self.send_response(307)
            self.send_header("Location", self.owner.redirect + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.owner.endless or self.owner.drips or self.owner.drips_headers:
            self._answer_without_end()
            return
        self.owner.keys.add(self.headers.get("Authorization", "").removeprefix("Bearer "))
        status, answer = self.owner.answer(self.path, body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answer_without_end(self) -> None:
        self.owner.sent, self.close_connection = 0, True
        if not self.owner.drips_headers:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Connection", "close")
            self.end_headers()
        slow = self.owner.drips or self.owner.drips_headers
        part = b"HTTP/1.1 200 OK\r\nX-Long: " if self.owner.drips_headers else b" " * (1 if slow else 1 << 16)
        with contextlib.suppress(OSError):
            while self.owner.endless or self.owner.drips or self.owner.drips_headers:
                self.owner.sent += self.connection.send(part)
                part = part[-1:] if slow else part
                time.sleep(0.01 if slow else 0.0)

    def log_message(self, *_: Any) -> None:
        return None


@contextmanager
def embedding_server(port: int = 0) -> Iterator[EmbeddingServer]:
    """Yield a listening server, and stop it afterwards."""
    server = EmbeddingServer(port)
    try:
        yield server
    finally:
        server.stop()
