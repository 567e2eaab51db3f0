"""The asyncio client against a server in the same loop."""

import asyncio

import pytest

from vaultseek.client import AsyncClient
from vaultseek.errors import BadQuery, Busy, Cancelled, ProtocolError, Unavailable, UsageError


async def echo(params, context):
    return params


async def fails(params, context):
    raise BadQuery("unbalanced quote")


class Hang:
    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self, params, context):
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


async def test_many_calls_at_once_each_get_their_own_answer(wire):
    await wire.start({"echo": echo})
    async with AsyncClient(wire.path) as client:
        answers = await asyncio.gather(*(client.call("echo", {"n": n}) for n in range(50)))
        assert answers == [{"n": n} for n in range(50)]
        assert client.server["protocol_version"] == 1


async def test_errors_are_raised_as_what_they_are(wire):
    await wire.start({"search": fails, "echo": echo})
    async with AsyncClient(wire.path) as client:
        with pytest.raises(BadQuery, match="unbalanced"):
            await client.search("x")
        assert await client.call("echo") == {}


async def test_a_call_that_is_cancelled_is_cancelled_in_the_daemon(wire):
    hang = Hang()
    await wire.start({"hang": hang, "echo": echo})
    async with AsyncClient(wire.path) as client:
        call = asyncio.create_task(client.call("hang"))
        await hang.begun.wait()
        call.cancel()
        await asyncio.wait_for(hang.cancelled.wait(), 10)
        assert call.cancelled()
        with pytest.raises(Cancelled, match="in time"):
            await client.call("hang", timeout=0.01)
        assert await client.call("echo") == {}


async def test_notifications_come_as_they_are_sent_and_a_fault_in_the_listener_harms_nobody(wire, until):
    async def reports(params, context):
        for n in range(3):
            context.notify("progress", {"n": n})
        return {}

    told, faults = [], []

    def listen(method, params):
        told.append((method, params["n"]))
        raise RuntimeError("in the listener")

    asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context))
    await wire.start({"reports": reports})
    async with AsyncClient(wire.path, on_notification=listen) as client:
        await client.call("reports")
        await until(lambda: len(faults) == 3)
        await client.call("reports")
    assert told[:3] == [("progress", n) for n in range(3)]


async def test_a_daemon_that_was_restarted_is_found_again(wire):
    lost = []
    await wire.start({"echo": echo})
    async with AsyncClient(wire.path, on_disconnect=lambda: lost.append(1)) as client:
        await wire.stop()
        starting = asyncio.get_running_loop().call_later
        starting(0.05, lambda: asyncio.ensure_future(wire.start({"echo": echo})))
        assert await client.call("echo", {"a": 1}) == {"a": 1}
        assert lost == [1]
        await client.notify("echo")
    await asyncio.sleep(0)
    assert lost == [1]


async def test_a_request_in_flight_when_the_daemon_ends_is_answered_by_the_next(wire):
    hang = Hang()
    await wire.start({"it": hang})
    async with AsyncClient(wire.path) as client:
        call = asyncio.create_task(client.call("it"))
        await hang.begun.wait()
        await wire.stop()
        await wire.start({"it": echo})
        with pytest.raises(Unavailable, match="shutting down"):
            await call
        assert await client.call("it") == {}


async def test_without_a_daemon_the_message_says_what_to_do(wire):
    with pytest.raises(Unavailable, match="no daemon is running"):
        await AsyncClient(wire.path).call("echo")


async def test_too_many_clients_is_reported(wire):
    hang = Hang()
    await wire.start({"echo": echo, "hang": hang}, clients=1)
    async with AsyncClient(wire.path) as first:
        waiting = asyncio.create_task(first.call("hang"))  # an idle client would be closed to make room
        await hang.begun.wait()
        with pytest.raises(Busy):
            await AsyncClient(wire.path).call("echo")
        assert await first.call("echo") == {}
        waiting.cancel()


async def test_requests_and_answers_are_checked_unless_told_otherwise(wire):
    async def half_an_answer(params, context):
        return {"name": "notes"}

    await wire.start({"vault/add": half_an_answer})
    async with AsyncClient(wire.path) as client:
        with pytest.raises(UsageError, match="path"):
            await client.call("vault/add", {"name": "notes"})
        with pytest.raises(ProtocolError, match=r"vault/add.*path"):
            await client.call("vault/add", {"path": "/notes"})
    async with AsyncClient(wire.path, validate=False) as client:
        assert await client.call("vault/add", {}) == {"name": "notes"}


async def test_the_methods_of_the_protocol(wire):
    requests = []

    def recorder(method):
        async def handler(params, context):
            requests.append((method, params))
            return {}

        return handler

    methods = ["search", "search/why", "note/get", "complete", "index/wait", "vault/remove"]
    await wire.start({method: recorder(method) for method in methods})
    async with AsyncClient(wire.path, validate=False) as client:
        await client.search("pump", mode="keyword", deadline_ms=0, explain=True, brief=False)
        await client.why("pump", "a.md", vault="notes")
        await client.note("a.md", start_line=1, end_line=2)
        await client.complete("heading", "", note="a.md")
        await client.wait(cwd="/notes", timeout=None)
        await client.remove_vault("notes", delete_index=True)
    assert requests == [
        ("search", {"query": "pump", "mode": "keyword", "explain": True}),
        ("search/why", {"query": "pump", "note": "a.md", "vault": "notes"}),
        ("note/get", {"note": "a.md", "start_line": 1, "end_line": 2}),
        ("complete", {"kind": "heading", "text": "", "note": "a.md"}),
        ("index/wait", {"cwd": "/notes"}),
        ("vault/remove", {"vault": "notes", "delete_index": True}),
    ]
