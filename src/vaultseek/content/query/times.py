"""Find times named in a question: *last week*, *in September*, *in spring 2025*, *before Christmas*.

A time may be a range: *between March and May*, *in 2020 or 2021*. Times are read in English, German, French,
Spanish, Italian, Portuguese and Dutch, and relative times also in Chinese and Japanese. A day, month or
season without a year is the nearest one before today. A bare name is not a time: *May* and *Monday* are
words, *in May* and *on Monday* are times.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from itertools import chain
from typing import NamedTuple, TypeVar

from dateutil.easter import easter  # type: ignore[import-untyped]
from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]

from vaultseek.content.languages.months import WEEKDAYS
from vaultseek.content.query.dates import find_dates

K = TypeVar("K")

EVE_WEEKS = 4
"""Length, in weeks, of the period meant by *before* or *after* a holiday, a month or a day."""
EARLIEST = date(1900, 1, 1)
"""Start of the period meant by *before* a year."""


class Days(NamedTuple):
    """A range of days from ``first`` to ``last``, inclusive."""

    first: date
    last: date


@dataclass(frozen=True, slots=True)
class SpokenTime:
    """A time named in a text: its days, its words ``text``, and their positions from ``start`` to ``end``."""

    days: Days
    start: int
    end: int
    text: str

    @property
    def period(self) -> str:
        """Description of the days, for display."""
        first, last = self.days
        if first == EARLIEST:
            return f"any day until {last}"
        return str(first) if first == last else f"{first} to {last}"


def find_time(text: str, today: date) -> SpokenTime | None:
    """Return the first expression of a time in words in ``text``; None if there is none."""
    if not text.isascii() and (found := _unspaced_time(text, today)) is not None:
        return found
    lower = text.lower() if len(text.lower()) == len(text) else text
    found = next(chain(_ranges(lower, today), _other_times(lower, today), _single_times(lower, today)), None)
    return found and _with_year(replace(found, text=text[found.start : found.end]), text)


def _with_year(found: SpokenTime, text: str) -> SpokenTime:
    """Return the time with the whole dates in ``text`` instead, if its own words are a part of one without
    the year: *November 15* in *2021 November 15*.
    """
    written = [
        each for each in find_dates(text) if len(each.days) == 1 and len(each.days[0]) > len("2026-03")
    ]
    if _HAS_YEAR.search(found.text) or not any(
        each.start < found.end and found.start < each.end for each in written
    ):
        return found
    days = [date.fromisoformat(each.days[0]) for each in written]
    start, end = written[0].start, max(each.end for each in written)
    return SpokenTime(Days(min(days), max(days)), start, end, text[start:end])


_HAS_YEAR = re.compile("[0-9]{4}")


def _unspaced_time(text: str, today: date) -> SpokenTime | None:
    """Return the time that a Chinese or Japanese text names: 去年九月, 三天前, 2025年3月."""
    for match in _UNSPACED.finditer(text):
        with suppress(ValueError, OverflowError):
            days = _RELATIVE[_UNSPACED_WORDS[match["word"]]](today) if match["word"] else None
            if match["number"]:
                unit = _UNSPACED_UNITS[match["unit"]]
                days = _units_ago(today, unit, _unspaced_number(match["number"]))
            elif match["month"]:
                year = days.first.year if days else int(match["year"]) if match["year"] else None
                month, day = _unspaced_number(match["month"]), _unspaced_number(match["day"] or "0")
                year = year or (
                    today.year if date(today.year, month, max(day, 1)) <= today else today.year - 1
                )
                first = date(year, month, max(day, 1))
                days = Days(first, first) if day else _month(first)
            if days is not None:
                return SpokenTime(days, *match.span(), text=match[0])
    return None


def _unspaced_number(text: str) -> int:
    """Return the value of a number below 100, written in digits or like 十二."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    value = "零一二三四五六七八九".find(ones.replace("两", "二")) if ones else 0
    return value + (10 * ("一二三四五六七八九".find(tens) + 1 if tens else 1) if ten else 0)


def _other_times(text: str, today: date) -> Iterator[SpokenTime]:
    """Yield the times written in numbers or as combinations: *on 12.9.*, *in week 40*, *Tuesday last
    week*.
    """
    for match in _OTHER.finditer(text):
        with suppress(ValueError, OverflowError):
            days = _other_days(match, today)
            if days is not None:
                relation = _key(match["relation"], _RELATIONS) if match["relation"] else None
                yield SpokenTime(_related(days, relation, today), match.start(), match.end(), match[0])


