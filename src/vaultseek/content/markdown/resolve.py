"""Resolve links using an index of a vault's file names, which is updated file by file. No I/O.

The rules apply in this order. An empty target is the source itself. ``./`` and ``../`` are relative to the
source's folder, a leading ``/`` to the root; these targets must match exactly. Any other target is first
tried as a path from the root; then as the last segments of a path, preferring paths below the source's
folder, then the shortest; then, if it names no folder, as an alias; and last as Logseq's page name for a file
(``pumps___sump.md`` for ``pumps/sump``). A target is tried as written before ``.md`` is added. Comparison
ignores case, Unicode normalization, invisible characters and the difference between kinds of space.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import nsmallest
from typing import Literal, get_args

from vaultseek.base.model import Link
from vaultseek.base.text import fold_case, without_hidden
from vaultseek.content.markdown.title import file_stem, note_name

LINK_CANDIDATES = 20
"""Maximum number of other matching files reported for an ambiguous link."""

NOTE_SUFFIX = ".md"
FOUND = LINK_CANDIDATES + 1
"""Maximum number of files returned by a search among many files with the same name: the target and the other
candidates."""
LINEAR_SEARCH_MAX = 16
"""Maximum number of files with the same name that are searched one by one. If there are more, they are sorted
once, for all links to that name."""


_Kind = Literal["path", "name", "alias", "page"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """The file that a link leads to: a path in the vault, or None.

    ``candidates`` are the other files that match the link, most likely first (up to ``LINK_CANDIDATES``). A
    full path is never ambiguous.
    """

    path: str | None = None
    candidates: tuple[str, ...] = ()
    by_alias: bool = False


UNRESOLVED = Resolution()


def link_key(target: str) -> str:
    """Return the key by which a link is indexed: the last segment of its target, folded, without ``.md``.

    The resolution of a link can change only when a file with this name is added or removed.
    """
    return _bare(_fold(target.strip()).rpartition("/")[2])


def name_keys(path: str, aliases: Sequence[str] = ()) -> frozenset[str]:
    """Return the file's name and aliases as keys, normalized as in ``link_key``."""
    if _is_hidden(path):
        return frozenset()
    keys = {_bare(_fold(path).rpartition("/")[2])}
    keys.update(_bare(alias) for alias in map(_alias_key, aliases) if alias)
    if page := _page_key(path):
        keys.add(_bare(page.rpartition("/")[2]))
    return frozenset(keys)


