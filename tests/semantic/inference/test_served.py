"""An embedding server of the user's own: what it is told, what it may do wrong, and what stays secret."""

import gc
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embedding_server import POISON, EmbeddingServer, embedding_server
from vaultseek.base import limits
from vaultseek.errors import ConfigError, WorkerUnavailable
from vaultseek.semantic.inference import rerank, served
from vaultseek.semantic.inference.embed import HashingEncoder, embed
from vaultseek.semantic.inference.served import ServedEncoder, ServedReranker
from vaultseek.semantic.models.choice import choose_models, counter_of
from vaultseek.semantic.models.service import Service

CLASS = "served_models.OverHttp"
KEY = "sk-a-secret-that-nobody-reads"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


@pytest.fixture
def encoder(
    server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., ServedEncoder]:
    monkeypatch.setattr(served, "RETRY_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(served, "DOWN_SECONDS", (0.0,))

    def make(class_name: str = CLASS, **settings: Any) -> ServedEncoder:
        options = settings.pop("options", {"base_url": server.url, "model_name": "m"})
        service = Service(class_name, json.dumps(options), **settings)
        return ServedEncoder(service, tmp_path / "known.json")

    return make


def pause() -> None:
    """Stand for the pause between batches of background work."""


def test_texts_go_in_batches_and_come_back_as_unit_vectors(server, encoder):
    texts = [f"note number {number}" for number in range(10)]
    vectors = encoder(batch=4).encode(texts, pause=pause)
    assert server.requests == [1, 4, 4, 2]  # the first is the greeting
    np.testing.assert_allclose(vectors, HashingEncoder(32).encode(texts), atol=1e-4)


def test_a_busy_server_is_asked_again(server, encoder):
    model = encoder()
    assert model.dimension == 32
    server.failures = 2
    assert model.encode(["patience"], pause=pause).shape == (1, 32)


def test_a_text_that_the_server_refuses_fails_alone(server, encoder):
    done = embed(encoder(), ["fine", f"a {POISON} text", "fine too"], pause=pause)
    assert [index for index, _ in done.failed] == [1]
    assert np.isfinite(done.vectors[[0, 2]]).all()
    assert "secret" not in str(done.failed)


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_a_server_that_refuses_everything_costs_no_text(server, encoder, status):
    model = encoder()
    assert model.dimension == 32
    server.status = status
    with pytest.raises(WorkerUnavailable, match="the server does not answer"):
        embed(model, ["one", "two"], pause=pause)
    server.status = 200
    assert not embed(model, ["one", "two"], pause=pause).failed


def test_a_server_that_gives_zeros_for_everything_costs_no_text(server, encoder):
    model = encoder()
    assert model.dimension == 32
    server.zeros = 1_000
    with pytest.raises(WorkerUnavailable, match="zeros"):
        embed(model, ["one", "two"], pause=pause)
    with pytest.raises(WorkerUnavailable, match="zeros"):
        encoder().encode(["a first text"], pause=pause)
    server.zeros = 0
    assert not embed(model, ["one", "two"], pause=pause).failed


@pytest.mark.parametrize("requests", [1, 2, 3])
def test_a_server_that_recovers_while_it_is_examined_costs_no_text(server, encoder, requests):
    model = encoder()
    assert model.dimension == 32
    server.zeros = requests
    for _ in range(3):
        try:
            assert not embed(model, ["one", "two"], pause=pause).failed
        except WorkerUnavailable:
            continue
        break
    else:
        raise AssertionError("it did not recover")


def test_a_server_that_is_gone_is_not_waited_for(server, encoder, monkeypatch):
    model = encoder()
    assert model.dimension == 32
    monkeypatch.setattr(served, "DOWN_SECONDS", (60.0,))
    monkeypatch.setattr(served, "QUERY_SECONDS", 0.1)
    server.seconds = 5.0
    with pytest.raises(WorkerUnavailable, match="it took too long"):
        model.encode(["a question"], query=True)
    asked = len(server.requests)
    with pytest.raises(WorkerUnavailable):
        model.encode(["another one"], query=True)
    assert len(server.requests) == asked


def test_what_was_computed_before_the_server_went_is_kept(server, encoder):
    model = encoder(batch=1)
    texts = ["first", "second", "third"]

    def pause_and_break() -> None:
        if len(server.requests) == 3:
            server.status = 500

    with pytest.raises(WorkerUnavailable):
        model.encode(texts, pause=pause_and_break)
    server.status, server.requests[:] = 200, []
    model.encode(texts, pause=pause)
    assert server.requests == [1]


def test_a_server_that_begins_late_tells_its_dimension_then(server, encoder):
    server.status = 500
    model = encoder()
    with pytest.raises(WorkerUnavailable):
        _ = model.dimension
    server.status = 200
    assert model.dimension == 32


def test_another_model_behind_the_same_address_is_noticed(server, encoder):
    assert encoder().dimension == 32
    server.encoder = HashingEncoder(16)
    with pytest.raises(WorkerUnavailable, match=r"model\.revision"):
        encoder().encode(["a text"], pause=pause)


def test_the_identity_is_that_of_the_model_not_of_the_way_to_it():
    def fingerprint(**options: Any) -> str:
        return Service(CLASS, json.dumps(options)).fingerprint

    here, there = (
        fingerprint(model_name="m", base_url="http://a"),
        fingerprint(model_name="m", base_url="http://b"),
    )
    assert here == there != fingerprint(model_name="n", base_url="http://a")
    assert Service(CLASS, revision="2").fingerprint != Service(CLASS).fingerprint


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"base_url": "http://user:pass@10.0.0.5:8000/v1?k=s"},
            "http://10.0.0.5:8000/v1 (out of this machine",
        ),
        ({"base_url": "http://localhost:11434"}, "http://localhost:11434 (on this machine"),
        ({}, "wherever OverHttp sends it"),
    ],
)
def test_the_destination_is_named_without_secrets(options, words):
    destination = Service(CLASS, json.dumps(options)).destination
    assert words in destination
    assert "pass" not in destination