def _other_days(match: re.Match[str], today: date) -> Days | None:
    year = int(match["year"]) if match["year"] else None
    if match["weekday"]:
        monday = _RELATIVE[_key(match["week"], _RELATIVE_WORDS)](today).first
        then = monday + timedelta(days=_number(match["weekday"], WEEKDAYS))
        return Days(then, then)
    if match["part"]:
        return _early_or_late(_RELATIVE[_key(match["whole"], _RELATIVE_WORDS)](today), match["part"])
    if half := match["half"] or (match["half2"] and "one"):
        then = today - relativedelta(months=12 * _value(half) + 6)
        return Days(_month(then - relativedelta(months=1)).first, _month(then + relativedelta(months=1)).last)
    if season := match["season"] or match["season2"]:
        month = 3 * _number(season, _SEASONS) + 3
        last = _before(lambda each: _three_months(each, month), today, is_last=True)
        return last and _three_months(last.first.year - 1, month)
    if number := match["number"] or match["number2"]:
        monday = date.fromisocalendar(year or today.year, int(number), 1)
        if year is None and monday > today:
            monday = date.fromisocalendar(today.year - 1, int(number), 1)
        return Days(monday, monday + timedelta(days=6))
    if match["month_of"]:
        return _month(date(int(match["year_of"]), int(match["month_of"]), 1))
    if match["month_of2"]:
        return _month(date(int(match["year_of2"]), int(match["month_of2"]), 1))
    if match["relation"] == "in" and not match["ordinal"]:
        return None  # probably a version or section number
    if match["only_day"]:
        then = today if int(match["only_day"]) <= today.day else today - relativedelta(months=1)
        return _one_day(then.year, then.month, int(match["only_day"]))
    if match["ordinal"]:
        day, month = 1 + _DAYS.index(match["ordinal"]), _number(match["month"], _MONTHS) + 1
    else:
        day, month = int(match["day"]), int(match["month_number"])
    if year is not None:
        return _one_day(year, month, day)
    return _before(lambda each: _one_day(each, month, day), today, is_last=False)


def _ranges(text: str, today: date) -> Iterator[SpokenTime]:
    """Yield the ranges of time in ``text``. If the start of a range has no year, it is the last such date
    before the end of the range.
    """
    for match in _RANGE.finditer(text):
        middle = match.end("second")
        until = _at_start(text[middle:], today)
        first = match["first"] or match["first2"]
        since = _start_of_range(first, until.days) if until is not None else None
        if until is not None and since is not None and since.first < until.days.last:
            start, end = match.start(), middle + until.end
            yield SpokenTime(Days(since.first, until.days.last), start, end, text[start:end])


def _start_of_range(text: str, until: Days) -> Days | None:
    """Return the days with which a range of time begins.

    ``text`` may be a bare number, which is a day in the month in which the range ends.
    """
    if (number := _ONLY_DAY.fullmatch(text)) is not None and until.first == until.last:
        return _one_day(until.last.year, until.last.month, int(number["day"]))
    found = _at_start(text, until.last)
    return found.days if found is not None and found.end == len(text) else None


def _at_start(text: str, today: date) -> SpokenTime | None:
    """Return the time at the beginning of ``text``, read as if after *in*: a bare month or year is a time."""
    prefix = "in "
    found = next(_single_times(prefix + text, today), None)
    if found is None or found.start > len(prefix):
        return None
    return SpokenTime(found.days, 0, found.end - len(prefix), found.text)


def _single_times(text: str, today: date) -> Iterator[SpokenTime]:
    for match in _TIME.finditer(text):
        with suppress(ValueError, OverflowError):
            days = _days(match, today)
            if days is not None:
                yield SpokenTime(days, match.start(), match.end(), match[0])


