"""The concept vocabulary of a vault: which of its terms are concepts, and keeping their vectors up to date.

It serves the expansion of queries and is made only when that is asked for: by the settings, or by a request.
From then on it follows the notes in the background, at a distance: a vocabulary changes little from one save
to the next, and to choose it means to look through all words of the vault.
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
from typing import Any

import numpy as np

from vaultseek.errors import Unavailable
from vaultseek.index.concept_vocabulary import (
    FILE_NAME,
    Concept,
    ConceptVocabulary,
    read_vocabulary,
    write_vocabulary,
)
from vaultseek.index.keyword.index import KeywordIndex
from vaultseek.index.ledger import Ledger
from vaultseek.limits import (
    BATCH_TEXTS,
    CONCEPT_CHARS,
    CONCEPT_TERMS,
    EMBED_RETRY_SECONDS,
    EMBED_SECONDS,
    RETRY_SECONDS,
)
from vaultseek.query.profile import find_identifiers
from vaultseek.query.stopwords import STOP_WORDS
from vaultseek.text import fold, is_unspaced
from vaultseek.worker import SemanticWorker

CONCEPT_NAMES = 2_000
"""Tags, titles and aliases among them, unless words leave more room."""
CONCEPT_WORDS = 5
CONCEPT_LEAST_CHARS = 3
CONCEPT_NOTES_LEAST = 2
CONCEPT_NOTES_SHARE = 0.1
"""A word of more notes than this share tells nothing."""
CONCEPT_QUIET_SECONDS = 2.0
"""Changes are collected for so long before it is asked whether there are enough of them."""
CONCEPT_CHANGED_SHARE = 0.05
CONCEPT_REFRESH_SECONDS = 600.0
"""Fewer changed notes than that share are taken in after so long."""

log = logging.getLogger(__name__)
BEING_MADE = "the concept vocabulary is being made; ask again in a moment"


class Concepts:
    """One vault's concept vocabulary, kept in ``place``. ``keyword`` is the keyword index as it is now."""

    def __init__(
        self,
        place: Path,
        model: str,
        ledger: Ledger,
        keyword: Callable[[], KeywordIndex],
        worker: SemanticWorker,
    ) -> None:
        self.wake = asyncio.Event()
        self.wanted = False
        self.problem: str | None = None
        """Why it could not be brought up to the ledger the last time, None if it could."""
        self._file = place / FILE_NAME
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

    def want(self) -> None:
        """Somebody asks for it: from now on it is kept."""
        if not self.wanted:
            self.wanted = True
            self.wake.set()

    async def near(self, text: str, vector: Any, count: int, floor: float) -> list[Concept]:
        """Up to ``count`` concepts nearest to the unit vector of the text, each ``floor`` near or nearer.

        Each brings a word that neither the text nor a nearer one has, by their stems. Raises Unavailable
        while there is no vocabulary.
        """
        self.want()
        await self._read()
        vocabulary = self._vocabulary
        if vocabulary is None:
            failed = f"the concept vocabulary cannot be made: {self.problem}"
            raise Unavailable(failed) if self.problem else Unavailable(BEING_MADE, "being_built")
        try:
            return list(_fresh(vocabulary.nearest(vector, floor), text, self._keyword(), count))
        except ValueError:
            self._distrust()
            raise Unavailable(BEING_MADE, "being_built") from None

    async def refresh(self) -> None:
        """Bring it up to the ledger: only new terms are embedded, and those that left are dropped.

        Raises WorkerUnavailable or IndexDamaged, and leaves everything as it was then.
        """
        async with self._refreshing:
            await self._read()
            revision, notes = self._ledger.revision, self._ledger.counts().notes
            if revision == self._revision:
                return
            terms = await asyncio.to_thread(chosen_terms, self._ledger, self._keyword())
            before = self._vocabulary
            try:
                vocabulary = await self._with_vectors(terms, before.by_term if before is not None else {})
            except ValueError:  # what was kept is of another length, whatever model it names
                vocabulary = await self._with_vectors(terms, {})
            self._vocabulary, self._revision, self._notes = vocabulary, revision, notes
            self._made = time.monotonic()
            if before is None or vocabulary.terms != before.terms:
                await self._write(vocabulary)

    def due_in(self) -> float | None:
        """Seconds until it is worth the while to refresh it, as things are; None if nothing has changed."""
        if self._revision < 0:
            return 0.0
        if self._revision == self._ledger.revision:
            return None
        notes = self._ledger.counts().notes
        enough = int(CONCEPT_CHANGED_SHARE * notes) + 1
        changed = len(self._ledger.notes.changed_since(self._revision, enough)) + abs(notes - self._notes)
        return 0.0 if changed >= enough else max(0.0, self._made + CONCEPT_REFRESH_SECONDS - time.monotonic())

    @property
    def is_made(self) -> bool:
        """Whether there is a vocabulary, if only an old one."""
        return self._vocabulary is not None

    async def _read(self) -> None:
        async with self._reading:
            if not self._was_read:
                self._vocabulary = await asyncio.to_thread(read_vocabulary, self._file, self._model)
                self._was_read = True

    async def _with_vectors(self, terms: dict[str, int], known: dict[str, Any]) -> ConceptVocabulary:
        new = await self._embedded([term for term in terms if term not in known])
        return ConceptVocabulary.build(self._model, terms, {**known, **new})

    async def _embedded(self, terms: list[str]) -> dict[str, Any]:
        """Vectors of the terms, in batches between which other background work has its turn."""
        found: dict[str, Any] = {}
        for at in range(0, len(terms), BATCH_TEXTS):
            batch = terms[at : at + BATCH_TEXTS]
            matrix = await self._worker.embed(batch, deadline=EMBED_SECONDS)
            found.update(
                (term, row) for term, row in zip(batch, matrix, strict=True) if np.isfinite(row).all()
            )
        return found

    async def _write(self, vocabulary: ConceptVocabulary) -> None:
        """Without the file the next start makes it again; that is all."""
        try:
            await asyncio.to_thread(write_vocabulary, vocabulary, self._file)
        except OSError as error:
            log.warning("the concept vocabulary cannot be written to %s: %s", self._file, error)

    def _distrust(self) -> None:
        """A file whose vectors are not of the model that it names: begin anew."""
        self._vocabulary, self._revision = None, -1
        self.wake.set()


