"""The settings of a server for several people."""

from __future__ import annotations

from pydantic import Field, field_validator

from vaultseek.base import limits
from vaultseek.settings.section import Section


class TokenSettings(Section):
    """``[[team.tokens]]``: a token of the team's server, and what may be seen with it."""

    name: str = Field(examples=["anna"], min_length=1, max_length=limits.NAME_CHARS)
    """Name for the log."""
    sha256: str = Field(pattern="^[0-9a-f]{64}$", title="64 hexadecimal digits", examples=["0" * 64])
    """SHA-256 of the token, in hexadecimal; `vaultseek team token` makes both."""
    sees: tuple[str, ...] = Field(strict=False, min_length=1, examples=[["wiki/Handbook", "projects"]])
    """Vaults by name, or folders in them, ``vault/folder``, that may be seen. "*" is every vault that is
    configured."""
    requests_per_minute: int = Field(default=600, ge=1, le=100_000)
    """Requests in a minute, of all clients with this token."""
    in_flight: int = Field(default=8, ge=1, le=limits.CLIENTS)
    """Requests at the same time, of all of them."""

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
    """Address and port, as "127.0.0.1:7447", for clients with a token of ``[[team.tokens]]``. It has no
    encryption: put a proxy with TLS before it. Takes effect when the daemon restarts."""
    metrics: str = ""
    """Address and port of /health and /metrics, over HTTP, for everybody who reaches it. Takes effect when
    the daemon restarts."""
    audit: bool = True
    """Write a line for each request with a token to audit.log."""
    audit_queries: bool = False
    """Write the text of queries there, too."""
    tokens: tuple[TokenSettings, ...] = Field(default=(), strict=False)
    """The tokens; a change takes effect at once."""

    @field_validator("listen", "metrics")
    @classmethod
    def _address(cls, text: str) -> str:
        if text and address_of(text) is None:
            raise ValueError('an address and a port, as "127.0.0.1:7447"')
        return text

    @field_validator("tokens")
    @classmethod
    def _distinct(cls, tokens: tuple[TokenSettings, ...]) -> tuple[TokenSettings, ...]:
        for key in ("name", "sha256"):
            if len({getattr(token, key) for token in tokens}) < len(tokens):
                raise ValueError(f"tokens with a {key} of their own")
        return tokens


def address_of(text: str) -> tuple[str, int] | None:
    """Return host and port of ``host:port`` or ``[host]:port``; None if the text is neither."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or not 0 <= int(port) < 1 << 16:
        return None
    return host, int(port)
