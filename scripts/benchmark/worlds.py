"""What the rows share, made when a row asks for it: data, indexed vaults with a daemon, references."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from benchmark.daemon import Daemon, Home
from benchmark.notes import GeneratedNotes, Texts, copy_notes
from benchmark.references import SentenceTransformers, WhooshIndex
from vaultseek.client import Client

T = TypeVar("T")
SMALL = "vaults/silverbullet"
LARGE = "scale/tldr"
LARGE_NOTES = 38_430
QUERIES = 200


class World:
    """A vault and an index of it in directories of its own; ``daemon`` runs while it is in use."""

    def __init__(self, folder: Path, model: str | None = None) -> None:
        self.folder = folder
        self.home = Home(folder / "home", model)
        self.vault = folder / "vault"
        self.daemon: Daemon | None = None
        self._client: Client | None = None

    @cached_property
    def texts(self) -> Texts:
        """What the notes say, to make queries of."""
        return Texts(self.vault)

    @property
    def client(self) -> Client:
        """A connection to the daemon, which is started if it does not run."""
        if self.daemon is None:
            self.daemon = Daemon(self.home)
        if self._client is None:
            self._client = self.daemon.client()
        return self._client

    def search(self, query: str, mode: str = "hybrid", **params: object) -> dict[str, object]:
        """Return the daemon's answer. Raises AssertionError if a lane was left out."""
        request = {"query": query, "vault": str(self.vault), "mode": mode, "limit": 10, **params}
        answer: dict[str, object] = self.client.call("search", request)
        assert not answer["partial"], answer["partial"]
        return answer

    def searcher(self, mode: str) -> Callable[[str], object]:
        """Return a function that searches in this mode."""
        return lambda query: self.search(query, mode)

    def index(self) -> None:
        """Index everything, vectors included."""
        self.client.call("index/wait", {"vault": str(self.vault)}, timeout=None)

    def stop(self) -> None:
        """Stop the daemon; the index stays."""
        if self._client is not None:
            self._client.close()
        if self.daemon is not None:
            self.daemon.stop()
        self.daemon = self._client = None


class Bench:
    """The run: its options and what rows share. Everything is removed when the ``with`` ends."""

    def __init__(self, data: Path | None, *, quick: bool, say: Callable[[str], None]) -> None:
        self.data = data
        self.quick = quick
        self.say = say
        self.queries = 40 if quick else QUERIES
        self._worlds: dict[str, World] = {}
        self._whoosh: dict[str, WhooshIndex] = {}
        self._files = contextlib.ExitStack()

    def __enter__(self) -> Bench:
        self.folder = Path(self._files.enter_context(tempfile.TemporaryDirectory(prefix="vaultseek-bench-")))
        return self

    def __exit__(self, *_: object) -> None:
        for world in self._worlds.values():
            world.stop()
        for index in self._whoosh.values():
            index.close()
        self._files.close()

    @cached_property
    def sentence_transformers(self) -> SentenceTransformers:
        """The reference for embedding, loaded once."""
        return SentenceTransformers()

    def sample_texts(self) -> Texts:
        """Return texts of the small vault, without a daemon."""
        if "small" in self._worlds:
            return self._worlds["small"].texts
        folder = self.folder / "sample"
        if not folder.is_dir():
            self.copied(SMALL, folder, None, GeneratedNotes(300, 3))
        return Texts(folder)

    def small(self) -> World:
        """Return a vault of a few hundred notes, embedded with the bundled model, with a running daemon."""
        return self._world("small", self._make_small)

    def large(self) -> World:
        """Return a vault of 38,430 notes with a running daemon."""
        return self._world("large", self._make_large)

    def whoosh(self, world: World) -> WhooshIndex:
        """Return Whoosh's own index of the vault."""
        name = world.folder.name
        if name not in self._whoosh:
            self.say(f"Whoosh indexes {name}")
            self._whoosh[name] = WhooshIndex(world.vault, world.folder / "whoosh")
        return self._whoosh[name]

    def new_world(self, name: str, model: str | None = None) -> World:
        """Return a world without notes; the daemons of all others are stopped."""
        self.rest()
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        world = self._worlds[name] = World(folder, model)
        return world

    def rest(self) -> None:
        """Stop every daemon, so that what is measured next has the machine for itself."""
        for world in self._worlds.values():
            world.stop()

    def copied(self, source: str, target: Path, most: int | None, generated: GeneratedNotes) -> int:
        """Fill ``target`` with the notes of a data set, or with generated ones; return their number."""
        if self.data is not None and (self.data / source).is_dir():
            return copy_notes(self.data / source, target, most)
        generated.write(target)
        return generated.count

    def _world(self, name: str, make: Callable[[World], None]) -> World:
        if name in self._worlds:
            world = self._worlds[name]
            if world.daemon is None:
                self.rest()
        else:
            world = self.new_world(name)
            make(world)
        world.client.call("index/wait", {"vault": str(world.vault)}, timeout=None)
        for query in world.texts.queries(20, seed=99):
            world.search(query)
        return world

    def _make_small(self, world: World) -> None:
        count = 60 if self.quick else 300
        count = self.copied(SMALL, world.vault, count if self.quick else None, GeneratedNotes(count, 3))
        self.say(f"vaultseek indexes {count} notes")
        world.index()

    def _make_large(self, world: World) -> None:
        raise NotImplementedError
