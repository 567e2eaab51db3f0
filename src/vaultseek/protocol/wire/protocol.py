"""JSON-RPC 2.0 messages of vaultseek: requests, notifications, answers and errors. No I/O.

Parameters are passed by name. An error has a number, one line of text and, in ``data.code``, the stable code
by which clients distinguish errors. Batches are not supported.
"""

from __future__ import annotations

from vaultseek.base.limits import ERROR_CHARS, NAME_CHARS
from vaultseek.base.text import one_line, quote
from vaultseek.base.zone import zone_named
from vaultseek.errors import ProtocolError, UsageError, VaultseekError, error_classes
from vaultseek.protocol.wire.frame import examine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import tzinfo

    from vaultseek.base.model import JSON

Id = int | str

VERSION = 1
"""Newest protocol version supported by this package."""
OLDEST_VERSION = 1
"""Oldest supported protocol version."""

INITIALIZE = "initialize"
CANCEL = "$/cancelRequest"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
UNKNOWN_METHOD = -32601
INTERNAL_ERROR = -32603

_WITHOUT_CLASS: dict[str, type[VaultseekError]] = {
    "unknown_method": UsageError,
    "unsupported_version": UsageError,
    "duplicate_id": ProtocolError,
    "internal": VaultseekError,
}


class Request:
    """A request from a client. ``id`` is None for a notification, which is not answered."""

    __slots__ = ("id", "method", "params")

    def __init__(self, id: Id | None, method: str, params: JSON) -> None:
        self.id = id
        self.method = method
        self.params = params


class Rejected:
    """A message that is not a valid request; ``id`` is None if the message has no readable id."""

    __slots__ = ("error", "id")

    def __init__(self, id: Id | None, error: VaultseekError) -> None:
        self.id = id
        self.error = error


def read(body: bytes) -> Request | Rejected | None:
    """Parse a message from a client. Never raises.

    Returns None for a response, because the daemon sends no requests.
    """
    decoded = examine(body)
    value = decoded.value
    if decoded.fault is not None:
        number = PARSE_ERROR if value is None else INVALID_REQUEST
        return Rejected(_readable_id(value), _invalid(f"the message cannot be read: {decoded.fault}", number))
    if isinstance(value, list):
        return Rejected(None, _invalid("batches are not supported; send each request in its own frame"))
    if not isinstance(value, dict):
        return Rejected(None, _invalid("a message must be a JSON object"))
    if "method" not in value and ("result" in value or "error" in value):
        return None
    id = _readable_id(value)
    if "id" in value and id is None:
        return Rejected(None, _invalid("a request's id must be a string or a whole number"))
    if value.get("jsonrpc") != "2.0":
        return Rejected(id, _invalid("a message must contain 'jsonrpc': '2.0'"))
    method = value.get("method")
    if not isinstance(method, str):
        return Rejected(id, _invalid("a request must name its method"))
    params = value.get("params")
    if params is None or params == []:
        params = {}
    if not isinstance(params, dict):
        return Rejected(
            id, UsageError("a request's parameters must be an object with parameter names as keys")
        )
    return Request(id, method, params)


def request(id: Id, method: str, params: JSON) -> JSON:
    """Return a request message."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def notification(method: str, params: JSON) -> JSON:
    """Return a notification message."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def answer(id: Id, result: object) -> JSON:
    """Return the message that answers request ``id`` with ``result``."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def error_response(id: Id | None, error: VaultseekError) -> JSON:
    """Return the message that answers request ``id`` with an error."""
    data: JSON = {"code": error.code}
    if error.advice is not None:
        data["advice"] = error.advice
    members = {"code": error.number, "message": one_line(str(error), ERROR_CHARS), "data": data}
    return {"jsonrpc": "2.0", "id": id, "error": members}


def to_exception(error: object) -> VaultseekError:
    """Return the exception for the ``error`` member of a response, with its ``code`` and ``number``."""
    members = error if isinstance(error, dict) else {}
    data = members.get("data")
    code, advice = (data.get("code"), data.get("advice")) if isinstance(data, dict) else (None, None)
    classes = {**error_classes(), **_WITHOUT_CLASS}
    kind = classes.get(code, VaultseekError) if isinstance(code, str) else VaultseekError
    message = str(members.get("message", "the daemon did not say what went wrong"))
    exception = kind(one_line(message, ERROR_CHARS))
    exception.advice = advice if isinstance(advice, dict) and {"kind", "names"} <= {*advice} else None
    if isinstance(code, str):
        exception.code = code
    if isinstance(number := members.get("code"), int):
        exception.number = number
    return exception


def unknown_method(method: str) -> VaultseekError:
    """Return the error for an unknown method."""
    return _coded(UsageError(f"unknown method {quote(method)}"), "unknown_method", UNKNOWN_METHOD)


def duplicate_id(id: Id) -> VaultseekError:
    """Return the error for a request whose id belongs to a request that is still running."""
    text = f"request {quote(id)} is still running; every request needs its own id"
    return _coded(ProtocolError(text), "duplicate_id", INVALID_REQUEST)


def internal(incident: str) -> VaultseekError:
    """Return the error for a bug in the daemon; ``incident`` identifies the traceback in the log."""
    return _coded(VaultseekError(f"internal error {incident}; see the log"), "internal", INTERNAL_ERROR)


def negotiate(params: JSON) -> int:
    """Return the protocol version to use for a client that sent ``params`` with ``initialize``.

    Raises UsageError if the version is missing or, with the code ``unsupported_version``, too old.
    """
    version = params.get("protocol_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise UsageError("initialize needs 'protocol_version', a whole number")
    if version < OLDEST_VERSION:
        text = (
            f"protocol version {version} is not supported; the oldest supported one is {OLDEST_VERSION}; "
            "update the client"
        )
        raise _coded(UsageError(text), "unsupported_version", UsageError.number)
    return min(version, VERSION)


def client_name(params: JSON) -> str:
    """Return the client's name from the parameters of ``initialize``: ``client``, or ``clientInfo.name``."""
    info = params.get("clientInfo")
    name = params.get("client", info.get("name") if isinstance(info, dict) else None)
    return one_line(name, ERROR_CHARS)[:NAME_CHARS] if isinstance(name, str) and name.strip() else "unnamed"


def client_zone(params: JSON) -> tzinfo | None:
    """Return the time zone from the parameters of ``initialize``, or None if it is missing or unknown.

    Raises UsageError if it is not a string.
    """
    value = params.get("time_zone")
    if value is not None and not isinstance(value, str):
        raise UsageError("'time_zone' must be a string such as Europe/Berlin")
    return zone_named(value)


def client_is_agent(params: JSON) -> bool:
    """Return True if the parameters of ``initialize`` declare that answers are for an agent. Raises
    UsageError if the value is not a boolean."""
    value = params.get("agent", False)
    if not isinstance(value, bool):
        raise UsageError("'agent' must be true or false")
    return value


def is_id(value: object) -> bool:
    """Return True if ``value`` is a valid request id."""
    return isinstance(value, int | str) and not isinstance(value, bool)


def _readable_id(value: object) -> Id | None:
    id = value.get("id") if isinstance(value, dict) else None
    return id if isinstance(id, int | str) and is_id(id) else None


def _invalid(message: str, number: int = INVALID_REQUEST) -> VaultseekError:
    return _coded(ProtocolError(message), ProtocolError.code, number)


def _coded(error: VaultseekError, code: str, number: int) -> VaultseekError:
    error.code = code
    error.number = number
    return error
