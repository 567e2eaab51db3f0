"""Dates in formulas in several time zones."""

import os
from contextlib import closing
from datetime import UTC, datetime

import pytest

from vaultseek.core.tables.run import table_of_notes
from worlds import World, in_zone, write_files

LATE = datetime(2026, 3, 15, 23, 30, tzinfo=UTC).timestamp()
NOTES = {
    "2026-03-16.md": "",
    "Moment.md": "---\nseen: 2026-03-15T23:30:00Z\ncreated: 2026-03-15T23:30:00Z\ndue: 2026-03-16\n---\n",
}
COLUMNS = ["path", "file.ctime", "file.mtime", "seen", "due", "seen.format('Z')", "seen.format('X')"]


@pytest.mark.fault("L5")
@pytest.mark.parametrize(
    ("name", "local", "offset"),
    [
        ("Pacific/Kiritimati", "2026-03-16T13:30:00", "+14:00"),
        ("Europe/Berlin", "2026-03-16T00:30:00", "+01:00"),
        ("America/Los_Angeles", "2026-03-15T16:30:00", "-07:00"),
    ],
)
def test_l5_moments_in_cells_are_local_and_days_as_they_are_written(tmp_path, name, local, offset):
    root = write_files(tmp_path / "vault", NOTES)
    for path in NOTES:
        os.utime(root / path, (LATE, LATE))
    with closing(World(root, tmp_path)) as made, in_zone(name):
        answer = table_of_notes(made.ledger.notes.ids(), made.ledger, made.root, columns=COLUMNS, most=9)
    day, moment = (list(row["cells"].values()) for row in answer["rows"])
    assert day == ["2026-03-16.md", "2026-03-16", local, None, None, None, None]
    assert moment == ["Moment.md", local, local, local, "2026-03-16", offset, str(int(LATE))]
    assert [row["created"] for row in answer["rows"]] == ["2026-03-16", f"{local}{offset}"]
