"""The check of requests and answers by the models of the protocol."""

from __future__ import annotations

import ast
import json
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from vaultseek.base.model import JSON
from vaultseek.base.text import SHOWN_CHARS
from vaultseek.errors import ProtocolError
from vaultseek.protocol.messages import answers, params
from vaultseek.protocol.messages.answers import Answer
from vaultseek.protocol.messages.methods import METHODS, NOTIFICATIONS, OF_EVERY_REQUEST

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


@cache
def schemas() -> JSON:
    """Return JSON Schema 2020-12: ``methods``, each with ``params`` and ``answer``, and ``notifications``."""
    return {
        "methods": {
            name: {"params": method.params.model_json_schema(), "answer": _schema(method.answer)}
            for name, method in METHODS.items()
        },
        "notifications": {name: _schema(kind) for name, kind in NOTIFICATIONS.items()},
    }


def _schema(answer: Any) -> JSON:
    schema: JSON = adapter(answer).json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        for name, text in _descriptions().get(part.get("title", ""), {}).items():
            part["properties"][name]["description"] = text
    return schema


@cache
def _descriptions() -> dict[str, dict[str, str]]:
    """Return by name of each type the descriptions of its fields, inherited ones too.

    They are the docstrings below the fields. pydantic reads these of a class alone, without its bases.
    """
    described: dict[str, dict[str, str]] = {}
    for kind in ast.parse(Path(answers.__file__).read_text(encoding="utf-8")).body:
        if isinstance(kind, ast.ClassDef):
            fields = described[kind.name] = {}
            for base in kind.bases:
                fields |= described.get(ast.unparse(base), {})
            for field, below in pairwise(kind.body):
                match field, below:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        fields[name] = " ".join(text.split())
    return described
