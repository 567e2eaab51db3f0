"""The blocking client of the daemon, for tests and scripts. ::

with Client() as client:
    for result in client.search("tomato soup")["results"]:
        print(result["path"])
"""

from vaultseek.client.caller import Caller
from vaultseek.client.methods import Methods


class Client(Caller, Methods):
    """A connection to the daemon, made at once. One call at a time, one thread.

    When the daemon was restarted between two calls, the next call connects again. ``timeout`` is what a call
    may take in seconds, None for as long as it takes. ``server`` is the daemon's answer to ``initialize``.
    ``socket_path`` is the daemon's socket, or the address file of its port. With ``validate`` every request
    and answer is checked by the schema of the protocol, for which pydantic is imported.

    Raises NotRunning if no daemon runs, Busy if it has too many clients, Unavailable if it does not answer.
    """
