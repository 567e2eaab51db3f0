"""Detect the language of a note by its script and its stop words, and determine the main language of a vault.

A note's language depends only on the note's own text, and a vault's language only on its current notes, never
on earlier ones. Text without a clear language (short, a list of names, or in two languages) has no language.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache

from vaultseek.base.text import fold_accents
from vaultseek.content.languages.stopwords import WITH_STOP_WORDS, stop_words

NO_LANGUAGE = ""
"""Language code for text without a clear language."""
DEFAULT_LANGUAGE = "en"
"""Language assumed for a vault if none of its notes has a clear language."""
SAMPLE_CHARS = 2000
"""Maximum number of characters examined in a text."""

LEAST_STOP_WORDS = 3
LEAST_SHARE = 0.08
"""Minimum share of a text's words that must be stop words of a language for the text to be in that language.
At least ``LEAST_STOP_WORDS`` different stop words are also needed."""
CLEAR_LEAD = 1.4
"""Minimum ratio between the stop word weights of the best language and the second-best language."""
LEAST_LETTERS = 8
"""Minimum number of letters from a script that only one language uses."""
SCRIPT_SHARE = 0.4
"""Minimum share of a text's letters that must be from a script used by only one language. The share is halved
for Chinese and Japanese."""

_SCRIPTS = {
    "th": "\u0e00-\u0e7f", "lo": "\u0e80-\u0eff", "my": "\u1000-\u109f", "km": "\u1780-\u17ff",
    "ko": "\u1100-\u11ff\uac00-\ud7af", "ja": "\u3041-\u30ff", "zh": "\u3400-\u4dbf\u4e00-\u9fff",
    "el": "\u0370-\u03ff\u1f00-\u1fff", "he": "\u0590-\u05ff", "ka": "\u10a0-\u10ff", "hy": "\u0530-\u058f",
    "bn": "\u0980-\u09ff", "ta": "\u0b80-\u0bff", "te": "\u0c00-\u0c7f", "gu": "\u0a80-\u0aff",
}  # fmt: skip
"""Scripts that only one language uses, as ranges for a character class. Han characters without kana are
Chinese."""

_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0900-\u0903\u093a-\u094f"
_WORD = re.compile(rf"[^\W\d_]+(?:[{_MARKS}]+[^\W\d_]*)*")
_ASCII_WORD = re.compile("[a-z]+")
_LEAST_KANA = 0.05


def detect_language(text: str) -> str:
    """Return the two-letter code for the language of ``text``; ``NO_LANGUAGE`` if it is unclear."""
    sample = text[:SAMPLE_CHARS]
    if not sample.isascii() and _any_script().search(sample):
        by_script = _language_of_script(sample)
        if by_script is not None:
            return by_script
    return _language_of_words(sample)


def main_language(notes: Mapping[str, int]) -> str:
    """Return the most common language, given the number of notes in each language. In a tie, English wins or,
    without English, the alphabetically first code.
    """
    clear = {language: count for language, count in notes.items() if language and count > 0}
    if not clear:
        return DEFAULT_LANGUAGE
    return min(clear, key=lambda code: (-clear[code], code != DEFAULT_LANGUAGE, code))


def _language_of_script(sample: str) -> str | None:
    letters = sum(map(str.isalpha, sample))
    counts = {code: len(pattern.findall(sample)) for code, pattern in _script_patterns().items()}
    if counts["ja"] > _LEAST_KANA * (counts["ja"] + counts["zh"]):
        counts["ja"] += counts.pop("zh")
    best = max(counts, key=lambda code: counts[code])
    # A Han character carries as much meaning as a word in other scripts, so a smaller share is enough.
    share = SCRIPT_SHARE / 2 if best in ("zh", "ja") else SCRIPT_SHARE
    return best if counts[best] >= LEAST_LETTERS and counts[best] > share * letters else None


def _language_of_words(sample: str) -> str:
    words = (_ASCII_WORD if sample.isascii() else _WORD).findall(sample.lower())
    table = _languages_by_word()
    hits: defaultdict[str, int] = defaultdict(int)
    different: defaultdict[str, int] = defaultdict(int)
    weights: defaultdict[str, float] = defaultdict(float)
    for word, count in Counter(filter(table.__contains__, words)).items():
        languages = table[word]
        share = count / len(languages)
        for language in languages:
            hits[language] += count
            different[language] += 1
            weights[language] += share
    if not weights:
        return NO_LANGUAGE
    best, *others = sorted(weights, key=lambda code: -weights[code])[:2]
    clear = all(weights[best] >= CLEAR_LEAD * weights[other] for other in others)
    enough = different[best] >= LEAST_STOP_WORDS and hits[best] >= LEAST_SHARE * len(words)
    return best if clear and enough else NO_LANGUAGE


@cache
def _languages_by_word() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for language in WITH_STOP_WORDS:
        for word in stop_words(language):
            if len(word) == 1 and fold_accents(word).isascii():  # usually an initial or a variable
                continue
            table[word] = (*table.get(word, ()), language)
    return table


@cache
def _any_script() -> re.Pattern[str]:
    return re.compile(f"[{''.join(_SCRIPTS.values())}]")


@cache
def _script_patterns() -> dict[str, re.Pattern[str]]:
    return {code: re.compile(f"[{ranges}]") for code, ranges in _SCRIPTS.items()}
