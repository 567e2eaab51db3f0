"""The work of a cluster's machines. It runs there, in processes that may serve many runs one after another.

Arguments and results are plain values, so that another version of vaultseek is told by its version, not by a
failure to unpack them.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from vaultseek import __version__
from vaultseek.errors import ConfigError, WorkerUnavailable
from vaultseek.models import embed
from vaultseek.models.bert import BertEncoder
from vaultseek.models.catalogue import find_model
from vaultseek.models.encoder import Encoder

TaskResult = dict[str, Any]
"""``vectors``, an array, and ``failed``, the places of texts that have none; or ``refusal``, in words."""


def embed_texts(version: str, model: str, fingerprint: str, texts: Sequence[str]) -> TaskResult:
    """Embed the texts with the model of that name, if it is here and the same as the daemon's.

    The vectors are those that the daemon's own worker computes, to six digits.
    """
    here = f"the worker {platform.node()}"
    if version != __version__:
        return {"refusal": f"{here} has vaultseek {__version__}; install {version} there, as on this machine"}
    try:
        encoder = _encoder(model)
    except (ConfigError, WorkerUnavailable, OSError) as error:
        return {"refusal": f"{here} cannot load the model {model}: {error}"}
    if encoder.fingerprint != fingerprint:
        return {
            "refusal": f"{here} has another model under the name {model} ({encoder.fingerprint}, "
            f"not {fingerprint}); install the same one there"
        }
    embedded = embed.embed(encoder, texts)
    return {
        "vectors": np.asarray(embedded.vectors, np.float32),
        "failed": [place for place, _ in embedded.failed],
    }


@lru_cache(maxsize=1)
def _encoder(name: str) -> Encoder:
    """Load the model, once in a process. The cluster counts processors, so it computes with one."""
    found = find_model(name)
    encoder = embed.load(found.name, found.directory)
    if isinstance(encoder, BertEncoder):
        encoder.processors = 1
    return encoder
