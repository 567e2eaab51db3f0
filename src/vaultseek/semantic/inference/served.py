"""Embedding and reranking by a server with an API like OpenAI's: ``POST /embeddings`` and ``POST /rerank``.

Ollama, TEI, vLLM, LM Studio and llama.cpp have this API. A server may be slow, busy, gone or hostile. So
every call has a deadline, every answer is limited in size, and no redirect is followed. A server that failed
is not called for a while, so that no search waits for it; callers retry background work. When a text is
refused, a harmless text is sent to see whether the server refuses everything.
"""

import asyncio
import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from vaultseek.base import limits, paths
from vaultseek.base.model import JSON
from vaultseek.base.text import one_line
from vaultseek.errors import ConfigError, WorkerUnavailable
from vaultseek.semantic.inference.bert_pairs import Batch
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.models.service import Service

DOWN_SECONDS = (1.0, 2.0, 5.0, 15.0, 30.0)
"""Pauses in seconds before a failed server is called again, one per consecutive failure; the last pause
repeats."""
QUERY_SECONDS = 3.0
"""Timeout, in seconds, for a call that embeds a question. It is short, because a search waits for the
answer."""
WORK_SECONDS = 60.0
"""Number of seconds after which a round of background work ends. Vectors computed so far are kept, and the
rest is computed later."""
SAME_MODEL = 0.99
"""Minimum cosine between a text's recorded vector and its current vector for the model to count as
unchanged."""
PROBE = "A few plain words."
_ERROR_CHARS = 200
_TEXT_STATUSES = frozenset([400, 413, 422])
_SERVER_STATUSES = frozenset([401, 403, 408, 425, 429, 502, 503, 504])
_Read = Callable[[Any], NDArray[Any]]
log = logging.getLogger(__name__)


class CallFailed(Exception):
    """Raised for a call without a usable answer; ``status`` is the HTTP status, or None if there was no
    response."""

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(one_line(text, _ERROR_CHARS))
        self.status = status


class Server:
    """A server that several threads may call."""

    def __init__(self, service: Service) -> None:
        if service.fault:
            raise ConfigError(service.fault)
        service.key()
        self.where = f"{service.model or 'a model'} at {service.url}"
        self._service = service
        self._loop, self._client = _calls()
        self._failures = 0
        self._down_until = 0.0
        self._reason = ""

    def ask(self, path: str, body: JSON, seconds: float, numbers: int, read: _Read) -> NDArray[Any]:
        """Return the value that ``read`` extracts from the server's answer.

        ``numbers``, the expected count of numbers in the answer, limits the answer's size. Raises
        WorkerUnavailable at once while the server is known to be down, and CallFailed if the answer is
        unusable; callers report a failed server with `trip_breaker`.
        """
        if time.monotonic() < self._down_until:
            raise WorkerUnavailable(self._reason)
        data = json.dumps({**body, "model": self._service.model} if self._service.model else body).encode()
        # Some servers repeat the texts in their answer.
        most_bytes = limits.SERVED_ANSWER_BYTES + len(data) + numbers * limits.SERVED_NUMBER_BYTES
        call = self._post(self._service.url.rstrip("/") + path, data, seconds, most_bytes)
        answer = asyncio.run_coroutine_threadsafe(call, self._loop).result()
        try:
            array = read(answer)
        except (KeyError, IndexError, TypeError, ValueError, OverflowError):
            raise CallFailed(
                f"the answer to {path} has an unexpected form; check the server's address and model"
            ) from None
        self._failures = 0
        return array

    def trip_breaker(self, error: CallFailed) -> WorkerUnavailable:
        """Stop calling a failed server for a while, and return the error to raise."""
        self._down_until = time.monotonic() + DOWN_SECONDS[min(self._failures, len(DOWN_SECONDS) - 1)]
        self._failures += 1
        self._reason = f"the server does not answer ({self.where}): {error}"
        log.warning("%s", self._reason)
        return WorkerUnavailable(self._reason)

    async def _post(self, url: str, content: bytes, seconds: float, most_bytes: int) -> Any:
        data = bytearray()
        try:
            key = self._service.key()
            headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
            headers |= {"Authorization": f"Bearer {key}"} if key else {}
            async with (
                asyncio.timeout(seconds),
                self._client.stream("POST", url, content=content, headers=headers) as answer,
            ):
                if 300 <= (status := answer.status_code) < 400:
                    raise CallFailed("redirects to a different address are not followed", status)
                async for part in answer.aiter_raw():
                    data += part
                    if len(data) > most_bytes:
                        raise CallFailed(f"the answer has more than {most_bytes:,} bytes", status)
            if status == 200:
                return json.loads(data)
        except TimeoutError:
            raise CallFailed("the answer took too long") from None
        except (ConfigError, httpx.ConnectError, OSError) as error:
            raise CallFailed(str(error)) from None
        except httpx.HTTPError as error:  # its text may contain a header
            raise CallFailed(type(error).__name__) from None
        except (ValueError, RecursionError):
            raise CallFailed("the answer is not JSON; check the address") from None
        where = " (url is the part before /embeddings or /rerank, often with /v1)" if status == 404 else ""
        said = "" if key else f": {data.decode(errors='replace')}"  # the server might repeat the key
        raise CallFailed(f"{status}{where}{said}", status)


