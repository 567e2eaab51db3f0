"""Build a vault's concept vocabulary: choose its terms and keep their vectors up to date.

The vocabulary is used for query expansion, and built only if the settings or a request need it. It is then
updated in the background with a delay, because it changes little from one save to the next, and choosing the
terms requires reading every word in the vault.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vaultseek.base.limits import (
    BATCH_TEXTS,
    CONCEPT_CHARS,
    CONCEPT_TERMS,
    EMBED_RETRY_SECONDS,
    EMBED_SECONDS,
    RETRY_SECONDS,
)
from vaultseek.base.text import fold, is_unspaced
from vaultseek.content.languages.stopwords import STOP_WORDS
from vaultseek.content.query.profile import find_identifiers
from vaultseek.errors import Unavailable
from vaultseek.semantic.worker import SemanticWorker
from vaultseek.store.concept_vocabulary import (
    FILE_NAME,
    Concept,
    ConceptVocabulary,
    read_vocabulary,
    write_vocabulary,
)
from vaultseek.store.keyword.analysis import content_terms
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.changes import Position, pending_count

if TYPE_CHECKING:
    from vaultseek.store.keyword.lane import KeywordLane

CONCEPT_NAMES = 2_000
"""Maximum number of tags, titles and aliases in the vocabulary. If the vault has too few suitable words to
fill the vocabulary, more names are added."""
CONCEPT_WORDS = 5
CONCEPT_LEAST_CHARS = 3
CONCEPT_NOTES_LEAST = 2
CONCEPT_NOTES_SHARE = 0.1
"""Maximum share of a vault's notes in which a word may occur; more common words do not distinguish notes."""
CONCEPT_QUIET_SECONDS = 2.0
"""Seconds to wait after a change before changes are counted, so that a burst of changes is counted once."""
CONCEPT_CHANGED_SHARE = 0.05
CONCEPT_REFRESH_SECONDS = 600.0
"""Maximum seconds between two refreshes when only a few notes have changed."""

log = logging.getLogger(__name__)
BEING_BUILT = "the concept vocabulary is being built; try again in a moment"


