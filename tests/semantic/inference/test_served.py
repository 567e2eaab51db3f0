"""The user's own embedding server: what it is sent, what it may do wrong, and what stays secret."""

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
from vaultseek.semantic.models.service import Service, destination

KEY = "sk-a-secret-that-nobody-reads"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


@pytest.fixture
def encoder(
    server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., ServedEncoder]:
    monkeypatch.setattr(served, "DOWN_SECONDS", (0.0,))

    def make(url: str = "", **settings: Any) -> ServedEncoder:
        return ServedEncoder(Service(url or f"{server.url}/v1", "m", **settings), tmp_path / "known.json")

    return make


def pause() -> None:
    """Stand in for the pause between batches of background work."""


def test_texts_go_in_batches_and_come_back_as_unit_vectors(server, encoder):
    texts = [f"note number {number}" for number in range(10)]
    vectors = encoder(batch=4).encode(texts, pause=pause)
    assert server.requests == [1, 4, 4, 2]  # the first is the greeting
    np.testing.assert_allclose(vectors, HashingEncoder(32).encode(texts), atol=1e-4)


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
@pytest.mark.parametrize("fault", ["zeros", "failures"])
def test_a_server_that_recovers_while_it_is_examined_costs_no_text(server, encoder, fault, requests):
    model = encoder()
    assert model.dimension == 32
    setattr(server, fault, requests)
    for _ in range(requests + 1):
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
    with pytest.raises(WorkerUnavailable, match="the answer took too long"):
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
    here = Service("http://a/v1", "m")
    assert here.fingerprint == Service("https://b", "m", key_file="k", seconds=1).fingerprint
    others = [Service("http://a/v1", "n"), Service("http://a/v1", "m", revision="2")]
    others += [
        Service("http://a/v1", "m", text_prefix="text: "),
        Service("http://a/v1", "m", query_prefix="?"),
    ]
    assert len({here.fingerprint, *(other.fingerprint for other in others)}) == 5


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("http://10.0.0.5:8000/v1", "on another machine"),
        ("http://localhost.example.com/v1", "on another machine"),
        ("http://localhost:11434/v1", "on this machine"),
        ("http://127.0.0.1/v1", "on this machine"),
        ("http://[::1]:1/v1", "on this machine"),
    ],
)
def test_the_destination_says_whether_it_is_here(url, where):
    assert destination(url) == f"{url} ({where})"


def test_the_prefixes_of_the_model_precede_passages_and_questions(server, encoder):
    model = encoder(text_prefix="passage: ", query_prefix="question: ")
    for query, prefix in ((False, "passage: "), (True, "question: ")):
        vectors = model.encode(["the pump"], query=query, pause=None if query else pause)
        np.testing.assert_allclose(vectors, HashingEncoder(32).encode([f"{prefix}the pump"]), atol=1e-4)


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
    monkeypatch.setenv("THE_KEY", f"{KEY}\nX: y")
    with pytest.raises(ConfigError, match="not allowed in a header") as caught:
        encoder(key_variable="THE_KEY")
    assert KEY not in str(caught.value)


def test_a_key_that_is_gone_makes_vectors_late(server, encoder, tmp_path):
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(0o600)
    model = encoder(key_file=str(file))
    assert model.dimension == 32
    file.rename(tmp_path / "elsewhere")
    with pytest.raises(WorkerUnavailable, match="key_file"):
        model.encode(["a text"], pause=pause)
    (tmp_path / "elsewhere").rename(file)
    assert model.encode(["a text"], pause=pause).shape == (1, 32)


def test_the_key_is_in_no_error(server, encoder, monkeypatch):
    monkeypatch.setenv("THE_KEY", KEY)
    model = encoder(key_variable="THE_KEY")
    assert model.dimension == 32
    server.status = 401
    with pytest.raises(WorkerUnavailable) as caught:
        model.encode(["a text"], pause=pause)
    assert KEY not in str(caught.value)


def test_what_a_server_without_a_key_says_is_passed_on_in_one_line(server, encoder):
    server.status = 404
    with pytest.raises(WorkerUnavailable, match=r"404.*often with /v1.*no, not with") as caught:
        encoder().encode(["a text"], pause=pause)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "ftp://a/v1",
        "http://",
        "http://a:0/v1",
        "http://a:70000",
        "http://a/\x00",
        "file:///etc/passwd",
        "http://user:pass@a/v1",
        "http://a/v1?api_key=s",
        "http://a/v1#s",
        "http://[a/v1",
    ],
)
def test_an_address_that_cannot_be_used_says_what_is_expected(url):
    with pytest.raises(ConfigError, match=r'expected the address before .*"http://localhost:11434/v1"'):
        ServedEncoder(Service(url))
    assert choose_models("auto", "auto", Service(url)).main.fault


def test_a_served_model_takes_the_place_of_all_others():
    choice = choose_models("auto", "auto", Service("http://a/v1", "m", window=100))
    assert (choice.main.name, choice.main.window, choice.second) == ("m", 100, None)
    assert counter_of(choice.main)("two words") == 2


