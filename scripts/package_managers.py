"""Write the files with which Homebrew, the AUR of Arch Linux and Nix install a release.

    python scripts/package_managers.py FOLDER

FOLDER contains the wheel and the source distribution. The written files contain the addresses that these two
will have once they are attached to the release. All facts come from pyproject.toml. Run by
``scripts/release``.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from bundle import OWNER

PROJECT = Path(__file__).resolve().parent.parent
PYTHON = "3.13"
"""Python version for Homebrew and Nix; Arch Linux has only one."""

FORMULA = """\
class Vaultseek < Formula
  desc "{description}"
  homepage "{homepage}"
  url "{sdist_url}"
  sha256 "{sdist_sha256}"
  license "{license}"

  depends_on "python@{python}"

  # For a tap: pip takes the requirements from its index, in the versions that the tests ran with.
  def install
    system "python{python}", "-m", "venv", libexec
    system libexec/"bin/python", "-m", "pip", "install", "--constraint", "constraints.txt", buildpath
    bin.install_symlink libexec/"bin/{name}"
  end

  service do
    run [opt_bin/"{name}", "serve"]
    keep_alive true
  end

  test do
    (testpath/"notes/Slugs.md").write "The lettuce was gone in the morning.\\n"
    cd testpath/"notes"
    system bin/"{name}", "index", "--wait", "--vault", "."
    assert_match "Slugs.md", shell_output("#{{bin}}/{name} search lettuce --paths --vault .")
  ensure
    system bin/"{name}", "stop"
  end
end
"""
PKGBUILD = """\
# Maintainer: {author}
pkgname={name}
pkgver={version}
pkgrel=1
pkgdesc="{description}"
arch=(x86_64 aarch64)
url="{homepage}"
license=({license})
depends=('python>={python_least}')
options=(!strip)
source=("{sdist_url}")
sha256sums=({sdist_sha256})

# An environment of its own: pip takes the requirements from its index, in the versions that were tested.
package() {{
  local home=/opt/$pkgname tree=$pkgname-$pkgver
  python -m venv "$pkgdir$home"
  "$pkgdir$home/bin/python" -m pip install --no-compile --constraint "$tree/constraints.txt" "./$tree"
  rm "$pkgdir$home"/lib/python*/site-packages/"$tree".dist-info/direct_url.json
  grep -lIr --null -- "$pkgdir" "$pkgdir$home/bin" "$pkgdir$home/pyvenv.cfg" | xargs -0 sed -i "s#$pkgdir##g"
  python -m compileall -q -s "$pkgdir" "$pkgdir$home/lib"
  install -d "$pkgdir/usr/bin"
  ln -s "$home/bin/$pkgname" "$pkgdir/usr/bin/$pkgname"
  install -Dm644 "$tree/LICENSE" -t "$pkgdir/usr/share/licenses/$pkgname"
}}
"""
SRCINFO = """\
pkgbase = {name}
\tpkgdesc = {description}
\tpkgver = {version}
\tpkgrel = 1
\turl = {homepage}
\tarch = x86_64
\tarch = aarch64
\tlicense = {license}
\tdepends = python>={python_least}
\toptions = !strip
\tsource = {sdist_url}
\tsha256sums = {sdist_sha256}

pkgname = {name}
"""
NIX = """\
# nix-build -E 'with import <nixpkgs> {{}}; callPackage ./{name}.nix {{}}'
{{ lib, fetchurl, python3Packages }}:

python3Packages.buildPythonApplication {{
  pname = "{name}";
  version = "{version}";
  format = "wheel";

  # The wheel has the model, which a build without network could not fetch.
  src = fetchurl {{
    url = "{wheel_url}";
    sha256 = "{wheel_sha256}";
  }};

  pythonRelaxDeps = true;
  dependencies = with python3Packages; [
{nix_dependencies}
  ];

  pythonImportsCheck = [ "{name}" ];

  meta = {{
    description = "{description}";
    homepage = "{homepage}";
    license = lib.licenses.{nix_license};
    mainProgram = "{name}";
    platforms = lib.platforms.unix;
  }};
}}
"""
FILES = {
    "homebrew/vaultseek.rb": FORMULA,
    "aur/PKGBUILD": PKGBUILD,
    "aur/.SRCINFO": SRCINFO,
    "nix/vaultseek.nix": NIX,
}


def main(folder: Path) -> int:
    """Write the files into ``folder``."""
    values = facts(folder)
    for name, template in FILES.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(template.format_map(values), encoding="utf-8")
    return 0


def facts(folder: Path) -> dict[str, str]:
    """Return facts about the project, and about its wheel and source distribution in ``folder``."""
    project: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    name, version = project["name"], project["version"]
    homepage = f"https://github.com/{OWNER}/{name}"
    (wheel,) = folder.glob("*.whl")
    sdist = folder / f"{name}-{version}.tar.gz"
    released = f"{homepage}/releases/download/{version}"
    # Package managers want neither an article at the beginning nor a full stop.
    sentence = project["description"].removeprefix("A ").removesuffix(".")
    requirements = [re.split(r"[^\w.-]", each, maxsplit=1)[0] for each in project["dependencies"]]
    return {
        "name": name,
        "version": version,
        "author": project["authors"][0]["name"],
        "description": sentence[0].upper() + sentence[1:],
        "homepage": homepage,
        "license": project["license"],
        "nix_license": project["license"].lower(),
        "nix_dependencies": "\n".join(f"    {each.lower()}" for each in requirements),
        "python": PYTHON,
        "python_least": project["requires-python"].removeprefix(">="),
        "sdist_url": f"{released}/{sdist.name}",
        "sdist_sha256": hashlib.sha256(sdist.read_bytes()).hexdigest(),
        "wheel_url": f"{released}/{wheel.name}",
        "wheel_sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
    }


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