class ServedEncoder:
    """An embedding model on a server. ``file`` stores a vector that identifies the model."""

    def __init__(self, service: Service, file: Path | None = None) -> None:
        self.fingerprint = service.fingerprint
        self.window = service.window
        self._service = service
        self._file = file or paths.state_directory() / f"{service.fingerprint}.json"
        self._server = Server(service)
        self._probe: Vectors | None = None
        self._embedded: dict[str, Vectors] = {}

    @property
    def computing(self) -> str:
        """A human-readable description of how vectors are computed."""
        return self._server.where

    @property
    def dimension(self) -> int:
        """The dimension of the vectors. Raises WorkerUnavailable until the server has answered once."""
        return len(self._probe if self._probe is not None else self._verify_model())

    def encode(
        self, texts: Sequence[str], *, query: bool = False, pause: Callable[[], None] | None = None
    ) -> Vectors:
        """Embed texts; see `Encoder.encode`. Raises WorkerUnavailable if the server fails, and ValueError if
        a text is at fault."""
        if self._probe is None:
            self._verify_model()
        if query or pause is None:
            return self._vectors(texts, query=query)
        missing = [text for text in dict.fromkeys(texts) if text not in self._embedded]
        end = time.monotonic() + WORK_SECONDS
        for start in range(0, len(missing), self._service.batch):
            if time.monotonic() > end:
                raise WorkerUnavailable(
                    f"the server is slow ({self._server.where}); remaining text is embedded later"
                )
            pause()
            batch = missing[start : start + self._service.batch]
            self._embedded |= zip(batch, self._vectors(batch, in_background=True), strict=True)
        vectors = np.stack([self._embedded[text] for text in texts])
        self._embedded.clear()
        return vectors

    def _vectors(self, texts: Sequence[str], *, query: bool = False, in_background: bool = False) -> Vectors:
        """Return unit vectors. Raises ValueError if a text is the cause of a failure, and WorkerUnavailable
        if the server is.

        In background work, a text counts as the cause if the server can embed a harmless text.
        """
        for _ in range(2 if in_background else 1):
            try:
                return self._ask(texts, self._service.seconds if in_background else QUERY_SECONDS, query)
            except CallFailed as error:
                failure, status = error, error.status
            if status in _SERVER_STATUSES or (not in_background and status not in _TEXT_STATUSES):
                raise self._server.trip_breaker(failure)
            if in_background:
                self._verify_model()
        raise ValueError(str(failure))

    def _ask(self, texts: Sequence[str], seconds: float, query: bool = False) -> Vectors:
        """Return the server's vectors for ``texts``, scaled to length 1. Raises CallFailed."""
        prefix = self._service.query_prefix if query else self._service.text_prefix
        body = {"input": [prefix + text for text in texts]}
        dimension = limits.SERVED_DIMENSION if self._probe is None else len(self._probe)

        def read(answer: Any) -> Vectors:
            rows = {each["index"]: each["embedding"] for _, each in zip(texts, answer["data"], strict=True)}
            vectors = np.asarray([rows[place] for place in range(len(texts))], np.float32)
            return vectors.reshape(len(texts), -1 if self._probe is None else dimension)

        vectors = self._server.ask("/embeddings", body, seconds, len(texts) * dimension, read)
        with np.errstate(all="ignore"):
            unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        if not unit.size or not np.isfinite(unit).all():
            text = "the server returned zeros or non-finite numbers instead of a vector; check its model"
            raise CallFailed(text, HTTPStatus.UNPROCESSABLE_ENTITY)  # as if the server had refused the text
        return unit

    def _verify_model(self) -> Vectors:
        """Check that the server still has the same model, and return its vector for the check text. On first
        use, record this vector."""
        try:
            probe: Vectors = self._ask([PROBE], QUERY_SECONDS)[0]
        except CallFailed as error:
            raise self._server.trip_breaker(error) from None
        try:
            before = np.asarray(paths.read_json(self._file)["probe"], np.float32)
            if before.shape != probe.shape or float(before @ probe) < SAME_MODEL:
                advice = (
                    "go back to the previous model, or change model.revision, which embeds everything again"
                )
                raise WorkerUnavailable(
                    f"the server now has a different model ({self._server.where}); {advice}"
                )
        except (OSError, ValueError, TypeError, KeyError):  # no vector has been recorded yet
            with contextlib.suppress(OSError):
                paths.private_directory(self._file.parent)
                paths.write_atomically(self._file, json.dumps({"probe": probe.tolist()}))
        self._probe = probe
        return probe


