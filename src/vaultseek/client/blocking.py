"""The blocking client of the daemon, for tests and scripts. ::

with Client() as client:
    for result in client.search("tomato soup")["results"]:
        print(result["path"])
"""

from vaultseek.client.caller import Caller
from vaultseek.client.methods import Methods


class Client(Caller, Methods):
    """A connection to the daemon, opened immediately. It makes one call at a time, from one thread.

    If the daemon was restarted between two calls, the next call reconnects. ``timeout`` is the maximum
    duration of a call in seconds, or None for no limit. ``server`` is the daemon's answer to ``initialize``.
    ``socket_path`` is the daemon's socket, or the address file of its TCP port. With ``validate``, every
    request and answer is checked against the protocol's schema; this imports pydantic.

    Raises NotRunning if no daemon is running, Busy if the daemon has too many clients, and Unavailable if it
    does not answer.
    """
