"""Entry point of the semantic worker: a child process that ends when the daemon closes its pipe.

Run as ``python -P -m vaultseek.semantic.worker.main``, by the daemon only.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from vaultseek.base.child_process import (
    apply_child_limits,
    peak_bytes,
    reserve_pipes,
    return_free_memory,
)
from vaultseek.base.model import JSON
from vaultseek.errors import ProtocolError, VaultseekError, WorkerUnavailable
from vaultseek.semantic.models.encoder import Encoder
from vaultseek.semantic.models.service import Service
from vaultseek.semantic.worker.pipe import Array, Frame, pack, read

_FINISH_SECONDS = 2.0


def main() -> None:
    """Serve frames from standard input until it closes. Never returns."""
    incoming, outgoing = reserve_pipes()
    apply_child_limits()
    outbox = _Outbox(outgoing)
    try:
        hello = read(incoming)
        if hello is None:
            os._exit(0)
        _serve(hello, incoming, outbox)
    except VaultseekError as error:
        outbox.send({"unfit": str(error)})
        os._exit(2)
    os._exit(0)


def _serve(hello: Frame, incoming: BinaryIO, outbox: _Outbox) -> None:
    from vaultseek.semantic.worker.handlers import RequestHandlers
    from vaultseek.semantic.worker.queues import Queues

    settings = hello.header
    encoder = _load(settings)
    with contextlib.suppress(WorkerUnavailable):  # a server may recover
        encoder.encode(["warm up"], query=True)
    return_free_memory()  # left over from reading the model: half as much again as the model needs
    queues = Queues(lambda frame: handlers.handle(frame), outbox.send)
    reranker = Service(**settings["reranker"]) if settings.get("reranker") else None
    handlers = RequestHandlers(encoder, queues.yield_to_answers, reranker, settings["vector_index"])
    outbox.encoder = encoder
    ready = {"ready": True, "model": encoder.fingerprint}
    outbox.send({**ready, "dimension": _dimension(encoder), "window": encoder.window})
    with contextlib.suppress(ProtocolError):
        while (frame := read(incoming)) is not None:
            if "cancel" in frame.header:
                queues.cancel(frame.header["cancel"])
            else:
                queues.put(frame)
    queues.finish(_FINISH_SECONDS)


def _dimension(encoder: Encoder) -> int:
    """Return the dimension of the vectors; 0 until an embedding server has answered."""
    try:
        return encoder.dimension
    except WorkerUnavailable:
        return 0


def _load(settings: JSON) -> Encoder:
    """Load the model. If bfloat16 may be faster, use a separate process for long runs."""
    if settings.get("service"):
        from vaultseek.semantic.inference.served import ServedEncoder

        return ServedEncoder(Service(**settings["service"]))
    from vaultseek.semantic.inference.bert import BertEncoder
    from vaultseek.semantic.inference.bert_torch import has_bfloat16
    from vaultseek.semantic.inference.embed import load
    from vaultseek.semantic.worker.bulk import BulkEncoder, BulkProcess

    name, folder = settings["model"], settings["directory"]
    encoder = load(name, Path(folder) if folder else None)
    if not isinstance(encoder, BertEncoder) or not has_bfloat16():
        return encoder
    return BulkEncoder(encoder, functools.partial(BulkProcess, name, folder, encoder.fingerprint))


class _Outbox:
    """The pipe to the daemon, used by several threads. This process ends when the daemon stops reading the
    pipe.

    ``encoder`` is set once the model is loaded; from then on, each message contains the encoder's
    ``computing``.
    """

    encoder: Encoder | None = None

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, header: JSON, arrays: Sequence[Array] = ()) -> None:
        computing = self.encoder.computing if self.encoder else None
        data = pack({**header, "peak": peak_bytes(), "computing": computing}, arrays)
        with self._lock:
            try:
                self._stream.write(data)
                self._stream.flush()
            except OSError:
                os._exit(0)


if __name__ == "__main__":
    main()
