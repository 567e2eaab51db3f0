"""Every message that the source can raise or put down as a note's problem, found by reading it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
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
"""The functions that make a problem, and the index of their code argument; the message follows it."""


class Message(NamedTuple):
    """``text`` has ``{}`` for what is put in; ``of`` is an error's class or a problem's code."""

    of: str
    text: str
    place: str


def raised() -> Iterator[Message]:
    """The messages of errors that are written out where they are raised."""
    for file, tree in _modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                name = getattr(node.exc.func, "id", "")
                if name in ERRORS and node.exc.args and (text := _text(node.exc.args[0])):
                    yield Message(name, text, f"{file}:{node.lineno}")


def problems() -> Iterator[Message]:
    """The problems of notes that are written out where they are found."""
    for file, tree in _modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (at := PROBLEMS.get(getattr(node.func, "id", ""))) is not None:
                code, text = (_text(argument) for argument in node.args[at : at + 2])
                if code:
                    yield Message(code, text, f"{file}:{node.lineno}")


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(SOURCE.rglob("*.py")):
        yield file.relative_to(SOURCE).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


def _text(node: ast.expr) -> str:
    """A literal's text; nothing for what is put together elsewhere."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + (_text(node.right) or "{}")
    return ""