def test_the_key_comes_from_the_environment_or_a_private_file(server, encoder, tmp_path, monkeypatch):
    monkeypatch.setenv("THE_KEY", KEY)
    assert encoder(key_variable="THE_KEY").dimension == 32
    assert server.keys == {KEY}
    file = tmp_path / "key"
    file.write_text("from-a-file\n")
    file.chmod(0o600)
    assert encoder(key_file=str(file)).dimension == 32
    assert "from-a-file" in server.keys
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        encoder(key_file=str(file))
    with pytest.raises(ConfigError, match="not set"):
        encoder(key_variable="NO_SUCH_KEY")


def test_the_key_is_in_no_error(server, encoder, monkeypatch):
    monkeypatch.setenv("THE_KEY", KEY)
    model = encoder(key_variable="THE_KEY")
    assert model.dimension == 32
    server.status = 401
    with pytest.raises(WorkerUnavailable) as caught:
        model.encode(["a text"], pause=pause)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("class_name", "options", "words"),
    [
        ("served_models.Nothing", {}, "cannot be imported"),
        ("llama_index.embeddings.nosuch.NoSuch", {}, "pip install llama-index-embeddings-nosuch"),
        ("pathlib.Path", {}, "not derived from LlamaIndex's BaseEmbedding"),
        ("nonsense", {}, "no class"),
        (CLASS, {"base_url": 5}, "cannot be made"),
        (CLASS, {"base_url": "http://a", "api_key": "s"}, "hold a secret"),
        (CLASS, {"default_headers": {"Authorization": "Bearer s"}}, r"default_headers\.Authorization"),
        (CLASS, {"default_headers": {"X-Api-Key": "s"}}, "key_file"),
        (CLASS, {"more": [{"headers": {"X-Mine": "Bearer s"}}]}, "hold a secret"),
    ],
)
def test_settings_that_cannot_be_used_say_what_to_do(encoder, class_name, options, words):
    with pytest.raises(ConfigError, match=words):
        encoder(class_name, options=options)


def test_a_served_model_takes_the_place_of_all_others():
    service = Service(CLASS, window=100)
    choice = choose_models("auto", "auto", service)
    assert (choice.main.name, choice.main.window, choice.second) == ("OverHttp", 100, None)
    assert counter_of(choice.main)("two words") == 2
    assert choose_models("auto", "auto", Service(CLASS, '{"api_key": "x"}')).main.fault


def test_a_served_reranker_scores_every_text(server):
    model = ServedReranker(Service("served_models.RerankedOverHttp", json.dumps({"base_url": server.url})))
    scores = rerank.TimedReranker(model).score("green tea", ["black coffee", "green tea leaves", "tea"])
    assert scores.argsort().tolist() == [0, 2, 1]
    assert ((scores >= 0) & (scores <= 1)).all()
    server.status = 500
    with pytest.raises(WorkerUnavailable):
        rerank.TimedReranker(model).score("green tea", ["tea"])


