"""The check of requests and answers by the models of the protocol."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from vaultseek.base.text import SHOWN_CHARS
from vaultseek.errors import ProtocolError
from vaultseek.protocol.messages import params
from vaultseek.protocol.messages.answers import Answer
from vaultseek.protocol.messages.methods import METHODS, OF_EVERY_REQUEST

if TYPE_CHECKING:
    from vaultseek.base.model import JSON

with_config(ConfigDict(extra="allow", strict=True))(Answer)  # and with it all answers, which are kinds of it


@cache
def adapter(answer: Any) -> TypeAdapter[Any]:
    """Return what pydantic makes of a type of an answer; that takes milliseconds."""
    return TypeAdapter(answer)


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
        adapter(METHODS[method].answer).validate_python(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))[:SHOWN_CHARS] or "all of it"
        wrong = f"{where}: {first['msg'][:SHOWN_CHARS]}"
        raise ProtocolError(
            f"the daemon's answer to {method!r} does not match the protocol ({wrong}); "
            "if it is another version, stop it with `vaultseek stop`"
        ) from None
