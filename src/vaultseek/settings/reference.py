"""Generating the commented ``config.toml`` and the reference page from the settings models.

Uses the first docstring line of a section, and the description, type, bounds and default of a key.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from vaultseek.settings import describe
from vaultseek.settings.model import ENV_DELIMITER, ENV_PREFIX, Settings, VaultSettings
from vaultseek.settings.search import RecencyTier
from vaultseek.settings.team import TokenSettings
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
_PAGE = """\
# Configuration
vaultseek works without a configuration. `vaultseek vault add ~/Notes` adds a folder of notes, and a folder
that contains an `.obsidian` folder is a vault when you search from inside it. Write a `config.toml` to change
the defaults.

```console
$ vaultseek config init     # write one, with every key as a comment
$ vaultseek config path     # print its path
$ vaultseek config check    # report errors: line, value and what is allowed
$ vaultseek config show     # show the values in use, and whether default, file or environment sets them
```

The file is `$XDG_CONFIG_HOME/vaultseek/config.toml`, by default `~/.config/vaultseek/config.toml` (on macOS
`~/Library/Application Support/vaultseek/config.toml`). `--config FILE` or `VAULTSEEK_CONFIG` names another
file.

An environment variable overrides the file: `VAULTSEEK_SEARCH__LIMIT=5` sets `limit` in `[search]`. Lists and
tables are written as JSON. Search settings in the environment of a shell apply to the searches made from that
shell, whatever environment the daemon was started with.

The daemon notices changes to the file by itself. Only new models (`[model]`) take effect after
a restart.

`scripts/settings_docs.py` generates this page and [`config.toml.example`](../config.toml.example) from the
settings models. Do not edit them by hand.
"""


def example(vault: Path | None = None) -> str:
    """Return a ``config.toml`` with every key as a comment; it only adds ``vault``, if there is one."""
    parts = [_HEAD, "\n".join(_vault_block(vault))]
    for name, section in _sections(Settings):
        parts.append("\n".join([f"[{name}]", *_keys(section)]))
    parts.append("\n".join(_searches_block()))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def reference() -> str:
    """Return the Markdown page of all keys with type, bounds, default, variable and description."""
    parts = [_PAGE, _table("`[[vaults]]`", VaultSettings, "vaults")]
    for name, section in _sections(Settings):
        parts.append(_table(f"`[{name}]`", section, name))
        if name == "search.recency":
            parts.append(_table("A tier of `search.recency.tiers`", RecencyTier, None))
        if name == "team":
            parts.append(_table("`[[team.tokens]]`", TokenSettings, None))
    parts.append(_searches_table())
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _sections(model: describe.Model, prefix: str = "") -> Iterator[tuple[str, describe.Model]]:
    for name, field in model.model_fields.items():
        inner = describe.section_of(field.annotation)
        if inner is not None and not describe.is_list(field.annotation):
            yield f"{prefix}{name}", inner
            yield from _sections(inner, f"{prefix}{name}.")


def _scalars(section: describe.Model) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in section.model_fields.items():
        if describe.section_of(field.annotation) is None or describe.is_list(field.annotation):
            yield name, field


# The file


def _vault_block(vault: Path | None) -> Iterator[str]:
    yield "# One block for each folder of notes."
    mark = "" if vault else "# "
    yield f"{mark}[[vaults]]"
    values = {"name": _vault_name(vault), "path": str(vault)} if vault else {}
    for name, field in _scalars(VaultSettings):
        yield from (f"{mark}{line}" for line in _comment(field))
        active = name in values or not vault
        value = format_value(values.get(name, _example_value(field)))
        yield f"{mark}{'' if active else '# '}{name} = {value}"


def _searches_block() -> Iterator[str]:
    field = Settings.model_fields["searches"]
    yield from _comment(field)
    yield "# [searches]"
    for name, query in _example_value(field).items():
        yield f"# {name} = {format_value(query)}"


def _vault_name(vault: Path) -> str:
    try:
        return VaultSettings(name=vault.name, path=vault).name
    except ValidationError:
        return "notes"


def _keys(section: describe.Model) -> Iterator[str]:
    for name, field in _scalars(section):
        yield from _comment(field)
        value = _example_value(field)
        yield f"# {name} = {_inline(value) if isinstance(value, dict) else format_value(value)}"


def _inline(table: dict[str, Any]) -> str:
    """Format a table on one line; environment variables take JSON, the file does not."""
    inner = ", ".join(f"{name} = {format_value(value)}" for name, value in table.items())
    return f"{{ {inner} }}" if inner else "{}"


def _comment(field: FieldInfo) -> Iterator[str]:
    allowed = describe.allowed_values(field)
    words = (field.description or "").replace("``", "")
    if allowed not in _PLAIN:
        words += f" {_capital(allowed)}."
    yield from textwrap.wrap(
        words,
        CONFIG_COLUMNS,
        initial_indent="# ",
        subsequent_indent="# ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _example_value(field: FieldInfo) -> Any:
    if field.examples:
        return field.examples[0]
    default = field.get_default(call_default_factory=True)
    return "" if default is None else default


# The page


def _table(heading: str, section: describe.Model, name: str | None) -> str:
    words = (section.__doc__ or "").strip().split("\n")[0]
    lines = [f"## {heading}", _capital(words.split(": ", 1)[-1].replace("``", "`")), ""]
    variable = name not in (None, "vaults")
    lines += [
        "| key | allowed values | default | " + ("variable | description |" if variable else "description |")
    ]
    lines += ["|---|---|---|---|" + ("---|" if variable else "")]
    for key, field in _scalars(section):
        cells = [f"`{key}`", describe.allowed_values(field), _default(field)]
        if variable:
            cells.append(f"`{ENV_PREFIX}{f'{name}.{key}'.upper().replace('.', ENV_DELIMITER)}`")
        lines.append(
            "| "
            + " | ".join(_cell(cell) for cell in [*cells, str(field.description).replace("``", "`")])
            + " |"
        )
    if name == "vaults":
        lines += ["", "`VAULTSEEK_VAULTS` holds the whole list as JSON and replaces the list in the file."]
    return "\n".join(lines) + "\n"


def _searches_table() -> str:
    field = Settings.model_fields["searches"]
    name, query = next(iter(_example_value(field).items()))
    lines = ["## `[searches]`", f"{field.description} Each key is a name, its value a query:", ""]
    lines += ["```toml", "[searches]", f"{name} = {format_value(query)}", "```", ""]
    lines.append(
        f"`vaultseek search @{name} boiler` searches the notes that match for *boiler*. "
        f"`{ENV_PREFIX}SEARCHES__{name.upper()}` sets one, `{ENV_PREFIX}SEARCHES` all of them as JSON."
    )
    return "\n".join(lines) + "\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return "none" if value is None else f"`{format_value(value)}`"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
