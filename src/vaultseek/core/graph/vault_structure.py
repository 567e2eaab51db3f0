"""The structure of an open vault's links, computed by another process and kept until the links change."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import numpy as np

from vaultseek.base.child_process import ChildEnded, ChildProcess
from vaultseek.base.limits import STRUCTURE_SECONDS
from vaultseek.core.graph.structure_values import Structure
from vaultseek.errors import Unavailable
from vaultseek.store.graph import Graph
from vaultseek.store.ledger import Ledger

COMMAND = (sys.executable, "-P", "-m", "vaultseek.core.graph.structure_process")


class VaultStructure:
    """The structure of one vault. Thread-safe: whoever asks meanwhile waits for the same process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: tuple[int, Structure] | None = None

    def of(self, graph: Graph, ledger: Ledger) -> Structure:
        """Return the structure of the graph as it is. Raises Unavailable if its process fails."""
        with self._lock:
            version = graph.version
            if self._kept is None or self._kept[0] != version:
                self._kept = version, _computed(graph, ledger)
            return self._kept[1]


def _computed(graph: Graph, ledger: Ledger) -> Structure:
    rows = ledger.select(_NAMES)
    places = {row[0]: place for place, row in enumerate(rows)}
    edges = sorted(
        (places[one], places[other]) for one, other in graph.edges() if one in places and other in places
    )
    process = ChildProcess(COMMAND, stderr=subprocess.DEVNULL)
    try:
        names = [f"{title} {_texts(headings)}" for _, title, headings in rows]
        process.send({"names": names}, np.array(edges, np.int64).tobytes())
        answer, _ = process.receive(STRUCTURE_SECONDS)
    except ChildEnded:
        raise Unavailable("the structure of the links could not be computed; try again") from None
    finally:
        process.end()
    ids = [row[0] for row in rows]
    return Structure(
        [[ids[place] for place in cluster] for cluster in answer["clusters"]],
        answer["words"],
        {ids[place]: rank for place, rank in answer["ranks"]},
        [(ids[place], share) for place, share in answer["bridges"]],
        answer["components"],
    )


def _texts(headings: str) -> str:
    return "" if headings == "[]" else " ".join(each[1] for each in json.loads(headings))


_NAMES = "SELECT id, title, headings FROM notes ORDER BY path"
"""In an order that is the same for each index of the same notes, so that the structure is."""
