"""Notes and bill of materials of a release."""

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
