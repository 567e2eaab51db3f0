import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.limits import TERM_CHARS
from vaultseek.content.languages.stems import LANGUAGES
from vaultseek.store.keyword.analysis import Analyzer, extract_prefixes

ENGLISH = Analyzer("en")
PLAIN = Analyzer(None)


def seen(text: str, analysis: Analyzer = PLAIN) -> str:
    """Compact form: each position and its terms."""
    places: dict[int, list[str]] = {}
    for position, term in analysis.terms(text):
        places.setdefault(position, []).append(term.text)
    return " ".join(f"{place}:{'|'.join(terms)}" for place, terms in sorted(places.items()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World!", "0:hello 1:world"),
        ("snake_case_name", "0:snake_case_name|snake 1:case 2:name"),
        ("getUserName", "0:getusername|get 1:user 2:name"),
        ("HTTPServer", "0:httpserver|http 1:server"),
        ("kebab-case", "0:kebab-case|kebab 1:case"),
        ("dotted.name", "0:dotted.name|dotted 1:name"),
        ("E-4107", "0:e-4107|e 1:4107"),
        ("#1234", "0:#1234|1234"),
        ("D40 and D41", "0:d40 1:and 2:d41"),
        ("30 CFR 75.1725", "0:30 1:cfr 2:75.1725|75 3:1725"),
        ("v1.2.3", "0:v1.2.3|v1 1:2 2:3"),
        ("C++ C# g++", "0:c++ 1:c# 2:g++"),
        ("src/my_file.py", "0:src/my_file.py|src 1:my_file.py|my_file|my 2:file 3:py"),
        ("std::vector at 12:30", "0:std::vector|std 1:vector 2:at 3:12:30|12 4:30"),
        ("the user's don't l'homme", "0:the 1:user 2:don 3:l 4:homme"),
        ("the user’s", "0:the 1:user"),
        ("_emphasis_ and __init__", "0:emphasis 1:and 2:init"),
        ("Café Zürich Łódź Æsop", "0:cafe 1:zurich 2:lodz 3:aesop"),
        ("ﬁne ＡＢＣ ①", "0:fine 1:abc 2:1"),
        ("non‑breaking soft", "0:non-breaking|non 1:breaking 2:soft"),
        ("हिन्दी भाषा", "0:हिन्दी 1:भाषा"),
        ("мой ёлка", "0:мои 1:елка"),
        ("CPUs IPv6 iPhone", "0:cpus 1:ipv6 2:iphone|i 3:phone"),
        ("x#heading a.b", "0:x 1:heading 2:a.b|a 3:b"),
        ("", ""),
        ("___ --- ... ## '' ’’", ""),
    ],
)
def test_words_identifiers_and_their_parts(text: str, expected: str) -> None:
    assert seen(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("北京大学", "0:北京|北 1:京大|京 2:大学|大 3:学"),
        ("学", "0:学"),
        ("用Python编程", "0:用 1:python 2:编程|编 3:程"),
        ("東京タワー", "0:東京|東 1:京タ|京 2:タワ|タ 3:ワー|ワ 4:ー"),
        ("한국어 검색", "0:한국|한 1:국어|국 2:어 3:검색|검 4:색"),
        ("ﾃｽﾄ", "0:テス|テ 1:スト|ス 2:ト"),
    ],
)
def test_scripts_without_spaces_give_characters_and_pairs(text: str, expected: str) -> None:
    assert seen(text) == expected


def test_words_are_stemmed_but_names_are_not() -> None:
    assert seen("Databases were running", ENGLISH) == "0:databas 1:were 2:run"
    assert seen("running_tests D40s", ENGLISH) == "0:running_tests|run 1:test 2:d40s"


def test_a_capitalised_compound_is_found_by_the_plain_word() -> None:
    assert seen("DataBases", ENGLISH).startswith("0:databas|")
    assert seen("JavaScript", ENGLISH).startswith(f"{seen('javascript', ENGLISH)}|")


def test_suffixes_with_accents_are_found_without_them() -> None:
    spanish = Analyzer("es")
    assert {term.text for _, term in spanish.terms("información")} == {"inform~es", "informa~es"}
    assert [term.text for _, term in spanish.terms("informacion")] == ["informa~es"]


def test_a_language_without_rules_is_refused() -> None:
    with pytest.raises(ValueError, match="no stemmer for 'xx'"):
        Analyzer("xx")


