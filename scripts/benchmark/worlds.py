"""Data, indexed vaults with a daemon, and references, which rows share; created on first use."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmark.daemon import Daemon, Home
from benchmark.figures import TURNS_SECONDS
from benchmark.notes import GeneratedNotes, Texts, copy_notes
from benchmark.references import SentenceTransformers, WhooshIndex
from vaultseek.client import Client
from vaultseek.semantic.inference.embed import load
from vaultseek.semantic.models.catalogue import BUNDLED

T = TypeVar("T")
SMALL = "vaults/silverbullet"
LARGE = "scale/tldr"
LARGE_NOTES = 38_430
QUERIES = 200
WARM_SECONDS = 60.0
SAMPLE = 2_000
"""Number of passages of a large vault that are really embedded. The vectors of the other passages are copies
of these, with noise."""
PASSAGES_A_NOTE = 5
PASSAGE_WORDS = 90
"""Minimum number of words in a section, because shorter sections would share a passage."""
FILTERED_PASSAGES = 100_000


class World:
    """A vault and its index in separate directories; ``daemon`` runs while the world is in use."""

    def __init__(self, folder: Path, model: str | None = None) -> None:
        self.folder = folder
        self.home = Home(folder / "home", model)
        self.vault = folder / "vault"
        self.daemon: Daemon | None = None
        self._client: Client | None = None
        self.counts: dict[str, Any] = {}
        """Report of `Bench.seed` on the index: notes, passages, missed neighbours."""
        self.incomplete = 0

    @cached_property
    def texts(self) -> Texts:
        """Texts of the notes, for queries."""
        return Texts(self.vault)

    @property
    def client(self) -> Client:
        """A connection to the daemon, which is started if it is not running."""
        if self.daemon is None:
            self.daemon = Daemon(self.home)
        if self._client is None:
            self._client = self.daemon.client()
        return self._client

    def search(self, query: str, mode: str = "hybrid", **params: Any) -> dict[str, Any]:
        """Return the daemon's answer; ``incomplete`` counts incomplete answers."""
        request = {"query": query, "vault": str(self.vault), "mode": mode, "limit": 10, **params}
        answer: dict[str, Any] = self.client.call("search", request)
        self.incomplete += bool(answer["partial"])
        return answer

    def warm_up(self) -> None:
        """Search until answers are complete, because a worker that opens its store is too slow at first."""
        queries = self.texts.queries(20, seed=99)
        deadline = time.monotonic() + WARM_SECONDS
        while time.monotonic() < deadline:
            self.incomplete = 0
            for mode in ("hybrid", "keyword"):
                for query in queries:
                    self.search(query, mode)
            if not self.incomplete:
                break

    def searcher(self, mode: str, filters: dict[str, str] | None = None) -> Callable[[str], object]:
        """Return a function that searches in this mode."""
        params = {"filters": filters} if filters else {}
        return lambda query: self.search(query, mode, **params)

    @property
    def notes(self) -> int:
        """The number of notes on disk."""
        return sum(1 for _ in self.vault.rglob("*.md"))

    @property
    def data(self) -> Path:
        """The folder of the vault's index."""
        return next((self.home.folder / "data_home" / "vaultseek" / "vaults").iterdir())

    def index(self) -> None:
        """Index everything, including vectors."""
        self.client.call("index/wait", {"vault": str(self.vault)}, timeout=None)

    def stop(self) -> None:
        """Stop the daemon; the index stays."""
        if self._client is not None:
            self._client.close()
        if self.daemon is not None:
            self.daemon.stop()
        self.daemon = self._client = None


