"""The way to an engine, as the settings say: its address, how it is trusted, and how collections are made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from vaultseek.base import paths
from vaultseek.errors import ConfigError

EMBEDDED, MILVUS, POSTGRES = "embedded", "milvus", "postgres"
_TITLES = {MILVUS: "Milvus", POSTGRES: "PostgreSQL"}
Consistency = Literal["Strong", "Bounded", "Session", "Eventually"]
LITE_SUFFIX = ".db"
TOKEN_BYTES = 10_000
"""Bytes that are read of a file with a token."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Where an engine is and how it is used; see the section ``[index]`` of the settings.

    ``shard`` names this vault's part of the collections; no two vaults of one engine have the same.
    """

    uri: str
    shard: str = ""
    kind: str = MILVUS
    prefix: str = "vaultseek"
    database: str = ""
    token_variable: str = ""
    token_file: str = ""
    certificate: str = ""
    """File with the certificates that the server is trusted by; empty for those of the system."""
    consistency: Consistency = "Strong"
    shards: int = 1
    partitions: int = 0
    vector_index: str = "AUTOINDEX"
    seconds: float = 10.0
    """Time limit of a search; a batch may take ``write_seconds``."""
    write_seconds: float = 120.0
    index_parameters: tuple[tuple[str, int], ...] = field(default=(("M", 16), ("efConstruction", 200)))

    @property
    def title(self) -> str:
        """The name of the engine, for people."""
        return _TITLES[self.kind]

    @property
    def has_searchers(self) -> bool:
        """True if daemons without a folder can answer from it."""
        return self.kind == POSTGRES

    @property
    def is_lite(self) -> bool:
        """True for a file of Milvus Lite, which a process of our own serves."""
        return self.kind == MILVUS and self.uri.endswith(LITE_SUFFIX) and "://" not in self.uri

    @property
    def file(self) -> Path:
        """The file of Milvus Lite."""
        return Path(self.uri).expanduser()

    @property
    def place(self) -> str:
        """The address without user and password, for people."""
        if self.is_lite:
            return str(self.file)
        parts = urlsplit(self.uri)
        if not parts.netloc:
            return self.uri
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{host}{port}{parts.path if self.kind == POSTGRES else ''}"

    @property
    def sends(self) -> str:
        """The place that text is kept in, in words."""
        if self.is_lite:
            return f"notes are kept in Milvus Lite, {self.place}"
        return f"the text of notes is kept in {self.title} at {self.place}, and sent there"

    def check(self) -> None:
        """Raise ConfigError, one line, for what cannot work."""
        self.check_address()
        if not self.is_lite:
            self.check_certificate()

    def check_address(self) -> None:
        """Raise ConfigError, one line, if there is no address, or one that cannot be."""
        if not self.uri:
            raise ConfigError(
                f'index.uri is missing: index.backend = "{self.kind}" needs the address of a server, '
                'such as "https://milvus.example:19530", or a file for Milvus Lite that ends in .db'
            )
        if self.is_lite:
            if not self.file.is_absolute():
                raise ConfigError(f"index.uri is {self.uri!r}, not a whole path; start it with / or ~")
            return
        parts = urlsplit(self.uri)
        if self.kind == POSTGRES:
            if parts.scheme not in ("postgresql", "postgres") or not parts.hostname or parts.password:
                raise ConfigError(
                    "index.uri has to be postgresql://HOST/DATABASE for PostgreSQL; put user:password into a "
                    "file of mode 0600 and name it as index.token_file"
                )
            return
        if parts.scheme not in ("http", "https", "tcp") or not parts.hostname:
            actual = self.place if "@" in self.uri else self.uri
            raise ConfigError(
                f"index.uri is {actual!r}, expected http:// or https:// with a host, or a file in .db"
            )
        if parts.username or parts.password:
            raise ConfigError(
                "index.uri holds a user or password; put user:password into a file of mode 0600 and name it "
                "as index.token_file, or its variable as index.token_variable"
            )

    def check_certificate(self) -> None:
        """Raise ConfigError, one line, if the file of the certificate is not there."""
        if self.certificate and not Path(self.certificate).expanduser().is_file():
            raise ConfigError(f"index.certificate: expected a file, found none at {self.certificate}")

    def refuse_vaults(self, vaults: Mapping[str, Path]) -> None:
        """Raise ConfigError, one line, if this is a file inside one of the vaults, folders by name."""
        if not self.is_lite:
            return
        file = Path(os.path.realpath(self.file))
        for name, root in vaults.items():
            if file.is_relative_to(root):
                raise ConfigError(
                    f"index.uri: {file} is inside the vault {name}, where nothing is written; "
                    "choose another folder"
                )

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


def kind_of(uri: str) -> str:
    """Return the engine that an address is of."""
    return POSTGRES if uri.startswith("postgres") else MILVUS


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
