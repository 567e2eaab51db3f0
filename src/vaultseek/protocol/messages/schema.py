"""JSON Schema of every message, made from the models of the protocol."""

from __future__ import annotations

import ast
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from vaultseek.base.model import JSON
from vaultseek.protocol.messages import answers
from vaultseek.protocol.messages.check import adapter
from vaultseek.protocol.messages.methods import METHODS, NOTIFICATIONS


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
