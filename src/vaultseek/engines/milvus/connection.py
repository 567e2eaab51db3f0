"""The connection to Milvus: opened when it is needed, reopened after it was lost, and closed for good.

Errors of pymilvus become ``Unavailable`` here, with advice.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from vaultseek.base.extras import missing_extra, require_extra
from vaultseek.base.limits import MIB
from vaultseek.engines.milvus.lite import START_SECONDS, lite_server
from vaultseek.errors import Unavailable
from vaultseek.settings.engine import EngineOptions

CONNECT_FAILED = 2
"""Code of the client for a server that was not reached."""
PAUSE_SECONDS = 2.0
"""Time for which requests fail at once after a failure, so that not every search waits."""
RECONNECT_SECONDS = 2.0
"""Longest wait for a connection to an engine that did not answer before."""
CAUSES = 5
"""Depth to which the causes of an error are followed."""
LEAST_FREE = 64 * MIB
"""Free bytes of the disk below which nothing is written to a file of Milvus Lite."""

log = logging.getLogger(__name__)


class MilvusConnection:
    """A connection that is opened on first use, and reopened after it was lost.

    Every method raises ``Unavailable`` if Milvus does not answer.
    """

    def __init__(self, options: EngineOptions, *, read_only: bool = False) -> None:
        """``read_only``: nothing is changed, and what is wrong is for whoever asks, not for the log."""
        self.options = options
        self.outage: Unavailable | None = None
        """The reason why the engine did not answer when it was asked last; None if it did."""
        self._read_only = read_only
        self._client: Any = None
        self._is_ready = False
        self._was_ready = False
        self._changing = threading.Lock()
        """Held for no request: nobody waits for it long."""
        self._attempt: Future[None] | None = None
        self._began = 0.0
        self._preparing: int | None = None
        """The thread that prepares the connection, and uses it before others may."""
        self._existing: set[str] = set()
        """Names of collections that are there, as far as this connection has seen."""
        self._lost_at = -PAUSE_SECONDS
        self._is_closed = False
        self._server = lite_server(options.file) if options.is_lite else None
        if self._server is not None:
            self._server.use()

    @property
    def version(self) -> str:
        """The version of the server."""
        with self._request():
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
    def _request(self, *, writes: bool = False) -> Iterator[None]:
        """Connect if need be, and translate the errors of the client: a full disk of a file is OSError."""
        exceptions, client, began = _client_errors(), None, time.monotonic()
        try:
            if not self._is_ready and self._preparing != threading.get_ident():
                self._connect()
            client = self._client
            yield
        except exceptions as error:
            self._log(error)
            if writes and _is_full(error):
                raise self._full() from error
            is_lost = _is_lost(error)
            seconds = time.monotonic() - began if _is_timeout(error) else 0.0
            unavailable = self._unavailable(error, is_lost, seconds)
            if is_lost:
                self._mark_lost(client, unavailable)
            raise unavailable from error
        except (ValueError, AttributeError) as error:
            if client is not None and self._client is client:
                raise
            raise Unavailable(self._no_answer(), "unavailable") from error  # it was lost in another thread
        else:
            if self._is_ready:
                self.outage = None

    def _connect(self) -> None:
        """Return when there is a connection. Raises Unavailable if that fails or takes too long.

        All who need it wait for the same attempt, which goes on when they have given up.
        """
        self._check_open()
        with self._changing:
            if self._is_ready:
                return
            attempt = self._attempt
            if attempt is None or attempt.done():
                attempt = self._attempt = Future()
                self._began = time.monotonic()
                run = partial(_set_result, attempt, self._establish)
                threading.Thread(target=run, name="milvus-connect", daemon=True).start()
            end = self._began + self._connect_seconds()
        done, _ = wait([attempt], max(0.0, end - time.monotonic()))
        if not done:
            self.outage = Unavailable(self._no_answer(time.monotonic() - self._began), "unavailable")
            raise self.outage
        error = attempt.exception()
        if isinstance(error, Unavailable):
            raise Unavailable(str(error), error.cause) from error
        if error is not None:
            raise error

    def _connect_seconds(self) -> float:
        """Return the timeout of an attempt: the first one may have to create collections.

        One after a failure has a short timeout: it is likely to fail, too.
        """
        seconds = self.options.seconds if self._was_ready else self.options.write_seconds
        if self._was_ready and self.outage is not None:
            seconds = min(seconds, RECONNECT_SECONDS)
        return seconds + (START_SECONDS if self._server is not None and self._server.process is None else 0.0)

    def _establish(self) -> None:
        """Make the connection and prepare it. Raises Unavailable, and errors of the settings."""
        exceptions, began, client = _client_errors(), time.monotonic(), None
        try:
            self.options.check()
            client = self._new_client()
            self._preparing, self._client = threading.get_ident(), client
            self._prepare()
            with self._changing:
                self._is_ready = self._was_ready = self._client is client
            self.outage = None
        except exceptions as error:
            self._log(error)
            is_lost = _is_lost(error)
            unavailable = self._unavailable(
                error, is_lost, time.monotonic() - began if _is_timeout(error) else 0
            )
            self._mark_lost(client, unavailable, is_lost=is_lost)
            raise unavailable from error
        except BaseException as error:
            self._mark_lost(client, error if isinstance(error, Unavailable) else None, is_lost=False)
            raise
        finally:
            self._preparing = None
        if self._is_closed:
            self._disconnect(client)

    def _log(self, error: Exception) -> None:
        level = logging.DEBUG if self._read_only else logging.WARNING
        log.log(level, "Milvus at %s: %s", self.options.place, _first_line(error))

    def _check_open(self) -> None:
        """Raise Unavailable if the connection is closed for good, or was lost just now."""
        if self._is_closed or time.monotonic() < self._lost_at + PAUSE_SECONDS:
            raise Unavailable(str(self.outage or self._no_answer()), "unavailable")

    def _mark_lost(self, client: Any, reason: Unavailable | None, *, is_lost: bool = True) -> None:
        """Close the connection that a request has lost, unless there is another one by now."""
        if client is not None and self._client is not client:
            return
        self.outage = reason or self.outage
        if is_lost:
            self._lost_at = time.monotonic()
        self._disconnect(client)

    def _disconnect(self, client: Any) -> None:
        with self._changing:
            if self._client is client:
                self._client = None
                self._is_ready = False
                self._existing.clear()
        if client is not None:
            _quietly(client.close)

    def _new_client(self) -> Any:

        options = self.options
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        address = options.uri if self._server is None else self._server.address()
        more: dict[str, Any] = {}
        if options.certificate:
            more = {"secure": True, "server_pem_path": options.certificate}
        return connected_client(
            address,
            token=options.token(),
            db_name=options.database,
            timeout=options.seconds,
            **more,
        )

    def _prepare(self) -> None:
        """Check that the server can be used, before any other request. Raises Unavailable."""
        raise NotImplementedError

    def _no_answer(self, seconds: float = 0.0) -> str:
        """Return, in words, that there was no answer; in so many seconds, if any."""
        what = f"Milvus at {self.options.place} does not answer"
        if seconds:
            what += f": nothing came within {max(1, round(seconds))} s"
        if self._read_only:
            return f"{what}; see that it runs, and that the address is right"
        return f"{what}; it is asked again by itself"

    def _unavailable(self, error: Exception, is_lost: bool, seconds: float) -> Unavailable:
        if isinstance(error, ImportError):
            return Unavailable(missing_extra("milvus", "Milvus"), "unavailable")
        if reason := _refusal(error):
            return Unavailable(f"Milvus at {self.options.place} {reason}", "unavailable")
        if is_lost:
            return Unavailable(self._no_answer(seconds), "unavailable")
        place = self.options.place
        return Unavailable(f"Milvus at {place} refused a request; see the log of the daemon", "unavailable")


def _set_result(attempt: Future[None], work: Callable[[], None]) -> None:
    try:
        work()
    except BaseException as error:
        attempt.set_exception(error)
    else:
        attempt.set_result(None)


def check_installed() -> None:
    """Raise ConfigError, one line, if the client is not installed."""
    require_extra("milvus", "Milvus")


def _client_errors() -> tuple[type[Exception], ...]:
    try:
        from grpc import RpcError
        from pymilvus.exceptions import MilvusException
    except ImportError:
        return (ImportError,)
    return (MilvusException, RpcError, ImportError)


def _is_lost(error: Exception) -> bool:
    """True if the server was not reached, or not in time."""
    from grpc import RpcError, StatusCode
    from pymilvus.exceptions import ConnectError, ErrorCode, MilvusException, MilvusUnavailableException

    if isinstance(error, RpcError | ConnectError | MilvusUnavailableException):
        return True
    if not isinstance(error, MilvusException):
        return False
    # A server's own errors have no cause here; those of the client are made of what gRPC said.
    gave_up = error.code in (ErrorCode.UNEXPECTED_ERROR, ErrorCode.RATE_LIMIT) and error.__cause__ is not None
    return gave_up or error.code == CONNECT_FAILED or isinstance(error.code, StatusCode)


def _is_timeout(error: BaseException) -> bool:
    """True if no answer came in time, rather than none at all."""
    from grpc import RpcError, StatusCode

    return any(
        isinstance(cause, RpcError)
        and hasattr(cause, "code")
        and cause.code() == StatusCode.DEADLINE_EXCEEDED
        for cause in _causes(error)
    )


def _is_full(error: Exception) -> bool:
    """True for an error of a server without space, which says so in words alone."""
    text = str(error).lower()
    return os.strerror(errno.ENOSPC).lower() in text or "disk quota exhausted" in text


def _refusal(error: BaseException) -> str:
    """Return what a server says of who asks it, or of how; nothing if it says neither."""
    from grpc import RpcError, StatusCode

    for cause in _causes(error):
        code = cause.code() if isinstance(cause, RpcError) and hasattr(cause, "code") else None
        if code in (StatusCode.UNAUTHENTICATED, StatusCode.PERMISSION_DENIED):
            return "refuses the token; correct what index.token_file or index.token_variable names"
        if code == StatusCode.UNIMPLEMENTED:
            return (
                "does not understand its client: is it a port of Milvus, 19530 as a rule, and 2.5 or newer?"
            )
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes; some of the client's errors are their own cause."""
    cause: BaseException | None = error
    for _ in range(CAUSES):
        if cause is not None:
            yield cause
            cause = cause.__cause__


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


