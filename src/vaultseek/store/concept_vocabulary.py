"""Concepts of a vault and their vectors, in ``concept_vocabulary.json`` beside the ledger.

The file is a cache like the other indexes. A file that is damaged, or contains vectors from a different
model, counts as missing and is rebuilt. Vectors are stored as float16, which changes a cosine by less than a
thousandth.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vaultseek.base.limits import CONCEPT_FILE_BYTES
from vaultseek.base.paths import read_json, write_atomically
from vaultseek.semantic.models.encoder import Vectors

FILE_NAME = "concept_vocabulary.json"
VERSION = 2
"""Version of the file's format; a file with a different version is rebuilt."""


class Concept(NamedTuple):
    """A term in the vault that is similar in meaning to a query, with the term's cosine and the number of
    notes that contain the term."""

    term: str
    similarity: float
    notes: int


@dataclass(frozen=True, slots=True)
class ConceptVocabulary:
    """Terms, and the number of notes that contain each term; row ``i`` of ``vectors`` is the vector of the
    i-th term."""

    model: str
    """Fingerprint of the model that computed the vectors."""
    terms: Mapping[str, int]
    vectors: Vectors

    @classmethod
    def build(cls, model: str, terms: Mapping[str, int], vectors: Mapping[str, Any]) -> ConceptVocabulary:
        """Build a vocabulary from the terms that have a vector. The vectors are rounded to float16, as in the
        file."""
        embedded = {term: notes for term, notes in terms.items() if term in vectors}
        rows = [np.asarray(vectors[term], np.float16) for term in embedded]
        matrix = np.stack(rows).astype(np.float32) if rows else np.zeros((0, 0), np.float32)
        return cls(model, embedded, matrix)

    @property
    def by_term(self) -> dict[str, Vectors]:
        """The vectors of the terms, by term."""
        return dict(zip(self.terms, self.vectors, strict=True))

    def nearest(self, vector: Vectors, floor: float) -> Iterator[Concept]:
        """Yield the concepts whose cosine with the unit vector ``vector`` is at least ``floor``, best first.

        Raises ValueError for a vector of a different length.
        """
        if not self.terms:
            return
        similarities = self.vectors @ vector
        above = np.flatnonzero(similarities >= floor)
        names = list(self.terms)
        for row in above[np.argsort(-similarities[above], kind="stable")].tolist():
            yield Concept(names[row], float(similarities[row]), self.terms[names[row]])


def read_vocabulary(file: Path, model: str) -> ConceptVocabulary | None:
    """Read the vocabulary from a file; return None if the file is missing, damaged or from a different
    model."""
    try:
        content = read_json(file, CONCEPT_FILE_BYTES)
        entries = content["terms"]
        if content["version"] != VERSION or content["model"] != model or content["check"] != _check(entries):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    terms = {entry["term"]: entry["notes"] for entry in entries}
    vectors = {entry["term"]: np.frombuffer(base64.b64decode(entry["vector"]), "<f2") for entry in entries}
    return ConceptVocabulary.build(model, terms, vectors)


def write_vocabulary(vocabulary: ConceptVocabulary, file: Path) -> None:
    """Write a vocabulary, replacing the file atomically. On failure, raises OSError; the old file is
    unchanged."""
    rows = vocabulary.vectors.astype("<f2")
    entries = [
        {"term": term, "notes": notes, "vector": base64.b64encode(row.tobytes()).decode("ascii")}
        for (term, notes), row in zip(vocabulary.terms.items(), rows, strict=True)
    ]
    head = {"version": VERSION, "model": vocabulary.model, "check": _check(entries)}
    write_atomically(file, json.dumps({**head, "terms": entries}, ensure_ascii=False, indent=0))


def _check(entries: Any) -> int:
    """Return a checksum of the entries, which detects even a single changed bit."""
    return zlib.crc32(json.dumps(entries).encode())
