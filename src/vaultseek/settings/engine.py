"""The options of an engine in the settings: its address and certificate."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from vaultseek.base import paths
from vaultseek.errors import ConfigError

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The address and use of an engine; see the section ``[index]`` of the settings.

    ``shard`` names this vault's part of it and is unique within the engine.
    """

    uri: str
    shard: str = ""
    prefix: str = "vaultseek"
    token_variable: str = ""
    token_file: str = ""
    certificate: str = ""
    """File with the certificates that verify the server; empty for the system's certificates."""
    seconds: float = 10.0
    """Time limit of a search; a batch may take ``write_seconds``."""
    write_seconds: float = 120.0

    kind: ClassVar[str] = "postgres"
    title: ClassVar[str] = "PostgreSQL"
    """The display name of the engine."""

    @property
    def place(self) -> str:
        """The address without user and password, for display."""
        parts = urlsplit(self.uri)
        if not parts.netloc:
            return self.uri
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def sends(self) -> str:
        """The place where text is stored, in words."""
        return f"the text of notes is kept in {self.title} at {self.place}, and sent there"

    def check(self) -> None:
        """Raise a one-line ConfigError for an invalid combination."""
        self.check_address()
        self.check_certificate()

    def check_address(self) -> None:
        """Raise a one-line ConfigError if the address is missing or invalid."""
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
        """Raise a one-line ConfigError if the certificate file is missing."""
        if self.certificate and not Path(self.certificate).expanduser().is_file():
            raise ConfigError(f"index.certificate: expected a file, found none at {self.certificate}")

    def token(self) -> str:
        """Return the token, "" if there is none. Raises ConfigError if the settings name a source that
        has none."""
        return paths.read_secret(self.token_variable, self.token_file, "index.token") or ""
