"""The activity of a vault's indexing, and how complete its index is."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from vaultseek.base.model import JSON, Problem, Reason, reason_json
from vaultseek.store.ledger import Counts

REPORTED_PROBLEMS = 2000
"""Maximum number of problems in one status."""


@dataclass(frozen=True, slots=True)
class Activity:
    """The state of a vault's indexing; each change replaces the whole object.

    ``notes_done`` of ``notes_total`` notes are read in the current pass; ``embed_problem`` is the reason why
    vectors cannot be stored.
    """

    state: str = "ready"
    reason: Reason | None = None
    notes_done: int = 0
    notes_total: int = 0
    last_change: float | None = None
    embed_problem: Reason | None = None

    @property
    def notes_left(self) -> int:
        """Number of notes in the current pass that have not been read yet."""
        return max(0, self.notes_total - self.notes_done)

    def pending(self, counts: Counts) -> int:
        """Return the number of notes to read plus the number of vectors to store."""
        return counts.pending + self.notes_left

    def share(self, counts: Counts, *, vectors: bool = True) -> float:
        """Return the indexed share, from 0 to 1: notes read and, with ``vectors``, texts embedded.

        Unread notes are assumed to have as many texts as the others.
        """
        texts = counts.notes + counts.chunks if vectors else 0
        of_a_note = texts / counts.notes if counts.notes else 3.0 * vectors
        done = counts.notes + texts - (counts.pending if vectors else 0)
        left = self.notes_left * (1 + of_a_note) + (counts.pending if vectors else 0)
        if not done + left:
            return 0.0 if self.is_reading else 1.0
        return max(0, done) / (max(0, done) + left)

    @property
    def is_reading(self) -> bool:
        """True while notes are read, or during the first comparison of disk and index."""
        return bool(self.notes_left) or self.state in ("opening", "indexing")

    def full_reason(self, counts: Counts) -> Reason | None:
        """Return the reason for the state, including why texts cannot be embedded."""
        if not (counts.pending and self.embed_problem):
            return self.reason
        waiting = f"passages cannot be embedded: {self.embed_problem.text}"
        if self.reason is None:
            return Reason(self.embed_problem.code, waiting)
        return Reason(self.reason.code, f"{self.reason.text}; {waiting}")

    def index_json(self, counts: Counts, revision: int | None) -> JSON:
        """Return the ``index`` part of an answer."""
        return {
            "notes": counts.notes,
            "chunks": counts.chunks,
            "embedded": counts.embedded,
            "pending": self.pending(counts),
            "revision": revision,
            "state": self.state,
            **reason_json(self.full_reason(counts)),
        }

    def progress_json(
        self, name: str, counts: Counts, rate: float, *, vectors: bool = True, waiting_for: str | None = None
    ) -> JSON:
        """Return an ``index/progress`` notification of the vault ``name``; ``rate`` is in texts per second.

        Without ``vectors``, it covers only the notes; ``waiting_for`` is the reason why vectors cannot be
        computed.
        """
        left = vectors and (counts.pending or waiting_for)
        return {
            "vault": name,
            "phase": "reading" if self.is_reading else "embedding" if left else "done",
            "share": round(self.share(counts, vectors=vectors), 4),
            "waiting_for": waiting_for if vectors else None,
            "notes": counts.notes,
            "notes_done": self.notes_done,
            "notes_total": self.notes_total,
            "chunks": counts.chunks,
            "embedded": counts.embedded,
            "pending": self.pending(counts),
            "rate": round(rate, 1),
            "eta_seconds": eta_seconds(counts, rate),
        }


class EmbeddingRate:
    """The speed at which texts are embedded, over the last batches."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, int]] = deque(maxlen=20)

    def add(self, texts: int) -> None:
        """Count a batch that has just been finished."""
        self._recent.append((time.monotonic(), texts))

    def per_second(self) -> float:
        """Return the texts per second; 0 if none were embedded recently."""
        if len(self._recent) < 2 or time.monotonic() - self._recent[-1][0] > 10:
            return 0.0
        seconds = self._recent[-1][0] - self._recent[0][0]
        return sum(count for _, count in list(self._recent)[1:]) / seconds if seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class VaultStatus:
    """A snapshot of a vault and its index."""

    name: str
    path: str
    activity: Activity
    counts: Counts
    embeddings_computed: int
    rate: float
    revision: int
    problems: Sequence[tuple[str, Problem]]
    lanes: JSON
    models: JSON

    def as_json(self) -> JSON:
        """Return the vault's part of ``index/status``."""
        return {
            "name": self.name,
            "path": self.path,
            **self.activity.index_json(self.counts, self.revision),
            "embeddings_computed": self.embeddings_computed,
            "share": round(self.activity.share(self.counts), 4),
            "rate": round(self.rate, 1),
            "eta_seconds": eta_seconds(self.counts, self.rate),
            "last_change": self.activity.last_change,
            "problems": [
                {"path": path, **problem.as_json()} for path, problem in self.problems[:REPORTED_PROBLEMS]
            ],
            "problem_count": len(self.problems),
            "lanes": self.lanes,
            "models": self.models,
        }


def eta_seconds(counts: Counts, rate: float) -> int | None:
    """Return the seconds until every text is embedded, or None while the rate is unknown."""
    return round(counts.pending / rate) if rate else None
