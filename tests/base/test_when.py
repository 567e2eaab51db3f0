"""Written dates and timestamps in several time zones."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.when import When, dates, iso_time, local_time, read_when
from worlds import in_zone

ZONES = ["Pacific/Kiritimati", "Europe/Berlin", "America/Los_Angeles"]
LATE = datetime(2026, 3, 15, 23, 30, tzinfo=UTC).timestamp()
SHIFTED = [date(2026, 3, 8), date(2026, 3, 29), date(2026, 10, 25), date(2026, 11, 1)]
"""Days on which the clocks change in Los Angeles or Berlin."""


@pytest.mark.fault("L5")
@pytest.mark.parametrize("name", ZONES)
@pytest.mark.parametrize(
    ("written", "kind"), [("2026-03-16", "day"), ("20260316", "day"), ("2026-03-16T00:30", "local")]
)
def test_l5_what_was_written_without_a_zone_is_the_same_day_in_every_zone(name, written, kind):
    with in_zone(name) as zone:
        when = read_when(written)
        assert when is not None
        assert when.kind == kind
        assert when.text[:10] == "2026-03-16"
        assert (when.text == "2026-03-16") is (kind == "day"), "the text says which it is"
        assert when.local.date() == date(2026, 3, 16)
        assert when.unix == when.local.timestamp()
        day = datetime(2026, 3, 16, tzinfo=zone)
        assert when.is_within(day, day + timedelta(days=1))
        assert not when.is_within(day - timedelta(days=1), day)
        assert not when.is_within(day + timedelta(days=1), None)


@pytest.mark.fault("L5")
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Pacific/Kiritimati", "2026-03-16T13:30:00+14:00"),
        ("Europe/Berlin", "2026-03-16T00:30:00+01:00"),
        ("America/Los_Angeles", "2026-03-15T16:30:00-07:00"),
    ],
)
def test_l5_a_moment_is_shown_in_local_time(name, shown):
    with in_zone(name):
        assert iso_time(LATE) == When(LATE).text == shown
        assert read_when("2026-03-15T23:30:00Z") == read_when("2026-03-16T00:30+01:00") == When(LATE)


@given(
    st.sampled_from(ZONES),
    st.sampled_from(SHIFTED),
    st.integers(-36 * 60, 36 * 60),
    st.sampled_from(["moment", "local", "day"]),
)
def test_the_day_that_is_shown_is_the_day_that_filters_find(name, day, minutes, kind):
    with in_zone(name) as zone:
        time = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(minutes=minutes)
        if kind == "day":
            time = time.replace(hour=0, minute=0)
        when = When(time.timestamp(), kind)
        shown = date.fromisoformat(when.text[:10])
        for other in (shown - timedelta(days=1), shown, shown + timedelta(days=1)):
            start, end = (
                datetime(each.year, each.month, each.day, tzinfo=zone)
                for each in (other, other + timedelta(days=1))
            )
            assert when.is_within(start, end) is (other == shown)


@pytest.mark.parametrize("name", ZONES)
@pytest.mark.parametrize("written", ["0001-01-01", "9999-12-31", "0001-01-01T00:00", "9999-12-31T23:59:59"])
def test_the_limits_of_the_calendar_are_dates(name, written):
    with in_zone(name):
        when = read_when(written)
        assert when is not None
        assert when.text[:10] == written[:10]
        assert when.unix == pytest.approx(when.seconds, abs=24 * 3600)
        assert when.is_within(None, None)


@pytest.mark.parametrize("seconds", [-1e300, -1e12, 1e12, 1e300])
@pytest.mark.parametrize("name", ZONES)
def test_a_time_beyond_the_calendar_is_shown_at_its_limit(name, seconds):
    with in_zone(name):
        assert local_time(seconds).year in (1, 9999)
        assert When(seconds).text[:4] in ("0001", "9999")


@pytest.mark.parametrize(
    "text", ["", "soon", "2026-13-01", "2026-02-30", "2026-03", "2026-03-16 later", "12:30"]
)
def test_other_text_is_no_date(text):
    assert read_when(text) is None


def test_dates_in_words_have_the_creation_if_its_day_differs():
    assert dates("2026-03-16", "2026-03-17T00:30:00+01:00") == "written 2026-03-16, changed 2026-03-17"
    assert dates("2027-01-01", "2026-03-17T00:30:00+01:00") == "written 2027-01-01, changed 2026-03-17"
    assert dates("2026-03-17", "2026-03-17T00:30:00+01:00") == "changed 2026-03-17"
    assert dates(None, "2026-03-17T00:30:00+01:00") == "changed 2026-03-17"
