"""Embedding and reranking by a server, through the class of LlamaIndex that the settings name.

A server is slow, busy or gone at times. So every call has a timeout, background work is retried with
growing pauses, and while the server is gone further calls fail at once, so that no search waits for it. When
a text is refused, a harmless one shows whether the server refuses everything.
"""

import contextlib
import importlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaultseek.base import limits, paths
from vaultseek.base.extras import require_extra
from vaultseek.base.text import one_line
from vaultseek.errors import ConfigError, WorkerUnavailable
from vaultseek.semantic.inference.bert_pairs import Batch
from vaultseek.semantic.inference.masking import MASK
from vaultseek.semantic.models.answer_bounds import AnswerRefused, bounded_answer
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.models.service import Service

RETRY_PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Pauses between attempts of background work."""
DOWN_SECONDS = (1.0, 2.0, 5.0, 15.0, 30.0)
"""Times for which a server that failed is not called again; the last one repeats."""
QUERY_SECONDS = 3.0
"""Timeout of a call for a question, because a search waits for it."""
WORK_SECONDS = 60.0
"""Time after which background work ends and is resumed later; what was computed is kept."""
SAME_MODEL = 0.99
"""Least cosine of two vectors of one text by the same model."""
PROBE = "A few plain words."
_NO_VECTOR = "it gave zeros, or numbers that are not finite, instead of a vector"
_CALLS = 4
_ERROR_CHARS = 200
_TEXT_STATUSES = frozenset([400, 413, 422])
_SERVER_STATUSES = frozenset([401, 403, 429])
log = logging.getLogger(__name__)


class Server:
    """A server behind an object of the class that the settings name; safe to use from several threads."""

    def __init__(self, service: Service, base: str) -> None:
        """``base`` is the class of LlamaIndex that the object's class has to be derived from."""
        if service.fault:
            raise ConfigError(service.fault)
        require_extra("llama", "a server of your own")
        self.service = service
        self._class = _class_of(service.class_name, base)
        self._object: Any = None
        self._is_stale = True
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(_CALLS, thread_name_prefix="served")
        self._failures = 0
        self._down_until = 0.0
        self._reason = ""
        try:
            self._within(lambda made: made, QUERY_SECONDS, limits.SERVED_ANSWER_BYTES)
        except ConfigError:
            raise
        except Exception as error:  # some classes call their server here
            log.info("%s is not made yet: %s", service.name, self.line(error))

    @property
    def where(self) -> str:
        """The address of the server, as far as it is known, in words."""
        address = self.service.address or next(filter(None, map(self._attribute, _ADDRESSES)), None)
        return f"by {self.service.name}" + (f" at {address}" if address else "")

    def ask(
        self, call: Callable[[Any], Any], seconds: float, most_bytes: int, attempts: Sequence[float] = ()
    ) -> Any:
        """Return what ``call`` makes of the object within ``seconds``; ``attempts`` are pauses before others.

        Raises WorkerUnavailable at once while the server is gone, and for an answer of more than
        ``most_bytes`` or a redirect; otherwise what the last attempt raised; `trip_breaker` is for a server
        that failed.
        """
        if time.monotonic() < self._down_until:
            raise WorkerUnavailable(self._reason)
        end = time.monotonic() + WORK_SECONDS / 2
        for pause in (*attempts, None):
            try:
                answer = self._within(call, seconds, most_bytes)
            except AnswerRefused as error:
                raise self.trip_breaker(error) from None
            except Exception as error:
                if pause is None or not is_transient(error) or time.monotonic() > end:
                    raise
                time.sleep(pause)
                continue
            self._failures = 0
            return answer
        raise AssertionError

    def trip_breaker(self, error: BaseException) -> WorkerUnavailable:
        """Return the error for a failed server, which is not called again for a while."""
        if isinstance(error, WorkerUnavailable):
            return error
        seconds = DOWN_SECONDS[min(self._failures, len(DOWN_SECONDS) - 1)]
        self._failures += 1
        self._reason = f"the server does not answer ({self.where}): {self.line(error)}"
        self._down_until = time.monotonic() + seconds
        self._is_stale = True  # made again, with the key as it is then
        log.warning("%s", self._reason)
        return WorkerUnavailable(self._reason)

    def line(self, error: BaseException) -> str:
        """Return an error as one line without the key."""
        text = str(error) or type(error).__name__
        if isinstance(error, TimeoutError):
            text = "it took too long"
        return one_line(MASK.text(text), _ERROR_CHARS)

    def _within(self, call: Callable[[Any], Any], seconds: float, most_bytes: int) -> Any:
        def bounded() -> Any:
            with bounded_answer(most_bytes, seconds):
                return call(self._instance())

        # A late call is not waited for; it ends by itself.
        task: Future[Any] = self._threads.submit(bounded)
        try:
            return task.result(seconds)
        except TimeoutError:
            task.cancel()
            raise

    def _instance(self) -> Any:
        with self._lock:
            if self._is_stale:
                self._object = self._make()
                self._is_stale = False
            return self._object

    def _make(self) -> Any:
        options = self.service.arguments
        for password in self.service.passwords:
            MASK.add(password)
        key = self.service.key()
        if key is not None:
            MASK.add(key)
            options[self.service.key_option] = key
        if "max_retries" in getattr(self._class, "model_fields", ()):
            # Calls are retried here, within a time limit, and the last error is reported.
            options.setdefault("max_retries", 0)
        try:
            return self._class(**options)
        except (TypeError, ValueError, AttributeError) as error:
            message = f"{self.service.name} cannot be made with these options: {self.line(error)}"
            raise ConfigError(message) from None

    def _attribute(self, name: str) -> str | None:
        value = getattr(self._object, name, None)
        return Service("a.b", json.dumps({"url": str(value)})).address if value else None


