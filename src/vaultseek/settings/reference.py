"""The commented ``config.toml``, made of the description, type, bounds and default of each key."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from vaultseek.settings import describe
from vaultseek.settings.model import Settings, VaultSettings
from vaultseek.settings.toml import format_value

CONFIG_COLUMNS = 100

_PLAIN = {"true or false", "a text", "a text that is not empty", "a path", "a list of texts", "a table"}
_HEAD = """\
# The settings of vaultseek: every key with its default and a description.
#
# To change a key, remove the "# " in front of it. Only the vaults have to be named. Environment variables
# override the file: VAULTSEEK_SEARCH__LIMIT=5, VAULTSEEK_SEARCH__RECENCY__ENABLED=false; lists are JSON.
# `vaultseek config check` reports errors in this file, `vaultseek config show` the values in use.
"""


def example(vault: Path | None = None) -> str:
    """Return a ``config.toml`` with every key as a comment; it only adds ``vault``, if there is one."""
    parts = [_HEAD, "\n".join(_vault_block(vault))]
    for name, section in sections(Settings):
        parts.append("\n".join([f"[{name}]", *_keys(section)]))
    parts.append("\n".join(_searches_block()))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def sections(model: describe.Model, prefix: str = "") -> Iterator[tuple[str, describe.Model]]:
    """Yield the tables of the file by their dotted names."""
    for name, field in model.model_fields.items():
        inner = describe.section_of(field.annotation)
        if inner is not None and not describe.is_list(field.annotation):
            yield f"{prefix}{name}", inner
            yield from sections(inner, f"{prefix}{name}.")


def scalars(section: describe.Model) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the keys of a table that are no tables."""
    for name, field in describe.described_fields(section).items():
        if describe.section_of(field.annotation) is None or describe.is_list(field.annotation):
            yield name, field


def _vault_block(vault: Path | None) -> Iterator[str]:
    yield "# One block for each folder of notes."
    mark = "" if vault else "# "
    yield f"{mark}[[vaults]]"
    values = {"name": _vault_name(vault), "path": str(vault)} if vault else {}
    for name, field in scalars(VaultSettings):
        yield from (f"{mark}{line}" for line in _comment(field))
        active = name in values or not vault
        value = format_value(values.get(name, example_value(field)))
        yield f"{mark}{'' if active else '# '}{name} = {value}"


def _searches_block() -> Iterator[str]:
    field = describe.described_fields(Settings)["searches"]
    yield from _comment(field)
    yield "# [searches]"
    for name, query in example_value(field).items():
        yield f"# {name} = {format_value(query)}"


def _vault_name(vault: Path) -> str:
    try:
        return VaultSettings(name=vault.name, path=vault).name
    except ValidationError:
        return "notes"


def _keys(section: describe.Model) -> Iterator[str]:
    for name, field in scalars(section):
        yield from _comment(field)
        value = example_value(field)
        yield f"# {name} = {_inline(value) if isinstance(value, dict) else format_value(value)}"


def _inline(table: dict[str, Any]) -> str:
    """Format a table on one line; environment variables take JSON, the file does not."""
    inner = ", ".join(f"{name} = {format_value(value)}" for name, value in table.items())
    return f"{{ {inner} }}" if inner else "{}"


def _comment(field: FieldInfo) -> Iterator[str]:
    allowed = describe.allowed_values(field)
    words = (field.description or "").replace("``", "")
    if allowed not in _PLAIN:
        words += f" {capital(allowed)}."
    yield from textwrap.wrap(
        words,
        CONFIG_COLUMNS,
        initial_indent="# ",
        subsequent_indent="# ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def example_value(field: FieldInfo) -> Any:
    """Return the value of a key in the example: its default, unless another one says more."""
    if field.examples:
        return field.examples[0]
    default = field.get_default(call_default_factory=True)
    return "" if default is None else default


def capital(words: str) -> str:
    """Return a text whose first letter is a capital."""
    return words[:1].upper() + words[1:]
