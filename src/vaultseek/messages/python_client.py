"""Generate the typed methods of the Python clients from the models of the protocol.

The clients import no pydantic, so their signatures and the types of their answers are written out.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo

from vaultseek.messages import answers
from vaultseek.messages.methods import METHODS, Method

CLIENT_FOLDER = Path(__file__).parents[1] / "client"

_WIDTH = 110
_INDENT = " " * 8
_POSITIONAL = {
    "search/why": {"query": "query", "note": "path"},
    "complete": {"kind": "kind", "text": "prefix"},
}
"""Positional parameters and their names in Python, where they are not the required ones in their order."""
_COMMON = ("vault", "cwd")
_NOTICE = "Written by ``python -m vaultseek.messages``; change the models there instead."
_OPTIONS = """\
``vault`` is the name or absolute folder of a vault, ``cwd`` the absolute folder that the request comes from;
without either, the only configured vault is meant. What is not ready after ``deadline_ms`` milliseconds is
left out, and ``partial`` names it. ``supersedes`` is the id of an earlier request of this client to cancel.
``timeout`` in seconds replaces the client's own; None waits as long as it takes."""
_RAISES = """\
Every method raises the error of ``vaultseek.errors`` that the daemon answers with: UsageError for wrong
parameters, VaultMissing for a vault that is not there, Cancelled if there is no answer in time, Unavailable
if the daemon went away. Lines are 1-based and inclusive everywhere."""


class _Parameter(NamedTuple):
    """A parameter of a Python method: its name there and in the protocol, its type and default as source."""

    python: str
    protocol: str
    type: str
    default: str | None
    description: str


def sources() -> dict[Path, str]:
    """Return the text of each generated file."""
    return {
        CLIENT_FOLDER / "answers.py": _answers(),
        CLIENT_FOLDER / "methods.py": _methods(asynchronous=False),
        CLIENT_FOLDER / "async_methods.py": _methods(asynchronous=True),
    }


# -- answers ---------------------------------------------------------------------------------------------


def _answers() -> str:
    models = [
        model
        for model in vars(answers).values()
        if isinstance(model, type)
        and issubclass(model, BaseModel)
        and model.__module__ == answers.__name__
        and model is not answers.Answer
        and not issubclass(model, RootModel)
    ]
    head = f'''\
"""Types of the daemon's answers, for annotations. Answers may have more fields than stand here.

{_NOTICE}
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from vaultseek.model import LinkKind, ReasonCode
'''
    return head + "".join(f"\n\n{_typed_dict(model)}" for model in models)


def _typed_dict(model: type[BaseModel]) -> str:
    own = [name for name in model.model_fields if name in model.__annotations__]
    if any(model.model_fields[name].alias for name in own):
        return _functional_typed_dict(model)
    bases = ", ".join(base.__name__ for base in model.__bases__ if base is not answers.Answer)
    # The one union of results: those without a passage lack the fields of those with one.
    total = ", total=False" if model is answers.FullResult else ""
    lines = [f"class {model.__name__}({bases or 'TypedDict'}{total}):", f'    """{model.__doc__}"""']
    for number, name in enumerate(own):
        field = model.model_fields[name]
        lines += [""] if number == 0 else []
        lines.append(f"    {name}: {_field_type(model, name, field)}")
        lines += [f'    """{field.description}"""'] if field.description else []
    return "\n".join(lines) + "\n"


def _functional_typed_dict(model: type[BaseModel]) -> str:
    """Return a TypedDict whose fields may be keywords of Python."""
    lines = [f"{model.__name__} = TypedDict(", f'    "{model.__name__}",', "    {"]
    for name, field in model.model_fields.items():
        lines.append(f'        "{field.alias or name}": {_field_type(model, name, field)},')
    return "\n".join([*lines, "    },", ")", f'"""{model.__doc__}"""']) + "\n"


def _field_type(model: type[BaseModel], name: str, field: FieldInfo) -> str:
    source = _annotation(model, name).replace("FullResult | Result", "FullResult")
    return source if field.is_required() else f"NotRequired[{source}]"


def _annotation(model: type[BaseModel], name: str) -> str:
    """Return the annotation of a field as it is written."""
    written = next(base.__annotations__[name] for base in model.__mro__ if name in base.__annotations__)
    return str(written).replace("'", '"')


# -- methods ---------------------------------------------------------------------------------------------


