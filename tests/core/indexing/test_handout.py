"""Texts embedded by a client in place of the worker: the index is the same, whatever the client does."""

import asyncio

import numpy as np
import pytest

from fresh_index import IndexHere, fresh_answers
from vaultseek.core.indexing.handout import is_unit_vector
from vaultseek.errors import Unavailable
from vaultseek.semantic.inference.embed import HashingEncoder

NOTES = {
    "boat/pump.md": "# Pump\n\nThe float switch of the bilge pump sticks.\n\n## Spare\n\nA valve seal.",
    "boat/anchor.md": "---\ntags: [boat]\n---\n# Anchor\n\nRust on the anchor chain.",
    "copy.md": "# Pump\n\nThe float switch of the bilge pump sticks.",
    "quartz.md": "A quartz clock.",
    "empty.md": "",
}


class Client:
    """A client that embeds as the worker does."""

    def __init__(self, embedding):
        self._embedding = embedding
        self._encoder = HashingEncoder()

    def vectors(self, texts):
        rows = self._encoder.encode(list(texts.values()))
        return dict(zip(texts, rows, strict=True))

    async def work(self, limit=2):
        """Embed whatever is handed out, with the steps of the store between."""
        while (texts := await self._embedding.handout.take(limit)) or await self._embedding.step():
            if texts:
                await self._embedding.handout.submit(self.vectors(texts), ())


@pytest.fixture
def world(vault, tmp_path):
    root = vault(NOTES)
    index = IndexHere(root, tmp_path / "index")
    index.tmp_path = tmp_path
    yield root, index
    index.close()


async def read(index):
    await index.vault.in_writer(index.vault.indexer.load)
    await reread(index)
    await index.vault.embedding.open()


async def reread(index):
    await index.vault.in_writer(lambda: index.vault.indexer.apply(index.vault.indexer.reconcile()))


def is_complete(index):
    return index.vault.ledger.counts().pending == 0


def test_the_index_of_a_client_is_that_of_the_worker(world, tmp_path):
    root, index = world

    async def history():
        await read(index)
        with index.vault.embedding.handout.opened():
            await Client(index.vault.embedding).work()
        index.worker.embed = None  # nothing is left for it
        assert not await index.vault.embedding.step()

    asyncio.run(history())
    assert is_complete(index)
    assert index.answers() == fresh_answers(root, tmp_path / "fresh")


def test_each_text_is_handed_out_once_and_only_while_somebody_waits(world):
    _, index = world
    embedding = index.vault.embedding

    async def history():
        await read(index)
        with pytest.raises(Unavailable, match="nobody waits"):
            await embedding.handout.take(5)
        with embedding.handout.opened():
            keys = []
            while texts := await embedding.handout.take(2):
                keys += texts
                assert not await embedding.step()
            assert len(keys) == len(set(keys)) > 5
            assert not is_complete(index)
        with pytest.raises(Unavailable, match="nobody waits"):
            await embedding.handout.submit({}, ())

    asyncio.run(history())


def test_a_client_that_goes_away_leaves_the_rest_to_the_worker(world, tmp_path):
    root, index = world
    embedding = index.vault.embedding

    async def history():
        await read(index)
        with embedding.handout.opened():
            client = Client(embedding)
            first = await embedding.handout.take(3)
            await embedding.handout.take(3)
            assert await embedding.handout.submit(client.vectors(first), ()) == 3
        while await embedding.step():
            pass
        texts = {key for (key,) in index.vault.ledger.select("SELECT key FROM vectors")}
        assert index.vault.ledger.vectors.embeddings_computed() == len(texts), "none was computed twice"

    asyncio.run(history())
    assert index.answers() == fresh_answers(root, tmp_path / "fresh")


def test_a_note_that_changes_while_its_text_is_out_gets_the_vector_of_its_new_text(world, tmp_path):
    root, index = world
    embedding = index.vault.embedding

    async def history():
        await read(index)
        with embedding.handout.opened():
            client = Client(embedding)
            texts = await embedding.handout.take(100)
            (root / "quartz.md").write_text("# Sundial\n\nA clock without quartz.")
            (root / "boat/anchor.md").rename(root / "boat/kedge.md")
            (root / "copy.md").unlink()
            await reread(index)
            await embedding.handout.submit(client.vectors(texts), ())
            await client.work()

    asyncio.run(history())
    assert is_complete(index)
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
def test_a_vector_that_is_none_of_the_model_is_computed_by_the_worker(world, tmp_path, wrong):
    root, index = world
    embedding = index.vault.embedding
    index.worker.state = index.worker.state.__class__("ready", dimension=HashingEncoder().dimension)

    async def history():
        await read(index)
        with embedding.handout.opened():
            client = Client(embedding)
            while texts := await embedding.handout.take(100):
                vectors = client.vectors(texts)
                first = next(iter(vectors))
                kept = await embedding.handout.submit(
                    {**vectors, first: wrong(vectors[first]), "unasked": vectors[first]}, ()
                )
                assert kept == len(texts) - 1
            while await embedding.step():
                pass

    asyncio.run(history())
    assert is_complete(index)
    assert not index.vault.ledger.select("SELECT key FROM vectors WHERE key = 'unasked'")
    assert index.answers() == fresh_answers(root, tmp_path / "fresh")


def test_texts_that_a_client_refuses_are_embedded_by_the_worker(world, tmp_path):
    root, index = world
    embedding = index.vault.embedding

    async def history():
        await read(index)
        with embedding.handout.opened():
            while texts := await embedding.handout.take(3):
                await embedding.handout.submit({}, list(texts))
            while await embedding.step():
                pass

    asyncio.run(history())
    assert is_complete(index)
    assert index.answers() == fresh_answers(root, tmp_path / "fresh")


def test_a_unit_vector_has_the_length_one():
    assert is_unit_vector(np.array([0.6, 0.8], np.float32), 2)
    assert is_unit_vector(np.array([0.6, 0.8], np.float32), None)
    assert not is_unit_vector(np.array([0.6, 0.8], np.float32), 3)
    assert not is_unit_vector(np.array([0.5, 0.8], np.float32), 2)