# -- words


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_RELATIONS: Mapping[str, str] = {
    "since": "ever since|since|seit|depuis|desde|sinds|vanaf",
    "before": "right before|just before|before|kurz vor|vor|avant|antes d[eoa]l?|prima d[ie]l?|voor",
    "after": "right after|just after|shortly after|after|kurz nach|nach|après|después de|depois d[eoa]|dopo",
    "in": (
        "in|during|throughout|around|over|on|at|im|am|an|zu|um|über|während|en|au|à|em|no|na|nos|nas|durante|pendant"
        "|nel|nella|a|al|op|tijdens|rond"
    ),
    "until": "until|bis zum|bis|jusqu['’](?:à|au|en)|hasta|até|fino a|tot",
    "by": "by|till",
    "of": "of|from|for|vom|von|de|d['’]|du|del|do|da|di|van",
}
_RELATION = _any(_RELATIONS.values())
_ARTICLE = "the|der|die|das|den|dem|la|le|el|o|il|het|de"
_AN_ARTICLE = rf"(?:(?:{_ARTICLE})\s+|[ldu]['’]|dell['’])?"
_LAST = (
    "last|past|previous|letzte[rnms]?|vorige[rnms]?|vergangene[rnms]?|derni(?:er|ère)s?|passée?|pasad[oa]|passad[oa]"
    "|scors[oa]|vorige|afgelopen"
)
_THIS = "this|diese[rnms]?|cette|cet|ce|este|esta|est[ae]|questo|questa|quest['’]|deze|dit"
_PART = "early|late|mid|beginning of|start of|end of|middle of|anfang|mitte|ende|début|fin|finales de"
_SEASONS = (
    "spring|springtime|frühling|frühjahr|printemps|primavera|lente|voorjaar",
    "summer|summertime|sommer|été|verano|verão|estate|zomer",
    "autumn|fall|herbst|automne|otoño|outono|autunno|herfst|najaar",
    "winter|hiver|invierno|inverno",
)
_MONTHS = (
    "jan|january|januar|jänner|janvier|enero|gennaio|janeiro|januari",
    "feb|february|februar|février|febrero|febbraio|fevereiro|februari",
    "march|märz|mars|marzo|março|maart",
    "apr|april|avril|abril|aprile",
    "may|mai|mayo|maggio|maio|mei",
    "june|juni|juin|junio|giugno|junho",
    "july|juli|juillet|julio|luglio|julho",
    "aug|august|août|agosto|augustus",
    "sep|sept|september|septembre|septiembre|settembre|setembro",
    "oct|okt|october|oktober|octobre|octubre|ottobre|outubro",
    "nov|november|novembre|noviembre|novembro",
    "dec|dez|december|dezember|décembre|diciembre|dicembre|dezembro",
)
_NAMES = frozenset({"jan", "march", "mars", "april", "avril", "may", "june", "august", "easter", "noël"})
"""Months and holidays whose names are also given names or ordinary words."""
_HOLIDAYS: Mapping[str, Callable[[int], Days]] = {
    "christmas eve|heiligabend|nochebuena|vigilia di natale|véspera de natal|kerstavond": (
        lambda year: Days(date(year, 12, 24), date(year, 12, 24))
    ),
    "new year['’]?s eve|silvester|nochevieja|réveillon|oudejaarsavond": (
        lambda year: Days(date(year, 12, 31), date(year, 12, 31))
    ),
    "christmas(?! eve)|xmas|weihnachten|noël|navidad|natal|natale|kerst|kerstmis": (
        lambda year: Days(date(year, 12, 24), date(year, 12, 27))
    ),
    "new year['’]?s(?! eve)|(?<!the )new year(?!['’]?s eve)"
    "|neujahr|nouvel an|año nuevo|ano novo|capodanno": lambda year: Days(
        date(year, 12, 31), date(year, 12, 31) + timedelta(days=1)
    ),
    "easter|ostern|pâques|pascua|páscoa|pasqua|pasen": lambda year: _around_easter(year, -2, 1),
    "whitsun|pentecost|pfingsten|pentecôte|pentecostés|pentecoste|pinksteren": (
        lambda year: _around_easter(year, 48, 50)
    ),
    "may day": lambda year: Days(date(year, 5, 1), date(year, 5, 1)),
    "halloween": lambda year: Days(date(year, 10, 31), date(year, 10, 31)),
    "thanksgiving": lambda year: Days(_thanksgiving(year), _thanksgiving(year)),
}
_UNITS = {
    "day": r"days?|tage?n?|jours?|d[ií]as?|giorn[oi]|dag(?:en)?",
    "week": r"weeks?|wochen?|semaines?|semanas?|settiman[ae]|weken|week",
    "month": r"months?|monate?n?|mois|mes(?:es)?|mês|mes[ei]|maand(?:en)?",
    "year": r"years?|jahre?n?|ans?|années?|años?|anos?|ann[oi]|jaar|jaren",
}
_ORDINALS: Mapping[int, str] = {
    1: "first|1st|erste[rnms]?|premi(?:er|ère)s?|primer[oa]?|primeir[oa]|prim[oa]|eerste",
    2: "second|2nd|zweite[rnms]?|deuxième|second[eoa]?|segund[oa]|tweede",
    3: "third|3rd|dritte[rnms]?|troisième|tercer[oa]?|terceir[oa]|terz[oa]|derde",
    4: "fourth|4th|vierte[rnms]?|quatrième|cuart[oa]|quart[oa]|vierde",
    -1: "last|final|letzte[rnms]?|derni(?:er|ère)s?|últim[oa]s?|ultim[oa]|laatste",
}
"""Map from the position of a part to the pattern for words that name it, such as *second* and *last*. The
first part is 1, the last -1."""
_PIECES: Mapping[str, str] = {
    "half": "half|hälfte|halbjahr|semestre|moitié|mitad|metade|metà|helft",
    "quarter": "quarter|quartal|trimestre|kwartaal",
    "month": _UNITS["month"],
    "weekend": "weekends?|wochenenden?|week-end|fin de semana|fim de semana",
    "week": _UNITS["week"],
    "day": _UNITS["day"],
}
_UNIT = "|".join(_UNITS.values())
_NUMBERS = {
    1: "one|an?|ein(?:e[mnr]?)?|une?|uno|una|um|uma|een",
    2: "two|a couple of|zwei|deux|dos|due|dois|duas|twee",
    3: "three|a few|drei|trois|tres|tre|três|drie",
    4: "four|vier|quatre|cuatro|quattro|quatro",
    5: "five|fünf|cinq|cinco|cinque|vijf",
    6: "six|sechs|seis|sei|zes",
    7: "seven|sieben|sept|siete|sette|sete|zeven",
    8: "eight|acht|huit|ocho|otto|oito",
    9: "nine|neun|neuf|nueve|nove|negen",
    10: "ten|zehn|dix|diez|dieci|dez|tien",
    12: "twelve|zwölf|douze|doce|dodici|doze|twaalf",
}
_NUMBER = rf"[0-9]{{1,3}}|{_any(_NUMBERS.values())}"
_RELATIVE_WORDS: Mapping[str, str] = {
    "today": "today|this morning|this afternoon|heute|aujourd['’]hui|hoy|oggi|hoje|vandaag",
    "yesterday": "yesterday|last night|gestern|hier soir|hier|ayer|ieri|ontem|gisteren",
    "before yesterday": (
        "the day before yesterday|vorgestern|avant-hier|anteayer|antier|l['’]altro ieri|anteontem|eergisteren"
    ),
    "this week": "this week|diese[rn]? woche|cette semaine|esta semana|questa settimana|deze week",
    "last week": (
        "last week|the past week|(?:letzte|vorige|vergangene)[rn]? woche|(?:la )?semaine dernière"
        "|(?:la |a )?semana pasada|la pasada semana|(?:a )?semana passada"
        "|(?:la )?(?:settimana scorsa|scorsa settimana)|(?:vorige|afgelopen) week"
    ),
    "this month": "this month|diese[nm]? monat|ce mois(?:-ci)?|este mes|este mês|questo mese|deze maand",
    "last month": (
        "last month|the past month|(?:letzte|vorige|vergangene)[nm] monat(?:s)?|(?:le )?mois dernier"
        "|(?:el )?mes pasado|el pasado mes|(?:o )?mês passado|(?:il )?mese scorso"
        "|(?:lo )?scorso mese|(?:vorige|afgelopen) maand"
    ),
    "this year": "this year|dieses jahr|cette année|este año|este ano|quest['’]anno|dit jaar|heuer",
    "last year": (
        "last year|(?:letzte|vorige|vergangene)[snm] jahr(?:es)?|l['’]année dernière|l['’]an dernier"
        "|(?:el )?año pasado|el pasado año|(?:o )?ano passado|l['’]anno scorso"
        "|(?:lo )?scorso anno|(?:vorig|afgelopen) jaar"
    ),
    "week before last": (
        "(?:the )?week before last|vorletzte[rn]? woche|(?:l['’])?avant-dernière semaine"
        "|(?:la )?semana antepasada|(?:a )?semana retrasada|voorlaatste week"
    ),
    "month before last": (
        "(?:the )?month before last|vorletzte[nm] monat|(?:l['’])?avant-dernier mois|voorlaatste maand"
    ),
    "year before last": "(?:the )?year before last|vorletzte[sn] jahr|voorlaatste jaar|voorvorig jaar",
    "last weekend": (
        "last weekend|(?:letztes|voriges) wochenende|(?:le )?week-end dernier|(?:el )?fin de semana pasado"
        "|(?:o )?fim de semana passado|vorig weekend"
    ),
    "weekend": (
        "(?:at|on|over|this) (?:the )?weekend|(?:am|dieses) wochenende|ce week-end|este fin de semana"
        "|(?:nel|questo) (?:weekend|fine settimana)|(?:in het|dit) weekend|este fim de semana"
    ),
    "last quarter": (
        "last quarter|the past quarter|(?:letzte|vorige|vergangene)[snm] quartal|(?:le )?trimestre dernier"
        "|(?:le )?dernier trimestre|(?:el |o )?trimestre (?:pasado|passado)|(?:il )?trimestre scorso"
        "|(?:vorig|afgelopen) kwartaal"
    ),
    "recently": "recently|lately|the other day|neulich|kürzlich|récemment|recientemente|recentemente|onlangs",
}
_UNSPACED_WORDS: Mapping[str, str] = (
    dict.fromkeys(("今天", "今日"), "today")
    | dict.fromkeys(("昨天", "昨日"), "yesterday")
    | dict.fromkeys(("前天", "一昨日"), "before yesterday")
    | dict.fromkeys(("本周", "这周", "这个星期", "今週"), "this week")
    | dict.fromkeys(("上周", "上个星期", "上星期", "先週"), "last week")
    | dict.fromkeys(("上上周", "上上个星期", "先々週"), "week before last")
    | dict.fromkeys(("前年", "一昨年"), "year before last")
    | dict.fromkeys(("本月", "这个月", "今月"), "this month")
    | dict.fromkeys(("上个月", "上月", "先月"), "last month")
    | dict.fromkeys(("今年",), "this year")
    | dict.fromkeys(("去年", "昨年"), "last year")
    | dict.fromkeys(("最近",), "recently")
)
_UNSPACED_UNITS = {
    "天": "day", "日": "day", "周": "week", "週間": "week", "星期": "week", "个星期": "week",
    "个月": "month", "か月": "month", "ヶ月": "month", "年": "year",
}  # fmt: skip
_UNSPACED_NUMBER = "[0-9]{1,2}|[一二三四五六七八九十两]{1,3}"
_UNSPACED = re.compile(
    rf"(?:(?P<word>{_any(_UNSPACED_WORDS)})|(?P<year>(?:19|20)[0-9]{{2}})年)の?"
    rf"(?:(?P<month>{_UNSPACED_NUMBER})月(?:(?P<day>{_UNSPACED_NUMBER})[日号])?)?"
    rf"|(?P<number>{_UNSPACED_NUMBER})(?P<unit>{_any(_UNSPACED_UNITS)})(?:之?前|以前)"
)
_YEAR = r"(?:19|20)[0-9]{2}"
_OF = r"(?:of |de |del |do |di |von |van )?"
_MONTH = _any(_MONTHS)
_DAY = r"(?P<{0}>[0-9]{{1,2}})(?:st|nd|rd|th|\.|º|er)?"
_ONLY_DAY = re.compile(rf"{_AN_ARTICLE}{_DAY.format('day')}")
_WITHIN = (
    rf"\s(?:(?:of|von|vom|des|de|du|do|di|van)\s|(?:(?:before|in|im|en|em)\s)?(?:[0-9]{{4}}|(?:{_MONTH})\b)"
    r"|before\s[0-9])"
)
"""Pattern for words that make *the last week* a part of another time: *the last week of August*."""
_AGO = (
    rf"(?P<number>{_NUMBER}) (?P<unit>{_UNIT}) (?:ago|back|atrás|fa|geleden)"
    rf"|(?:vor|il y a|hace|há) (?P<number2>{_NUMBER}) (?P<unit2>{_UNIT})"
    rf"|(?:(?:in |over |during )?the )?(?:last|past) (?P<number3>{_NUMBER}) (?P<unit3>{_UNIT})"
    rf"|(?:in )?den (?:letzten|vergangenen) (?P<number4>{_NUMBER}) (?P<unit4>{_UNIT})"
    rf"|(?:since|seit|depuis|desde hace|desde há|sinds) (?P<number5>{_NUMBER}) (?P<unit5>{_UNIT})(?: ago)?"
)
_BESIDE = _any(_RELATIONS[each] for each in ("since", "before", "after"))
_TIME = re.compile(
    rf"(?<![\w-])(?:(?:(?P<ago>{_AGO})|(?:(?P<relation2>{_BESIDE})\s+{_AN_ARTICLE})?"
    rf"(?P<relative>{_any(_RELATIVE_WORDS.values())}))(?!{_WITHIN})"
    rf"|(?P<iso_week>{_YEAR}-w[0-9]{{2}})"
    rf"|(?:(?P<relation>{_RELATION})(?:\s+|(?<=['’])))?+{_AN_ARTICLE}+"
    rf"(?:(?P<part>{_PART})[\s-]+|(?P<ordinal>{_any(_ORDINALS.values())})\s"
    rf"(?:(?P<pieces>[2-9]|{_any(_NUMBERS.values())})\s)?(?P<piece>{_any(_PIECES.values())})"
    rf"\s(?:(?:of|in|von|vom|im|des|de|del|du|do|da|di|van)\s)?(?:the\s|{_AN_ARTICLE}))?+(?:(?P<last>{_LAST})\s+|(?P<this>{_THIS})\s+)?+"
    rf"(?:(?:{_DAY.format('day')}\s{_OF}(?P<month>{_MONTH})\.?"
    rf"|(?P<month2>{_MONTH})\.?\s{_DAY.format('day2')}(?![0-9])"
    rf"|(?P<holiday>{_any(_HOLIDAYS)})|(?P<month3>{_MONTH})(?!\s(?:time|tempo|step|rhythm)\b)(?:\.(?=\s))?|(?P<season>{_any(_SEASONS)})"
    rf"|(?P<weekday>{_any(WEEKDAYS)})|(?P<quarter>q[1-4]))(?:,?\s{_OF}(?P<year>{_YEAR}))?|(?P<year2>{_YEAR}))"
    rf"(?:\s+(?P<after>{_LAST}))?)(?![\w-]|['’]s)"
)
_DAYS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ON = _any(_RELATIONS[each] for each in ("in", "since", "before", "after", "until"))
_WEEKS = _any(_RELATIVE_WORDS[each] for each in ("this week", "last week", "week before last"))
_WHOLES = _any(words for each, words in _RELATIVE_WORDS.items() if each.startswith(("last", "this")))
_OTHER = re.compile(
    r"(?<![\w/-])(?:(?P<half>an?|one|two|three) years? and a half ago|(?P<half2>vor anderthalb jahren"
    r"|il y a un an et demi|hace (?:un )?año y medio|há um ano e meio|un anno e mezzo fa"
    rf"|anderhalf jaar geleden)|(?:(?P<relation>{_ON})\s+)?+{_AN_ARTICLE}"
    rf"(?:(?P<weekday>{_any(WEEKDAYS)})\s(?:of\s|de\s|della\s|da\s|van\s)?(?P<week>{_WEEKS})"
    rf"|(?P<part>{_PART})\s(?:de\s|of\s)?(?P<whole>{_WHOLES})"
    rf"|(?P<season>{_any(_SEASONS)}) before last|vorletzte[nrs]? (?P<season2>{_any(_SEASONS)})"
    rf"|(?P<ordinal>{_any(_DAYS)}) of (?P<month>{_MONTH})"
    r"|(?P<month_of>0?[1-9]|1[0-2])/(?P<year_of>(?:19|20)[0-9]{2})|kw\s?(?P<number>[0-9]{1,2})"
    r"|(?(relation)(?:(?:calendar )?(?:week|woche|semaine|semana|settimana)\s(?P<number2>[0-9]{1,2})"
    r"|(?P<year_of2>(?:19|20)[0-9]{2})-(?P<month_of2>0[1-9]|1[0-2])"
    r"|(?P<day>[0-9]{1,2})\.(?P<month_number>[0-9]{1,2})\.(?=\W*$|\s|[0-9]{4})"
    r"|(?P<only_day>[0-9]{1,2})(?:st|nd|rd|th)"
    r"(?=\W*$|\s(?:with|for|at|and|to|about|i|we|did|was|what|when|my|the)\b))|(?!))))"
    rf"(?:,?\s?{_OF}(?P<year>{_YEAR}))?(?![\w-]|['’]s)"
)
_HIER = re.compile(
    r"(?=\w+\shier\W*$|.*\b(?:(?:[cdjlmnst]|qu)['’]|(?:le|la|les|des|du|une?|et|avec|pour|sur|mes|mon|ma)\b))"
    r"(?!.*\b(?:der|die|das|dem|den|ist|und|nicht|was|wie|wo|wer|ich|nur|neu|alles|het|een|is|wat|hoe|waar)\b)"
)
"""Pattern for questions in which *hier* is French; in German and Dutch it means *here*."""
_FROM_SEASON = re.compile(r"from (?:spring|summer|autumn|winter)\W*$")
"""Pattern for a season at the end of a question, as in *notes from spring*, unlike *water from the
spring*."""
_BETWEEN = rf"between|zwischen|entre|tra|fra|tussen|{_RELATIONS['in']}"
_AND = "and|or|und|oder|et|ou|y|o|e|en"
_FROM = rf"from|von|vom|de|desde|dal|van|{_RELATIONS['in']}"
_TO = "to|until|till|through|bis|à|a|hasta|até|al|tot"
_DASH = r"\s?[–—]\s?|\s-\s"
_PLACE_OF_START = r"(?P<{0}>[^\s,;](?:[^,;]{{0,30}}[^\s,;])??)"
_RANGE = re.compile(
    rf"(?<![\w-])(?=(?:(?:{_BETWEEN})\s+{_PLACE_OF_START.format('first')}(?:\s+(?:{_AND})\s+|{_DASH})"
    rf"|(?:{_FROM})\s+{_PLACE_OF_START.format('first2')}(?:\s+(?:{_TO})\s+|{_DASH}))(?P<second>))"
)
"""Pattern for a possible range such as *from March to May*. It is a lookahead, so that a range within another
possible range is also found."""


