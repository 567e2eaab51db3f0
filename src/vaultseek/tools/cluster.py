"""Embedding on a Ray cluster, which is already running or is started on this machine for this purpose.

`embed_on` sends the daemon's texts to tasks on the cluster, which run `embed_texts`, and passes the vectors
to the daemon.
"""

import logging
import os
import platform
import secrets
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from vaultseek import __version__
from vaultseek.base.extras import require_extra
from vaultseek.base.text import one_line
from vaultseek.errors import ConfigError, Unavailable, UsageError, WorkerUnavailable
from vaultseek.semantic.inference import embed
from vaultseek.semantic.inference.bert import BertEncoder
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.models.encoder import Encoder

LOCAL = "local"
"""Address that stands for a cluster started on this machine."""
BATCH_TEXTS = 64
"""Number of texts per task; a processor needs about a second for them."""
QUEUED_BATCHES = 2
"""Number of batches per processor of the cluster: one that is being embedded and one that is waiting."""
QUEUED_BATCHES_IN_ALL = 4096
"""Maximum number of unfinished batches; their texts are kept in this process's memory."""
STALLED_SECONDS = 300.0
"""Seconds without a result, while batches are unfinished, after which the embedding fails."""
RETRIES = 3
"""Maximum number of times that Ray retries a task after its worker has ended."""
STORE_BYTES = 128 * 2**20
"""Bytes of memory for a local cluster's objects: the texts and vectors of a few seconds of work."""
CONNECT_SECONDS = 10.0
SLOW_START_SECONDS = 10.0
"""Minimum duration, in seconds, of failed starts that are retried because they were only slow. Ray gives up
after 30 s, which is too short on a busy machine."""
FAILED_STARTS = 2
"""Number of failures within SLOW_START_SECONDS after which starting a local cluster is given up."""
CLIENT_PORT = 10001
"""Default port for ``ray://`` addresses."""
_CLIENT = "ray://"
_POLL_SECONDS = 0.2
_ERROR_CHARS = 300
Texts = Mapping[str, str]
"""Texts by key."""
NewVectors = Mapping[str, Any]
"""Vectors by the keys of their texts; texts that failed are missing."""


def checked_address(address: str) -> str:
    """Return the address of a cluster in the form that Ray expects.

    Raises ConfigError if Ray is not installed, UsageError if the address is invalid, and Unavailable if no
    program listens there.
    """
    require_extra("ray", "a Ray cluster")
    if address == LOCAL:
        return address
    scheme = _CLIENT if address.startswith(_CLIENT) else ""
    host, colon, port = address.removeprefix(scheme).rpartition(":")
    if scheme and not colon:
        host, port = port, str(CLIENT_PORT)
    if not host or "/" in host or not (port.isdecimal() and 0 < int(port) < 65536):
        raise UsageError(f"{address!r} is not a Ray address; use local, HOST:PORT or ray://HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise Unavailable(
            f"no Ray cluster answers at {address} ({error.strerror or 'no answer'}); start one with"
            " `ray start --head`, or use `--ray local`"
        ) from None
    return f"{scheme}{host}:{port}"


