"""A server that speaks Milvus's protocol on a port of this machine: Milvus Lite, for several daemons."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor


def main(file: str, port: int) -> None:
    """Serve the file until standard input ends."""
    import grpc
    from milvus_lite.adapter.grpc.servicer import MilvusServicer
    from milvus_lite.db import MilvusLite
    from pymilvus.grpc_gen import common_pb2, milvus_pb2_grpc

    class Servicer(MilvusServicer):
        """Takes whatever index is asked for, as a server does; Lite searches without."""

        def CreateIndex(self, request, context):  # noqa: N802
            super().CreateIndex(request, context)
            return common_pb2.Status()

    server = grpc.server(ThreadPoolExecutor(8))
    milvus_pb2_grpc.add_MilvusServiceServicer_to_server(Servicer(MilvusLite(file)), server)
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    sys.stdout.write(f"{bound}\n")
    sys.stdout.flush()
    threading.Thread(target=lambda: (sys.stdin.read(), server.stop(0)), daemon=True).start()
    server.wait_for_termination()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
