"""The settings of models, and of servers of the user's own that stand in for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field, model_validator

from vaultseek.base import limits
from vaultseek.semantic.models.choice import AUTO
from vaultseek.semantic.models.service import Service
from vaultseek.settings import describe
from vaultseek.settings.section import Section


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
