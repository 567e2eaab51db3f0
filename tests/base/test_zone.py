"""The choice between the machine's time zone and the client's."""

from datetime import UTC, datetime

import pytest

from vaultseek.base import zone as zones
from vaultseek.base.zone import client_zone, machine_zone, zone, zone_for_daemon, zone_named

SUMMER, WINTER = datetime(2026, 7, 1, 12), datetime(2026, 1, 1, 12)


@pytest.fixture
def localtime(tmp_path, monkeypatch):
    """A function that changes the machine's time zone, as ``timedatectl`` does."""
    monkeypatch.delenv("TZ", raising=False)
    link = tmp_path / "localtime"
    monkeypatch.setattr(zones, "LOCALTIME", str(link))

    def change(name: str) -> None:
        new = tmp_path / "new"
        new.symlink_to(f"/usr/share/zoneinfo/{name}")
        new.replace(link)

    return change


def offsets(found):
    return [moment.replace(tzinfo=found).utcoffset().total_seconds() / 3600 for moment in (SUMMER, WINTER)]


@pytest.mark.parametrize(
    ("value", "summer", "winter"),
    [
        ("Europe/Berlin", 2, 1),
        (":Europe/Berlin", 2, 1),
        ("/usr/share/zoneinfo/Europe/Berlin", 2, 1),
        (":/usr/share/zoneinfo/posix/Europe/Berlin", 2, 1),
        ("Pacific/Kiritimati", 14, 14),
        ("CET-1CEST,M3.5.0,M10.5.0/3", 2, 1),
        ("NZST-12NZDT,M9.5.0,M4.1.0/3", 12, 13),
        ("<+0330>-3:30", 3.5, 3.5),
        ("UTC0", 0, 0),
        ("", 0, 0),
    ],
)
def test_a_value_of_tz_is_a_zone(value, summer, winter):
    assert offsets(zone_named(value)) == [summer, winter]


@pytest.mark.parametrize(
    "value",
    [None, "Nowhere/Else", "Europe", "../../etc/passwd", "/etc/localtime", "a\0b", "Zürich", "x" * 9999],
)
def test_another_value_names_no_zone(value):
    assert zone_named(value) is None


def test_the_machine_has_the_zone_of_its_environment_else_of_its_file(localtime, monkeypatch):
    localtime("America/Los_Angeles")
    assert offsets(machine_zone()) == [-7, -8]
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert offsets(machine_zone()) == [9, 9]
    monkeypatch.setenv("TZ", ":/etc/localtime")
    assert offsets(machine_zone()) == [-7, -8]


@pytest.mark.fault("L5")
def test_l5_a_change_of_the_machines_zone_is_noticed(localtime):
    localtime("America/Los_Angeles")
    assert offsets(zone()) == [-7, -8]
    localtime("Europe/Berlin")
    assert offsets(zone()) == [2, 1]
    assert zone() is zone(), "it is read once"


def test_a_machine_without_a_readable_zone_has_utc(tmp_path, monkeypatch):
    monkeypatch.delenv("TZ", raising=False)
    monkeypatch.setattr(zones, "LOCALTIME", str(tmp_path / "missing"))
    assert machine_zone() is UTC
    damaged = tmp_path / "damaged"
    damaged.write_text("no rules")
    monkeypatch.setattr(zones, "LOCALTIME", str(damaged))
    assert machine_zone() is UTC


def test_the_zone_of_the_client_goes_before_that_of_the_machine(localtime):
    localtime("America/Los_Angeles")
    token = client_zone.set(zone_named("Pacific/Kiritimati"))
    assert offsets(zone()) == [14, 14]
    client_zone.reset(token)
    assert offsets(zone()) == [-7, -8]


def test_a_client_sends_tz_and_the_machines_zone_only_where_it_may_be_another_machine(localtime, monkeypatch):
    localtime("Europe/Berlin")
    assert zone_for_daemon(may_be_remote=False) is None
    assert zone_for_daemon(may_be_remote=True) == "Europe/Berlin"
    monkeypatch.setenv("TZ", ":America/Los_Angeles")
    assert zone_for_daemon(may_be_remote=False) == "America/Los_Angeles"
    assert zone_for_daemon(may_be_remote=True) == "America/Los_Angeles"
    monkeypatch.setenv("TZ", "")
    assert zone_for_daemon(may_be_remote=False) == "UTC"
