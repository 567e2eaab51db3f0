"""Stemmers: functions that reduce the forms of a word to a common stem, one for each language.

A stem need not be a word. It must be the same for all forms of one word, and rarely the same for two
different words. Where Snowball has an algorithm, it is used. For other languages, the most common endings are
removed, using a list. Outside English, stems are cut to a number of letters, because long words there are
often compounds and derivations that share their beginning. This improved ranking more than a better algorithm
did (docs/ranking.md).
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache

from vaultseek.base.text import fold_accents

CACHED_STEMS = 20_000
"""Number of stems cached per language."""
LEAST_STEM = 3
"""Minimum number of letters that must remain after an ending is removed."""

Stem = Callable[[str], str]

_SNOWBALL = {
    "da": "danish", "de": "german", "en": "english", "es": "spanish", "fi": "finnish", "fr": "french",
    "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish",
}  # fmt: skip

_SLAVIC = (
    "ami emi ima ama ech ich ych ach ove ovi ova eho ého ymi imi emu ému om em um ov ev ou ej oj ow ów"
    " ie ia iu ię ią a e i o u y ě ę ą ů é í ý á ó ú"
)
_CYRILLIC = (
    "ами ями ого его ому ему ими ими ою ею ах ях ам ям ом ем ім им их іх ів ов ев ей ой ий ия ят ът та то те"
    " и а я е є о у ю і ї ы э ь й"
)
_ENDINGS = {
    "bg": _CYRILLIC,
    "ca": "aments ament acions ació itats itat ades ada ats at ar ant int ions s a e o es os as",
    "cs": _SLAVIC,
    "el": (
        "ματων ματα ματοσ ισμοσ ισμου ουμε ουσαν ονται εται ουσ εισ εων ιων ιου ιοσ ιοι ιασ ιεσ ων ου"
        " οσ ησ ασ εσ οι αι ει ια ιο α η ι ο ω ε υ σ"
    ),
    "fa": "هایی های ها ترین تر ات ان ی",
    "hi": (
        "ाएंगी ाएंगे ाऊंगी ाऊंगा ाइयों ाइयां ाएगी ाएगा ाओगी ाओगे एंगी ेंगी एंगे ेंगे ूंगी ूंगा ातीं नाओं नाएं ताओं"
        " ताएं ियों ियां ाकर ाइए ाईं ाया ेगी ेगा ोगी ोगे ाने ाना ाते ाती ाता तीं ाओं ाएं ुओं ुएं ुआं कर ाओ िए"
        " ाई ाए ने नी ना ते ीं ती ता ां ों ें ो े ू ु ी ि ा"
    ),
    "hr": f"{_SLAVIC} ima oga ome ih im",
    "pl": _SLAVIC,
    "sk": _SLAVIC,
    "tr": "",
    "uk": _CYRILLIC,
}  # fmt: skip
"""Endings in languages for which Snowball has no algorithm. For the languages in ``_FOLDED_BEFORE``, they are
folded as in the keyword index; for the others, they keep their accents."""
_FOLDED_BEFORE = frozenset({"ar", "el", "fa", "hi"})
"""Languages whose endings are compared after folding, without accents."""

_LETTERS = 7
_FEWER_LETTERS = {"ru": 6, "uk": 6, "bg": 6, "pl": 6, "cs": 6, "sk": 6, "hr": 6, "tr": 5}
"""Map from language to the maximum number of letters in a stem. Turkish adds ending upon ending, so only the
beginning of a word stays the same."""

_NOT_STEMMED = ("vi", "he", "id")
"""Languages whose words are compared without stemming, because the words have no endings or change at the
beginning."""

LANGUAGES = tuple(sorted({*_SNOWBALL, *_ENDINGS, "ar", *_NOT_STEMMED}))
"""Two-letter codes of the languages that have their own analysis rules."""


@cache
def stemmer(language: str | None) -> Stem:
    """Return the function that stems lower-case words in a language; without a language, the function returns
    words unchanged.

    Raises ``ValueError`` for a language that is not in ``LANGUAGES``.
    """
    if language is None:
        return str
    if language not in LANGUAGES:
        raise ValueError(f"no stemmer for {language!r}; use one of {', '.join(LANGUAGES)}, or None")
    if language in _NOT_STEMMED:
        return str
    stem: Stem = lru_cache(CACHED_STEMS)(_make_stemmer(language))
    return stem


def _make_stemmer(language: str) -> Stem:
    if language in _SNOWBALL:
        from whoosh.lang import stemmer_for_language

        snowball: Stem = stemmer_for_language(language)
        if language == "en":
            return snowball
        whole = snowball if language != "ro" else lambda word: snowball(word.translate(_CEDILLAS))
    else:
        whole = _stem_arabic if language == "ar" else _without_ending(_ENDINGS[language].split())
    letters = _FEWER_LETTERS.get(language, _LETTERS)
    if language in _FOLDED_BEFORE:
        return lambda word: whole(fold_accents(word))[:letters]
    return lambda word: whole(word)[:letters]


_CEDILLAS = str.maketrans("șț", "şţ")
"""Romanian letters, mapped to the older code points that Snowball expects."""


def _without_ending(endings: list[str]) -> Stem:
    if not endings:
        return str
    longest_first = sorted(set(endings), key=len, reverse=True)
    pattern = re.compile(f"(?<={'.' * LEAST_STEM})(?:{'|'.join(longest_first)})$")
    return lambda word: pattern.sub("", word, count=1)


_ARABIC_PREFIX = re.compile("^(?:وال|بال|كال|فال|ال|لل)(?=..)")
_ARABIC_AND = re.compile("^و(?=...)")
_ARABIC_SUFFIX = re.compile("(?<=..)(?:ها|ان|ات|ون|ين|يه|ه|ي)$")


def _stem_arabic(word: str) -> str:
    """Remove the article, "and" and endings from an Arabic word, as the stemmer light10 does (Larkey,
    Ballesteros, 2007).
    """
    word = _ARABIC_AND.sub("", _ARABIC_PREFIX.sub("", word, count=1), count=1)
    for _ in range(2):
        word = _ARABIC_SUFFIX.sub("", word, count=1)
    return word