@contextmanager
def connected(
    address: str,
    model: str,
    fingerprint: str,
    *,
    is_over: Callable[[], bool] = lambda: False,
    say: Callable[[str], object] = lambda text: None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator["RayCluster"]:
    """Connect to the cluster at an address from ``checked_address``, and disconnect at the end of the
    context.

    A local cluster that starts too slowly is restarted until ``is_over`` returns True; restarts are reported
    with ``say``. Raises Unavailable.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage data to Ray's developers
    with ExitStack() as stack:
        options: dict[str, Any] = {"address": address}
        if address == LOCAL:
            folder = tempfile.TemporaryDirectory(prefix="vs-ray-", ignore_cleanup_errors=True)
            os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
            options |= {
                "object_store_memory": STORE_BYTES,
                "include_dashboard": False,
                "_temp_dir": stack.enter_context(folder),
            }
        import ray

        stack.callback(ray.shutdown)
        failed = 0
        while True:
            began = clock()
            try:
                with _interrupts_deferred():
                    ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
                break
            except Exception as error:  # Ray has no exception class for a start that takes too long
                ray.shutdown()
                seconds = clock() - began
                failed += seconds < SLOW_START_SECONDS
                if address != LOCAL or failed == FAILED_STARTS or is_over():
                    text = f"the Ray cluster at {address} cannot be used: {_line(error)}"
                    raise Unavailable(text) from None
                say(
                    f"Ray did not start within {seconds:.0f} s and is being restarted; "
                    "the daemon embeds the notes until then"
                )
        yield RayCluster(ray, model, fingerprint)


def embed_on(
    cluster: "RayCluster",
    take: Callable[[int], Texts],
    keep: Callable[[NewVectors], None],
    is_over: Callable[[], bool],
    *,
    stalled_seconds: float = STALLED_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Embed texts from ``take`` on the cluster until ``is_over`` returns True; return the number of vectors.

    Only as many texts are taken as the cluster can embed soon; ``keep`` is called with the vectors. Raises
    Unavailable if the cluster is gone, cannot embed these texts, or returns nothing for ``stalled_seconds``.
    """
    embedded, in_flight, last_result = 0, 0, clock()
    while not is_over():
        room = min(QUEUED_BATCHES_IN_ALL, QUEUED_BATCHES * max(1, cluster.processors())) - in_flight
        texts = list(take(room * BATCH_TEXTS).items()) if room > 0 else []
        for start in range(0, len(texts), BATCH_TEXTS):
            cluster.submit(dict(texts[start : start + BATCH_TEXTS]))
            in_flight += 1
        results = cluster.results(_POLL_SECONDS)
        for vectors in results:
            in_flight -= 1
            embedded += len(vectors)
            keep(vectors)
        if results or not in_flight:
            last_result = clock()
        elif clock() - last_result > stalled_seconds:
            raise Unavailable(f"the cluster has been silent for {stalled_seconds:.0f} s; see its log")
    return embedded


class RayCluster:
    """The workers of a Ray cluster, for one model. All methods raise Unavailable if the cluster is gone."""

    def __init__(self, ray: Any, model: str, fingerprint: str) -> None:
        self._ray = ray
        self._task = ray.remote(embed_texts).options(num_cpus=1, max_retries=RETRIES)
        self._model = (__version__, model, fingerprint)
        self._batches: dict[Any, Texts] = {}

    def processors(self) -> int:
        """Return the number of processors in the cluster; 0 while it has no worker."""
        with _translated(self._ray):
            return int(self._ray.cluster_resources().get("CPU", 0))

    def submit(self, batch: Texts) -> None:
        """Send a batch to a worker, and to another worker if the first one ends without an answer."""
        with _translated(self._ray):
            self._batches[self._task.remote(*self._model, list(batch.values()))] = batch

    def results(self, seconds: float) -> list[NewVectors]:
        """Return the vectors of each finished batch, after waiting for at most ``seconds``."""
        with _translated(self._ray):
            if not self._batches:
                time.sleep(seconds)
                return []
            done, rest = self._ray.wait(list(self._batches), num_returns=1, timeout=seconds)
            if done and rest:
                done += self._ray.wait(rest, num_returns=len(rest), timeout=0)[0]
            return [self._vectors(reference) for reference in done]

    def _vectors(self, reference: Any) -> NewVectors:
        batch = self._batches.pop(reference)
        lost = self._ray.exceptions
        try:
            answer = self._ray.get(reference)
        except (lost.WorkerCrashedError, lost.OutOfMemoryError, lost.NodeDiedError, lost.ObjectLostError):
            return {}
        if "refusal" in answer:
            raise Unavailable(str(answer["refusal"]))
        rows = zip(batch, answer["vectors"], strict=True)
        return {key: row for place, (key, row) in enumerate(rows) if place not in answer["failed"]}


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Defer Ctrl-C until the end of the context, because it would make Ray crash while connecting."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if interrupts:
            raise KeyboardInterrupt


@contextmanager
def _translated(ray: Any) -> Iterator[None]:
    """Raise Unavailable in place of Ray's errors."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        raise Unavailable(
            f"a worker in the cluster cannot run vaultseek: {_line(error)};"
            f" every machine in the cluster needs vaultseek {__version__}"
        ) from None
    except (ray.exceptions.RayError, OSError, RuntimeError, ValueError, AssertionError) as error:
        raise Unavailable(f"the Ray cluster is gone: {_line(error)}") from None


def _line(error: BaseException) -> str:
    """Return the last line of an error's text, which contains the cause."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return one_line(lines[-1] if lines else type(error).__name__, _ERROR_CHARS)


def embed_texts(version: str, model: str, fingerprint: str, texts: Sequence[str]) -> dict[str, Any]:
    """Embed texts on a machine in the cluster, if its versions of vaultseek and of the model match the
    daemon's.

    Returns ``vectors``, one for each text, and ``failed``, the indices of texts without a vector; or a
    ``refusal`` that explains why this machine cannot embed the texts. The vectors agree to six digits with
    those of the daemon's own worker.
    """
    here = f"the worker {platform.node()}"
    if version != __version__:
        advice = f"install {version} there, the version on this machine"
        return {"refusal": f"{here} has vaultseek {__version__}; {advice}"}
    try:
        own, encoder = _model(model)
    except (ConfigError, WorkerUnavailable, OSError) as error:
        return {"refusal": f"{here} cannot load the model {model}: {error}"}
    if own != fingerprint:
        other = f"{here} has a different model under the name {model} ({own}, not {fingerprint})"
        return {"refusal": f"{other}; install the same model there"}
    embedded = embed.embed(encoder, texts)
    failed = {place for place, _ in embedded.failed}
    return {"vectors": np.asarray(embedded.vectors, np.float32), "failed": failed}


@lru_cache(maxsize=1)
def _model(name: str) -> tuple[str, Encoder]:
    """Load the model once per process. It uses one processor, because Ray runs a task on each processor."""
    found = find_model(name)
    encoder = embed.load(found.name, found.directory)
    if isinstance(encoder, BertEncoder):
        encoder.processors = 1
    return found.fingerprint, encoder