# -- days


def _days(match: re.Match[str], today: date) -> Days | None:
    """Return the days that a match names; None if the match is a name or a number rather than a time."""
    if match["ago"]:
        return _ago(match, today)
    relation = _key(written, _RELATIONS) if (written := match["relation"] or match["relation2"]) else None
    if relative := match["relative"]:
        if relative == "hier" and not _HIER.match(match.string):
            return None
        return _related(_RELATIVE[_key(relative, _RELATIVE_WORDS)](today), relation, today)
    if match["iso_week"]:
        monday = date.fromisocalendar(int(match["iso_week"][:4]), int(match["iso_week"][-2:]), 1)
        return Days(monday, monday + timedelta(days=6))
    is_last = bool(match["last"] or match["after"])
    is_part = bool(match["part"] or match["piece"])
    year = match["year"]
    if match["year2"]:
        is_number = not (relation or is_part) or relation in ("until", "by")
        if is_number or is_last or match["this"]:  # a number or a part of a name
            return None
        days = Days(date(int(match["year2"]), 1, 1), date(int(match["year2"]), 12, 31))
        return _related(_part(days, match), relation, today, is_long=not match["piece"])
    day = match["day"] or match["day2"]
    is_named = match["season"] is not None or not _NAMES.isdisjoint((match["month3"], match["holiday"]))
    is_clear = year or is_last or match["this"] or is_part
    if (
        relation in ("of", "by")
        and is_named
        and not (is_clear or _FROM_SEASON.match(match.string, match.start()))
    ):
        return None
    if day is None and relation is None and not is_clear:
        return None  # a bare name, not a time
    nearest = _nearest(match, day, today, is_last=is_last)
    found = nearest(int(year)) if year else _before(nearest, today, is_last=is_last)
    if found is None:
        return None
    if not year and match["this"] and found.last < date(today.year, 1, 1):
        return None
    return _related(_part(found, match), relation, today)


