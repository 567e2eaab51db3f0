"""``vaultseek index --ray``: a vault, embedded by a cluster."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.doors.cli.connect import connect, daemon_pid
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.terminal import clean, count
from vaultseek.errors import Unavailable

if TYPE_CHECKING:
    from vaultseek.client.caller import Caller

AWAY_SECONDS = 30.0
"""Time that a restart of the daemon may take before the run ends."""
_RETRY_SECONDS = 0.5


def index_on_cluster(
    invocation: Invocation, address: str, show: Callable[[JSON], None], *, quiet: bool
) -> JSON:
    """Have the cluster at ``address`` compute the vectors; return the vault's state then.

    Results received before an interruption are kept. Raises what ``cluster.ray_cluster.connected`` raises.
    """
    from vaultseek.tools.cluster.ray_cluster import check_installed, connected
    from vaultseek.tools.cluster.run import ClusterRun

    check_installed()
    with connect(invocation) as client, connect(invocation) as waiting_client:
        model = client.call("index/texts", invocation.params(limit=0), timeout=None)
        with connected(address, model["model"], model["fingerprint"]) as cluster:
            name = clean(model["vault"])
            if not quiet:
                places = count(cluster.slots(), "processor")
                print(f"{name}: {places} of Ray at {clean(address)}", file=sys.stderr)
            waiting = _WaitRequest(waiting_client, invocation, show)
            run = ClusterRun(_Daemon(client, invocation, model["fingerprint"], waiting), cluster)
            run.run(waiting.state.done)
            state = waiting.state.result()
        if not quiet:
            print(f"{name}: {count(run.embedded, 'vector')} computed by the cluster", file=sys.stderr)
        return state


class _WaitRequest:
    """The request ``index/wait`` in a thread of its own: while it is open, the daemon hands out work."""

    def __init__(self, client: Caller, invocation: Invocation, show: Callable[[JSON], None]) -> None:
        self.state: Future[JSON] = Future()
        """The state of the vault in the end, or the error of the request."""
        self._client = client
        self._params = invocation.params(progress=True, remember=True, vectors_from_client=True)
        self._show = show
        threading.Thread(target=self._wait, name="index/wait", daemon=True).start()

    def _wait(self) -> None:
        try:
            while (state := self._answer()) is None:
                pass
            self.state.set_result(state)
        except Exception as error:  # it is raised in the thread that asks for the state
            self.state.set_exception(error)

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
    """See `vaultseek.tools.cluster.run.Daemon`. It may be restarted meanwhile."""

    def __init__(
        self, client: Caller, invocation: Invocation, fingerprint: str, waiting: _WaitRequest
    ) -> None:
        self._client = client
        self._vault = invocation.params()
        self._fingerprint = fingerprint
        self._waiting = waiting

    def texts(self, limit: int) -> Mapping[str, str]:
        answer = self._call("index/texts", {"limit": min(limit, limits.TAKEN_TEXTS)})
        if not answer:
            return {}
        if answer["fingerprint"] != self._fingerprint:
            raise Unavailable("the model of the vault has changed; run the command again")
        return dict(answer["texts"])

    def submit_vectors(self, vectors: Mapping[str, str], refused: Collection[str]) -> None:
        given = {"fingerprint": self._fingerprint, "vectors": dict(vectors), "refused": list(refused)}
        self._call("index/vectors", given)

    def _call(self, method: str, params: JSON) -> JSON:
        """Return the answer, asked again if the daemon is away for a moment; nothing if the run is over."""
        give_up = time.monotonic() + AWAY_SECONDS
        while not self._waiting.state.done():
            try:
                answer: JSON = self._client.call(method, {**self._vault, **params}, timeout=None)
                return answer
            except Unavailable:
                if time.monotonic() > give_up:
                    raise
                time.sleep(_RETRY_SECONDS)
        return {}
