"""Filters as values: what a note must satisfy, exactly, whatever its rank.

The classes form a closed set, :data:`Filter`. Each says in its docstring what satisfies it, so that an index
may answer the same from its own tables; :func:`matches` is the reference. All text is compared as
:func:`vaultseek.query.compare.fold` leaves it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from vaultseek.model import Task
from vaultseek.query.compare import comparable, contains, is_named, number_of
from vaultseek.query.facts import NoteFacts, Scope
from vaultseek.text import fold

TaskState = Literal["any", "todo", "done"]
DateField = Literal["created", "modified"]
Comparison = Literal["<", "<=", ">", ">="]

_wanted = lru_cache(maxsize=256)(fold)
"""What a condition asks for, folded once for thousands of notes."""


@dataclass(frozen=True, slots=True)
class And:
    """All of ``parts``; at least two."""

    parts: tuple[Filter, ...]

    def matches(self, facts: NoteFacts) -> bool:
        return all(part.matches(facts) for part in self.parts)

    def __str__(self) -> str:
        return "(" + " and ".join(map(str, self.parts)) + ")"


@dataclass(frozen=True, slots=True)
class Or:
    """Any of ``parts``; at least two."""

    parts: tuple[Filter, ...]

    def matches(self, facts: NoteFacts) -> bool:
        return any(part.matches(facts) for part in self.parts)

    def __str__(self) -> str:
        return "(" + " or ".join(map(str, self.parts)) + ")"


@dataclass(frozen=True, slots=True)
class Not:
    """Whatever ``part`` is not satisfied by."""

    part: Filter

    def matches(self, facts: NoteFacts) -> bool:
        return not self.part.matches(facts)

    def __str__(self) -> str:
        return f"not {self.part}"


@dataclass(frozen=True, slots=True)
class Contains:
    """Has ``text`` as whole words in path, title, an alias or the content; a ``prefix`` may go on.

    Inside :class:`Within` and :class:`HasTask` the same is asked of one passage alone.
    """

    text: str
    prefix: bool = False

    def matches(self, facts: NoteFacts) -> bool:
        names = (facts.path, facts.title, *facts.aliases)
        return any(map(self.holds, names)) or any(map(self.holds, facts.passages("content")))

    def holds(self, passage: str) -> bool:
        """Whether the words stand in ``passage``."""
        return contains(fold(passage), _wanted(self.text), prefix=self.prefix)

    def __str__(self) -> str:
        return f'text "{self.text}{"*" if self.prefix else ""}"'


@dataclass(frozen=True, slots=True)
class Within:
    """One passage of the given scope satisfies ``test`` (made of And, Or, Not and Contains) all by itself."""

    scope: Scope
    test: Filter

    def matches(self, facts: NoteFacts) -> bool:
        return any(holds(self.test, passage) for passage in facts.passages(self.scope))

    def __str__(self) -> str:
        return f"{self.scope} with {self.test}"


@dataclass(frozen=True, slots=True)
class HasTask:
    """Has a task in ``state`` (any mark but a space is done) whose text satisfies ``test``, where given."""

    state: TaskState
    test: Filter | None

    def matches(self, facts: NoteFacts) -> bool:
        return any(self._fits(task) for task in facts.tasks)

    def _fits(self, task: Task) -> bool:
        if self.state != "any" and (self.state == "todo") != (task.mark == " "):
            return False
        return self.test is None or holds(self.test, task.text)

    def __str__(self) -> str:
        kind = {"any": "a task", "todo": "an open task", "done": "a finished task"}[self.state]
        return kind if self.test is None else f"{kind} with {self.test}"


@dataclass(frozen=True, slots=True)
class Tag:
    """Has the tag ``name`` or one nested under it. A name of digits alone is no tag and matches nothing."""

    name: str

    def matches(self, facts: NoteFacts) -> bool:
        name = _wanted(self.name).removeprefix("#").strip("/")
        if not name or name.isdigit():
            return False
        return any(f"{fold(tag).removeprefix('#')}/".startswith(f"{name}/") for tag in facts.tags)

    def __str__(self) -> str:
        return f"tag {self.name}"


@dataclass(frozen=True, slots=True)
class PathContains:
    """Has ``text`` somewhere in the vault path; a leading ``/`` stands for the vault's root."""

    text: str

    def matches(self, facts: NoteFacts) -> bool:
        return _wanted(self.text) in "/" + fold(facts.path)

    def __str__(self) -> str:
        return f'path with "{self.text}"'