TEI = "llama_index.postprocessor.tei_rerank.TextEmbeddingInference"
OLLAMA = ("llama_index.embeddings.ollama.OllamaEmbedding", {"model_name": "m", "base_url": ""})
OPENAI = ("llama_index.embeddings.openai_like.OpenAILikeEmbedding", {"model_name": "m", "api_base": "/v1"})


@pytest.mark.parametrize(("class_name", "options"), [OLLAMA, OPENAI])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # sockets of the libraries
def test_the_classes_of_the_documentation(server, encoder, monkeypatch, class_name, options):
    monkeypatch.setenv("THE_KEY", KEY)
    of_key = {"key_variable": "THE_KEY"} if "openai" in class_name else {}
    texts = ["black coffee", "green tea leaves"]
    model = encoder(class_name, options=addressed(server, options), **of_key)
    np.testing.assert_allclose(model.encode(texts, pause=pause), HashingEncoder(32).encode(texts), atol=1e-4)
    assert server.url in model.computing
    if of_key:
        assert KEY in server.keys
    del model
    gc.collect()


def addressed(server: EmbeddingServer, options: dict[str, str]) -> dict[str, str]:
    return {key: server.url + value if value != "m" else value for key, value in options.items()}


@pytest.mark.fault("K10")
@pytest.mark.parametrize(
    ("class_name", "options"), [(CLASS, {"base_url": ""}), OLLAMA, OPENAI], ids=["urllib", "httpx", "httpx2"]
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # sockets of the libraries
def test_an_answer_without_end_and_a_redirect_are_refused(server, encoder, class_name, options):
    model = encoder(class_name, options=addressed(server, options))
    assert model.dimension == 32
    server.endless = True
    for query in (False, True):
        with pytest.raises(WorkerUnavailable, match="its answer has more than"):
            model.encode(["a text"], query=query, pause=None if query else pause)
    server.endless = False
    assert server.sent < 16 * limits.MIB
    with embedding_server() as elsewhere:
        server.redirect = elsewhere.url
        for query in (False, True):
            with pytest.raises(WorkerUnavailable, match="redirects to another address"):
                model.encode(["a text"], query=query, pause=None if query else pause)
        with pytest.raises(WorkerUnavailable, match="redirects"):
            encoder(class_name, options=addressed(server, options)).encode(["a text"], pause=pause)
        assert not elsewhere.requests
    server.redirect = ""
    assert model.encode(["a text"], pause=pause).shape == (1, 32)
    del model
    gc.collect()


@pytest.mark.fault("K10")
def test_an_answer_that_drips_holds_no_thread(server, encoder, monkeypatch):
    model = encoder(seconds=0.2)
    assert model.dimension == 32
    monkeypatch.setattr(served, "QUERY_SECONDS", 0.2)
    server.drips = True
    for _ in range(5):
        with pytest.raises(WorkerUnavailable, match="took too long"):
            model.encode(["a text"], pause=pause)
    server.drips = False
    monkeypatch.undo()
    assert model.encode(["a text"], pause=pause).shape == (1, 32)


@pytest.mark.fault("K10")
def test_a_reranker_without_end_and_its_redirect_are_refused(server):
    options = json.dumps({"base_url": server.url, "model_name": "m"})
    for name in (TEI, "served_models.RerankedOverHttp"):
        for behaviour, words in ((("endless", True), "more than"), (("redirect", server.url), "redirects")):
            model = ServedReranker(Service(name, options))
            setattr(server, *behaviour)
            with pytest.raises(WorkerUnavailable, match=words):
                rerank.TimedReranker(model).score("green tea", ["tea"])
            server.endless, server.redirect = False, ""
    assert not server.requests


def test_the_reranker_of_the_documentation(server):
    model = ServedReranker(Service(TEI, json.dumps({"base_url": server.url, "model_name": "m"})))
    scores = rerank.TimedReranker(model).score("green tea", ["black coffee", "green tea leaves", "tea"])
    assert scores.argsort().tolist() == [0, 2, 1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # sockets of the libraries
def test_what_a_server_answered_is_told_though_its_class_would_try_for_minutes(server, encoder):
    server.status = 500
    options = {"api_base": f"{server.url}/v1", "model_name": "m"}
    model = encoder("llama_index.embeddings.openai_like.OpenAILikeEmbedding", options=options, seconds=5.0)
    with pytest.raises(WorkerUnavailable, match="500"):
        model.encode(["one"], pause=pause)
