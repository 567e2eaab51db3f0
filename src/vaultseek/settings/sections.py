"""The sections of the settings about models, the servers that stand in for them, and a team's server."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from vaultseek.base import limits
from vaultseek.errors import BadQuery
from vaultseek.semantic.models.choice import AUTO
from vaultseek.semantic.models.service import Service
from vaultseek.settings import describe


class Section(BaseModel):
    """A table of ``config.toml``: frozen, with no keys but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    other_names: ClassVar[Mapping[str, str]] = {}
    """Names that others have for some keys."""

    @model_validator(mode="before")
    @classmethod
    def _by_usual_names(cls, values: Any) -> Any:
        return describe.by_usual_names(values, cls)


class ServerSettings(Section):
    """A server of the user's own, by any class of LlamaIndex."""

    class_name: str = ""
    """A class of LlamaIndex that asks a server instead of a model on this machine, such as
    "llama_index.embeddings.ollama.OllamaEmbedding"; empty for none. ``class`` is another name for it. Text is
    then sent to that server."""
    options: dict[str, Any] = Field(default={})
    """The arguments that an object of this class is made with; no key is allowed among them."""
    key_variable: str = ""
    """Environment variable of the daemon that holds the key for the server."""
    key_file: str = ""
    """File with the key, which only you can read (mode 0600), if it is not in a variable."""
    key_option: str = Field(default="api_key", min_length=1)
    """The argument of the class that gets the key."""

    other_names: ClassVar[Mapping[str, str]] = {"class": "class_name"}

    @property
    def service(self) -> Service | None:
        """The server; None if no class is set."""
        if not self.class_name:
            return None
        key = (self.key_variable, self.key_file, self.key_option)
        return Service(self.class_name, json.dumps(self.options, sort_keys=True, default=str), *key)


class RerankerSettings(ServerSettings):
    """``[reranker]``: a server that reranks, for ``search.rerank_model = "server"``."""

    class_name: str = ""
    """A node postprocessor of LlamaIndex, where ``search.rerank_model`` is "server", such as
    "llama_index.postprocessor.tei_rerank.TextEmbeddingInference"; empty for none. ``class`` is another name
    for it. Passages and questions are then sent to that server."""


class ModelSettings(ServerSettings):
    """``[model]``: the embedding model."""

    name: str = Field(default=AUTO, min_length=1)
    """The model: "auto" is "bundled" for a vault in English, and for others the model of ``other_languages``
    if it is installed. "bundled" is the installed all-MiniLM-L6-v2; else "multilingual-e5-small", a model
    from `vaultseek models fetch`, or the folder of a model. "hashing" is a stand-in without meaning, for
    tests."""
    other_languages: str = Field(default=AUTO, min_length=1)
    """Model for what an English one does not read: a vault in another language, and questions in other
    languages to an English vault, which gets a second set of vectors. "auto" is "multilingual-e5-small" where
    it is installed; "off" is none; or a model as in ``name``."""
    idle_minutes: float = Field(default=15.0, ge=0.0, le=10_000.0)
    """Minutes without a search by meaning or a change after which the model is removed from memory. The next
    search is answered by words, and loads it again, which takes about a second. 0 keeps it."""
    batch: int = Field(default=limits.SERVED_TEXTS, ge=1, le=512)
    """Texts in one request to the server."""
    seconds: float = Field(default=limits.SERVED_SECONDS, gt=0.0, le=60.0)
    """Time limit of a request in the background; a question is given up earlier."""
    window: int = Field(default=limits.MODEL_WINDOW, ge=16, le=limits.SERVED_WINDOW)
    """Length of the passages for the server, in tokens of the bundled model."""
    revision: str = ""
    """Any text; another one has everything embedded again, for a server with a new model."""

    @property
    def service(self) -> Service | None:
        """The server that embeds; None if no class is set."""
        service = super().service
        if service is None:
            return None
        return replace(
            service, batch=self.batch, seconds=self.seconds, window=self.window, revision=self.revision
        )


class AgentSettings(Section):
    """``[agents]``: what agents see, by MCP, `context` and `search --format agent`; see docs/mcp.md."""

    hide: tuple[str, ...] = Field(default=(), strict=False)
    """Notes that they do not see: folders with a slash at the end, as "Journal/", and filters of queries, as
    "tag:private". An agent that has a shell can still read the files."""
    record: bool = True
    """Record what each agent is given, for `vaultseek agents`; it stays on this machine."""

    @field_validator("hide")
    @classmethod
    def _folders_and_filters(cls, hide: tuple[str, ...]) -> tuple[str, ...]:
        if hide:
            from vaultseek.content.query.hide import read_hidden

            try:
                read_hidden(hide)
            except BadQuery as error:
                raise ValueError(f'folders as "Journal/" and filters as "tag:private"; {error}') from None
        return hide


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

    @field_validator("metrics")
    @classmethod
    def _another_address(cls, text: str, info: ValidationInfo) -> str:
        address = address_of(text)
        if address is not None and address[1] and address == address_of(info.data.get("listen", "")):
            raise ValueError("another address than listen")
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
