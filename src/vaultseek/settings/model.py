"""The settings: every key of ``config.toml`` with its type, default and description.

The models are also the reference: ``reference.py`` turns them into ``config.toml.example`` and the
documentation. ``load.py`` reads them. Importing this module takes some 150 ms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from vaultseek import limits
from vaultseek.kinds import DEFAULT_SWITCHES, Switch
from vaultseek.model import Mode
from vaultseek.models.choice import AUTO
from vaultseek.models.service import SERVER, Service
from vaultseek.settings import describe
from vaultseek.settings.engine import MilvusOptions

ENV_PREFIX = "VAULTSEEK_"
ENV_DELIMITER = "__"

Language = Literal[
    "ar", "bg", "ca", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id",
    "it", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sv", "tr", "uk", "vi",
]  # fmt: skip
Weight = Annotated[float, Field(ge=0.0, le=limits.WEIGHT)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class VaultSettings(_Section):
    """``[[vaults]]``: a folder of notes to watch and search.

    After ``load``, ``path`` is absolute and resolved.
    """

    name: str = Field(
        examples=["notes"],
        description="Name for --vault and in results; no slash in it.",
    )
    path: Path = Field(
        strict=False,
        examples=["~/Notes"],
        description="The folder of notes. ~ works; a relative path starts at the folder of this file.",
    )
    language: Language | None = Field(
        default=None,
        examples=["en"],
        description="Language of all notes, for stems; without it, each note is in the one it shows.",
    )
    exclude: tuple[str, ...] = Field(
        default=(), strict=False, description="Globs of notes and folders to leave out of this vault."
    )

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not name.strip() or "/" in name or not name.isprintable() or name.startswith(("~", ".", "-")):
            raise ValueError("a plain name (no slash, not starting with '~', '.' or '-')")
        return name


def _plain_names(searches: dict[str, str]) -> dict[str, str]:
    for name, query in searches.items():
        if not re.fullmatch(r"[\w-]{1,40}", name) or not query.strip():
            raise ValueError("names of letters, digits, - and _, each with a query")
    return searches


SavedSearches = Annotated[dict[str, str], AfterValidator(_plain_names)]
"""Queries by name."""


class IndexSettings(_Section):
    """``[index]``: what is indexed."""

    exclude: tuple[str, ...] = Field(
        default=(), strict=False, description="Globs of notes and folders to leave out of every vault."
    )
    max_note_bytes: int = Field(
        default=limits.NOTE_PARSE_BYTES,
        ge=limits.KIB,
        le=limits.NOTE_PARSE_BYTES,
        description="A larger note is found by name and path only, and reported as a problem.",
    )
    kinds: tuple[Switch, ...] = Field(
        default=DEFAULT_SWITCHES,
        strict=False,
        description="Kinds of files that are read beside notes; of others only the names are known. "
        '"ocr" reads pictures and scanned PDFs, which is slow and needs the extra vaultseek[ocr].',
    )
    backend: Literal["embedded", "milvus"] = Field(
        default="embedded",
        description='The engine that proposes what matches: "embedded" is part of vaultseek; "milvus" is a '
        "server or a file of Milvus Lite, and needs the extra vaultseek[milvus].",
    )
    uri: str = Field(
        default="",
        description='Address of Milvus, "https://milvus.example:19530", or a file of Milvus Lite, "~/a.db". '
        "The text of notes is then sent there.",
    )
    token_variable: str = Field(
        default="", description="Environment variable of the daemon that holds the token for Milvus."
    )
    token_file: str = Field(
        default="",
        description="File with the token, which only you can read (mode 0600), if it is not in a variable.",
    )
    certificate: str = Field(
        default="",
        description="File with the certificate that Milvus is trusted by, in PEM; without one, https:// "
        "asks those of the system.",
    )
    database: str = Field(default="", description="Database of Milvus; empty for its default one.")
    collections: str = Field(
        default="vaultseek",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,60}$",
        description="Beginning of the names of the collections.",
    )
    consistency: Literal["Strong", "Bounded", "Session", "Eventually"] = Field(
        default="Strong",
        description='How soon a search sees what was written: "Strong" at once, the others later and faster.',
    )
    shards: int = Field(
        default=1, ge=1, le=64, description="Shards of each new collection, that writes are spread over."
    )
    partitions: int = Field(
        default=0,
        ge=0,
        le=1024,
        description="Partitions of each new collection, that vaults are spread over; 0 for one.",
    )
    vector_index: Literal["AUTOINDEX", "FLAT", "HNSW", "IVF_FLAT", "IVF_SQ8"] = Field(
        default="AUTOINDEX",
        description='Index of vectors in new collections. "AUTOINDEX" is exact in Milvus Lite, and what a '
        "server chooses elsewhere.",
    )
    seconds: float = Field(
        default=10.0, gt=0.0, le=600.0, description="Time limit of a request of a search to Milvus."
    )

    @property
    def engine(self) -> MilvusOptions | None:
        """The engine; None for the embedded one."""
        if self.backend == "embedded":
            return None
        return MilvusOptions(
            uri=self.uri,
            prefix=self.collections,
            database=self.database,
            token_variable=self.token_variable,
            token_file=self.token_file,
            certificate=self.certificate,
            consistency=self.consistency,
            shards=self.shards,
            partitions=self.partitions,
            vector_index=self.vector_index,
            seconds=self.seconds,
        )


class ServerSettings(_Section):
    """A server of the user's own, by any class of LlamaIndex."""

    class_name: str = Field(
        default="",
        description="A class of LlamaIndex that asks a server instead of a model on this machine, such as "
        '"llama_index.embeddings.ollama.OllamaEmbedding"; empty for none. ``class`` is another name for it. '
        "Text is then sent to that server.",
    )
    options: dict[str, Any] = Field(
        default={},
        description="The arguments that an object of this class is made with; no key is allowed among them.",
    )
    key_variable: str = Field(
        default="", description="Environment variable of the daemon that holds the key for the server."
    )
    key_file: str = Field(
        default="",
        description="File with the key, which only you can read (mode 0600), if it is not in a variable.",
    )
    key_option: str = Field(
        default="api_key", min_length=1, description="The argument of the class that gets the key."
    )

    other_names: ClassVar[Mapping[str, str]] = {"class": "class_name"}
    """Names that others have for some keys."""

    @model_validator(mode="before")
    @classmethod
    def _by_usual_names(cls, values: Any) -> Any:
        return describe.by_usual_names(values, cls)

    @property
    def service(self) -> Service | None:
        """The server; None if no class is set."""
        if not self.class_name:
            return None
        key = (self.key_variable, self.key_file, self.key_option)
        return Service(self.class_name, json.dumps(self.options, sort_keys=True, default=str), *key)


