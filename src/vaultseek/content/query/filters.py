"""Filters as values: exact conditions on a note, independent of its rank.

The classes form a closed set, :data:`Filter`. The docstring of each class defines which notes match, so that
an index may evaluate the filter from its own tables; :func:`matches` is the reference. All text is compared
folded, see
:func:`vaultseek.base.text.fold`.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Any, Literal

from vaultseek.base.currency import Rules, State, state_of
from vaultseek.base.matching import SHORT_CHARS
from vaultseek.base.model import Task
from vaultseek.base.text import fold
from vaultseek.base.when import When, iso_date
from vaultseek.base.zone import zone
from vaultseek.content.kinds import kind_of
from vaultseek.content.markdown.property_text import named_lines, property_lines, value_text
from vaultseek.content.markdown.rendering import BULLET, PARAGRAPH, render_text
from vaultseek.content.query import expression
from vaultseek.content.query.compare import (
    comparable,
    contains,
    contains_closed,
    is_link_to,
    is_named,
    number_of,
    without_hyphens,
)
from vaultseek.content.query.dates import Period, dates_of, parse_period
from vaultseek.content.query.facts import NoteFacts, Scope
from vaultseek.content.query.normal_forms import spelled

TaskState = Literal["any", "todo", "done"]
DateField = Literal["created", "modified"]
Comparison = Literal["<", "<=", ">", ">="]
Stored = tuple[str, list[str]]
"""The fact that a condition tests, given by its name in ``NoteFacts``, and strings that every matching value
contains.

