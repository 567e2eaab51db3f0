"""The date of a note: from its properties, its name or the file."""

from datetime import UTC, datetime
from typing import Any

import pytest

from semantic_here import measured_here
from vaultseek.base.model import Note
from vaultseek.base.when import When, read_when
from vaultseek.content.files.obsidian import VaultDates
from vaultseek.content.markdown.parse import parse
from vaultseek.content.query.note_dates import Unknown, day_in_path, property_when, read_dates
from vaultseek.settings.search import RecencySettings, SearchSettings


def day(year: int, month: int, date: int) -> When:
    return When(datetime(year, month, date, tzinfo=UTC).timestamp(), "day")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("Daily/2026-03-01.md", day(2026, 3, 1)),
        ("Daily/2026-03-01 Sunday.md", day(2026, 3, 1)),
        ("2026_03_01.md", day(2026, 3, 1)),
        ("Minutes of 2026.03.01.md", day(2026, 3, 1)),
        ("20260301 Plan.md", day(2026, 3, 1)),
        ("202603011245 Thought.md", day(2026, 3, 1)),
        ("20260301124501.md", day(2026, 3, 1)),
        ("Mar 1st, 2026.md", day(2026, 3, 1)),
        ("Sunday, March 1st 2026.md", day(2026, 3, 1)),
        ("1. März 2026.md", day(2026, 3, 1)),
        ("2026年3月1日.md", day(2026, 3, 1)),
        ("13.03.2026.md", day(2026, 3, 13)),
        ("3-13-2026.md", day(2026, 3, 13)),
    ],
)
def test_a_file_name_may_hold_a_day(path, expected):
    assert read_when(day_in_path(path)) == expected


@pytest.mark.parametrize(
    "path",
    [
        "Plan.md",
        "2026-13-01.md",
        "2026-02-30.md",
        "Part 20260301.md",
        "2026030112.md",
        "2026-03_01.md",
        "2026-03-01/Plan.md",
        "03-04-2026.md",  # in March or in April
        "March 2026.md",
    ],
)
def test_what_is_no_day_is_none(path):
    assert day_in_path(path) == ""


def test_the_first_property_that_is_a_date_counts():
    stated: dict[str, Any] = {"due": "soon", "date": "2026-03-01", "created": "2020-01-01"}
    assert property_when(stated, ("missing", "due", "date", "created")) == day(2026, 3, 1)
    assert property_when(stated, ("due",)) is None


@pytest.mark.parametrize(
    ("written", "hour"),
    [
        ("Created: 2024-01-05", 0),
        ('created: "[[2024-01-05]]"', 0),
        ('created: "[[Daily/2024-01-05|today]]"', 0),
        ("created: 20240105", 0),
        ("created: 2024-1-5", 0),
        ("created: 2024-01-05 9:05", 9),
        ("created: Jan 5th, 2024", 0),
        ("created: 5. Januar 2024", 0),
        ("created: 2024/01/05", 0),
        ("created: 2024-01-05T09:05:00", 9),
    ],
)
def test_the_creation_date_may_be_written_in_several_ways(written, hour):
    note = parse(f"---\n{written}\n---\n", "n.md")
    assert read_dates(note, 0.0, Unknown()).created.local.strftime("%F %H") == f"2024-01-05 {hour:02}"


@pytest.mark.parametrize(
    "value", [2024, 202401, True, 5.5, "[[Plan]]", "2024-13-1", "2024-1-5 later", ["2024-01-05"]]
)
def test_a_property_that_is_no_date_is_none(value):
    assert property_when({"created": value}, ("created",)) is None


@pytest.mark.parametrize(
    ("recency", "fresh"),
    [
        ({"date": "filename"}, "{today} Rope.md"),
        ({"date": "created"}, "{today} Rope.md"),
        ({"date": "created", "properties": ["reviewed"]}, "Reviewed.md"),
    ],
)
def test_age_is_counted_from_the_date_that_is_wished(vault, tmp_path, recency, fresh):
    today = datetime.now().strftime("%Y-%m-%d")
    text = "---\n{}\n---\n\nrope and wheel\n"
    notes = {
        f"{today} Rope.md": text.format("reviewed: 2001-01-01"),
        "Reviewed.md": text.format(f"created: 2001-01-01\nreviewed: {today}"),
        "2001-01-01 Old.md": text.format("reviewed: 2001-01-01"),
    }
    settings = SearchSettings(recency=RecencySettings.model_validate(recency))
    with measured_here(vault(notes), tmp_path) as ask:
        answer = ask("rope wheel", settings)
    multipliers = {result["path"]: result["recency"] for result in answer["results"]}
    assert multipliers.pop(fresh.format(today=today)) == 1.2
    assert multipliers["2001-01-01 Old.md"] == 1.0


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({".obsidian/daily-notes.json": '{"format": "DD-MM-YYYY"}'}, day(2026, 4, 3)),
        ({".obsidian/daily-notes.json": '{"format": "YYYY/MM/[on] MM-DD-YYYY"}'}, day(2026, 3, 4)),
        ({"Daily/25-03-2026.md": "one"}, day(2026, 4, 3)),
        ({"Daily/03-25-2026.md": "one"}, day(2026, 3, 4)),
        ({"Other/03-25-2026.md": "one"}, day(2026, 3, 4)),
        ({"Other/03-25-2026.md": "one", "Daily/25-03-2026.md": "two"}, day(2026, 4, 3)),
        ({"Other/03-25-2026.md": "one", "Third/25-03-2026.md": "two"}, None),
    ],
)
def test_the_vault_shows_whether_the_day_or_the_month_stands_first(vault, files, expected):
    root = vault({**files, "Daily/03-04-2026.md": "text"})
    style = VaultDates(root, root / "Daily")
    assert read_dates(Note("Daily/03-04-2026.md", "x"), 0.0, style).created == (expected or When(0.0))
    stated = Note("Daily/x.md", "x", frontmatter={"date": "3/4/2026"})
    assert read_dates(stated, 0.0, style).created == (expected or When(0.0))


@pytest.mark.parametrize(
    ("path", "others", "expected"),
    [
        ("2024/01/07.md", {}, "2024-01-07"),
        ("Daily/2024/01 January/07.md", {}, "2024-01-07"),
        ("2024/January/7th.md", {}, "2024-01-07"),
        ("2024/2024-01/07-Sunday.md", {}, "2024-01-07"),
        ("2024-01/07 Sunday.md", {}, "2024-01-07"),
        ("2024/02/30.md", {}, ""),
        ("2024/13/07.md", {}, ""),
        ("Journal/07.md", {}, ""),
        ("2024/01/07.md", {"2024/01/45.md": "the files are numbered"}, ""),
        ("2024/01/07.md", {".obsidian/daily-notes.json": '{"format": "YYYY-MM-DD"}'}, ""),
        ("2024/01/07.md", {".obsidian/daily-notes.json": '{"format": "YYYY/MM/DD"}'}, "2024-01-07"),
        ("2024/01/2024-01-07.md", {}, "2024-01-07"),
    ],
)
def test_the_folders_may_state_the_year_and_the_month(vault, path, others, expected):
    root = vault({**others, path: "text"})
    assert day_in_path(path, None, VaultDates(root, (root / path).parent)) == expected
