"""The server with slow, broken, hostile and disconnected clients."""

import asyncio
import json
import logging
import random
import resource
import socket
import threading

import pytest

from raw_server import PATIENCE
from vaultseek.base.limits import FRAME_BYTES
from vaultseek.base.threads import Threads
from vaultseek.errors import BadQuery, NotFound, Unavailable, advise
from vaultseek.protocol.wire.frame import encode
from vaultseek.protocol.wire.protocol import to_exception
from vaultseek.protocol.wire.server import Server

SECRET = "the text of a note"


async def echo(params, context):
    return params


async def fails(params, context):
    raise BadQuery("position 3:\nunbalanced quote")


async def explodes(params, context):
    raise KeyError(SECRET)


class Gate:
    """A handler that waits for a gate and counts its calls."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.running = self.most = self.begun = self.ended = self.cancelled = 0

    async def __call__(self, params, context):
        self.begun += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.opened.wait()
        except asyncio.CancelledError:
            assert context.cancelled()
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        self.ended += 1
        return {"n": params.get("n")}


def code(message) -> str:
    return message["error"]["data"]["code"]


async def test_a_request_is_answered_under_its_id(wire):
    await wire.start({"echo": echo})
    client = await wire.client()
    for id in (1, "one", -(2**63)):
        await client.ask(id, "echo", {"a": "ü"})
        assert await client.read() == {"jsonrpc": "2.0", "id": id, "result": {"a": "ü"}}


async def test_initialize_negotiates_the_version_and_takes_the_name(wire):
    server = await wire.start({})
    client = await wire.client()
    await client.ask(1, "initialize", {"protocol_version": 99, "client": "an editor\x1b[1m"})
    result = (await client.read())["result"]
    assert (result["protocol_version"], result["server"]["name"]) == (1, "vaultseek")
    assert [c.name for c in server.clients] == ["an editor [1m"]


@pytest.mark.fault("F5")
@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({}, "bad_request"),
        ({"protocol_version": "1"}, "bad_request"),
        ({"protocol_version": 0}, "unsupported_version"),
    ],
)
async def test_initialize_refuses_unsupported_versions(wire, params, word):
    await wire.start({})
    client = await wire.client()
    await client.ask(1, "initialize", params)
    assert code(await client.read()) == word


@pytest.mark.fault("F1")
async def test_half_a_frame_then_silence_is_closed_and_nobody_else_notices(wire):
    await wire.start({"echo": echo}, half_frame_seconds=0.1)
    stalled, other = await wire.client(), await wire.client()
    await stalled.send(encode({"a": 1})[:-1])
    assert code(await stalled.read()) == "bad_frame"
    assert await stalled.read() is None
    await other.ask(1, "echo")
    assert (await other.read())["result"] == {}


async def test_bytes_that_trickle_do_not_extend_the_time_for_a_frame(wire):
    await wire.start({}, half_frame_seconds=0.2)
    client = await wire.client()

    async def trickle():
        for byte in b"Content-Length: 1000\r\n\r\n" + b" " * 1000:
            await client.send(bytes([byte]))
            await asyncio.sleep(0.01)

    trickling = asyncio.create_task(trickle())
    assert code(await client.read()) == "bad_frame"
    await asyncio.gather(trickling, return_exceptions=True)


@pytest.mark.fault("F2", "F3")
@pytest.mark.parametrize(
    ("header", "word"),
    [
        (b"Content-Length: 9223372036854775808\r\n\r\n", "too_large"),
        (b"Content-Length: %d\r\n\r\n" % (FRAME_BYTES + 1), "too_large"),
        (b"Content-Length: -5\r\n\r\n", "bad_frame"),
        (b"Content-Length: five\r\n\r\n", "bad_frame"),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "bad_frame"),
        (b"{}", "bad_frame"),
    ],
)
async def test_a_broken_or_giant_frame_is_refused_from_its_header(wire, header, word):
    await wire.start({})
    client = await wire.client()
    await client.send(header)
    message = await client.read()
    assert (message["id"], code(message)) == (None, word)
    assert await client.read() is None


@pytest.mark.fault("F4")
@pytest.mark.parametrize(
    ("body", "id", "number"),
    [
        (b"not json", None, -32700),
        (b"\xff\xfe", None, -32700),
        (b"", None, -32700),
        (b"[" * 100_000, None, -32700),
        (b'{"jsonrpc":"2.0","id":4,"method":"echo","params":{"a":NaN}}', 4, -32600),
        (b'{"jsonrpc":"2.0","id":4,"method":"echo","params":{"a":%s}}' % (b"1" * 5000), 4, -32600),
        (b'{"jsonrpc":"2.0","id":4,"method":"echo","params":{"a":1,"a":2}}', 4, -32600),
        (b'{"jsonrpc":"2.0","id":4,"method":"echo","params":{"a":"\\ud800"}}', 4, -32600),
        (b"7", None, -32600),
        (b"[]", None, -32600),
        (b'[{"jsonrpc":"2.0","id":4,"method":"echo"}]', None, -32600),
        (b'{"jsonrpc":"2.0","id":4}', 4, -32600),
        (b'{"jsonrpc":"2.0","id":4,"method":7}', 4, -32600),
        (b'{"jsonrpc":"1.0","id":4,"method":"echo"}', 4, -32600),
        (b'{"id":4,"method":"echo"}', 4, -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"echo"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"echo"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"echo"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"echo"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":4,"method":"echo","params":[1]}', 4, -32602),
        (b'{"jsonrpc":"2.0","id":4,"method":"ech\\no"}', 4, -32601),
    ],
)
async def test_a_bad_message_in_a_good_frame_is_answered_and_the_connection_stays(wire, body, id, number):
    await wire.start({"echo": echo})
    client = await wire.client()
    await client.body(body)
    message = await client.read()
    assert (message["id"], message["error"]["code"]) == (id, number)
    assert "\n" not in message["error"]["message"]
    await client.ask(5, "echo")
    assert (await client.read())["result"] == {}


async def test_answers_to_nobody_and_unknown_notifications_are_ignored(wire):
    await wire.start({"echo": echo})
    client = await wire.client()
    await client.body(b'{"jsonrpc":"2.0","id":4,"result":{}}')
    await client.tell("initialized")
    await client.tell("$/setTrace", {"value": "off"})
    await client.ask(1, "echo", [])
    assert await client.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.fault("F4")
async def test_any_frames_of_noise_get_an_error_or_nothing_each(wire):
    await wire.start({"echo": echo})
    client = await wire.client()
    chosen = random.Random(7)
    alphabet = [
        b'"jsonrpc":"2.0"',
        b'"id":',
        b'"method":',
        b'"echo"',
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b"1",
        b"\xc3",
        b"null",
    ]
    for _ in range(500):
        await client.body(b"".join(chosen.choices(alphabet, k=chosen.randrange(12))))
    await client.ask("last", "echo")
    while (message := await client.read())["id"] != "last":
        assert message["error"]["message"]
    assert message["result"] == {}


async def test_expected_errors_are_sent_with_a_code_and_one_line(wire):
    await wire.start({"fails": fails})
    client = await wire.client()
    await client.ask(1, "fails")
    error = (await client.read())["error"]
    assert error == {"code": -32011, "message": "position 3: unbalanced quote", "data": {"code": "bad_query"}}


async def test_advice_is_sent_as_data(wire):
    async def waits(params, context):
        raise Unavailable("notes is paused; resume it", advice=advise("resume", "notes"))

    await wire.start({"waits": waits})
    client = await wire.client()
    await client.ask(1, "waits")
    error = (await client.read())["error"]
    assert error["message"] == "notes is paused; resume it"
    assert error["data"] == {"code": "unavailable", "advice": {"kind": "resume", "names": ["notes"]}}
    assert to_exception(error).advice == advise("resume", "notes")
    assert to_exception({**error, "data": {"code": "unavailable", "advice": "dance"}}).advice is None


@pytest.mark.fault("F12")
async def test_an_internal_error_is_an_incident_for_the_client_and_a_traceback_in_the_log(wire, caplog):
    await wire.start({"explodes": explodes})
    client = await wire.client()
    await client.ask(1, "explodes")
    message = await client.read()
    assert code(message) == "internal"
    assert SECRET not in json.dumps(message)
    assert "Traceback" not in json.dumps(message)
    incident = message["error"]["message"].split()[2].rstrip(";")
    assert incident in caplog.text
    assert "KeyError" in caplog.text


@pytest.mark.parametrize("result", [object(), {1}])
async def test_an_answer_that_is_not_json_is_an_internal_error(wire, result):
    async def handler(params, context):
        return result

    await wire.start({"it": handler})
    client = await wire.client()
    await client.ask(1, "it")
    assert code(await client.read()) == "internal"


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (float("nan"), None),
        (1 << 70, 1 << 70),
        ("half a pair \ud800", "half a pair \ufffd"),
        ({1: "é"}, {"1": "é"}),
    ],
)
async def test_an_answer_of_values_that_json_lacks_has_what_is_nearest(wire, result, expected):
    async def handler(params, context):
        return result

    await wire.start({"it": handler})
    client = await wire.client()
    await client.ask(1, "it")
    assert (await client.read())["result"] == expected


async def test_an_answer_that_is_too_long_becomes_an_error(wire):
    async def handler(params, context):
        return "x" * params["n"]

    await wire.start({"it": handler}, answer_bytes=1000)
    client = await wire.client()
    await client.ask(1, "it", {"n": 1000})
    await client.ask(2, "it", {"n": 800})
    answers = await client.answers(2)
    assert code(answers[1]) == "too_large"
    assert len(answers[2]["result"]) == 800


@pytest.mark.fault("F5")
async def test_unknown_methods_are_reported(wire):
    await wire.start({})
    client = await wire.client()
    await client.ask(1, "serach")
    error = (await client.read())["error"]
    assert (error["code"], error["data"]["code"]) == (-32601, "unknown_method")
    assert "serach" in error["message"]


async def test_requests_run_at_the_same_time_and_answers_come_as_they_are_ready(wire):
    gate = Gate()
    await wire.start({"gate": gate, "echo": echo})
    client = await wire.client()
    await client.ask(1, "gate")
    await client.ask(2, "echo")
    assert (await client.read())["id"] == 2
    gate.opened.set()
    assert (await client.read())["id"] == 1


@pytest.mark.fault("F9")
async def test_a_thousand_requests_of_one_client_run_eight_at_a_time(wire, until):
    gate = Gate()
    await wire.start({"gate": gate})
    client = await wire.client()
    for n in range(1000):
        await client.ask(n, "gate", {"n": n})
    await until(lambda: gate.running == 8)
    gate.opened.set()
    answers = await client.answers(1000)
    assert {id: message["result"]["n"] for id, message in answers.items()} == {n: n for n in range(1000)}
    assert gate.most == 8


async def test_a_client_that_sends_faster_than_it_is_served_has_to_wait(wire, until):
    gate = Gate()
    await wire.start({"gate": gate}, read_ahead_bytes=10_000)
    client = await wire.client()
    sent = 0

    async def flood():
        nonlocal sent
        loop = asyncio.get_running_loop()
        for n in range(1000):
            await loop.sock_sendall(client.socket, encode(request(n, "gate", {"x": "x" * 10_000})))
            sent += 1

    flooding = asyncio.create_task(flood())
    await until(lambda: gate.running == 8 and sent > 9)
    before = -1
    while before != sent:
        before = sent
        await asyncio.sleep(0.05)
    assert sent < 100
    gate.opened.set()
    assert len(await client.answers(1000)) == 1000
    await flooding


def request(id, method, params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


async def test_cancel_stops_the_work_and_answers_the_request(wire, until):
    gate = Gate()
    await wire.start({"gate": gate})
    client = await wire.client()
    await client.ask("a", "gate")
    await until(lambda: gate.begun == 1)
    await client.tell("$/cancelRequest", {"id": "a"})
    message = await client.read()
    assert (message["id"], message["error"]["code"], code(message)) == ("a", -32800, "cancelled")
    assert gate.cancelled == 1


async def test_cancel_works_while_all_slots_are_busy(wire, until):
    gate = Gate()
    await wire.start({"gate": gate}, in_flight=2)
    client = await wire.client()
    for n in range(5):
        await client.ask(n, "gate", {"n": n})
    await until(lambda: gate.begun == 2)
    await client.tell("$/cancelRequest", {"id": 4})
    await client.tell("$/cancelRequest", {"id": 0})
    assert {id: code(m) for id, m in (await client.answers(2)).items()} == {4: "cancelled", 0: "cancelled"}
    await until(lambda: gate.begun == 3)
    gate.opened.set()
    assert set(await client.answers(3)) == {1, 2, 3}


async def test_a_request_that_is_cancelled_immediately_is_still_answered(wire):
    gate = Gate()
    await wire.start({"gate": gate})
    client = await wire.client()
    cancel = encode({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}})
    await client.send(encode(request(1, "gate", {})) + cancel)
    assert code(await client.read()) == "cancelled"


@pytest.mark.fault("F10")
async def test_cancel_of_anything_else_is_ignored(wire, until):
    gate = Gate()
    await wire.start({"gate": gate, "echo": echo})
    client, other = await wire.client(), await wire.client()
    await client.ask(1, "gate")
    await until(lambda: gate.begun == 1)
    await client.ask(2, "echo")
    await client.read()
    for id in (2, 99, "1", True, None, [], {}, 1.0):
        await client.tell("$/cancelRequest", {"id": id})
    await other.tell("$/cancelRequest", {"id": 1})
    await other.ask(3, "echo")
    await other.read()
    gate.opened.set()
    assert (await client.read())["result"] == {"n": None}


async def test_a_cancel_that_wants_an_answer_gets_one(wire):
    await wire.start({})
    client = await wire.client()
    await client.ask(1, "$/cancelRequest", {"id": 7})
    assert await client.read() == {"jsonrpc": "2.0", "id": 1, "result": None}


async def test_a_newer_request_supersedes_an_older_one(wire, until):
    gate = Gate()
    await wire.start({"gate": gate, "echo": echo})
    client = await wire.client()
    await client.ask(1, "gate")
    await until(lambda: gate.begun == 1)
    await client.ask(2, "echo", {"supersedes": 1, "q": "x"})
    answers = await client.answers(2)
    assert code(answers[1]) == "cancelled"
    assert answers[2]["result"] == {"q": "x"}
    await client.ask(3, "echo", {"supersedes": 1})
    assert (await client.read())["result"] == {}


@pytest.mark.fault("F11")
async def test_an_id_in_flight_cannot_be_used_again_but_later_it_can(wire, until):
    gate = Gate()
    await wire.start({"gate": gate})
    client = await wire.client()
    await client.ask(1, "gate", {"n": "first"})
    await until(lambda: gate.begun == 1)
    await client.ask(1, "gate")
    assert code(await client.read()) == "duplicate_id"
    await client.ask("1", "gate", {"n": "a string is another id"})
    gate.opened.set()
    assert set(await client.answers(2)) == {1, "1"}
    await client.ask(1, "gate", {"n": "second"})
    assert (await client.read())["result"] == {"n": "second"}


async def test_the_deadline_reaches_the_handler_and_cancels_one_that_ignores_it(wire, monkeypatch):
    monkeypatch.setattr("vaultseek.protocol.wire.requests.DEADLINE_GRACE_SECONDS", 0.0)

    async def polite(params, context):
        return {"left": context.remaining()}

    gate = Gate()
    await wire.start({"gate": gate, "polite": polite})
    client = await wire.client()
    await client.ask(1, "polite", {"deadline_ms": 60_000})
    assert 0 < (await client.read())["result"]["left"] <= 60
    await client.ask(2, "polite")
    assert (await client.read())["result"] == {"left": None}
    await client.ask(3, "gate", {"deadline_ms": 10})
    assert code(await client.read()) == "cancelled"
    assert gate.cancelled == 1
    for n in range(9):
        await client.ask(n, "gate")
    await client.ask("waits", "gate", {"deadline_ms": 10})
    assert code((await client.answers(1))["waits"]) == "cancelled"
    gate.opened.set()
    await client.answers(9)
    for wrong in ("10", -1, True):
        await client.ask(4, "polite", {"deadline_ms": wrong})
        assert code(await client.read()) == "bad_request"


class OneThread:
    """A handler whose work waits for a thread shared by all requests, until ``release``."""

    def __init__(self) -> None:
        self.computed: list[object] = []
        self.release = threading.Event()
        self._threads = Threads(1)

    async def __call__(self, params, context):
        await asyncio.get_running_loop().run_in_executor(self._threads, self._compute, params["n"])
        return params

    def _compute(self, n):
        self.computed.append(n)
        assert self.release.wait(PATIENCE)

    async def drained(self) -> None:
        self.release.set()
        await asyncio.get_running_loop().run_in_executor(self._threads, lambda: None)


@pytest.mark.fault("K7")
async def test_a_deadline_that_passes_in_the_queue_is_answered_then_and_nothing_is_computed(
    wire, until, monkeypatch
):
    monkeypatch.setattr("vaultseek.protocol.wire.requests.DEADLINE_GRACE_SECONDS", 1000.0)
    handler = OneThread()
    await wire.start({"it": handler})
    first = await wire.client()
    await first.ask(0, "it", {"n": 0})
    await until(lambda: handler.computed == [0])
    clients = [await wire.client() for _ in range(30)]
    for n, client in enumerate(clients, 1):
        await client.ask(n, "it", {"n": n, "deadline_ms": 200})
    late = await wire.client()
    await late.ask(99, "it", {"n": 99, "deadline_ms": 60_000})
    for client in clients:  # while the thread is still at the first
        assert code(await client.read()) == "cancelled"
    await handler.drained()
    assert (await late.read())["result"] == {"n": 99}
    assert handler.computed == [0, 99]


@pytest.mark.fault("K7", "F7")
async def test_nothing_is_computed_for_a_client_that_left_while_it_waited(wire, until):
    handler = OneThread()
    server = await wire.start({"it": handler})
    first = await wire.client()
    await first.ask(0, "it", {"n": 0})
    await until(lambda: handler.computed == [0])
    gone = await wire.client()
    await until(lambda: len(server.clients) == 2)
    for n in range(1, 20):
        await gone.ask(n, "it", {"n": n})
    gone.close()
    await until(lambda: len(server.clients) == 1)
    await handler.drained()
    assert handler.computed == [0]


async def test_a_timeout_inside_a_handler_is_not_taken_for_the_deadline(wire):
    async def handler(params, context):
        raise TimeoutError

    await wire.start({"it": handler})
    client = await wire.client()
    await client.ask(1, "it", {"deadline_ms": 60_000})
    assert code(await client.read()) == "internal"


@pytest.mark.fault("F7")
async def test_a_client_that_vanishes_has_its_work_cancelled_without_a_traceback(wire, until, caplog):
    gate, left = Gate(), []

    async def watched(params, context):
        context.on_disconnect(lambda: left.append(context.client.id))
        return await gate(params, context)

    server = await wire.start({"watched": watched})
    client = await wire.client()
    for n in range(20):
        await client.ask(n, "watched")
    await until(lambda: gate.begun == 8)
    client.close()
    await until(lambda: gate.cancelled == 8 and not server.clients)
    assert gate.begun == 8
    assert left == [1] * 8
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("notifications", [True, False])
async def test_a_disconnect_is_noticed_while_reading_is_paused(wire, until, notifications):
    gate = Gate()
    server = await wire.start({"gate": gate})
    raw = await wire.client()
    for number in range(1_200):
        await (raw.tell("gate") if notifications else raw.ask(number, "gate"))
    await until(lambda: gate.running == 8)
    raw.close()
    await until(lambda: not server.clients)
    assert gate.cancelled == gate.begun == 8


async def test_a_client_that_only_stops_writing_still_gets_the_answers(wire, until):
    gate = Gate()
    await wire.start({"gate": gate})
    client = await wire.client()
    await client.ask(1, "gate", {"n": 1})
    client.socket.shutdown(socket.SHUT_WR)
    await until(lambda: gate.begun == 1)
    gate.opened.set()
    assert (await client.read())["result"] == {"n": 1}
    assert await client.read() is None


@pytest.mark.fault("F6")
async def test_a_client_that_never_reads_is_dropped_and_does_not_fill_the_memory(wire, until, caplog):
    calls = 0

    async def long(params, context):
        nonlocal calls
        calls += 1
        return "x" * 100_000

    server = await wire.start({"long": long, "echo": echo}, slow_reader_seconds=0.3, unsent_bytes=300_000)
    client, other = await wire.client(), await wire.client()
    for n in range(500):
        await client.ask(n, "long")
    await until(lambda: calls > 8)
    await other.ask(1, "echo")
    assert (await other.read())["result"] == {}
    await until(lambda: len(server.clients) == 1)
    assert calls < 40
    assert "does not read its messages" in caplog.text


async def test_notifications_come_between_answers_and_after_them(wire):
    contexts = []

    async def subscribe(params, context):
        context.notify("progress", {"done": 0})
        contexts.append(context)
        return {}

    await wire.start({"subscribe": subscribe})
    client = await wire.client()
    await client.ask(1, "subscribe")
    assert await client.read() == {"jsonrpc": "2.0", "method": "progress", "params": {"done": 0}}
    assert (await client.read())["id"] == 1
    assert contexts[0].notify("progress", {"done": 1})
    assert (await client.read())["params"] == {"done": 1}


async def test_notifications_to_a_slow_client_are_dropped_or_only_the_latest_kept(wire, until):
    contexts = []

    async def subscribe(params, context):
        contexts.append(context)
        return {}

    server = await wire.start({"subscribe": subscribe}, slow_reader_seconds=30)
    client = await wire.client()
    await client.ask(1, "subscribe")
    await client.read()
    (context,) = contexts
    taken = 0
    while context.notify("changed", {"n": taken, "x": "x" * 10_000}):
        taken += 1
        await asyncio.sleep(0)
    for n in range(1000):
        assert context.notify("progress", {"done": n}, latest=True) or n == 0
    assert [(await client.read())["params"]["n"] for _ in range(taken)] == list(range(taken))
    seen = []
    while not seen or seen[-1] != 999:
        seen.append((await client.read())["params"]["done"])
    assert len(seen) < 1000
    client.close()
    await until(lambda: not server.clients)
    assert not context.notify("progress", {})


async def test_a_handler_may_be_called_by_notification(wire):
    said = []

    async def listen(params, context):
        said.append((context.request_id, params))
        raise NotFound("nobody hears this")

    await wire.start({"listen": listen, "echo": echo})
    client = await wire.client()
    await client.tell("listen", {"a": 1})
    await client.ask(1, "echo")
    assert (await client.read())["id"] == 1
    assert said == [(None, {"a": 1})]


async def test_one_client_too_many_gets_an_error_while_all_others_wait_for_answers(wire, until):
    gate = Gate()
    server = await wire.start({"echo": echo, "gate": gate}, clients=3)
    clients = [await wire.client() for _ in range(3)]
    for client in clients:
        await client.ask(1, "gate")
    await until(lambda: gate.begun == 3)
    extra = [await wire.client() for _ in range(50)]
    for client in extra:
        assert code(await client.read()) == "busy"
        assert await client.read() is None
    gate.opened.set()
    for client in clients:
        assert (await client.read())["id"] == 1
    clients[1].close()
    await until(lambda: len(server.clients) == 2)
    client = await wire.client()
    await client.ask(1, "echo")
    assert (await client.read())["result"] == {}


@pytest.mark.fault("L9")
async def test_l9_silent_connections_make_room_for_others(wire, until):
    async def subscribe(params, context):
        context.on_disconnect(lambda: None)
        return {}

    gate = Gate()
    server = await wire.start({"echo": echo, "gate": gate, "subscribe": subscribe}, clients=5)
    waiting, subscribed, earlier, later = [await wire.client() for _ in range(4)]
    await waiting.ask(1, "gate")
    await until(lambda: gate.begun)
    for client, method in ((subscribed, "subscribe"), (earlier, "echo"), (later, "echo")):
        await client.ask(1, method)
        await client.read()
    for _ in range(200):
        silent = await wire.client()
        await until(lambda: len(server.clients) == 5)
    await later.ask(2, "echo")
    assert (await later.read())["id"] == 2, "clients that said something stay"
    client = await wire.client()
    await client.ask(1, "subscribe")
    assert (await client.read())["result"] == {}
    assert await silent.read() is None, "it never said anything"
    for left in (earlier, later):
        client = await wire.client()
        await client.ask(1, "subscribe")
        assert (await client.read())["result"] == {}
        assert await left.read() is None, "the one that has been silent for longest"
    await subscribed.ask(2, "echo")
    assert (await subscribed.read())["result"] == {}, "it is to be notified"
    gate.opened.set()
    assert (await waiting.read())["id"] == 1


@pytest.mark.fault("F8")
async def test_a_thousand_connections_do_not_keep_the_first_from_being_served(wire, until):
    server = await wire.start({"echo": echo}, clients=8)
    first = await wire.client()
    await first.ask(0, "echo")
    await first.read()
    for _ in range(20):
        crowd = [await wire.client() for _ in range(50)]
        await first.ask(1, "echo")
        assert (await first.read())["result"] == {}
        assert len(server.clients) <= 8
        for client in crowd:
            client.close()
    await until(lambda: len(server.clients) == 1)


@pytest.mark.fault("F8", "K4")
async def test_no_principal_takes_the_places_of_another_or_of_the_user(wire, until):
    server = await wire.start({"echo": echo}, clients=4, clients_of_token=3)
    answers = {principal: [await wire.client_of(principal) for _ in range(20)] for principal in ("a", "b")}
    for principal, served in (("a", 3), ("b", 1)):
        for client in answers[principal][served:]:
            assert code(await client.read()) == "busy"
            assert await client.read() is None
    assert [client.principal for client in server.clients] == ["a", "a", "a", "b"]
    for client in [await wire.client() for _ in range(4)]:
        await client.ask(1, "echo")
        assert (await client.read())["result"] == {}
    answers["a"][0].close()
    await until(lambda: len(server.clients) == 7)
    late = await wire.client_of("b")
    await late.ask(1, "echo")
    assert (await late.read())["result"] == {}


@pytest.mark.fault("K4")
async def test_a_silent_client_with_a_token_is_disconnected_and_a_silent_user_is_not(wire, until):
    gate = Gate()
    server = await wire.start({"echo": echo, "gate": gate}, token_idle_seconds=0.2)
    user, silent, busy = await wire.client(), await wire.client_of("a"), await wire.client_of("b")
    await until(lambda: len(server.clients) == 3)
    await busy.ask(1, "gate")
    assert await silent.read() is None
    await until(lambda: {client.principal for client in server.clients} == {"", "b"})
    gate.opened.set()
    assert (await busy.read())["id"] == 1, "whoever waits for an answer is not idle"
    assert await busy.read() is None
    await user.ask(1, "echo")
    assert (await user.read())["result"] == {}


@pytest.mark.fault("B11")
async def test_a_lack_of_descriptors_is_survived(wire, until, caplog, monkeypatch):
    monkeypatch.setattr("vaultseek.protocol.wire.server.ACCEPT_RETRY_SECONDS", 0.01)
    server = await wire.start({"echo": echo})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    client = await wire.client()
    await until(lambda: server.clients)
    late = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    resource.setrlimit(resource.RLIMIT_NOFILE, (late.fileno() + 1, hard))
    try:
        with late:
            late.setblocking(False)
            late.connect(str(wire.path))
            await until(lambda: "could not be accepted" in caplog.text)
            await client.ask(1, "echo")
            assert (await client.read())["result"] == {}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    newcomer = await wire.client()
    await newcomer.ask(1, "echo")
    assert (await newcomer.read())["result"] == {}


@pytest.mark.fault("G5")
async def test_connections_of_other_users_are_closed_and_logged_once(wire, caplog):
    server = await wire.start({"echo": echo}, admits=lambda connection: False)
    for _ in range(3):
        assert await (await wire.client()).read() is None
    assert server.clients == ()
    assert caplog.text.count("another user") == 1


async def test_closing_finishes_running_requests_and_refuses_the_rest(wire, until):
    gate = Gate()
    server = await wire.start({"gate": gate}, in_flight=1)
    client = await wire.client()
    await client.ask(1, "gate", {"n": 1})
    await client.ask(2, "gate")
    await until(lambda: gate.begun == 1)
    closing = asyncio.create_task(server.close(10.0))
    refused = await client.read()
    assert (refused["id"], code(refused)) == (2, "unavailable")
    await client.ask(3, "gate")
    refused = await client.read()
    assert (refused["id"], code(refused)) == (3, "unavailable")
    gate.opened.set()
    assert (await client.read())["result"] == {"n": 1}
    assert await client.read() is None
    await closing


@pytest.mark.fault("A13")
async def test_closing_cancels_requests_that_do_not_end_in_time(wire, until):
    gate = Gate()
    server = await wire.start({"gate": gate})
    client = await wire.client()
    await client.ask(1, "gate")
    await until(lambda: gate.begun == 1)
    await server.close(0.01)
    assert code(await client.read()) == "unavailable"
    assert await client.read() is None
    assert gate.cancelled == 1


async def test_a_socket_that_does_not_listen_ends_the_serving_with_a_reason():
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as deaf:
        deaf.setblocking(False)
        with pytest.raises(Unavailable, match="no longer accepts connections"):
            await Server({}).serve(deaf)


async def test_a_server_may_move_to_another_socket_and_keeps_its_clients(wire, until):
    server = await wire.start({"echo": echo})
    client = await wire.client()
    await until(lambda: server.clients)
    wire.path.unlink()
    first = wire._serving.pop()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as second:
        second.bind(str(wire.path))
        second.listen()
        second.setblocking(False)
        serving = asyncio.create_task(server.serve(second))
        newcomer = await wire.client()
        for one in (client, newcomer):
            await one.ask(1, "echo")
            assert (await one.read())["result"] == {}
        await server.close(0.0)
        await serving
