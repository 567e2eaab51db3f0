"""Everything that vaultseek raises on purpose.

::

    VaultseekError
    ├── ConfigError             a setting is wrong: file, key, what was expected
    ├── UsageError              a request or command that makes no sense as it stands
    │   ├── BadQuery            the query cannot be searched for
    │   └── BadPath             a path that is not inside the vault
    ├── NotFound                a note or vault that is not there
    ├── Unavailable             the daemon, a vault or an index cannot answer now
    │   ├── NotRunning          no daemon runs
    │   ├── VaultMissing        the vault's folder is not there
    │   ├── AlreadyRunning      another daemon holds the lock
    │   ├── WorkerUnavailable   the semantic worker is down, hung or still loading
    │   ├── Forbidden           the token for the port is missing or wrong, or could be another's
    │   └── Busy                a limit on clients or requests was reached
    ├── Cancelled               the client took the request back, or its deadline passed
    ├── ProtocolError           a frame or message that cannot be understood
    │   ├── FrameTooLarge       longer than the limit; the connection cannot go on
    │   └── FrameLost           the framing itself is broken; the connection cannot go on
    └── IndexDamaged            an index on disk cannot be read and must be refilled

Every class carries ``code``, a stable word that travels over the wire, ``number``, its JSON-RPC error
number, and ``exit_code``, what the command line ends with. Messages are one line, say what happened and
what to do next, and never contain the text of a note.
"""

from __future__ import annotations


class VaultseekError(Exception):
    """Base of all errors that vaultseek raises on purpose."""

    code = "error"
    number = -32000
    exit_code = 3
    cause: str | None = None
    """A ``model.ReasonCode`` that says more than ``code`` does."""


def error_classes() -> dict[str, type[VaultseekError]]:
    """Return every class of errors by its code."""
    classes: dict[str, type[VaultseekError]] = {}
    waiting = [VaultseekError]
    while waiting:
        kind = waiting.pop()
        classes.setdefault(kind.code, kind)
        waiting.extend(kind.__subclasses__())
    return classes


class ConfigError(VaultseekError):
    """A setting is wrong; the message names file, key and what was expected."""

    code = "bad_config"
    number = -32010
    exit_code = 2


class UsageError(VaultseekError):
    """A request or command that makes no sense as it stands."""

    code = "bad_request"
    number = -32602
    exit_code = 2


class BadQuery(UsageError):
    """The query cannot be searched for."""

    code = "bad_query"
    number = -32011


class BadPath(UsageError):
    """A path that is not inside the vault."""

    code = "bad_path"
    number = -32012


class NotFound(VaultseekError):
    """A note or vault that is not there."""

    code = "not_found"
    number = -32013
    exit_code = 1


class Unavailable(VaultseekError):
    """The daemon, a vault or an index cannot answer now."""

    code = "unavailable"
    number = -32020

    def __init__(self, message: str, cause: str | None = None) -> None:
        super().__init__(message)
        self.cause = cause


class NotRunning(Unavailable):
    """No daemon runs."""

    code = "not_running"
    number = -32028

    def __init__(self, message: str = "no daemon is running; start one with `vaultseek start`") -> None:
        super().__init__(message)


class VaultMissing(Unavailable):
    """The vault's folder is not there."""

    code = "vault_missing"
    number = -32021


class AlreadyRunning(Unavailable):
    """Another daemon holds the lock."""

    code = "already_running"
    number = -32022


class WorkerUnavailable(Unavailable):
    """The semantic worker is down, hung or still loading."""

    code = "worker_unavailable"
    number = -32023


class Forbidden(Unavailable):
    """The token for the port is missing or wrong, or others could know it."""

    code = "forbidden"
    number = -32027


class Busy(Unavailable):
    """A limit on clients or requests was reached; try again."""

    code = "busy"
    number = -32024


class Cancelled(VaultseekError):
    """The client took the request back, or its deadline passed."""

    code = "cancelled"
    number = -32800


class ProtocolError(VaultseekError):
    """A frame or message that cannot be understood."""

    code = "invalid"
    number = -32600


class FrameTooLarge(ProtocolError):
    """A frame longer than the limit; the connection cannot go on."""

    code = "too_large"
    number = -32025
    exit_code = 2


class FrameLost(ProtocolError):
    """The framing itself is broken; the connection cannot go on."""

    code = "bad_frame"
    number = -32700


class IndexDamaged(VaultseekError):
    """An index on disk cannot be read and must be refilled from the ledger."""

    code = "index_damaged"
    number = -32026
