"""The files with which package managers install a release: complete, and each in the right syntax."""

import hashlib
import shutil
import subprocess
import tomllib
from pathlib import Path

import package_managers
import pytest
from packaging.requirements import Requirement

PROJECT = tomllib.loads((package_managers.PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCED = """
. ./PKGBUILD
printf 'pkgbase = %s\\n' "$pkgname"
printf '\\tpkgdesc = %s\\n' "$pkgdesc"
printf '\\tpkgver = %s\\n' "$pkgver"
printf '\\tpkgrel = %s\\n' "$pkgrel"
printf '\\turl = %s\\n' "$url"
for name in arch license depends options source sha256sums; do
  declare -n values=$name
  printf "\\t$name = %s\\n" "${values[@]}"
done
printf '\\npkgname = %s\\n' "$pkgname"
"""
"""Prints the variables of a PKGBUILD, as makepkg --printsrcinfo does."""


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / f"vaultseek-{PROJECT['version']}-py3-none-any.whl").write_bytes(b"wheel")
    (tmp_path / f"vaultseek-{PROJECT['version']}.tar.gz").write_bytes(b"sdist")
    (tmp_path / f"vaultseek-{PROJECT['version']}-neovim.tar.gz").write_bytes(b"plugin")
    package_managers.main(tmp_path)
    return tmp_path


def test_each_file_has_the_checksum_of_what_it_installs(folder):
    sdist, wheel = (hashlib.sha256(made).hexdigest() for made in (b"sdist", b"wheel"))
    assert sdist in (folder / "homebrew" / "vaultseek.rb").read_text(encoding="utf-8")
    assert sdist in (folder / "aur" / "PKGBUILD").read_text(encoding="utf-8")
    assert wheel in (folder / "nix" / "vaultseek.nix").read_text(encoding="utf-8")


def test_the_description_is_as_package_managers_want_it(folder):
    text = (folder / "homebrew" / "vaultseek.rb").read_text(encoding="utf-8")
    description = text.split('desc "')[1].split('"')[0]
    assert description[0].isupper()
    assert len(description) <= 80
    assert not description.endswith(".")
    assert description in PROJECT["description"].replace("A local", "Local")


def test_srcinfo_says_what_the_pkgbuild_declares(folder):
    done = subprocess.run(
        ["bash", "-euc", SOURCED], cwd=folder / "aur", capture_output=True, text=True, check=True
    )
    assert done.stdout == (folder / "aur" / ".SRCINFO").read_text(encoding="utf-8")


def test_nix_has_every_requirement(folder):
    text = (folder / "nix" / "vaultseek.nix").read_text(encoding="utf-8")
    listed = text.split("with python3Packages; [")[1].split("]")[0].split()
    assert listed == [Requirement(each).name.lower() for each in PROJECT["dependencies"]]


@pytest.mark.parametrize(
    "command",
    [
        "ruby -c homebrew/vaultseek.rb",
        "bash -n aur/PKGBUILD",
        "nix-instantiate --parse nix/vaultseek.nix",
    ],
)
def test_each_file_parses(folder, command):
    if not shutil.which(command.split()[0]):
        pytest.skip(f"{command.split()[0]} is not installed")
    done = subprocess.run(command.split(), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
