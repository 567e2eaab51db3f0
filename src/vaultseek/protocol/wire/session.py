"""A session with one client of the daemon, from its first byte to its last."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import select
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace

import orjson

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.base.paths import shortage
from vaultseek.base.text import quote
from vaultseek.base.threads import requester
from vaultseek.base.zone import client_zone, machine_zone
from vaultseek.errors import (
    Cancelled,
    FrameLost,
    FrameTooLarge,
    ProtocolError,
    Unavailable,
    UsageError,
    VaultseekError,
)
from vaultseek.protocol.wire import protocol
from vaultseek.protocol.wire.context import ClientInfo, Connection, Handler, Limits, RequestContext
from vaultseek.protocol.wire.frame import FrameReader, encode, frame_of
from vaultseek.protocol.wire.outbox import Outbox
from vaultseek.protocol.wire.protocol import Id, Rejected, Request
from vaultseek.protocol.wire.requests import Requests, Work

HANG_UP_POLL_SECONDS = 0.05

log = logging.getLogger(__name__)


class Session(Connection):
    """A session that serves one client over a non-blocking connected socket until the client disconnects.

    Reading continues while requests run, so that a cancellation or a disconnect is noticed. Reading pauses
    while too many requests wait for a slot or too many bytes are unsent. ``about`` returns the daemon's part
    of the answer to ``initialize``; ``received`` contains the bytes already read from the connection.
    """

    def __init__(
        self,
        connection: socket.socket,
        client: ClientInfo,
        handlers: Mapping[str, Handler],
        bounds: Limits,
        about: Callable[[], JSON],
        received: bytes = b"",
    ) -> None:
        self.client = client
        self.disconnected = False
        self._connection = connection
        self._handlers = handlers
        self._bounds = bounds
        self._about = about
        self._received = received
        self._outbox = Outbox(connection, cap=bounds.unsent_bytes, send_seconds=bounds.slow_reader_seconds)
        self._requests = Requests(bounds.in_flight, self._work, self._finished)
        self._callbacks: list[Callable[[], None]] = []
        self._closing: VaultseekError | None = None
        self._closed = asyncio.Event()
        self._messages = 0
        self._heard = asyncio.get_running_loop().time()

    @property
    def is_waiting(self) -> bool:
        """True if the client is waiting for an answer."""
        return self._requests.has_unanswered

    @property
    def is_leaving(self) -> bool:
        """True if the session is ending."""
        return self._closed.is_set()

    @property
    def claim(self) -> tuple[bool, bool, float]:
        """Key by which idle clients are sorted for disconnecting; the smallest key comes first.

        Clients that never sent a message come first, then clients without subscriptions, then the client that
        has been silent longest.
        """
        return self._messages > 0, bool(self._callbacks), self._heard

    def leave(self) -> None:
        """Disconnect the client."""
        self._closed.set()

    async def run(self) -> None:
        """Serve the client until it disconnects, sends a broken frame or does not read; then cancel its
        requests."""
        sending = asyncio.create_task(self._outbox.run())
        receiving = asyncio.create_task(self._receive())
        ending = asyncio.create_task(self._closed.wait())
        tasks = (sending, receiving, ending)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._disconnect()
            for task in tasks:
                task.cancel()
            try:
                await asyncio.gather(*tasks, return_exceptions=True)
            finally:
                self._connection.close()
        self._log_end(sending, receiving)
        await self._requests.wait_until_finished(limits.CLOSE_SECONDS)

    async def close(self, seconds: float, reason: VaultseekError) -> None:
        """Refuse new and waiting requests, give running requests ``seconds`` to finish, send the answers and
        disconnect."""
        self._closing = reason
        self._requests.cancel_waiting(reason)
        await self._requests.wait_until_finished(seconds)
        self._requests.cancel_all(reason)
        await self._requests.wait_until_finished(limits.CLOSE_SECONDS)
        await self._outbox.flush(limits.CLOSE_SECONDS)
        self._closed.set()

    def notify(self, method: str, params: JSON, *, latest: bool) -> bool:
        """Send a notification or drop it; see ``RequestContext.notify``."""
        if self.disconnected:
            return False
        frame = encode(protocol.notification(method, params))
        if len(frame) > self._bounds.answer_bytes:
            log.warning("the notification %s is too long (%d bytes) and was not sent", method, len(frame))
            return False
        return self._outbox.offer(method, frame, latest=latest)

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the client disconnects; immediately if it has already disconnected."""
        if self.disconnected:
            callback()
        else:
            self._callbacks.append(callback)

    async def _receive(self) -> None:
        frames = FrameReader(self._bounds.frame_bytes)
        frames.feed(self._received)
        started: float | None = None
        try:
            while True:
                body = frames.next()
                if body is not None:
                    started = None
                    self._messages += 1
                    self._heard = asyncio.get_running_loop().time()
                    self._handle(body)
                    if not await self._ready_to_read():
                        return None
                    continue
                if started is None and frames.partial:
                    started = asyncio.get_running_loop().time()
                if not await self._read_more(frames, started):
                    return await self._drain()
        except ProtocolError as error:
            self._refuse(None, error)
            await self._outbox.flush(limits.CLOSE_SECONDS)

    async def _read_more(self, frames: FrameReader, started: float | None) -> bool:
        """Read the next bytes. Return False at the end of the stream, or if a client with a token was idle
        too long.

        ``started`` is the time at which a partial frame began, or None.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(self._read_deadline(started)):
                data = await loop.sock_recv(self._connection, limits.RECEIVE_BYTES)
        except TimeoutError:
            if started is None:
                return self._requests.has_unanswered
            raise FrameLost("the rest of a message did not arrive in time; connect again") from None
        except OSError:
            return False
        frames.feed(data)
        # A client that sends without pause must not starve the others.
        await asyncio.sleep(0)
        return bool(data)

    def _read_deadline(self, started: float | None) -> float | None:
        """Return the time by which the next bytes must arrive, or None: the user's own clients may be silent
        forever."""
        if started is not None:
            return started + self._bounds.half_frame_seconds
        if not self.client.principal:
            return None
        return asyncio.get_running_loop().time() + self._bounds.token_idle_seconds

    async def _ready_to_read(self) -> bool:
        """Wait until more may be read. Return False if the client has disconnected."""
        while self._requests.is_full(self._bounds.read_ahead_bytes):
            if _hung_up(self._connection):
                return False
            await self._wait_for_change()
        await self._outbox.room()
        return True

    async def _wait_for_change(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HANG_UP_POLL_SECONDS):
                await self._requests.wait_for_change()

    async def _drain(self) -> None:
        # A client that closed only its sending half, such as a shell pipe, still gets answers.
        while self._requests.has_unanswered and not _hung_up(self._connection):
            await self._wait_for_change()
        if not _hung_up(self._connection):
            await self._outbox.flush(self._bounds.slow_reader_seconds)

    def _handle(self, body: bytes) -> None:
        message = protocol.read(body)
        if isinstance(message, Rejected):
            self._refuse(message.id, message.error)
        elif message is not None:
            try:
                self._admit(message, len(body))
            except VaultseekError as error:
                self._finished(message, error)

    def _admit(self, request: Request, size: int) -> None:
        if request.method == protocol.CANCEL:
            self._requests.cancel(request.params.get("id"), Cancelled("the request was cancelled"))
            if request.id is not None:
                self._outbox.put(encode(protocol.answer(request.id, None)))
        elif request.id is not None and request.id in self._requests:
            raise protocol.duplicate_id(request.id)
        elif self._closing is not None:
            raise self._closing
        elif request.method == protocol.INITIALIZE:
            self._initialize(request)
        elif request.method not in self._handlers:
            raise protocol.unknown_method(request.method)
        else:
            deadline = _deadline(request.params.pop("deadline_ms", None))
            superseded = request.params.pop("supersedes", None)
            self._requests.cancel(superseded, Cancelled("a newer request replaced this one"))
            self._requests.add(Work(request, size, deadline))

    def _initialize(self, request: Request) -> None:
        version = protocol.negotiate(request.params)
        name, zone = protocol.client_name(request.params), protocol.client_zone(request.params)
        # A connection that has served an agent continues to count as an agent's.
        is_agent = self.client.is_agent or protocol.client_is_agent(request.params)
        self.client = replace(self.client, name=name, version=version, zone=zone, is_agent=is_agent)
        if request.id is not None:
            result = {"protocol_version": version, **self._about()}
            self._outbox.put(encode(protocol.answer(request.id, result)))

    async def _work(self, work: Work) -> bytes:
        try:
            frame = await self._answer(work)
        except VaultseekError as error:
            frame = encode(protocol.error_response(work.request.id, error))
        except Exception as error:
            frame = encode(protocol.error_response(work.request.id, _unexpected(error, work.request.method)))
        # The slot stays occupied until the outbox has room, so a client that does not read blocks its own
        # requests.
        await self._outbox.room()
        return frame

    async def _answer(self, work: Work) -> bytes:
        request = work.request
        context = RequestContext(
            self.client, request.id, work.deadline, self, lambda: work.reason is not None
        )
        client_zone.set(self.client.zone or machine_zone())
        requester.set(self)
        result = await self._handlers[request.method](request.params, context)
        if request.id is None:
            return b""
        frame = _encode_answer(protocol.answer(request.id, result))
        if len(frame) > self._bounds.answer_bytes:
            raise FrameTooLarge(f"the answer is longer than {self._bounds.answer_bytes} bytes; ask for less")
        return frame

    def _finished(self, request: Request, outcome: bytes | VaultseekError) -> None:
        if request.id is None or self.disconnected:
            return
        if isinstance(outcome, bytes):
            self._outbox.put(outcome)
        else:
            self._refuse(request.id, outcome)

    def _refuse(self, id: Id | None, error: VaultseekError) -> None:
        self._outbox.put(encode(protocol.error_response(id, error)))

    def _disconnect(self) -> None:
        self.disconnected = True
        self._requests.cancel_all(Cancelled("the client left"))
        self._outbox.abandon()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback()
            except Exception:
                log.exception("after client %d left", self.client.id)

    def _log_end(self, *tasks: asyncio.Task[None]) -> None:
        for task in tasks:
            error = None if task.cancelled() else task.exception()
            if isinstance(error, TimeoutError):
                client = self.client
                log.warning(
                    "disconnected client %d (%s): it does not read its messages", client.id, client.name
                )
            elif error is not None and not isinstance(error, OSError):
                log.error("client %d was dropped", self.client.id, exc_info=error)


def _unexpected(error: Exception, method: str) -> VaultseekError:
    """Return the error to send to the client. A bug is logged under an incident number, and the client gets
    only this number."""
    if what := shortage(error):
        return Unavailable(f"{what}, then try again")
    incident = secrets.token_hex(4)
    log.error("incident %s in %s", incident, quote(method), exc_info=error)
    return protocol.internal(incident)


def _encode_answer(answer: JSON) -> bytes:
    """Return the frame for an answer, ten times as fast as :func:`encode`; NaN and infinity become null."""
    try:
        return frame_of(orjson.dumps(answer))
    except TypeError:  # integers of more than 64 bits or lone surrogates
        return encode(answer)


def _deadline(milliseconds: object) -> float | None:
    if milliseconds is None:
        return None
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float) or milliseconds < 0:
        raise UsageError("'deadline_ms' must be a number of milliseconds")
    return asyncio.get_running_loop().time() + min(milliseconds / 1000, limits.DEADLINE_SECONDS)


def _hung_up(connection: socket.socket) -> bool:
    # TCP cannot distinguish a disconnected client from one that closed only its sending half.
    stopped = _POLL_STOPPED if connection.family in (socket.AF_INET, socket.AF_INET6) else 0
    poll = select.poll()
    poll.register(connection, stopped)
    return any(event & (select.POLLHUP | select.POLLERR | stopped) for _, event in poll.poll(0))


_POLL_STOPPED = getattr(select, "POLLRDHUP", 0)