class RerankerSettings(ServerSettings):
    """``[reranker]``: a server that reranks, for ``search.rerank_model = "server"``."""

    class_name: str = Field(
        default="",
        description='A node postprocessor of LlamaIndex, where ``search.rerank_model`` is "server", such as '
        '"llama_index.postprocessor.tei_rerank.TextEmbeddingInference"; empty for none. ``class`` is another '
        "name for it. Passages and questions are then sent to that server.",
    )


class ModelSettings(ServerSettings):
    """``[model]``: the embedding model."""

    name: str = Field(
        default=AUTO,
        min_length=1,
        description='"auto" is "bundled" for a vault in English, and for others the model of '
        '``other_languages`` if it is installed. "bundled" is the installed all-MiniLM-L6-v2; else '
        '"multilingual-e5-small", a model from `vaultseek models fetch`, or the folder of a model. '
        '"hashing" is a stand-in without meaning, for tests.',
    )
    other_languages: str = Field(
        default=AUTO,
        min_length=1,
        description="Model for what an English one does not read: a vault in another language, and questions "
        "in other languages to an English vault, which gets a second set of vectors. "
        '"auto" is "multilingual-e5-small" where it is installed; "off" is none; or a model as in ``name``.',
    )
    batch: int = Field(
        default=limits.SERVED_TEXTS, ge=1, le=512, description="Texts in one request to the server."
    )
    seconds: float = Field(
        default=limits.SERVED_SECONDS,
        gt=0.0,
        le=60.0,
        description="Time limit of a request in the background; a question is given up earlier.",
    )
    window: int = Field(
        default=limits.MODEL_WINDOW,
        ge=16,
        le=limits.SERVED_WINDOW,
        description="Length of the passages for the server, in tokens of the bundled model.",
    )
    revision: str = Field(
        default="",
        description="Any text; another one has everything embedded again, for a server with a new model.",
    )

    @property
    def service(self) -> Service | None:
        """The server that embeds; None if no class is set."""
        service = super().service
        if service is None:
            return None
        return replace(
            service, batch=self.batch, seconds=self.seconds, window=self.window, revision=self.revision
        )


