"""The concepts of one vault with their vectors, in ``concept_vocabulary.json`` beside the ledger.

A cache like the other indexes: what is damaged, foreign or of another model counts as not there, and is made
again. Vectors are kept as float16, which moves a cosine by less than a thousandth.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vaultseek.limits import CONCEPT_CHARS, CONCEPT_FILE_BYTES, CONCEPT_TERMS
from vaultseek.models.encoder import Vectors
from vaultseek.paths import write_atomically

FILE_NAME = "concept_vocabulary.json"
VERSION = 1
_UNIT_TOLERANCE = 0.01


class Concept(NamedTuple):
    """A term of the vault that is near in meaning: its cosine, and how many notes it is in."""

    term: str
    similarity: float
    notes: int


@dataclass(frozen=True, slots=True)
class ConceptVocabulary:
    """Terms with the number of notes that each is in; row ``i`` of ``vectors`` is the i-th term's."""

    model: str
    """Fingerprint of the model that the vectors are of."""
    terms: Mapping[str, int]
    vectors: Vectors

    @classmethod
    def made(cls, model: str, terms: Mapping[str, int], vectors: Mapping[str, Any]) -> ConceptVocabulary:
        """Of those terms that have a vector, as precise as the file keeps it."""
        kept = {term: notes for term, notes in terms.items() if term in vectors}
        rows = [np.asarray(vectors[term], np.float16) for term in kept]
        matrix = np.stack(rows).astype(np.float32) if rows else np.zeros((0, 0), np.float32)
        return cls(model, kept, matrix)

    @property
    def by_term(self) -> dict[str, Vectors]:
        """The vector of each term."""
        return dict(zip(self.terms, self.vectors, strict=True))

    def nearest(self, vector: Vectors, floor: float) -> Iterator[Concept]:
        """The concepts whose cosine to the unit vector is ``floor`` or more, best first.

        Raises ValueError for a vector of another length.
        """
        if not self.terms:
            return
        similarities = self.vectors @ vector
        above = np.flatnonzero(similarities >= floor)
        names = list(self.terms)
        for at in above[np.argsort(-similarities[above], kind="stable")].tolist():
            yield Concept(names[at], float(similarities[at]), self.terms[names[at]])


def read_vocabulary(file: Path, model: str) -> ConceptVocabulary | None:
    """The vocabulary in the file; None if there is none that can be used with the model."""
    try:
        with file.open("rb") as stream:
            data = stream.read(CONCEPT_FILE_BYTES + 1)
        told = json.loads(data) if len(data) <= CONCEPT_FILE_BYTES else {}
        if told["version"] != VERSION or told["model"] != model:
            return None
        entries = [_entry(entry) for entry in told["terms"][:CONCEPT_TERMS]]
        terms = {term: notes for term, notes, _ in entries}
        vocabulary = ConceptVocabulary.made(model, terms, {term: vector for term, _, vector in entries})
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return vocabulary if _is_sound(vocabulary) else None


def write_vocabulary(vocabulary: ConceptVocabulary, file: Path) -> None:
    """Replace the file at once. Raises OSError and leaves the old one as it was."""
    rows = vocabulary.vectors.astype("<f2")
    entries = [
        {"term": term, "notes": notes, "vector": base64.b64encode(row.tobytes()).decode("ascii")}
        for (term, notes), row in zip(vocabulary.terms.items(), rows, strict=True)
    ]
    head = {"version": VERSION, "model": vocabulary.model, "dimension": int(rows.shape[1])}
    write_atomically(file, json.dumps({**head, "terms": entries}, ensure_ascii=False, indent=0))


def _entry(entry: Any) -> tuple[str, int, NDArray[np.float16]]:
    term, notes = entry["term"], entry["notes"]
    if not isinstance(term, str) or not isinstance(notes, int) or not 0 < len(term) <= CONCEPT_CHARS:
        raise ValueError("no concept")
    return term, notes, np.frombuffer(base64.b64decode(entry["vector"], validate=True), "<f2")


def _is_sound(vocabulary: ConceptVocabulary) -> bool:
    lengths = np.linalg.norm(vocabulary.vectors, axis=1)
    return bool((np.abs(lengths - 1.0) < _UNIT_TOLERANCE).all())