def connected_client(uri: str, **options: Any) -> Any:
    """Return a client that is connected. Raises the errors of pymilvus.

    Those of pymilvus share a lock, which is held while one of them connects or comes back: an engine that
    is frozen would hold up every request of every vault, one after the other.
    """
    return _client_class()(uri, **options)


@cache
def _client_class() -> Any:
    import pymilvus
    from grpc import RpcError, StatusCode

    try:
        from pymilvus.client.connection_manager import ConnectionConfig, ConnectionManager
    except ImportError:  # of another version, with no such lock
        return pymilvus.MilvusClient

    class Manager(ConnectionManager):  # type: ignore[misc]
        """The one connection of a client, which is not made again in the middle of a request."""

        def handle_error(self, handler: Any, error: Exception) -> bool:
            """End the request if the server is not there; otherwise leave it to the client."""
            if isinstance(error, RpcError) and error.code() == StatusCode.UNAVAILABLE:
                raise error
            return False

    class Client(pymilvus.MilvusClient):  # type: ignore[misc]
        def __init__(self, uri: str, *, token: str, db_name: str, timeout: float, **more: Any) -> None:
            self._config = ConnectionConfig.from_uri(uri, token=token, db_name=db_name, **more)
            self._manager = Manager()
            self._handler = self._manager.get_or_create(
                self._config, dedicated=True, client=self, timeout=timeout
            )
            self._using = f"cm-{id(self._handler)}"
            self.is_self_hosted = bool(self.get_server_type() == "milvus")

    return Client
