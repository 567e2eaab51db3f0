"""A server of the user's own that embeds or reranks, by any class of LlamaIndex: its values, and its key.

Light to import and silent: `served.py` makes the object of that class and calls it, in the semantic worker.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from vaultseek.base import limits, paths
from vaultseek.base.model import JSON

SERVED = "served-"
"""Beginning of the fingerprint of every model behind a server."""
SERVER = "server"
"""The value of ``search.rerank_model`` that means the class of ``[reranker]``."""

SECRET_NAME = re.compile(
    r"(key|token|secret|password|passwd|passphrase|credentials?|authorization|bearer|cookie)$", re.IGNORECASE
)
"""Ends of names, of options or variables, whose values are secrets."""
_CONNECTION_OPTIONS = frozenset(
    ["url", "base", "host", "endpoint", "timeout", "retries", "headers", "batch", "workers", "proxy", "keep"]
)
"""Words in the names of options that concern the connection, not the computation."""
_MODEL_OPTIONS = ("model_name", "model", "model_id", "deployment_name")


@dataclass(frozen=True, slots=True)
class Service:
    """A class, the options that it is made with, as JSON, and where its key comes from.

    ``batch`` is the number of texts in a request, ``seconds`` its time limit, ``window`` the length of a text
    in tokens; ``revision`` is whatever the user changes to have everything embedded again.
    """

    class_name: str
    options: str = "{}"
    key_variable: str = ""
    key_file: str = ""
    key_option: str = "api_key"
    batch: int = limits.SERVED_TEXTS
    seconds: float = limits.SERVED_SECONDS
    window: int = limits.MODEL_WINDOW
    revision: str = ""

    @classmethod
    def from_json(cls, value: JSON | None) -> Service | None:
        """Return the service that ``as_json`` described; None for None."""
        return None if value is None else cls(**value)

    def as_json(self) -> JSON:
        """Return the form that goes to the worker; the key is not in it."""
        return asdict(self)

    @property
    def arguments(self) -> dict[str, Any]:
        """The options as a table, without the key."""
        arguments: dict[str, Any] = json.loads(self.options)
        return arguments

    @property
    def name(self) -> str:
        """The name of the model, for people: ``OllamaEmbedding nomic-embed-text``."""
        options = self.arguments
        model = next((str(options[key]) for key in _MODEL_OPTIONS if options.get(key)), "")
        return f"{self.class_name.rpartition('.')[2]} {model}".strip()

    @property
    def fingerprint(self) -> str:
        """The identity of the vectors: class, revision, and the options that say what is computed."""
        options = {
            key: value
            for key, value in self.arguments.items()
            if _CONNECTION_OPTIONS.isdisjoint(key.casefold().split("_"))
        }
        text = json.dumps([self.class_name, options, self.revision], sort_keys=True)
        return f"{SERVED}{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @property
    def address(self) -> str | None:
        """The address among the options, without user, password and query; None if the class has its own."""
        return next(filter(None, map(_address, _texts(self.arguments))), None)

    @property
    def passwords(self) -> list[str]:
        """The passwords in addresses among the options."""
        return [word for text in _texts(self.arguments) if (word := _password(text))]

    @property
    def destination(self) -> str:
        """The place that text is sent to, in words."""
        label = self.class_name.rpartition(".")[2]
        address = self.address
        if address is None:
            return f"wherever {label} sends it, out of this machine unless that class computes here"
        return f"{address} ({'on this machine' if _is_here(address) else 'out of this machine'}, by {label})"

    @property
    def fault(self) -> str | None:
        """The reason why it must not be used as it is set; None if there is none."""
        if (name := secret_option(self.arguments)) is not None:
            return (
                f"the options hold a secret, {'.'.join(name)!r}; "
                "put it into a file of mode 0600 and name that as key_file, or its variable as key_variable"
            )
        if not all(part.isidentifier() for part in self.class_name.split(".")) or "." not in self.class_name:
            return f"{self.class_name!r} is no class; write module and class, package.module.Class"
        return None

    def key(self) -> str | None:
        """Return the key from the environment or the file; None if the settings name neither.

        Raises ConfigError if it is not there, or if others can read the file.
        """
        return paths.read_secret(self.key_variable, self.key_file, "key")


def secret_option(options: Any) -> tuple[str, ...] | None:
    """Return where the options, or tables and lists inside them, hold a secret; None if they hold none."""
    if isinstance(options, str) and options.lower().startswith("bearer "):
        return ()
    if isinstance(options, list):
        options = {str(number): value for number, value in enumerate(options)}
    for name, value in options.items() if isinstance(options, dict) else ():
        if SECRET_NAME.search(name) and not isinstance(value, bool):
            return (name,)
        if (rest := secret_option(value)) is not None:
            return (name, *rest)
    return None


def sent_text(embedding: Service | None, reranking: Service | None) -> str | None:
    """Return which text goes to which server, in words; None if none does."""
    parts = []
    if embedding is not None:
        parts.append(f"the text of notes and questions is sent to {embedding.destination}")
    if reranking is not None:
        parts.append(f"what is reranked is sent to {reranking.destination}")
    return "; ".join(parts) or None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)


def _address(text: str) -> str | None:
    try:
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https", "grpc", "ws", "wss") or not parts.hostname:
            return None
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


def _password(text: str) -> str:
    try:
        return unquote(urlsplit(text).password or "")
    except ValueError:
        return ""


def _is_here(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
