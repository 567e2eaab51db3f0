"""Entry point of the process that serves a file of Milvus Lite, on a socket that only its user can reach.

The client would serve it on a port of this machine, without a token, where every user could read the notes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from vaultseek.base import paths
from vaultseek.base.child_process import reserve_pipes, write

THREADS = 8
END_SECONDS = 10.0
"""Time to close the file. Leaving it open is safe, too."""
MESSAGE_BYTES = 256 * 1024 * 1024


def main(parent: int, file: str, socket: str) -> None:
    """Serve the file on the socket, until the process that started this one ends or closes its input."""
    os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() != parent:
        return
    incoming, outgoing = reserve_pipes()
    import grpc
    from milvus_lite.adapter.grpc.servicer import MilvusServicer
    from milvus_lite.db import MilvusLite
    from milvus_lite.exceptions import DataDirLockedError, MilvusLiteError
    from pymilvus.grpc_gen import milvus_pb2_grpc

    try:
        database = MilvusLite(file)
    except DataDirLockedError:
        write(
            outgoing, {"fault": "it is in use by another program; end that, or give this vault another file"}
        )
        return
    except (MilvusLiteError, OSError, ValueError) as error:
        write(outgoing, {"fault": f"it cannot be opened ({type(error).__name__})"})
        return
    limits = [(f"grpc.max_{way}_message_length", MESSAGE_BYTES) for way in ("receive", "send")]
    server = grpc.server(ThreadPoolExecutor(THREADS), options=limits)
    milvus_pb2_grpc.add_MilvusServiceServicer_to_server(MilvusServicer(database), server)
    Path(socket).unlink(missing_ok=True)
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    write(outgoing, {"fault": ""})
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    threading.Thread(target=_end_with_input, args=[incoming, ended], daemon=True).start()
    ended.wait()
    threading.Timer(END_SECONDS, os._exit, [1]).start()
    server.stop(grace=2).wait()
    database.close()
    _remove(Path(socket))
    os._exit(0)


def _end_with_input(incoming: IO[bytes], ended: threading.Event) -> None:
    """Wait for the end of the input, which comes with that of the parent, however that ends."""
    incoming.read()
    ended.set()


def _remove(socket: Path) -> None:
    with contextlib.suppress(OSError):
        socket.unlink(missing_ok=True)
        if socket.parent != paths.runtime_directory():
            socket.parent.rmdir()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
