"""Compute the link structure of an open vault in a separate process, and cache it until links change."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np

from vaultseek.base.child_process import ChildEnded, ChildProcess
from vaultseek.base.limits import STRUCTURE_SECONDS
from vaultseek.base.model import JSON
from vaultseek.core.graph.structure import Bridges, Structure
from vaultseek.errors import Unavailable
from vaultseek.store.graph import Graph
from vaultseek.store.ledger import Ledger

T = TypeVar("T")
COMMAND = (sys.executable, "-P", "-m", "vaultseek.core.graph.structure")


class VaultStructure:
    """Link structure of one vault. Thread-safe: concurrent callers wait for the same process."""

    def __init__(self) -> None:
        self.of = _Kept(_structure).of
        """Function that returns the structure of the current graph. Raises Unavailable if the process
        fails."""
        self.bridges = _Kept(_bridges).of
        """Function that returns the bridges, which take longest to compute. Raises Unavailable if the process
        fails."""


class _Kept(Generic[T]):
    """A value that is computed again once links have changed."""

    def __init__(self, compute: Callable[[Graph, Ledger], T]) -> None:
        self._compute = compute
        self._lock = threading.Lock()
        self._kept: tuple[int, T] | None = None

    def of(self, graph: Graph, ledger: Ledger) -> T:
        with self._lock:
            version = graph.version
            if self._kept is None or self._kept[0] != version:
                self._kept = version, self._compute(graph, ledger)
            return self._kept[1]


def _structure(graph: Graph, ledger: Ledger) -> Structure:
    rows = ledger.select(_NAMES)
    ids = [row[0] for row in rows]
    names = [f"{title} {_texts(headings)}" for _, title, headings in rows]
    answer = _answer({"names": names}, ids, graph)
    return Structure(
        [[ids[place] for place in cluster] for cluster in answer["clusters"]],
        [
            words or [rows[cluster[0]][1]]
            for cluster, words in zip(answer["clusters"], answer["words"], strict=True)
        ],
        {ids[place]: rank for place, rank in answer["ranks"]},
        answer["components"],
    )


def _bridges(graph: Graph, ledger: Ledger) -> Bridges:
    ids = [row[0] for row in ledger.select(_NAMES)]
    answer = _answer({"notes": len(ids)}, ids, graph)
    return [(ids[place], share) for place, share in answer["bridges"]]


def _answer(question: JSON, ids: Sequence[int], graph: Graph) -> JSON:
    places = {id: place for place, id in enumerate(ids)}
    edges = sorted(
        (places[one], places[other]) for one, other in graph.edges() if one in places and other in places
    )
    process = ChildProcess(COMMAND, stderr=subprocess.DEVNULL)
    try:
        process.send(question, np.array(edges, np.int64).tobytes())
        answer: JSON = process.receive(STRUCTURE_SECONDS)[0]
    except ChildEnded:
        raise Unavailable("the link structure could not be computed; try again") from None
    finally:
        process.end()
    return answer


def _texts(headings: str) -> str:
    return "" if headings == "[]" else " ".join(each[1] for each in json.loads(headings))


_NAMES = "SELECT id, title, headings FROM notes ORDER BY path"
"""SQL query for all notes, ordered by path. This order does not depend on the index, so the same notes always
have the same structure."""
