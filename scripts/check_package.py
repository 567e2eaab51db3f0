"""Check the built packages: every file is included, and the installed command and the agent bundle run.

Run by ``scripts/package`` with the folder that contains one wheel, one source distribution and one bundle.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Container, Iterable
from email.parser import Parser
from pathlib import Path

from build_hook import SUFFIXES as MODEL_SUFFIXES
from mcp import Client, StdioServerParameters

from vaultseek.semantic.models.directories import bundled_directory

PROJECT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
NEEDED = {
    "vaultseek/py.typed",
    "vaultseek/client/methods.pyi",
    "vaultseek/__main__.py",
    "vaultseek/doors/cli/__init__.py",
}
MADE = {"__pycache__", "node_modules", "methods.pyi"}
"""Names of files and folders that builds and tools create, and that git does not keep."""
PLUGIN = {
    *("main.js", "manifest.json", "styles.css"),
    *(
        "README.md",
        "LICENSE",
        "versions.json",
        "package.json",
        "package-lock.json",
        ".github/workflows/release.yml",
    ),
}
"""Files of the plugin's repository required by Obsidian, its community list or a release."""
LOADED_BY_PLUGIN = {"obsidian", "@codemirror/state", "@codemirror/view"} | {
    *("crypto", "fs", "net", "os", "path", "util"),
}
"""Modules that Obsidian provides; all other modules are in the built plugin. No module in this set starts a
process or speaks HTTP."""
SHOWN = {"--version": "vaultseek ", "--help": "Usage: vaultseek"}


def main(folder: Path) -> int:
    """Check each package, print what is wrong, and return the exit code."""
    (wheel,) = folder.glob("*.whl")
    (source,) = folder.glob("*.tar.gz")
    (bundle,) = folder.glob("*.mcpb")
    wrong = [*of_wheel(wheel), *of_source(source), *of_rebuilt(source, wheel), *of_installed(wheel)]
    wrong += of_plugin(folder / "obsidian")
    wrong += asyncio.run(of_bundle(bundle, str(Path(sys.executable).parent / "vaultseek")))
    for line in wrong:
        print(f"package: {line}", file=sys.stderr)
    return 1 if wrong else 0


def of_wheel(wheel: Path) -> Iterable[str]:
    """Yield what is missing from the wheel: files of the package, its command, its licence, its version."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        about = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(about).decode())
        commands = archive.read(about.replace("METADATA", "entry_points.txt")).decode()
    packages = ("vaultseek", "vaultseek_server")
    expected = {f"{name}/{path}" for name in packages for path in files_in(PROJECT / "src" / name)} | NEEDED
    expected |= {f"vaultseek_minilm/model/{path}" for path in files_in(bundled_directory(), MODEL_SUFFIXES)}
    shared = about.replace(".dist-info/METADATA", ".data/data")
    for part, place in SETTINGS["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"].items():
        expected |= {f"{shared}/{place}/{path}" for path in files_in(PROJECT / part)}
    yield from (f"{name} is not in the wheel" for name in sorted(expected - names))
    others = {name for name in names - expected if ".dist-info/" not in name}
    yield from (f"{name} does not belong into the wheel" for name in sorted(others))
    if "vaultseek = vaultseek.__main__:main" not in commands:
        yield "the wheel does not install the command"
    if metadata["Version"] != SETTINGS["project"]["version"]:
        yield f"the wheel says version {metadata['Version']}"
    if not metadata.get_all("License-File"):
        yield "the wheel has no licence"


def of_source(source: Path) -> Iterable[str]:
    """Yield the files that pyproject.toml includes but the source distribution does not contain."""
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for part in (*SETTINGS["tool"]["hatch"]["build"]["targets"]["sdist"]["include"], "pyproject.toml"):
        place = PROJECT / part
        expected = {f"{part}/{path}" for path in files_in(place)} if place.is_dir() else {part}
        yield from (f"{name} is not in the source distribution" for name in sorted(expected - names))


def of_rebuilt(source: Path, wheel: Path) -> Iterable[str]:
    """Yield the differences between the wheel and one built from the source distribution."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        (tree,) = Path(folder).iterdir()
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tree / "dist")]
        built = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        if built.returncode:
            yield f"the source distribution cannot be built: {built.stderr.strip()}"
            return
        (again,) = (tree / "dist").glob("*.whl")
        with zipfile.ZipFile(again) as one, zipfile.ZipFile(wheel) as other:
            if set(one.namelist()) != set(other.namelist()):
                yield "the source distribution builds another wheel"


