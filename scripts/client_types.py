#!/usr/bin/env python3
"""Generate src/vaultseek/client/methods.pyi, the types of the clients' methods, from the protocol.

``scripts/setup`` and every build of the wheel run this script. git does not keep the file.
"""

import inspect
import re
import textwrap
from pathlib import Path

from pydantic import BaseModel

from vaultseek.client.methods import RENAMED, Methods
from vaultseek.protocol.messages.methods import METHODS, Method

STUB = Path(__file__).parents[1] / "src" / "vaultseek" / "client" / "methods.pyi"
HEAD = """\
# Written by scripts/client_types.py from the models of the protocol; change these instead.
# fmt: off
from typing import Any

from vaultseek.base.model import CompletionKind, EngineKind, Mode
from vaultseek.protocol.messages import answers

RENAMED: dict[str, str]

class Methods:
"""
TWINS = '''
class AsyncMethods:
    """The same methods, to be awaited."""

'''
OF_EVERY_METHOD = (
    "deadline_ms: float | None = None",
    "supersedes: int | None = None",
    "timeout: float | None = ...",
)


def stub() -> str:
    """Return the text of the stub."""
    about = textwrap.indent(f'"""{inspect.getdoc(Methods)}\n"""', " " * 4)
    methods = [method for method in METHODS.values() if method.call]
    blocking = "".join(f"\n{_signature('def', method)}:\n{_docstring(method)}" for method in methods)
    awaited = "".join(f"{_signature('async def', method)}: ...\n" for method in methods)
    return f"{HEAD}{about}\n{blocking}{TWINS}{awaited}"


def write() -> None:
    """Write the stub, unless the file already has this content."""
    text = stub()
    if not STUB.exists() or STUB.read_text(encoding="utf-8") != text:
        STUB.write_text(text, encoding="utf-8")


def _signature(definition: str, method: Method) -> str:
    asked = method.params_type
    name, *positional = method.python
    fields = asked.model_fields
    # Options for the vault come after a method's own options.
    named = sorted((field for field in fields if field not in positional), key=("vault", "cwd").__contains__)
    parameters = ["self", *(_by_position(asked, field) for field in positional)]
    parameters += ["*", *(_by_name(asked, field) for field in named), *OF_EVERY_METHOD]
    text = f"{definition} {name}({', '.join(parameters)}) -> answers.{method.answer}"
    # Lines break only between parameters.
    return _filled(re.sub(r"(?<!,) |(?<=dict\[str,) ", "\0", text), 4, hanging=8).replace("\0", " ")


def _docstring(method: Method) -> str:
    about = (inspect.getdoc(method.answer_type) or "").partition("\n\n")[0]
    text = _filled(f'"""Return {about[:1].lower()}{about[1:]}"""', 8)
    return f"{text}\n"


def _by_position(model: type[BaseModel], field: str) -> str:
    default = ' = ""' if model.model_fields[field].default == "" else ""
    return f"{RENAMED.get(field, field)}: {_annotation(model, field)}{default}"


def _by_name(model: type[BaseModel], field: str) -> str:
    kind = _annotation(model, field)
    if kind == "bool":
        return f"{field}: bool = False"
    return f"{field}: {kind.removesuffix(' | None')} | None = None"


def _annotation(model: type[BaseModel], field: str) -> str:
    """Return the annotation of a parameter; objects are passed as dictionaries."""
    written = next(base.__annotations__[field] for base in model.__mro__ if field in base.__annotations__)
    return re.sub(r"\b(WrittenLink|Move|GivenNote)\b", "dict[str, Any]", written)


def _filled(text: str, indent: int, hanging: int = 0) -> str:
    first, others = " " * indent, " " * (hanging or indent)
    return textwrap.fill(text, 110, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


if __name__ == "__main__":
    write()
