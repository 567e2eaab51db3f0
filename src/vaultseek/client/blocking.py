"""The blocking client of the daemon, for tests and scripts. ::

with Client() as client:
    for result in client.search("tomato soup")["results"]:
        print(result["path"])
"""

from vaultseek.client.caller import Caller
from vaultseek.client.methods import Methods


class Client(Caller, Methods):
    """A connection to the daemon, opened at once. One call at a time, from one thread.

    If the daemon was restarted between two calls, the next call reconnects. ``timeout`` is the maximum
    duration of a call in seconds, None for no limit. ``server`` is the daemon's answer to ``initialize``.
    ``socket_path`` is the daemon's socket, or the address file of its port. With ``validate``, every request
    and answer is checked against the protocol's schema, which imports pydantic.

    Raises NotRunning if no daemon runs, Busy if it has too many clients, Unavailable if it does not answer.
    """