def _nearest(
    match: re.Match[str], day: str | None, today: date, *, is_last: bool
) -> Callable[[int], Days | None]:
    """Return a function that, given a year, returns the days that a match names in that year."""
    if match["weekday"]:
        weekday = _number(match["weekday"], WEEKDAYS)
        days_ago = (today.weekday() - weekday) % 7 or (7 if is_last else 0)
        found = today - timedelta(days=days_ago)
        return lambda year: Days(found, found) if year == found.year else None
    if match["season"]:
        season = _number(match["season"], _SEASONS)
        return lambda year: _three_months(year, 3 * season + 3)
    if match["quarter"]:
        return lambda year: _three_months(year, 3 * int(match["quarter"][1]) - 2)
    if match["holiday"]:
        return _HOLIDAYS[next(names for names in _HOLIDAYS if re.fullmatch(names, match["holiday"]))]
    month = _number(match["month"] or match["month2"] or match["month3"], _MONTHS) + 1
    if day is not None:
        return lambda year: _one_day(year, month, int(day))
    return lambda year: Days(date(year, month, 1), date(year, month, 1) + relativedelta(months=1, days=-1))


def _before(nearest: Callable[[int], Days | None], today: date, *, is_last: bool) -> Days | None:
    """Return the most recent days that a match names and that began before today.

    If the text calls them *last*, they must also have ended.
    """
    for year in range(today.year, today.year - 9, -1):  # leap days may be eight years apart
        found = nearest(year)
        if found is not None and (found.last if is_last else found.first) <= today:
            return found
    return None


