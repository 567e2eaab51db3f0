"""The work of a cluster's machines. It runs there, in processes that may serve many runs one after another.

Arguments and results are plain values, so that another version of vaultseek is told by its version, not by a
failure to unpack them.
"""

from __future__ import annotations

import platform
import signal
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from vaultseek import __version__
from vaultseek.base.model import TokenCount
from vaultseek.core.indexing.note_codec import encode
from vaultseek.core.indexing.reading import NoteReader
from vaultseek.errors import ConfigError, WorkerUnavailable
from vaultseek.semantic.inference import embed
from vaultseek.semantic.inference.bert import BertEncoder
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.models.encoder import Encoder

NOTE_SECONDS = 10.0
"""Processor time for one note. The daemon gives more to one that needs it, as it tries it less often."""
TaskResult = dict[str, Any]
"""``answers``, one a part, and ``failed``, the places of parts that have none; or ``refusal``, in words."""


def embed_texts(version: str, model: str, fingerprint: str, texts: Sequence[str]) -> TaskResult:
    """Embed the texts with the model of that name, if it is here and the same as the daemon's.

    The vectors are those that the daemon's own worker computes, to six digits.
    """
    if (refusal := _refusal(version, model, fingerprint)) is not None:
        return refusal
    try:
        encoder = _encoder(model)
    except (ConfigError, WorkerUnavailable, OSError) as error:
        return {"refusal": f"{_here()} cannot load the model {model}: {error}"}
    embedded = embed.embed(encoder, texts)
    return {
        "answers": np.asarray(embedded.vectors, np.float32),
        "failed": [place for place, _ in embedded.failed],
    }


def parse_notes(
    version: str, model: str, fingerprint: str, window: int, notes: Sequence[tuple[str, bytes]]
) -> TaskResult:
    """Parse notes, given as (path, bytes), and cut them into passages for that model, as a reader does.

    A note that fails is left to the daemon's own readers, and one that takes too long ends this process.
    """
    if (refusal := _refusal(version, model, fingerprint)) is not None:
        return refusal
    reader = NoteReader(Path(), _counter(model), window)
    parsed: list[str | None] = []
    for path, data in notes:
        signal.setitimer(signal.ITIMER_PROF, NOTE_SECONDS)
        try:
            parsed.append(encode(*reader.parse(path, data)))
        except Exception:  # whatever it is, the daemon meets it again, and says so
            parsed.append(None)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return {"answers": parsed, "failed": [place for place, text in enumerate(parsed) if text is None]}


def _refusal(version: str, name: str, fingerprint: str) -> TaskResult | None:
    """Return what this machine lacks to do as the daemon would; None if nothing."""
    if version != __version__:
        return {
            "refusal": f"{_here()} has vaultseek {__version__}; install {version} there, as on this machine"
        }
    try:
        here = _fingerprint(name)
    except (ConfigError, WorkerUnavailable, OSError) as error:
        return {"refusal": f"{_here()} cannot load the model {name}: {error}"}
    if here != fingerprint:
        return {
            "refusal": f"{_here()} has another model under the name {name} ({here}, not {fingerprint});"
            " install the same one there"
        }
    return None


def _here() -> str:
    return f"the worker {platform.node()}"


@lru_cache(maxsize=4)
def _fingerprint(name: str) -> str:
    return find_model(name).fingerprint


@lru_cache(maxsize=1)
def _counter(name: str) -> TokenCount:
    """Return the counter of the model's tokens, made once in a process."""
    return find_model(name).counter()


@lru_cache(maxsize=1)
def _encoder(name: str) -> Encoder:
    """Load the model, once in a process. The cluster counts processors, so it computes with one."""
    found = find_model(name)
    encoder = embed.load(found.name, found.directory)
    if isinstance(encoder, BertEncoder):
        encoder.processors = 1
    return encoder
