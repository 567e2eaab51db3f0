"""The client of Milvus: one connection, the collections of vaultseek, and their rows.

Only this module and the process that serves a file import pymilvus. Its errors end here: whoever asks gets
``Unavailable``, with what to do about it.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vaultseek.errors import ConfigError, Unavailable
from vaultseek.index.backend import schema
from vaultseek.index.backend.lite import lite_server
from vaultseek.index.backend.schema import Field
from vaultseek.limits import MIB
from vaultseek.settings.engine import EXTRA, MilvusOptions

ROWS = 500
"""Rows in one request."""
PAGE = 5000
CONNECT_FAILED = 2
"""Code of the client for a server that was not reached."""
PAUSE_SECONDS = 2.0
"""Time for which requests fail at once after one was not answered: not every search has to wait."""
CAUSES = 5
"""Depth to which the causes of an error are looked at."""
LEAST_FREE = 64 * MIB
"""Free bytes of the disk below which nothing is written to a file of Milvus Lite."""
OLDEST = (2, 5)
"""Oldest version of a server."""

log = logging.getLogger(__name__)


class MilvusClient:
    """A connection that is made when it is needed first, and again after it was lost.

    Every method raises ``Unavailable`` if Milvus does not answer. The names of collections are short ones.
    """

    def __init__(self, options: MilvusOptions, *, only_looks: bool = False) -> None:
        """``only_looks``: no collection is created."""
        self.options = options
        self._only_looks = only_looks
        self._client: Any = None
        self._is_ready = False
        self._connecting = threading.RLock()
        self._known: set[str] = set()
        self._unindexed: dict[str, int] = {}
        """Rows of each collection that were written since it was indexed."""
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

    def search(
        self, name: str, field: str, metric: str, vector: Any, condition: str, limit: int
    ) -> list[tuple[int, int, float]]:
        """Return key, note and score of the nearest rows."""
        is_graph = field == "vector" and self._vector_index == "HNSW"
        parameters = {"ef": max(64, min(2 * limit, 32_768))} if is_graph else {}
        with self._asking():
            rows = self._client.search(
                self._collection(name),
                data=[vector],
                anns_field=field,
                filter=condition,
                limit=limit,
                output_fields=["note"],
                search_params={"metric_type": metric, "params": parameters},
                timeout=self.options.seconds,
                consistency_level=self.options.consistency,
            )[0]
        return [(row["id"], row["entity"]["note"], row["distance"]) for row in rows]

    def get(
        self, name: str, keys: Sequence[int | str], fields: Sequence[str], *, in_search: bool = False
    ) -> list[Any]:
        """Return the rows with these keys; see ``_consistency``."""
        rows: list[Any] = []
        with self._asking():
            for start in range(0, len(keys), PAGE):
                rows += self._client.get(
                    self._collection(name),
                    ids=list(keys[start : start + PAGE]),
                    output_fields=list(fields),
                    timeout=self.options.seconds,
                    consistency_level=self._consistency(in_search=in_search),
                )
        return rows

    def first(self, name: str, condition: str, field: str) -> Any:
        """Return a row that satisfies a condition, as a search sees it; None if there is none."""
        with self._asking():
            rows = self._client.query(
                self._collection(name),
                filter=condition,
                output_fields=[field],
                limit=1,
                timeout=self.options.seconds,
                consistency_level=self.options.consistency,
            )
        return rows[0] if rows else None

    def rows(
        self, name: str, condition: str, fields: Sequence[str], *, in_search: bool = False
    ) -> Iterator[Any]:
        """Yield all rows that satisfy a condition; see ``_consistency``."""
        with self._asking():
            iterator = self._client.query_iterator(
                self._collection(name),
                batch_size=PAGE,
                filter=condition,
                output_fields=list(fields),
                timeout=self.options.write_seconds,
                consistency_level=self._consistency(in_search=in_search),
            )
            try:
                while rows := iterator.next():
                    yield from rows
            finally:
                iterator.close()

    def count(self, name: str, condition: str) -> int:
        """Return the number of rows that satisfy a condition, of all that were written."""
        with self._asking():
            rows = self._client.query(
                self._collection(name),
                filter=condition,
                output_fields=["count(*)"],
                timeout=self.options.write_seconds,
                consistency_level=self._consistency(in_search=False),
            )
        return int(rows[0]["count(*)"])

    def upsert(self, name: str, rows: Sequence[Any]) -> None:
        """Add or replace rows."""
        with self._asking(writes=True):
            self._check_space()
            for start in range(0, len(rows), ROWS):
                self._client.upsert(
                    self._collection(name),
                    list(rows[start : start + ROWS]),
                    timeout=self.options.write_seconds,
                )
        self._unindexed[name] = self._unindexed.get(name, 0) + len(rows)

    def index_rows(self, least: int) -> None:
        """Have a file of Milvus Lite index what was written, where that is ``least`` rows or more.

        A server does that by itself. A file waits for more rows, and searches those it has one by one.
        """
        if self._server is None:
            return
        for name in [name for name, count in self._unindexed.items() if count >= least]:
            with self._asking(writes=True):
                self._client.flush(self._collection(name), timeout=self.options.write_seconds)
            self._unindexed[name] = 0

    def delete(self, name: str, keys: Sequence[int | str]) -> None:
        """Delete the rows with these keys; unknown ones, too."""
        if not keys or not self.has(name):
            return
        with self._asking(writes=True):
            for start in range(0, len(keys), PAGE):
                self._client.delete(
                    self._collection(name),
                    ids=list(keys[start : start + PAGE]),
                    timeout=self.options.write_seconds,
                )

    def delete_where(self, name: str, condition: str) -> None:
        """Delete the rows that satisfy a condition."""
        with self._asking(writes=True):
            self._client.delete(self._collection(name), filter=condition, timeout=self.options.write_seconds)

    def names(self) -> list[str]:
        """Return the names of the collections of this version of vaultseek."""
        begin = self._collection("")
        with self._asking():
            names = self._client.list_collections(timeout=self.options.seconds)
        return [name.removeprefix(begin) for name in names if name.startswith(begin)]

    def other_versions(self) -> list[int]:
        """Return the other versions of vaultseek's collections that there are."""
        pattern = re.compile(re.escape(self.options.prefix) + r"_(\d+)_state")
        with self._asking():
            names = self._client.list_collections(timeout=self.options.seconds)
        versions = {int(match[1]) for name in names if (match := pattern.fullmatch(name))}
        return sorted(versions - {schema.VERSION})

    def has(self, name: str) -> bool:
        """True if there is such a collection."""
        if name not in self._known:
            with self._asking():
                if self._client.has_collection(self._collection(name), timeout=self.options.seconds):
                    self._client.load_collection(self._collection(name), timeout=self.options.write_seconds)
                    self._known.add(name)
        return name in self._known

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

    def create(self, name: str, fields: Sequence[Field]) -> None:
        """Create a collection, its indexes included."""
        from pymilvus import DataType

        options, types = self.options, DataType
        made = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        indexes = self._client.prepare_index_params()
        for field, kind, parameters in fields:
            values = dict(parameters)
            if "element_type" in values:
                values["element_type"] = types[values["element_type"]]
            if field == "shard" and options.partitions:
                values["is_partition_key"] = True
            made.add_field(field, types[kind], **values)
            if kind == "SPARSE_FLOAT_VECTOR":
                indexes.add_index(field, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
            elif kind == "FLOAT_VECTOR":
                index = self._vector_index
                parameters = dict(options.index_parameters) if index == "HNSW" else {}
                indexes.add_index(field, index_type=index, metric_type="COSINE", params=parameters)
            elif field == "note" or (kind == "ARRAY" and not options.is_lite):
                indexes.add_index(field, index_type="INVERTED")
        more = {"num_partitions": options.partitions} if options.partitions else {}
        self._client.create_collection(
            self._collection(name),
            schema=made,
            index_params=indexes,
            num_shards=options.shards,
            consistency_level=options.consistency,
            timeout=options.write_seconds,
            **more,
        )
        self._known.add(name)

    def _consistency(self, *, in_search: bool) -> str:
        """Return the consistency of a request: searches have that of the settings.

        Whatever keeps the engine true has to see all that was written, or it would take what is not to be
        seen yet for lost.
        """
        return self.options.consistency if in_search else "Strong"

    def _collection(self, name: str) -> str:
        return f"{self.options.prefix}_{schema.VERSION}_{name}"

    @property
    def _vector_index(self) -> str:
        """The kind of index of vectors; a file is searched through, which is exact."""
        if self.options.vector_index != "AUTOINDEX" or not self.options.is_lite:
            return self.options.vector_index
        return "FLAT"

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

    # -- connection ------------------------------------------------------------------------------------

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
        """See that the server is new enough and that the collections are there, with the right fields."""
        version = str(self._client.get_server_version(timeout=self.options.seconds))
        if (known := _version(version)) is not None and known < OLDEST and "lite" not in version:
            raise Unavailable(
                f"the version of Milvus at {self.options.place} is {version}, too old; use 2.5 or newer",
                "unavailable",
            )
        for name, fields in (
            ("notes", schema.NOTES),
            ("passages", schema.PASSAGES),
            ("copies", schema.COPIES),
            ("state", schema.STATE),
        ):
            if not self.has(name):
                if not self._only_looks:
                    self.create(name, fields)
                continue
            described = self._client.describe_collection(self._collection(name), timeout=self.options.seconds)
            if missing := schema.missing_fields(described["fields"], fields):
                raise Unavailable(
                    f"the collection {self._collection(name)} at {self.options.place} is not one of "
                    f"vaultseek's: it has no {', '.join(missing)}; set index.collections to another name",
                    "unavailable",
                )

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


def _version(text: str) -> tuple[int, int] | None:
    parts = text.lstrip("v").split(".")
    return (
        (int(parts[0]), int(parts[1]))
        if len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit()
        else None
    )


def _quietly(action: Callable[[], object]) -> None:
    try:
        action()
    except Exception as error:
        log.debug("closing failed: %s", _first_line(error))


def existing_folder(file: Path) -> Path:
    """Return the nearest folder above a file that exists."""
    return next(folder for folder in (file, *file.parents) if folder.is_dir())
