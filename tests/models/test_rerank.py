"""A tiny cross-encoder, made and saved here, goes through the real loading code and the real worker."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from tiny_models import save_cross_encoder
from vaultseek.errors import ConfigError, WorkerUnavailable
from vaultseek.models import rerank
from vaultseek.models.catalogue import find_model
from vaultseek.worker import SemanticWorker, WorkerSettings

pytestmark = pytest.mark.model
TEXTS = ["one passage", "another one", ""]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained cross-encoder of 32 dimensions, as sentence-transformers saves it."""
    return save_cross_encoder(tmp_path_factory.mktemp("models") / "tiny-reranker")


@pytest.fixture
async def worker() -> AsyncIterator[SemanticWorker]:
    model = find_model("hashing")
    made = SemanticWorker(model, settings=WorkerSettings(stores="memory"))
    await made.ready()
    yield made
    await made.stop()


def test_one_score_a_text_between_nothing_and_one(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rerank.load(str(folder))
        scores = model.score("what is it?", TEXTS)
    assert scores.shape == (3,)
    assert ((scores > 0) & (scores < 1)).all()
    assert np.allclose(scores[:1], model.score("what is it?", TEXTS[:1]), atol=1e-5)
    assert model.score("nothing to score", []).shape == (0,)
    assert model.score("\ud800", ["lone \udcff surrogate"]).shape == (1,)


def test_what_is_missing_or_could_run_code_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="vaultseek models fetch cross-encoder/none"):
        rerank.load("cross-encoder/none")
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ConfigError, match="could run code"):
        rerank.load(str(tmp_path))


async def test_the_worker_reranks_and_queries_do_not_wait_for_it(
    worker: SemanticWorker, folder: Path
) -> None:
    with pytest.raises(WorkerUnavailable, match="in time"):
        await worker.rerank("q", TEXTS, str(folder), deadline=0.01)
    assert (await worker.embed(["meanwhile"], urgent=True)).shape == (1, 64)
    scores = await worker.rerank("q", TEXTS, str(folder), deadline=60)
    assert scores.shape == (3,)
    with pytest.raises(WorkerUnavailable, match="models fetch"):
        await worker.rerank("q", TEXTS, "no/such-model", deadline=60)
    assert worker.state.restarts == 0
