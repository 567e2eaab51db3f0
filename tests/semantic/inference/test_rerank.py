"""A tiny cross-encoder, made and saved here, goes through the real loading code and the real worker."""

from __future__ import annotations

import json
import shutil
import threading
import time
import warnings
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tiny_models import save_cross_encoder
from vaultseek.errors import ConfigError, WorkerUnavailable
from vaultseek.semantic.inference import rerank
from vaultseek.semantic.inference.bert_pairs import Batch, BertReranker
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.worker import SemanticWorker, WorkerSettings

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
        scores = rerank.score(model, "what is it?", TEXTS)
    assert scores.shape == (3,)
    assert ((scores > 0) & (scores < 1)).all()
    assert np.allclose(scores[:1], rerank.score(model, "what is it?", TEXTS[:1]), atol=1e-5)
    assert rerank.score(model, "nothing to score", []).shape == (0,)
    assert rerank.score(model, "\ud800", ["lone \udcff surrogate"]).shape == (1,)


def test_a_bert_model_scores_as_in_sentence_transformers(folder: Path) -> None:
    texts = [
        "one passage",
        "",
        "ein Satz über Äpfel",
        *(f"stone {i} and rope " * i for i in range(1, 260, 13)),
    ]
    query = "which rope holds a stone? " * 3
    model = rerank.load(str(folder))
    assert isinstance(model, BertReranker)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = rerank.score(rerank.SentenceReranker(folder), query, texts)
    assert np.abs(rerank.score(model, query, texts) - reference).max() < 1e-5


def test_other_models_are_left_to_the_library(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rerank.load(str(copy))
        assert isinstance(model, rerank.SentenceReranker)
        assert rerank.score(model, "q", TEXTS, until=time.monotonic() + 60).shape == (3,)


def test_at_the_deadline_there_are_the_scores_so_far() -> None:
    scores = rerank.score(Slow(), "q", ["a", "b", "c"], until=time.monotonic() + 0.2)
    Slow.goes_on.set()
    assert scores[0] == 0.5
    assert np.isnan(scores[1:]).all()


class Slow:
    """A cross-encoder whose second batch takes for ever."""

    threads = 1
    goes_on = threading.Event()

    def batches(self, query: str, texts: Sequence[str]) -> list[Batch]:
        def late() -> np.ndarray:
            self.goes_on.wait(60)
            return np.full(1, 0.5)

        return [Batch([0], lambda: np.full(1, 0.5)), Batch([1], late), Batch([2], late)]


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
    with pytest.raises(WorkerUnavailable, match="still being loaded") as late:
        await worker.rerank("q", TEXTS, str(folder), deadline=0.0001)
    assert late.value.cause == "loading"
    assert (await worker.embed(["meanwhile"], urgent=True)).shape == (1, 64)
    scores = await worker.rerank("q", TEXTS, str(folder), deadline=60)
    assert scores.shape == (3,)
    with pytest.raises(WorkerUnavailable, match="models fetch"):
        await worker.rerank("q", TEXTS, "no/such-model", deadline=60)
    assert worker.state.restarts == 0
