"""The protocol's methods as methods of ``Client`` and ``AsyncClient``; their types are in ``methods.pyi``."""

from __future__ import annotations

from vaultseek.client.conversation import DEFAULT_TIMEOUT
from vaultseek.protocol.messages.methods import METHODS

TYPE_CHECKING = False  # importing typing would slow down commands that only call the daemon
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

RENAMED = {"note": "path", "text": "prefix"}
"""Python names of positional parameters whose protocol names differ."""


class Methods:
    """The protocol's methods, for a client class with the method ``call``.

    ``vault`` is the name or absolute folder of a vault; ``cwd`` is the client's working directory as an
    absolute path; if neither is given, the only configured vault is used. Parts of the answer that are not
    ready after ``deadline_ms`` milliseconds are left out and listed in ``partial``. ``supersedes`` is the id
    of this client's earlier request, which is then cancelled. ``timeout``, in seconds, replaces the client's
    own timeout; None waits indefinitely.

    Every method raises the error from ``vaultseek.errors`` with which the daemon answers: UsageError for
    wrong parameters, VaultMissing for a missing vault, Cancelled if there is no answer in time, and
    Unavailable if the daemon disconnected. Line numbers are 1-based and ranges inclusive. The answer to
    ``schema`` describes every parameter.
    """


def _method(method: str, *positional: str) -> Callable[..., Any]:
    names = {RENAMED.get(name, name): name for name in positional}

    def call(self: Any, *values: object, timeout: float | None = DEFAULT_TIMEOUT, **options: object) -> Any:
        if len(values) > len(names):
            known = ", ".join(names) or "none"
            raise TypeError(
                f"{method!r} accepts only these parameters by position: {known}; pass the others by name"
            )
        given = dict(**dict(zip(names, values, strict=False)), **options)  # duplicates raise TypeError
        # None and False mean that a parameter is omitted.
        params = {
            names.get(name, name): it for name, it in given.items() if it is not None and it is not False
        }
        return self.call(method, params, timeout=timeout)

    call.__doc__ = f"Call the protocol's method {method!r}."
    return call


for _name, _entry in METHODS.items():
    if _entry.call:
        _python, *_positional = _entry.python
        setattr(Methods, _python, _method(_name, *_positional))

AsyncMethods = Methods
"""The protocol's methods for the asyncio client. Their results must be awaited."""
