"""Times named in a question."""

from datetime import date

import pytest

from vaultseek.content.query.times import find_time

TODAY = date(2026, 11, 28)  # a Saturday


def days(text: str, today: date = TODAY) -> str | None:
    found = find_time(text, today)
    return None if found is None else f"{found.days.first} {found.days.last}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("brakes last week", "2026-11-16 2026-11-22"),
        ("what happened yesterday", "2026-11-27 2026-11-27"),
        ("brakes in September", "2026-09-01 2026-09-30"),
        ("brakes in December", "2025-12-01 2025-12-31"),
        ("in november", "2026-11-01 2026-11-30"),
        ("the oven in spring 2025", "2025-03-01 2025-05-31"),
        ("winter of 2024", "2024-12-01 2025-02-28"),
        ("the trip two years ago", "2024-01-01 2024-12-31"),
        ("three days ago", "2026-11-25 2026-11-25"),
        ("a couple of weeks ago", "2026-11-09 2026-11-15"),
        ("in the last ten days", "2026-11-18 2026-11-28"),
        ("before Christmas", "2025-11-26 2025-12-23"),
        ("over Easter", "2026-04-03 2026-04-06"),
        ("since March", "2026-03-01 2026-11-28"),
        ("before 2025", "1900-01-01 2024-12-31"),
        ("late October", "2026-10-21 2026-10-31"),
        ("brakes in Oct", "2026-10-01 2026-10-31"),
        ("12 Dec 2025", "2025-12-12 2025-12-12"),
        ("the last week of September", "2026-09-01 2026-09-30"),
        ("die letzte Woche von Oktober", "2026-10-01 2026-10-31"),
        ("the last two weeks of August 2023", "2023-08-01 2023-08-31"),
        ("last weekend before April 10, 2023", "2023-03-13 2023-04-09"),
        ("letters from last summer", "2026-06-01 2026-08-31"),
        ("12 September", "2026-09-12 2026-09-12"),
        ("December 24", "2025-12-24 2025-12-24"),
        ("29 February", "2024-02-29 2024-02-29"),
        ("September 3, 2024", "2024-09-03 2024-09-03"),
        ("on Monday", "2026-11-23 2026-11-23"),
        ("on Saturday", "2026-11-28 2026-11-28"),
        ("last Saturday", "2026-11-21 2026-11-21"),
        ("last summer", "2026-06-01 2026-08-31"),
        ("brakes between March and May", "2026-03-01 2026-05-31"),
        ("between November and January", "2025-11-01 2026-01-31"),
        ("from March to May 2024", "2024-03-01 2024-05-31"),
        ("ideas in notes from March to May", "2026-03-01 2026-05-31"),
        ("between the 3rd and 5th of September", "2026-09-03 2026-09-05"),
        ("notes from 2019 to 2021", "2019-01-01 2021-12-31"),
        ("early 2024", "2024-01-01 2024-05-01"),
        ("in 2020 or 2021", "2020-01-01 2021-12-31"),
        ("in March and April", "2026-03-01 2026-04-30"),
        ("between 12 and 15 September", "2026-09-12 2026-09-15"),
        ("between Monday and Wednesday", "2026-11-23 2026-11-25"),
        ("between Christmas and New Year", "2025-12-24 2026-01-01"),
        ("zwischen März und Mai", "2026-03-01 2026-05-31"),
        ("entre mars et mai 2025", "2025-03-01 2025-05-31"),
        ("from last week until today", "2026-11-16 2026-11-28"),
        ("the week before last", "2026-11-09 2026-11-15"),
        ("the month before last", "2026-09-01 2026-09-30"),
        ("vorletzte Woche", "2026-11-09 2026-11-15"),
        ("the budget in Q3", "2026-07-01 2026-09-30"),
        ("sales Q1 2025", "2025-01-01 2025-03-31"),
        ("letzte Woche", "2026-11-16 2026-11-22"),
        ("im September", "2026-09-01 2026-09-30"),
        ("vor zwei Jahren", "2024-01-01 2024-12-31"),
        ("am 12. September", "2026-09-12 2026-09-12"),
        ("im letzten Sommer", "2026-06-01 2026-08-31"),
        ("na semana passada", "2026-11-16 2026-11-22"),
        ("em setembro de 2025", "2025-09-01 2025-09-30"),
        ("il y a deux ans", "2024-01-01 2024-12-31"),
        ("en octobre dernier", "2026-10-01 2026-10-31"),
        ("hace tres meses", "2026-08-01 2026-08-31"),
        ("上周的刹车", "2026-11-16 2026-11-22"),
        ("昨日のパン", "2026-11-27 2026-11-27"),
    ],
)
def test_a_time_in_words_is_read(text, expected):
    assert days(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "May",
        "call May about the march",
        "a letter from June",
        "Monday",
        "Manic Monday lyrics",
        "1984 Orwell",
        "blade runner 2049",
        "brakes since the move",
        "the fall of Rome",
        "spring onions",
        "hier steht das Fahrrad",
        "30 February",
        "at the last minute",
        "99999 years ago",
        "E-4107",
        "a note for May and June",
        "a trip from Mars to Venus",
        "the transistor Q3",
        "el Teatro de Verano",
        "the smell of autumn",
        "from bread and butter to cheese",
        "open today's note",
        "",
    ],
)
def test_names_and_things_stay_words(text):
    assert days(text) is None


def test_the_place_of_a_time_is_known():
    found = find_time("brakes in September, please", TODAY)
    assert (found.start, found.end, found.text) == (7, 19, "in September")
