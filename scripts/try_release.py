"""Install a release's wheel with pip, uv and pipx, try it, and write its bill of materials and checksums.

    python scripts/try_release.py FOLDER

Run by ``scripts/release``.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from plain_install import FOUND, Installation, plain_installation

VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def main(folder: Path) -> int:
    """Return 0 if the wheel, installed with each installer in turn, finds the right note by meaning."""
    (wheel,) = folder.glob("*.whl")
    for number, (installer, python) in enumerate(ways()):
        with plain_installation(python, wheel, installer) as installation:
            path, seconds = installation.first_answer()
            print(
                f"release: {installer}, {said_by(python)}, first answer in {seconds:.0f} s: {path}",
                flush=True,
            )
            if path != FOUND:
                return 1
            if number == 0:
                materials = bill_of_materials(installed_in(installation), version("vaultseek"))
    (folder / "vaultseek.cdx.json").write_text(json.dumps(materials, indent=2) + "\n", encoding="utf-8")
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != "SHA256SUMS")
    sums = (
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(folder)}\n" for file in files
    )
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    return 0


def ways() -> Iterator[tuple[str, str]]:
    """Yield installers with Python versions: pip with every Python found, uv and pipx with this one."""
    yield "pip", sys.executable
    for name in VERSIONS:
        if said_by(sys.executable).startswith(f"Python {name}."):
            continue
        python = shutil.which(f"python{name}")
        if python and said_by(python):
            yield "pip", python
        else:
            print(f"release: not tried with Python {name}, which is not here")
    for installer in ("uv", "pipx"):
        if shutil.which(installer):
            yield installer, sys.executable
        else:
            print(f"release: not tried with {installer}, which is not here")


def said_by(python: str) -> str:
    """Return the version that a Python reports, or nothing if it does not run."""
    return subprocess.run([python, "--version"], capture_output=True, text=True, check=False).stdout.strip()


def installed_in(installation: Installation) -> list[dict[str, Any]]:
    """Return the metadata of every installed package from ``pip inspect``."""
    pip = [str(installation.folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "inspect"]
    done = subprocess.run([*pip, "--local"], capture_output=True, text=True, check=True)
    return [package["metadata"] for package in json.loads(done.stdout)["installed"]]


def bill_of_materials(packages: list[dict[str, Any]], release: str) -> dict[str, Any]:
    """Return the packages as a CycloneDX 1.6 bill of materials, without pip and setuptools."""
    components = [
        component(package)
        for package in packages
        if package["name"] not in ("pip", "setuptools", "vaultseek")
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": component({"name": "vaultseek", "version": release}) | {"type": "application"}
        },
        "components": sorted(components, key=lambda each: each["name"].lower()),
    }


def component(package: dict[str, Any]) -> dict[str, Any]:
    """Return one package as a component; its licence only if it is an SPDX expression."""
    purl = f"pkg:pypi/{package['name'].lower().replace('_', '-')}@{package['version']}"
    made = {"type": "library", "bom-ref": purl, "name": package["name"], "version": package["version"]}
    licence = package.get("license_expression")
    return made | {"purl": purl} | ({"licenses": [{"expression": licence}]} if licence else {})


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
