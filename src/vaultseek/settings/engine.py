"""The options of an engine in the settings: its address, and how it is trusted."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from vaultseek.base import paths
from vaultseek.errors import ConfigError

EMBEDDED = "embedded"


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
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

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

    def token(self) -> str:
        """Return the token, "" if there is none. Raises ConfigError if it is not where the settings say."""
        return paths.read_secret(self.token_variable, self.token_file, "index.token") or ""