def _related(days: Days, relation: str | None, today: date, *, is_long: bool = False) -> Days:
    if relation == "since":
        return Days(days.first, max(today, days.first))
    if relation == "before":
        return Days(
            EARLIEST if is_long else days.first - timedelta(weeks=EVE_WEEKS), days.first - timedelta(days=1)
        )
    if relation in ("until", "by"):
        return Days(days.first - timedelta(weeks=EVE_WEEKS), days.last)
    if relation == "after":
        last = today if is_long else days.last + timedelta(weeks=EVE_WEEKS)
        return Days(days.last + timedelta(days=1), max(last, days.last + timedelta(days=1)))
    return days


def _part(days: Days, match: re.Match[str]) -> Days:
    """Return the part of ``days`` that the match names: *early*, *second week of*."""
    if match["piece"]:
        place, piece = _key(match["ordinal"], _ORDINALS), _key(match["piece"], _PIECES)
        many = _value(match["pieces"]) if match["pieces"] else 1
        pieces = _pieces(days, piece, from_end=place < 0)
        meant = pieces[-many:] if place < 0 else pieces[place - 1 : place - 1 + many]
        return Days(meant[0].first, meant[-1].last) if meant else days
    return _early_or_late(days, match["part"]) if match["part"] else days


def _early_or_late(days: Days, part: str) -> Days:
    third = (days.last - days.first) / 3
    if part in ("early", "beginning of", "start of", "anfang", "début"):
        return Days(days.first, days.first + third)
    if part in ("mid", "middle of", "mitte"):
        return Days(days.first + third, days.last - third)
    return Days(days.last - third, days.last)


