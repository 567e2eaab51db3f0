"""Making a release: the refusals, its notes, and its bill of materials."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import release_notes
from release_notes import notes_of
from try_release import bill_of_materials

CHANGELOG = """# Changelog
## [0.3.0] - unreleased
### Added

## [0.2.0] - 2026-11-24
### Added
- A thing.

## [0.1.0] - 2026-11-22
- The first.
"""


def test_the_notes_are_the_section_of_the_version():
    assert notes_of("0.2.0", CHANGELOG) == "### Added\n- A thing."
    assert notes_of("0.1.0", CHANGELOG) == "- The first."


def test_a_section_without_entries_is_empty():
    assert notes_of("0.3.0", CHANGELOG) == notes_of("0.4.0", CHANGELOG) == ""


def test_the_bill_of_materials_names_every_package_but_those_of_the_environment():
    packages = [
        {"name": "typing_extensions", "version": "4.15", "license_expression": "PSF-2.0"},
        {"name": "click", "version": "8.3"},
        {"name": "pip", "version": "25"},
        {"name": "vaultseek", "version": "0.2.0"},
    ]
    bill = bill_of_materials(packages, "0.2.0")
    assert [part["purl"] for part in bill["components"]] == [
        "pkg:pypi/click@8.3",
        "pkg:pypi/typing-extensions@4.15",
    ]
    assert bill["components"][1]["licenses"] == [{"expression": "PSF-2.0"}]
    assert bill["metadata"]["component"]["name"] == "vaultseek"


STUBS = ("setup", "check", "test", "package")
"""Scripts that the release runs, and that do nothing here."""


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A project of one commit with the real script. Every other program in it does nothing."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    for name in ("release", "release_notes.py"):
        shutil.copy(release_notes.PROJECT / "scripts" / name, scripts)
    for name in STUBS:
        (scripts / name).write_text(
            "#!/bin/sh\nmkdir -p ran dist && touch ran/$(basename $0)\n", encoding="utf-8"
        )
        (scripts / name).chmod(0o755)
    for name in ("package_managers.py", "try_release.py"):
        (scripts / name).touch()
    (tmp_path / "editors" / "neovim").mkdir(parents=True)
    (tmp_path / "editors" / "neovim" / "init.lua").touch()
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.2.0"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    (tmp_path / ".gitignore").write_text(".venv\ndist\nran\n", encoding="utf-8")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    commit(tmp_path)
    return tmp_path


def commit(project: Path) -> None:
    git = ["git", "-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "init.defaultBranch=main"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "State"]):
        subprocess.run([*git, *arguments], cwd=project, check=True)


def release(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(project / "scripts" / "release"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def ran(project: Path) -> set[str]:
    return {file.name for file in project.glob("ran/*")}


def test_a_release_is_tested_and_has_its_notes_and_the_plugin_for_neovim(project):
    done = release(project, "0.2.0")
    assert (done.returncode, done.stderr) == (0, "")
    assert ran(project) == {*STUBS}
    assert (project / "dist" / "NOTES.md").read_text(encoding="utf-8") == "### Added\n- A thing.\n"
    assert (project / "dist" / "vaultseek-0.2.0-neovim.tar.gz").exists()


def test_changes_that_are_not_committed_are_refused(project):
    (project / "CHANGELOG.md").write_text("", encoding="utf-8")
    done = release(project, "0.2.0")
    assert (done.returncode, done.stderr) == (1, "release: commit your changes first\n")
    assert ran(project) == set()


@pytest.mark.parametrize("failing", ["check", "test"])
def test_failing_checks_and_tests_are_refused(project, failing):
    (project / "scripts" / failing).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    commit(project)
    assert release(project, "0.2.0").returncode == 1
    assert "package" not in ran(project)
    done = release(project, "0.2.0", "--tested")
    assert (done.returncode, done.stdout) == (0, "release: the tests were not run, as --tested says\n")


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("0.1.0", "pyproject.toml has version 0.2.0, not 0.1.0"),
        ("0.2.0", "CHANGELOG.md has nothing about 0.2.0"),
    ],
)
def test_another_version_and_an_empty_section_are_refused(project, version, reason):
    (project / "CHANGELOG.md").write_text(CHANGELOG.replace("- A thing.", ""), encoding="utf-8")
    commit(project)
    done = release(project, version)
    assert (done.returncode, done.stderr) == (1, f"release: {reason}\n")
    assert "package" not in ran(project)
