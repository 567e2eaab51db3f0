"""The errors that vaultseek raises on purpose.

::

    VaultseekError
    ├── ConfigError             an invalid setting: file, key, expected value
    ├── UsageError              a request or command that is not valid
    │   ├── BadQuery            a query that is not valid
    │   └── BadPath             a path that is not inside the vault
    ├── NotFound                a note or vault that does not exist
    ├── Unavailable             a daemon, vault or index that cannot answer now
    │   ├── NotRunning          no running daemon
    │   ├── VaultMissing        a vault whose folder is missing
    │   ├── AlreadyRunning      another process that holds the lock
    │   ├── WorkerUnavailable   a semantic worker that is down, hung or still loading
    │   ├── Forbidden           a port token that is missing, wrong or readable by other users
    │   └── Busy                a limit on clients or requests that has been reached
    ├── Cancelled               a request that was cancelled or is past its deadline
    ├── ProtocolError           a frame or message that cannot be understood
    │   ├── FrameTooLarge       a frame longer than the limit; the connection must be closed
    │   └── FrameLost           broken framing; the connection must be closed
    └── IndexDamaged            an index on disk that cannot be read and must be rebuilt

Every class has ``code``, a stable word that is sent over the wire; ``number``, its JSON-RPC error number; and
``exit_code``, the exit code of the command line. A message is one line. It says what happened and what to do
next, in words that suit every program, and never contains the text of a note. ``advice`` contains the next
step as data, so that a program can add its own command.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Advice = dict[str, Any]
    AdviceKind = Literal["start", "stop", "add", "choose", "resume", "index", "search", "fetch", "install"]


def advise(kind: AdviceKind, *names: str) -> Advice:
    """Return advice; ``names`` are the vaults to choose from, or the vault, model or extra concerned."""
    return {"kind": kind, "names": list(names)}


class VaultseekError(Exception):
    """Base of all errors that vaultseek raises on purpose."""

    code = "error"
    number = -32000
    exit_code = 3
    cause: str | None = None
    """A ``model.ReasonCode`` that is more specific than ``code``."""

    def __init__(self, message: str = "", advice: Advice | None = None) -> None:
        super().__init__(message)
        self.advice = advice


def error_classes() -> dict[str, type[VaultseekError]]:
    """Return all error classes, keyed by their codes."""
    classes: dict[str, type[VaultseekError]] = {}
    waiting = [VaultseekError]
    while waiting:
        kind = waiting.pop()
        classes.setdefault(kind.code, kind)
        waiting.extend(kind.__subclasses__())
    return classes


class ConfigError(VaultseekError):
    """Raised for an invalid setting; the message names the file, the key and the expected value."""

    code = "bad_config"
    number = -32010
    exit_code = 2


class UsageError(VaultseekError):
    """Raised for a request or command that is not valid."""

    code = "bad_request"
    number = -32602
    exit_code = 2


class BadQuery(UsageError):
    """Raised for a query that is not valid."""

    code = "bad_query"
    number = -32011


class BadPath(UsageError):
    """Raised for a path that is not inside the vault."""

    code = "bad_path"
    number = -32012


class NotFound(VaultseekError):
    """Raised for a note or vault that does not exist."""

    code = "not_found"
    number = -32013
    exit_code = 1


class Unavailable(VaultseekError):
    """Raised if a daemon, vault or index cannot answer now."""

    code = "unavailable"
    number = -32020

    def __init__(self, message: str, cause: str | None = None, advice: Advice | None = None) -> None:
        super().__init__(message, advice)
        self.cause = cause


class NotRunning(Unavailable):
    """Raised if no daemon is running."""

    code = "not_running"
    number = -32028

    def __init__(self, message: str = "no daemon is running; start one") -> None:
        super().__init__(message, advice=advise("start"))


class VaultMissing(Unavailable):
    """Raised if the folder of a vault is missing."""

    code = "vault_missing"
    number = -32021


class AlreadyRunning(Unavailable):
    """Raised if another process holds the lock."""

    code = "already_running"
    number = -32022


class WorkerUnavailable(Unavailable):
    """Raised if the semantic worker is down, hung or still loading."""

    code = "worker_unavailable"
    number = -32023


class Forbidden(Unavailable):
    """Raised if the token for the port is missing or wrong, or if other users can read it."""

    code = "forbidden"
    number = -32027


class Busy(Unavailable):
    """Raised when a limit on clients or requests has been reached; the caller should try again."""

    code = "busy"
    number = -32024


class Cancelled(VaultseekError):
    """Raised if a request was cancelled or is past its deadline."""

    code = "cancelled"
    number = -32800


class ProtocolError(VaultseekError):
    """Raised for a frame or message that cannot be understood."""

    code = "invalid"
    number = -32600


class FrameTooLarge(ProtocolError):
    """Raised for a frame longer than the limit; the connection must be closed."""

    code = "too_large"
    number = -32025
    exit_code = 2


class FrameLost(ProtocolError):
    """Raised for broken framing; the connection must be closed."""

    code = "bad_frame"
    number = -32700


class IndexDamaged(VaultseekError):
    """Raised for an index on disk that cannot be read and must be rebuilt from the ledger."""

    code = "index_damaged"
    number = -32026
