"""Installed extras, and the commands that add missing ones."""

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from plain_install import FOLDERS

from vaultseek.base import extras
from vaultseek.errors import ConfigError, advise
from worlds import write_files

PROJECT = Path(__file__).parents[2]


def test_every_extra_of_the_package_is_known() -> None:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*extras.MODULES} == declared["optional-dependencies"].keys() - {"all", "dev"}
    everything = declared["optional-dependencies"]["all"]
    assert everything == [f"vaultseek[{','.join(sorted(extras.MODULES))}]"]


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.MODULES, "torch", ("json", "no_such_module", "no_such_module.part"))
    with pytest.raises(ConfigError, match=r"^a model needs the torch extra; add it$") as caught:
        extras.require_extra("torch", "a model")
    assert caught.value.advice == advise("install", "torch")
    monkeypatch.setitem(extras.MODULES, "torch", ("json", "json.decoder"))
    extras.require_extra("torch", "a model")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """``installed("uv-receipt.toml", {...})`` sets which tool installed vaultseek[mcp], and from where."""

    def install(receipt: str, origin: Mapping[str, Any] | None) -> None:
        text = json.dumps(origin) if origin else None
        monkeypatch.setattr(metadata.PathDistribution, "read_text", lambda self, name: text)
        monkeypatch.setattr(sys, "prefix", str(tmp_path))
        monkeypatch.setattr(extras, "has_extra", lambda name: name == "mcp")
        if receipt:
            (tmp_path / receipt).touch()

    return install


CLONE = {"url": "file:///home/ana/my%20clone", "dir_info": {}}


@pytest.mark.parametrize(
    ("receipt", "command"),
    [
        ("uv-receipt.toml", "uv tool install"),
        ("pipx_metadata.json", "pipx install --force"),
        ("", f"{sys.executable} -m pip install"),
    ],
)
def test_the_command_is_recorded_by_the_tool_that_installed_vaultseek(
    receipt: str, command: str, installed: Callable[..., None]
) -> None:
    installed(receipt, CLONE)
    assert extras.install_command("ocr") == f"{command} '/home/ana/my clone[mcp,ocr]'"
    assert extras.install_command("mcp") == f"{command} '/home/ana/my clone[mcp]'"
    tool = command.partition(" install")[0]
    assert extras.uninstall_command() == f"{tool} uninstall vaultseek"


def test_an_environment_without_pip_is_one_of_uv(
    installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed("", CLONE)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert extras.install_command("ocr").startswith(f"uv pip install --python {tmp_path} ")


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, "'vaultseek[mcp,ocr]'"),
        ({"url": "file:///src/v", "dir_info": {"editable": True}}, "-e '/src/v[mcp,ocr]'"),
        ({"url": "file:///x/v-1.whl", "archive_info": {}}, "'/x/v-1.whl[mcp,ocr]'"),
        ({"url": "https://h/v.whl", "archive_info": {}}, "'vaultseek[mcp,ocr] @ https://h/v.whl'"),
        (
            {"url": "https://h/v.git", "vcs_info": {"vcs": "git", "requested_revision": "v1"}},
            "'vaultseek[mcp,ocr] @ git+https://h/v.git@v1'",
        ),
        (
            {"url": "https://h/v.git", "vcs_info": {"vcs": "git"}},
            "'vaultseek[mcp,ocr] @ git+https://h/v.git'",
        ),
    ],
)
def test_an_extra_is_added_from_where_vaultseek_came(
    origin: Mapping[str, Any] | None, requirement: str, installed: Callable[..., None]
) -> None:
    installed("uv-receipt.toml", origin)
    assert extras.install_command("ocr") == f"uv tool install {requirement}"


def test_the_readme_updates_by_what_keeps_extras() -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert all(command.removeprefix("bin/") in readme for command in UPDATES)


@pytest.mark.fault("L14")
@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("tool", ["uv", "pipx", "pip"])
def test_an_extra_survives_an_update_as_the_readme_names_it(tool: str, tmp_path: Path) -> None:
    """Uses a package with the same name and layout in place of vaultseek, because it installs in a second."""
    if tool != "pip" and shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    clone = write_files(tmp_path / "my clone", SMALL)
    shutil.copy(Path(extras.__file__), clone / "vaultseek" / "extras.py")
    environment = os.environ | {name: str(tmp_path / place) for name, place in FOLDERS.items()}

    def run(command: str) -> str:
        done = subprocess.run(
            command, shell=True, cwd=clone, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    first = {"uv": "uv tool install .", "pipx": "pipx install .", "pip": "bin/pip install ."}[tool]
    if tool == "pip":
        subprocess.run([sys.executable, "-m", "venv", str(clone)], check=True)
        program = clone / "bin" / "vaultseek"
    else:
        program = tmp_path / "bin" / "vaultseek"
    run(first)
    said = run(shlex.quote(str(program))).split("|")
    assert said[:2] == ["version 1", "missing"]
    run(said[2])
    (clone / "vaultseek" / "main.py").write_text(SMALL["vaultseek/main.py"].replace("version 1", "version 2"))
    (update,) = [command for command in UPDATES if command.startswith((f"{tool} ", f"bin/{tool} "))]
    run(update)
    assert run(shlex.quote(str(program))).split("|")[:2] == ["version 2", "there"]


UPDATES = ["uv tool upgrade --reinstall vaultseek", "pipx upgrade vaultseek", "bin/pip install ."]
"""How the README updates vaultseek."""
SMALL = {
    "pyproject.toml": """
[project]
name = "vaultseek"
version = "1"
[project.optional-dependencies]
mcp = ["six"]
[project.scripts]
vaultseek = "vaultseek.main:main"
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[tool.setuptools]
packages = ["vaultseek"]
""",
    "vaultseek/__init__.py": "",
    "vaultseek/main.py": """
from vaultseek import extras
def main():
    extras.MODULES = {"mcp": ("six",)}
    state = "there" if extras.has_extra("mcp") else "missing"
    print("version 1", state, extras.install_command("mcp"), sep="|")
""",
    "vaultseek/errors.py": "class ConfigError(Exception): ...\ndef advise(*_): ...\n",
}


@pytest.mark.parametrize("name", sorted(extras.MODULES))
def test_looking_for_an_extra_does_not_load_it(name: str) -> None:
    modules = extras.MODULES[name]
    script = f"import sys\nfrom vaultseek.base.extras import has_extra\nprint(has_extra({name!r}))\n"
    script += f"print([module for module in {modules!r} if module in sys.modules and '.' not in module])"
    found = all(importlib.util.find_spec(module) for module in modules)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == str(found)
    assert done.stdout.splitlines()[1] in ("[]", "['llama_index']")
