"""The client of Milvus: the collections of vaultseek, and their rows."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from vaultseek.engines.milvus import schema
from vaultseek.engines.milvus.connection import MilvusConnection
from vaultseek.engines.milvus.schema import Field
from vaultseek.errors import Unavailable
from vaultseek.settings.engine import EngineOptions

ROWS = 500
"""Rows in one request."""
PAGE = 5000
TRIAL_DIMENSION = 8
OLDEST = (2, 5)
"""Oldest version of a server."""


class MilvusClient(MilvusConnection):
    """The rows of vaultseek's collections, which are created with the first connection.

    Every method raises ``Unavailable`` if Milvus does not answer. The names of collections are short ones.
    """

    def __init__(
        self, options: EngineOptions, *, read_only: bool = False, version: int | None = None
    ) -> None:
        """``read_only``: no collection is created. ``version`` is another format than the present one."""
        super().__init__(options, read_only=read_only)
        self._version = schema.VERSION if version is None else version
        self._unindexed: dict[str, int] = {}
        """Rows of each collection that were written since it was indexed."""

    def search(
        self, name: str, field: str, metric: str, vector: Any, condition: str, limit: int
    ) -> list[tuple[int, int, float]]:
        """Return key, note and score of the nearest rows."""
        is_graph = field == "vector" and self._vector_index == "HNSW"
        parameters = {"ef": max(64, min(2 * limit, 32_768))} if is_graph else {}
        with self._request():
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
        with self._request():
            for start in range(0, len(keys), PAGE):
                rows += self._client.get(
                    self._collection(name),
                    ids=list(keys[start : start + PAGE]),
                    output_fields=list(fields),
                    timeout=self.options.seconds,
                    consistency_level=self._consistency(in_search=in_search),
                )
        return rows

    def first(self, name: str, condition: str, field: str, *, in_search: bool = False) -> Any:
        """Return a row that satisfies a condition; None if there is none. See ``_consistency``."""
        with self._request():
            rows = self._client.query(
                self._collection(name),
                filter=condition,
                output_fields=[field],
                limit=1,
                timeout=self.options.seconds,
                consistency_level=self._consistency(in_search=in_search),
            )
        return rows[0] if rows else None

    def rows(
        self, name: str, condition: str, fields: Sequence[str], *, in_search: bool = False
    ) -> Iterator[Any]:
        """Yield all rows that satisfy a condition; see ``_consistency``."""
        with self._request():
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
        with self._request():
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
        with self._request(writes=True):
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
            with self._request(writes=True):
                self._client.flush(self._collection(name), timeout=self.options.write_seconds)
            self._unindexed[name] = 0

    def delete(self, name: str, keys: Sequence[int | str]) -> None:
        """Delete the rows with these keys; unknown ones, too."""
        if not keys or not self.has(name):
            return
        with self._request(writes=True):
            for start in range(0, len(keys), PAGE):
                self._client.delete(
                    self._collection(name),
                    ids=list(keys[start : start + PAGE]),
                    timeout=self.options.write_seconds,
                )

    def delete_where(self, name: str, condition: str) -> None:
        """Delete the rows that satisfy a condition."""
        with self._request(writes=True):
            self._client.delete(self._collection(name), filter=condition, timeout=self.options.write_seconds)

    def names(self) -> list[str]:
        """Return the names of the collections of this version of vaultseek."""
        begin = self._collection("")
        with self._request():
            names = self._client.list_collections(timeout=self.options.seconds)
        return [name.removeprefix(begin) for name in names if name.startswith(begin)]

    def other_versions(self) -> list[int]:
        """Return the other versions of vaultseek's collections that there are."""
        pattern = re.compile(re.escape(self.options.prefix) + r"_(\d+)_state")
        with self._request():
            names = self._client.list_collections(timeout=self.options.seconds)
        versions = {int(match[1]) for name in names if (match := pattern.fullmatch(name))}
        return sorted(versions - {schema.VERSION})

    def fields(self, name: str) -> set[str]:
        """Return the names of the fields of a collection."""
        with self._request():
            described = self._client.describe_collection(self._collection(name), timeout=self.options.seconds)
        return {str(field["name"]) for field in described["fields"]}

    def drop(self, name: str) -> None:
        """Delete a collection."""
        with self._request(writes=True):
            self._client.drop_collection(self._collection(name), timeout=self.options.write_seconds)
        self._existing.discard(name)

    def has(self, name: str) -> bool:
        """True if there is such a collection."""
        if name not in self._existing:
            with self._request():
                if self._client.has_collection(self._collection(name), timeout=self.options.seconds):
                    self._client.load_collection(self._collection(name), timeout=self.options.write_seconds)
                    self._existing.add(name)
        return name in self._existing

    def create(self, name: str, fields: Sequence[Field]) -> None:
        """Create a collection, its indexes included."""
        from pymilvus import DataType

        with self._request(writes=True):
            options, types = self.options, DataType
            made = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
            indexes = self._client.prepare_index_params()
            for field, kind, parameters in fields:
                values = dict(parameters)
                if field == "shard" and options.partitions:
                    values["is_partition_key"] = True
                made.add_field(field, types[kind], **values)
                if kind == "SPARSE_FLOAT_VECTOR":
                    indexes.add_index(field, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
                elif kind == "FLOAT_VECTOR":
                    index = self._vector_index
                    parameters = dict(options.index_parameters) if index == "HNSW" else {}
                    indexes.add_index(field, index_type=index, metric_type="COSINE", params=parameters)
                elif field == "note":
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
            self._existing.add(name)

    def try_schema(self) -> None:
        """Create a collection as those of notes and vectors are, write and find a row, and delete it again.

        So a server that cannot keep them refuses before anything is switched to it.
        """
        name = f"trial_{uuid.uuid4().hex[:12]}"
        fields = (*schema.NOTES, *schema.vector_fields(TRIAL_DIMENSION)[-1:])
        row = {
            "id": 1,
            "shard": 0,
            "note": 1,
            "passages": 1,
            "terms": {1: 1.0},
            "vector": [1.0] * TRIAL_DIMENSION,
        }
        try:
            self.create(name, fields)
            self.upsert(name, [row])
            found = self.search(name, "terms", "IP", {1: 1.0}, "shard == 0", 1)
            if not found:
                raise Unavailable(
                    f"the Milvus at {self.options.place} does not find what it has; use another version",
                    "unavailable",
                )
        finally:
            with suppress(Unavailable):
                self.drop(name)

    def _consistency(self, *, in_search: bool) -> str:
        """Return the consistency of a request: searches have that of the settings.

        Whatever maintains the engine has to see all that was written; it would take hidden rows for lost
        ones.
        """
        return self.options.consistency if in_search else "Strong"

    def _collection(self, name: str) -> str:
        return f"{self.options.prefix}_{self._version}_{name}"

    @property
    def _vector_index(self) -> str:
        """The kind of index of vectors; a file is searched through, which is exact."""
        if self.options.vector_index != "AUTOINDEX" or not self.options.is_lite:
            return self.options.vector_index
        return "FLAT"

    def _prepare(self) -> None:
        """Check that the server is new enough, and that the collections exist with the right fields."""
        version = str(self._client.get_server_version(timeout=self.options.seconds))
        if (known := _version(version)) is not None and known < OLDEST:
            raise Unavailable(
                f"the version of Milvus at {self.options.place} is {version}, too old; use 2.5 or newer",
                "unavailable",
            )
        if self._version != schema.VERSION:
            return
        for name, fields in (
            ("notes", schema.NOTES),
            ("state", schema.STATE),
        ):
            if not self.has(name):
                if not self._read_only:
                    self.create(name, fields)
                continue
            described = self._client.describe_collection(self._collection(name), timeout=self.options.seconds)
            if missing := schema.missing_fields(described["fields"], fields):
                raise Unavailable(
                    f"the collection {self._collection(name)} at {self.options.place} is not one of "
                    f"vaultseek's: it has no {', '.join(missing)}; set index.collections to another name",
                    "unavailable",
                )


def _version(text: str) -> tuple[int, int] | None:
    parts = text.lstrip("v").split(".")
    return (
        (int(parts[0]), int(parts[1]))
        if len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit()
        else None
    )
