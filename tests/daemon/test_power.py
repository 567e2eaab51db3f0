"""Background work is halved on battery, but not for a mouse's battery or while a charger is plugged in."""

from pathlib import Path

import pytest

from vaultseek.daemon.power import is_on_battery

BATTERY = {"type": "Battery", "status": "Discharging"}


@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        ({"BAT0": BATTERY}, True),
        ({"AC": {"type": "Mains", "online": "0"}, "BAT0": BATTERY}, True),
        ({"AC": {"type": "Mains", "online": "1"}, "BAT0": {**BATTERY, "status": "Charging"}}, False),
        ({"BAT0": BATTERY, "ucsi": {"type": "USB", "online": "1"}}, False),
        ({"BAT0": BATTERY, "BAT1": {**BATTERY, "status": "Not charging"}}, True),
        ({"mouse": {**BATTERY, "scope": "Device"}}, False),
        ({"BAT0": {"type": "Battery"}}, False),
        ({}, False),
    ],
)
def test_the_power_supply_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, supplies: dict[str, dict[str, str]], *, expected: bool
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for name, values in supplies.items():
        (tmp_path / name).mkdir()
        for key, value in values.items():
            (tmp_path / name / key).write_text(f"{value}\n")
    assert is_on_battery(tmp_path) is expected


def test_a_system_without_that_folder_counts_as_powered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert not is_on_battery(tmp_path / "missing")