async def follow(concepts: Concepts, is_settled: Callable[[], bool]) -> None:
    """Keep a vocabulary that is wanted for ever, as far as ``is_settled``: passages are embedded first.

    ``concepts.wake`` says that notes may have changed.
    """
    patience: float | None = None
    pause = EMBED_RETRY_SECONDS
    while True:
        await _woken(concepts.wake, patience)
        patience = None
        if not concepts.wanted:
            continue
        try:
            while not is_settled():
                await asyncio.sleep(RETRY_SECONDS)
            if concepts.is_made:
                await asyncio.sleep(CONCEPT_QUIET_SECONDS)
            concepts.wake.clear()
            patience = await asyncio.to_thread(concepts.due_in)
            if patience == 0.0:
                await concepts.refresh()
                patience = None
            concepts.problem, pause = None, EMBED_RETRY_SECONDS
        except Exception as error:
            problem = str(error) or type(error).__name__
            if problem != concepts.problem:
                log.warning("the concept vocabulary is not up to date: %s; trying again", problem)
            concepts.problem = problem
            # Also if notes change meanwhile: to choose the terms again costs more than it is likely to bring.
            await asyncio.sleep(pause)
            pause, patience = min(2 * pause, CONCEPT_REFRESH_SECONDS), 0.0


async def _woken(wake: asyncio.Event, patience: float | None) -> None:
    try:
        async with asyncio.timeout(patience):
            await wake.wait()
    except TimeoutError:
        return
    wake.clear()


