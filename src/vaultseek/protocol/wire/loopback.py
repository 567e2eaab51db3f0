"""The TCP port on the loopback interface, for programs that cannot use the Unix socket.

Every user on the machine can connect to a port, so clients must send a token first. The token is in the
address file, which only the user can read. The file also contains a second secret, which the daemon sends to
prove that it wrote the file: after a crash, another program may use the port.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import time

from vaultseek.base.limits import ADDRESS_BYTES, BACKLOG
from vaultseek.errors import Forbidden, Unavailable, advise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from vaultseek.base.model import JSON

TOKEN_LENGTH = 32
"""Number of random bytes in a token."""
LOOPBACK_SECONDS = 5.0

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
"""Names of this computer accepted in HTTP requests."""
SUFFIX = ".tcp"
TOKEN = "token"
"""Name of the parameter of ``initialize`` that contains the token."""
PROOF = "proof"
"""Name of the field in the answer that contains the proof that the daemon wrote the address file."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Secrets:
    """The secrets for a TCP connection: the client sends ``token``, the daemon sends ``proof``."""

    __slots__ = ("proof", "token")

    def __init__(self, token: str, proof: str) -> None:
        self.token = token
        self.proof = proof

    def __repr__(self) -> str:
        return "Secrets(…)"

    def admit(self, params: JSON) -> bool:
        """Return True if the parameters of ``initialize`` contain the right token."""
        return is_same(params.get(TOKEN), self.token)

    def check(self, answer: object) -> None:
        """Check that the answer to ``initialize`` contains the right proof. Raises Unavailable."""
        value = answer.get(PROOF) if isinstance(answer, dict) else None
        if not is_same(value, self.proof):
            raise Unavailable(
                "another program answers on the daemon's port; no request was sent; start the daemon",
                advice=advise("start"),
            )


class LoopbackPort:
    """The daemon's listening TCP port, from ``open`` to ``close``; clients read its number from ``file``."""

    def __init__(self, file: Path, listening: socket.socket, secrets: Secrets) -> None:
        self.file = file
        self.socket = listening
        self.number: int = listening.getsockname()[1]
        self.secrets = secrets

    @classmethod
    def open(cls, beside: Path) -> LoopbackPort:
        """Listen on a free port, and write its number to an address file next to the Unix socket ``beside``.

        The caller must hold the daemon's lock. Raises Unavailable if the port or the file cannot be created.
        """
        import secrets

        pair = Secrets(secrets.token_urlsafe(TOKEN_LENGTH), secrets.token_urlsafe(TOKEN_LENGTH))
        file = beside.with_suffix(SUFFIX)
        port = cls(file, listen(HOST, 0, "check the firewall"), pair)
        try:
            _write(file, {"port": port.number, TOKEN: pair.token, PROOF: pair.proof})
        except OSError as error:
            port.socket.close()
            raise Unavailable(
                f"{file} cannot be written: {error.strerror or error}; check its folder"
            ) from error
        return port

    def close(self) -> None:
        """Stop listening and remove the address file."""
        self.file.unlink(missing_ok=True)
        self.socket.close()


def listen_on(port: int) -> socket.socket:
    """Return a socket that listens on ``port``, for this computer only; for port 0, the system chooses a free
    port.

    Raises Unavailable if the port is taken.
    """
    return listen(HOST, port, "choose another port")


def is_of_this_machine(host: str) -> bool:
    """Return True if the address can be reached only from this machine."""
    return host in ("localhost", "::1") or host.startswith("127.")


def listen(host: str, number: int, advice: str = "set another address") -> socket.socket:
    """Return a non-blocking socket that listens on an address.

    Raises Unavailable, with ``advice`` in the message, if the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, number))
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise Unavailable(f"{host}:{number} cannot be used: {error.strerror or error}; {advice}") from None
    return listening


def connect(file: Path, until: float | None) -> tuple[socket.socket, Secrets]:
    """Return a blocking socket connected to the port in the address file ``file``, and the secrets for this
    port.

    Raises FileNotFoundError if there is no file, ConnectionError if no program listens (the daemon that wrote
    the file has died), Forbidden if other users can read the file or may have written it, and Unavailable if
    ``file`` is not an address file.
    """
    port, secrets = _read(file)
    seconds = LOOPBACK_SECONDS if until is None else until - time.monotonic()
    connection = socket.create_connection((HOST, port), timeout=min(LOOPBACK_SECONDS, max(0.01, seconds)))
    disable_nagle(connection)
    return connection, secrets


def remove_address_file(beside: Path) -> None:
    """Remove the address file that a killed daemon may have left next to the Unix socket ``beside``."""
    with contextlib.suppress(OSError):
        beside.with_suffix(SUFFIX).unlink(missing_ok=True)


def disable_nagle(connection: socket.socket) -> None:
    """Disable Nagle's algorithm, which would delay small messages."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _write(file: Path, content: JSON) -> None:
    from vaultseek.base.paths import write_atomically

    write_atomically(file, json.dumps(content) + "\n")


def _read(file: Path) -> tuple[int, Secrets]:
    opened = os.open(file, _READ)
    try:
        state = os.fstat(opened)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid():
            raise Forbidden(f"{file} is not vaultseek's address file, so no request was sent; remove it")
        if state.st_mode & _OTHERS:
            raise Forbidden(
                f"other users can read the token in {file}; remove the file and start the daemon again"
            )
        text = os.read(opened, ADDRESS_BYTES)
    finally:
        os.close(opened)
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        content = json.loads(text)
        port, token, proof = content["port"], content[TOKEN], content[PROOF]
        if type(port) is int and 0 < port < 1 << 16 and type(token) is type(proof) is str:
            return port, Secrets(token, proof)
    raise Unavailable(f"{file} is not a valid address file; remove it and start the daemon again")


def is_same(value: object, secret: str) -> bool:
    """Return True if ``value`` equals the secret; the comparison takes constant time."""
    import hmac

    return isinstance(value, str) and hmac.compare_digest(value.encode("utf-8", "replace"), secret.encode())
