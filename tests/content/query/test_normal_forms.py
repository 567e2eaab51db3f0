"""Normal forms: one spelling for each day and identifier."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.content.query.normal_forms import normal_forms


def forms(text: str) -> set[str]:
    return {term for form in normal_forms(text) for term in form.terms}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("an E-4107 here", "=e4107"),
        ("an E–4107 here", "=e4107"),
        ("an E−4107 here", "=e4107"),
        ("an e 4107 here", "=e4107"),
        ("see RFC 2119.", "=rfc2119"),
        ("F.788", "=f788"),
        ("HR-4471-C", "=hr4471c"),
        ("10 mm", "=10mm"),
        ("2.5 mm", "=2.5mm"),
        ("2,5mm", "=2.5mm"),
        ("1,500 kg", "=1500kg"),
        ("a GTX 1080 Ti card", "=gtx1080ti"),
        ("a GTX 1080 Ti card", "=gtx1080"),
        ("the 3M 8210 mask", "=3m8210"),
        ("per DIN EN 1090", "=dinen1090"),
        ("per ISO/IEC 27001", "=isoiec27001"),
        ("an M8 × 40 bolt", "=m8x40"),
        ("a plank of 40 × 60 cm", "=40x60"),
        ("CVE 2024 31497", "=cve2024-31497"),
        ("CVE 2024 31497", "=~cve202431497"),
        ("A-1-12", "=a1-12"),
        ("A-11-2", "=a11-2"),
        ("RFC 26 16", "=rfc26-16"),
        ("figure 2–34", "=figure2-34"),
        ("v7.57", "=7.57"),
        ("PR #918", "=pr918"),
        ("PR#918", "=pr918"),
        ("100 %", "=100%"),
        ("100%", "=100%"),
        ("10 °C", "=10c"),
        ("1 500 kg", "=1500kg"),
        ("0.500 kg", "=0.500kg"),
        ("an M8×40 bolt", "=m8x40"),
        ("ISBN 978-3-16-148410-0", "=9783161484100"),
        ("call 089 / 123 45 67 now", "=0891234567"),
        ("4.380 notes", "=4380"),
        ("a rain-barrel", "=rainbarrel"),
        ("call main() now", "=main()"),
        ("by § 5 of the act", "=§5"),
        ("v2.3.1", "=2.3.1"),
        ("version 2.3.1", "=2.3.1"),
        ("versão 2.3.1", "=2.3.1"),
        ("M-AB 1234", "=mab1234"),
        ("an AB12 CDE plate", "=ab12cde"),
        ("1.5 mm2", "=1.5mm2"),
        ("1,5mm2", "=1.5mm2"),
        ("250 μF", "=250uf"),
        ("250μF", "=250uf"),
        ("15.03.2026", "2026-03-15"),
        ("15 March 2026", "2026-03"),
    ],
)
def test_the_normal_form_of_a_spelling(text, expected):
    assert expected in forms(text)


@pytest.mark.parametrize("text", ["plain words", "and/or", "os.path", "12.50 each", "E4107", "D40", "2026"])
def test_other_text_has_none(text):
    assert not {form for form in forms(text) if form[1:].isdecimal() or form == f"={text.lower()}"}


def test_a_measure_is_not_the_one_without_its_point():
    assert forms("2.5mm, 2,5 mm") == {"=2.5mm"}


@given(st.text(alphabet="aEX4 .,-/()§7:_2026年1月5日x×", max_size=40))
def test_a_form_stands_for_characters_of_the_text(text):
    for form in normal_forms(text):
        assert form.terms
        assert 0 <= form.start < form.end <= len(text)