class Concepts:
    """Concept vocabulary of one vault, stored in ``directory``. ``keyword`` is a function that returns the
    vault's keyword index.
    """

    def __init__(
        self,
        directory: Path,
        model: str,
        ledger: Ledger,
        keyword: Callable[[], KeywordLane],
        worker: SemanticWorker,
    ) -> None:
        self.wake = asyncio.Event()
        self.enabled = False
        self.problem: str | None = None
        """Reason why the last refresh failed, or None if it succeeded."""
        self._file = directory / FILE_NAME
        self._model = model
        self._ledger = ledger
        self._keyword = keyword
        self._worker = worker
        self._vocabulary: ConceptVocabulary | None = None
        self._was_read = False
        self._reading = asyncio.Lock()
        self._refreshing = asyncio.Lock()
        self._revision = -1
        self._notes = 0
        self._made = 0.0

    def enable(self) -> None:
        """Keep the vocabulary up to date from now on."""
        if not self.enabled:
            self.enabled = True
            self.wake.set()

    async def near(self, text: str, vector: Any, count: int, floor: float) -> list[Concept]:
        """Return up to ``count`` concepts near ``text``, nearest first, with a cosine of at least ``floor``.

        ``vector`` is the unit vector of the text. Concepts are skipped if all of their word stems already
        occur in the text or in a nearer concept. Raises Unavailable until the vocabulary is built.
        """
        self.enable()
        await self._read()
        vocabulary = self._vocabulary
        if vocabulary is None:
            message = f"the concept vocabulary cannot be built: {self.problem}"
            raise Unavailable(message) if self.problem else Unavailable(BEING_BUILT, "being_built")
        try:
            return list(_fresh(vocabulary.nearest(vector, floor), text, self._keyword(), count))
        except ValueError:
            # The file's vectors do not come from the model named in the file.
            self._vocabulary, self._revision = None, -1
            self.wake.set()
            raise Unavailable(BEING_BUILT, "being_built") from None

    async def refresh(self) -> None:
        """Sync the vocabulary with the ledger, embedding only new terms.

        On failure, raises WorkerUnavailable or IndexDamaged and leaves the vocabulary unchanged.
        """
        async with self._refreshing:
            await self._read()
            revision, notes = self._ledger.revision, self._ledger.counts().notes
            if revision == self._revision:
                return
            terms = await asyncio.to_thread(choose_terms, self._ledger, self._keyword())
            previous = self._vocabulary
            try:
                vocabulary = await self._with_vectors(terms, previous.by_term if previous is not None else {})
            except ValueError:  # the stored vectors have a different length, although the model name matches
                vocabulary = await self._with_vectors(terms, {})
            self._vocabulary, self._revision, self._notes = vocabulary, revision, notes
            self._made = time.monotonic()
            if previous is None or vocabulary.terms != previous.terms:
                await self._write(vocabulary)

    def due_in(self) -> float | None:
        """Return the number of seconds until the next refresh; None if nothing has changed."""
        if self._revision < 0:
            return 0.0
        if self._revision == self._ledger.revision:
            return None
        notes = self._ledger.counts().notes
        enough = int(CONCEPT_CHANGED_SHARE * notes) + 1
        changed = pending_count(self._ledger, Position(self._revision), enough) + abs(notes - self._notes)
        return 0.0 if changed >= enough else max(0.0, self._made + CONCEPT_REFRESH_SECONDS - time.monotonic())

    @property
    def is_built(self) -> bool:
        """True if a vocabulary exists, even an outdated one."""
        return self._vocabulary is not None

    async def _read(self) -> None:
        async with self._reading:
            if not self._was_read:
                self._vocabulary = await asyncio.to_thread(read_vocabulary, self._file, self._model)
                self._was_read = True

    async def _with_vectors(self, terms: dict[str, int], known: dict[str, Any]) -> ConceptVocabulary:
        new = await self._embed([term for term in terms if term not in known])
        return ConceptVocabulary.build(self._model, terms, {**known, **new})

    async def _embed(self, terms: list[str]) -> dict[str, Any]:
        """Embed the terms in batches, letting other background work run between two batches."""
        vectors: dict[str, Any] = {}
        for start in range(0, len(terms), BATCH_TEXTS):
            batch = terms[start : start + BATCH_TEXTS]
            matrix = await self._worker.embed(batch, deadline=EMBED_SECONDS)
            vectors.update(
                (term, row) for term, row in zip(batch, matrix, strict=True) if np.isfinite(row).all()
            )
        return vectors

    async def _write(self, vocabulary: ConceptVocabulary) -> None:
        """Write the vocabulary to its file. If that fails, the next start builds the vocabulary again."""
        try:
            await asyncio.to_thread(write_vocabulary, vocabulary, self._file)
        except OSError as error:
            log.warning("the concept vocabulary cannot be written to %s: %s", self._file, error)


async def follow(concepts: Concepts, is_idle: Callable[[], bool]) -> None:
    """Keep an enabled vocabulary up to date, working only while ``is_idle()`` is true.

    Passages are thus embedded first. ``concepts.wake`` is set when notes may have changed.
    """
    delay: float | None = None
    pause = EMBED_RETRY_SECONDS
    while True:
        await _wait(concepts.wake, delay)
        delay = None
        if not concepts.enabled:
            continue
        try:
            while not is_idle():
                await asyncio.sleep(RETRY_SECONDS)
            if concepts.is_built:
                await asyncio.sleep(CONCEPT_QUIET_SECONDS)
            concepts.wake.clear()
            delay = await asyncio.to_thread(concepts.due_in)
            if delay == 0.0:
                await concepts.refresh()
                delay = None
            concepts.problem, pause = None, EMBED_RETRY_SECONDS
        except Exception as error:
            problem = str(error) or type(error).__name__
            if problem != concepts.problem:
                log.warning("the concept vocabulary is not up to date: %s; trying again", problem)
            concepts.problem = problem
            # Wait even if notes change: choosing the terms again sooner is not worth the cost.
            await asyncio.sleep(pause)
            pause, delay = min(2 * pause, CONCEPT_REFRESH_SECONDS), 0.0