class RecencyTier(_Section):
    """A tier of ages: the score of notes up to ``days`` old is multiplied by ``factor``."""

    days: float = Field(gt=0.0, description="Maximum age of a note in this tier.")
    factor: float = Field(gt=0.0, le=limits.WEIGHT, description="Factor for the score.")


class RecencySettings(_Section):
    """``[search.recency]``: a boost for recent notes."""

    enabled: bool = Field(default=True, description="Boost recent notes.")
    tiers: tuple[RecencyTier, ...] = Field(
        default=(RecencyTier(days=7.0, factor=1.2), RecencyTier(days=30.0, factor=1.1)),
        strict=False,
        description="The first tier that a note is young enough for multiplies its score.",
    )
    date: Literal["modified", "created", "filename"] = Field(
        default="modified", description="The date that a note's age is counted from."
    )
    properties: tuple[str, ...] = Field(
        default=(),
        strict=False,
        max_length=limits.DATE_PROPERTIES,
        description="Properties that hold a date; the first one that a note has is used instead of ``date``.",
    )

    @field_validator("tiers")
    @classmethod
    def _ascending(cls, tiers: tuple[RecencyTier, ...]) -> tuple[RecencyTier, ...]:
        days = [tier.days for tier in tiers]
        if any(later <= earlier for earlier, later in pairwise(days)):
            raise ValueError("tiers with rising days")
        return tiers


class ExpansionSettings(_Section):
    """``[search.expansion]``: similar terms from the vault added to the query, for semantic search only."""

    enabled: bool = Field(default=False, description="Expand queries.")
    terms: int = Field(default=3, ge=1, le=limits.EXPANSION_TERMS, description="Number of terms to add.")
    floor: float = Field(
        default=0.6, ge=0.0, le=1.0, description="Minimum similarity of a term to the query."
    )


