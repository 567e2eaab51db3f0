"""A server's token, in a file that only its owner can read."""

import secrets
from pathlib import Path

from vaultseek.base import paths
from vaultseek.errors import Forbidden, Unavailable

TOKEN_BYTES = 32


def read_token(file: Path) -> str:
    """Return the token in ``file``; if the file does not exist, create it with a new token. Raises Forbidden
    or Unavailable."""
    try:
        data = paths.read_private(file, 1024)
    except FileNotFoundError:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        paths.write_atomically(file, f"{token}\n")
        return token
    except OSError as error:
        raise Unavailable(f"{file} cannot be read: {error.strerror}; remove it") from None
    if data is None:
        raise Forbidden(
            f"other users can read the token in {file}; remove the file, and a new one will be created"
        )
    token = data.decode("utf-8", "replace").strip()
    if len(token) < TOKEN_BYTES or not token.isascii():
        raise Unavailable(f"{file} has no token; remove it, and a new one will be created")
    return token