class Bench:
    """The run: its options and the data that rows share. Everything is removed at the end of the ``with``
    block.

    ``quick``: small vaults and few queries. ``full``: the sizes that take an hour. ``before``: another commit
    of the repository, for comparison.
    """

    def __init__(
        self,
        data: Path | None,
        *,
        quick: bool = False,
        full: bool = False,
        before: str = "HEAD",
        say: Callable[[str], None] = print,
    ) -> None:
        self.data = data
        self.quick = quick
        self.full = full
        self.before = before
        self.say = say
        self.queries = 40 if quick else QUERIES
        self.seconds = 10.0 if quick else TURNS_SECONDS
        """Maximum duration of a row's turns in seconds."""
        self.plot: str | None = None
        """The growth plot as SVG, once it is drawn."""
        self._worlds: dict[str, World] = {}
        self._whoosh: dict[str, WhooshIndex] = {}
        self._samples: dict[str, Path] = {}
        self._files = contextlib.ExitStack()

    def __enter__(self) -> Bench:
        self.folder = Path(self._files.enter_context(tempfile.TemporaryDirectory(prefix="vaultseek-bench-")))
        return self

    def __exit__(self, *_: object) -> None:
        self.rest()
        for index in self._whoosh.values():
            index.close()
        self._files.close()

    @cached_property
    def sentence_transformers(self) -> SentenceTransformers:
        """The reference for embedding, loaded once."""
        return SentenceTransformers()

    @cached_property
    def texts(self) -> Texts:
        """Texts of the small vault's notes."""
        folder = self.folder / "sample"
        self.copied(SMALL, folder, None, GeneratedNotes(300, 3))
        return Texts(folder)

    # -- indexed vaults with a running daemon ----------------------------------------------------------

    def small(self) -> World:
        """Return a vault of a few hundred notes, embedded with the bundled model."""
        return self._warm("small", self._make_small)

    def large(self) -> World:
        """Return a vault of 38,430 notes; some of its vectors are real, the others are copies with noise."""
        return self._warm("large", self._make_large)

    def generated(self, passages: int) -> World:
        """Return a vault of generated notes with this many passages, and vectors as in ``large``."""
        return self._warm(f"generated-{passages}", lambda world: self._make_generated(world, passages))

    def new_world(self, name: str, model: str | None = None) -> World:
        """Return a world without notes, after stopping the daemons of all other worlds."""
        self.rest()
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        world = self._worlds[name] = World(folder, model)
        return world

    def forget(self, name: str) -> None:
        """Stop the world's daemon and remove its folder."""
        if world := self._worlds.pop(name, None):
            world.stop()
            shutil.rmtree(world.folder, ignore_errors=True)

    def rest(self) -> None:
        """Stop every daemon, so that the next measurement has the machine to itself."""
        for world in self._worlds.values():
            world.stop()

    # -- data ------------------------------------------------------------------------------------------

    def whoosh(self, world: World) -> WhooshIndex:
        """Return Whoosh's own index of the vault."""
        name = world.folder.name
        if name not in self._whoosh:
            self.say(f"  Whoosh indexes {name}")
            self._whoosh[name] = WhooshIndex(world.vault, world.folder / "whoosh")
        return self._whoosh[name]

    def copied(self, source: str, target: Path, most: int | None, generated: GeneratedNotes) -> int:
        """Fill ``target`` with notes from a data set or with generated ones, and return their number."""
        if self.data is not None and (self.data / source).is_dir():
            return copy_notes(self.data / source, target, most)
        generated.write(target)
        return generated.count

    def seed(self, world: World, *, check: bool = False) -> None:
        """Index the world's vault with vectors like those of a sample of its passages."""
        sample = self._sample(world)
        self.say(f"  vaultseek indexes {world.notes:,} notes")
        words = [sys.executable, "-m", "benchmark.seed", str(world.vault), str(sample)]
        done = subprocess.run(
            words + ["--check"] * check,
            env=world.home.variables,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        world.counts = json.loads(done.stdout)

    def _sample(self, world: World) -> Path:
        """Return a file with real vectors of texts of the world."""
        kind = world.folder.name.partition("-")[0]
        if kind not in self._samples:
            count = 200 if self.quick else SAMPLE
            self.say(f"  the model embeds {count:,} passages")
            vectors = load(BUNDLED).encode(world.texts.short_passages(count))
            self._samples[kind] = self.folder / f"{kind}.npy"
            np.save(self._samples[kind], vectors)
        return self._samples[kind]

    def _warm(self, name: str, make: Callable[[World], None]) -> World:
        world = self._worlds.get(name)
        if world is None:
            world = self.new_world(name)
            make(world)
        if world.daemon is None:
            self.rest()
            world.index()
            world.warm_up()
        return world

    def _make_small(self, world: World) -> None:
        count = 60 if self.quick else None
        self.copied(SMALL, world.vault, count, GeneratedNotes(count or 300, 3))
        self.say(f"  vaultseek indexes {world.notes} notes")
        world.index()

    def _make_large(self, world: World) -> None:
        count = 400 if self.quick else LARGE_NOTES
        self.copied(LARGE, world.vault, count, GeneratedNotes(count))
        self.seed(world)

    def _make_generated(self, world: World, passages: int) -> None:
        GeneratedNotes(passages // PASSAGES_A_NOTE, PASSAGES_A_NOTE, PASSAGE_WORDS).write(world.vault)
        self.seed(world, check=passages <= FILTERED_PASSAGES)
