"""Validation of requests and answers against the protocol's models."""

import json
from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from vaultseek.base.model import JSON
from vaultseek.base.text import SHOWN_CHARS
from vaultseek.errors import ProtocolError, advise
from vaultseek.protocol.messages import answers, params
from vaultseek.protocol.messages.answers import Answer
from vaultseek.protocol.messages.methods import METHODS, NOTIFICATIONS, OF_EVERY_REQUEST, answer_type
from vaultseek.settings.describe import field_docstrings

with_config(ConfigDict(extra="allow", strict=True))(Answer)  # configures all answers, which are subclasses


@cache
def adapter(answer: Any) -> TypeAdapter[Any]:
    """Return the cached pydantic adapter for an answer type; building an adapter takes milliseconds."""
    return TypeAdapter(answer)


def check_request(method: str, request: JSON) -> None:
    """Check the parameters of a request; unknown methods pass.

    Raises a UsageError that names the first invalid parameter.
    """
    if method in METHODS:
        own = {name: value for name, value in request.items() if name not in OF_EVERY_REQUEST}
        # Check the parameters as they are sent: JSON turns tuples into lists.
        params.read(METHODS[method].params_type, json.loads(json.dumps(own)))


def check_answer(method: str, answer: object) -> None:
    """Check the answer of a method; unknown methods pass. Raises a ProtocolError that names the first invalid
    field."""
    if method not in METHODS:
        return
    try:
        adapter(METHODS[method].answer_type).validate_python(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))[:SHOWN_CHARS] or "the whole answer"
        wrong = f"{where}: {first['msg'][:SHOWN_CHARS]}"
        raise ProtocolError(
            f"the daemon's answer to {method!r} does not match the protocol ({wrong}); "
            "if the daemon is a different version, stop it",
            advise("stop"),
        ) from None


@cache
def schemas() -> JSON:
    """Return the JSON Schema (2020-12) of all messages: ``methods``, each with ``params`` and ``answer``, and
    ``notifications``."""
    return {
        "methods": {
            name: {
                "params": _schema(method.params_type.model_json_schema(), params.__name__),
                "answer": _schema(adapter(method.answer_type).json_schema(), answers.__name__),
            }
            for name, method in METHODS.items()
        },
        "notifications": {
            name: _schema(adapter(answer_type(kind)).json_schema(), answers.__name__)
            for name, kind in NOTIFICATIONS.items()
        },
    }


def _schema(schema: JSON, module: str) -> JSON:
    described = field_docstrings(module)
    for part in (schema, *schema.get("$defs", {}).values()):
        for name, text in described.get(part.get("title", ""), {}).items():
            part["properties"][name]["description"] = text
    return schema
