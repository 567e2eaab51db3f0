"""``vaultseek index --ray``: the vectors of a vault, computed by a cluster."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from vaultseek import limits
from vaultseek.cli.connect import connect, daemon_pid
from vaultseek.cli.invocation import Invocation
from vaultseek.cli.terminal import clean, count
from vaultseek.errors import Unavailable
from vaultseek.model import JSON

if TYPE_CHECKING:
    from vaultseek.client.caller import Caller

AWAY_SECONDS = 30.0
"""Time for which a daemon may be away, because it is restarted, before the run ends."""
_RETRY_SECONDS = 0.5


def index_on_cluster(
    invocation: Invocation, address: str, show: Callable[[JSON], None], *, quiet: bool
) -> JSON:
    """Have the cluster at ``address`` compute the vectors; return the vault's state when all are there.

    What has come back when this is interrupted is kept. Raises what ``cluster.ray_cluster.connected`` raises.
    """
    from vaultseek.cluster.ray_cluster import check_installed, connected
    from vaultseek.cluster.run import EmbeddingRun

    check_installed()
    with connect(invocation) as client, connect(invocation) as waiting_client:
        model = client.call("index/texts", invocation.params(limit=0), timeout=None)
        with connected(address, model["model"], model["fingerprint"]) as cluster:
            if not quiet:
                places = count(cluster.slots(), "processor")
                print(f"{clean(model['vault'])}: {places} of Ray at {clean(address)}", file=sys.stderr)
            waiting = _Waiting(waiting_client, invocation, show)
            daemon = _Daemon(client, invocation, model["fingerprint"], waiting)
            EmbeddingRun(daemon, cluster).run(waiting.is_over)
            return waiting.state()


class _Waiting:
    """The request ``index/wait`` in a thread of its own: while it is open, the daemon hands texts out."""

    def __init__(self, client: Caller, invocation: Invocation, show: Callable[[JSON], None]) -> None:
        self._client = client
        self._params = invocation.params(progress=True, remember=True, vectors_from_client=True)
        self._show = show
        self._state: JSON | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._wait, name="index/wait", daemon=True)
        self._thread.start()

    def is_over(self) -> bool:
        """True if the request was answered."""
        return not self._thread.is_alive()

    def state(self) -> JSON:
        """Return the answer. Raises the error of the request."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._state or {}

    def _wait(self) -> None:
        try:
            while self._state is None:
                self._state = self._answer()
        except Exception as error:  # it is raised in the thread that asks for the state
            self._error = error

    def _answer(self) -> JSON | None:
        """Return the answer; None if the daemon went away and another one has taken its place."""
        pid = daemon_pid()
        try:
            answer: JSON = self._client.call(
                "index/wait", self._params, timeout=None, on_notification=self._on_notification
            )
            return answer
        except Unavailable as error:
            if error.cause is None and _is_replaced(pid):
                return None
            raise

    def _on_notification(self, method: str, params: JSON) -> None:
        if method == "index/progress":
            self._show(params)


def _is_replaced(pid: int | None) -> bool:
    """True as soon as another daemon than this one runs; false if none does for a while."""
    give_up = time.monotonic() + AWAY_SECONDS
    while daemon_pid() in (pid, None):
        if time.monotonic() > give_up:
            return False
        time.sleep(_RETRY_SECONDS)
    return True


class _Daemon:
    """The daemon as a run sees it. It may be restarted meanwhile."""

    def __init__(self, client: Caller, invocation: Invocation, fingerprint: str, waiting: _Waiting) -> None:
        self._client = client
        self._vault = invocation.params()
        self._fingerprint = fingerprint
        self._waiting = waiting

    def texts(self, limit: int) -> Mapping[str, str]:
        """Return texts by key whose vectors are missing, each of them once."""
        answer = self._call("index/texts", {"limit": min(limit, limits.TAKEN_TEXTS)})
        if answer and answer["fingerprint"] != self._fingerprint:
            raise Unavailable("the model of the vault has changed meanwhile; run the command again")
        return dict(answer["texts"]) if answer else {}

    def bring(self, vectors: Mapping[str, str], refused: Collection[str]) -> None:
        """Hand over vectors in base64, and keys of texts that the daemon has to embed itself."""
        given = {"fingerprint": self._fingerprint, "vectors": dict(vectors), "refused": list(refused)}
        self._call("index/vectors", given)

    def _call(self, method: str, params: JSON) -> JSON:
        """Return the answer, asked again if the daemon is away for a moment; nothing if the run is over."""
        give_up = time.monotonic() + AWAY_SECONDS
        while not self._waiting.is_over():
            try:
                answer: JSON = self._client.call(method, {**self._vault, **params}, timeout=None)
                return answer
            except Unavailable:
                if time.monotonic() > give_up:
                    raise
                time.sleep(_RETRY_SECONDS)
        return {}
