"""Status of a vault: what its indexing is doing, and how complete its index is."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from vaultseek.base.model import JSON, Problem, Reason, reason_json
from vaultseek.store.ledger import Counts

REPORTED_PROBLEMS = 2000
"""Maximum number of problems reported in one status."""


@dataclass(frozen=True, slots=True)
class Activity:
    """State of a vault's indexing; each change replaces the whole object.

    ``notes_done`` is the number of notes read in the current pass, out of ``notes_total``. ``embed_problem``
    is the reason why vectors cannot be stored.
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
        """Return the number of notes still to be read plus the number of vectors still to be stored."""
        return counts.pending + self.notes_left

    def share(self, counts: Counts, *, vectors: bool = True) -> float:
        """Return the share of indexing that is done, from 0 to 1. It counts the notes read and, with
        ``vectors``, the texts embedded.

        An unread note is assumed to have as many texts as the average note read so far.
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
        """True while notes are being read, or during the first comparison of disk and index."""
        return bool(self.notes_left) or self.state in ("opening", "indexing")

    def full_reason(self, counts: Counts) -> Reason | None:
        """Return the reason for the current state, including why texts cannot be embedded."""
        if not (counts.pending and self.embed_problem):
            return self.reason
        waiting = f"passages cannot be embedded: {self.embed_problem.text}"
        if self.reason is None:
            return Reason(self.embed_problem.code, waiting)
        return Reason(self.reason.code, f"{self.reason.text}; {waiting}")

    def index_json(self, counts: Counts, revision: int | None) -> JSON:
        """Return the ``index`` part of an answer, as JSON."""
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
        """Return an ``index/progress`` notification for the vault ``name``; ``rate`` is in texts per second.

        Without ``vectors``, the progress covers only the notes. ``waiting_for`` is the reason why vectors
        cannot be computed.
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
    """Speed at which texts are embedded, averaged over recent batches."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, int]] = deque(maxlen=20)

    def add(self, texts: int) -> None:
        """Record that a batch of this many texts has just been embedded."""
        self._recent.append((time.monotonic(), texts))

    def per_second(self) -> float:
        """Return the number of texts embedded per second; 0 if none were embedded recently."""
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
        """Return the vault's part of the ``index/status`` answer."""
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
    """Return the estimated seconds until every text is embedded; None while the rate is unknown."""
    return round(counts.pending / rate) if rate else None