def of_installed(wheel: Path) -> Iterable[str]:
    """Install the wheel into an empty folder, run it from there, and yield the problems."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index"]
        subprocess.run([*pip, "--no-deps", "--target", folder, str(wheel)], check=True)
        environment = os.environ | {"PYTHONPATH": folder, "HOME": folder}
        where = run(["-c", "import vaultseek; print(vaultseek.__file__)"], environment, folder)
        if not where.startswith(os.path.realpath(folder)):
            yield f"another vaultseek was run: {where.strip()}"
        for option, begin in SHOWN.items():
            if not (said := run(["-m", "vaultseek", option], environment, folder)).startswith(begin):
                yield f"installed, vaultseek {option} says {said[:200]!r}"


def of_plugin(folder: Path) -> Iterable[str]:
    """Yield the problems of the Obsidian plugin, if it was built: files, versions, loaded modules."""
    if not folder.exists():
        return
    if missing := PLUGIN - files_in(folder):
        yield f"the plugin for Obsidian lacks {sorted(missing)}"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r'(?:\]\(|src=")([^)"#:]+)[)"#]', readme):
        if not (folder / target).exists():
            yield f"README.md of the plugin for Obsidian leads to {target}, which its repository lacks"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    versions = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
    if manifest["version"] != SETTINGS["project"]["version"]:
        yield f"the plugin for Obsidian says version {manifest['version']}"
    if versions.get(manifest["version"]) != manifest["minAppVersion"]:
        yield "versions.json of the plugin for Obsidian does not have its version"
    code = (folder / "main.js").read_text(encoding="utf-8")
    for package in json.loads((folder / "package.json").read_text(encoding="utf-8"))["dependencies"]:
        if f"\n{package} " not in code.partition("*/")[0]:
            yield f"main.js of the plugin for Obsidian lacks the notice of {package}"
    loaded = set(re.findall(r'\brequire\("([^"]+)"\)', code))
    if unknown := {name.removeprefix("node:") for name in loaded} - LOADED_BY_PLUGIN:
        yield f"the plugin for Obsidian loads {sorted(unknown)}"


async def of_bundle(bundle: Path, program: str) -> list[str]:
    """Return the problems of the bundle: unpack it, start it as a host does, and compare the tools."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(bundle) as archive:
        archive.extractall(folder)
        manifest = json.loads(archive.read("manifest.json"))
        values = {"__dirname": folder, "user_config.vault": folder, "user_config.program": program}
        start = json.loads(filled(json.dumps(manifest["server"]["mcp_config"]), values))
        server = StdioServerParameters(
            command=start["command"], args=start["args"], env={**os.environ, **start["env"]}
        )
        async with Client(server) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
    wrong = []
    if manifest["server"]["entry_point"] not in archive.namelist():
        wrong.append("the bundle has no launcher")
    if manifest["version"] != SETTINGS["project"]["version"]:
        wrong.append(f"the bundle says version {manifest['version']}")
    if [tool["name"] for tool in manifest["tools"]] != tools:
        wrong.append(f"the bundle names other tools than {tools}")
    return wrong


def filled(text: str, values: dict[str, str]) -> str:
    """Return JSON with its variables, such as ``${name}``, replaced."""
    for name, value in values.items():
        text = text.replace(f"${{{name}}}", json.dumps(value)[1:-1])
    return text


def run(arguments: list[str], environment: dict[str, str], folder: str) -> str:
    """Run Python with these arguments and return its output and errors."""
    command = [sys.executable, "-P", *arguments]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout + done.stderr


def files_in(folder: Path, suffixes: Container[str] | None = None) -> set[str]:
    """Return the files below a folder that have these suffixes, or all files; files created by running or
    building are excluded."""
    places = (place for place in folder.rglob("*") if place.is_file() and not MADE & {*place.parts})
    places = (place for place in places if suffixes is None or place.suffix in suffixes)
    return {place.relative_to(folder).as_posix() for place in places} - {"obsidian/main.js"}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
