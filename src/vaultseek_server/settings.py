"""Settings of a server: keys that are added to ``[index]``, and the section ``[team]``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator

from vaultseek.base import limits, paths
from vaultseek.base.model import EngineKind
from vaultseek.errors import ConfigError
from vaultseek.settings.sections import Section

if TYPE_CHECKING:
    from vaultseek.settings.model import Settings

EMBEDDED = "embedded"
ENGINE_FOLDER = "engine"
"""Name of the folder, within the index folder, that contains the files kept for an engine."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The address of an engine and how to use it; see the section ``[index]`` of the settings.

    ``shard`` is the name of the vault's part of the engine; it is unique within the engine.
    """

    uri: str
    shard: str = ""
    prefix: str = "vaultseek"
    token_variable: str = ""
    token_file: str = ""
    certificate: str = ""
    """File with the certificates that verify the server; empty to use the system's certificates."""
    seconds: float = 10.0
    """Time limit for a search in seconds; a batch may take ``write_seconds``."""
    write_seconds: float = 120.0

    kind: ClassVar[str] = "postgres"
    title: ClassVar[str] = "PostgreSQL"
    """The name of the engine, for display."""

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
        return f"the text of notes is sent to {self.title} at {self.place} and kept there"

    def check(self) -> None:
        """Raise a one-line ConfigError if the options cannot be used."""
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
                "and set index.token_file to its path"
            )

    def check_certificate(self) -> None:
        """Raise a one-line ConfigError if the certificate file is missing."""
        if self.certificate and not Path(self.certificate).expanduser().is_file():
            raise ConfigError(f"index.certificate: expected a file, found none at {self.certificate}")

    def token(self) -> str:
        """Return the token; "" if none is set. Raises ConfigError if the settings name a source that contains
        no token."""
        return paths.read_secret(self.token_variable, self.token_file, "index.token") or ""


class EngineKeys(Section):
    """Keys of ``[index]`` that choose where the index is stored."""

    backend: EngineKind = "embedded"
    """The search engine: vaultseek's own, or a PostgreSQL server with pgvector, which needs the ``postgres``
    extra."""
    uri: str = ""
    """Address of the engine, such as "postgresql://db.example/notes". The notes' text is sent there."""
    token_variable: str = ""
    """Environment variable of the daemon that contains the token."""
    token_file: str = ""
    """File that contains the token, instead of a variable; only you may read it (mode 0600)."""
    certificate: str = ""
    """Certificate file (PEM) used to verify the engine's server and its host name."""
    collections: str = Field(
        default="vaultseek",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,21}$",
        title="at most 22 letters, digits and _, not starting with a digit",
    )
    """Prefix for schema names, at most 22 characters."""
    seconds: float = Field(default=10.0, gt=0.0, le=600.0)
    """Time limit in seconds for the engine to answer a search."""

    @field_validator("backend", mode="before")
    @classmethod
    def _no_milvus(cls, value: Any) -> Any:
        if value == "milvus":
            raise ValueError(
                '"embedded" or "postgres" (Milvus is no longer supported; the daemon copies the notes to the '
                "new engine by itself)"
            )
        return value

    @property
    def engine(self) -> EngineOptions | None:
        """The options of the engine; None for the embedded engine."""
        return None if self.backend == EMBEDDED else self.options

    @property
    def kept_at(self) -> str:
        """The address of the engine; "" for the embedded engine."""
        return "" if self.engine is None else self.uri

    @property
    def sends(self) -> str:
        """The status text about the data sent to the engine."""
        return "" if self.engine is None else self.engine.sends

    def unusable(self) -> Iterator[tuple[str, str]]:
        """Yield each key whose value is well-formed but cannot be used, with the problem."""
        options = self.options
        checks: dict[str, Callable[[], object]] = {
            "token_file": lambda: paths.read_secret("", options.token_file, "index.token"),
            "certificate": options.check_certificate,
        }
        if self.uri or self.engine is not None:
            checks["uri"] = options.check_address
        for key, check in checks.items():
            try:
                check()
            except ConfigError as error:
                yield key, str(error).removeprefix(f"index.{key}: ").removeprefix(f"index.{key} is ")
        if self.token_file and self.token_variable:
            yield "token_variable", "token_file is also set; remove one of them"

    @property
    def options(self) -> EngineOptions:
        """The options for PostgreSQL, whether PostgreSQL is in use or not."""
        return EngineOptions(
            uri=self.uri,
            prefix=self.collections,
            token_variable=self.token_variable,
            token_file=self.token_file,
            certificate=self.certificate,
            seconds=self.seconds,
        )


