"""The options of an engine in the settings: its address, and how it is trusted."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from vaultseek.base import paths
from vaultseek.errors import ConfigError

EMBEDDED = "embedded"
TOKEN_BYTES = 10_000
"""Bytes that are read of a file with a token."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Where an engine is and how it is used; see the section ``[index]`` of the settings.

    ``shard`` names this vault's part of it; no two vaults of one engine have the same.
    """

    uri: str
    shard: str = ""
    prefix: str = "vaultseek"
    token_variable: str = ""
    token_file: str = ""
    certificate: str = ""
    """File with the certificates that the server is trusted by; empty for those of the system."""
    seconds: float = 10.0
    """Time limit of a search; a batch may take ``write_seconds``."""
    write_seconds: float = 120.0

    kind: ClassVar[str] = "postgres"
    title: ClassVar[str] = "PostgreSQL"
    """The name of the engine, for people."""

    @property
    def place(self) -> str:
        """The address without user and password, for people."""
        parts = urlsplit(self.uri)
        if not parts.netloc:
            return self.uri
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"

    @property
    def sends(self) -> str:
        """The place that text is kept in, in words."""
        return f"the text of notes is kept in {self.title} at {self.place}, and sent there"

    def check(self) -> None:
        """Raise ConfigError, one line, for what cannot work."""
        self.check_address()
        self.check_certificate()

    def check_address(self) -> None:
        """Raise ConfigError, one line, if there is no address, or one that cannot be."""
        if not self.uri:
            raise ConfigError(
                f'index.uri is missing: index.backend = "{self.kind}" needs the address of a server, '
                'such as "postgresql://db.example/notes"'
            )
        parts = urlsplit(self.uri)
        if parts.scheme not in ("postgresql", "postgres") or not parts.hostname or parts.password:
            raise ConfigError(
                "index.uri: expected postgresql://HOST/DATABASE; put user:password into a file of mode 0600 "
                "and name it as index.token_file"
            )

    def check_certificate(self) -> None:
        """Raise ConfigError, one line, if the file of the certificate is not there."""
        if self.certificate and not Path(self.certificate).expanduser().is_file():
            raise ConfigError(f"index.certificate: expected a file, found none at {self.certificate}")

    def check_token_file(self) -> None:
        """Raise ConfigError, one line, if the file of the token cannot be used."""
        if self.token_file:
            _token_of_file(Path(self.token_file).expanduser())

    def token(self) -> str:
        """Return the token, "" if there is none. Raises ConfigError if it is not where the settings say."""
        if self.token_variable:
            token = os.environ.get(self.token_variable, "").strip()
            if not token:
                raise ConfigError(
                    f"the variable {self.token_variable} of index.token_variable is not set where the "
                    "daemon was started; set it there, or use index.token_file"
                )
            return token
        return _token_of_file(Path(self.token_file).expanduser()) if self.token_file else ""


def _token_of_file(file: Path) -> str:
    try:
        data = paths.read_private(file, TOKEN_BYTES)
        token = None if data is None else data.decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigError(f"index.token_file: {file} cannot be read: {reason}") from None
    if token is None:
        raise ConfigError(f"index.token_file: others can read {file}; run `chmod 600 {file}`, as its owner")
    if not token:
        raise ConfigError(f"index.token_file: {file} is empty; put the token into it")
    return token