def _pieces(days: Days, piece: str, *, from_end: bool) -> list[Days]:
    """Divide a time into its halves, quarters, months, weekends, weeks or days, in order.

    Weeks are counted from the beginning or the end of the time, so *the last week of May* has seven days.
    """
    if piece == "weekend":
        saturday = days.first + timedelta(days=(5 - days.first.weekday()) % 7)
        weekends = range(((days.last - saturday).days + 7) // 7)
        starts = [saturday + timedelta(weeks=number) for number in weekends]
        return [Days(start, start + timedelta(days=1)) for start in starts]
    whole = relativedelta(days.last + timedelta(days=1), days.first)
    months = 12 * whole.years + whole.months
    if piece == "month" or (piece in ("half", "quarter") and months > 1):
        length = {"month": 1, "quarter": 3, "half": max(1, months // 2)}[piece]
        first = [days.first + relativedelta(months=month) for month in range(0, months, length)]
    else:
        count = (days.last - days.first).days + 1
        size = {"day": 1, "week": 7, "quarter": -(-count // 4), "half": -(-count // 2)}[piece]
        first = [
            days.first + timedelta(days=day) for day in range(count % size if from_end else 0, count, size)
        ]
    ends = [start - timedelta(days=1) for start in first[1:]]
    return [Days(*each) for each in zip(first, [*ends, days.last], strict=True)]


def _ago(match: re.Match[str], today: date) -> Days | None:
    suffix = next(each for each in ("", "2", "3", "4", "5") if match[f"number{each}"])
    written, unit = match[f"number{suffix}"], _key(match[f"unit{suffix}"], _UNITS)
    if suffix in ("3", "4", "5"):
        return Days(today - relativedelta(**{f"{unit}s": _value(written)}), today)
    return _units_ago(today, unit, _value(written))


def _units_ago(today: date, unit: str, number: int) -> Days:
    then = today - relativedelta(**{f"{unit}s": number})
    if unit == "day":
        return Days(then, then)
    if unit == "week":
        return Days(_monday(then), _monday(then) + timedelta(days=6))
    if unit == "month":
        return _month(then)
    return Days(date(then.year, 1, 1), date(then.year, 12, 31))


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _month(day: date) -> Days:
    return Days(day.replace(day=1), day.replace(day=1) + relativedelta(months=1, days=-1))


def _one_day(year: int, month: int, day: int) -> Days | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return Days(found, found)


def _quarter(day: date) -> Days:
    return _three_months(day.year, (day.month - 1) // 3 * 3 + 1)


def _three_months(year: int, month: int) -> Days:
    """Return three whole months: a quarter or a season. Winter belongs to the year of its December."""
    first = date(year, month, 1)
    return Days(first, first + relativedelta(months=3, days=-1))


def _weekend(today: date) -> Days:
    saturday = today - timedelta(days=(today.weekday() + 2) % 7)
    return Days(saturday, saturday + timedelta(days=1))


def _around_easter(year: int, first: int, last: int) -> Days:
    sunday = easter(year)
    return Days(sunday + timedelta(days=first), sunday + timedelta(days=last))


def _thanksgiving(year: int) -> date:
    first = date(year, 11, 1)
    return first + timedelta(days=(3 - first.weekday()) % 7 + 21)


_RELATIVE: Mapping[str, Callable[[date], Days]] = {
    "today": lambda today: Days(today, today),
    "yesterday": lambda today: Days(today - timedelta(days=1), today - timedelta(days=1)),
    "before yesterday": lambda today: Days(today - timedelta(days=2), today - timedelta(days=2)),
    "this week": lambda today: Days(_monday(today), _monday(today) + timedelta(days=6)),
    "last week": lambda today: Days(_monday(today) - timedelta(days=7), _monday(today) - timedelta(days=1)),
    "week before last": lambda today: Days(
        _monday(today) - timedelta(days=14), _monday(today) - timedelta(days=8)
    ),
    "this month": _month,
    "last month": lambda today: _month(today - relativedelta(months=1)),
    "month before last": lambda today: _month(today - relativedelta(months=2)),
    "this year": lambda today: Days(date(today.year, 1, 1), date(today.year, 12, 31)),
    "last year": lambda today: Days(date(today.year - 1, 1, 1), date(today.year - 1, 12, 31)),
    "year before last": lambda today: Days(date(today.year - 2, 1, 1), date(today.year - 2, 12, 31)),
    "last weekend": lambda today: Days(
        _monday(today) - timedelta(days=2), _monday(today) - timedelta(days=1)
    ),
    "weekend": lambda today: _weekend(today),
    "last quarter": lambda today: _quarter(today - relativedelta(months=3)),
    "recently": lambda today: Days(today - timedelta(days=30), today),
}


@cache
def _compiled(words: str) -> re.Pattern[str]:
    return re.compile(words)


def _key(text: str, table: Mapping[K, str]) -> K:
    return next(key for key, words in table.items() if _compiled(words).fullmatch(text))


def _value(number: str) -> int:
    return int(number) if number.isdecimal() else _key(number, _NUMBERS)


def _number(text: str, table: Iterable[str]) -> int:
    return next(number for number, words in enumerate(table) if _compiled(words).fullmatch(text))