class TokenSettings(Section):
    """``[[team.tokens]]``: a token for the team's server, and the notes to which it gives access."""

    name: str = Field(examples=["anna"], min_length=1, max_length=limits.NAME_CHARS)
    """Name shown in the log."""
    sha256: str = Field(pattern="^[0-9a-f]{64}$", title="64 hexadecimal digits", examples=["0" * 64])
    """SHA-256 of the token in hexadecimal, printed by `vaultseek team token`."""
    sees: tuple[str, ...] = Field(strict=False, min_length=1, examples=[["wiki/Handbook", "projects"]])
    """Names of vaults, or folders in them (``vault/folder``). "*" means every configured vault."""
    requests_per_minute: int = Field(default=600, ge=1, le=100_000)
    """Maximum number of requests per minute from all clients with this token."""
    in_flight: int = Field(default=8, ge=1, le=limits.CLIENTS)
    """Maximum number of simultaneous requests from all clients with this token."""

    @field_validator("sees")
    @classmethod
    def _plain_folders(cls, sees: tuple[str, ...]) -> tuple[str, ...]:
        for each in sees:
            if not each.isprintable() or any(part in ("", ".", "..") for part in each.rstrip("/").split("/")):
                raise ValueError('names of vaults, or folders in them as "vault/folder"')
        return sees


class TeamSettings(Section):
    """``[team]``: a server for several people, each with a token; see docs/team.md."""

    listen: str = ""
    """Address and port, such as "127.0.0.1:7447", for clients with a token. Connections are not encrypted:
    put a proxy with TLS in front. Takes effect when the daemon restarts."""
    metrics: str = ""
    """Address and port for /health and /metrics, over HTTP without a token. Takes effect when the daemon
    restarts."""
    audit: bool = True
    """Log each request made with a token in audit.log."""
    audit_queries: bool = False
    """Also log the text of queries."""
    tokens: tuple[TokenSettings, ...] = Field(default=(), strict=False)
    """The clients' tokens; changes take effect at once."""

    @field_validator("listen", "metrics")
    @classmethod
    def _address(cls, text: str) -> str:
        if text and address_of(text) is None:
            raise ValueError('an address and a port, such as "127.0.0.1:7447"')
        return text

    @field_validator("metrics")
    @classmethod
    def _another_address(cls, text: str, info: ValidationInfo) -> str:
        address = address_of(text)
        if address is not None and address[1] and address == address_of(info.data.get("listen", "")):
            raise ValueError("an address that listen does not use")
        return text

    @field_validator("tokens")
    @classmethod
    def _distinct(cls, tokens: tuple[TokenSettings, ...]) -> tuple[TokenSettings, ...]:
        for key in ("name", "sha256"):
            if len({getattr(token, key) for token in tokens}) < len(tokens):
                raise ValueError(f"a different {key} for each token")
        return tokens


def address_of(text: str) -> tuple[str, int] | None:
    """Return the host and port in ``host:port`` or ``[host]:port``; None for any other text."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or not 0 <= int(port) < 1 << 16:
        return None
    return host, int(port)


class TeamKeys(Section):
    """The section that a team's server adds to the settings."""

    team: TeamSettings = TeamSettings()

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses at which clients can connect."""
        return tuple(filter(None, (self.team.listen, self.team.metrics)))


def team_of(settings: Settings) -> TeamSettings:
    """Return the section ``[team]``, which this package adds to the settings."""
    whole: Any = settings
    assert isinstance(whole, TeamKeys)
    return whole.team


def engine_of(settings: Settings) -> EngineOptions | None:
    """Return the options of the engine in the settings; None for the embedded engine."""
    return index_of(settings).engine


def index_of(settings: Settings) -> EngineKeys:
    """Return the section ``[index]``, to which this package adds the keys for an engine."""
    index: Any = settings.index
    assert isinstance(index, EngineKeys)
    return index
