"""The files of a vault as seen by formulas: notes and other link targets, read from the index."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from vaultseek.base.limits import SQL_VARIABLES
from vaultseek.base.text import fold
from vaultseek.base.when import When, iso_time
from vaultseek.content.files.obsidian import TYPES_FILE, app_settings
from vaultseek.content.files.scan import file_stat
from vaultseek.content.markdown.links import property_link
from vaultseek.content.markdown.resolve import Names
from vaultseek.core.tables.dates import date_of, read_date
from vaultseek.core.tables.narrow import Narrowing
from vaultseek.core.tables.place import has_base
from vaultseek.core.tables.values import Date, FileName, Link, Tag, Value
from vaultseek.store.ledger import Ledger, LinkRow

_COLUMNS = "id, path, title, tags, properties, modified, size, created, created_kind"


class File:
    """A file in the vault."""

    kind = "file"

    def __init__(self, files: VaultFiles, path: str, row: Sequence[Any] | None = None) -> None:
        self.path = path
        self._files = files
        self._row = row

    @property
    def text(self) -> str:
        """Path of the file."""
        return self.path

    @property
    def number(self) -> int | None:
        """Id of the note; None if the file is not a note in the index."""
        return None if self._row is None else int(self._row[0])

    @property
    def markdown(self) -> str:
        """Link to the file, as Markdown."""
        target = self.path.removesuffix(".md")
        shown = target.rpartition("/")[2]
        return f"[[{target}|{shown}]]" if shown != target else f"[[{target}]]"

    @property
    def name(self) -> FileName:
        """File name with its extension."""
        return FileName(self.path.rpartition("/")[2])

    @property
    def ext(self) -> str:
        """File extension."""
        stem, dot, ext = self.path.rpartition("/")[2].rpartition(".")
        return ext if dot and stem else ""

    @property
    def folder(self) -> str:
        """Path of the folder that contains the file; "/" for the vault's root."""
        return self.path.rpartition("/")[0] or "/"

    @property
    def title(self) -> str:
        """Title of a note, or name of any other file."""
        return self.name.stem if self._row is None else str(self._row[2])

    @cached_property
    def tags(self) -> list[Tag]:
        """All tags in the note's text and properties; empty for a base."""
        return (
            [] if self._row is None or has_base(self.path) else [Tag(tag) for tag in json.loads(self._row[3])]
        )

    @cached_property
    def properties(self) -> Properties:
        """Properties of the note."""
        # Not by orjson: properties may hold integers of any size, NaN and infinity.
        stored = {} if self._row is None or self._row[4] == "{}" else json.loads(self._row[4])
        return Properties(stored, self._value)

    @property
    def size(self) -> int | None:
        """File size in bytes."""
        return self._stat[0]

    @property
    def modified(self) -> Date | None:
        """Time of the last modification."""
        return None if self._stat[1] is None else date_of(When(self._stat[1]))

    @property
    def created(self) -> Date | None:
        """Date given in the note or its name, or else the time of the last modification."""
        return None if self._stat[2] is None else date_of(self._stat[2])

    @cached_property
    def _stat(self) -> tuple[int | None, float | None, When | None]:
        if self._row is not None:
            return int(self._row[6]), float(self._row[5]), When(self._row[7], self._row[8])
        stat = file_stat(self._files.root, self.path)
        if stat is None:
            return None, None, None
        modified = stat.mtime_ns / 1e9
        return stat.size, modified, When(modified)

    @property
    def links(self) -> list[Link]:
        """Links from the note to other files, without embeds."""
        return [_link(row) for row in self._files.links_of(self) if row.link.kind != "embed"]

    @property
    def embeds(self) -> list[Link]:
        """Embeds in the note."""
        return [_link(row) for row in self._files.links_of(self) if row.link.kind == "embed"]

    @property
    def backlinks(self) -> list[File]:
        """Notes that link to the file."""
        return self._files.backlinks_of(self)

    def has_link(self, other: Value) -> bool:
        """True if the note links to ``other``: a file, a link or a name."""
        if isinstance(other, str):
            other = self.link(str(other).removeprefix("[[").removesuffix("]]"))
        path = other.path if isinstance(other, File | Link) else None
        rows = self._files.links_of(self)
        if path is not None:
            return any(row.resolved == path for row in rows)
        wanted = fold(other.target.partition("#")[0]) if isinstance(other, Link) else ""
        return bool(wanted) and any(row.resolved is None and fold(row.link.target) == wanted for row in rows)

    def has_tag(self, name: str) -> bool:
        """True if the note has the tag ``name`` or a tag nested under it."""
        wanted = fold(name).lstrip("#").strip("/")
        return bool(wanted) and any(
            fold(tag) == wanted or fold(tag).startswith(f"{wanted}/") for tag in self.tags
        )

    def is_in(self, folder: str) -> bool:
        """True if the file is in ``folder`` or any folder below it."""
        folder = folder.strip("/")
        return not folder or self.path.startswith(f"{folder}/")

    def link(self, target: str, display: str | None = None) -> Link:
        """Return a link to ``target`` as if it were written in this file."""
        return Link(target, display, self.path, self._files.resolve)

    def find(self, target: str) -> File | None:
        """Return the file to which a link from this file to ``target`` resolves; None if the file is
        missing.
        """
        path = self._files.resolve(target.partition("#")[0], self.path)
        return None if path is None else self._files.at(path)

    def _value(self, name: str, stored: Any) -> Value:
        """Return a property's value converted to its type: the type in Obsidian's settings, or the most
        likely one.
        """
        type = self._files.types.get(fold(name))
        stored = as_listed(name, type, stored)
        if (typed := of_type(type, stored)) is not None:
            return typed
        if fold(name) == "tags" and isinstance(stored, list):
            return [Tag(each.removeprefix("#")) if isinstance(each, str) else each for each in stored]
        return self._typed(stored)

    def _typed(self, stored: Any) -> Value:
        if isinstance(stored, str):
            if stored[:4].isdigit() and (date := read_date(stored)) is not None:
                return date
            written = property_link(stored, 1, "") if stored.lstrip().startswith("[") else None
            return stored if written is None else self.link(_target(written), written.alias)
        if isinstance(stored, list):
            return [self._typed(each) for each in stored]
        if isinstance(stored, dict):
            return {name: self._typed(each) for name, each in stored.items()}
        return stored