An index can search for these strings first."""

_folded = lru_cache(maxsize=256)(fold)
"""Function that folds the text of a condition. Results are cached, because the text is compared with
thousands of notes."""


@dataclass(frozen=True, slots=True)
class And:
    """Notes that match all of ``parts``, at least two."""

    parts: tuple[Filter, ...]

    def matches(self, facts: NoteFacts) -> bool:
        return all(part.matches(facts) for part in self.parts)

    def __str__(self) -> str:
        return "(" + " and ".join(map(str, self.parts)) + ")"


@dataclass(frozen=True, slots=True)
class Or:
    """Notes that match any of ``parts``, at least two."""

    parts: tuple[Filter, ...]

    def matches(self, facts: NoteFacts) -> bool:
        return any(part.matches(facts) for part in self.parts)

    def __str__(self) -> str:
        return "(" + " or ".join(map(str, self.parts)) + ")"


@dataclass(frozen=True, slots=True)
class Not:
    """Notes that do not match ``part``."""

    part: Filter

    def matches(self, facts: NoteFacts) -> bool:
        return not self.part.matches(facts)

    def __str__(self) -> str:
        return f"not {self.part}"


@dataclass(frozen=True, slots=True)
class Contains:
    """Notes with ``text`` as whole words in a name, a property or the content. With ``prefix``, the last word
    may be the beginning of a longer word.

    Names are path, title and aliases; a property counts as a line with its name and value. Inside
    :class:`Within` and :class:`HasTask`, the condition applies to a single passage.
    """

    text: str
    prefix: bool = False

    def matches(self, facts: NoteFacts) -> bool:
        if any(map(self.holds, facts.passages("content"))):
            return True  # most notes with the words; reading the properties takes as long again
        names = (facts.path, facts.name_day, facts.title, *facts.aliases)
        lines = (line.text for line in property_lines(facts.properties))
        return self.holds(PARAGRAPH.join((*names, *lines)), facts.day_first)

    @property
    def pattern(self) -> str:
        """Regular expression for the words as written."""
        words = r"\W+".join(map(re.escape, self.text.split()))
        return rf"(?<!\w){words}" + ("" if self.prefix else r"(?!\w)")

    def holds(self, passage: str, day_first: bool | None = None) -> bool:
        """True if a paragraph contains the words, with days and identifiers in any spelling."""
        words = _folded(self.text)
        if not words.isalpha():  # a single word crosses no border
            passage = _BORDER.sub(" \0 ", passage)
        folded = fold(passage)
        return contains(folded, words, prefix=self.prefix) or (
            not self.prefix
            and (contains_closed(folded, words) or spelled(self.text).is_in(passage, day_first))
        )

    def is_written_in(self, passage: str) -> bool:
        """True if ``passage`` contains the words as they are written in the query."""
        return contains(fold(passage), _folded(self.text), prefix=self.prefix)

    def __str__(self) -> str:
        return f'text "{self.text}{"*" if self.prefix else ""}"'


_BORDER = re.compile(f"\\n[ \\t]*+(?=\\n|[-*+#{BULLET}]+ |.* [|] )|{PARAGRAPH}")
"""Border between two paragraphs, or before a list item, a table row, or a heading in plain text. No phrase
crosses it."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Notes whose content, as displayed or as written, matches the regular expression, or whose properties
    match it as lines ``name: value``.

    Inside :class:`Within` and :class:`HasTask`, the condition applies to a single passage.
    """

    pattern: str

    def matches(self, facts: NoteFacts) -> bool:
        text = named_lines(facts.properties)
        if text and self.holds(text):
            return True
        return any(any(map(self.holds, facts.passages(scope))) for scope in ("content", "source"))

    def holds(self, passage: str) -> bool:
        """True if ``passage`` contains a match. Raises BadQuery if matching takes too long."""
        return _has_match(self.pattern, passage)

    def __str__(self) -> str:
        return f"text matching /{self.pattern}/"


@dataclass(frozen=True, slots=True)
class Within:
    """Notes with a passage that matches ``test``; ``scope`` determines what a passage is.

    ``test`` is made of And, Or, Not, Contains and Matches.
    """

    scope: Scope
    test: Filter

    def matches(self, facts: NoteFacts) -> bool:
        as_written = self.scope == "line"
        return any(holds(self.test, passage, as_written=as_written) for passage in facts.passages(self.scope))

    def __str__(self) -> str:
        return f"{self.scope} with {self.test}"


@dataclass(frozen=True, slots=True)
class HasTask:
    """Notes with a task in ``state`` whose text matches ``test``, if given. Any mark except a space means
    done.
    """

    state: TaskState
    test: Filter | None

    def matches(self, facts: NoteFacts) -> bool:
        return any(self._fits(task) for task in facts.tasks)

    def _fits(self, task: Task) -> bool:
        if self.state != "any" and (self.state == "todo") != (task.mark == " "):
            return False
        return self.test is None or any(holds(self.test, text) for text in {task.shown, task.text})

    def stored(self) -> Stored:
        return "tasks", []

    def __str__(self) -> str:
        kind = {"any": "a task", "todo": "an open task", "done": "a finished task"}[self.state]
        return kind if self.test is None else f"{kind} with {self.test}"


@dataclass(frozen=True, slots=True)
class Tag:
    """Notes with the tag ``name`` or a tag nested under it. A name that consists only of digits matches
    nothing.
    """

    name: str

    def matches(self, facts: NoteFacts) -> bool:
        name = _folded(self.name).removeprefix("#").strip("/")
        if not name or name.isdigit():
            return False
        return any(f"{fold(tag).removeprefix('#')}/".startswith(f"{name}/") for tag in facts.tags)

    def __str__(self) -> str:
        return f"tag {self.name}"


Named = Literal["path", "file name", "alias", "heading", "folder", "extension", "kind"]


@dataclass(frozen=True, slots=True)
class HasName:
    """Notes with a matching name.

    The kind of name decides what ``text`` is: a part of the path, of the file name with its extension, of an
    alias or of a heading; a folder, at any depth; the beginning of the extension; or a kind of file. At the
    beginning of a path, ``/`` stands for the vault's root.
    """

    of: Named
    text: str

    def matches(self, facts: NoteFacts) -> bool:
        return _NAMES[self.of][1](facts, _folded(self.text))

    def stored(self) -> Stored:
        text = _folded(self.text).strip("/") + "/" if self.of == "folder" else self.text
        return _NAMES[self.of][0], [] if self.of == "kind" else [text]

    def __str__(self) -> str:
        return _NAMES[self.of][2].format(self.text)


@dataclass(frozen=True, slots=True)
class NameMatches:
    """Notes with a name that matches the regular expression; ``of`` is the kind of name: path, file name,
    alias, heading or tag.
    """

    of: Written
    pattern: str

    def matches(self, facts: NoteFacts) -> bool:
        texts = _WRITTEN[self.of][1](facts)
        return any(_has_match(self.pattern, text) for text in texts)

    def stored(self) -> Stored:
        return _WRITTEN[self.of][0], []

    def __str__(self) -> str:
        return f"{self.of} matching /{self.pattern}/"


Written = Literal["path", "file name", "alias", "heading", "tag"]
_WRITTEN: Mapping[Written, tuple[str, Callable[[NoteFacts], Iterable[str]]]] = {
    "path": ("path", lambda facts: (facts.path,)),
    "file name": ("path", lambda facts: (_base_name(facts.path),)),
    "alias": ("aliases", lambda facts: facts.aliases),
    "heading": ("headings", lambda facts: facts.headings),
    "tag": ("tags", lambda facts: facts.tags),
}
"""Kinds of names that a regular expression can be matched against: for each, the field of `NoteFacts` that it
needs, and the function that reads the names."""


def _shown(names: Iterable[str]) -> Iterator[str]:
    """Yield each name as written and as displayed."""
    for name in names:
        yield name
        if (shown := render_text(name)) != name:
            yield shown


def _is_in_folder(facts: NoteFacts, folder: str) -> bool:
    folder = folder.strip("/")
    return not folder or fold(facts.path).startswith(f"{folder}/")


def _has_extension(facts: NoteFacts, beginning: str) -> bool:
    _, dot, extension = fold(_base_name(facts.path)).rpartition(".")
    return bool(dot) and extension.startswith(beginning.lstrip("."))


def _is_in_any(names: Iterable[str], text: str, day_first: bool | None) -> bool:
    query = spelled(text)
    closed = without_hyphens(text)
    return any(
        text in (folded := fold(name))
        or contains(folded, text)
        or closed in without_hyphens(folded)
        or query.is_part_of(name, day_first)
        for name in names
    )


_NAMES: Mapping[Named, tuple[str, Callable[[NoteFacts, str], bool], str]] = {
    "path": (
        "path",
        lambda facts, text: _is_in_any(("/" + facts.path, facts.name_day), text, facts.day_first),
        'path with "{}"',
    ),
    "file name": (
        "path",
        lambda facts, text: _is_in_any((_base_name(facts.path), facts.name_day), text, facts.day_first),
        'file name with "{}"',
    ),
    "alias": (
        "aliases",
        lambda facts, text: _is_in_any(_shown(facts.aliases), text, facts.day_first),
        'alias with "{}"',
    ),
    "heading": (
        "headings",
        lambda facts, text: _is_in_any(facts.headings, text, None),
        'heading with "{}"',
    ),
    "folder": ("path", _is_in_folder, 'in folder "{}"'),
    "extension": ("path", _has_extension, "extension {}"),
    "kind": ("path", lambda facts, kind: (kind_of(facts.path) or "note") == kind, "kind {}"),
}
"""For each kind of name: the field of `NoteFacts` that it needs, the test of that field against the folded
text, and a description of the condition."""


@dataclass(frozen=True, slots=True)
class Linked:
    """Notes that link to ``note`` or, with ``backlinks``, notes to which it links.

    The note is given by its path, a suffix of the path, or its file name; ``.md`` is optional.
    """

    note: str
    by: Literal["links", "backlinks"] = "links"

    def matches(self, facts: NoteFacts) -> bool:
        paths = facts.links if self.by == "links" else facts.backlinks
        return any(is_named(path, self.note) for path in paths)

    def __str__(self) -> str:
        return f'{"links to" if self.by == "links" else "linked from"} "{self.note}"'


@dataclass(frozen=True, slots=True)
class IsOutdated:
    """Notes that are superseded according to ``rules``, or past their end date on the ISO day ``today``."""

    state: State
    today: str
    rules: Rules

    def matches(self, facts: NoteFacts) -> bool:
        return self.state == state_of(
            facts.stated,
            facts.path,
            facts.tags,
            has_successor=facts.has_successor,
            rules=self.rules,
            today=self.today,
        )

    def __str__(self) -> str:
        return self.state


@dataclass(frozen=True, slots=True)
class HasProperty:
    """Notes that have the property, whatever its value.

    With ``is_null``, notes whose property has no value; "" and [] count as no value.
    """

    name: str
    is_null: bool = False

    def matches(self, facts: NoteFacts) -> bool:
        return any(value is None or not self.is_null for value in _values(facts, self.name))

    def stored(self) -> Stored:
        return "properties", [self.name]

    def __str__(self) -> str:
        return f"property {self.name}{' without value' if self.is_null else ''}"


@dataclass(frozen=True, slots=True)
class PropertyEquals:
    """Notes whose property, or an element of it, equals ``value`` in the ``comparable`` form.

    A number equals all its spellings: ``05`` and ``1e3`` are 5 and 1000. Text equals only its own spelling. A
    day also equals all its spellings: ``2026-1-10`` and ``10.01.2026`` are 2026-01-10, and so is any time on
    that day in the reader's zone. A link also equals the end of its target.
    """

    name: str
    value: str

    def matches(self, facts: NoteFacts) -> bool:
        value, number = comparable(self.value) or "", _number_like(self.value)
        is_exact = number is not None and abs(number) < _EXACT
        date, order = _date_text(self.value), facts.day_first
        is_date = _date(date) is not None
        code = None if is_date else spelled(self.value)
        return any(
            comparable(element) == value
            or (isinstance(element, str) and (is_link_to(element, value) or _is_shown_as(element, value)))
            or (is_exact and not isinstance(element, str) and number_of(element) == number)
            or (is_date and _is_date(_as_text(element), date, order))
            or (code is not None and isinstance(element, str) and code.equals(element))
            for element in _elements(facts, self.name)
        )

    def stored(self) -> Stored:
        text = comparable(self.value) or ""
        is_spelled = _number_like(text) is not None or _date(_date_text(text)) is not None
        # Numbers, dates and booleans may be spelled differently, so their text is not required.
        return "properties", [self.name, *([] if is_spelled or text in ("true", "false") else [text])]

    def __str__(self) -> str:
        return f'property {self.name} = "{self.value}"'


@dataclass(frozen=True, slots=True)
class PropertyMatches:
    """Notes in which the property, or one of its elements, matches the regular expression."""

    name: str
    pattern: str

    def matches(self, facts: NoteFacts) -> bool:
        texts = (value_text(element) for element in _elements(facts, self.name) if element is not None)
        return any(_has_match(self.pattern, text) for text in texts)

    def stored(self) -> Stored:
        return "properties", [self.name]

    def __str__(self) -> str:
        return f"property {self.name} matching /{self.pattern}/"


@dataclass(frozen=True, slots=True)
class PropertyCompare:
    """Notes in which the property, or one of its elements, compares to ``value`` as the operator requires.

    Numbers compare as numbers. ISO dates, including partial dates (``2026`` or ``2026-03``), compare by their
    beginning. A day within a month is greater than the month, and ``<=`` with a month or a day includes all
    of it. A date may lack leading zeros or be a link to a daily note. A number never matches text that is not
    a number.
    """

    name: str
    comparison: Comparison
    value: str

    def matches(self, facts: NoteFacts) -> bool:
        return any(self._fits(element, facts.day_first) for element in _elements(facts, self.name))

    def _fits(self, element: object, day_first: bool | None) -> bool:
        number, bound_number = number_of(element), _number_like(self.value)
        if number is not None and bound_number is not None:
            return _COMPARE[self.comparison](number, bound_number)
        text = _date_text(_as_text(element), day_first)
        value = _period(text, zone()) if _DATE.match(text) else None
        bound_text = _date_text(self.value)
        bound = _period(bound_text, zone())
        if value is None or bound is None:
            return False
        if self.comparison == "<=":
            return bound.end is None or value.start < bound.end
        is_within = value.start == bound.start and len(text) > len(bound_text)
        if self.comparison == ">":
            return value.start > bound.start or is_within
        return _COMPARE[self.comparison](value.start, bound.start)

    def stored(self) -> Stored:
        return "properties", [self.name]

    def __str__(self) -> str:
        return f"property {self.name} {self.comparison} {self.value}"


@dataclass(frozen=True, slots=True)
class Dated:
    """Notes created or modified at ``start`` or later, but before ``end``; both are aware datetimes.

    Notes without a date never match.
    """

    field: DateField
    start: datetime | None
    end: datetime | None

    def matches(self, facts: NoteFacts) -> bool:
        when = facts.created
        if self.field == "modified":
            when = None if facts.modified is None else When(facts.modified)
        return when is not None and when.is_within(self.start, self.end)

    def __str__(self) -> str:
        bounds = [f"since {self.start:%Y-%m-%d %H:%M}"] if self.start else []
        bounds += [f"before {self.end:%Y-%m-%d %H:%M}"] if self.end else []
        return f"{self.field} {' and '.join(bounds)}"


PropertyFilter = HasProperty | PropertyEquals | PropertyMatches | PropertyCompare
OfOneFact = HasTask | HasName | NameMatches | PropertyFilter
"""Conditions on a single fact, whose name is in ``stored``."""
Filter = And | Or | Not | Contains | Matches | Within | Tag | Linked | Dated | IsOutdated | OfOneFact


def matches(condition: Filter | None, facts: NoteFacts) -> bool:
    """True if the note matches ``condition``. If ``condition`` is None, every note matches."""
    return condition is None or condition.matches(facts)


def holds(test: Filter, passage: str, *, as_written: bool = False) -> bool:
    """True if one passage of text matches a test made of And, Or, Not, Contains and Matches.

    With ``as_written``, days and identifiers match only as they are spelled in the query.
    """
    match test:
        case And(parts):
            return all(holds(part, passage, as_written=as_written) for part in parts)
        case Or(parts):
            return any(holds(part, passage, as_written=as_written) for part in parts)
        case Not(part):
            return not holds(part, passage, as_written=as_written)
        case Contains():
            return test.is_written_in(passage) if as_written else test.holds(passage)
        case Matches():
            return test.holds(passage)
        case _:
            return False


def needs_text(condition: Filter | None) -> bool:
    """True if evaluating ``condition`` may require :meth:`NoteFacts.passages`."""
    return any(isinstance(leaf, Contains | Matches | Within) for leaf in leaves(condition))


def patterns_of(condition: Filter | None) -> tuple[str, ...]:
    """Return the regular expressions that a note must match; expressions that exclude notes are left out.

    Words after ``line:`` are also returned as expressions, because they may occur only in the source.
    """
    in_lines = (
        leaf.pattern
        for part in leaves(condition, negated=False)
        if isinstance(part, Within) and part.scope == "line"
        for leaf in _of_texts(part.test)
        if isinstance(leaf, Contains)
    )
    return (
        *(leaf.pattern for leaf in _of_texts(condition) if isinstance(leaf, Matches)),
        # Leave out long expressions: another process compiles them, and other searches must not wait for it.
        *(pattern for pattern in in_lines if len(pattern) <= SHORT_CHARS),
    )


def expressions_of(condition: Filter | None) -> Iterator[str]:
    """Yield every regular expression in a condition, including those for names, properties and exclusions."""
    for leaf in leaves(condition):
        match leaf:
            case Within(test=test) | HasTask(test=test):
                yield from expressions_of(test)
            case Matches(pattern) | NameMatches(pattern=pattern) | PropertyMatches(pattern=pattern):
                yield pattern


def texts_of(condition: Filter | None) -> tuple[str, ...]:
    """Return the words and phrases that a condition requires, as written; excluded words and phrases are left
    out.
    """
    return tuple(
        f"{leaf.text}*" if leaf.prefix else leaf.text
        for leaf in _of_texts(condition)
        if isinstance(leaf, Contains)
    )


def forms_of(part: Filter) -> tuple[str, ...]:
    """Return the normal forms in a condition on one fact.

    A note with one of these forms may match even if it spells the text differently.
    """
    match part:
        case HasName(of="path" | "file name" | "alias" | "heading", text=text):
            return spelled(_folded(text)).terms
        case PropertyEquals(value=value):
            return spelled(value).terms
        case _:
            return ()


def _of_texts(condition: Filter | None) -> Iterator[Filter]:
    for leaf in leaves(condition, negated=False):
        yield from _of_texts(leaf.test) if isinstance(leaf, Within | HasTask) else (leaf,)


def all_of(parts: Iterable[Filter | None]) -> Filter | None:
    """Return the conjunction of ``parts``, flat and without duplicates; None if there are none."""
    flat = _flat(parts, And)
    return And(flat) if len(flat) > 1 else next(iter(flat), None)


def any_of(parts: Iterable[Filter | None]) -> Filter | None:
    """Return the disjunction of ``parts``, flat and without duplicates; None if there are none."""
    flat = _flat(parts, Or)
    return Or(flat) if len(flat) > 1 else next(iter(flat), None)


def negated(part: Filter) -> Filter:
    """Return the negation of ``part``."""
    return part.part if isinstance(part, Not) else Not(part)


def conjuncts(condition: Filter | None) -> tuple[Filter, ...]:
    """Return the conditions that must all be satisfied.

    An explanation can thus count the notes that remain after each condition.
    """
    if condition is None:
        return ()
    return condition.parts if isinstance(condition, And) else (condition,)


def _flat(parts: Iterable[Filter | None], kind: type[And] | type[Or]) -> tuple[Filter, ...]:
    flat: dict[Filter, None] = {}
    for part in parts:
        if isinstance(part, kind):
            flat.update(dict.fromkeys(part.parts))
        elif part is not None:
            flat[part] = None
    return tuple(flat)


def is_bound(value: str) -> bool:
    """True if ``value`` can be ordered: a number, or an ISO date with at least a year."""
    text = _date_text(value)
    return _number_like(value) is not None or bool(_date(text) and parse_period(text, _SOME_TIME))


def _date_text(value: str, day_first: bool | None = None) -> str:
    """Return a date in ISO form from any spelling, such as ``15.03.2026``; return other text folded."""
    text = iso_date(value)
    days = dates_of(text, day_first)
    return fold(days[0] if len(days) == 1 else text)


def _as_text(element: object) -> str:
    """Return, as text, a property element that may be a date, even if it is a number such as 20260315."""
    is_day = isinstance(element, int) and not isinstance(element, bool) and _FIRST_DAY < element < _LAST_DAY
    return str(element) if isinstance(element, str) or is_day else ""


_FIRST_DAY, _LAST_DAY = 1000_01_01, 2100_01_01


def _is_shown_as(element: str, value: str) -> bool:
    """True if a property element, as displayed without markup, equals the value."""
    shown = render_text(element)
    return shown != element and comparable(shown) == value


def _is_date(element: str, date: str, day_first: bool | None) -> bool:
    """True if a property element is this folded ISO date; for a day, also if it is a time on that day."""
    text = _date_text(element, day_first)
    if text == date or not (_TIME.match(text) and _DAY.fullmatch(date)):
        return text == date
    time, day = _period(text, zone()), _period(date, zone())
    return bool(time and day and day.end and day.start <= time.start < day.end)


def _date(text: str) -> re.Match[str] | None:
    """Match an ISO date at the beginning of folded text, or a year that is the whole text."""
    return _DATE.match(text) or _YEAR.fullmatch(text)


@lru_cache(maxsize=4096)
def _period(text: str, zone: tzinfo) -> Period | None:
    """Return the period of a folded ISO date, or its day if the rest is not a time; None for other text.

    ``zone`` applies to dates without a zone.
    """
    match = _date(text)
    if match is None:
        return None
    now = _SOME_TIME.replace(tzinfo=zone)
    return parse_period(text, now) or parse_period(match[0].rstrip("t "), now)


_SOME_TIME = datetime(2000, 1, 1)
"""An arbitrary current time, for parsing dates that do not depend on the current time."""
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?(?:$|[t ])")
_YEAR = re.compile(r"[0-9]{4}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(_DAY.pattern + r"[t ][0-9]")
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _number_like(text: str) -> float | None:
    """Return the number that a query value represents under the rules of YAML; None for other values."""
    return float(text) if _NUMBER_LIKE.fullmatch(text) else None


_EXACT = 2**53
"""Magnitude of integers above which floating-point numbers are no longer exact."""
_NUMBER_LIKE = re.compile(
    r"\s*[+-]?(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,3})?\s*"
)


def _has_match(pattern: str, text: str) -> bool:
    # Queries are in composed Unicode form; notes or file names may be in decomposed form.
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    return expression.find(pattern, composed) is not None


def _base_name(path: str) -> str:
    return path.rpartition("/")[2]


def _values(facts: NoteFacts, name: str) -> list[Any]:
    folded = fold(name)
    return [value for key, value in facts.properties.items() if fold(key) == folded]


def _elements(facts: NoteFacts, name: str) -> Iterable[object]:
    for value in _values(facts, name):
        yield from value if isinstance(value, list | tuple) else [value]


def leaves(condition: Filter | None, *, negated: bool = True) -> Iterator[Filter]:
    """Yield the individual conditions in a filter.

    With ``negated``, negated conditions are also yielded, without their negation.
    """
    match condition:
        case And(parts) | Or(parts):
            for part in parts:
                yield from leaves(part, negated=negated)
        case Not(part):
            yield from leaves(part) if negated else ()
        case None:
            return
        case _:
            yield condition


def properties_of(condition: Filter | None) -> tuple[PropertyFilter, ...]:
    """Return the property conditions that a note must satisfy; conditions that exclude notes are left out."""
    return tuple(leaf for leaf in leaves(condition, negated=False) if isinstance(leaf, PropertyFilter))


def property_patterns(condition: Filter | None) -> tuple[str, ...]:
    """Return regular expressions that find a condition's property names and values in the lines of a note's
    properties."""
    patterns: list[str] = []
    for part in properties_of(condition):
        name = re.escape(part.name)
        if isinstance(part, PropertyEquals):
            patterns.append(rf"(?<=^{name}: .*){re.escape(part.value)}")
        patterns.append(rf"^{name}(?=:|$)")
    return tuple(patterns)
