"""Filters and phrases find a day or an identifier in any spelling, and names decide ambiguous dates."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import SearchSettings

IndexOf = Callable[[Mapping[str, str]], OpenVault]


def paths(index: OpenVault, query: str) -> list[str]:
    request = SearchRequest(query, SearchSettings(), mode="keyword")
    return [result["path"] for result in asyncio.run(Searcher(index).search(request))["results"]]


NOTES = {
    "Text.md": "The fault E-4107 came back.\n",
    "Heading.md": "# Log\n\n## Reset E 4107 now\n\nx\n",
    "E-4107 manual.md": "nothing\n",
    "Task.md": "- [ ] order the E.4107 relay\n",
    "Property.md": "---\npart: E-4107\nalso: [A-1, E 4107]\nday: 20180218\n---\ntext\n",
    "Closed.md": "An E4107 fault here.\n",
    "Other.md": "E-4108 and E-41071\n",
    "Alias.md": "---\naliases: [Fault E-4107]\n---\ntext\n",
    "Accent.md": "The Café-12 menu, 10 mm thick, § 5.\n",
    "Days.md": "On Jan 7th, 2024 we met. Phone 089 / 123 45 67.\n",
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("content:E4107", {"Text.md", "Heading.md", "Task.md", "Closed.md"}),
        ("section:E4107", {"Text.md", "Heading.md", "Task.md", "Closed.md"}),
        ("block:(reset E4107)", {"Heading.md"}),
        ("heading:E4107", {"Heading.md"}),
        ("file:E4107", {"E-4107 manual.md"}),
        ("path:e4107", {"E-4107 manual.md"}),
        ("alias:E4107", {"Alias.md"}),
        ("task-todo:E-4107", {"Task.md"}),
        ("[part:E4107]", {"Property.md"}),
        ("[also:e4107]", {"Property.md"}),
        ("[part:E410]", set()),
        ('"E 4107 fault"', {"Closed.md"}),
        ('"fault E4107"', {"Text.md", "Alias.md"}),
        ("-E4107", {"Other.md", "Days.md", "Accent.md"}),
        ('-"E 4107"', {"Other.md", "Days.md", "Accent.md"}),
        ("content:0891234567", {"Days.md"}),
        ("content:café12", {"Accent.md"}),
        ('"10mm thick"', {"Accent.md"}),
        ("content:2024-01-07", {"Days.md"}),
        ('content:"7. Januar 2024"', {"Days.md"}),
        ('"2024-01-07 we met"', {"Days.md"}),
        ("[day:2018-02-18]", {"Property.md"}),
        ("[day:>2018-01]", {"Property.md"}),
        # as it is written
        ("line:E4107", {"Closed.md"}),
        ("/E4107/", {"Closed.md"}),
    ],
)
def test_a_filter_finds_a_day_or_an_identifier_in_any_spelling(
    index_of: IndexOf, query: str, expected: set[str]
) -> None:
    assert set(paths(index_of(NOTES), query)) == expected


DATES = {
    "Range.md": "The fair of 25–27 January 2024.\n",
    "Short.md": "Seen on 18.04.24 in Rome.\n",
    "Genitive.md": "Встреча 5 января 2024 года.\n",
    "Words.md": "2021 November 15: frost.\n",
    "Numbers.md": "Version 6.4.24, 25 of 27, January, 2024, 18 04 24.\n",
}


@pytest.mark.parametrize(
    ("queries", "expected"),
    [
        (["2024-01-25", "2024-01-27", "25. Januar 2024", "25–27 January 2024"], "Range.md"),
        (["2024-04-18", '"2024-04-18"', "18/04/24", "18 April ’24"], "Short.md"),
        (["2024-01-05", "5 January 2024", "5 stycznia 2024", "05.01.24"], "Genitive.md"),
        (["2021-11-15", "15-Nov-2021", "2021-Nov-15", '"15. listopadu 2021"'], "Words.md"),
    ],
)
def test_a_day_is_found_in_any_spelling(index_of: IndexOf, queries: list[str], expected: str) -> None:
    index = index_of(DATES)
    for query in queries:
        assert paths(index, query)[:1] == [expected], query


CODES = {
    "Mask.md": "We got 3M8210 masks.\n",
    "Open mask.md": "We got 3M 8210 masks.\n",
    "Advisory.md": "PuTTY has CVE-2024-31497 in it.\n",
    "Card.md": "The GTX1080Ti is hot.\n",
    "Open card.md": "The GTX 1080 Ti is loud.\n",
    "Bit.md": "Use a 2.5 mm bit.\n",
    "Bohrer.md": "Nimm 2,5mm dafür.\n",
    "Bolt.md": "An M8 x 40 bolt.\n",
    "Screw.md": "---\nsize: M8x40\n---\nA screw M8x40.\n",
    "Plate.md": "The code 0017AB9 is on it.\n",
    "Audit.md": "per ISO/IEC27001 rules\n",
    "Open audit.md": "per ISO/IEC 27001 rules\n",
    "Cushion.md": "It measures 40 × 60 cm in all.\n",
    "Mat.md": "A mat of 40x60cm lies there.\n",
    "Steel.md": "per DIN EN 1090 rules\n",
    "Iron.md": "per DIN-EN-1090 rules\n",
    "Car.md": "The plate is HH-XY 4711.\n",
    "Van.md": "Its plate: BD51 SMR.\n",
    "Cable.md": "A 1.5 mm² cable.\n",
    "Wire.md": "Some 1,5mm2 wire.\n",
    "Release.md": "Since v4.14.3 it works.\n",
    "Letter.md": "We use version 4.14.3 now.\n",
    "Capacitor.md": "Solder 250 µF in.\n",
    "Condenser.md": "Order another 250uF.\n",
    "Noise.md": "2.5 million, 25mm, 5 mm, M8 and x 40, 17 AB 9, ISO IEC, EN, DIN, 1090, 27001 GTX.\n",
    "Odd noise.md": "HH 4711, BD 51, 1.5 mm, version 4, 14.3.\n",
    "Noise in two directions.md": "40 x 6 m, 0 x 60 m, 40x60 mm, AC/DC 27001.\n",
    "More noise.md": "1080 3M CVE 2024, 1090 40 2.5 mm2. ISO 9001. DIN 4711, EN 100. 10 mm. 0017 AB 8210.\n",
}


@pytest.mark.parametrize(
    ("spellings", "expected"),
    [
        (["3M8210", "3M 8210", "3m-8210"], {"Mask.md", "Open mask.md"}),
        (["CVE-2024-31497", "cve 2024 31497", "CVE202431497"], {"Advisory.md"}),
        (["GTX1080Ti", "GTX 1080 Ti", "GTX-1080-Ti", "gtx 1080ti"], {"Card.md", "Open card.md"}),
        (["2.5 mm", "2,5mm", "2.5mm", "2,5 mm"], {"Bit.md", "Bohrer.md"}),
        (["M8 x 40", "M8x40", "M8-X-40"], {"Bolt.md", "Screw.md"}),
        (["0017AB9", "0017 AB9", "0017-AB9"], {"Plate.md"}),
        (["ISO/IEC27001", "ISO/IEC 27001", "ISO IEC 27001"], {"Audit.md", "Open audit.md"}),
        (["ISO 27001", "ISO27001", "iso-27001"], {"Audit.md", "Open audit.md"}),
        (["40x60cm", "40 × 60 cm", "40×60 cm", "40 x 60cm"], {"Cushion.md", "Mat.md"}),
        (["DIN-EN-1090", "DIN EN 1090", "DIN EN-1090"], {"Steel.md", "Iron.md"}),
        (["HH-XY 4711", "HHXY4711", "HH-XY-4711", "HH XY 4711", "HHXY 4711"], {"Car.md"}),
        (["BD51 SMR", "BD51SMR", "bd51-smr"], {"Van.md"}),
        (["1.5 mm²", "1.5mm2", "1,5 mm²", "1,5mm2", "1.5mm²"], {"Cable.md", "Wire.md"}),
        (["v4.14.3", "version 4.14.3", "4.14.3", "Versión 4.14.3"], {"Release.md", "Letter.md"}),
        (["250 µF", "250µF", "250 uF", "250uF"], {"Capacitor.md", "Condenser.md"}),
    ],
)
def test_a_code_is_found_closed_hyphened_and_open(
    index_of: IndexOf, spellings: list[str], expected: set[str]
) -> None:
    index = index_of(CODES)
    for code in spellings:
        assert set(paths(index, f'content:"{code}"')) == expected, code
        assert set(paths(index, f'"{code}"')) == expected, code
        assert set(paths(index, f'-"{code}"')) == set(CODES) - expected, code
        assert set(paths(index, code)[: len(expected)]) == expected, code
    assert paths(index, f'[size:"{spellings[0]}"]') == (["Screw.md"] if "Screw.md" in expected else [])


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({"Daily/25-04-2023.md": "the day comes first"}, "Daily/05-03-2023.md"),
        ({"Daily/04-25-2023.md": "the month comes first"}, "Daily/03-05-2023.md"),
        ({".obsidian/daily-notes.json": '{"format": "DD-MM-YYYY"}'}, "Daily/05-03-2023.md"),
        ({"Trips/Old/25-04-2023 sea.md": "the day comes first"}, "Daily/05-03-2023.md"),
        ({"Trips/04-25-2023.md": "the month first", ".trash/25-04-2023.md": "x"}, "Daily/03-05-2023.md"),
    ],
)
@pytest.mark.parametrize("query", ["2023-03-05", "March 5 2023", "file:2023-03-05", '"5 March 2023"'])
def test_names_of_a_vault_have_one_reading(
    index_of: IndexOf, others: Mapping[str, str], expected: str, query: str
) -> None:
    index = index_of({**others, "Daily/05-03-2023.md": "one", "Daily/03-05-2023.md": "two"})
    assert paths(index, query) == [expected]


def test_a_property_follows_the_names_of_the_vault(index_of: IndexOf) -> None:
    index = index_of({"Days/25-04-2023.md": "a", "Bill.md": "---\ncreated: 06-04-2024\n---\ntext\n"})
    assert [paths(index, f"created:{day}") for day in ("2024-04-06", "2024-06-04")] == [["Bill.md"], []]


def test_a_date_with_dots_begins_with_the_day(index_of: IndexOf) -> None:
    index = index_of({"04-25-2023.md": "a", "Bill.md": "---\ndue: 06.04.2024\n---\nOn 5.1.2026.\n"})
    found = [paths(index, query) for query in ("[due:2024-04-06]", "[due:2024-06-04]", "[due:<2024-05]")]
    assert found == [["Bill.md"], [], ["Bill.md"]]
    assert [paths(index, query) for query in ("content:2026-01-05", "2026-05-01", "5.1.2026")] == [
        ["Bill.md"],
        [],
        ["Bill.md"],
    ]


PHRASES = {
    "Danced.md": "We danced on 8 June 2023 till late.\n",
    "Paid.md": "He paid 2023-06-05 in cash.\n",
    "Lease.md": "Signed the lease on the 3rd of March 2024.\n",
    "Plan.md": "The plan for April 2024 is set.\n",
    "Invoice.md": "See the invoice INV-2023-06-0045 and part 2023-06.7.\n",
    "Other.md": "danced on 9 June 2023, paid 2023-06-06; lease on 2024-03-04, plan for May 2024.\n",
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"danced on 2023-06-08"', {"Danced.md"}),
        ('"danced on 8.6.2023 till late"', {"Danced.md"}),
        ('"we danced on June 8th, 2023"', {"Danced.md"}),
        ('content:"on 2023-06-08"', {"Danced.md"}),
        ('"he paid 5 June 2023"', {"Paid.md"}),
        ('"paid 05.06.2023 in cash"', {"Paid.md"}),
        ('"paid the 5th of June 2023"', {"Paid.md"}),
        ('"signed the lease on 2024-03-03"', {"Lease.md"}),
        ('"lease on the 3 March 2024"', {"Lease.md"}),
        ('"the plan for 2024-04"', {"Plan.md"}),
        ('"see the invoice INV 2023 06 0045"', {"Invoice.md"}),
        ('"see the invoice INV-2023-06-004"', set()),
        ('-"danced on 2023-06-08"', {*PHRASES} - {"Danced.md"}),
    ],
)
def test_a_phrase_has_a_day_in_any_spelling_after_other_words(
    index_of: IndexOf, query: str, expected: set[str]
) -> None:
    assert set(paths(index_of(PHRASES), query)) == expected


TIMES = {
    "Iso.md": "It began 2025-10-19T10:30:00Z sharp.\n",
    "Slash.md": "We spoke 27/03/2021 10:00 on the phone.\n",
    "Created.md": "---\ncreated: 27/03/2021 10:00\nseen: 5.1.2026, 9:30\n---\ntext\n",
    "Property.md": "---\nstart: 2025-10-19T10:30:00Z\n---\ntext\n",
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("content:2025-10-19", {"Iso.md"}),
        ('"2025-10-19"', {"Iso.md", "Property.md"}),
        ('"19 October 2025"', {"Iso.md", "Property.md"}),
        ('content:"2025-10-19 10:30"', {"Iso.md"}),
        ('content:"19.10.2025 10:30"', {"Iso.md"}),
        ('"2025-10-19T10:30:00Z"', {"Iso.md", "Property.md"}),
        ("-2025-10-19", {"Slash.md", "Created.md"}),
        ("content:2021-03-27", {"Slash.md"}),
        ('"2021-03-27 10:00"', {"Slash.md", "Created.md"}),
        ('content:"27.3.2021 10:00"', {"Slash.md"}),
        ("27/03/2021 10:00", {"Slash.md", "Created.md"}),
        ("27/03/2021", {"Slash.md", "Created.md"}),
        ("created:2021-03-27", {"Created.md"}),
        ("[created:2021-03-27]", {"Created.md"}),
        ("[seen:2026-01-05]", {"Created.md"}),
        ("[start:2025-10-19]", {"Property.md"}),
    ],
)
def test_a_day_is_found_with_a_time_after_it(index_of: IndexOf, query: str, expected: set[str]) -> None:
    assert set(paths(index_of(TIMES), query)) == expected


def test_a_date_with_two_readings_matches_as_it_is_written(index_of: IndexOf) -> None:
    index = index_of({"25-04-2023.md": "a", "05-03-2023.md": "one", "03-05-2023.md": "two"})
    assert paths(index, "file:05-03-2023") == ["05-03-2023.md"]


def test_a_property_is_read_in_the_order_of_the_names(index_of: IndexOf) -> None:
    index = index_of({"25-04-2023.md": "a", "Bill.md": "---\ndue: 05-03-2023\n---\ntext\n"})
    assert [paths(index, f"[due:{day}]") for day in ("2023-03-05", "2023-05-03")] == [["Bill.md"], []]
    assert paths(index, "[due:<2023-04]") == ["Bill.md"]


@pytest.mark.parametrize("query", ["2024-01-07", "January 7 2024", "created:2024-01-07", "file:2024-01-07"])
@pytest.mark.parametrize(
    "path", ["2024/01/07.md", "Daily/2024/01 January/07.md", "2024/January/07-Sunday.md"]
)
def test_a_day_is_found_in_the_folders_of_a_daily_note(index_of: IndexOf, path: str, query: str) -> None:
    other = path.replace("07", "08")
    assert paths(index_of({path: "one", other: "two", "Seven.md": "07"}), query)[:1] == [path]


def test_a_numbered_file_is_no_daily_note(index_of: IndexOf) -> None:
    index = index_of({"2024/01/07.md": "invoice", "2024/01/45.md": "invoice"})
    assert not paths(index, "created:2024-01-07")


def test_eight_digits_are_a_day(index_of: IndexOf) -> None:
    notes = {"Text.md": "On 20170415 it rained.", "walk_20170416.md": "x", "20170417 trip.md": "y"}
    index = index_of(notes)
    assert [paths(index, f"April {day} 2017") for day in (15, 16, 17)] == [[path] for path in notes]


LEVELS = {
    "Router.md": "The router sits at 192.168.7.21, on firmware v2.14.3.\n",
    "Law.md": "Clause 12.3 and release 4.1.12 of the handbook.\n",
    "Price.md": "It costs 1.234.567 in all, call 089.555.1234.\n",
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("content:192.168.7.21", ["Router.md"]),
        ("content:192.168.72.1", []),
        ('"router sits at 192.168.72.1"', []),
        ('"firmware v21.43"', []),
        ('"clause 12.3"', ["Law.md"]),
        ('"clause 1.23"', []),
        ('"release 4.11.2"', []),
        ("content:1234567", ["Price.md"]),
        ("content:0895551234", ["Price.md"]),
    ],
)
def test_levels_are_no_other_levels_with_the_same_digits(
    index_of: IndexOf, query: str, expected: list[str]
) -> None:
    assert paths(index_of(LEVELS), query) == expected


@pytest.mark.parametrize("query", ["Wed 17 Sep 2025", "Wednesday, September 17th 2025", "2025-09-17"])
def test_a_day_with_its_weekday_is_found_as_a_day(index_of: IndexOf, query: str) -> None:
    many = {
        f"n{number}.md": f"Wed, meeting {number} of 2025: seventeen in September.\n" for number in range(40)
    }
    index = index_of(many | {"Gutter.md": "The carpenter comes on 2025-09-17 to fix the gutter.\n"})
    request = SearchRequest(query, SearchSettings(), mode="keyword")
    found = asyncio.run(Searcher(index).search(request))
    assert [each["path"] for each in found["results"]] == ["Gutter.md"]
    assert found["results"][0]["certainty"] > 0.5


@pytest.mark.parametrize("query", ["1,5mm²", "1.5mm²", "1,5 mm2", "1,5 mm²"])
def test_a_measure_in_another_spelling_is_certain(index_of: IndexOf, query: str) -> None:
    index = index_of({"Wire.md": "Take 1.5 mm² wire.\n", "Other.md": "Take 5 of 1.\n"})
    request = SearchRequest(query, SearchSettings(), mode="keyword")
    first = asyncio.run(Searcher(index).search(request))["results"][0]
    assert first["path"] == "Wire.md"
    assert first["certainty"] > 0.5


@pytest.mark.parametrize("query", ["74HC59", "2N390", "3M900"])
def test_a_code_that_begins_with_a_digit_is_no_beginning_of_another(index_of: IndexOf, query: str) -> None:
    index = index_of({"Parts.md": "The 74HC595, the 2N3904 and the 3M9002.\n"})
    request = SearchRequest(query, SearchSettings(), mode="keyword")
    found = asyncio.run(Searcher(index).search(request))
    assert found["weak"]


BORDERS = {
    "Shelf.md": "It lies in A-1-12 of the store.\n",
    "Standard.md": "RFC 2616 and figure 2–34, part X_12_7.\n",
    "Closed.md": "The shelves A112 and RFC2616.\n",
    "Radio.md": "# Setup of the Wi-Fi\n\nWi-Fi over USB-C, charged to 100 %.\n",
    "Request.md": "See PR#918, in v2.14.3, and M8×40.\n",
    "Dose.md": "Take 2.5 mg, then 0,5 mg of 1,500 kg.\n",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A-1-12", {"Shelf.md", "Closed.md"}),
        ("A 1/12", {"Shelf.md", "Closed.md"}),
        ("A112", {"Shelf.md", "Closed.md"}),
        ("A-11-2", {"Closed.md"}),
        ("RFC 2616", {"Standard.md", "Closed.md"}),
        ("RFC 26 16", {"Closed.md"}),
        ("figure 2-34", {"Standard.md"}),
        ("figure 23-4", set()),
        ("X-12-7", {"Standard.md"}),
        ("X-1-27", set()),
        ("wifi", {"Radio.md"}),
        ("wifi over usbc", {"Radio.md"}),
        ("100%", {"Radio.md"}),
        ("PR 918", {"Request.md"}),
        ("PR #918", {"Request.md"}),
        ("#918", {"Request.md"}),
        ("#91", set()),
        ("2.14.3", {"Request.md"}),
        ("V2.14.3", {"Request.md"}),
        ("M8x40", {"Request.md"}),
        ("2.5mg", {"Dose.md"}),
        ("0.5 mg", {"Dose.md"}),
        ("5 mg", set()),
        ("500 kg", set()),
        ("1500 kg", {"Dose.md"}),
        ("2.14", set()),
    ],
)
def test_a_border_between_numbers_and_a_point_count(index_of: IndexOf, text: str, expected: set[str]) -> None:
    index = index_of(BORDERS)
    assert set(paths(index, f'content:"{text}"')) == expected
    assert set(paths(index, f'"{text}"')) == expected
    assert set(paths(index, f'-"{text}"')) == set(BORDERS) - expected


def test_a_heading_is_found_without_its_hyphen(index_of: IndexOf) -> None:
    assert paths(index_of(BORDERS), "heading:wifi") == ["Radio.md"]


@pytest.mark.parametrize(
    ("query", "other"),
    [
        ("5 mg", "0.5 mg"),
        ("5 mg", "2,5 mg"),
        ("500 kg", "1,500 kg"),
        ("M8x4", "M8x40"),
        ("v1.2", "v1.20"),
        ("v1.2", "v1.2.3"),
        ("10%", "100%"),
        ("RFC 2616", "RFC 26 16"),
    ],
)
def test_a_similar_quantity_or_code_is_not_taken_for_it(index_of: IndexOf, query: str, other: str) -> None:
    index = index_of({"Other.md": f"Here is {other} of it.\n"})
    found = asyncio.run(Searcher(index).search(SearchRequest(query, SearchSettings(), mode="keyword")))
    assert found["weak"] or not found["results"]