@dataclass(frozen=True, slots=True)
class InFolder:
    """Lies in the folder ``folder`` of the vault, at any depth."""

    folder: str

    def matches(self, facts: NoteFacts) -> bool:
        folder = _wanted(self.folder).strip("/")
        return not folder or fold(facts.path).startswith(f"{folder}/")

    def __str__(self) -> str:
        return f'in folder "{self.folder}"'


@dataclass(frozen=True, slots=True)
class FileContains:
    """Has ``text`` in the file name, extension included."""

    text: str

    def matches(self, facts: NoteFacts) -> bool:
        return _wanted(self.text) in fold(_base_name(facts.path))

    def __str__(self) -> str:
        return f'file name with "{self.text}"'


@dataclass(frozen=True, slots=True)
class Extension:
    """The file's extension begins with ``text``."""

    text: str

    def matches(self, facts: NoteFacts) -> bool:
        _, dot, extension = fold(_base_name(facts.path)).rpartition(".")
        return bool(dot) and extension.startswith(_wanted(self.text).lstrip("."))

    def __str__(self) -> str:
        return f"extension {self.text}"


@dataclass(frozen=True, slots=True)
class AliasContains:
    """Has ``text`` in one of its aliases."""

    text: str

    def matches(self, facts: NoteFacts) -> bool:
        return any(_wanted(self.text) in fold(alias) for alias in facts.aliases)

    def __str__(self) -> str:
        return f'alias with "{self.text}"'


@dataclass(frozen=True, slots=True)
class HeadingContains:
    """Has ``text`` in one of its headings."""

    text: str

    def matches(self, facts: NoteFacts) -> bool:
        return any(_wanted(self.text) in fold(heading) for heading in facts.headings)

    def __str__(self) -> str:
        return f'heading with "{self.text}"'


@dataclass(frozen=True, slots=True)
class LinksTo:
    """Links to ``note``, named by path, by the end of its path, or by file name; ``.md`` may be left out."""

    note: str

    def matches(self, facts: NoteFacts) -> bool:
        return any(is_named(path, self.note) for path in facts.links)

    def __str__(self) -> str:
        return f'links to "{self.note}"'


@dataclass(frozen=True, slots=True)
class LinkedFrom:
    """``note`` links to it; named as in :class:`LinksTo`."""

    note: str

    def matches(self, facts: NoteFacts) -> bool:
        return any(is_named(path, self.note) for path in facts.backlinks)

    def __str__(self) -> str:
        return f'linked from "{self.note}"'


@dataclass(frozen=True, slots=True)
class HasProperty:
    """Has the property, with whatever value."""

    name: str

    def matches(self, facts: NoteFacts) -> bool:
        return bool(_values(facts, self.name))

    def __str__(self) -> str:
        return f"property {self.name}"


@dataclass(frozen=True, slots=True)
class PropertyNull:
    """Has the property without a value; an empty text or list is a value."""

    name: str

    def matches(self, facts: NoteFacts) -> bool:
        return any(value is None for value in _values(facts, self.name))

    def __str__(self) -> str:
        return f"property {self.name} without value"


@dataclass(frozen=True, slots=True)
class PropertyEquals:
    """The property, or an element of it when it is a list, has the ``comparable`` form of ``value``."""

    name: str
    value: str

    def matches(self, facts: NoteFacts) -> bool:
        wanted = comparable(self.value)
        return any(comparable(element) == wanted for element in _elements(facts, self.name))

    def __str__(self) -> str:
        return f'property {self.name} = "{self.value}"'


@dataclass(frozen=True, slots=True)
class PropertyCompare:
    """The property, or an element of it, stands in that order to ``value``.

    Numbers compare as numbers, ISO dates (also cut short, ``2026`` or ``2026-03``) as text; a number against
    other text does not match.
    """

    name: str
    comparison: Comparison
    value: str

    def matches(self, facts: NoteFacts) -> bool:
        return any(self._fits(element) for element in _elements(facts, self.name))

    def _fits(self, element: object) -> bool:
        have, want = number_of(element), number_of(self.value)
        if have is not None and want is not None:
            return _COMPARE[self.comparison](have, want)
        date, bound = comparable(element) or "", fold(self.value)
        dates = _DATE.match(date) and (_DATE.match(bound) or _YEAR.fullmatch(bound))
        return bool(dates) and _COMPARE[self.comparison](date, bound)

    def __str__(self) -> str:
        return f"property {self.name} {self.comparison} {self.value}"