def _methods(*, asynchronous: bool) -> str:
    callers = {name: method for name, method in METHODS.items() if method.python}
    bodies = [_method(name, method, asynchronous=asynchronous) for name, method in callers.items()]
    names = sorted({method.answer.__name__ for method in callers.values()}, key=str.casefold)
    used = "".join(bodies)
    kinds = ", ".join(kind for kind in ("CompletionKind", "Mode") if re.search(rf"\b{kind}\b", used))
    which = "asyncio" if asynchronous else "blocking"
    imports = "\n".join(f"        {name}," for name in names)
    return f'''\
"""The methods of the protocol as typed methods of the {which} client.

{_NOTICE}
"""

from __future__ import annotations

from vaultseek.client.conversation import DEFAULT_TIMEOUT, without_defaults

TYPE_CHECKING = False  # typing is heavy for a command that only asks
if TYPE_CHECKING:
    from collections.abc import {"Awaitable, Callable" if asynchronous else "Callable"}
    from typing import Any

    from vaultseek.client.answers import (
{imports}
    )
    from vaultseek.model import {kinds}


class {"AsyncMethods" if asynchronous else "Methods"}:
    """The methods of the protocol, for a client that can ``call``.

{_filled(_OPTIONS, 4)}

{_filled(_RAISES, 4)}
    """

    call: Callable[..., {"Awaitable[Any]" if asynchronous else "Any"}]
''' + "".join(f"\n{body}" for body in bodies)


def _method(name: str, method: Method, *, asynchronous: bool) -> str:
    parameters = list(_parameters(name, method))
    optional = [each for each in parameters if each.python not in _positional(name, method).values()]
    required = [each for each in parameters if each not in optional]
    optional += [
        _Parameter("deadline_ms", "deadline_ms", "float | None", "None", ""),
        _Parameter("supersedes", "supersedes", "int | None", "None", ""),
        _Parameter("timeout", "", "float | None", "DEFAULT_TIMEOUT", ""),
    ]
    signature = ["self", *map(_declared, required), "*", *map(_declared, optional)]
    sent = [each for each in (*required, *optional) if each.protocol]
    answer = method.answer.__name__
    lines = [
        f"    {'async ' if asynchronous else ''}def {method.python}(",
        *(f"{_INDENT}{each}," for each in signature),
        f"    ) -> {answer}:",
        *_docstring(method, parameters),
        f"{_INDENT}answer: {answer} = {'await ' if asynchronous else ''}self.call(",
        f'{_INDENT}    "{name}",',
        f"{_INDENT}    without_defaults(",
        *(f"{_INDENT}        {each.protocol}={each.python}," for each in sent),
        f"{_INDENT}    ),",
        f"{_INDENT}    timeout=timeout,",
        f"{_INDENT})",
        f"{_INDENT}return answer",
    ]
    return "\n".join(lines) + "\n"


def _parameters(name: str, method: Method) -> Iterator[_Parameter]:
    """Yield the positional parameters, the method's own options, then those about the vault."""
    positional = _positional(name, method)
    fields = method.params.model_fields
    optional = [field for field in fields if field not in positional]
    for field in (*positional, *sorted(optional, key=lambda field: field in _COMMON)):
        yield _parameter(method.params, field, fields[field], positional.get(field))


def _positional(name: str, method: Method) -> dict[str, str]:
    required = [field for field, info in method.params.model_fields.items() if info.is_required()]
    return _POSITIONAL.get(name) or {field: "path" if field == "note" else field for field in required}


_MODELS = re.compile(r"\b(?:WrittenLink|Move)\b")
"""Parameters that are objects; a client passes them as such."""


def _parameter(model: type[BaseModel], name: str, field: FieldInfo, positional: str | None) -> _Parameter:
    source, description = _MODELS.sub("dict[str, Any]", _annotation(model, name)), field.description or ""
    if positional is not None:
        default = None if field.is_required() or field.default else '""'
    elif source == "bool":
        default = "False"
    else:
        default = "None"
        source = source if source.endswith("| None") else f"{source} | None"
        if isinstance(field.default, int):
            description = f"{description.rstrip('.')}; by default {field.default:_}."
    shown = "" if name in _COMMON and positional is None else description
    return _Parameter(positional or name, name, source, default, shown)


def _declared(parameter: _Parameter) -> str:
    default = "" if parameter.default is None else f" = {parameter.default}"
    return f"{parameter.python}: {parameter.type}{default}"


def _docstring(method: Method, parameters: list[_Parameter]) -> list[str]:
    summary, _, more = method.summary.partition("\n\n")
    paragraphs = [f'{_INDENT}"""{summary}']
    if more:
        paragraphs.append(_filled(more, 8))
    described = [each for each in parameters if each.description]
    if described:
        entries = [_filled(f"{each.python}: {each.description}", 12, hanging=4) for each in described]
        paragraphs.append("\n".join([f"{_INDENT}Args:", *entries]))
    if method.raises:
        paragraphs.append(_filled(f"Raises {method.raises}.", 8))
    end = ['"""'] if len(paragraphs) == 1 else [f'\n{_INDENT}"""']
    return ["\n\n".join(paragraphs) + end[0]]


def _filled(text: str, indent: int, hanging: int = 0) -> str:
    space = " " * indent
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=space,
        subsequent_indent=space + " " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
