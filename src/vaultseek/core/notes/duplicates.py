"""Find pairs of nearly identical notes, ranked by shared text and similarity in meaning.

Pairs are ranked without a threshold; no pair is declared a duplicate. Text is compared by **shingles**, runs
of words (Broder 1997). A shingle found in many notes belongs to a template and is ignored; the rarer a
shingle is, the more it counts.
"""

import asyncio
import hashlib
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vaultseek.base.model import JSON, Reason
from vaultseek.base.text import UNSPACED, fold_case
from vaultseek.content.kinds import kind_of
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.notes.read import about
from vaultseek.errors import IndexDamaged, Unavailable
from vaultseek.store.ledger import Ledger

SHINGLE_WORDS = 5
"""Number of words in a shingle."""
TEMPLATE_NOTES = 20
"""Minimum number of notes in which a shingle must occur to count as part of a template."""
OWN_SHINGLES = 10
"""Number of additional unique shingles that each note is assumed to have, so that short notes must share more
text to be similar."""
COMPARED_NOTES = 20_000
"""Maximum size of a vault, in notes, at which all notes are compared in meaning. In larger vaults, only notes
that share text are compared."""
NEAREST_NOTES = 5
"""Number of notes compared with each note: those nearest in meaning."""
VECTORS_AT_ONCE = 2_000
_ROWS_AT_ONCE = 1_000

Pair = tuple[int, int]
Ids = npt.NDArray[np.int64]


class Likeness(NamedTuple):
    """Similarity of two notes, from 0 to 1: the share of text in common, and the cosine of their vectors."""

    text: float
    meaning: float

    @property
    def score(self) -> float:
        """Mean of the text similarity and the cosine."""
        return (self.text + self.meaning) / 2


async def duplicates(vault: SearchedVault, limit: int) -> JSON:
    """Return the ``limit`` most similar pairs of notes, best first, with their similarities."""
    copies: defaultdict[bytes, list[int]] = defaultdict(list)
    shared = await asyncio.to_thread(shared_text, _texts(vault.ledger, copies))
    same = _identical(copies.values())
    vectors, reason = await _vectors(vault)
    return await asyncio.to_thread(_answer, vault.ledger, same, shared, vectors, reason, limit)


def _identical(copies: Iterable[Sequence[int]]) -> set[Pair]:
    """Return the pairs of notes with the same content, each further copy paired with the first copy."""
    pairs: set[Pair] = set()
    for first, *others in copies:
        pairs.update((first, other) for other in others)
        if len(others) < TEMPLATE_NOTES:
            pairs.update(itertools.combinations(others, 2))
    return pairs


def _texts(ledger: Ledger, copies: defaultdict[bytes, list[int]]) -> Iterator[tuple[int, str]]:
    """Yield the id and text of each note that has any text. Add the id of every note to ``copies``, under the
    key of its content.
    """
    sql = (
        "SELECT n.id, n.path, n.hash, n.properties, c.text, c.edits FROM notes n"
        " LEFT JOIN chunks c ON c.note = n.id WHERE n.size > 0 ORDER BY n.id, c.ordinal"
    )
    for note, group in itertools.groupby(ledger.select(sql), key=itemgetter(0)):
        rows = list(group)
        copies[_content(rows)].append(note)
        if rows[0][4] is not None:
            yield note, "\n".join(row[4] for row in rows)


def _content(rows: Sequence[Sequence[Any]]) -> bytes:
    """Return a key for the content of a note: from its text if it has any, otherwise from its bytes.

    Line ends, a byte order mark and trailing blank lines are ignored.
    """
    _, path, digest, properties, text, _ = rows[0]
    if kind_of(path) != "note" or (text is None and properties == "{}"):
        return bytes(digest)
    parts = [properties, *(part for row in rows if row[4] is not None for part in row[4:])]
    whole = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=20).digest()


def shared_text(notes: Iterable[tuple[int, str]]) -> dict[Pair, float]:
    """Return how much text each pair of ``notes`` has in common, from 0 to 1.

    This is the mean of two shares: the common text as a share of both texts together, and as a share of the
    shorter text. Pairs without common text are left out.
    """
    ids, hashes = _shingles(notes)
    if not len(ids):
        return {}
    population = len(np.unique(ids))
    _, group, sizes = np.unique(hashes, return_inverse=True, return_counts=True)
    rarity = np.where(sizes < TEMPLATE_NOTES, np.log((population + 1) / sizes), 0.0)
    weights = dict(enumerate(np.bincount(ids, rarity[group]).tolist()))
    own = OWN_SHINGLES * math.log(population + 1)
    shares: dict[Pair, float] = {}
    for pair, weight in _shared_weights(ids, group, sizes, rarity).items():
        first, second = (weights[note] + own for note in pair)
        shares[pair] = (weight / (first + second - weight) + weight / min(first, second)) / 2
    return shares