class Names:
    """The files of a vault, indexed by name. Paths are relative to the vault, with ``/`` as separator; hidden
    files are left out.
    """

    def __init__(self) -> None:
        self._files: dict[str, tuple[str, ...]] = {}
        self._tables: dict[_Kind, dict[str, list[str]]] = {kind: {} for kind in get_args(_Kind)}
        self._namesakes: dict[tuple[_Kind, str], _Namesakes] = {}

    @classmethod
    def of(cls, files: Iterable[tuple[str, Sequence[str]]]) -> Names:
        """Create the index from files, each given as a path and its aliases."""
        names = cls()
        for path, aliases in files:
            names.add(path, aliases)
        return names

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, path: object) -> bool:
        return path in self._files

    def add(self, path: str, aliases: Sequence[str] = ()) -> None:
        """Add a file, which may be a note or an attachment. If the file is known, its aliases are
        replaced.
        """
        if _is_hidden(path):
            return
        self.remove(path)
        keys = tuple(dict.fromkeys(key for key in map(_alias_key, aliases) if key))
        self._files[path] = keys
        for kind, key in _entries(path, keys):
            self._tables[kind].setdefault(key, []).append(path)
            self._namesakes.pop((kind, key), None)

    def remove(self, path: str) -> None:
        """Remove a file; unknown files are ignored."""
        keys = self._files.pop(path, None)
        if keys is None:
            return
        for kind, key in _entries(path, keys):
            _drop(self._tables[kind], key, path)
            self._namesakes.pop((kind, key), None)

    def paths(self) -> tuple[str, ...]:
        """Return the paths of all files."""
        return tuple(self._files)

    def moved(self, moves: Mapping[str, str]) -> Names:
        """Return a copy of the names in which these files have moved."""
        other = Names()
        other._files = dict(self._files)
        other._tables = {kind: dict(table) for kind, table in self._tables.items()}
        aliases = {path: self._files.get(path, ()) for move in moves.items() for path in move}
        for old, new in moves.items():
            # A note may already be at the new path; its aliases must also be removed from the lists.
            keys = (*aliases[old], *aliases[new])
            for kind, key in (*_entries(old, aliases[old]), *_entries(new, keys)):
                if key in other._tables[kind]:
                    other._tables[kind][key] = list(other._tables[kind][key])
        for old in moves:
            other.remove(old)
        for old, new in moves.items():
            other.add(new, aliases[old])
        return other

    def shared_keys(self) -> set[str]:
        """Return the names that several files share, normalized as in ``link_key``."""
        tables = (self._tables[kind] for kind in ("name", "alias", "page"))
        shared = {key for table in tables for key, paths in list(table.items()) if len(paths) > 1}
        return {_bare(key.rpartition("/")[2]) for key in shared}

    def keys_of(self, path: str) -> frozenset[str]:
        """Return the current keys of the file, normalized as in ``link_key``; empty if the file is
        unknown.
        """
        keys = self._files.get(path)
        return frozenset() if keys is None else name_keys(path, keys)

    def resolve(self, target: str, source: str) -> Resolution:
        """Resolve the target of a link in the note ``source``.

        ``target`` must have no fragment or alias, and must be decoded if it is a Markdown destination.
        """
        target = target.strip()
        if not target:
            return Resolution(source)
        folded_target = _fold(target)
        if folded_target.startswith(("/", "./", "../")):
            return self._exact(target, folded_target, source)
        resolution = self._literal(target, folded_target, source)
        if resolution is None:
            resolution = self._literal(target + NOTE_SUFFIX, folded_target + NOTE_SUFFIX, source)
        if resolution is None and "/" not in folded_target:
            resolution = self._alias(folded_target, source)
        if resolution is None and (pages := self._tables["page"].get(folded_target)):
            resolution = _choice(self._nearest("page", folded_target, pages, ""))
        return resolution or UNRESOLVED

    def resolve_link(self, link: Link, source: str) -> Resolution:
        """Resolve a link in the note ``source``; a link without a target (``[[|text]]``) resolves to
        nothing.
        """
        if not link.target and link.heading is None and link.block is None:
            return UNRESOLVED
        return self.resolve(link.target, source)

    def _exact(self, target: str, folded_target: str, source: str) -> Resolution:
        folder = "" if folded_target.startswith("/") else _folder(_fold(source))
        path = _join(folder, folded_target)
        if path is None or folded_target.endswith("/"):
            return UNRESOLVED
        for suffix in ("", NOTE_SUFFIX):
            paths = self._spelled(path + suffix, target.rpartition("/")[2] + suffix)
            if paths:
                return _choice(paths)
        return UNRESOLVED

    def _literal(self, target: str, folded_target: str, source: str) -> Resolution | None:
        name = folded_target.rpartition("/")[2]
        namesakes = self._tables["name"].get(name)
        if not namesakes:
            return None
        folder = _folder(_fold(source))
        exact = self._spelled(folded_target, target)
        if exact and "/" in folded_target:
            return _choice(exact)
        first = exact or self._spelled(folder + folded_target, target)
        if len(namesakes) <= LINEAR_SEARCH_MAX:
            ending = [path for path in namesakes if _ends_with(_fold(path), folded_target)]
            nearest = sorted(ending, key=lambda path: (not _fold(path).startswith(folder), _rank(path)))
        else:
            nearest = self._all("name", name, namesakes).ending(folded_target).nearest(folder)
        paths = [*first, *(path for path in nearest if path not in first)]
        return _choice(paths) if paths else None

    def _alias(self, folded_target: str, source: str) -> Resolution | None:
        paths = self._tables["alias"].get(folded_target)
        if not paths:
            return None
        folder = _folder(_fold(source))
        return _choice(self._nearest("alias", folded_target, paths, folder), by_alias=True)

    def _nearest(self, kind: _Kind, key: str, paths: Sequence[str], folder: str) -> Sequence[str]:
        """Return the files with this ``key``, files below ``folder`` first. If there are many, return only
        the first few.
        """
        if len(paths) <= LINEAR_SEARCH_MAX:
            return sorted(paths, key=lambda path: (not _fold(path).startswith(folder), _rank(path)))
        return self._all(kind, key, paths).nearest(folder)

    def _spelled(self, folded_path: str, target: str) -> Sequence[str]:
        """Return the files at a folded path, files spelled like ``target`` first. If there are many, return
        only the first few.
        """
        paths = self._tables["path"].get(folded_path, ())
        if len(paths) <= LINEAR_SEARCH_MAX:
            return sorted(paths, key=lambda path: (not _ends_with(path, target), _rank(path)))
        return self._all("path", folded_path, paths).spelled(target)

    def _all(self, kind: _Kind, key: str, paths: Sequence[str]) -> _Namesakes:
        if (kind, key) not in self._namesakes:
            self._namesakes[kind, key] = _Namesakes(paths)
        return self._namesakes[kind, key]


def _entries(path: str, aliases: Iterable[str]) -> Iterator[tuple[_Kind, str]]:
    """Yield the keys by which a file can be found, each with its kind."""
    folded = _fold(path)
    yield "path", folded
    yield "name", folded.rpartition("/")[2]
    for key in aliases:
        yield "alias", key
    if page := _page_key(path):
        yield "page", page


