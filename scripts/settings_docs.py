#!/usr/bin/env python3
"""Generate docs/configuration.md and config.toml.example from the settings models.

The page uses the first docstring line of a section, and the description, type, bounds and default of a key.
"""

from pathlib import Path

from pydantic.fields import FieldInfo

from vaultseek.settings import describe
from vaultseek.settings.model import ENV_DELIMITER, ENV_PREFIX, Settings, VaultSettings
from vaultseek.settings.reference import capital, example, example_value, scalars, sections
from vaultseek.settings.search import RecencyTier
from vaultseek.settings.sections import TokenSettings
from vaultseek.settings.toml import format_value

ROOT = Path(__file__).parents[1]
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


def reference() -> str:
    """Return the Markdown page of all keys with type, bounds, default, variable and description."""
    parts = [_PAGE, _table("`[[vaults]]`", VaultSettings, "vaults")]
    for name, section in sections(Settings):
        parts.append(_table(f"`[{name}]`", section, name))
        if name == "search.recency":
            parts.append(_table("A tier of `search.recency.tiers`", RecencyTier, None))
        if name == "team":
            parts.append(_table("`[[team.tokens]]`", TokenSettings, None))
    parts.append(_searches_table())
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _table(heading: str, section: describe.Model, name: str | None) -> str:
    words = (section.__doc__ or "").strip().split("\n")[0]
    lines = [f"## {heading}", capital(words.split(": ", 1)[-1].replace("``", "`")), ""]
    variable = name not in (None, "vaults")
    lines += [
        "| key | allowed values | default | " + ("variable | description |" if variable else "description |")
    ]
    lines += ["|---|---|---|---|" + ("---|" if variable else "")]
    for key, field in scalars(section):
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
    field = describe.described_fields(Settings)["searches"]
    name, query = next(iter(example_value(field).items()))
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


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    for name, text in (("docs/configuration.md", reference()), ("config.toml.example", example())):
        (ROOT / name).write_text(text, encoding="utf-8")
        print(f"written: {name}")
