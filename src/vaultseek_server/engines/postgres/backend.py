"""A vault in PostgreSQL: one schema that contains its ledger rows, words, vectors and state."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from vaultseek.content.languages.detect import DEFAULT_LANGUAGE
from vaultseek.errors import Unavailable
from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.segment import MemorySegment
from vaultseek_server.engines.heartbeat import Heartbeat
from vaultseek_server.engines.postgres.schema import (
    KEY_CHARS,
    LEDGER_TABLES,
    SET_STATE,
    VERSION,
    WORD_TABLES,
    schema_name,
    statements,
)
from vaultseek_server.engines.postgres.server import EXTENSION_SCHEMAS, Server
from vaultseek_server.engines.postgres.words import Words
from vaultseek_server.settings import EngineOptions


class PostgresBackend:
    """One vault in PostgreSQL. It connects on first use, and reconnects after the connection is lost.

    Every method raises ``Unavailable`` if the server does not answer.
    """

    def __init__(self, options: EngineOptions) -> None:
        self.options = options
        self.server = Server(options, schema_name(options))
        self.words = Words(self.server, LanguageRules.of_vault(DEFAULT_LANGUAGE))
        self._has_schema = False

    # -- reading ---------------------------------------------------------------------------------------

    def position(self) -> str | None:
        """Return the position in the ledger's changes that the engine has reached; None for an empty
        engine."""
        return self.state().get("position")

    def state(self) -> dict[str, str]:
        """Return all values in the state by name, and also ``heartbeat age``, in seconds."""
        age = "extract(epoch FROM clock_timestamp() - written)::text FROM state WHERE name = 'heartbeat'"
        sql = f"SELECT name, value FROM state UNION ALL SELECT 'heartbeat age', {age}"
        state = dict(self.server.rows(sql))
        self._has_schema &= bool(state)  # another client may have deleted it
        return state

    def shards(self) -> dict[str, str]:
        """Return a dict from each shard in the engine to the name of its vault."""
        begin = f"{self.options.prefix.lower()}_{VERSION}_".replace("_", "\\_")
        sql = (
            "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname ="
            " 'state' AND n.nspname LIKE %s AND has_schema_privilege(n.oid, 'USAGE')"
            " AND has_table_privilege(c.oid, 'SELECT')"
        )
        shards: dict[str, str] = {}
        for (schema,) in self.server.rows(sql, f"{begin}%"):
            state = dict(self.server.rows(f"SELECT name, value FROM {schema}.state"))
            if "shard" in state and "position" in state:
                shards[state["shard"]] = state.get("vault", "")
        return shards

    def check(self) -> str:
        """Return the versions of the server and its extension, after writing and reading a temporary table.

        Raises a one-line Unavailable if the server cannot store the data.
        """
        version, is_utf8, allowed, extension, is_new, place = self.server.rows(
            "SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding') ="
            " 'UTF8', has_database_privilege(current_database(), 'CREATE'), version,"
            " string_to_array(version, '.')::int[] >= '{0,8}', place FROM (SELECT 1) AS one LEFT JOIN"
            " (SELECT coalesce(installed_version, default_version) AS version,"
            " extnamespace::regnamespace::text AS place FROM pg_available_extensions LEFT JOIN pg_extension"
            " ON extname = name WHERE name = 'vector') AS pgvector ON true"
        )[0]
        problems = {
            f"is version {version}": version < 13,
            "lacks the extension pgvector 0.8 or newer": not is_new,
            f"has pgvector in the schema {place}": place not in (None, *EXTENSION_SCHEMAS),
            "does not let this user create schemas": not allowed,
            "has a database that is not encoded in UTF8": not is_utf8,
        }
        for text, is_so in problems.items():
            if is_so:
                raise Unavailable(
                    f"the PostgreSQL server at {self.options.place} {text}; use version 13 or newer, with "
                    f"pgvector 0.8 or newer in the schema {' or '.join(EXTENSION_SCHEMAS)}, and a UTF8 "
                    "database in which this user may create schemas",
                    "unavailable",
                )
        with self.server.transaction():
            self.server.run(
                "CREATE EXTENSION IF NOT EXISTS vector;"
                "CREATE TEMP TABLE trial (vector halfvec(3)) ON COMMIT DROP;"
                "INSERT INTO trial VALUES ('[1,2,3]'); SELECT vector <=> '[1,2,3]' FROM trial"
            )
        return f"{version} with pgvector {extension}"

    # -- writing, in a transaction -----------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[dict[str, str]]:
        """Run the ``with`` block in one transaction with the exclusive right to write to the shard; yield the
        shard's state."""
        self._create_schema()
        with self.server.transaction():
            self.server.run("SELECT 1 FROM state WHERE name = 'mark' FOR UPDATE")
            yield self.state()

    def set_state(self, name: str, value: str) -> None:
        """Store a value in the state under a name."""
        self.server.run(SET_STATE, name, value)

    def set_heartbeat(self, beat: Heartbeat, marks: Sequence[str]) -> bool:
        """Store the indexer's heartbeat and return True if the shard's mark is one of ``marks``; otherwise
        return False."""
        sql = (
            "UPDATE state SET value = %s, written = clock_timestamp() WHERE name = 'heartbeat'"
            " AND EXISTS (SELECT 1 FROM state WHERE name = 'mark' AND value = ANY(%s::text[]))"
        )
        return self.server.run(sql, beat.as_text(), list(marks)) > 0

    def replace(
        self,
        rows: Mapping[str, Sequence[Sequence[Any]]],
        segment: MemorySegment | None,
        removed: Collection[int],
        position: str,
    ) -> None:
        """Replace whole notes, given as ledger rows and a segment of words, and delete the notes in
        ``removed``."""
        run = self.server.run
        new = next((of_notes for table, of_notes in rows.items() if table.startswith("notes ")), ())
        gone = [*removed, *(row[0] for row in new)]
        run("DELETE FROM problems WHERE path IN (SELECT path FROM notes WHERE id = ANY(%s))", gone)
        run("DELETE FROM notes WHERE id = ANY(%s)", gone)
        for table in ("chunks", "links", "successions", "forms", "lines", "tags", "names"):
            run(f"DELETE FROM {table} WHERE note = ANY(%s)", gone)
        for columns, values in rows.items():
            if values:
                self.server.copy(columns, _cut(columns, values))
        run(_REMOVED, list(removed), int(position.rpartition(":")[2]))
        self.words.apply(segment, removed)
        self.set_state("position", position)

    def drop_notes(self) -> None:
        """Delete all notes with their text, but not the vectors."""
        self.server.run(f"TRUNCATE {', '.join((*LEDGER_TABLES, *WORD_TABLES))}")
        self.server.run("DELETE FROM state WHERE name IN ('position', 'words')")

    def empty(self) -> None:
        """Delete everything in the shard."""
        self.delete()
        self._create_schema()

    def delete(self) -> None:
        """Delete the shard with everything in it."""
        self.server.run(f"DROP SCHEMA IF EXISTS {self.server.schema} CASCADE")
        self._has_schema = False

    def close(self) -> None:
        """Close the connections permanently."""
        self.server.close()

    # -- the rest --------------------------------------------------------------------------------------

    def _create_schema(self) -> None:
        self._has_schema = self._has_schema or self.server.has_table("state")
        if self._has_schema:
            return
        with self.server.transaction():
            self.server.run("SELECT pg_advisory_xact_lock(7447)")  # otherwise two clients might create it
            if not self.server.has_table("state"):
                self.server.run("CREATE EXTENSION IF NOT EXISTS vector")
                self.server.run(f"CREATE SCHEMA IF NOT EXISTS {self.server.schema}")
                for statement in statements():
                    self.server.run(statement)
        self._has_schema = True


_REMOVED = (
    "INSERT INTO removed SELECT unnest(%s::bigint[]), %s ON CONFLICT (note)"
    " DO UPDATE SET revision = excluded.revision"
)
_INDEXED = {"key", "tag", "name"}
"""Columns whose text is part of an index."""


def _cut(columns: str, rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    """Return the rows with their text cut to fit into an index."""
    names = columns[columns.index("(") + 1 : -1].split(", ")
    place = next((place for place, name in enumerate(names) if name in _INDEXED), None)
    if place is None:
        return rows
    cut = [(*row[:place], row[place][:KEY_CHARS], *row[place + 1 :]) for row in rows]
    # Two long texts of the same note may now be equal.
    return cut if names[place] == "key" else list(dict.fromkeys(cut))
