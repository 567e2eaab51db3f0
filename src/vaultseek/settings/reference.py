"""The settings models as text: a commented ``config.toml`` and the reference page; neither can be wrong.

A section's first docstring line, a field's description, its type, bounds and default are all that is used.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from vaultseek.settings import describe as schema
from vaultseek.settings.model import DELIMITER, PREFIX, RecencyTier, Settings, VaultSettings

CONFIG_COLUMNS = 100

_PLAIN = {"true or false", "a text", "a text that is not empty", "a path", "a list of texts"}
_HEAD = """\
# The settings of vaultseek, each with its default and one line of why.
#
# Take the "# " away from a line to change it; only the vaults have to be named. Every key can be overridden
# by the environment: VAULTSEEK_SEARCH__LIMIT=5, VAULTSEEK_SEARCH__RECENCY__ENABLED=false; lists are written
# as JSON. `vaultseek config check` says what is wrong here, `vaultseek config show` what is in force.
"""
_PAGE = """\
# Configuration
Everything works without a configuration: `vaultseek vault add ~/Notes` adds a folder of notes, and any folder
with an `.obsidian` folder in it is a vault when you search from inside it. A `config.toml` is for those who
have more to say.

```console
$ vaultseek config init     # writes one, with every key as a comment
$ vaultseek config path     # where it is
$ vaultseek config check    # what is wrong with it: line, value and what is allowed
$ vaultseek config show     # what is in force, and whether default, file or environment says so
```

The file is `$XDG_CONFIG_HOME/vaultseek/config.toml`, by default `~/.config/vaultseek/config.toml` (on macOS
`~/Library/Application Support/vaultseek/config.toml`); `--config FILE` or `VAULTSEEK_CONFIG` name another
one. An environment variable goes before the file: `VAULTSEEK_SEARCH__LIMIT=5` is `limit` in `[search]`; lists
and tables are written as JSON. Search settings in the environment of a shell hold for the searches made from
it, whatever the daemon was started with. The daemon notices a changed file by itself; only another
`model.name` takes effect when it is started again.

This page is made from the settings model by `scripts/settings_docs.py`, and so is
[`config.toml.example`](../config.toml.example). Edit neither by hand.
"""


def example(vault: Path | None = None) -> str:
    """A commented ``config.toml`` that changes nothing, or nothing but that ``vault`` is watched."""
    parts = [_HEAD, "\n".join(_vault_block(vault))]
    for name, section in _sections(Settings):
        parts.append("\n".join([f"[{name}]", *_keys(section)]))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def reference() -> str:
    """The page that names every key with type, bounds, default, variable and reason, in Markdown."""
    parts = [_PAGE, _table("`[[vaults]]`", VaultSettings, "vaults")]
    for name, section in _sections(Settings):
        parts.append(_table(f"`[{name}]`", section, name))
        if name == "search.recency":
            parts.append(_table("A tier of `search.recency.tiers`", RecencyTier, None))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def toml(value: Any) -> str:
    """``value`` as TOML writes it on one line."""
    if isinstance(value, BaseModel):
        inner = ", ".join(f"{name} = {toml(getattr(value, name))}" for name in type(value).model_fields)
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    # For texts, numbers and truth values TOML and JSON agree, but for one control character.
    text = json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")


def _sections(model: schema.Model, prefix: str = "") -> Iterator[tuple[str, schema.Model]]:
    for name, field in model.model_fields.items():
        inner = schema.section_of(field.annotation)
        if inner is not None and not schema.is_list(field.annotation):
            yield f"{prefix}{name}", inner
            yield from _sections(inner, f"{prefix}{name}.")


def _scalars(section: schema.Model) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in section.model_fields.items():
        if schema.section_of(field.annotation) is None or schema.is_list(field.annotation):
            yield name, field


# The file


def _vault_block(vault: Path | None) -> Iterator[str]:
    yield "# One block for each folder of notes."
    mark = "" if vault else "# "
    yield f"{mark}[[vaults]]"
    given = {"name": _vault_name(vault), "path": str(vault)} if vault else {}
    for name, field in _scalars(VaultSettings):
        yield from (f"{mark}{line}" for line in _comment(field))
        in_force = name in given or not vault
        yield f"{mark}{'' if in_force else '# '}{name} = {toml(given.get(name, _shown_value(field)))}"


def _vault_name(vault: Path) -> str:
    try:
        return VaultSettings(name=vault.name, path=vault).name
    except ValidationError:
        return "notes"


def _keys(section: schema.Model) -> Iterator[str]:
    for name, field in _scalars(section):
        yield from _comment(field)
        yield f"# {name} = {toml(_shown_value(field))}"


def _comment(field: FieldInfo) -> Iterator[str]:
    takes = schema.expected(field)
    words = (field.description or "").replace("``", "")
    if takes not in _PLAIN:
        words += f" {takes[0].upper()}{takes[1:]}."
    yield from textwrap.wrap(
        words,
        CONFIG_COLUMNS,
        initial_indent="# ",
        subsequent_indent="# ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _shown_value(field: FieldInfo) -> Any:
    if field.examples:
        return field.examples[0]
    default = field.get_default(call_default_factory=True)
    return "" if default is None else default


# The page


def _table(heading: str, section: schema.Model, name: str | None) -> str:
    words = (section.__doc__ or "").strip().split("\n")[0]
    lines = [f"## {heading}", _capital(words.split(": ", 1)[-1].replace("``", "`")), ""]
    variable = name not in (None, "vaults")
    lines += ["| key | takes | default | " + ("variable | why |" if variable else "why |")]
    lines += ["|---|---|---|---|" + ("---|" if variable else "")]
    for key, field in _scalars(section):
        cells = [f"`{key}`", schema.expected(field), _default(field)]
        if variable:
            cells.append(f"`{PREFIX}{f'{name}.{key}'.upper().replace('.', DELIMITER)}`")
        lines.append(
            "| "
            + " | ".join(_cell(cell) for cell in [*cells, str(field.description).replace("``", "`")])
            + " |"
        )
    if name == "vaults":
        lines += ["", "`VAULTSEEK_VAULTS` is the whole list as JSON, and takes the place of the file's."]
    return "\n".join(lines) + "\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be given"
    value = field.get_default(call_default_factory=True)
    return "none" if value is None else f"`{toml(value)}`"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