async def _wait(wake: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await wake.wait()
    except TimeoutError:
        return
    wake.clear()


def choose_terms(ledger: Ledger, keyword: KeywordLane) -> dict[str, int]:
    """Return up to ``CONCEPT_TERMS`` concepts of the vault, each with the number of notes that contain it.

    * Names come first, because an author chose them: tags in order of use, then titles and aliases, those of
      the most linked notes first. Names fill at most half of the vocabulary, so that ten thousand titles
      cannot crowd out the vault's subjects.
    * Words follow, the most common first, if they distinguish notes. A word in a single note adds nothing to
      that note's own passages, and a word in every tenth note is too common.

    Names longer than a few words are left out: they are sentences, and their notes have vectors anyway.
    Identifiers and dates are left to the keyword search.
    """
    usable = (entry for entry in _names(ledger) if _is_name(entry[0], keyword))
    names = dict(islice(usable, CONCEPT_TERMS))
    words = dict(islice(_words(ledger, keyword, {fold(name) for name in names}), CONCEPT_TERMS))
    room = max(CONCEPT_NAMES, CONCEPT_TERMS - len(words))
    terms = dict(list(names.items())[:room])
    return terms | dict(list(words.items())[: CONCEPT_TERMS - len(terms)])


def _fresh(nearest: Iterable[Concept], text: str, keyword: KeywordLane, count: int) -> Iterator[Concept]:
    if not any(map(_is_word, text.split())):
        return
    present = content_terms(text, keyword.language)
    for concept in nearest:
        if count <= 0:
            return
        words = content_terms(concept.term, keyword.language)
        if not words <= present:
            present |= words
            count -= 1
            yield concept


def _names(ledger: Ledger) -> Iterator[tuple[str, int]]:
    """Yield tags, then titles and aliases, most important first, without duplicate spellings."""
    seen: set[str] = set()
    tags = ledger.select("SELECT tag, COUNT(*) FROM tags GROUP BY tag ORDER BY 2 DESC, 1")
    for name, notes in (*((_spaced(tag), notes) for tag, notes in tags), *_titles(ledger)):
        if fold(name) not in seen:
            seen.add(fold(name))
            yield name, notes


def _titles(ledger: Ledger) -> Iterator[tuple[str, int]]:
    uses: Counter[str] = Counter()
    spellings: dict[str, str] = {}
    rows = ledger.select(
        "SELECT title, aliases FROM notes LEFT JOIN"
        " (SELECT resolved, COUNT(DISTINCT note) AS links FROM links GROUP BY resolved) ON resolved = path"
        " ORDER BY COALESCE(links, 0) DESC, path"
    )
    for title, aliases in rows:
        names = {fold(name): _spaced(name) for name in (*json.loads(aliases), title)}
        uses.update(names.keys())
        for folded, name in names.items():
            spellings.setdefault(folded, name)
    yield from ((name, uses[folded]) for folded, name in spellings.items() if name)


def _spaced(name: str) -> str:
    """Return a name as separate words: ``work/sump-pumps`` becomes ``work sump pumps``."""
    return " ".join(name.translate(_JOINTS).split())


_JOINTS = str.maketrans("/_-", "   ")


def _is_name(name: str, keyword: KeywordLane) -> bool:
    if not name.isprintable() or len(name) > CONCEPT_CHARS or len(name.split()) > CONCEPT_WORDS:
        return False
    if find_identifiers(name):
        return False
    return any(_is_word(word) for word in name.split()) and bool(content_terms(name, keyword.language))


def _words(ledger: Ledger, keyword: KeywordLane, names: set[str]) -> Iterator[tuple[str, int]]:
    limit = max(CONCEPT_NOTES_LEAST, int(CONCEPT_NOTES_SHARE * ledger.counts().notes))
    common = keyword.terms(CONCEPT_NOTES_LEAST)
    for word, notes in sorted(common, key=lambda entry: (-entry[1], entry[0])):
        is_specific = notes <= limit and word not in names and not is_unspaced(word) and _is_word(word)
        if is_specific and content_terms(word, keyword.language):
            yield word, notes


def _is_word(word: str) -> bool:
    """True if ``word`` consists of letters and is long enough for a concept.

    Two letters are enough in scripts without spaces, where pairs of characters serve as words.
    """
    letters = sum(map(str.isalpha, word))
    least = 2 if is_unspaced(word) else CONCEPT_LEAST_CHARS
    return letters == len(word) and least <= letters <= CONCEPT_CHARS and fold(word) not in STOP_WORDS
