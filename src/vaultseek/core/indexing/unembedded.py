"""Find the texts that have no vector in a vault's store, and compose them for the embedding model."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from vaultseek.base.limits import OPENING_CHARS
from vaultseek.base.model import NOT_EMBEDDED
from vaultseek.content.markdown.chunk import CHUNKER_VERSION
from vaultseek.content.markdown.embedding_text import (
    EMBEDDING_TEXT_VERSION,
    EmbeddingText,
    note_text,
    passage_text,
)
from vaultseek.content.markdown.property_text import property_lines
from vaultseek.core.indexing.reading import is_note_error
from vaultseek.core.indexing.writer import InWriter
from vaultseek.semantic.models.calibration import calibration_of, share_read
from vaultseek.semantic.models.packed import PackedCounter
from vaultseek.semantic.worker import SemanticAnswer
from vaultseek.store.ledger import Ledger, NoteRow, PassageRow
from vaultseek.store.ledger.vectors import SpaceTable

STORE_VERSION = 5
"""Version of the vector stores. Increase it when all stores must be rebuilt from the vectors in the
ledger."""

PAGE_TEXTS = 1000
"""Number of texts composed at once."""

REFUSED_TRIES = 5
"""Maximum number of daemon starts at which texts that the model could not embed are retried. Without a limit,
unusable texts would be retried forever."""

LEAST_OUTDATED = 100
"""Number of unused vectors always kept. Unused vectors are deleted only if there are more than this number
plus ``OUTDATED_SHARE`` of the vectors in use."""
OUTDATED_SHARE = 0.2
"""Additional unused vectors to keep, as a share of the vectors in use."""
PAGE_NOTES = 500
PAGE_KEYS = 2_000


log = logging.getLogger(__name__)


Position = tuple[int, int]
"""Position in lists that are read in parts: the numbers of the last chunk and the last note that were
read."""


@dataclass(frozen=True, slots=True)
class EmbeddingSpec:
    """Everything that determines the vector of a text: the model, its window, and how texts are composed."""

    fingerprint: str
    count: Callable[[str], int]
    window: int
    model: str = ""
    """Name of the model in the settings."""

    @property
    def name(self) -> str:
        """Identity of the spec and of its store; vectors from different specs must never be mixed."""
        return f"{self.fingerprint}/{CHUNKER_VERSION}/{EMBEDDING_TEXT_VERSION}/{STORE_VERSION}"

    @property
    def chunking(self) -> str:
        """Chunking version; notes that were chunked by a different version are read again."""
        return f"{self.fingerprint}/{self.window}/{CHUNKER_VERSION}"

    async def judged(self, answer: SemanticAnswer, text: str) -> SemanticAnswer:
        """Return a copy of ``answer``, the answer to the query ``text``, with two values added: the share of
        the query that the model understands, and the curve that converts its cosines to confidence.
        """
        calibration = calibration_of(answer.model)
        if answer.model != self.fingerprint or calibration.reads_all:
            return replace(answer, meaning_curve=calibration.curve(answer.vector))
        if isinstance(self.count, PackedCounter) and not self.count.is_loaded:
            # Loading the tokenizer takes a third of a second, but only once.
            await asyncio.to_thread(self.count, "")
        reading = share_read(text, self.count, calibration.fluent_pieces)
        return replace(answer, reading=reading, meaning_curve=calibration.curve(answer.vector))

    def passage(self, note: NoteRow, row: PassageRow) -> EmbeddingText:
        """Return the text to embed for a chunk."""
        return passage_text(
            title=note.title,
            title_is_name=note.title_is_name,
            aliases=note.aliases,
            heading_path=row.heading_path,
            text=row.text,
            count=self.count,
            window=self.window,
            file_name=note.other_name,
        )

    def note(self, note: NoteRow, opening: str) -> EmbeddingText:
        """Return the text to embed for a whole note."""
        description = note.properties.get("description")
        return note_text(
            title=note.title,
            title_is_name=note.title_is_name,
            aliases=note.aliases,
            tags=note.tags,
            description=description if isinstance(description, str) else "",
            opening=opening,
            count=self.count,
            window=self.window,
            file_name=note.other_name,
            properties=property_lines(note.properties),
        )


@dataclass(frozen=True, slots=True)
class Item:
    """A vector to be stored: for the chunk with the number ``chunk`` or, if ``chunk`` is None, for the whole
    note.

    ``text`` is None if no text can be composed. ``vector`` is set if the same text was embedded before.
    ``revision`` is the ledger's revision before the text was read.
    """

    note: int
    text: EmbeddingText | None
    chunk: int | None = None
    vector: bytes | None = None
    revision: int = 0

    @property
    def number(self) -> int:
        """Number that identifies the vector in its collection."""
        return self.note if self.chunk is None else self.chunk


class Unembedded:
    """Notes and chunks of a ledger whose vectors are missing from a space's store, newest notes first.

    By default, ``space`` is the first vector space.
    """

    def __init__(self, ledger: Ledger, spec: EmbeddingSpec, space: SpaceTable | None = None) -> None:
        self._ledger = ledger
        self._spec = spec
        self._space = space or ledger.space

    def order(self, limit: int) -> tuple[bool, list[int]]:
        """Return the next texts to embed: (True, note ids) or, if no note is waiting, (False, chunk numbers).

        Notes come first, because there are far fewer notes than chunks, and every note can then soon be found
        by meaning.
        """
        ids = self._space.note_ids(limit)
        return (True, ids) if ids else (False, self._space.chunk_numbers(limit))

    def chunks(self, numbers: Sequence[int]) -> list[Item]:
        """Return an item for each of these chunks, with its vector if the ledger has one."""
        revision = self._ledger.revision
        return self._with_vectors(self._of_chunks(self._space.chunks(numbers), revision))

    def notes(self, ids: Sequence[int]) -> list[Item]:
        """Return an item for each of these notes, with its vector if the ledger has one."""
        revision = self._ledger.revision
        return self._with_vectors(self._of_notes(self._space.notes(ids), revision))

    def without_vectors(self, notes: Sequence[int]) -> tuple[int, int]:
        """Return how many passages in these notes, and how many of these notes themselves, have no vector."""
        missing = [item for item in self.of_notes(notes) if not item.vector]
        passages = sum(item.chunk is not None for item in missing)
        return passages, len(missing) - passages

    def of_notes(self, notes: Sequence[int]) -> list[Item]:
        """Return all items of these notes, whether stored or not, with the vectors that the ledger has."""
        return self._with_vectors(self.composed(notes))

    def composed(self, notes: Sequence[int]) -> list[Item]:
        """Return all items of these notes, without looking up their vectors."""
        revision = self._ledger.revision
        passages = self._of_chunks(self._ledger.chunks.rows(notes), revision)
        return [*passages, *self._of_notes(notes, revision)]

    def pending_without_vectors(self) -> tuple[int, int]:
        """Return how many waiting passages and how many waiting notes have no vector in the ledger."""
        are_notes = [item.chunk is None for items in self.pages_without_vectors() for item in items]
        return are_notes.count(False), are_notes.count(True)

    def pages_without_vectors(self) -> Iterator[list[Item]]:
        """Yield pages of the waiting items that have no vector in the ledger."""
        for items in self.pages():
            yield [item for item in items if not item.vector]

    def pages(self) -> Iterator[list[Item]]:
        """Yield pages of all waiting items, notes first, with the vectors that the ledger has."""
        chunks, notes = self._space.pending_counts()
        ids, numbers = self._space.note_ids(notes), self._space.chunk_numbers(chunks)
        yield from chain(map(self.notes, _pages(ids)), map(self.chunks, _pages(numbers)))

    def after(self, position: Position, limit: int) -> tuple[list[Item], Position]:
        """Return up to ``limit`` waiting items in numerical order, chunks first, and the new position.

        New chunks and notes get higher numbers, so one pass covers all of them.
        """
        chunk, note = position
        if numbers := self._space.pending_after(0, chunk, limit):
            return self.chunks(numbers), (numbers[-1], note)
        if ids := self._space.pending_after(1, note, limit):
            return self.notes(ids), (chunk, ids[-1])
        return [], position

    def unchanged(self, items: Sequence[Item]) -> list[Item]:
        """Return the items whose notes have not changed since their texts were read."""
        revisions = self._ledger.notes.revisions(sorted({item.note for item in items}))
        return [item for item in items if revisions.get(item.note, item.revision) <= item.revision]

    def key(self, item: Item) -> str:
        """Return the key of the item's vector; for an item without text, "", which is never the key of a
        vector.
        """
        return "" if item.text is None else f"{self.key_prefix}{item.text.key}"

    @property
    def key_prefix(self) -> str:
        """Prefix of the keys of all vectors from this model."""
        return f"{self._spec.fingerprint}:"

    def _of_chunks(self, rows: Sequence[PassageRow], revision: int) -> list[Item]:
        notes = self._ledger.notes.by_id(sorted({row.note for row in rows}))
        return [
            Item(
                row.note,
                _composed(partial(self._spec.passage, notes[row.note], row)),
                row.number,
                revision=revision,
            )
            for row in rows
            if row.note in notes
        ]

    def _of_notes(self, ids: Sequence[int], revision: int) -> list[Item]:
        items = []
        for note in self._ledger.notes.by_id(ids).values():
            opening = self._ledger.chunks.opening(note.id, OPENING_CHARS)
            text = _composed(partial(self._spec.note, note, opening))
            items.append(Item(note.id, text, revision=revision))
        return items

    def _with_vectors(self, items: Sequence[Item]) -> list[Item]:
        keys = [self.key(item) for item in items]
        vectors = self._ledger.vectors.get(keys)
        return [
            replace(item, vector=vectors[key]) if key in vectors else item
            for key, item in zip(keys, items, strict=True)
        ]


def _pages(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(numbers), PAGE_TEXTS):
        yield numbers[start : start + PAGE_TEXTS]


def _composed(compose: Callable[[], EmbeddingText]) -> EmbeddingText | None:
    """Return the result of ``compose``, a note's text to embed. If composing fails, log the error and return
    None.
    """
    try:
        return compose()
    except Exception as error:
        if not is_note_error(error):
            raise
        log.warning("cannot prepare text for the model (%s)", type(error).__name__)
        return None


def try_refused_again(ledger: Ledger) -> int:
    """Queue notes whose texts the model failed to embed, and return the number of notes.

    A retry may succeed: a user's own server may accept the texts later, or another program may have ended the
    worker. Runs in the writer thread, once after each start.
    """
    before = ledger.problems.tries()
    refused = ledger.problems.paths(NOT_EMBEDDED)
    tries = {path: before.get(path, 0) + 1 for path in refused}
    again = [path for path in refused if tries[path] <= REFUSED_TRIES]
    notes = list(ledger.notes.numbers(again).values())
    for start in range(0, len(notes), PAGE_NOTES):
        page = notes[start : start + PAGE_NOTES]
        ledger.space.add([row.number for row in ledger.chunks.rows(page)], page)
    for path in again:
        ledger.problems.remove(path, NOT_EMBEDDED)
    if tries != before:
        ledger.problems.set_tries({path: min(count, REFUSED_TRIES + 1) for path, count in tries.items()})
    return len(again)


async def forget_outdated(
    ledger: Ledger, spec: EmbeddingSpec, fingerprints: Collection[str], in_writer: InWriter
) -> None:
    """Delete the vectors of texts that no longer occur in any note, if there are many.

    The ledger keeps a few unused vectors, so that a restored text need not be embedded again.
    ``fingerprints`` identify the models in use; vectors of other models are all kept.

    Stops when a note changes, and runs again later.
    """
    counts = ledger.counts()
    needed = counts.notes + counts.chunks
    if ledger.vectors.count(spec.fingerprint) < LEAST_OUTDATED + (1 + OUTDATED_SHARE) * needed:
        return
    revision = ledger.revision
    notes = ledger.notes.ids()
    composer = Unembedded(ledger, spec)
    texts: set[str] = set()
    for start in range(0, len(notes), PAGE_NOTES):
        items = await asyncio.to_thread(composer.composed, notes[start : start + PAGE_NOTES])
        texts |= {item.text.key for item in items if item.text is not None}
    last = ""
    while ledger.revision == revision:
        keys = await asyncio.to_thread(ledger.vectors.keys_after, last, PAGE_KEYS)
        if not keys:
            break
        last = keys[-1]
        parts = [(key, key.rpartition(":")) for key in keys]
        outdated = [key for key, (own, _, text) in parts if own in fingerprints and text not in texts]
        if outdated and ledger.revision == revision:
            await in_writer(partial(ledger.vectors.delete, outdated))


async def forget_unused_models(
    ledger: Ledger, fingerprints: Collection[str], now: float, in_writer: InWriter
) -> None:
    """Delete the vectors of models that were not used for weeks. ``fingerprints`` identify the models in
    use."""
    for model in await in_writer(ledger.vectors.count_unused, fingerprints, now):
        log.info("deleting the vectors of a model that is no longer used: %s", model)
        while await in_writer(ledger.vectors.delete_some, model, PAGE_KEYS):
            pass
