"""The messages of errors and note problems, collected by parsing the source code."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from vaultseek import errors

SOURCE = Path(errors.__file__).parent
ERRORS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.VaultseekError)
}
PROBLEMS = {"Problem": 0, "_refused": 0}
"""The functions that create a problem, and the index of their code argument; the message follows it."""


class Message(NamedTuple):
    """A message; ``text`` has ``{}`` for each value, ``of`` is an error's class or a problem's code."""

    of: str
    text: str
    place: str


def raised() -> Iterator[Message]:
    """Yield the messages of errors that are raised with a literal."""
    for file, tree in _modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                name = getattr(node.exc.func, "id", "")
                if name in ERRORS and node.exc.args and (text := _text(node.exc.args[0])):
                    yield Message(name, text, f"{file}:{node.lineno}")


def problems() -> Iterator[Message]:
    """Yield the note problems whose code is a literal."""
    for file, tree in _modules():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and (position := PROBLEMS.get(getattr(node.func, "id", ""))) is not None
                and not isinstance(node.args[-1], ast.Starred)
            ):
                code, text = (_text(argument) for argument in node.args[position : position + 2])
                if code:
                    yield Message(code, text, f"{file}:{node.lineno}")


@cache
def _modules() -> list[tuple[str, ast.Module]]:
    return [
        (file.relative_to(SOURCE).as_posix(), ast.parse(file.read_text(encoding="utf-8")))
        for file in sorted(SOURCE.rglob("*.py"))
    ]


def _text(node: ast.expr) -> str:
    """Return the text of a literal, or an empty string for any other expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + (_text(node.right) or "{}")
    return ""
