"""Computed vectors, and records of the vectors that are missing from the stores of the vector spaces."""

import json
from collections.abc import Collection, Mapping, Sequence

from vaultseek.base.model import JSON, NOT_EMBEDDED
from vaultseek.store.ledger.database import Database
from vaultseek.store.ledger.rows import PASSAGE_COLUMNS, PassageRow, passage_row, to_json

FIRST, SECOND = 1, 2
"""The vector spaces: one for the vault's own model, and one for a second model for other languages."""

UNUSED_DAYS = 28
"""Days without use after which the vectors of a model are deleted."""
DAY_SECONDS = 86_400.0

_PENDING = (
    "SELECT u.number FROM unsynced u {} JOIN notes n ON n.id = u.note"
    " WHERE u.space = ? AND u.gone = 0 AND u.of_note = ? ORDER BY n.turn, n.modified DESC, {} LIMIT ?"
)
_PENDING_CHUNKS = _PENDING.format("JOIN chunks c ON c.number = u.number", "c.note, c.ordinal")
_PENDING_NOTES = _PENDING.format("", "n.id")


class VectorTable:
    """The table ``vectors``, with computed vectors by the key of their text."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, vectors: Mapping[str, bytes]) -> None:
        """Store computed vectors, as float32 bytes, by the key of their text."""
        self._put(vectors, "embeddings_computed")

    def put_copied(self, vectors: Mapping[str, bytes]) -> None:
        """Store vectors copied from another ledger, by the key of their text."""
        self._put(vectors, "embeddings_copied")

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors stored under ``keys``, as float32 bytes; unknown keys are left out."""
        return dict(self._database.all_in("SELECT key, vector FROM vectors WHERE key IN ({})", keys))

    def embeddings_computed(self) -> int:
        """Return the number of texts that the model has embedded since this ledger was created."""
        return int(self._database.meta("embeddings_computed") or 0)

    def embeddings_copied(self) -> int:
        """Return the number of vectors copied from other ledgers since this ledger was created."""
        return int(self._database.meta("embeddings_copied") or 0)

    def count(self, fingerprint: str) -> int:
        """Return the number of vectors computed by the model with this fingerprint."""
        sql = "SELECT count(*) FROM vectors WHERE key >= ? AND key < ?"
        return int(self._database.one(sql, f"{fingerprint}:", f"{fingerprint};")[0])

    def keys_after(self, key: str, limit: int) -> list[str]:
        """Return the first ``limit`` keys after ``key``, in order."""
        sql = "SELECT key FROM vectors WHERE key > ? ORDER BY key LIMIT ?"
        return [row[0] for row in self._database.all(sql, key, limit)]

    def delete(self, keys: Sequence[str]) -> None:
        """Delete the vectors stored under ``keys``."""
        with self._database.transaction():
            self._database.run_many("DELETE FROM vectors WHERE key = ?", ((key,) for key in keys))

    # -- models that are no longer used ----------------------------------------------------------------

    def models(self) -> list[str]:
        """Return the fingerprints of the models whose vectors are stored."""
        models: list[str] = []
        last = ""
        while keys := self.keys_after(last, 1):
            models.append(keys[0].rpartition(":")[0])
            last = max(keys[0], f"{models[-1]};")  # ";" is the character after ":"
        return models

    def begin_use(self, models: Collection[str]) -> None:
        """Record that the models with these fingerprints are used again."""
        counted, days = self._unused()
        if not days.keys().isdisjoint(models):
            self._set_unused(counted, {model: days[model] for model in days if model not in models})

    def count_unused(self, in_use: Collection[str], now: float) -> list[str]:
        """Count another day for each model that is not ``in_use``, unless this day was counted before; return
        the models unused for ``UNUSED_DAYS``.

        Days are counted rather than computed from dates, so that a clock that jumps by years adds one day.
        """
        counted, before = self._unused()
        step = int(abs(now - counted) >= DAY_SECONDS)
        unused = (model for model in self.models() if model not in in_use)
        days = {model: before[model] + step if model in before else 0 for model in unused}
        if days != before:
            self._set_unused(now if step else counted, days)
        return [model for model, number in days.items() if number >= UNUSED_DAYS]

    def delete_some(self, model: str, limit: int) -> bool:
        """Delete up to ``limit`` vectors of the model with this fingerprint; return False if it has none."""
        sql = (
            "DELETE FROM vectors WHERE key IN"
            " (SELECT key FROM vectors WHERE key >= ? AND key < ? ORDER BY key LIMIT ?)"
        )
        return self._database.run(sql, f"{model}:", f"{model};", limit).rowcount > 0

    def _unused(self) -> tuple[float, dict[str, int]]:
        """Return the time of the last count, and the number of days without use by model."""
        counted, days = json.loads(self._database.meta("unused_models") or "[0, {}]")
        return counted, days

    def _set_unused(self, counted: float, days: Mapping[str, int]) -> None:
        self._database.set_meta("unused_models", to_json([counted, days]))

    def _put(self, vectors: Mapping[str, bytes], counter: str) -> None:
        with self._database.transaction():
            self._database.run_many("INSERT OR REPLACE INTO vectors VALUES (?, ?)", vectors.items())
            total = int(self._database.meta(counter) or 0) + len(vectors)
            self._database.set_meta(counter, str(total))


