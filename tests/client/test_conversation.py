"""The conversation that both clients share: bytes in, answers and notifications out, without a socket."""

import time
from itertools import count

import pytest

from vaultseek.client.conversation import Answer, Conversation, Notification, attempts, pauses
from vaultseek.errors import Busy, Unavailable
from vaultseek.protocol.wire.frame import encode, examine
from vaultseek.protocol.wire.loopback import Secrets


@pytest.fixture
def conversation():
    return Conversation(count(1), None)


def message(frame: bytes):
    return examine(frame.partition(b"\r\n\r\n")[2]).value


def answer(id, **fields) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, **fields})


def events(conversation) -> list[Answer | Notification]:
    return list(iter(conversation.next_event, None))


def test_requests_have_ids_that_outlive_a_connection():
    ids = count(1)
    first = Conversation(ids, None).request("search", {"query": "pump"})
    assert message(first[1]) == {"jsonrpc": "2.0", "id": 1, "method": "search", "params": {"query": "pump"}}
    assert Conversation(ids, None).request("search", {})[0] == 2


def test_answers_are_matched_in_any_order_and_however_the_bytes_arrive(conversation):
    ids = [conversation.request("search", {})[0] for _ in range(3)]
    received = b"".join(answer(id, result=10 * id) for id in reversed(ids))
    seen = []
    for byte in received:
        conversation.receive(bytes([byte]))
        seen += events(conversation)
    assert [(event.id, event.value()) for event in seen] == [(3, 30), (2, 20), (1, 10)]


def test_answers_to_cancelled_and_unknown_requests_are_ignored(conversation):
    id, _ = conversation.request("search", {})
    assert message(conversation.cancel(id))["params"] == {"id": id}
    conversation.receive(answer(id, result="late") + answer("x", result=0) + answer(99, result=0))
    assert events(conversation) == []


def test_an_error_without_an_id_refuses_the_connection(conversation):
    conversation.request("search", {})
    error = {"code": Busy.number, "message": "64 clients", "data": {"code": "busy"}}
    conversation.receive(answer(None, error=error))
    with pytest.raises(Busy, match="64 clients"):
        conversation.next_event()
    assert conversation.broken


def test_over_a_port_both_sides_prove_themselves():
    conversation = Conversation(count(1), Secrets("token", "proof"))
    assert message(conversation.initialize("test")[1])["params"]["token"] == "token"
    conversation.verify({"proof": "proof"})
    with pytest.raises(Unavailable, match="another program answers"):
        conversation.verify({"proof": "another"})


def test_only_what_an_older_connection_may_have_lost_is_repeated():
    assert attempts("search", connected_before=True) == 2
    assert attempts("search", connected_before=False) == 1
    assert attempts("shutdown", connected_before=True) == 1


def test_pauses_double_until_it_is_time_to_give_up():
    seconds = list(pauses(time.monotonic() + 1.0))
    assert seconds == [seconds[0] * 2**n for n in range(len(seconds))]
    assert seconds[-1] < 1.0
    assert list(pauses(time.monotonic())) == []
