"""The connection to Milvus: made when it is needed, again after it was lost, and closed for good.

The errors of pymilvus end here: whoever asks gets ``Unavailable``, with what to do about it.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vaultseek.errors import ConfigError, Unavailable
from vaultseek.index.backend.lite import lite_server
from vaultseek.limits import MIB
from vaultseek.settings.engine import EXTRA, MilvusOptions

CONNECT_FAILED = 2
"""Code of the client for a server that was not reached."""
PAUSE_SECONDS = 2.0
"""Time for which requests fail at once after one was not answered: not every search has to wait."""
CAUSES = 5
"""Depth to which the causes of an error are looked at."""
LEAST_FREE = 64 * MIB
"""Free bytes of the disk below which nothing is written to a file of Milvus Lite."""

log = logging.getLogger(__name__)


class MilvusConnection:
    """A connection that is made when it is needed first, and again after it was lost.

    Every method raises ``Unavailable`` if Milvus does not answer.
    """

    def __init__(self, options: MilvusOptions, *, only_looks: bool = False) -> None:
        """``only_looks``: nothing is changed, and what is wrong is for whoever asks, not for the log."""
        self.options = options
        self._only_looks = only_looks
        self._client: Any = None
        self._is_ready = False
        self._connecting = threading.RLock()
        self._known: set[str] = set()
        """Names of collections that are there, as far as this connection has seen."""
        self._lost_at = -PAUSE_SECONDS
        self._is_closed = False
        self._server = lite_server(options.file) if options.is_lite else None
        if self._server is not None:
            self._server.use()

    @property
    def version(self) -> str:
        """The version of the server."""
        with self._asking():
            return str(self._client.get_server_version(timeout=self.options.seconds))

    def close(self) -> None:
        """Close the connection for good; a file of Milvus Lite is closed with its last user.

        Requests that wait for an answer end with it. One that is connecting is not waited for.
        """
        self._is_closed = True
        client, self._client = self._client, None
        if client is not None:
            _quietly(client.close)
        if self._server is not None:
            self._server.release()

    def _check_space(self) -> None:
        """Raise OSError if the disk of a file is all but full, before something is written by half."""
        if self._server is not None:
            usage = shutil.disk_usage(existing_folder(self.options.file))
            if usage.free < LEAST_FREE:
                raise self._full()

    def _full(self) -> Exception:
        """Return the error of a disk without space, which is that of this machine only for a file."""
        if self._server is None:
            return Unavailable(f"the disk of Milvus at {self.options.place} is full", "disk_full")
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.options.file))

    @contextmanager
    def _asking(self, *, writes: bool = False) -> Iterator[None]:
        """Connect if need be, and translate the errors of the client: a full disk of a file is OSError."""
        exceptions, client = _client_errors(), None
        try:
            if not self._is_ready:
                self._connect()
            client = self._client
            yield
        except exceptions as error:
            log.log(
                logging.DEBUG if self._only_looks else logging.WARNING,
                "Milvus at %s: %s",
                self.options.place,
                _first_line(error),
            )
            if writes and _is_full(error):
                raise self._full() from error
            is_lost = _is_lost(error)
            if is_lost:
                self._disconnect()
                self._lost_at = time.monotonic()
            raise self._unavailable(error, is_lost) from error
        except (ValueError, AttributeError) as error:
            if client is not None and self._client is client:
                raise
            raise Unavailable(self._no_answer, "unavailable") from error  # it was lost in another thread

    def _connect(self) -> None:
        self._check_open()
        with self._connecting:
            if self._client is not None:
                return  # connected meanwhile, or this thread prepares the connection
            self._check_open()  # whoever held this up may have waited for an answer in vain
            self.options.check()
            self._client = self._new_client()
            try:
                self._check_open()
                self._prepare()
            except BaseException:
                self._disconnect()
                raise
            self._is_ready = True

    def _check_open(self) -> None:
        """Raise Unavailable if the server is not to be asked: just after it was lost, or for good."""
        if self._is_closed or time.monotonic() < self._lost_at + PAUSE_SECONDS:
            raise Unavailable(self._no_answer, "unavailable")

    def _disconnect(self) -> None:
        """Close the connection; a later request makes another."""
        with self._connecting:
            client, self._client = self._client, None
            self._is_ready = False
            self._known.clear()
        if client is not None:
            _quietly(client.close)

    def _new_client(self) -> Any:
        import pymilvus

        options = self.options
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        address = options.uri if self._server is None else self._server.address()
        more: dict[str, Any] = {}
        if options.certificate:
            more = {"secure": True, "server_pem_path": options.certificate}
        return pymilvus.MilvusClient(
            uri=address,
            token=options.token(),
            db_name=options.database,
            timeout=options.seconds,
            dedicated=True,
            **more,
        )

    def _prepare(self) -> None:
        """See that the server can be used, before it is asked anything else. Raises Unavailable."""
        raise NotImplementedError

    @property
    def _no_answer(self) -> str:
        what = f"Milvus at {self.options.place} does not answer"
        if self._only_looks:
            return f"{what}; see that it runs, and that the address is right"
        return f"{what}; it is asked again by itself"

    def _unavailable(self, error: Exception, is_lost: bool) -> Unavailable:
        if isinstance(error, ImportError):
            return Unavailable(EXTRA, "unavailable")
        if reason := _refusal(error):
            return Unavailable(f"Milvus at {self.options.place} {reason}", "unavailable")
        if is_lost:
            return Unavailable(self._no_answer, "unavailable")
        place = self.options.place
        return Unavailable(f"Milvus at {place} refused a request; see the log of the daemon", "unavailable")


def check_installed() -> None:
    """Raise ConfigError, one line, if the client is not installed."""
    from importlib.util import find_spec

    if find_spec("pymilvus") is None:
        raise ConfigError(EXTRA)


def _client_errors() -> tuple[type[Exception], ...]:
    try:
        from grpc import RpcError
        from pymilvus.exceptions import MilvusException
    except ImportError:
        return (ImportError,)
    return (MilvusException, RpcError, ImportError)


def _is_lost(error: Exception) -> bool:
    """True if the server was not reached, or not in time."""
    from grpc import RpcError
    from pymilvus.exceptions import ConnectError, ErrorCode, MilvusException, MilvusUnavailableException

    if isinstance(error, RpcError | ConnectError | MilvusUnavailableException):
        return True
    if not isinstance(error, MilvusException):
        return False
    # A server's own errors have no cause here; those of the client are made of what gRPC said.
    gave_up = error.code in (ErrorCode.UNEXPECTED_ERROR, ErrorCode.RATE_LIMIT) and error.__cause__ is not None
    return gave_up or error.code == CONNECT_FAILED


def _is_full(error: Exception) -> bool:
    """True for an error of a server without space, which says so in words alone."""
    text = str(error).lower()
    return os.strerror(errno.ENOSPC).lower() in text or "disk quota exhausted" in text


def _refusal(error: BaseException) -> str:
    """Return what a server says of who asks it, or of how; nothing if it says neither."""
    from grpc import RpcError, StatusCode

    cause: BaseException | None = error
    for _ in range(CAUSES):  # some of the client's errors are their own cause
        code = cause.code() if isinstance(cause, RpcError) and hasattr(cause, "code") else None
        if code in (StatusCode.UNAUTHENTICATED, StatusCode.PERMISSION_DENIED):
            return "refuses the token; correct what index.token_file or index.token_variable names"
        if code == StatusCode.UNIMPLEMENTED:
            return (
                "does not understand its client: is it a port of Milvus, 19530 as a rule, and 2.5 or newer?"
            )
        cause = cause.__cause__ if cause is not None else None
    return ""


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def _quietly(action: Callable[[], object]) -> None:
    try:
        action()
    except Exception as error:
        log.debug("closing failed: %s", _first_line(error))


def existing_folder(file: Path) -> Path:
    """Return the nearest folder above a file that exists."""
    return next(folder for folder in (file, *file.parents) if folder.is_dir())
