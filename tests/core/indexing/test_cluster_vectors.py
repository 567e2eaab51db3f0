"""Texts that a cluster embeds beside the worker: the index is the same whatever the cluster does."""

import asyncio

import numpy as np
import pytest

from fresh_index import IndexHere, fresh_answers
from vaultseek.semantic.inference.embed import HashingEncoder

NOTES = {
    "boat/pump.md": "# Pump\n\nThe float switch of the bilge pump sticks.\n\n## Spare\n\nA valve seal.",
    "boat/anchor.md": "---\ntags: [boat]\n---\n# Anchor\n\nRust on the anchor chain.",
    "copy.md": "# Pump\n\nThe float switch of the bilge pump sticks.",
    "quartz.md": "A quartz clock.",
    "empty.md": "",
}
START = (0, 0)


class Cluster:
    """A cluster that embeds as the worker does."""

    def __init__(self, embedding):
        self.embedding = embedding
        self.position = START

    async def take(self, limit):
        texts, self.position = await self.embedding.texts_after(self.position, limit)
        return texts

    def vectors(self, texts):
        return dict(zip(texts, HashingEncoder().encode(list(texts.values())), strict=True))


@pytest.fixture
def world(vault, tmp_path):
    root = vault(NOTES)
    index = IndexHere(root, tmp_path / "index")
    yield root, index
    index.close()


async def read(index):
    await index.vault.in_writer(index.vault.indexer.load)
    await reread(index)
    await index.vault.embedding.open()


async def reread(index):
    await index.vault.in_writer(lambda: index.vault.indexer.apply(index.vault.indexer.reconcile()))


async def finish(index):
    while await index.vault.embedding.step():
        pass
    assert index.vault.ledger.counts().pending == 0


def computed(index):
    return index.vault.ledger.vectors.embeddings_computed()


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_the_index_of_a_cluster_is_that_of_the_worker(world, tmp_path, limit):
    root, index = world

    async def history():
        await read(index)
        cluster, keys = Cluster(index.vault.embedding), []
        while texts := await cluster.take(limit):
            assert len(texts) <= limit
            keys += texts
            assert await cluster.embedding.keep(cluster.vectors(texts)) <= len(texts)
        assert len(set(keys)) == computed(index) > 5
        index.worker.embed = None  # the worker has nothing left to do
        await finish(index)

    asyncio.run(history())
    assert index.answers() == fresh_answers(root, tmp_path / "fresh")


def test_a_text_is_computed_once_though_the_worker_had_it_at_hand(world):
    _, index = world

    async def history():
        await read(index)
        cluster = Cluster(index.vault.embedding)
        texts = await cluster.take(100)
        await cluster.embedding._queue.fill()  # composed before the cluster's vectors arrive
        await cluster.embedding.keep(cluster.vectors(texts))
        await finish(index)
        assert computed(index) == len(texts)

    asyncio.run(history())


def test_a_cluster_that_goes_away_leaves_the_rest_to_the_worker(world, tmp_path):
    root, index = world

    async def history():
        await read(index)
        cluster = Cluster(index.vault.embedding)
        first = await cluster.take(3)
        await cluster.take(3)
        assert await cluster.embedding.keep(cluster.vectors(first)) == 3
        await finish(index)
        assert computed(index) == len(index.vault.ledger.select("SELECT key FROM vectors"))

    asyncio.run(history())
    assert index.answers() == fresh_answers(root, tmp_path / "fresh")


def test_a_note_that_changes_while_its_text_is_away_gets_the_vector_of_its_new_text(world, tmp_path):
    root, index = world

    async def history():
        await read(index)
        cluster = Cluster(index.vault.embedding)
        texts = await cluster.take(100)
        (root / "quartz.md").write_text("# Sundial\n\nA clock without quartz.")
        (root / "boat/anchor.md").rename(root / "boat/kedge.md")
        (root / "copy.md").unlink()
        await reread(index)
        await cluster.embedding.keep(cluster.vectors(texts))
        await finish(index)

    asyncio.run(history())
    assert index.answers() == fresh_answers(root, tmp_path / "fresh")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda vector: vector[:-1],
        lambda vector: vector * 2,
        lambda vector: vector * np.nan,
        lambda vector: vector[None],
        lambda vector: vector[:0],
    ],
)
def test_a_vector_that_is_not_of_the_model_is_computed_by_the_worker(world, tmp_path, wrong):
    root, index = world
    index.worker.state = index.worker.state.__class__("ready", dimension=HashingEncoder().dimension)

    async def history():
        await read(index)
        cluster = Cluster(index.vault.embedding)
        texts = await cluster.take(100)
        vectors = cluster.vectors(texts)
        first = next(iter(vectors))
        given = {**vectors, first: wrong(vectors[first]), "another model:x": vectors[first]}
        assert await cluster.embedding.keep(given) == len(texts) - 1
        assert await cluster.embedding.keep(given) == 0
        await finish(index)

    asyncio.run(history())
    assert not index.vault.ledger.select("SELECT key FROM vectors WHERE key LIKE 'another%'")
    assert index.answers() == fresh_answers(root, tmp_path / "fresh")