class _Namesakes:
    """Many files that have the same name. Results are cached, so that links need not examine all files
    again.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = sorted(paths, key=_rank)
        self._below: dict[str, Sequence[str]] = {}
        self._ending: dict[str, _Namesakes] = {}
        self._spelled: dict[str, Sequence[str]] = {}

    def nearest(self, folder: str) -> list[str]:
        """Return the first few files, preferring files below ``folder``, then shorter paths."""
        if not folder:
            return self._paths[:FOUND]
        if folder not in self._below:
            below = _within(self._by_folder, folder, folder)
            self._below[folder] = [self._paths[number] for number in nsmallest(FOUND, below)]
        return self._first(self._below[folder])

    def ending(self, folded_target: str) -> _Namesakes:
        """Return the files whose paths end with the segments of ``folded_target``."""
        if "/" not in folded_target:
            return self
        if folded_target not in self._ending:
            end = _backwards(folded_target)
            ending = _within(self._by_end, end, end + "/")
            self._ending[folded_target] = _Namesakes(self._paths[number] for number in ending)
        return self._ending[folded_target]

    def spelled(self, target: str) -> Sequence[str]:
        """Return the first few files, preferring files whose path ends exactly with ``target``."""
        if target not in self._spelled:
            end = _backwards(target)
            spelled = _within(self._by_spelling, end, end + "/")
            self._spelled[target] = [self._paths[number] for number in nsmallest(FOUND, spelled)]
        return self._first(self._spelled[target])

    def _first(self, best: Sequence[str]) -> list[str]:
        others = (path for path in self._paths[: FOUND + len(best)] if path not in best)
        return [*best, *others][:FOUND]

    @cached_property
    def _by_folder(self) -> list[tuple[str, int]]:
        return sorted((_fold(path), number) for number, path in enumerate(self._paths))

    @cached_property
    def _by_end(self) -> list[tuple[str, int]]:
        return sorted((_backwards(_fold(path)), number) for number, path in enumerate(self._paths))

    @cached_property
    def _by_spelling(self) -> list[tuple[str, int]]:
        return sorted((_backwards(path), number) for number, path in enumerate(self._paths))


def _within(pairs: Sequence[tuple[str, int]], exact: str, prefix: str) -> list[int]:
    low = bisect_left(pairs, (prefix,))
    high = bisect_left(pairs, (prefix[:-1] + chr(ord(prefix[-1]) + 1),))
    found = [number for _, number in pairs[low:high]]
    if exact != prefix:
        first, last = bisect_left(pairs, (exact,)), bisect_left(pairs, (exact + "\0",))
        found += [number for _, number in pairs[first:last]]
    return found


def _choice(paths: Sequence[str], *, by_alias: bool = False) -> Resolution:
    return Resolution(paths[0], tuple(paths[1 : LINK_CANDIDATES + 1]), by_alias)


def _rank(path: str) -> tuple[int, str]:
    return len(unicodedata.normalize("NFC", path)), path


def _ends_with(path: str, tail: str) -> bool:
    return path.endswith(tail) and (len(path) == len(tail) or path[-len(tail) - 1] == "/")


def _backwards(path: str) -> str:
    return "/".join(reversed(path.split("/")))


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]


def _join(folder: str, relative: str) -> str | None:
    """Return ``relative`` as a path from the root, starting in ``folder``; None if it is outside the
    vault.
    """
    segments = folder.split("/")[:-1]
    for segment in relative.split("/"):
        if segment == "..":
            if not segments:
                return None
            segments.pop()
        elif segment not in ("", "."):
            segments.append(segment)
    return "/".join(segments)


def _drop(table: dict[str, list[str]], key: str, path: str) -> None:
    paths = table[key]
    paths.remove(path)
    if not paths:
        del table[key]


@lru_cache(maxsize=4096)
def _fold(text: str) -> str:
    return fold_case(without_hidden(text))


def _bare(name: str) -> str:
    """Strip every ``.md`` from a folded name: ``[[a]]`` may refer to ``a.md.md``."""
    while name.endswith(NOTE_SUFFIX):
        name = name[: -len(NOTE_SUFFIX)]
    return name


def _alias_key(alias: str) -> str:
    """Return the folded alias; "" if the alias contains a slash, since a target with a folder never matches
    an alias.
    """
    key = _fold(alias.strip())
    return "" if "/" in key else key


def _page_key(path: str) -> str:
    """Return the folded page name that a file name represents; "" if the page name is the same as the file
    name.
    """
    name = note_name(path)
    return "" if name == file_stem(path) else _fold(name)


def _is_hidden(path: str) -> bool:
    return path.startswith(".") or "/." in path