def test_every_language_has_terms_of_its_own() -> None:
    terms = {
        language: tuple(term.text for _, term in Analyzer(language).terms("word")) for language in LANGUAGES
    }
    assert len(set(terms.values())) == len(LANGUAGES)


@pytest.mark.parametrize(
    ("language", "note", "query"),
    [
        ("ar", "مُحَمَّدٌ والمدارس في الإسكندرية", "محمد المدارس الاسكندرية"),
        ("ar", "المعلمون", "معلم"),
        ("he", "שָׁלוֹם", "שלום"),
        ("fa", "كتاب‌هاي فارسي", "کتاب فارسی"),
        ("hi", "भाषाओं क़लम", "भाषा कलम"),
        ("el", "Οι γλώσσες της Μεσογείου", "ΓΛΩΣΣΑ Μεσόγειος"),
        ("tr", "İSTANBUL'DAKİ kütüphanelerden IŞIK", "istanbul kütüphane ışık"),
        ("ru", "Чёрные кошки", "черная кошка"),
        ("ro", "Grădinile orașelor", "gradina oraşul"),
        ("pl", "Książki w bibliotekach", "książka biblioteka"),
        ("cs", "Knihovny v městech", "knihovna město"),
        ("vi", "Nghĩa của từ", "nghia cua tu"),
        ("de", "Häuser", "haus"),
    ],
)
def test_forms_of_a_word_share_a_term(language: str, note: str, query: str) -> None:
    analyzer = Analyzer(language)
    stored = {term.text for _, term in analyzer.terms(note)}
    for token in analyzer.tokenize(query):
        assert stored & {term.text for term in analyzer.token_terms(token).terms}, token


def test_tones_tell_vietnamese_words_apart() -> None:
    analyzer = Analyzer("vi")
    ghost, mother = (analyzer.token_terms(word).terms for word in ("ma", "má"))
    assert ghost[0].text != mother[0].text
    assert ghost[-1].text == mother[-1].text, "a query without any tones finds both"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ภาษาไทย", "0:ภาษา|ภา 1:ษาไท|ษา 2:ไทย|ไท 3:ย"),
        ("ที่นี่ 3 วัน", "0:ที่นี่|ที่ 1:นี่ 2:3 3:วัน|วั 4:น"),
        ("ພາສາລາວ", "0:ພາສາ|ພາ 1:ສາລາ|ສາ 2:ລາວ|ລາ 3:ວ"),
        ("ភាសាខ្មែរ", "0:ភាសា|ភា 1:សាខ្មែ|សា 2:ខ្មែរ|ខ្មែ 3:រ"),
        ("မြန်မာစာ", "0:မြန်မာ|မြန် 1:မာစာ|မာ 2:စာ"),
    ],
)
def test_vowels_and_tones_stay_with_their_consonant(text: str, expected: str) -> None:
    assert seen(text) == expected


def test_beginnings_of_words_are_taken_out_of_the_text() -> None:
    text, prefixes = extract_prefixes("see link* and Größe* or a* or *")
    assert (text, prefixes) == ("see   and   or a* or *", ["link", "grosse"])


def test_huge_tokens_are_cut() -> None:
    terms = [term.text for _, term in PLAIN.terms("a" * 1_000_000)]
    assert terms == ["a" * TERM_CHARS]
    assert all(len(term.text) <= TERM_CHARS for _, term in PLAIN.terms("ab-" * 300_000))


@given(st.text())
def test_any_text_gives_folded_terms_in_order(text: str) -> None:
    position = -1
    for at, term in ENGLISH.terms(text):
        assert at >= position
        position = at
        assert term.text
        assert not any(c.isspace() for c in term.text)
        assert not any("\u0300" <= c <= "\u036f" for c in unicodedata.normalize("NFC", term.text))


@given(st.text(alphabet="abcXYZ019 _-./:#+'*", max_size=60))
def test_the_two_patterns_agree_on_ascii(text: str) -> None:
    assert [s for s in ENGLISH.tokenize(text + " é") if s != "é"] == ENGLISH.tokenize(text)


def test_an_apostrophe_between_marks_is_no_word() -> None:
    terms = [term.text for _, term in PLAIN.terms("x_'_y") if term.role == "part"]
    assert terms == ["x", "y"]
