"""A note's language is detected from its text, a vault's from its notes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.content.languages.detect import NO_LANGUAGE, detect_language, main_language

SAMPLES = {
    "ar": "كانت السفينة في الميناء منذ يومين، لكن القبطان لم يعد إلى البيت حتى الآن.",
    "bg": "Лодката беше в пристанището от два дни, но капитанът още не се е върнал у дома.",
    "ca": "El vaixell és al port des de fa dos dies, però el capità encara no ha tornat amb els mariners.",
    "cs": "Loď je v přístavu už dva dny, ale kapitán se ještě nevrátil domů, protože na moři byla bouře.",
    "da": "Skibet blev i havnen efter stormen, og vi hørte ikke mere af ham, der skulle hente det med os.",
    "de": "Das Schiff liegt seit zwei Tagen im Hafen, aber der Kapitän ist noch nicht nach Hause gekommen.",
    "el": "Το πλοίο είναι στο λιμάνι εδώ και δύο μέρες, αλλά ο καπετάνιος δεν έχει γυρίσει ακόμα.",
    "en": "The ship has been in the harbour for two days, but the captain is not at home yet.",
    "es": "El barco está en el puerto desde hace dos días, pero el capitán no ha vuelto a su casa.",
    "fa": "کشتی دو روز است که در بندر است، اما ناخدا هنوز به خانه برنگشته است.",
    "fi": "Laiva on ollut satamassa kaksi päivää, mutta kapteeni ei ole vielä tullut kotiin.",
    "fr": "Le bateau est dans le port depuis deux jours, mais le capitaine n'est pas encore chez lui.",
    "he": "הספינה נמצאת בנמל כבר יומיים, אבל רב החובל עוד לא חזר אל הבית שלו.",
    "hi": "जहाज़ दो दिन से बंदरगाह में है, लेकिन कप्तान अभी तक घर नहीं आया है।",
    "hr": "Brod je u luci već dva dana, ali kapetan se još nije vratio kući jer je bio kod liječnika.",
    "hu": "A hajó már két napja a kikötőben van, de a kapitány még nem jött haza, mert az orvosnál volt.",
    "id": "Kapal itu sudah dua hari di pelabuhan karena kapten sakit dan tidak bisa pulang.",
    "it": "La nave è nel porto da due giorni, ma il capitano non è ancora tornato a casa con gli altri.",
    "ja": "船は二日前から港にいるが、船長はまだ家に帰っていない。",
    "km": "កប៉ាល់នៅកំពង់ផែពីរថ្ងៃហើយ",
    "ko": "배는 이틀 전부터 항구에 있지만 선장은 아직 집에 돌아오지 않았다.",
    "my": "သင်္ဘောသည် ဆိပ်ကမ်းတွင် နှစ်ရက်ရှိပြီ",
    "nl": "Het schip ligt al twee dagen in de haven, maar de kapitein is nog niet naar huis gekomen.",
    "no": "Skipet har ligget i havnen i to dager, men vi vet ikke hvor kapteinen ble av.",
    "pl": "Statek jest w porcie od dwóch dni, ale kapitan nie wrócił jeszcze do domu, bo był u lekarza.",
    "pt": "O navio está no porto há dois dias, mas o capitão ainda não voltou para a sua casa com os outros.",
    "ro": "Vaporul este în port de două zile, dar căpitanul nu s-a întors încă la casa lui din oraș.",
    "ru": "Корабль стоит в порту уже два дня, но капитан ещё не вернулся домой.",
    "sk": "Loď je v prístave už dva dni, ale kapitán sa ešte nevrátil domov, keď bola na mori búrka.",
    "sv": "Skeppet har legat i hamnen i två dagar, men kaptenen är inte hemma än och vi vet inte varför.",
    "th": "เรืออยู่ที่ท่าเรือมาสองวันแล้ว แต่กัปตันยังไม่กลับบ้าน",
    "tr": "Gemi iki gündür limanda ama kaptan daha eve dönmedi ve biz onun için bir şey yapamadık.",
    "uk": "Корабель стоїть у порту вже два дні, але капітан ще не повернувся додому.",
    "vi": "Con tàu đã ở trong cảng hai ngày nhưng thuyền trưởng vẫn không về nhà với các con của mình.",
    "zh": "船在港口停了两天，可是船长还没有回家。",
}


@pytest.mark.parametrize("language", SAMPLES)
def test_a_sentence_or_two_show_the_language(language: str) -> None:
    assert detect_language(SAMPLES[language]) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x y z",
        "- milk\n- bread",
        "E-4107 user_id 2024-05-01",
        "the the the the",
        "t-Test (n, a, e, o, i, e)",
    ],
)
def test_what_shows_no_language_has_none(text: str) -> None:
    assert detect_language(text) == NO_LANGUAGE


def test_a_text_in_two_languages_has_none() -> None:
    assert detect_language(f"{SAMPLES['en']} {SAMPLES['de']}") == NO_LANGUAGE


def test_a_quotation_in_another_script_does_not_decide() -> None:
    assert detect_language(f"{SAMPLES['en']} {SAMPLES['en']} (北京大学, 東京タワー)") == "en"


@given(st.text())
def test_any_text_has_a_language_or_none(text: str) -> None:
    assert isinstance(detect_language(text), str)


def test_the_main_language_is_that_of_most_notes_that_show_one() -> None:
    assert main_language({"": 90, "de": 6, "fr": 4}) == "de"
    assert main_language({"de": 5, "en": 5}) == "en"
    assert main_language({"fr": 5, "de": 5, "en": 0}) == "de"
    assert main_language({"": 3}) == "en"
