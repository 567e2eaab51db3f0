"""Install the wheel of a release in an empty environment, and write its bill of materials and checksums.

    python scripts/try_release.py FOLDER

Run by ``scripts/release``.
"""

import hashlib
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from plain_install import FOUND, Installation, plain_installation


def main(folder: Path) -> int:
    """Return 0 if the installed wheel finds the right note by meaning."""
    (wheel,) = folder.glob("*.whl")
    with plain_installation(source=wheel) as installation:
        path, seconds = installation.first_answer()
        print(f"release: pip, {len(installation.packages)} packages, first answer in {seconds:.0f} s: {path}")
        if path != FOUND:
            return 1
        materials = bill_of_materials(installed_in(installation), version("vaultseek"))
    (folder / "vaultseek.cdx.json").write_text(json.dumps(materials, indent=2) + "\n", encoding="utf-8")
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != "SHA256SUMS")
    sums = (
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(folder)}\n" for file in files
    )
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    return 0


def installed_in(installation: Installation) -> list[dict[str, Any]]:
    """Return the metadata of every installed package, by ``pip inspect``."""
    pip = [str(installation.folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "inspect"]
    done = subprocess.run([*pip, "--local"], capture_output=True, text=True, check=True)
    return [package["metadata"] for package in json.loads(done.stdout)["installed"]]


def bill_of_materials(packages: list[dict[str, Any]], release: str) -> dict[str, Any]:
    """Return the packages as a bill of CycloneDX 1.6, without pip and setuptools."""
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
