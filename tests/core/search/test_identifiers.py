"""A query of identifiers finds only the notes that contain them."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from semantic_here import index_here
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.notes.why import why
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import SearchSettings

NOTES = {
    "Alarm log.md": "E-4107 rang at noon. See [[Pumps]] and [[Motor]].",
    "Codes.md": "# Codes\n\nE-4107: high water. E-4170: no water.",
    "Motor.md": "The motor hums. E-4170.",
    "Pumps.md": "Two pumps, 4107 hours each.",
    "Wheel.md": "RFC 2616 says so, and getUserName() too.",
    "Paths.md": "Call os.path.join, or self.os.path; posix.os1.path is another.",
    "Joined.md": "The path of the os is joined.",
    **{f"2024/{month:02}.md": f"In 2024 the bread of month {month}." for month in range(1, 13)},
}


def ask(index: OpenVault, query: str, **options: Any) -> dict[str, Any]:
    settings = options.pop("settings", SearchSettings())
    return asyncio.run(Searcher(index).search(SearchRequest(query, settings, **options)))


def paths(answer: dict[str, Any]) -> list[str]:
    return [result["path"] for result in answer["results"]]


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_only_notes_with_the_whole_identifier_are_results(opened, mode):
    answer = ask(opened, "E-4107", mode=mode)
    assert sorted(paths(answer)) == ["Alarm log.md", "Codes.md"]
    assert answer["interpreted"]["notes"] == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [("RFC 2616", ["Wheel.md"]), ("getUserName()", ["Wheel.md"]), ("os.path", ["Paths.md"])],
)
def test_identifiers_of_several_words_are_whole_too(opened, query, expected):
    assert paths(ask(opened, query)) == expected


def test_one_of_several_identifiers_is_enough_and_both_come_first(opened):
    assert paths(ask(opened, "E-4107 E-4170"))[0] == "Codes.md"
    assert sorted(paths(ask(opened, "E-4107 E-4170"))) == ["Alarm log.md", "Codes.md", "Motor.md"]


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_those_of_several_identifiers_that_no_note_has_are_named(opened, mode):
    for query, missing in (
        ("E-4107 E-9999", "E-9999"),
        ("E-9999 RFC2616 X-77", "E-9999 or X-77"),
        ("E-4107 os.walk", "os.walk"),
    ):
        answer = ask(opened, query, mode=mode)
        assert answer["interpreted"]["notes"] == [f"no note has {missing}"], query
        assert answer["results"]
    assert ask(opened, "E-4107 RFC2616 os.path", mode=mode)["interpreted"]["notes"] == []


def test_an_identifier_that_no_note_has_finds_nothing(opened):
    answer = ask(opened, "PII-2024-0042")
    assert answer["results"] == []
    assert answer["nearest"]["confidence"] < 0.04


def test_notes_with_one_like_it_come_only_where_no_note_has_it_and_are_said_to(opened):
    answer = ask(opened, "X-4107")
    assert set(paths(answer)) >= {"Pumps.md"}
    assert "Motor.md" not in paths(answer), "only a link leads there"
    assert answer["interpreted"]["notes"] == ["no note has X-4107; similar notes are shown"]
    filtered = ask(opened, "E-4107 path:Pumps")
    assert paths(filtered) == ["Pumps.md"]
    assert "none of these notes has E-4107" in filtered["interpreted"]["notes"][0]


OTHERS = {
    "Standard.md": "As RFC2119 says, e4107 means: stop.",
    "Apart.md": "As RFC 3339 says, the date comes first.",
    "Book.md": "ISBN 978-3-16-148410-0, on a shelf.",
    "Hyphens.md": "Part X\u20112201 is out of stock.",
    "Days/2023-09-12.md": "It rained.",
    "Days/2023-09-30.md": "It was dry.",
    "Days/2023-10-01.md": "It snowed.",
    "Review.md": "2023-09 was wet, 2023-09 was cold, 2023-09 was long: 2023-09.",
    "A-12.md": "A-12 is a road. See e 2024 and e 2023.",
    "Ticket.md": "PII-2024-0007 is closed.",
    "Year.md": "In 2024 the PII was safe.",
    "Release.md": "Since v2.3.1 it is quick, 2 3 1 2 3 1.",
    "Earlier.md": "Version 7.57 was slow.",
    "Washer.md": "The WM14 washes, and F21 is its fault.",
    "Fourteen.md": "14 days, 14 nights, and 21 miles to go.",
    "Phones.md": "Call 089 / 123 45 67, or (030) 555-7812.",
    "Abroad.md": "From abroad: +49 (30) 555-1234.",
    "Seats.md": "It has 4,380 seats.",
    "Bank.md": "---\niban: DE89 3704 0044 0532 0130 00\n---\nThe bill was 1,212.50 of 15,000.",
    "Errors.md": "Error F.788 means a pump that is blocked.",
    "Washing.md": "Error W512 means no water.",
    "Network.md": "The MAC is 3C:2A:F4:01:9B:07, the part KA-12 612 C.",
    "Toner.md": "The printer takes CF259A, the dealer has the GT2RS.",
}


@pytest.fixture
def others(vault: Callable[[dict[str, str]], Path], tmp_path: Path) -> Iterator[OpenVault]:
    """Notes with identifiers in a different spelling from the query's."""
    index = index_here(vault(OTHERS), tmp_path / "index")
    yield index
    index.close()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("E-4107", ["Standard.md"]),
        ("e4107", ["Standard.md"]),
        ("RFC-2119", ["Standard.md"]),
        ("rfc2119", ["Standard.md"]),
        ("RFC3339", ["Apart.md"]),
        ("x-2201", ["Hyphens.md"]),
        ("X\u20112201", ["Hyphens.md"]),
        ("x2201", ["Hyphens.md"]),
        ("2.3.1", ["Release.md"]),
        ("v2.3.1", ["Release.md"]),
        ("v7.57", ["Earlier.md"]),
        ("cf259a", ["Toner.md"]),
        ("WM 14", ["Washer.md"]),
        ("WM-14", ["Washer.md"]),
        ("978-3-16-148410-0", ["Book.md"]),
        ("978\u20113\u201116\u2011148410\u20110", ["Book.md"]),
    ],
)
def test_an_identifier_is_found_however_its_hyphens_are_written(others, query, expected):
    answer = ask(others, query)
    assert (paths(answer), answer["interpreted"]["notes"]) == (expected, [])