class SearchSettings(_Section):
    """``[search]``: how searches rank; every key can also be set for a single search."""

    limit: int = Field(
        default=10, ge=1, le=limits.RESULTS, description="Maximum number of results, one per note."
    )
    mode: Mode = Field(
        default="hybrid", description="What to search by: words and meaning, words only or meaning only."
    )
    fusion: Literal["rrf", "linear"] = Field(
        default="rrf",
        description="How lanes are combined: reciprocal rank fusion, or a weighted sum of normalised scores.",
    )
    rrf_k: float = Field(
        default=60.0,
        ge=1.0,
        le=1000.0,
        description="The constant k of RRF; a smaller one favours the top of each lane.",
    )
    rrf_ranks: Literal["score", "integer"] = Field(
        default="score",
        description="Fractional ranks that keep the distances between scores, or the plain ranks 1, 2, 3.",
    )
    rrf_min_score: float = Field(
        default=0.0, ge=0.0, le=1.0, description="Raw RRF score below which a result is dropped; 0 keeps all."
    )
    keyword_weight: Weight = Field(
        default=1.0,
        description="Weight of the keyword lane; setting it turns adaptive off. "
        "``rrf_keyword_weight`` is another name for it.",
    )
    semantic_weight: Weight = Field(
        default=1.0,
        description="Weight of the semantic lane; setting it turns adaptive off. "
        "``rrf_vector_weight`` is another name for it.",
    )
    graph_weight: Weight = Field(
        default=0.5, description="Weight of notes linked to the matches; they stay below direct matches."
    )
    graph: bool = Field(
        default=True, description="Add notes that are linked to the matches to the candidates."
    )
    alpha: float = Field(
        default=0.7,
        ge=0.0,
        le=1.0,
        description='Weight of the semantic lane with fusion = "linear"; the keyword lane gets the rest. '
        "A lane's own weight, if set, takes precedence.",
    )
    adaptive: bool = Field(
        default=True, description="Choose the weights for each query by the profile, unless a weight is set."
    )
    profile: Literal["auto", "length", "code", "conceptual", "balanced"] = Field(
        default="auto",
        description="How weights are chosen: by what the words match, by the query's length, or fixed.",
    )
    company: float = Field(
        default=0.3,
        ge=0.0,
        le=0.9,
        description="Share of a note's score that comes from the candidates most similar to it.",
    )
    top_k_factor: float = Field(
        default=2.0,
        ge=1.0,
        le=20.0,
        description="Each lane contributes max(10, top_k_factor * limit) candidates.",
    )
    min_confidence: float = Field(
        default=0.0, ge=0.0, le=1.0, description="Confidence below which a result is dropped; 0 keeps all."
    )
    nothing_below: float = Field(
        default=0.04,
        ge=0.0,
        le=1.0,
        description="No results if none of the top ten reaches this confidence; 0 turns this off.",
    )
    anchor_boost: float = Field(
        default=1.5,
        ge=1.0,
        le=limits.WEIGHT,
        description="Factor for notes that contain an identifier from the query.",
    )
    rerank_enabled: bool = Field(
        default=False,
        description="Rerank the first results with a cross-encoder, which is slow.",
    )
    rerank_model: str = Field(
        default="cross-encoder/ms-marco-MiniLM-L-6-v2",
        min_length=1,
        description=f'A fetched cross-encoder, or the folder of one; "{SERVER}" is that of ``[reranker]``.',
    )
    rerank_top_n: int = Field(
        default=10, ge=2, le=limits.RERANKED_NOTES, description="Number of results to rerank."
    )
    rerank_seconds: float = Field(
        default=limits.RERANK_SECONDS,
        gt=0.0,
        le=limits.DEADLINE_SECONDS,
        description="Time limit for reranking in seconds; results that it did not get to keep their places.",
    )
    recency: RecencySettings = RecencySettings()
    expansion: ExpansionSettings = ExpansionSettings()

    other_names: ClassVar[Mapping[str, str]] = {
        "rrf_keyword_weight": "keyword_weight",
        "rrf_vector_weight": "semantic_weight",
    }
    """Names that others have for some keys; of two names for one key, the later one counts."""

    @model_validator(mode="before")
    @classmethod
    def _by_usual_names(cls, values: Any) -> Any:
        return describe.by_usual_names(values, cls)

    @property
    def reranker(self) -> str | None:
        """The cross-encoder, None if reranking is off."""
        return self.rerank_model if self.rerank_enabled else None

    @property
    def has_explicit_weights(self) -> bool:
        """True if a lane's weight is set, so that no profile may choose it."""
        return bool({"keyword_weight", "semantic_weight"} & self.model_fields_set)

    @property
    def has_explicit_alpha(self) -> bool:
        """True if ``alpha`` is set."""
        return "alpha" in self.model_fields_set


