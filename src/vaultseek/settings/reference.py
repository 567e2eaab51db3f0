"""Generate the commented ``config.toml`` from the description, type, bounds and default of each key."""

import textwrap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from vaultseek.settings import describe
from vaultseek.settings.model import Settings, VaultSettings
from vaultseek.settings.toml import format_value

CONFIG_COLUMNS = 100

_PLAIN = {"true or false", "a string", "a non-empty string", "a path", "a list of strings", "a table"}
_HEAD = """\
# The settings of vaultseek: every key with its default and a description.
#
# To change a key, remove the "# " in front of it. Only the vaults have no default. Environment variables
# override the file: VAULTSEEK_SEARCH__LIMIT=5, VAULTSEEK_SEARCH__RECENCY__ENABLED=false; lists are JSON.
# `vaultseek config check` reports errors in this file, `vaultseek config show` the values in use.
"""


def example(vault: Path | None = None) -> str:
    """Return a ``config.toml`` in which every key is commented out. If ``vault`` is given, only this vault is
    set."""
    mark = "" if vault else "# "
    block = ["# One block for each folder of notes.", f"{mark}[[vaults]]"]
    values = {"name": "notes", "path": str(vault)} if vault else {}
    if vault:
        with suppress(ValidationError):
            values["name"] = VaultSettings(name=vault.name, path=vault).name
    for key, field in scalars(VaultSettings):
        block += [f"{mark}{line}" for line in _comment(field)]
        inactive = "# " if vault and key not in values else ""
        block.append(f"{mark}{inactive}{key} = {format_value(values.get(key, example_value(field)))}")
    parts = [_HEAD, "\n".join(block)]
    for name, section in sections(Settings):
        block = [f"[{name}]"]
        for key, field in scalars(section):
            value = example_value(field)
            # An empty table is valid TOML. Other tables would be formatted as JSON, which is valid only in
            # environment variables.
            block += [*_comment(field), f"# {key} = {'{}' if value == {} else format_value(value)}"]
        parts.append("\n".join(block))
    searches = describe.described_fields(Settings)["searches"]
    queries = (f"# {name} = {format_value(query)}" for name, query in example_value(searches).items())
    parts.append("\n".join([*_comment(searches), "# [searches]", *queries]))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def sections(model: describe.Model, prefix: str = "") -> Iterator[tuple[str, describe.Model]]:
    """Yield the dotted name and the model of each table in the file."""
    for name, field in model.model_fields.items():
        inner = describe.section_of(field.annotation)
        if inner is not None and not describe.is_list(field.annotation):
            yield f"{prefix}{name}", inner
            yield from sections(inner, f"{prefix}{name}.")


def scalars(section: describe.Model) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the name and the field of each key in a table, except for nested tables."""
    for name, field in describe.described_fields(section).items():
        if describe.section_of(field.annotation) is None or describe.is_list(field.annotation):
            yield name, field


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
    """Return the value shown for a key in the example file: its default, unless another value is more
    helpful."""
    if field.examples:
        return field.examples[0]
    default = field.get_default(call_default_factory=True)
    return "" if default is None else default


def capital(words: str) -> str:
    """Return ``words`` with the first letter in upper case."""
    return words[:1].upper() + words[1:]