NUMBERS = [0.5] * 32
WRONG = [
    [],
    {},
    None,
    5,
    {"data": None},
    {"data": []},
    {"data": [{"index": 0, "embedding": NUMBERS}] * 2},
    {"data": [{"index": 1, "embedding": NUMBERS}]},
    {"data": [{"index": 0, "embedding": NUMBERS[:-1]}]},
    {"data": [{"index": 0, "embedding": "AAAA"}]},
    {"data": [{"index": 0, "embedding": [10**400] * 32}]},
    {"data": [{"index": [], "embedding": NUMBERS}]},
    {"data": [{"embedding": NUMBERS}]},
]


@pytest.mark.fault("K10")
@pytest.mark.parametrize("wrong", WRONG)
def test_an_answer_of_another_form_costs_no_text(server, encoder, wrong):
    model = encoder()
    assert model.dimension == 32
    server.always = wrong
    for query in (False, True):
        with pytest.raises(WorkerUnavailable, match="the server"):
            model.encode(["a text"], query=query, pause=None if query else pause)
    server.always = ...
    assert model.encode(["a text"], pause=pause).shape == (1, 32)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e39, 0])
def test_a_vector_of_no_use_is_of_its_text_alone(server, encoder, number):
    model = encoder()
    assert model.dimension == 32
    server.numbers_of = {"bad": number}
    done = embed(model, ["fine", "a bad text", "fine too"], pause=pause)
    assert [index for index, _ in done.failed] == [1]
    assert np.isfinite(done.vectors[[0, 2]]).all()


@pytest.mark.parametrize("path", ["", "/v1"], ids=["TEI", "Cohere"])
def test_a_served_reranker_scores_every_text(server, path):
    model = ServedReranker(Service(server.url + path, "m"))
    scores = rerank.TimedReranker(model).score("green tea", ["black coffee", "green tea leaves", "tea"])
    assert scores.argsort().tolist() == [0, 2, 1]
    assert ((scores >= 0) & (scores <= 1)).all()
    server.status = 500
    with pytest.raises(WorkerUnavailable):
        rerank.TimedReranker(model).score("green tea", ["tea"])


@pytest.mark.fault("K10")
@pytest.mark.parametrize(
    "wrong",
    [
        None,
        5,
        {},
        {"results": 1},
        [{"index": 9, "score": 1}],
        [{"index": "a", "score": 1}],
        [{"index": 0}],
        [[]],
    ],
)
def test_scores_of_another_form_are_refused(server, wrong):
    server.always = wrong
    with pytest.raises(WorkerUnavailable, match="the server"):
        rerank.TimedReranker(ServedReranker(Service(server.url))).score("green tea", ["tea"])


def test_scores_out_of_bounds_are_brought_into_them(server):
    server.always = [
        {"index": 0, "score": 1e308},
        {"index": 1, "score": -1e308},
        {"index": 2, "score": float("nan")},
    ]
    model = ServedReranker(Service(server.url))
    assert rerank.TimedReranker(model).score("tea", ["a", "b", "c"]).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.fault("K10")
def test_an_answer_without_end_and_a_redirect_are_refused(server, encoder):
    model = encoder()
    assert model.dimension == 32
    server.endless = True
    for query in (False, True):
        with pytest.raises(WorkerUnavailable, match="the answer has more than"):
            model.encode(["a text"], query=query, pause=None if query else pause)
    server.endless = False
    assert server.sent < 16 * limits.MIB
    with embedding_server() as elsewhere:
        server.redirect = elsewhere.url
        for query in (False, True):
            with pytest.raises(WorkerUnavailable, match="redirects to a different address"):
                model.encode(["a text"], query=query, pause=None if query else pause)
        with pytest.raises(WorkerUnavailable, match="redirects"):
            encoder().encode(["a text"], pause=pause)
        assert not elsewhere.requests
    server.redirect = ""
    assert model.encode(["a text"], pause=pause).shape == (1, 32)


@pytest.mark.fault("K10")
@pytest.mark.parametrize("where", ["drips", "drips_headers"])
def test_an_answer_that_drips_ends_at_the_deadline(server, encoder, monkeypatch, where):
    model = encoder(seconds=0.2)
    assert model.dimension == 32
    monkeypatch.setattr(served, "QUERY_SECONDS", 0.2)
    setattr(server, where, True)
    for _ in range(5):
        with pytest.raises(WorkerUnavailable, match="took too long"):
            model.encode(["a text"], pause=pause)
    setattr(server, where, False)
    monkeypatch.undo()
    assert model.encode(["a text"], pause=pause).shape == (1, 32)


@pytest.mark.fault("K10")
@pytest.mark.parametrize(("behaviour", "words"), [("endless", "more than"), ("redirect", "redirects")])
def test_a_reranker_without_end_and_its_redirect_are_refused(server, behaviour, words):
    setattr(server, behaviour, server.url)
    with pytest.raises(WorkerUnavailable, match=words):
        rerank.TimedReranker(ServedReranker(Service(server.url))).score("green tea", ["tea"])
    server.endless, server.redirect = False, ""
    assert not server.requests