class ServedReranker:
    """A reranker on a server. Each request uses the formats of both Cohere (``documents``) and TEI
    (``texts``)."""

    threads = 1
    all_at_once = True

    def __init__(self, service: Service) -> None:
        self._server = Server(service)
        self._seconds = service.seconds

    def batches(self, query: str, texts: Sequence[str]) -> list[Batch]:
        """Return a single batch, because the server gets all texts at once."""
        return [Batch(list(range(len(texts))), lambda: self._scores(query, list(texts)))]

    def _scores(self, query: str, texts: list[str]) -> NDArray[np.float32]:
        """Return the scores, in (0, 1); a text that the server left out gets 0."""
        body = {"query": query, "documents": texts, "texts": texts, "top_n": len(texts)}

        def read(answer: Any) -> NDArray[np.float64]:
            scores = np.full(len(texts), np.nan, np.float64)
            for each in answer["results"] if isinstance(answer, dict) else answer:
                score = each["relevance_score" if "relevance_score" in each else "score"]
                scores[range(len(texts))[each["index"]]] = score
            return scores

        try:
            scores = self._server.ask("/rerank", body, self._seconds, len(texts), read)
        except CallFailed as error:
            raise self._server.trip_breaker(error) from None
        present = np.isfinite(scores)
        if (scores[present] < 0).any() or (scores[present] > 1).any():
            scores[present] = 1 / (1 + np.exp(-np.clip(scores[present], -500, 500)))
        return np.where(present, scores, 0.0).astype(np.float32)


@cache
def _calls() -> tuple[asyncio.AbstractEventLoop, httpx.AsyncClient]:
    """Return the shared event loop, which cancels each call at its deadline, and the shared HTTP client."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="served", daemon=True).start()
    return loop, httpx.AsyncClient(follow_redirects=False, timeout=None)