def _shared_weights(ids: Ids, group: Ids, sizes: Ids, rarity: npt.NDArray[np.float64]) -> dict[Pair, float]:
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(sizes)
    weights: dict[Pair, float] = {}
    for shingle in np.flatnonzero((sizes > 1) & (sizes < TEMPLATE_NOTES)).tolist():
        having = sorted(ids[order[ends[shingle] - sizes[shingle] : ends[shingle]]].tolist())
        for pair in itertools.combinations(having, 2):
            weights[pair] = weights.get(pair, 0.0) + float(rarity[shingle])
    return weights


def _shingles(notes: Iterable[tuple[int, str]]) -> tuple[Ids, Ids]:
    ids: list[Ids] = []
    hashes: list[Ids] = []
    for note, text in notes:
        words = _WORD.findall(fold_case(text))
        runs = zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False)
        own = np.fromiter({hash(run) for run in runs}, np.int64)
        ids.append(np.full(len(own), note, np.int64))
        hashes.append(own)
    if not ids:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.concatenate(ids), np.concatenate(hashes)


_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")


async def _vectors(vault: SearchedVault) -> tuple[dict[int, Any], Reason | None]:
    reason = vault.spaces.reason()
    vectors: dict[int, Any] = {}
    ids = vault.ledger.notes.ids() if reason is None else []
    try:
        for start in range(0, len(ids), VECTORS_AT_ONCE):
            vectors |= await vault.spaces.note_vectors(ids[start : start + VECTORS_AT_ONCE])
    except (Unavailable, IndexDamaged) as error:
        reason = Reason.of(error)
    return vectors, reason


def nearest_pairs(vectors: Mapping[int, Any]) -> Iterator[Pair]:
    """Yield a pair of ids, the lower first, for each note and each of its nearest notes in meaning."""
    ids = np.array(sorted(vectors), np.int64)
    if len(ids) < 2 or len(ids) > COMPARED_NOTES:
        return
    matrix = np.array([vectors[note] for note in ids.tolist()], np.float32)
    most = min(NEAREST_NOTES, len(ids) - 1)
    for start in range(0, len(ids), _ROWS_AT_ONCE):
        rows = np.arange(start, min(start + _ROWS_AT_ONCE, len(ids)))
        cosines = matrix[rows] @ matrix.T
        cosines[np.arange(len(rows)), rows] = -1.0
        best = np.argpartition(-cosines, most - 1, axis=1)[:, :most]
        for row, others in zip(rows.tolist(), best.tolist(), strict=True):
            for other in others:
                first, second = sorted((int(ids[row]), int(ids[other])))
                yield first, second


def _answer(
    ledger: Ledger,
    same: Set[Pair],
    shared: Mapping[Pair, float],
    vectors: Mapping[int, Any],
    reason: Reason | None,
    limit: int,
) -> JSON:
    pairs = {*same, *shared, *nearest_pairs(vectors)}
    alike = {
        pair: Likeness(1.0, 1.0) if pair in same else Likeness(shared.get(pair, 0.0), _cosine(pair, vectors))
        for pair in pairs
    }
    best = sorted(alike, key=lambda pair: (-alike[pair].score, pair))[:limit]
    notes = ledger.notes.by_id(sorted({note for pair in best for note in pair}))
    listed = [
        {
            "rank": rank,
            "score": round(alike[pair].score, 4),
            "text": round(alike[pair].text, 4),
            "meaning": round(alike[pair].meaning, 4),
            "notes": [about(row) for row in sorted((notes[note] for note in pair), key=attrgetter("path"))],
        }
        for rank, pair in enumerate(best, start=1)
        if all(note in notes for note in pair)
    ]
    partial = [] if reason is None else [{"lane": "semantic", **reason.as_json()}]
    return {"pairs": listed, "count": len(listed), "total": len(alike), "partial": partial}


def _cosine(pair: Pair, vectors: Mapping[int, Any]) -> float:
    first, second = (vectors.get(note) for note in pair)
    if first is None or second is None:
        return 0.0
    return max(0.0, min(1.0, float(np.dot(first.astype(np.float32), second.astype(np.float32)))))
