"""A segment in memory, of a few notes that are scored for one search and then forgotten."""

from vaultseek.store.keyword.segment import Block, Ints, Segment, Tables, run_indexes


class MemorySegment(Segment):
    """The segment of some documents as ``inverter.invert`` returns it, without a file."""

    def __init__(self, tables: Tables, block: Block) -> None:
        self.tables = tables
        self.types = ("<u4", "<u4")
        self._arrays: dict[str, Ints] = {
            "keys": block.keys,
            "counts": block.counts,
            "positions": block.positions,
        }

    def verify(self) -> None:
        """Do nothing: what is in memory has no checksum."""

    def keys(self) -> Ints:
        """Return the keys of all rows, term by term."""
        return self._arrays["keys"]

    def _positions_at(self, term: int, starts: Ints, sizes: Ints) -> Ints:
        return self.positions(term)[run_indexes(starts, sizes)]

    def _read(self, name: str, first: int, last: int) -> Ints:
        return self._arrays[name][first:last]
