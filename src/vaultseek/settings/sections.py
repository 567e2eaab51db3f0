"""Settings for models, for servers that replace models, for vectors and for agents."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vaultseek import plugins
from vaultseek.base import limits
from vaultseek.base.model import VectorIndexKind
from vaultseek.errors import BadQuery
from vaultseek.semantic.models.choice import AUTO
from vaultseek.semantic.models.service import Service
from vaultseek.settings import describe

_URL = (
    "no longer a setting; set url to the address without /embeddings or /rerank "
    '(Ollama: url = "http://localhost:11434/v1"), and name to the server\'s name for the model'
)
_ARGUMENTS = ("options", "key_option")


class Section(BaseModel):
    """A table of ``config.toml``. It is frozen and rejects unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    other_names: ClassVar[Mapping[str, str]] = {}
    """Names that other programs use for some keys."""
    former: ClassVar[Mapping[str, str]] = {}
    """Keys of former versions, each with a message about its replacement."""

    @model_validator(mode="before")
    @classmethod
    def _by_usual_names(cls, values: Any) -> Any:
        return describe.by_usual_names(values, cls)

    def unusable(self) -> Iterator[tuple[str, str]]:
        """Yield each key whose value is well-formed but cannot be used, with the problem."""
        yield from ()


S = TypeVar("S", bound=Section)


def extended(section: type[S]) -> type[S]:
    """Return a section with the keys that other packages add to it."""
    place = plugins.names("settings").get(section.__name__)
    if place is None:
        return section
    named = {name: getattr(section, name) for name in ("__module__", "__qualname__", "__doc__")}
    make: Any = type(section)
    whole: type[S] = make(section.__name__, (plugins.imported(place), section), named)
    return whole


class ServerSettings(Section):
    """Settings for a user's own server with an API like OpenAI's."""

    url: str = ""
    """Address of an embedding server, without ``/embeddings``, such as "http://localhost:11434/v1". Without
    an address, the model runs on this machine; with one, text is sent to the server."""
    key_variable: str = ""
    """Environment variable of the daemon that contains the server's key."""
    key_file: str = ""
    """File that contains the key, instead of a variable; only you may read it (mode 0600)."""

    former: ClassVar[Mapping[str, str]] = {"class": _URL, "class_name": _URL}

    @model_validator(mode="before")
    @classmethod
    def _in_one_line(cls, values: Any) -> Any:
        """Leave out the keys that accompanied ``class`` in a former version; the error about ``class`` is
        enough."""
        return (
            {k: v for k, v in values.items() if k not in _ARGUMENTS} if isinstance(values, dict) else values
        )


class RerankerSettings(ServerSettings):
    """``[reranker]``: the server that reranks if ``search.rerank_model`` is "server"."""

    url: str = ""
    """Address of the server, without ``/rerank``, such as "http://localhost:8080". Passages and questions are
    sent to it."""
    name: str = ""
    """Name of the model on the server, if it has several."""

    @property
    def service(self) -> Service | None:
        """The reranking server; None if no address is set."""
        return Service(self.url, self.name, self.key_variable, self.key_file) if self.url else None


class ModelSettings(ServerSettings):
    """``[model]``: the embedding model."""

    name: str = Field(default=AUTO, min_length=1)
    """The model: "bundled" (all-MiniLM-L6-v2), "multilingual-e5-small", a model from `vaultseek models
    fetch`, or a model's folder. "auto" is "bundled" for a vault in English, otherwise the model in
    ``other_languages`` if installed. "hashing" is only for tests. With ``url``, the server's name for its
    model; "auto" if the server has only one."""
    other_languages: str = Field(default=AUTO, min_length=1)
    """Model for languages other than English. English vaults also get vectors from this model, to answer
    questions in those languages. "auto" ("multilingual-e5-small" if it is installed), "off", or a model as in
    ``name``."""
    idle_minutes: float = Field(default=15.0, ge=0.0, le=10_000.0)
    """Unload the model after this many minutes without a changed note or a search by meaning. The next search
    is answered by word only, and reloads the model within about a second. 0 keeps it loaded."""
    batch: int = Field(default=limits.SERVED_TEXTS, ge=1, le=512)
    """Number of texts per request to the server."""
    seconds: float = Field(default=limits.SERVED_SECONDS, gt=0.0, le=60.0)
    """Time limit for a background request, in seconds; questions have a shorter limit."""
    window: int = Field(default=limits.MODEL_WINDOW, ge=16, le=limits.SERVED_WINDOW)
    """Maximum length of a passage sent to the server, in tokens as counted by the bundled model."""
    revision: str = ""
    """Any text. Change it when the server's model changes, so that everything is embedded again."""
    text_prefix: str = ""
    """Text that the server's model needs before each passage, such as "search_document: "."""
    query_prefix: str = ""
    """Text that the server's model needs before each question, such as "search_query: "."""

    @property
    def service(self) -> Service | None:
        """The embedding server; None if no address is set."""
        if not self.url:
            return None
        name = "" if self.name == AUTO else self.name
        asked = (self.batch, self.seconds, self.window, self.revision, self.text_prefix, self.query_prefix)
        return Service(self.url, name, self.key_variable, self.key_file, *asked)


class AgentSettings(Section):
    """``[agents]``: what agents see through MCP, `context` and `search --format agent`; see docs/mcp.md."""

    hide: tuple[str, ...] = Field(default=(), strict=False, repr=False)
    """Notes hidden from agents: folders ending in a slash ("Journal/"), and filters ("tag:private").
    An agent with a shell can still read the files."""
    record: bool = True
    """Record on this machine what each agent is given, for `vaultseek agents`."""

    @field_validator("hide")
    @classmethod
    def _folders_and_filters(cls, hide: tuple[str, ...]) -> tuple[str, ...]:
        if hide:
            from vaultseek.content.query.hide import read_hidden

            for number, text in enumerate(hide, start=1):
                try:
                    read_hidden((text,))
                except BadQuery:  # an agent may read the message, which must not reveal hidden names
                    raise ValueError(
                        f'folders as "Journal/", filters as "tag:x" or "line:/…/"; entry {number} is neither'
                    ) from None
        return hide


class VectorSettings(Section):
    """``[vectors]``: how the nearest vectors are found."""

    index: VectorIndexKind = "auto"
    """"exact" compares a question with every vector, "chroma" only with Chroma's candidates. Chroma is
    faster above about 150,000 vectors, but needs a second copy of the vectors on disk and twice their size in
    memory.
    "auto" uses Chroma above that number if there is enough memory. Takes effect when the daemon restarts."""