LIKE = "no note has {}; similar notes are shown"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("E-4199", "Standard.md"),
        ("E4199", "Standard.md"),
        ("E-4710", "Standard.md"),
        ("E-9710", None),
        ("X-9", None),
        ("F29", "Washer.md"),
        ("X2299", "Hyphens.md"),
        ("CF259", "Toner.md"),
        ("GT2", "Toner.md"),
        ("H.264", None),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_an_identifier_that_no_note_has_finds_those_like_it(others, query, expected, mode):
    answer = ask(others, query, mode=mode)
    found = ([expected], [LIKE.format(query)]) if expected else ([], [])
    assert (paths(answer), answer["interpreted"]["notes"]) == found
    assert answer["weak"] is bool(expected)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("0891234567", "Phones.md"),
        ("089-1234567", "Phones.md"),
        ("0305557812", "Phones.md"),
        ("030/555-7812", "Phones.md"),
        ("030 5557812", "Phones.md"),
        ("+49 30 5551234", "Abroad.md"),
        ("4380", "Seats.md"),
        ("DE89370400440532013000", "Bank.md"),
        ("1212.50", "Bank.md"),
        ("15000", "Bank.md"),
        ("KA12612C", "Network.md"),
        ("F788", "Errors.md"),
        ("f-788", "Errors.md"),
        ("W.512", "Washing.md"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_other_separators_make_no_other_number(others, query, expected, mode):
    answer = ask(others, query, mode=mode)
    assert (paths(answer), answer["interpreted"]["notes"], answer["weak"]) == ([expected], [], False)


@pytest.mark.parametrize("query", ["089 / 123 45 67", "(089) 1234567", "089 123 45 67", "089-1234567"])
def test_a_number_in_groups_is_found_where_it_is_written_without_them(index_of, query):
    index = index_of(
        {"A.md": "Call 0891234567.\n", "B.md": "Call 0891234599.\n", "C.md": "089 or 123 or 45.\n"}
    )
    assert paths(ask(index, query, mode="keyword")) == ["A.md"]


def test_separated_digits_are_highlighted_and_filters_are_kept(others):
    first = ask(others, "0305557812")["results"][0]
    marked = {first["preview"][low:high] for low, high in first["highlights"]}
    assert marked == {"(030) 555-7812"}
    assert paths(ask(others, "0305557812 path:Book")) == []
    row = others.ledger.notes.by_path("Phones.md")
    request = SearchRequest("0305557812", SearchSettings(), explain=True)
    assert asyncio.run(why(row, request, others))["verdict"] == "found"


@pytest.mark.parametrize("query", ["F 21", "f 21", "wm 14 f 21"])
def test_letters_and_digits_with_a_space_find_them_together(others, query):
    first = ask(others, query, mode="keyword")["results"][0]
    marked = {first["preview"][low:high] for low, high in first["highlights"]}
    assert (first["path"], "F21" in marked) == ("Washer.md", True)


def test_a_version_is_highlighted_as_a_whole(others):
    first = ask(others, "2.3.1")["results"][0]
    assert "v2.3.1" in {first["preview"][low:high] for low, high in first["highlights"]}


def test_lone_digits_of_a_version_are_not_highlighted_beside_it(vault, tmp_path):
    index = index_here(
        vault({"a.md": "Of 2 men, 1 took 2.3.1 and 3 took E-1.", "b.md": "2 3 1"}), tmp_path / "i"
    )

    def marked(query: str) -> list[str]:
        first = ask(index, query)["results"][0]
        return [first["preview"][low:high] for low, high in first["highlights"]]

    assert marked("2.3.1") == ["2.3.1"]
    assert marked("2.3.1 men") == ["men", "2.3.1"]
    assert marked("1 men") == ["men", "1", "1", "1"]
    index.close()


def test_a_few_letters_or_digits_in_common_are_not_like_it(others):
    assert paths(ask(others, "B-12")) == [], "12 is in a date, and B nowhere"
    assert paths(ask(others, "E-2024")) == ["A-12.md"], "which has e 2024"
    assert paths(ask(others, "PII-2024-0042")) == ["Ticket.md"], "2024 and PII alone are not enough"


def test_a_month_finds_its_days_first(others):
    assert paths(ask(others, "2023-09"))[:3] == ["Days/2023-09-12.md", "Days/2023-09-30.md", "Review.md"]
    assert "Days/2023-10-01.md" not in paths(ask(others, "2023-09"))
    in_words = paths(ask(others, "September 2023"))
    assert in_words[:3] == ["Days/2023-09-12.md", "Days/2023-09-30.md", "Review.md"]


@pytest.mark.parametrize("query", ["12 September 2023", "September 12th, 2023", "12.9.2023", "2023/09/12"])
def test_a_day_in_another_spelling_finds_its_note_first(others, query):
    answer = ask(others, query)
    assert paths(answer)[0] == "Days/2023-09-12.md"
    assert answer["results"][0]["certainty"] > 0.9
    assert answer["interpreted"]["notes"] == []
    assert paths(ask(others, f"what was on {query}"))[0] == "Days/2023-09-12.md"


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_a_date_that_no_note_has_is_a_weak_answer_and_one_in_any_spelling_is_none(vault, tmp_path, mode):
    notes = {
        "Trip.md": "On 12 May 2030 we went to May Street 12.",
        "Signed.md": "Signed on 03.02.2028, and again in June 2031.",
        "Eggs.md": "12 eggs. May is a month.",
    }
    index = index_here(vault(notes), tmp_path / "index")
    for query in ("12 May 2032", "May 2033", "May 13th, 2030"):
        assert ask(index, query, mode=mode)["weak"], query
    for query in ("12 May 2030", "May 12th, 2030", "May 2030", "3 February 2028", "June 2031"):
        answer = ask(index, query, mode=mode)
        assert not answer["weak"], query
    index.close()


def test_other_words_beside_an_identifier_are_searched_as_ever(opened):
    assert len(paths(ask(opened, "E-4107 motor hums"))) > 3


BESIDE_WORDS = {
    "Insurance.md": "The policy HR-4471-B covers the house.",
    "Errors.md": "Error F.788 means a blocked pump; os.path2.join and snake_9 too. Of COVID-19 no word.",
    "Part 0020-25-2741.md": "The part is in the shelf, a model HR4471D, an iphone-15-pro, order 50,000.",
    "Bank.md": "---\niban: DE89 3704 0044 0532 0130 00\n---\nThe account.",
    "Car.md": "The TÜV is due, code K\u20114 and AB_1234, release 7.57, RFC 2119.",
}


@pytest.fixture
def beside(vault: Callable[[dict[str, str]], Path], tmp_path: Path) -> Iterator[OpenVault]:
    """Notes with identifiers that appear in a sentence-like query."""
    index = index_here(vault(BESIDE_WORDS), tmp_path / "index")
    yield index
    index.close()


@pytest.mark.parametrize(
    ("query", "missing"),
    [
        ("policy HR-4471-C", "HR-4471-C"),
        ("what does error F.789 mean", "F.789"),
        ("part 0020-25-9999", "0020-25-9999"),
        ("policy HR-4471-B or HR-4471-C in the house", "HR-4471-C"),
        ("pump X-77 and part Y-78", "X-77 or Y-78"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_an_identifier_beside_other_words_that_no_note_has_is_named(beside, query, missing, mode):
    answer = ask(beside, query, mode=mode)
    assert answer["results"]
    assert answer["interpreted"]["notes"] == [f"no note has {missing}"]
    assert ask(beside, query, mode=mode, typing=True)["interpreted"]["notes"] == []


@pytest.mark.parametrize(
    "query",
    [
        "policy HR-4471-B",
        "policy hr4471b",
        "model HR-4471-D",
        "the account DE89370400440532013000",
        "error f788",
        "call os.path2 here",
        "part 0020-25-2741",
        "order 50000 model",
        "code K-4",
        "car AB-1234",
        "car release v7.57",
        "car rfc-2119",
        "covid19 word",
        "policy of 2024-05",
        "policy of 2024-05-17",
        "policy of 17.5.2024",
        "policy since mid-2024",
        "policy in 1999",
        "pump with 3.5 or 12 blocked",
    ],
)
def test_there_is_no_remark_on_identifiers_written_otherwise_nor_on_dates_and_small_numbers(beside, query):
    answer = ask(beside, query, mode="keyword")
    assert answer["results"]
    assert not any("itself" in note or "has" in note for note in answer["interpreted"]["notes"])


SHELF = {f"Shelf {word}.md": f"The {word} is on the shelf." for word in ("kettle", "lamp", "chair", "rope")}
GOES_ON = "And so on it goes. " * 20


@pytest.mark.parametrize("code", ["QX2291", "QX-2291", "qx-2291", "QX 2291"])
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_a_note_with_the_code_is_an_exact_match_however_many_other_words_are_missing(index_of, code, mode):
    notes = {"Code.md": f"We saw QX2291 at noon. {GOES_ON}"}
    answer = ask(index_of(SHELF | notes), f"gepunktete {code} zorgle", mode=mode)
    assert (paths(answer)[0], answer["weak"], answer["interpreted"]["notes"]) == ("Code.md", False, [])
    assert answer["results"][0]["certainty"] > 0.5


@pytest.mark.parametrize("query", ["UN 1203", "UN-1203", "UN1203"])
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_a_code_that_begins_with_a_stop_word_is_not_the_code_with_a_shorter_number(
    vault, tmp_path, query, mode
):
    near = {"Near.md": "Label UN 120 on the drum."}
    own = {"Own.md": f"Label UN 1203 on the drum. {GOES_ON}"}
    both = index_here(vault(SHELF | near | own), tmp_path / "both")
    answer = ask(both, query, mode=mode)
    both.close()
    assert (paths(answer)[0], answer["weak"]) == ("Own.md", False)
    assert all(each["certainty"] < 0.5 for each in answer["results"][1:])
    (tmp_path / "vault" / "Own.md").unlink()
    alone = index_here(vault(SHELF | near), tmp_path / "alone")
    answer = ask(alone, query, mode=mode)
    alone.close()
    assert (paths(answer)[0], answer["weak"]) == ("Near.md", True)
    assert answer["interpreted"]["notes"][0].startswith(f"no note has {query}")


BORDERS = {"Box.md": "Box A-1/12 is here.", "Cable.md": "A cable HDMI-2.1 is here."}
ELSEWHERE = {"Other box.md": "Box A-11/2 is here.", "Other cable.md": "A cable HDMI-2.11 is here."}
BORDER_QUERIES = [
    *(("Box.md", query) for query in ("A-1/12", "a-1/12", "A1/12", "a1/12", "A-1-12")),
    *(("Cable.md", query) for query in ("HDMI-2.1", "HDMI 2.1", "HDMI2.1", "hdmi 2.1", "hdmi2.1")),
]


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_the_borders_between_the_numbers_of_a_code_distinguish_it(index_of, mode):
    index = index_of(SHELF | BORDERS | ELSEWHERE)
    for path, query in BORDER_QUERIES:
        answer = ask(index, query, mode=mode)
        assert (paths(answer)[0], answer["weak"]) == (path, False), query
        assert answer["results"][0]["certainty"] > 0.9
        assert all(each["certainty"] < 0.5 for each in answer["results"][1:]), query


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_a_code_with_other_borders_is_not_an_exact_match(index_of, mode):
    index = index_of(SHELF | ELSEWHERE)
    for _, query in BORDER_QUERIES:
        answer = ask(index, query, mode=mode)
        assert answer["weak"] or not answer["results"], query


@pytest.mark.parametrize("query", ["§5", "main()", "§5 main()"])
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_notes_with_the_signs_of_an_identifier_are_told_from_those_with_its_word(
    vault, tmp_path, query, mode
):
    others = {f"{number}.md": f"main street, number 5, main 5 {number}" for number in range(60)}
    exact = {"Law.md": "By §5 of the act. ", "Code.md": "The function main() begins. "}
    named = [path for path, text in exact.items() if any(word in text for word in query.split())]
    long = {path: text + "And so on it goes. " * 20 for path, text in exact.items()}
    index = index_here(vault({**others, **long}), tmp_path / "index")
    assert sorted(paths(ask(index, query, mode=mode))) == sorted(named)
    assert len(paths(ask(index, "main", mode=mode))) == 10
    index.close()


def test_why_says_that_the_identifier_is_missing(opened):
    row = opened.ledger.notes.by_path("Pumps.md")
    answer = asyncio.run(why(row, SearchRequest("E-4107", SearchSettings(), explain=True), opened))
    assert (answer["verdict"], answer["code"]) == ("cut", "no_match")
    assert "E-4107" in answer["reason"]


@pytest.mark.parametrize(
    ("written", "other"),
    [
        ("SKU 00-7719-X", "00-7719-Y"),
        ("the toner CF259A", "toner CF259"),
        ("ISO 9001:2015", "ISO 9001:2018"),
        ("M6×20", "M6×25"),
        ("a capacitor of 47 pF", "47 nF"),
        ("room B 214", "room B 215"),
        ("Python 3.11", "Python 3.12"),
        ("iPhone 13", "iPhone 12"),
        ("Case 12-CV-3388", "Case 12-CV-3389"),
        ("order 88 123 456", "order 88 123 457"),
        ("the pump PX-2290 is installed", "where is PX-2291 installed"),
        ("the plate WX72 JKL", "WX72 JKM"),
        ("the plate WX72 JKL", "wx72 jkm"),
        ("the bearing NTN 6204 LLU", "NTN 6204 ZZ"),
        ("postcode SW1A 1AB", "SW1A 1AC"),
        ("88 123 456 in all", "88 123 457"),
        ("7712 4490 18 at the club", "7712 4490 19"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_a_note_with_a_similar_code_is_not_certain(index_of, written, other, mode):
    index = index_of(SHELF | {"Code.md": f"We have {written} here."})
    assert all(each["certainty"] <= 0.5 for each in ask(index, other, mode=mode)["results"])
    own = ask(index, written, mode=mode)["results"][0]
    assert (own["path"], own["certainty"] > 0.5) == ("Code.md", True)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("M8x45", "M8x40"),
        ("srv-eu-07", "srv-eu-08"),
        ("room B 214", "room B 215"),
        ("router 7590", "router 7490"),
        ("order 88 123 456", "order 88 123 457"),
        ("M6 x 30", "M6 x 25"),
        ("3.11.7", "3.11.6"),
        ("64-17-5", "64-17-6"),
        ("10.20.30.41", "10.20.30.14"),
        ("555-0199", "555-0124"),
        ("17:43", "17:42"),
        ("§823", "§824"),
    ],
)
@pytest.mark.parametrize("query", ["price of {}", "{} price", "fair price of the old thing {}"])
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_a_note_with_the_code_comes_before_notes_with_the_other_words(index_of, own, other, query, mode):
    notes = {
        "Own.md": f"We looked at {own}: four euros. {GOES_ON}",
        "Price of the other one.md": f"The price of {other} is known. The price is a good price.",
        "Price list.md": "Everything has a price. Ask for a price before you change a price.",
    }
    first, *rest = ask(index_of(SHELF | notes), query.format(own), mode=mode)["results"]
    assert first["path"] == "Own.md"
    assert all(each["certainty"] <= 0.5 for each in rest)


def test_a_note_with_more_of_the_codes_comes_first(index_of):
    notes = {
        "Both.md": f"M8x40 is shorter than M8x45. {GOES_ON}",
        "One.md": "The difference between a nut and M8x40. The difference is the thread.",
    }
    assert paths(ask(index_of(SHELF | notes), "difference between M8x40 and M8x45"))[0] == "Both.md"


def test_a_code_in_a_long_question_may_be_incidental(index_of):
    notes = {
        "Setup.md": "# Guided setup\nAfter the start of the executable, the guided setup asks for a folder.",
        "Proxy.md": f"The proxy listens on port 3000. {GOES_ON}",
    }
    query = "after the start of the executable and opening port 3000, what does the guided setup ask for"
    assert paths(ask(index_of(SHELF | notes), query))[0] == "Setup.md"


def test_a_count_beside_a_word_is_not_a_code(index_of):
    notes = {
        "Tasks.md": "# Tasks due in 7 days\nShow the tasks that are due within a week.",
        "Log.md": f"It rained for 14 days. {GOES_ON}",
    }
    assert paths(ask(index_of(SHELF | notes), "tasks due within 14 days"))[0] == "Tasks.md"


def test_the_bar_is_not_lowered_for_other_numbers_and_for_words_around_a_code(index_of):
    text = "The budget of 2026, a dinner with twelve guests, ports 8080 and 9090, the fan of the GTX 1080."
    index = index_of(SHELF | {"Code.md": text})
    for query in ("budget 2026", "dinner for 12 guests", "ports 8080, 9090", "gtx 1080 fan", "loud GTX 1080"):
        answer = ask(index, query)
        assert (paths(answer)[0], answer["results"][0]["certainty"] > 0.5) == ("Code.md", True), query