def chosen_terms(ledger: Ledger, keyword: KeywordIndex) -> dict[str, int]:
    """The vault's concepts and how many notes each is in; at most ``CONCEPT_TERMS``.

    * Names come first, because a writer chose them: tags, those of many notes first; then titles and aliases,
      those of notes that many others link to first. They take half of the places at most, so that a vault of
      ten thousand titles has room for what it is about.
    * Words follow, the commonest first, as far as they tell notes apart: a word of one note leads nowhere
      that its own passages do not, and a word of every tenth note leads everywhere.

    Names of more than a few words are sentences, and their notes have vectors of their own; identifiers and
    dates are found by words alone.
    """
    named = (found for found in _names(ledger) if _is_name(found[0], keyword))
    names = dict(islice(named, CONCEPT_TERMS))
    words = dict(islice(_words(ledger, keyword, {fold(name) for name in names}), CONCEPT_TERMS))
    room = max(CONCEPT_NAMES, CONCEPT_TERMS - len(words))
    chosen = dict(list(names.items())[:room])
    return chosen | dict(list(words.items())[: CONCEPT_TERMS - len(chosen)])


def _fresh(nearest: Iterable[Concept], text: str, keyword: KeywordIndex, count: int) -> Iterator[Concept]:
    """The first ``count`` of them that say something new; none for numbers and codes, which are not near."""
    if not any(map(_is_word, text.split())):
        return
    said = keyword.content_terms(text)
    for concept in nearest:
        if count <= 0:
            return
        words = keyword.content_terms(concept.term)
        if not words <= said:
            said |= words
            count -= 1
            yield concept


def _names(ledger: Ledger) -> Iterator[tuple[str, int]]:
    """Tags, then titles and aliases, the weightiest first; each once, however it is spelled."""
    seen: set[str] = set()
    for name, notes in (*_tags(ledger), *_titles(ledger)):
        if fold(name) not in seen:
            seen.add(fold(name))
            yield name, notes


def _tags(ledger: Ledger) -> Iterator[tuple[str, int]]:
    rows = ledger.select("SELECT tag, COUNT(*) FROM tags GROUP BY tag ORDER BY 2 DESC, 1")
    yield from ((_spaced(tag), notes) for tag, notes in rows)


def _titles(ledger: Ledger) -> Iterator[tuple[str, int]]:
    """Each name of a note, with the number of notes that are called so."""
    called: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    rows = ledger.select(
        "SELECT title, aliases FROM notes LEFT JOIN"
        " (SELECT resolved, COUNT(DISTINCT note) AS links FROM links GROUP BY resolved) ON resolved = path"
        " ORDER BY COALESCE(links, 0) DESC, path"
    )
    for title, aliases in rows:
        names = {fold(name): _spaced(name) for name in (*json.loads(aliases), title)}
        called.update(names.keys())
        for folded, name in names.items():
            spelled.setdefault(folded, name)
    yield from ((name, called[folded]) for folded, name in spelled.items() if name)


def _spaced(name: str) -> str:
    """A name as words: ``work/sump-pumps`` is ``work sump pumps``."""
    return " ".join(name.translate(_JOINTS).split())


_JOINTS = str.maketrans("/_-", "   ")


def _is_name(name: str, keyword: KeywordIndex) -> bool:
    """Whether a name is a few words that mean something, and not an identifier or a date alone."""
    if not name.isprintable() or len(name) > CONCEPT_CHARS or len(name.split()) > CONCEPT_WORDS:
        return False
    if find_identifiers(name):
        return False
    return any(_is_word(word) for word in name.split()) and bool(keyword.content_terms(name))


def _words(ledger: Ledger, keyword: KeywordIndex, taken: set[str]) -> Iterator[tuple[str, int]]:
    most = max(CONCEPT_NOTES_LEAST, int(CONCEPT_NOTES_SHARE * ledger.counts().notes))
    common = keyword.terms(CONCEPT_NOTES_LEAST)
    for word, notes in sorted(common, key=lambda found: (-found[1], found[0])):
        tells = notes <= most and word not in taken and not is_unspaced(word) and _is_word(word)
        if tells and keyword.content_terms(word):
            yield word, notes


def _is_word(word: str) -> bool:
    """Pairs of characters stand for words in scripts without spaces, so that two are enough there."""
    letters = sum(map(str.isalpha, word))
    enough = letters >= (2 if is_unspaced(word) else CONCEPT_LEAST_CHARS)
    return enough and letters == len(word) and len(word) <= CONCEPT_CHARS and fold(word) not in STOP_WORDS
