"""A fast parser for simple frontmatter: ``key: scalar`` and lists of scalars.

Its values are those of the full parser; for any other YAML it returns None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from vaultseek.base.limits import FRONTMATTER_KEYS
from vaultseek.content.markdown.yamlcore import Document, Scalar, resolve

_WORD = r"[A-Za-z0-9À-ÖØ-öø-ÿ]"
_LETTER = r"[^\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\uf8ff\ufeff\ufff0-\U0010ffff:#]"
_PLAIN = rf"{_WORD}(?:{_LETTER}|:(?=[^\s])|(?<=\S)\#)*+"
_QUOTED = r"\"[ -!#-\[\]-~À-ÿ]*+\"|'[ -&(-~À-ÿ]*+'"
_FLOW_ITEM = rf"{_WORD}[A-Za-z0-9 ._/À-ÖØ-öø-ÿ-]*+"
_FLOW = rf"\[(?:[ ]*(?:{_FLOW_ITEM})(?:,[ ]*(?:{_FLOW_ITEM}))*)?[ ]*\]"
_PROPERTY = re.compile(
    rf"([A-Za-z_][A-Za-z0-9_-]{{0,60}}):(?:[ ]+({_PLAIN})|[ ]+({_QUOTED})|[ ]+({_FLOW}))?[ ]*"
)
_ITEM = re.compile(rf"([ ]{{0,8}})-[ ]+(?:({_PLAIN})|({_QUOTED}))[ ]*")


def read_simple(block: Sequence[str]) -> Document | None:
    """Parse the lines of a frontmatter ``block``; None if it is not simple."""
    values: dict[str, Any] = {}
    scalars: list[Scalar] = []
    key, indent = "", -1
    for row, line in enumerate(block):
        if match := _PROPERTY.fullmatch(line):
            key, indent = match[1], -1
            if key in values or len(values) >= FRONTMATTER_KEYS:
                return None
            values[key] = _value(match, key, row, scalars)
        elif key and (match := _ITEM.fullmatch(line)):
            items = values[key]
            if items is None and scalars[-1].text == "" and indent < 0:
                scalars.pop()
                items = values[key] = []
                indent = len(match[1])
            elif indent != len(match[1]):
                return None
            items.append(_scalar(match[2], match[3], key, row, scalars))
        elif line:
            return None
    return Document(values, tuple(scalars)) if values else None


def _value(match: re.Match[str], key: str, row: int, scalars: list[Scalar]) -> Any:
    if (flow := match[4]) is not None:
        items = [item.strip(" ") for item in flow[1:-1].split(",")]
        return [_scalar(item, None, key, row, scalars) for item in items if item]
    return _scalar(match[2], match[3], key, row, scalars)


def _scalar(plain: str | None, quoted: str | None, key: str, row: int, scalars: list[Scalar]) -> Any:
    if quoted is not None:
        text = value = quoted[1:-1]
    else:
        text = (plain or "").rstrip(" ")
        value = resolve(text)
    scalars.append(Scalar(key, text, row, isinstance(value, str)))
    return value
