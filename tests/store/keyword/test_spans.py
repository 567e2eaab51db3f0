"""Positions of terms in a text."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.content.languages.stems import LANGUAGES
from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.query_terms import QueryAnalyzer
from vaultseek.store.keyword.spans import Span, SpanFinder, span_finder


def finder_of(language: str | None) -> SpanFinder:
    return span_finder(LanguageRules(language, for_all=True), frozenset({language}))


ENGLISH = finder_of("en")
PLAIN = finder_of(None)


def spans(text: str, finder: SpanFinder = PLAIN) -> str:
    """Compact form: each term with the characters it stands for."""
    return " ".join(f"{term}={text[low:high]}" for low, high, term in all_spans(text, finder))


def all_spans(text: str, finder: SpanFinder) -> list[Span]:
    return finder.spans(text, {term.text for _, term in finder.analyzer.main.terms(text)})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World!", "hello=Hello world=World"),
        ("the wlan-router", "the=the wlan-router=wlan-router wlan=wlan router=router"),
        ("getUserName", "getusername=getUserName get=get user=User name=Name"),
        ("src/my_file.py", "src/my_file.py=src/my_file.py src=src my_file.py=my_file.py"
            " my_file=my_file my=my file=file py=py"),
        ("#1234 C++ C#", "#1234=#1234 1234=1234 c++=C++ c#=C#"),
        ("user's user’s l'homme", "user=user user=user l=l homme=homme"),
        ("ｶﾞｽ", "ガス=ｶﾞｽ ガ=ｶﾞ ス=ｽ"),
        ("_emphasis_ __init__", "emphasis=emphasis init=init"),
        ("Cafe\u0301 ﬁne ＡＢ", "cafe=Cafe\u0301 fine=ﬁne ab=ＡＢ"),
        ("北京大a学", "北京=北京 北=北 京大=京大 京=京 大=大 a=a 学=学"),
        ("", ""),
    ],
)  # fmt: skip
def test_terms_and_their_characters(text: str, expected: str) -> None:
    assert spans(text) == expected


def test_words_are_stemmed_as_in_the_index() -> None:
    assert spans("runs running runner", ENGLISH) == "run=runs run=running runner=runner"


@given(st.text(alphabet="abcXYZ01 _-./:#+'’‐äé\u0301ﬁ北京カ한ｶﾞ") | st.text(max_size=40))
def test_the_terms_are_those_of_the_index(text: str) -> None:
    for finder in (ENGLISH, PLAIN):
        indexed = [term.text for _, term in finder.analyzer.main.terms(text)]
        assert Counter(term for _, _, term in all_spans(text, finder)) == Counter(indexed)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_word_is_found_by_its_stem_in_a_finder_that_never_saw_it(language: str) -> None:
    rules = LanguageRules(language, for_all=True)
    for word in ("dying", "skies", "xxi", "sse", "internationally", "Limitations", "Buchung", "chevaux"):
        finder = SpanFinder(QueryAnalyzer(language), rules)
        assert {span[:2] for span in all_spans(word, finder)} == {(0, len(word))}, word


@pytest.mark.parametrize("word", ["ъ", "съ", "Ъ", "съезд"])
def test_a_hard_sign_that_the_stemmer_makes_a_soft_one_is_found(word: str) -> None:
    assert [(low, high) for low, high, _ in all_spans(word, finder_of("ru"))] == [(0, len(word))]


@given(st.text())
def test_spans_are_ranges_of_the_text(text: str) -> None:
    assert all(0 <= start < end <= len(text) for start, end, _ in all_spans(text, PLAIN))
