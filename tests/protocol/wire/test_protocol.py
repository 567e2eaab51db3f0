"""Errors and requests in protocol messages."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek import errors
from vaultseek.protocol.wire import protocol

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.VaultseekError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_round_trips(kind):
    back = protocol.to_exception(protocol.error_response(1, kind("what happened"))["error"])
    assert type(back) is kind
    assert (str(back), back.code, back.number) == ("what happened", kind.code, kind.number)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (protocol.unknown_method("x"), errors.UsageError),
        (protocol.duplicate_id(1), errors.ProtocolError),
        (protocol.internal("ab12"), errors.VaultseekError),
    ],
)
def test_errors_of_the_protocol_itself_keep_their_code(error, kind):
    back = protocol.to_exception(protocol.error_response(1, error)["error"])
    assert isinstance(back, kind)
    assert (back.code, back.number) == (error.code, error.number)


@pytest.mark.parametrize(
    "error", [None, 7, {}, {"message": None}, {"data": {"code": ["busy"]}}, {"data": {"code": "new"}}]
)
def test_an_error_from_another_version_is_an_error_all_the_same(error):
    assert isinstance(protocol.to_exception(error), errors.VaultseekError)


PARTS = st.sampled_from(["2.0", "search", "", None, True, 1, -1.5, [], [1], {}, {"query": "x"}, "\ud800"])
KEYS = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "more"])


@given(st.dictionaries(KEYS, PARTS) | st.lists(PARTS) | PARTS)
def test_anything_that_is_json_is_a_request_a_rejection_or_ignored(value):
    message = protocol.read(json.dumps(value).encode())
    if isinstance(message, protocol.Request):
        assert isinstance(message.method, str)
        assert isinstance(message.params, dict)
    if message is not None:
        assert message.id is None or protocol.is_id(message.id)


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"client": "nvim"}, "nvim"),
        ({"clientInfo": {"name": "VS Code", "version": "1"}}, "VS Code"),
        ({"client": 7}, "unnamed"),
        ({"client": " \n"}, "unnamed"),
        ({"client": "x" * 1000}, "x" * 80),
        ({"clientInfo": []}, "unnamed"),
    ],
)
def test_a_client_may_have_a_name(params, name):
    assert protocol.client_name(params) == name