@dataclass(frozen=True, slots=True)
class Dated:
    """Created or modified from ``start`` on and before ``end`` (aware); never true of an unknown date."""

    field: DateField
    start: datetime | None
    end: datetime | None

    def matches(self, facts: NoteFacts) -> bool:
        seconds = facts.created if self.field == "created" else facts.modified
        if seconds is None or seconds != seconds:
            return False
        late_enough = self.start is None or seconds >= posix(self.start)
        return late_enough and (self.end is None or seconds < posix(self.end))

    def __str__(self) -> str:
        bounds = [f"from {self.start:%Y-%m-%d %H:%M} on"] if self.start else []
        bounds += [f"before {self.end:%Y-%m-%d %H:%M}"] if self.end else []
        return " ".join([self.field, *bounds])


Filter = (
    And | Or | Not | Contains | Within | HasTask | Tag | PathContains | InFolder | FileContains | Extension
    | AliasContains | HeadingContains | LinksTo | LinkedFrom | HasProperty | PropertyNull | PropertyEquals
    | PropertyCompare | Dated
)  # fmt: skip


def matches(condition: Filter | None, facts: NoteFacts) -> bool:
    """Whether the note satisfies ``condition``; every note satisfies None."""
    return condition is None or condition.matches(facts)


def holds(test: Filter, passage: str) -> bool:
    """Whether one passage of text satisfies a test made of And, Or, Not and Contains."""
    match test:
        case And(parts):
            return all(holds(part, passage) for part in parts)
        case Or(parts):
            return any(holds(part, passage) for part in parts)
        case Not(part):
            return not holds(part, passage)
        case Contains():
            return test.holds(passage)
        case _:
            return False


def needs_text(condition: Filter | None) -> bool:
    """Whether ``condition`` can ask for :meth:`NoteFacts.passages`."""
    match condition:
        case And(parts) | Or(parts):
            return any(map(needs_text, parts))
        case Not(part):
            return needs_text(part)
        case _:
            return isinstance(condition, Contains | Within)


def all_of(parts: Iterable[Filter | None]) -> Filter | None:
    """The conjunction of ``parts``, flat and without repetition; None when there are none."""
    found = _flat(parts, And)
    return And(found) if len(found) > 1 else next(iter(found), None)


def any_of(parts: Iterable[Filter | None]) -> Filter | None:
    """The disjunction of ``parts``, flat and without repetition; None when there are none."""
    found = _flat(parts, Or)
    return Or(found) if len(found) > 1 else next(iter(found), None)


def negated(part: Filter) -> Filter:
    """The opposite of ``part``."""
    return part.part if isinstance(part, Not) else Not(part)


def conjuncts(condition: Filter | None) -> tuple[Filter, ...]:
    """The conditions that must all hold, so that an explanation can say how many notes each of them left."""
    if condition is None:
        return ()
    return condition.parts if isinstance(condition, And) else (condition,)


def _flat(parts: Iterable[Filter | None], kind: type[And] | type[Or]) -> tuple[Filter, ...]:
    found: dict[Filter, None] = {}
    for part in parts:
        if isinstance(part, kind):
            found.update(dict.fromkeys(part.parts))
        elif part is not None:
            found[part] = None
    return tuple(found)


def is_bound(value: str) -> bool:
    """Whether anything can stand in an order to ``value``: it is a number, or an ISO date down to a year."""
    bound = fold(value)
    return number_of(value) is not None or bool(_DATE.match(bound) or _YEAR.fullmatch(bound))


def posix(moment: datetime) -> float:
    """Seconds since 1970 of an aware datetime, at any year."""
    return (moment - _EPOCH).total_seconds()


_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?(?:$|[t ])")
_YEAR = re.compile(r"[0-9]{4}")
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": lambda have, want: have < want,
    "<=": lambda have, want: have <= want,
    ">": lambda have, want: have > want,
    ">=": lambda have, want: have >= want,
}


def _base_name(path: str) -> str:
    return path.rpartition("/")[2]


def _values(facts: NoteFacts, name: str) -> list[Any]:
    wanted = fold(name)
    return [value for key, value in facts.properties.items() if fold(key) == wanted]


def _elements(facts: NoteFacts, name: str) -> Iterable[object]:
    for value in _values(facts, name):
        yield from value if isinstance(value, list | tuple) else [value]
