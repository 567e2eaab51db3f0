"""The typed methods of the Python clients, which are generated from the models of the protocol."""

import inspect

import pytest

from vaultseek.client import AsyncClient, Client
from vaultseek.messages.methods import METHODS
from vaultseek.messages.python_client import sources


@pytest.mark.parametrize("file", sources(), ids=lambda file: file.name)
def test_the_written_methods_are_those_of_the_models(file):
    assert file.read_text(encoding="utf-8") == sources()[file], "run `python -m vaultseek.messages`"


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_a_client_has_every_method_that_a_program_would_call(client):
    missing = {name for name, method in METHODS.items() if not hasattr(client, method.python or "")}
    assert missing == {"initialize", "$/cancelRequest"}


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_options_are_keywords_and_say_what_they_take(client):
    search = inspect.signature(client.search)
    assert list(search.parameters)[:2] == ["self", "query"]
    assert str(search.parameters["mode"]) == "mode: 'Mode | None' = None"
    assert search.parameters["mode"].kind is inspect.Parameter.KEYWORD_ONLY
    assert search.return_annotation == "Search"
    assert "1-based" in inspect.getdoc(client.search)
    assert "mode:" in inspect.getdoc(client.search)
