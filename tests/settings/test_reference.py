"""The generated files: the example loads and names every key, and both are up to date."""

import re
import tomllib
from pathlib import Path

import pytest
from pydantic.fields import FieldInfo
from settings_docs import reference

from vaultseek.settings.describe import keys
from vaultseek.settings.environment import ENV_DELIMITER, ENV_PREFIX
from vaultseek.settings.load import load
from vaultseek.settings.model import Settings, VaultSettings
from vaultseek.settings.reference import example
from vaultseek.settings.search import RecencyTier

EXAMPLE = Path(__file__).parents[2] / "config.toml.example"


def uncommented_example() -> str:
    """Return the example with the ``# `` in front of every key removed."""
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line == "# [[vaults]]")
    setting = re.compile(r"# (\w+ = .*|\[\[vaults\]\]|\[searches\])$")
    return "\n".join(setting.sub(r"\1", line) for line in lines[start:])


def test_the_example_loads_as_it_is() -> None:
    assert load(EXAMPLE) == Settings()


def test_the_example_names_every_key_with_its_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "Notes").mkdir()
    text = uncommented_example()
    file = tmp_path / "config.toml"
    file.write_text(text, encoding="utf-8")
    loaded = load(file)
    assert loaded.vaults == (VaultSettings(name="notes", path=tmp_path / "Notes", language="en"),)
    assert list(loaded.searches) == ["todo"]
    assert loaded.model_copy(update={"vaults": (), "searches": {}}) == Settings()
    names = [*(name for name, _ in keys(Settings) if name != "searches"), "searches.todo"]
    assert dotted_keys(tomllib.loads(text)) == names
    assert list(tomllib.loads(text)["vaults"][0]) == list(VaultSettings.model_fields)


def test_the_example_and_the_reference_page_are_what_the_models_say() -> None:
    page = EXAMPLE.parent / "docs" / "configuration.md"
    stale = "run scripts/settings_docs.py"
    assert EXAMPLE.read_text(encoding="utf-8") == example(), stale
    assert page.read_text(encoding="utf-8") == reference(), stale


def test_every_key_has_a_description_of_a_sentence_and_stands_on_the_page() -> None:
    sections = dict(part.split("\n", 1) for part in reference().split("\n## "))
    for heading, model in (
        ("`[[vaults]]`", VaultSettings),
        ("A tier of `search.recency.tiers`", RecencyTier),
    ):
        for name, field in keys(model):
            assert_described(name, field, sections[heading])
    for name, field in keys(Settings):
        section, _, key = name.rpartition(".")
        if section:
            assert_described(key, field, sections[f"`[{section}]`"])
    assert "`[searches]`" in sections


def assert_described(key: str, field: FieldInfo, section: str) -> None:
    assert (field.description or "").endswith("."), key
    assert re.search(rf"^\* `{key}[ `]", section, re.MULTILINE), key


def test_the_page_explains_the_name_of_a_variable() -> None:
    found = re.search(r"`(\w+)` in `\[(\w+)\]` is `(\w+)`", reference())
    assert found
    assert found[3] == f"{ENV_PREFIX}{found[2]}{ENV_DELIMITER}{found[1]}".upper()


def dotted_keys(table: dict[str, object], prefix: str = "") -> list[str]:
    names: list[str] = []
    for name, value in table.items():
        is_section = isinstance(value, dict) and value  # an empty table is the value of a key
        names += dotted_keys(value, f"{prefix}{name}.") if is_section else [f"{prefix}{name}"]
    return names
