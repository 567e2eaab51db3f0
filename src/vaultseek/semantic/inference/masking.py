"""Masking of secrets in texts, and in everything that a process prints.

Libraries log, warn and print tracebacks, and a server may repeat the key in its answer. So the worker masks
all of its output.
"""

import base64
import io
import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, TextIO
from urllib.parse import quote, quote_plus

from vaultseek.semantic.models.service import SECRET_NAME

MASKED = "(key)"
_ENCODED_CHARS = 8
"""Least length of a form in which a secret is encoded, or of a variable's value, to be taken for one."""
_HELD_CHARS = 16_384


class Mask:
    """The secrets of a process, each in the forms that a message may have it in; safe to use from threads."""

    def __init__(self) -> None:
        self._forms: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None
        self._lock = threading.Lock()

    @property
    def longest(self) -> int:
        """The length of the longest form."""
        return max(map(len, self._forms), default=0)

    def add(self, secret: str) -> None:
        """Mask ``secret`` from now on."""
        with self._lock:
            forms = self._forms | {form for form in _forms(secret) if form}
            if forms != self._forms:
                longest_first = sorted(forms, key=len, reverse=True)
                self._pattern = re.compile("|".join(map(re.escape, longest_first)))
                self._forms = forms

    def add_variables(self, environment: Mapping[str, str]) -> None:
        """Mask the values of variables with the names of secrets: libraries read some of them."""
        for name, value in environment.items():
            if SECRET_NAME.search(name) and len(value.strip()) >= _ENCODED_CHARS:
                self.add(value.strip())

    def text(self, text: str) -> str:
        """Return ``text`` without the secrets."""
        return self._pattern.sub(MASKED, text) if self._pattern else text

    def value(self, value: Any) -> Any:
        """Return a value of JSON without the secrets in its texts."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.value(inner) for key, inner in value.items()}
        return [self.value(inner) for inner in value] if isinstance(value, list | tuple) else value


MASK = Mask()
"""The secrets of this process."""


class MaskedOutput(io.TextIOBase):
    """A stream that writes whole lines, masked, so that no secret split over two writes is missed."""

    def __init__(self, stream: TextIO, mask: Mask) -> None:
        self._stream = stream
        self._mask = mask
        self._held = ""
        self._lock = threading.RLock()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream below."""
        return self._stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """The treatment of text that has no encoding."""
        return self._stream.errors

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the stream below, which some libraries use."""
        return self._stream.fileno()

    def isatty(self) -> bool:
        """Return whether the stream below is a terminal."""
        return self._stream.isatty()

    def write(self, text: str) -> int:
        """Write the lines that are complete."""
        with self._lock:
            lines, end, self._held = (self._held + text).rpartition("\n")
            self._stream.write(self._mask.text(lines + end))
            if len(self._held) > _HELD_CHARS:
                masked = self._mask.text(self._held)
                border = len(masked) - self._mask.longest
                self._stream.write(masked[:border])
                self._held = masked[border:]
        return len(text)

    def flush(self) -> None:
        """Flush the lines that are complete; the last part waits for its end."""
        with self._lock:
            self._stream.flush()


def mask_output() -> None:
    """Mask what this process prints from now on, including secrets in its environment."""
    MASK.add_variables(os.environ)
    for name in ("stdout", "stderr"):
        output = MaskedOutput(getattr(sys, name), MASK)
        setattr(sys, name, output)
        setattr(sys, f"__{name}__", output)


def _forms(secret: str) -> Iterator[str]:
    """Yield the secret itself, and its forms in JSON, Python, addresses and headers."""
    yield secret
    others = {json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(secret, ""), quote_plus(secret)}
    others |= {line.strip() for line in secret.splitlines()}
    data = secret.encode("utf-8", "replace")
    for shift, first in ((0, 0), (1, 2), (2, 3)):  # a user's name and a colon may come before it
        end = (shift + len(data)) // 3 * 4
        others |= {
            encode(bytes(shift) + data).decode()[first:end]
            for encode in (base64.b64encode, base64.urlsafe_b64encode)
        }
    yield from (form for form in others if len(form) >= _ENCODED_CHARS)
