"""Entry point of a process that computes the structure of a link graph, so that searches do not wait for it.

Run as ``python -P -m vaultseek.core.graph.structure_process``, by ``VaultStructure`` only, for one graph.
"""

from dataclasses import asdict

import numpy as np

from vaultseek.base.child_process import apply_child_limits, read, reserve_pipes, write
from vaultseek.core.graph.structure import bridges_of, structure_of

_NICENESS = 5


def main() -> None:
    """Read the names of the notes, or for bridges their number, and the links, and write the answer."""
    incoming, outgoing = reserve_pipes()
    apply_child_limits(_NICENESS)
    frame = read(incoming)
    if frame is None:
        return
    edges = np.frombuffer(frame[1], np.int64).reshape(-1, 2)
    if "names" in frame[0]:
        structure = asdict(structure_of(frame[0]["names"], edges))
        structure["ranks"] = list(structure["ranks"].items())  # the keys of JSON are texts
        write(outgoing, structure)
    else:
        write(outgoing, {"bridges": bridges_of(frame[0]["notes"], edges)})


if __name__ == "__main__":
    main()
