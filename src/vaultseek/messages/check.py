"""JSON Schema of every message, and the check of requests and answers by the models."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from vaultseek.errors import ProtocolError
from vaultseek.messages import params
from vaultseek.messages.methods import METHODS, NOTIFICATIONS, OF_EVERY_REQUEST
from vaultseek.text import SHOWN_CHARS

if TYPE_CHECKING:
    from vaultseek.model import JSON

SCHEMA_FILE = Path(__file__).with_name("schema.json")


@lru_cache(maxsize=1)
def schemas() -> JSON:
    """Return JSON Schema 2020-12: ``methods``, each with ``params`` and ``answer``, and ``notifications``."""
    return {
        "methods": {
            name: {"params": method.params.model_json_schema(), "answer": method.answer.model_json_schema()}
            for name, method in METHODS.items()
        },
        "notifications": {name: model.model_json_schema() for name, model in NOTIFICATIONS.items()},
    }


def check_request(method: str, request: JSON) -> None:
    """Raise UsageError that names the first wrong parameter. Methods that are not known here pass."""
    if method in METHODS:
        own = {name: value for name, value in request.items() if name not in OF_EVERY_REQUEST}
        # As it will travel: a tuple is a list there.
        params.read(METHODS[method].params, json.loads(json.dumps(own)))


def check_answer(method: str, answer: object) -> None:
    """Raise ProtocolError that names the first wrong field. Methods that are not known here pass."""
    if method not in METHODS:
        return
    try:
        METHODS[method].answer.model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))[:SHOWN_CHARS] or "all of it"
        wrong = f"{where}: {first['msg'][:SHOWN_CHARS]}"
        raise ProtocolError(
            f"the daemon's answer to {method!r} does not match the protocol ({wrong}); "
            "if it is another version, stop it with `vaultseek stop`"
        ) from None
