"""The methods of both clients and their types follow the table of the protocol."""

import ast

import client_types
import pytest

from vaultseek.client import AsyncClient, Client
from vaultseek.client.methods import Methods
from vaultseek.protocol.messages.methods import METHODS, NOTIFICATIONS, answer_type


class Sent(Methods):
    """A client that returns the request it would send."""

    def call(self, method, params, *, timeout):
        return method, params, timeout


def test_every_type_in_the_table_exists():
    for method in METHODS.values():
        assert method.params_type.model_fields.keys() >= set(method.python[1:])
        assert (method.answer_type is None) == (method.answer is None)
    assert all(map(answer_type, NOTIFICATIONS.values()))


def test_the_types_of_both_clients_name_every_method_that_a_program_would_call():
    python = [method.python[0] for method in METHODS.values() if method.call]
    classes = [node for node in ast.parse(client_types.stub()).body if isinstance(node, ast.ClassDef)]
    typed = [[method.name for method in kind.body if hasattr(method, "args")] for kind in classes]
    assert typed == [python, python]
    assert {name for name, method in METHODS.items() if not method.call} == {"initialize", "$/cancelRequest"}
    assert all(callable(getattr(client, name)) for client in (Client, AsyncClient) for name in python)


def test_parameters_are_sent_by_their_names_in_the_protocol_if_they_are_given():
    client = Sent()
    why = client.why("pump", "Sump", limit=3, mode=None, timeout=5)
    assert why == ("search/why", {"query": "pump", "note": "Sump", "limit": 3}, 5)
    assert client.complete("tag", prefix="wo")[1] == {"kind": "tag", "text": "wo"}
    assert client.unresolved(note="Sump")[1] == {"note": "Sump"}
    assert client.search("pump", explain=False, settings={})[1] == {"query": "pump", "settings": {}}


def test_options_need_their_names_and_no_parameter_is_given_twice():
    with pytest.raises(TypeError, match="pass the others by name"):
        Sent().search("pump", 5)
    with pytest.raises(TypeError, match="query"):
        Sent().search("pump", query="pump")
