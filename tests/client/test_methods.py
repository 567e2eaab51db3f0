"""The methods of both clients and their types match the protocol."""

import client_types
import pytest

from vaultseek.client import AsyncClient, Client
from vaultseek.client.methods import TABLE, Methods
from vaultseek.protocol.messages.methods import METHODS


class Sent(Methods):
    """A client that returns the request it would send."""

    def call(self, method, params, *, timeout):
        return method, params, timeout


def test_the_kept_types_are_those_of_the_protocol():
    assert client_types.STUB.read_text(encoding="utf-8") == client_types.stub(), "run scripts/client_types.py"


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_a_client_has_every_method_that_a_program_would_call(client):
    assert METHODS.keys() - {method for method, *_ in TABLE.values()} == {"initialize", "$/cancelRequest"}
    assert all(callable(getattr(client, name)) for name in TABLE)


def test_parameters_are_sent_by_their_names_in_the_protocol_if_they_are_given():
    client = Sent()
    why = client.why("pump", "Sump", limit=3, mode=None, timeout=5)
    assert why == ("search/why", {"query": "pump", "note": "Sump", "limit": 3}, 5)
    assert client.complete("tag", prefix="wo")[1] == {"kind": "tag", "text": "wo"}
    assert client.unresolved(note="Sump")[1] == {"note": "Sump"}
    assert client.search("pump", explain=False, settings={})[1] == {"query": "pump", "settings": {}}


def test_options_need_their_names_and_no_parameter_is_given_twice():
    with pytest.raises(TypeError, match="name the others"):
        Sent().search("pump", 5)
    with pytest.raises(TypeError, match="query"):
        Sent().search("pump", query="pump")