class SpaceTable:
    """The table ``unsynced`` for one vector space: the changes that its store still lacks. Also gives the
    store's name.

    Triggers enter the numbers of new chunks and notes, to have their vectors stored, and of removed chunks
    and notes, to have their vectors deleted. An entry is removed once the store has done this.
    """

    def __init__(self, database: Database, space: int) -> None:
        self._database = database
        self._space = space

    # -- texts to be stored ----------------------------------------------------------------------------

    def pending_counts(self) -> tuple[int, int]:
        """Return, in constant time, the number of chunks and the number of notes whose vectors are waiting to
        be stored."""
        sql = "SELECT pending_chunks, pending_notes FROM spaces WHERE space = ?"
        row = self._database.one(sql, self._space)
        return (0, 0) if row is None else (row[0], row[1])

    def incomplete_notes(self) -> int:
        """Return the number of notes with at least one vector waiting to be stored."""
        sql = "SELECT count(DISTINCT note) FROM unsynced WHERE space = ? AND gone = 0"
        return int(self._database.one(sql, self._space)[0])

    def chunk_numbers(self, limit: int) -> list[int]:
        """Return the numbers of chunks whose vectors are waiting to be stored; recently modified notes come
        first."""
        return [row[0] for row in self._database.all(_PENDING_CHUNKS, self._space, 0, limit)]

    def note_ids(self, limit: int) -> list[int]:
        """Return the ids of notes whose own vectors are waiting to be stored; recently modified notes come
        first."""
        return [row[0] for row in self._database.all(_PENDING_NOTES, self._space, 1, limit)]

    def pending_after(self, of_note: int, number: int, limit: int) -> list[int]:
        """Return the next numbers after ``number`` whose vectors are waiting to be stored, in order.

        They are numbers of chunks if ``of_note`` is 0, and ids of notes if it is 1.
        """
        sql = (
            "SELECT number FROM unsynced WHERE space = ? AND gone = 0 AND of_note = ? AND number > ?"
            " ORDER BY number LIMIT ?"
        )
        return [row[0] for row in self._database.all(sql, self._space, of_note, number, limit)]

    def chunks(self, numbers: Sequence[int]) -> list[PassageRow]:
        """Return those chunks in ``numbers`` that are waiting to be stored, in the given order."""
        pending = self._pending(0, numbers)
        sql = f"SELECT {PASSAGE_COLUMNS} FROM chunks WHERE number IN ({{}})"
        rows = {row.number: row for row in map(passage_row, self._database.all_in(sql, sorted(pending)))}
        return [rows[number] for number in numbers if number in rows]

    def notes(self, ids: Sequence[int]) -> list[int]:
        """Return those notes in ``ids`` whose own vectors are waiting to be stored, in the given order."""
        pending = self._pending(1, ids)
        return [id for id in ids if id in pending]

    def add(self, chunks: Sequence[int], notes: Sequence[int]) -> None:
        """Add entries for chunks and notes whose current vectors are missing from the store."""
        enter = (
            "INSERT OR IGNORE INTO unsynced SELECT ?1, 0, 0, number, note FROM chunks WHERE number = ?2",
            "INSERT OR IGNORE INTO unsynced SELECT ?1, 0, 1, id, id FROM notes WHERE id = ?2",
        )
        self._enter(enter, chunks, notes)

    def remove_stored(self, chunks: Sequence[int], notes: Sequence[int]) -> None:
        """Remove the entries of chunks and notes whose vectors are now stored."""
        self._remove(0, chunks, notes)

    # -- vectors to be deleted -------------------------------------------------------------------------

    def orphans(self, limit: int) -> tuple[list[int], list[int]]:
        """Return the numbers of chunks and the ids of notes that no longer exist but may still have vectors
        in the store."""
        sql = "SELECT of_note, number FROM unsynced WHERE space = ? AND gone = 1 LIMIT ?"
        rows = self._database.all(sql, self._space, limit)
        chunks, notes = ([number for of_note, number in rows if of_note == kind] for kind in (0, 1))
        return chunks, notes

    def enter_removed(self, chunks: Sequence[int], notes: Sequence[int]) -> None:
        """Add entries for chunks and notes that were removed while their vectors were being stored. The store
        may have written these vectors after their deletion had been requested."""
        enter = (
            "INSERT OR IGNORE INTO unsynced SELECT ?1, 1, 0, ?2, 0"
            " WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE number = ?2)",
            "INSERT OR IGNORE INTO unsynced SELECT ?1, 1, 1, ?2, ?2"
            " WHERE NOT EXISTS (SELECT 1 FROM notes WHERE id = ?2)",
        )
        self._enter(enter, chunks, notes)

    def remove_orphans(self, chunks: Sequence[int], notes: Sequence[int]) -> None:
        """Remove the entries of chunks and notes whose vectors have been deleted from the store."""
        self._remove(1, chunks, notes)

    # -- stores ----------------------------------------------------------------------------------------

    def store(self) -> str:
        """Return the name of the store that this table describes; "" if there is no store yet."""
        return self._meta("store")

    def begin_store(self, store: str, *, is_renamed: bool = False) -> None:
        """Record that ``store`` is the current store. It is treated as empty unless ``is_renamed`` is true,
        which means that only the store's name has changed."""
        if is_renamed:
            self._set_meta("store", store)
            return
        run = self._database.run
        with self._database.transaction():
            run("DELETE FROM unsynced WHERE space = ?", self._space)
            run("INSERT OR IGNORE INTO spaces VALUES (?, 0, 0)", self._space)
            run("INSERT INTO unsynced SELECT ?, 0, 0, number, note FROM chunks", self._space)
            run("INSERT INTO unsynced SELECT ?, 0, 1, id, id FROM notes", self._space)
            if self._space == FIRST:
                run("DELETE FROM problems WHERE code = ?", NOT_EMBEDDED)  # every text is retried
            self._set_meta("store", store)

    @property
    def is_followed(self) -> bool:
        """True if changes are recorded for this vector space."""
        return self._database.one("SELECT 1 FROM spaces WHERE space = ?", self._space) is not None

    def end(self) -> None:
        """Stop recording changes for this vector space."""
        with self._database.transaction():
            self._database.run("DELETE FROM unsynced WHERE space = ?", self._space)
            self._database.run("DELETE FROM spaces WHERE space = ?", self._space)
            self._set_meta("store", "")

    def store_model(self) -> str:
        """Return the name that the current store's model has in the settings."""
        return self._meta("store_model")

    def set_store_model(self, model: str) -> None:
        """Record the name that the current store's model has in the settings."""
        self._set_meta("store_model", model)

    def previous_store(self) -> JSON | None:
        """Return the previous store, which answers queries until the current store is full; None if there is
        no such store."""
        text = self._meta("previous_store")
        return dict(json.loads(text)) if text else None

    def set_previous_store(self, previous: JSON | None) -> None:
        """Set the previous store, which answers queries until the current store is full; pass None once the
        current store is full."""
        self._set_meta("previous_store", "" if previous is None else to_json(previous))

    def _pending(self, of_note: int, numbers: Sequence[int]) -> set[int]:
        sql = (
            f"SELECT number FROM unsynced WHERE space = {self._space} AND gone = 0 AND of_note = {of_note}"
            " AND number IN ({})"
        )
        return {row[0] for row in self._database.all_in(sql, numbers)}

    def _enter(self, sql: tuple[str, str], chunks: Sequence[int], notes: Sequence[int]) -> None:
        with self._database.transaction():
            for statement, numbers in zip(sql, (chunks, notes), strict=True):
                self._database.run_many(statement, ((self._space, number) for number in numbers))

    def _remove(self, gone: int, chunks: Sequence[int], notes: Sequence[int]) -> None:
        sql = "DELETE FROM unsynced WHERE space = ? AND gone = ? AND of_note = ? AND number = ?"
        with self._database.transaction():
            for of_note, numbers in enumerate((chunks, notes)):
                entries = ((self._space, gone, of_note, number) for number in numbers)
                self._database.run_many(sql, entries)

    def _meta(self, name: str) -> str:
        return self._database.meta(self._name(name))

    def _set_meta(self, name: str, value: str) -> None:
        self._database.set_meta(self._name(name), value)

    def _name(self, name: str) -> str:
        return name if self._space == FIRST else f"{name}_{self._space}"