def times_of(file: File) -> dict[str, str]:
    """Return a note's times in the form used in answers; empty for other files."""
    _, modified, created = file._stat
    if file.number is None or modified is None or created is None:
        return {}
    return {"modified": iso_time(modified), "created": created.text}


class Properties(Mapping[str, Value]):
    """Properties of a note, looked up by case-insensitive name."""

    def __init__(self, stored: Mapping[str, Any], typed: Callable[[str, Any], Value]) -> None:
        self._stored = stored
        self._typed = typed
        self._values: dict[str, Value] = {}

    @cached_property
    def _folded(self) -> Mapping[str, str]:
        return {fold(name): name for name in self._stored}

    def __getitem__(self, name: str) -> Value:
        own = name if name in self._stored else self._folded[fold(name)]
        if own not in self._values:
            self._values[own] = self._typed(own, self._stored[own])
        return self._values[own]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)


class VaultFiles:
    """Reader of a vault's files for one table; everything read is cached."""

    def __init__(self, ledger: Ledger, root: Path) -> None:
        self.ledger = ledger
        self.root = root
        self._at: dict[str, File | None] = {}
        self._resolved: dict[tuple[str, str], str | None] = {}
        self._links: dict[int, Sequence[LinkRow]] = {}
        self._backlinks: dict[str, Sequence[str]] = {}
        self._read: Sequence[File] = ()
        self._places: dict[str, int] = {}

    @cached_property
    def types(self) -> Mapping[str, str]:
        """Map from property name to property type, from Obsidian's settings."""
        return read_types(self.root)

    def all(self, narrowed: Sequence[Narrowing] = ()) -> list[File]:
        """Return the files of the vault, sorted by path.

        With conditions in ``narrowed``, files that cannot satisfy all of them may be left out.
        """
        sql = f"SELECT {_COLUMNS} FROM notes"
        if narrowed:
            sql += " WHERE " + " AND ".join(f"({each.sql})" for each in narrowed)
        values = [value for each in narrowed for value in each.values]
        files = [File(self, row[1], row) for row in self.ledger.select(sql, *values)]
        if not any(each.notes_only for each in narrowed):
            files += self._other_files(narrowed)
        return self._keep(sorted(files, key=lambda file: file.path))

    def _other_files(self, narrowed: Sequence[Narrowing]) -> Iterator[File]:
        """Yield files other than notes. Only the conditions on paths apply to them."""
        sql = "SELECT path FROM attachments WHERE path NOT IN (SELECT path FROM notes)"
        sql += "".join(f" AND ({each.sql})" for each in narrowed)
        for (path,) in self.ledger.select(sql, *(value for each in narrowed for value in each.values)):
            yield File(self, path)

    def notes(self, ids: Sequence[int], *, by_path: bool = False) -> list[File]:
        """Return the notes with these ids, in the given order or sorted ``by_path``. Deleted notes are left
        out.
        """
        rows: dict[int, Sequence[Any]] = {}
        for start in range(0, len(ids), SQL_VARIABLES):
            part = ids[start : start + SQL_VARIABLES]
            sql = f"SELECT {_COLUMNS} FROM notes WHERE id IN ({', '.join('?' * len(part))})"
            rows |= {row[0]: row for row in self.ledger.select(sql, *part)}
        files = [File(self, rows[id][1], rows[id]) for id in ids if id in rows]
        return self._keep(sorted(files, key=lambda file: file.path) if by_path else files)

    def at(self, path: str) -> File | None:
        """Return the file at ``path``; None if it is not in the index."""
        if path not in self._at:
            rows = self.ledger.select(f"SELECT {_COLUMNS} FROM notes WHERE path = ?", path)
            known = bool(rows) or self.ledger.attachments.contains(path)
            self._at[path] = File(self, path, rows[0] if rows else None) if known else None
        return self._at[path]

    def resolve(self, target: str, source: str) -> str | None:
        """Return the path to which a link in the note ``source`` resolves; None if the file is missing."""
        key = (target, source)
        if key not in self._resolved:
            path = self._names.resolve(target, source).path
            self._resolved[key] = path if target.strip() else None
        return self._resolved[key]

    def has_property(self, name: str) -> bool:
        """True if any note in the vault has a property with this name."""
        written = json.dumps(name, ensure_ascii=False)
        escaped = written.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        sql = "SELECT 1 FROM notes WHERE properties LIKE ? ESCAPE '\\' LIMIT 1"
        return bool(self.ledger.select(sql, f"%{escaped}:%"))

    def links_of(self, file: File) -> Sequence[LinkRow]:
        """Return the links in a note. The links in the next files are read and cached at the same time.

        As in Obsidian, a base has no links, although the index has links to the notes to which it refers.
        """
        if file.number is None or has_base(file.path):
            return ()
        if file.number not in self._links:
            notes = [each.number for each in self._following(file) if each.number is not None]
            links: dict[int, list[LinkRow]] = {note: [] for note in notes}
            for row in self.ledger.links.from_notes(notes):
                if row.link.target:
                    links[row.note].append(row)
            self._links |= links
        return self._links[file.number]

    def backlinks_of(self, file: File) -> list[File]:
        """Return the notes that link to a file, sorted by path."""
        if file.path not in self._backlinks:
            paths = [each.path for each in self._following(file)]
            sources_of: dict[str, dict[str, None]] = {path: {} for path in paths}
            for row in self.ledger.links.to_paths(paths):
                if row.resolved is not None and row.source != row.resolved and not has_base(row.source):
                    sources_of[row.resolved][row.source] = None
            self._backlinks |= {path: list(sources) for path, sources in sources_of.items()}
        files = map(self.at, self._backlinks[file.path])
        return [each for each in files if each is not None]

    def _keep(self, files: list[File]) -> list[File]:
        self._read = tuple(files)
        self._places = {file.path: place for place, file in enumerate(files)}
        self._at |= {file.path: file for file in files}
        return files

    def _following(self, file: File) -> Sequence[File]:
        place = self._places.get(file.path)
        return [file] if place is None else self._read[place : place + SQL_VARIABLES]

    @cached_property
    def _names(self) -> Names:
        return Names.of(self.ledger.link_targets())


