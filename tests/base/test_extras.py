"""The extras that are installed, and the commands that add the others."""

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from vaultseek.base import extras
from vaultseek.errors import ConfigError

PROJECT = Path(__file__).parents[2]


def test_every_extra_of_the_package_is_known() -> None:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*extras.MODULES} == declared["optional-dependencies"].keys() - {"all", "dev"}
    everything = declared["optional-dependencies"]["all"]
    assert everything == [f"vaultseek[{','.join(sorted(extras.MODULES))}]"]


def test_what_is_missing_is_named_with_the_command_that_adds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.MODULES, "torch", ("json", "no_such_module", "no_such_module.part"))
    with pytest.raises(ConfigError, match=r"^a model needs .*; run `pip install 'vaultseek\[torch\]'`$"):
        extras.require_extra("torch", "a model")
    monkeypatch.setitem(extras.MODULES, "torch", ("json", "json.decoder"))
    extras.require_extra("torch", "a model")


@pytest.mark.parametrize(
    ("receipt", "command"),
    [
        ("uv-receipt.toml", "uv pip install --python {} "),
        ("pipx_metadata.json", "pipx runpip vaultseek install "),
    ],
)
def test_the_command_is_that_of_the_tool_that_installed_vaultseek(
    receipt: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / receipt).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert extras.install_command("ocr") == command.format(tmp_path) + "'vaultseek[ocr]'"


@pytest.mark.parametrize("name", sorted(extras.MODULES))
def test_looking_for_an_extra_does_not_load_it(name: str) -> None:
    modules = extras.MODULES[name]
    script = f"import sys\nfrom vaultseek.base.extras import has_extra\nprint(has_extra({name!r}))\n"
    script += f"print([module for module in {modules!r} if module in sys.modules and '.' not in module])"
    found = all(importlib.util.find_spec(module) for module in modules)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == str(found)
    assert done.stdout.splitlines()[1] in ("[]", "['llama_index']")
