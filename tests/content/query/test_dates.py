"""Dates as people write them; today is a Wednesday."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.content.query.dates import dates_of, find_dates, parse_period

NOW = datetime(2026, 10, 21, 15, 30, tzinfo=UTC)


def period(text: str) -> str:
    found = parse_period(text, NOW)
    if found is None:
        return "none"
    end = f"{found.end:%Y-%m-%d %H:%M}" if found.end else "…"
    return f"{found.start:%Y-%m-%d %H:%M} {end}".replace(" 00:00", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026", "2026-01-01 2027-01-01"),
        ("2026-01", "2026-01-01 2026-02-01"),
        ("2024-02", "2024-02-01 2024-03-01"),
        ("2026-W05", "2026-01-26 2026-02-02"),
        ("2026-01-15", "2026-01-15 2026-01-16"),
        ("2026-01-15T10:30", "2026-01-15 10:30 2026-01-15 10:31"),
        ("2026-01-15 10:30:05Z", "2026-01-15 10:30 2026-01-15 10:30"),
        ("7d", "2026-10-14 15:30 …"),
        ("12 hours", "2026-10-21 03:30 …"),
        ("2w", "2026-10-07 15:30 …"),
        ("last 3 months", "2026-07-21 15:30 …"),
        ("1y", "2025-10-21 15:30 …"),
        ("5 days ago", "2026-10-16 2026-10-17"),
        ("today", "2026-10-21 2026-10-22"),
        ("Yesterday", "2026-10-20 2026-10-21"),
        ("this week", "2026-10-19 2026-10-26"),
        ("last  week", "2026-10-12 2026-10-19"),
        ("this month", "2026-10-01 2026-11-01"),
        ("last month", "2026-09-01 2026-10-01"),
        ("this year", "2026-01-01 2027-01-01"),
        ("last year", "2025-01-01 2026-01-01"),
        ("monday", "2026-10-19 2026-10-20"),
        ("wednesday", "2026-10-21 2026-10-22"),
        ("last wednesday", "2026-10-14 2026-10-15"),
        ("last fri", "2026-10-16 2026-10-17"),
        ("March 2026", "2026-03-01 2026-04-01"),
        ("15 mar 2026", "2026-03-15 2026-03-16"),
        ("march 15, 2026", "2026-03-15 2026-03-16"),
        ("9999", "9999-01-01 …"),
    ],
)
def test_periods(text, expected):
    assert period(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "1",
        "0000",
        "2026-13",
        "2026-02-30",
        "31 february 2026",
        "99999y",
        "999999d",
        "٢٠٢٦",
        "7",
        "last",
    ],
)
def test_what_is_no_date(text):
    assert period(text) == "none"


@pytest.mark.parametrize("day", range(7))
def test_weeks_begin_on_monday_whatever_the_day(day):
    now = datetime(2026, 10, 19, 8, tzinfo=UTC) + timedelta(days=day)
    this, last = parse_period("this week", now), parse_period("last week", now)
    assert this is not None
    assert last is not None
    assert (this.start.date().isoformat(), last.start.date().isoformat()) == ("2026-10-19", "2026-10-12")


def test_dates_are_of_the_zone_of_now_unless_they_name_one():
    now = datetime(2026, 10, 21, tzinfo=timezone(timedelta(hours=5)))
    local, named = parse_period("2026-01-15T10:00", now), parse_period("2026-01-15T10:00Z", now)
    assert local is not None
    assert named is not None
    assert named.start - local.start == timedelta(hours=5)


@given(st.text(alphabet="0123456789-:TZWd agolstweky.+", max_size=24), st.datetimes())
def test_any_text_is_a_period_in_order_or_nothing(text, now):
    found = parse_period(text, now)
    if found:
        assert found.start.tzinfo is not None
        assert found.end is None or found.start < found.end


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12 May 2026", ["2026-05-12"]),
        ("March 15, 2026", ["2026-03-15"]),
        ("3rd of September 2026", ["2026-09-03"]),
        ("november 2023", ["2023-11"]),
        ("15.03.2026", ["2026-03-15"]),
        ("2026/03/15", ["2026-03-15"]),
        ("2026-3-15", ["2026-03-15"]),
        ("3/15/2026", ["2026-03-15"]),
        ("4/5/2026", ["2026-05-04", "2026-04-05"]),
        ("31 June 2026", []),
        ("31.06.2026", []),
        ("1.2.3", []),
        ("15.03/2026", []),
        ("12 May", []),
        ("on 12 May 2026", []),
        ("March the 15th, 2026", ["2026-03-15"]),
        ("March the 15th 2026", ["2026-03-15"]),
        ("2026, March the 15th", ["2026-03-15"]),
        ("the 15th of March, 2026", ["2026-03-15"]),
        ("Sunday the 15th of March 2026", ["2026-03-15"]),
        ("el 15 de marzo de 2026", ["2026-03-15"]),
        ("domingo, 15 de marzo de 2026", ["2026-03-15"]),
        ("Sonntag, den 15. März 2026", ["2026-03-15"]),
        ("dimanche 15 mars 2026", ["2026-03-15"]),
        ("l'8 marzo 2026", ["2026-03-08"]),
        ("the", []),
    ],
)
def test_a_text_that_is_a_date(text, expected):
    assert list(dates_of(text)) == expected


def test_dates_in_a_text():
    text = "between 12 May 2026 and March 2027, not 31 June 2026"
    found = {each.days: text[each.start : each.end] for each in find_dates(text)}
    assert found == {("2026-05-12",): "12 May 2026", ("2027-03",): "March 2027"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-09", ["2024-01-09"]),
        ("2024-1-9", ["2024-01-09"]),
        ("20240109", ["2024-01-09"]),
        ("2024_01_09", ["2024-01-09"]),
        ("2024.01.09", ["2024-01-09"]),
        ("2024/1/9", ["2024-01-09"]),
        ("9.1.2024", ["2024-01-09"]),
        ("1.31.2024", ["2024-01-31"]),
        ("31-01-2024", ["2024-01-31"]),
        ("1/31/2024", ["2024-01-31"]),
        ("Jan 9th, 2024", ["2024-01-09"]),
        ("Saturday, January 6th 2024", ["2024-01-06"]),
        ("9. Januar 2024", ["2024-01-09"]),
        ("15. Mai 2026", ["2026-05-15"]),
        ("1er mars 2024", ["2024-03-01"]),
        ("9 de enero de 2024", ["2024-01-09"]),
        ("2024年1月5日", ["2024-01-05"]),
        ("2024년 1월 5일", ["2024-01-05"]),
        ("2024年1月", ["2024-01"]),
        ("4/5/2026", ["2026-05-04", "2026-04-05"]),
        ("daily.2024.01.09", ["2024-01-09"]),
        ("2024-01-09T10:30", ["2024-01-09"]),
        ("120240109", []),
        ("2024-13-01", []),
        # two-figure years
        ("06.04.24", ["2024-04-06"]),
        ("18-04-99", ["1999-04-18"]),
        ("4/16/24 or 16/4/24", ["2024-04-16", "2024-04-16"]),
        ("4/6/24", ["2024-06-04", "2024-04-06"]),
        ("24-Oct-20, Sep 16 ’23", ["2020-10-24", "2023-09-16"]),
        ("6.4.24, v06.04.24, x==06.04.24, 06.04.24.1, 06.04.24-beta, 06-12-34-56, '24-03-11", []),
        # the month as a word between two numbers, or after the year
        ("2021-Oct-23, 23-Oct-2021, 23/Oct/2021:13:55, 23OCT2021", ["2021-10-23"] * 4),
        ("2021 November 15 and 2021, Nov. 16", ["2021-11-15", "2021-11-16"]),
        ("Fri Mar 8 14:22:01 2024, Fri Mar  8 14:22 UTC 2024", ["2024-03-08"] * 2),
        ("6th day of March 2023", ["2023-03-06"]),
        ("In 2024 may be. Plan 3 beta 2021", []),
        # ranges
        ("25–27 January 2024", ["2024-01-25", "2024-01-27"]),
        ("from 25 to 27 January 2024", ["2024-01-25", "2024-01-27"]),
        ("January 19–20, 2024", ["2024-01-19", "2024-01-20"]),
        ("12. bis 14. Mai 2023", ["2023-05-12", "2023-05-14"]),
        ("30 May – 2 June 2022", ["2022-05-30", "2022-06-02"]),
        ("3.–5.4.2019, 28.2.–1.3.2019", ["2019-04-03", "2019-04-05", "2019-02-28", "2019-03-01"]),
        # other languages
        ("5 января 2024, 5 stycznia 2024, 5. ledna 2024, 5 січня 2024", ["2024-01-05"] * 4),
        ("5. siječnja 2024, 5. januarja 2024, 5. јануара 2024, 5. ledna 2024", ["2024-01-05"] * 4),
        ("1. tammikuuta 2024, 1 Ocak 2024, 1 Ιανουαρίου 2024, 1 ianuarie 2024", ["2024-01-01"] * 4),
        ("2024. január 17., 2024 m. sausio 17 d., 2024. gada 17. janvāris", ["2024-01-17"] * 3),
        ("26 يناير 2024, 26 בינואר 2024, 26 जनवरी 2024", ["2024-01-26"] * 3),
        ("25 d'abril de 2023, 25 tháng 4 năm 2023", ["2023-04-25"] * 2),
        ("6 rijna 2020, 6 fevrier 2020, 6 wrzesnia 2020", ["2020-10-06", "2020-02-06", "2020-09-06"]),
        ("5. 1. 2023 and 2023. 1. 5.", ["2023-01-05"] * 2),
    ],
)
def test_a_day_in_any_spelling(text, expected):
    assert [day for each in find_dates(text) for day in each.days] == expected
