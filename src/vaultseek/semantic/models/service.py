"""A user's own server that embeds or reranks: its address and the source of its key.

Importing this module is fast, and nothing is sent here: `served.py` calls the server, in the semantic worker.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from urllib.parse import urlsplit

from vaultseek.base import limits, paths
from vaultseek.errors import ConfigError

SERVED = "served-"
"""Prefix of the fingerprints of all models on servers."""
SERVER = "server"
"""The value of ``search.rerank_model`` that selects the server in ``[reranker]``."""
_ADDRESS = 'expected the address before /embeddings or /rerank, such as "http://localhost:11434/v1"'


@dataclass(frozen=True, slots=True)
class Service:
    """A server: the address before ``/embeddings`` or ``/rerank``, the server's name for the model, and
    options.

    ``batch`` is the number of texts in a request, ``seconds`` the request's time limit, and ``window`` the
    maximum length of a text in tokens. The prefixes precede each passage and each question. If ``revision``
    changes, everything is embedded again.
    """

    url: str
    model: str = ""
    key_variable: str = ""
    key_file: str = ""
    batch: int = limits.SERVED_TEXTS
    seconds: float = limits.SERVED_SECONDS
    window: int = limits.MODEL_WINDOW
    revision: str = ""
    text_prefix: str = ""
    query_prefix: str = ""

    @property
    def fingerprint(self) -> str:
        """The identity of the vectors. It depends on the model and the embedded text, but not on the server's
        address."""
        text = json.dumps([self.model, self.text_prefix, self.query_prefix, self.revision])
        return f"{SERVED}{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @property
    def fault(self) -> str | None:
        """The reason why the address must not be used; None if it may be used."""
        try:
            parts = urlsplit(self.url)
            is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            return _ADDRESS
        if parts.username or parts.password or parts.query or parts.fragment:
            return f"{_ADDRESS}, without a user, a password or a key: a key belongs in key_file"
        return None if is_address and self.url.isascii() and self.url.isprintable() else _ADDRESS

    def key(self) -> str | None:
        """Return the server's key, read from the environment variable or the file in the settings; None if
        neither is set.

        Raises ConfigError if the key is missing, if other users can read the file, or if a header cannot
        contain the key.
        """
        key = paths.read_secret(self.key_variable, self.key_file, "key")
        if key and not (key.isascii() and key.isprintable()):
            raise ConfigError(
                "the server's key contains characters that are not allowed in a header; correct it"
            )
        return key


def sent_text(embedding: Service | None, reranking: Service | None) -> str | None:
    """Describe which text is sent to which server; None if no text is sent."""
    of_what = {"the text of notes and questions": embedding, "what is reranked": reranking}
    parts = [f"{what} is sent to {destination(service.url)}" for what, service in of_what.items() if service]
    return "; ".join(parts) or None


def destination(url: str) -> str:
    """Describe the server at ``url`` as the receiver of text, and state whether it runs on this machine."""
    host = "" if Service(url).fault else urlsplit(url).hostname or ""
    is_here = host in ("localhost", "::1") or host.startswith("127.")
    return f"{url} ({'on this machine' if is_here else 'on another machine'})"
