"""The file of a shard in the folder of its index: the name, and marks that its own writing has left."""

import json
import re
import threading
import uuid
from pathlib import Path

from vaultseek.base import paths
from vaultseek.errors import Unavailable

RUNS = 10
"""Last runs that are remembered."""
_values: dict[Path, dict[str, list[str]]] = {}
"""The files by path, in case a folder is deleted while its vault is open."""
_open: dict[str, Path] = {}
"""The open shards, by place and name."""
_lock = threading.Lock()


class ShardFile:
    """A file in the folder of an index.

    ``runs``: the last runs of the program that wrote to the shard from this folder. ``stamps``: the marks
    that the last write has left, before and after it.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "shard"
        self._value = known = _values.get(self._file, {})
        try:
            self._value = {key: list(map(str, each)) for key, each in paths.read_json(self._file).items()}
        except (OSError, ValueError, AttributeError, TypeError):
            if known:
                self.write()
        self._earlier = known.get("runs", [])

    @property
    def name(self) -> str:
        """The name of the shard, "" before there is one."""
        return next(iter(self._value.get("name", ())), "")

    @property
    def runs(self) -> list[str]:
        """The last runs, the latest first."""
        return [*self._value.get("runs", []), *self._earlier]

    @property
    def stamps(self) -> list[str]:
        """The marks of the last write, of which the shard has one."""
        return self._value.get("stamps", [])

    def give_name(self, vault: str) -> str:
        """Return the name of the shard, which stays when the vault is renamed; make one if need be."""
        if not self.name:
            plain = re.sub(r"[^A-Za-z0-9]+", "-", vault)[:40].strip("-") or "vault"
            self.write(name=[f"{plain}-{uuid.uuid4().hex[:12]}"])
        return self.name

    def write(self, **values: list[str]) -> None:
        """Write the file with these values changed."""
        self._value |= values
        _values[self._file] = self._value
        paths.private_directory(self._file.parent)
        paths.write_atomically(self._file, json.dumps(self._value))

    def open(self, place: str, shard: str) -> None:
        """Mark the shard as open. Raises Unavailable if it is open from another folder: one is a copy."""
        folder = self._file.parent
        with _lock:
            other = _open.setdefault(f"{place} {shard}", folder)
        if other != folder:
            _values.pop(self._file, None)
            raise Unavailable(
                f"this index is a copy of the one in {other.parent}: both are the shard {shard}; "
                f"delete {folder.parent}, and it is made anew",
                "unavailable",
            )

    def close(self) -> None:
        """Mark the shard as closed."""
        with _lock:
            for shard in [shard for shard, folder in _open.items() if folder == self._file.parent]:
                del _open[shard]
