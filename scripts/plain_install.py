"""Install vaultseek without extras into an empty folder, and check that it answers by word and by meaning.

``.venv/bin/python scripts/plain_install.py`` prints the figures; a row of ``scripts/bench`` and a test run
the same code. It needs pip's package index.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
SAMPLE = PROJECT / "tests" / "data" / "vault"
PARAPHRASE, FOUND = "snails eating the salad", "Areas/Garden/Slimy Visitors.md"
"""A query by meaning, and the note of the sample vault that answers it: about slugs and lettuce."""
FOLDERS = {"UV_TOOL_DIR": "tools", "UV_TOOL_BIN_DIR": "bin", "PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin"}
"""Environment variables of the folders where uv and pipx put the environment and the command."""
MOST_BYTES = 500_000_000
"""Maximum size of the installation: every file that pip leaves, including byte code."""
LARGE_BYTES = 4_000_000
"""Minimum size of a package that is printed."""


@dataclass(frozen=True, slots=True)
class Installation:
    """An installation with nothing else in it. ``install_seconds`` is the time that pip took."""

    folder: Path
    install_seconds: float

    @property
    def packages(self) -> list[str]:
        """The names of the packages, except those in every environment."""
        folders = (place.name.partition("-")[0] for place in self._site().glob("*.dist-info"))
        return sorted({name.lower() for name in folders} - {"pip", "setuptools"})

    @property
    def size(self) -> int:
        """The size of all files in bytes, including byte code."""
        own = {"pip", "setuptools", "pkg_resources", "_distutils_hack"}
        return sum(
            file.lstat().st_size
            for place in self._site().iterdir()
            if place.name.partition("-")[0] not in own
            for file in (place, *place.rglob("*"))
            if file.is_file()
        )

    @property
    def parts(self) -> dict[str, int]:
        """The size of each package in bytes, the largest first."""
        sizes = {
            each.name: sum(Path(each.locate_file(file)).lstat().st_size for file in each.files or ())
            for each in distributions(path=[str(self._site())])
        }
        return dict(sorted(sizes.items(), key=lambda part: -part[1]))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command in a separate home directory."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("VAULTSEEK_")}
        places = ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "PYTHONPATH")
        environment = {key: value for key, value in environment.items() if key not in places}
        environment |= {"HOME": str(home)}
        command = [str(self.folder / "bin" / "vaultseek"), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def first_answer(self) -> tuple[str, float]:
        """Index the sample vault and search by meaning; return the path of the first note, and the
        seconds."""
        vault = self.folder / "vault"
        shutil.copytree(SAMPLE, vault)
        began = time.monotonic()
        self.run("index", "--wait", "--vault", str(vault))
        done = self.run("search", PARAPHRASE, "--json", "--vault", str(vault))
        seconds = time.monotonic() - began
        if done.returncode:
            return done.stderr.strip(), seconds
        return str(json.loads(done.stdout)["results"][0]["path"]), seconds

    def _site(self) -> Path:
        (site,) = self.folder.glob("lib/python*/site-packages")
        return site


@contextmanager
def plain_installation(
    python: str = sys.executable, source: Path = PROJECT, installer: str = "pip"
) -> Iterator[Installation]:
    """Install the project, or a wheel of it, into a temporary folder with pip, uv or pipx; remove it at the
    end.

    Raises subprocess.CalledProcessError if the installation fails.
    """
    with tempfile.TemporaryDirectory(prefix="vaultseek-plain-") as name:
        folder = Path(name)
        if installer == "pip":
            subprocess.run([python, "-m", "venv", name], check=True)
        began = time.monotonic()
        subprocess.run(
            [*_command(installer, python, folder), str(source)],
            env=os.environ | {variable: str(folder / place) for variable, place in FOLDERS.items()},
            check=True,
        )
        installation = Installation(folder, time.monotonic() - began)
        try:
            yield installation
        finally:
            installation.run("stop")


def _command(installer: str, python: str, folder: Path) -> list[str]:
    constraints = str(PROJECT / "constraints.txt")
    if installer == "uv":
        return ["uv", "tool", "install", "-q", "--python", python, "--constraints", constraints]
    if installer == "pipx":
        return ["pipx", "install", "--python", python, "--pip-args", f"-q -c {constraints}"]
    pip = str(folder / "bin" / "pip")
    return [pip, "install", "-q", "--disable-pip-version-check", "-c", constraints]


def main() -> int:
    """Print the figures; the exit code is 0 only if the right note is found and the size is within its
    limit."""
    with plain_installation() as installation:
        path, seconds = installation.first_answer()
        print(f"{installation.size / 1e6:.0f} MB, {len(installation.packages)} packages")
        parts = (
            f"{name} {size / 1e6:.0f}" for name, size in installation.parts.items() if size > LARGE_BYTES
        )
        print(", ".join(parts))
        print(
            f"installed in {installation.install_seconds:.0f} s, first answer {seconds:.0f} s later: {path}"
        )
        return 0 if path == FOUND and installation.size <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