class ServedEncoder:
    """An embedding model behind a server. ``file`` keeps a vector by which the same model is recognized."""

    def __init__(self, service: Service, file: Path | None = None) -> None:
        self.fingerprint = service.fingerprint
        self.window = service.window
        self._service = service
        self._file = file or paths.state_directory() / f"{service.fingerprint}.json"
        self._server = Server(service, "llama_index.core.base.embeddings.base.BaseEmbedding")
        self._probe: Vectors | None = None
        self._verified = False
        self._verifying = threading.Lock()
        self._embedded: dict[str, Vectors] = {}

    @property
    def computing(self) -> str:
        """The way that vectors are computed, in words."""
        return self._server.where

    @property
    def dimension(self) -> int:
        """The length of a vector. Raises WorkerUnavailable until the server has answered once."""
        self._verify_model()
        assert self._probe is not None
        return len(self._probe)

    def encode(
        self, texts: Sequence[str], *, query: bool = False, pause: Callable[[], None] | None = None
    ) -> Vectors:
        """See `Encoder.encode`. Raises WorkerUnavailable if the server is gone, ValueError for a bad text."""
        self._verify_model()
        if query or pause is None:
            return self._vectors(texts, query, QUERY_SECONDS, ())
        for batch in self._batches(texts):
            pause()
            rows = self._vectors(batch, False, self._service.seconds, RETRY_PAUSES)
            self._embedded |= zip(batch, rows, strict=True)
        vectors = np.stack([self._embedded[text] for text in texts])
        self._embedded.clear()
        return vectors

    def _batches(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield batches of the texts that are not embedded yet. Raises WorkerUnavailable if it takes long."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._embedded]
        end = time.monotonic() + WORK_SECONDS
        for start in range(0, len(missing), self._service.batch):
            if time.monotonic() > end:
                raise WorkerUnavailable(
                    f"the server is slow ({self._server.where}); it goes on with the rest"
                )
            yield missing[start : start + self._service.batch]

    def _vectors(
        self, texts: Sequence[str], query: bool, seconds: float, attempts: Sequence[float]
    ) -> Vectors:
        """Return unit vectors. In the background, a text at fault fails before and after a harmless one.

        Raises ValueError if a text is at fault, WorkerUnavailable if the server is.
        """
        for pauses in (attempts, ()) if attempts else ((),):
            try:
                vectors = self._unit(self._ask(texts, query, seconds, pauses), len(texts))
                if np.isfinite(vectors).all():
                    return vectors
                failure: Exception = ValueError(_NO_VECTOR)
                is_of_text = True
            except WorkerUnavailable:
                raise
            except Exception as error:
                failure, status = error, status_of(error)
                is_of_text = status not in _SERVER_STATUSES if attempts else status in _TEXT_STATUSES
            if not is_of_text or (attempts and not self._is_serving()):
                raise self._server.trip_breaker(failure) from None
        raise ValueError(self._server.line(failure)) from None

    def _ask(self, texts: Sequence[str], query: bool, seconds: float, attempts: Sequence[float] = ()) -> Any:
        """Return the server's answer, limited to the size of so many vectors; see `Server.ask`."""
        dimension = limits.SERVED_DIMENSION if self._probe is None else len(self._probe)
        most_bytes = _answer_bytes(texts, dimension)
        return self._server.ask(_calling(texts, query), seconds, most_bytes, attempts)

    def _is_serving(self) -> bool:
        """True if the server embeds a harmless text as before, so that another one is at fault."""
        try:
            probe = self._unit(self._ask([PROBE], False, QUERY_SECONDS), 1)[0]
        except Exception:
            return False
        return self._probe is not None and float(self._probe @ probe) >= SAME_MODEL

    def _unit(self, rows: Any, count: int) -> Vectors:
        """Return the server's vectors at length 1. Raises if they are not as many or as long as they were."""
        try:
            vectors = np.asarray(rows, dtype=np.float32).reshape(count, -1)
        except (TypeError, ValueError):
            raise WorkerUnavailable(f"the server gave no {count} vectors; check that it embeds") from None
        if self._probe is not None and vectors.shape[1] != len(self._probe):
            raise WorkerUnavailable(self._changed(f"of {vectors.shape[1]} numbers"))
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = np.divide(vectors, lengths, out=np.full_like(vectors, np.nan), where=lengths > 0)
        return unit

    def _verify_model(self) -> None:
        """Check once that the server has the same model as before; the first time, record it."""
        with self._verifying:
            if self._verified:
                return
            before = self._recorded_probe()
            try:
                rows = self._ask([PROBE], False, QUERY_SECONDS)
            except Exception as error:
                raise self._server.trip_breaker(error) from None
            probe = self._unit(rows, 1)[0]
            if not np.isfinite(probe).all() or not len(probe):
                raise self._server.trip_breaker(ValueError(f"{_NO_VECTOR}; check its model"))
            if before is None:
                with contextlib.suppress(OSError):
                    paths.private_directory(self._file.parent)
                    paths.write_atomically(self._file, json.dumps({"probe": probe.tolist()}))
            elif before.shape != probe.shape or float(before @ probe) < SAME_MODEL:
                raise WorkerUnavailable(self._changed("of another model"))
            self._probe, self._verified = probe, True

    def _changed(self, vectors: str) -> str:
        return (
            f"the server now gives vectors {vectors} ({self._server.where}); go back to the model before, "
            "or set another model.revision, which embeds everything again"
        )

    def _recorded_probe(self) -> Vectors | None:
        try:
            probe = np.asarray(paths.read_json(self._file)["probe"], dtype=np.float32)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return probe if probe.ndim == 1 and probe.size else None


class ServedReranker:
    """A reranker behind a server: one of LlamaIndex's node postprocessors."""

    threads = 1
    all_at_once = True

    def __init__(self, service: Service) -> None:
        self._server = Server(service, "llama_index.core.postprocessor.types.BaseNodePostprocessor")

    def batches(self, query: str, texts: Sequence[str]) -> list[Batch]:
        """Return one part: the server gets all texts at once."""
        return [Batch(list(range(len(texts))), lambda: self._scores(query, list(texts)))]

    def _scores(self, query: str, texts: list[str]) -> NDArray[np.float32]:
        """Return the scores, in (0, 1); those of texts that the server left out are 0."""
        try:
            pairs = self._server.ask(
                lambda model: _reranked(model, query, texts),
                self._server.service.seconds,
                _answer_bytes(texts, 1),
            )
        except Exception as error:
            raise self._server.trip_breaker(error) from None
        scores = np.full(len(texts), -np.inf, dtype=np.float64)
        for position, value in pairs:
            scores[position] = value
        present = np.isfinite(scores)
        if (scores[present] < 0).any() or (scores[present] > 1).any():
            scores[present] = 1 / (1 + np.exp(-scores[present]))
        return np.where(present, scores, 0.0).astype(np.float32)


def _reranked(model: Any, query: str, texts: list[str]) -> list[tuple[int, float]]:
    """Return position and score of the texts that the postprocessor returned."""
    from llama_index.core.schema import NodeWithScore, TextNode

    if hasattr(model, "top_n"):
        model.top_n = len(texts)
    nodes = [NodeWithScore(node=TextNode(text=text, id_=str(i)), score=0.0) for i, text in enumerate(texts)]
    answer = model.postprocess_nodes(nodes, query_str=query)
    return [(int(each.node.node_id), float(each.score)) for each in answer if each.score is not None]


def _answer_bytes(texts: Sequence[str], numbers: int) -> int:
    """Return the most bytes of an answer with so many numbers for each text, which may repeat the texts."""
    repeated = sum(len(json.dumps(text)) for text in texts)
    return limits.SERVED_ANSWER_BYTES + repeated + len(texts) * numbers * limits.SERVED_NUMBER_BYTES


def _calling(texts: Sequence[str], query: bool) -> Callable[[Any], Any]:
    if query:
        return lambda model: [model.get_query_embedding(text) for text in texts]

    def call(model: Any) -> Any:
        model.embed_batch_size = max(len(texts), 1)
        return model.get_text_embedding_batch(list(texts))

    return call


def _class_of(path: str, base: str) -> Any:
    """Return the class at a dotted path. Raises ConfigError if it is missing or of another kind."""
    module, _, name = path.rpartition(".")
    try:
        kind = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"there is no module {error.name}; {_advice(path)}") from None
    except Exception as error:  # a module may raise anything
        raise ConfigError(f"{path} cannot be imported: {one_line(str(error), _ERROR_CHARS)}") from None
    parent_module, _, parent = base.rpartition(".")
    if not isinstance(kind, type) or not issubclass(
        kind, getattr(importlib.import_module(parent_module), parent)
    ):
        raise ConfigError(f"{path} is not derived from LlamaIndex's {parent}; set another class")
    return kind


def _advice(path: str) -> str:
    parts = path.split(".")
    if parts[0] == "llama_index" and len(parts) > 3:
        package = "-".join(["llama-index", *parts[1:3]]).replace("_", "-")
        return f"`pip install {package}` where vaultseek is installed, then restart the daemon"
    return "install the package that has it where vaultseek is installed"


_ADDRESSES = ("base_url", "api_base", "azure_endpoint", "endpoint", "url")


_TRANSIENT = frozenset([408, 409, 425, 429])


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status in an error of any library; None if it has none."""
    for each in _chain(error):
        for holder in (each, getattr(each, "response", None)):
            status = getattr(holder, "status_code", None) or getattr(holder, "status", None)
            if isinstance(status, int):
                return status
    return None


def is_transient(error: BaseException) -> bool:
    """True if another attempt may succeed: the server is busy or broken, or the way to it is."""
    status = status_of(error)
    return not isinstance(error, ConfigError) and (
        status is None or status in _TRANSIENT or status >= 500 or status < 400
    )
