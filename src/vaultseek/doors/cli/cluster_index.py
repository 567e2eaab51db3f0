"""``vaultseek index --ray``: a Ray cluster and the daemon embed a vault together."""

import base64
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.client.caller import Caller
from vaultseek.doors.cli.connect import connect, daemon_pid
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.terminal import clean, count
from vaultseek.errors import Unavailable

AWAY_SECONDS = 30.0
"""Maximum seconds for a restart of the daemon; if it takes longer, the command fails."""
_RETRY_SECONDS = 0.5
_FRAME_CHARS = limits.FRAME_BYTES // 2


def index_on_cluster(
    invocation: Invocation, address: str, show: Callable[[JSON], None], *, quiet: bool
) -> JSON:
    """Make the cluster at ``address`` help with embedding; return the vault's status when everything is
    indexed.

    If the cluster fails, the daemon continues without it, and a message explains why. Raises ConfigError,
    UsageError or Unavailable if the address cannot be used.
    """
    from vaultseek.tools.cluster import checked_address, connected, embed_on

    place = checked_address(address)
    with connect(invocation) as client, connect(invocation) as waiting_client:
        model = client.call("index/texts", invocation.params(limit=0), timeout=None)
        name, fingerprint, position = clean(model["vault"]), model["fingerprint"], model["next"]

        def say(text: str) -> None:
            if not quiet:
                print(f"{name}: {text}", file=sys.stderr)

        def take(limit: int) -> Mapping[str, str]:
            nonlocal position
            asked = invocation.params(limit=min(limit, limits.TAKEN_TEXTS), after=position)
            answer = _called(client, "index/texts", asked)
            if answer["fingerprint"] != fingerprint:
                raise Unavailable("the vault's model has changed; run the command again")
            position = answer["next"]
            return dict(answer["texts"])

        def keep(vectors: Mapping[str, Any]) -> None:
            texts = {
                key: base64.b64encode(row.astype("<f4").tobytes()).decode() for key, row in vectors.items()
            }
            longest = max((len(key) + len(text) for key, text in texts.items()), default=1)
            step, written = max(1, _FRAME_CHARS // longest), list(texts.items())
            for start in range(0, len(written), step):
                some = dict(written[start : start + step])
                _called(client, "index/vectors", invocation.params(fingerprint=fingerprint, vectors=some))

        state = _waited(waiting_client, invocation, show)
        try:
            with connected(place, model["model"], fingerprint, is_over=state.done, say=say) as cluster:
                say(f"{count(cluster.processors(), 'processor')} in the Ray cluster at {clean(address)}")
                embedded = embed_on(cluster, take, keep, state.done)
            say(f"{count(embedded, 'vector')} computed by the cluster")
        except Unavailable as error:
            if not state.done():
                say(f"{clean(str(error))}; the daemon continues without the cluster")
        return state.result()


def _waited(client: Caller, invocation: Invocation, show: Callable[[JSON], None]) -> Future[JSON]:
    """Wait in a separate thread until everything is indexed; return a future for the vault's status."""
    state: Future[JSON] = Future()
    params = invocation.params(progress=True, remember=True)

    def on_notification(method: str, progress: JSON) -> None:
        if method == "index/progress":
            show(progress)

    def wait() -> None:
        try:
            state.set_result(_called(client, "index/wait", params, on_notification))
        except Exception as error:  # raised in the thread that requests the status
            state.set_exception(error)

    threading.Thread(target=wait, name="index/wait", daemon=True).start()
    return state


def _called(
    client: Caller, method: str, params: JSON, on_notification: Callable[[str, JSON], object] | None = None
) -> Any:
    """Return the daemon's answer; if a different daemon has replaced it, repeat the request."""
    while True:
        pid = daemon_pid()
        try:
            return client.call(method, params, timeout=None, on_notification=on_notification)
        except Unavailable as error:
            if error.cause is not None or not _is_replaced(pid):
                raise


def _is_replaced(pid: int | None) -> bool:
    """Return True as soon as a different daemon is running, or False if none starts within
    ``AWAY_SECONDS``."""
    give_up = time.monotonic() + AWAY_SECONDS
    while daemon_pid() in (pid, None):
        if time.monotonic() > give_up:
            return False
        time.sleep(_RETRY_SECONDS)
    return True
