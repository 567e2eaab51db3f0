"""A tiny cross-encoder, created and saved here, in the real loading code and the real worker."""

import json
import shutil
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tiny_models import save_cross_encoder
from vaultseek.errors import ConfigError, WorkerUnavailable, advise
from vaultseek.semantic.inference import rerank
from vaultseek.semantic.inference.bert_pairs import Batch, BertReranker
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.worker import SemanticWorker

pytestmark = pytest.mark.model
TEXTS = ["one passage", "another one", ""]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained cross-encoder of 32 dimensions, as sentence-transformers saves it."""
    return save_cross_encoder(tmp_path_factory.mktemp("models") / "tiny-reranker")


@pytest.fixture
async def worker() -> AsyncIterator[SemanticWorker]:
    model = find_model("hashing")
    made = SemanticWorker(
        model,
    )
    await made.ready()
    yield made
    await made.stop()


def test_one_score_a_text_between_nothing_and_one(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rerank.load(str(folder))
        scores = rerank.TimedReranker(model).score("what is it?", TEXTS)
    assert scores.shape == (3,)
    assert ((scores > 0) & (scores < 1)).all()
    assert np.allclose(scores[:1], rerank.TimedReranker(model).score("what is it?", TEXTS[:1]), atol=1e-5)
    assert rerank.TimedReranker(model).score("nothing to score", []).shape == (0,)
    assert rerank.TimedReranker(model).score("\ud800", ["lone \udcff surrogate"]).shape == (1,)


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
        reference = rerank.TimedReranker(rerank.SentenceReranker(folder)).score(query, texts)
    assert np.abs(rerank.TimedReranker(model).score(query, texts) - reference).max() < 1e-5


def test_other_models_are_left_to_the_library(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rerank.load(str(copy))
        assert isinstance(model, rerank.SentenceReranker)
        assert rerank.TimedReranker(model).score("q", TEXTS, until=time.monotonic() + 60).shape == (3,)


class Steady:
    """A cross-encoder that takes this many seconds per pair, on its own clock."""

    threads = 1
    all_at_once = False

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.now = 0.0
        self.pairs = 0

    def monotonic(self) -> float:
        return self.now

    def batches(self, query: str, texts: Sequence[str]) -> list[Batch]:
        def one() -> np.ndarray:
            self.now += self.seconds
            self.pairs += 1
            return np.full(1, 0.5)

        return [Batch([place], one) for place in range(len(texts))]


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> Steady:
    model = Steady(0.05)
    monkeypatch.setattr(rerank, "time", model)
    return model


def test_what_fits_the_limit_is_read(steady: Steady) -> None:
    scores = rerank.TimedReranker(steady).score("q", ["text"] * 5, until=0.45)
    assert np.isfinite(scores).all()
    assert (steady.pairs, steady.now) == (5, pytest.approx(0.25))


@pytest.mark.fault("I9")
@pytest.mark.parametrize("slower", [1, 1.5, 2])
def test_no_pair_is_begun_that_does_not_fit(steady: Steady, slower: float) -> None:
    model = rerank.TimedReranker(steady)
    model.score("q", ["text"], until=1)
    steady.now, steady.seconds = 0.0, steady.seconds * slower
    scores = model.score("q", ["text"] * 40, until=0.7)
    read = int(np.isfinite(scores).sum())
    assert np.isfinite(scores[:read]).all()
    assert 0.5 <= steady.now <= 0.7
    assert steady.pairs == read + 1


@pytest.mark.fault("I9")
async def test_a_model_of_which_no_pair_fits_is_asked_for_none(
    steady: Steady, until: Callable[[Callable[[], bool]], Awaitable[None]]
) -> None:
    steady.seconds = 2.0
    model = rerank.TimedReranker(steady)
    model.score("q", ["text"], until=0.7)
    steady.now = began = 10.0
    assert np.isnan(model.score("q", ["text"] * 10, until=began + 0.7)).all()
    # It is measured again after the answer, and used again when the machine is less busy.
    steady.seconds = 0.01
    await until(lambda: steady.pairs == 2)
    await until(lambda: np.isfinite(model.score("q", ["text"] * 10, until=steady.now + 0.7)).all())


def test_what_is_missing_or_could_run_code_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'cross-encoder/none' is not on this machine; fetch it"):
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
    with pytest.raises(WorkerUnavailable, match="fetch it") as missing:
        await worker.rerank("q", TEXTS, "no/such-model", deadline=60)
    assert missing.value.advice == advise("fetch", "no/such-model")
    assert worker.state.restarts == 0
