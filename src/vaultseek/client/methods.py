"""The methods of the protocol as methods of both clients; their types are in ``methods.pyi``."""

from __future__ import annotations

from vaultseek.client.conversation import DEFAULT_TIMEOUT
from vaultseek.protocol.messages.methods import METHODS

TYPE_CHECKING = False  # typing is heavy for a command that only calls the daemon
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

RENAMED = {"note": "path", "text": "prefix"}
"""Python names of positional parameters whose names differ in the protocol."""


class Methods:
    """The methods of the protocol, for a client that can ``call``.

    ``vault`` is the name or absolute folder of a vault, ``cwd`` the absolute folder from which the request
    comes; if neither is given, the only configured vault is used. Parts not ready after ``deadline_ms``
    milliseconds are left out and listed in ``partial``. ``supersedes`` is the id of an earlier request of
    this client to cancel. ``timeout`` in seconds replaces the client's own; None waits indefinitely.

    Every method raises the error of ``vaultseek.errors`` with which the daemon answers: UsageError for wrong
    parameters, VaultMissing for a missing vault, Cancelled if there is no answer in time, Unavailable if the
    daemon disconnected. Lines are 1-based and inclusive everywhere. The answer to ``schema`` describes every
    parameter.
    """


def _method(method: str, *positional: str) -> Callable[..., Any]:
    names = {RENAMED.get(name, name): name for name in positional}

    def call(self: Any, *values: object, timeout: float | None = DEFAULT_TIMEOUT, **options: object) -> Any:
        if len(values) > len(names):
            known = ", ".join(names) or "none"
            raise TypeError(f"{method!r} takes these parameters by position: {known}; name the others")
        given = dict(**dict(zip(names, values, strict=False)), **options)  # no name twice
        # None and False mean that a parameter is not given.
        params = {
            names.get(name, name): it for name, it in given.items() if it is not None and it is not False
        }
        return self.call(method, params, timeout=timeout)

    call.__doc__ = f"Call {method!r} of the protocol."
    return call


for _name, _entry in METHODS.items():
    if _entry.call:
        _python, *_positional = _entry.python
        setattr(Methods, _python, _method(_name, *_positional))

AsyncMethods = Methods
"""The methods of the protocol for the asyncio client; their results are awaited, like the result of
``call``."""
