"""Ray as the cluster: one that runs, or one that is started on this machine for as long as the run takes."""

import logging
import os
import platform
import secrets
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
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
from vaultseek.tools.cluster.run import Batch, Result

LOCAL = "local"
"""The address that starts a cluster on this machine."""
RETRIES = 3
"""Times that Ray retries a task whose worker ended."""
STORE_BYTES = 128 * 2**20
"""Memory for objects of a cluster on this machine: texts and vectors of a few seconds."""
CONNECT_SECONDS = 10.0
STARTS = 2
"""Times that a cluster on this machine is started: a busy one may be too slow the first time."""
CLIENT_PORT = 10001
"""Port of ``ray://`` unless the address names one."""
_CLIENT = "ray://"
_ERROR_CHARS = 300


class RayCluster:
    """The workers of a Ray cluster, for one model; made by ``connected``."""

    def __init__(self, ray: Any, model: str, fingerprint: str) -> None:
        self._ray = ray
        self._task = ray.remote(embed_texts).options(num_cpus=1, max_retries=RETRIES)
        self._model = (__version__, model, fingerprint)
        self._batches: dict[Any, Batch] = {}

    def slots(self) -> int:
        """Return the number of processors of the cluster."""
        with _translated(self._ray):
            return int(self._ray.cluster_resources().get("CPU", 0))

    def submit(self, batch: Batch) -> None:
        """Give a batch to a worker, again if that ends before it has answered."""
        with _translated(self._ray):
            self._batches[self._task.remote(*self._model, list(batch.values()))] = batch

    def results(self, seconds: float) -> list[Result]:
        """Return the results that have come in, after ``seconds`` at the latest."""
        with _translated(self._ray):
            if not self._batches:
                time.sleep(seconds)
                return []
            done, rest = self._ray.wait(list(self._batches), num_returns=1, timeout=seconds)
            if done and rest:
                done += self._ray.wait(rest, num_returns=len(rest), timeout=0)[0]
            return [self._result(reference) for reference in done]

    def _result(self, reference: Any) -> Result:
        batch = self._batches.pop(reference)
        lost = self._ray.exceptions
        try:
            answer = self._ray.get(reference)
        except (lost.WorkerCrashedError, lost.OutOfMemoryError, lost.NodeDiedError, lost.ObjectLostError):
            return Result(batch, lost=True)
        if "refusal" in answer:
            raise Unavailable(str(answer["refusal"]))
        failed = set(answer["failed"])
        keys = list(batch)
        vectors = {key: answer["vectors"][place] for place, key in enumerate(keys) if place not in failed}
        return Result(batch, vectors, [keys[place] for place in failed])


def check_installed() -> None:
    """Raise ConfigError if Ray is not installed."""
    require_extra("ray", "a Ray cluster")


@contextmanager
def connected(address: str, model: str, fingerprint: str) -> Iterator[RayCluster]:
    """Connect to the cluster at ``address``, and disconnect when the context is left.

    The address is ``local``, ``host:port`` of a cluster that this machine belongs to, or ``ray://host:port``.
    Raises ConfigError, UsageError, or Unavailable if nothing answers there.
    """
    check_installed()
    place = _checked(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to Ray's makers
    with ExitStack() as stack:
        options: dict[str, Any] = {"address": place}
        if place == LOCAL:
            folder = tempfile.TemporaryDirectory(prefix="vs-ray-", ignore_cleanup_errors=True)
            os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
            options |= {
                "object_store_memory": STORE_BYTES,
                "include_dashboard": False,
                "_temp_dir": stack.enter_context(folder),
            }
        import ray

        with _interrupts_deferred():
            stack.callback(ray.shutdown)
            _initialize(ray, options, address)
        yield RayCluster(ray, model, fingerprint)


def _initialize(ray: Any, options: dict[str, Any], address: str) -> None:
    """Connect; a cluster on this machine that starts too slowly is started again. Raises Unavailable."""
    for left in reversed(range(STARTS if address == LOCAL else 1)):
        try:
            ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
            return
        except Exception as error:  # Ray has no class for a start that takes too long
            ray.shutdown()
            if not left:
                raise Unavailable(f"the Ray cluster at {address} cannot be used: {_line(error)}") from None


def _checked(address: str) -> str:
    """Return the address as Ray expects it. Raises UsageError, or Unavailable if nothing listens there."""
    if address == LOCAL:
        return address
    scheme = _CLIENT if address.startswith(_CLIENT) else ""
    host, colon, port = address.removeprefix(scheme).rpartition(":")
    if scheme and not colon:
        host, port = port, str(CLIENT_PORT)
    if not host or "/" in host or not (port.isdecimal() and 0 < int(port) < 65536):
        raise UsageError(f"{address!r} is no address of Ray; use local, HOST:PORT or ray://HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise Unavailable(
            f"no Ray cluster answers at {address} ({error.strerror or 'no answer'}); start one with"
            " `ray start --head`, or use `--ray local`"
        ) from None
    return f"{scheme}{host}:{port}"


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Defer Ctrl-C until the context is left: while connecting it makes Ray crash."""
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
            f"a worker of the cluster cannot run vaultseek: {_line(error)};"
            f" every machine of it needs vaultseek {__version__}"
        ) from None
    except (ray.exceptions.RayError, OSError, RuntimeError, ValueError, AssertionError) as error:
        raise Unavailable(f"the Ray cluster is gone: {_line(error)}") from None


def _line(error: BaseException) -> str:
    """Return the last line of the error, which names the cause."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return one_line(lines[-1] if lines else type(error).__name__, _ERROR_CHARS)


TaskResult = dict[str, Any]
"""``vectors``, one for each text, and ``failed``, the places of texts without one; or a ``refusal``."""


def embed_texts(version: str, model: str, fingerprint: str, texts: Sequence[str]) -> TaskResult:
    """Embed the texts with the model of that name, if it is here and the same as the daemon's.

    The vectors are those that the daemon's own worker computes, to six digits.
    """
    if (refusal := _refusal(version, model, fingerprint)) is not None:
        return refusal
    try:
        encoder = _encoder(model)
    except (ConfigError, WorkerUnavailable, OSError) as error:
        return {"refusal": f"{_here()} cannot load the model {model}: {error}"}
    embedded = embed.embed(encoder, texts)
    return {
        "vectors": np.asarray(embedded.vectors, np.float32),
        "failed": [place for place, _ in embedded.failed],
    }


def _refusal(version: str, name: str, fingerprint: str) -> TaskResult | None:
    """Return what this machine lacks to do as the daemon would; None if nothing."""
    if version != __version__:
        return {
            "refusal": f"{_here()} has vaultseek {__version__}; install {version} there, as on this machine"
        }
    try:
        here = _fingerprint(name)
    except (ConfigError, WorkerUnavailable, OSError) as error:
        return {"refusal": f"{_here()} cannot load the model {name}: {error}"}
    if here != fingerprint:
        return {
            "refusal": f"{_here()} has another model under the name {name} ({here}, not {fingerprint});"
            " install the same one there"
        }
    return None


def _here() -> str:
    return f"the worker {platform.node()}"


@lru_cache(maxsize=4)
def _fingerprint(name: str) -> str:
    return find_model(name).fingerprint


@lru_cache(maxsize=1)
def _encoder(name: str) -> Encoder:
    """Load the model, once in a process. The cluster counts processors, so it computes with one."""
    found = find_model(name)
    encoder = embed.load(found.name, found.directory)
    if isinstance(encoder, BertEncoder):
        encoder.processors = 1
    return encoder