def _link(row: LinkRow) -> Link:
    resolved = row.resolved
    return Link(_target(row.link), row.link.alias, row.source, lambda target, source: resolved)


def _target(link: Any) -> str:
    if link.block:
        return f"{link.target}#^{link.block}"
    return f"{link.target}#{link.heading}" if link.heading else str(link.target)


# -- types of properties

LISTS = frozenset({"tags", "aliases", "cssclasses"})
"""Properties that are always lists in Obsidian, even if a note writes them as text with commas."""


def read_types(root: Path) -> Mapping[str, str]:
    """Return a dict from folded property name to property type, from Obsidian's settings; empty if they
    cannot be read.
    """
    types = app_settings(root, TYPES_FILE).get("types")
    pairs = types.items() if isinstance(types, dict) else ()
    return {fold(name): type for name, type in pairs if isinstance(type, str)}


def as_listed(name: str, type: str | None, stored: Any) -> Any:
    """Return a stored value as a list if its property is a list; otherwise unchanged."""
    if isinstance(stored, str) and (fold(name) in LISTS or type in ("tags", "aliases")):
        return [each.strip() for each in stored.split(",") if each.strip()]
    if type == "multitext" and stored is not None and not isinstance(stored, list | dict):
        return [stored]
    return stored


def of_type(type: str | None, stored: Any) -> Value | None:
    """Return a stored value converted to the property's type; unchanged if the property has no type."""
    convert = _CONVERSIONS.get(type or "")
    return convert(stored) if convert is not None and isinstance(stored, str) else None


def _date(stored: str, *, timed: bool) -> Value:
    date = read_date(stored.strip())
    return date and (Date(date.moment) if timed else date.day)


def _number(stored: str) -> Value:
    try:
        number = math.nan if "_" in stored else float(stored)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


_CONVERSIONS: Mapping[str, Callable[[str], Value]] = {
    "text": lambda stored: None if stored.lstrip().startswith("[") else stored,
    "date": partial(_date, timed=False),
    "datetime": partial(_date, timed=True),
    "number": _number,
    "checkbox": lambda stored: {"true": True, "false": False}.get(stored.strip().lower()),
}
"""Functions that convert text to each property type; YAML has already typed all other values."""