class TokenSettings(_Section):
    """``[[team.tokens]]``: a token of the team's server, and what may be seen with it."""

    name: str = Field(
        examples=["anna"], min_length=1, max_length=limits.NAME_CHARS, description="Name for the log."
    )
    sha256: str = Field(
        pattern="^[0-9a-f]{64}$",
        examples=["0" * 64],
        description="SHA-256 of the token, in hexadecimal; `vaultseek team token` makes both.",
    )
    sees: tuple[str, ...] = Field(
        strict=False,
        min_length=1,
        examples=[["wiki/Handbook", "projects"]],
        description="Vaults by name, or folders in them, ``vault/folder``, that may be seen. "
        '"*" is every vault that is configured.',
    )
    requests_per_minute: int = Field(
        default=600, ge=1, le=100_000, description="Requests in a minute, of all clients with this token."
    )
    in_flight: int = Field(
        default=8, ge=1, le=limits.CLIENTS, description="Requests at the same time, of all of them."
    )

    @field_validator("sees")
    @classmethod
    def _plain_folders(cls, sees: tuple[str, ...]) -> tuple[str, ...]:
        for each in sees:
            if not each.isprintable() or any(part in ("", ".", "..") for part in each.rstrip("/").split("/")):
                raise ValueError('names of vaults, or folders in them as "vault/folder"')
        return sees


class TeamSettings(_Section):
    """``[team]``: a server for several people, each with a token; see docs/team.md."""

    listen: str = Field(
        default="",
        description='Address and port, as "127.0.0.1:7447", for clients with a token of ``[[team.tokens]]``. '
        "It has no encryption: put a proxy with TLS before it. Takes effect when the daemon restarts.",
    )
    metrics: str = Field(
        default="",
        description="Address and port of /health and /metrics, over HTTP, for everybody who reaches it. "
        "Takes effect when the daemon restarts.",
    )
    audit: bool = Field(default=True, description="Write a line for each request with a token to audit.log.")
    audit_queries: bool = Field(default=False, description="Write the text of queries there, too.")
    tokens: tuple[TokenSettings, ...] = Field(
        default=(), strict=False, description="The tokens; a change takes effect at once."
    )

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


class DaemonSettings(_Section):
    """``[daemon]``: the background process."""

    autostart: bool = Field(default=True, description="Let commands start the daemon when they need it.")
    tcp: bool = Field(
        default=False,
        description="Also listen on a port of 127.0.0.1, for programs that cannot use a Unix socket; they "
        "need the token from daemon.tcp, beside the socket. Takes effect when the daemon restarts.",
    )
    rescan_minutes: float = Field(
        default=limits.RESCAN_SECONDS / 60,
        ge=1.0,
        le=limits.RESCAN_MINUTES,
        description="Minutes between full comparisons of the disk with the index.",
    )


class Settings(BaseSettings):
    """All settings, frozen. ``load`` makes them; the constructor alone reads only the environment."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        env_prefix=ENV_PREFIX,
        env_nested_delimiter=ENV_DELIMITER,
        env_ignore_empty=True,
    )

    vaults: tuple[VaultSettings, ...] = Field(
        default=(), strict=False, description="The folders of notes to watch."
    )
    index: IndexSettings = IndexSettings()
    model: ModelSettings = ModelSettings()
    reranker: RerankerSettings = RerankerSettings()
    search: SearchSettings = SearchSettings()
    daemon: DaemonSettings = DaemonSettings()
    team: TeamSettings = TeamSettings()
    searches: SavedSearches = Field(
        default={},
        examples=[{"todo": 'task-todo:"" -path:Archive/'}],
        description="Saved searches: a query begins with @name instead of writing it out.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use the environment first, then the file, and nothing else."""
        return EnvironmentSource(settings_cls), init_settings


class EnvironmentSource(EnvSettingsSource):
    """The ``VAULTSEEK_*`` variables, each converted to the type of its key where possible."""

    def __call__(self) -> dict[str, Any]:
        values: dict[str, Any] = describe.coerce(super().__call__(), self.settings_cls)
        return values

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        # Text that is not JSON stays text: validation reports it with its key and variable.
        return describe.from_json(value)
