"""Resolve links by an index of a vault's file names, updated file by file. No I/O.

The rules in order: an empty target is the source itself; ``./`` and ``../`` are exact from the source's
folder and a leading ``/`` is exact from the root, both without a fallback; else an exact path; else every
path whose last segments are the target, first those below the source's folder, then the shortest; then
aliases, for targets without a folder; last, the page that a file name stands for in Logseq
(``pumps___sump.md`` for ``pumps/sump``). A target is tried as written before ``.md`` is added. Names are
compared without regard to case, to Unicode normalization and to whether a space breaks the line.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from vaultseek.base.model import Link
from vaultseek.base.text import fold_case
from vaultseek.content.markdown.title import file_stem, note_name

LINK_CANDIDATES = 20
"""Maximum number of other files reported for an ambiguous link."""

NOTE_SUFFIX = ".md"
LINEAR_SEARCH_MAX = 16
"""Up to this many files of one name are searched one by one; more are sorted."""
MANY_BELOW = 256
"""With more files of one name below a folder, all files of the name are searched by length instead."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The target of a link: a path in the vault, or None.

    ``candidates`` are the other files that match the target, the likeliest first (at most
    ``LINK_CANDIDATES``). A full path is not ambiguous.
    """

    path: str | None = None
    candidates: tuple[str, ...] = ()
    by_alias: bool = False


UNRESOLVED = Resolution()


def link_key(target: str) -> str:
    """Return the name by which a link is indexed: the last segment of its target, folded, without ``.md``.

    The resolution of a link can only change when a file with this name is added or removed.
    """
    return _bare(_fold(target.strip()).rpartition("/")[2])


def name_keys(path: str, aliases: Sequence[str] = ()) -> frozenset[str]:
    """Return the names of a file, its own and its aliases, in the form of ``link_key``."""
    if _is_hidden(path):
        return frozenset()
    keys = {_bare(_fold(path).rpartition("/")[2])}
    keys.update(_bare(alias) for alias in map(_alias_key, aliases) if alias)
    if page := _page_key(path):
        keys.add(_bare(page.rpartition("/")[2]))
    return frozenset(keys)


class Names:
    """The files of a vault by name. Paths are relative to the vault, with ``/``; hidden files are omitted."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[str, ...]] = {}
        self._by_path: dict[str, list[str]] = {}
        self._by_name: dict[str, list[str]] = {}
        self._by_alias: dict[str, list[str]] = {}
        self._by_page: dict[str, list[str]] = {}
        self._sorted_paths: dict[str, _SortedPaths] = {}

    @classmethod
    def of(cls, files: Iterable[tuple[str, Sequence[str]]]) -> Names:
        """Return the names of files, given by paths and aliases."""
        names = cls()
        for path, aliases in files:
            names.add(path, aliases)
        return names

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, path: object) -> bool:
        return path in self._files

    def add(self, path: str, aliases: Sequence[str] = ()) -> None:
        """Add a file, note or attachment; for a known one replace the aliases."""
        if _is_hidden(path):
            return
        self.remove(path)
        keys = tuple(dict.fromkeys(key for key in map(_alias_key, aliases) if key))
        self._files[path] = keys
        folded = _fold(path)
        self._by_path.setdefault(folded, []).append(path)
        self._by_name.setdefault(folded.rpartition("/")[2], []).append(path)
        self._sorted_paths.pop(folded.rpartition("/")[2], None)
        for key in keys:
            self._by_alias.setdefault(key, []).append(path)
        if page := _page_key(path):
            self._by_page.setdefault(page, []).append(path)

    def remove(self, path: str) -> None:
        """Remove a file; an unknown one is ignored."""
        keys = self._files.pop(path, None)
        if keys is None:
            return
        folded = _fold(path)
        _drop(self._by_path, folded, path)
        _drop(self._by_name, folded.rpartition("/")[2], path)
        self._sorted_paths.pop(folded.rpartition("/")[2], None)
        for key in keys:
            _drop(self._by_alias, key, path)
        if page := _page_key(path):
            _drop(self._by_page, page, path)

    def paths(self) -> tuple[str, ...]:
        """Return all paths."""
        return tuple(self._files)

    def moved(self, moves: Mapping[str, str]) -> Names:
        """Return the names as they will be when these files have moved; these stay as they are."""
        other = Names()
        other._files = dict(self._files)
        other._by_path = dict(self._by_path)
        other._by_name = dict(self._by_name)
        other._by_alias = dict(self._by_alias)
        other._by_page = dict(self._by_page)
        aliases = {path: self._files.get(path, ()) for move in moves.items() for path in move}
        for old, new in moves.items():
            # A note may be at the new path already: its aliases are removed from the lists, too.
            keys = (*aliases[old], *aliases[new])
            for table, key in (*other._entries(old, aliases[old]), *other._entries(new, keys)):
                if key in table:
                    table[key] = list(table[key])
        for old in moves:
            other.remove(old)
        for old, new in moves.items():
            other.add(new, aliases[old])
        return other

    def shared_keys(self) -> set[str]:
        """Return the names, in the form of ``link_key``, that several files have."""
        tables = (self._by_name, self._by_alias, self._by_page)
        shared = {key for table in tables for key, paths in list(table.items()) if len(paths) > 1}
        return {_bare(key.rpartition("/")[2]) for key in shared}

    def keys_of(self, path: str) -> frozenset[str]:
        """Return the current names of the file; none if it is unknown."""
        keys = self._files.get(path)
        return frozenset() if keys is None else name_keys(path, keys)

    def resolve(self, target: str, source: str) -> Resolution:
        """Resolve ``target`` in the note ``source``.

        The target comes without fragment and alias, and decoded if it is a Markdown destination.
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
        if resolution is None and (pages := self._by_page.get(folded_target)):
            resolution = _choice(sorted(pages, key=_rank))
        return resolution or UNRESOLVED

    def resolve_link(self, link: Link, source: str) -> Resolution:
        """Resolve a link; one without any target (``[[|text]]``) resolves to nothing."""
        if not link.target and link.heading is None and link.block is None:
            return UNRESOLVED
        return self.resolve(link.target, source)

    def _entries(self, path: str, keys: Sequence[str]) -> Iterator[tuple[dict[str, list[str]], str]]:
        folded = _fold(path)
        yield self._by_path, folded
        yield self._by_name, folded.rpartition("/")[2]
        yield from ((self._by_alias, key) for key in keys)
        yield self._by_page, _page_key(path)

    def _exact(self, target: str, folded_target: str, source: str) -> Resolution:
        folder = "" if folded_target.startswith("/") else _folder(_fold(source))
        path = _join(folder, folded_target)
        if path is None or folded_target.endswith("/"):
            return UNRESOLVED
        for suffix in ("", NOTE_SUFFIX):
            paths = self._by_path.get(path + suffix)
            if paths:
                return _choice(_spelled(paths, target.rpartition("/")[2] + suffix))
        return UNRESOLVED

    def _literal(self, target: str, folded_target: str, source: str) -> Resolution | None:
        namesakes = self._by_name.get(folded_target.rpartition("/")[2])
        if not namesakes:
            return None
        folder = _folder(_fold(source))
        exact = self._by_path.get(folded_target)
        if exact and "/" in folded_target:
            return _choice(_spelled(exact, target))
        first = exact or self._by_path.get(folder + folded_target)
        if len(namesakes) <= LINEAR_SEARCH_MAX:
            ending = [path for path in namesakes if _ends_with(_fold(path), folded_target)]
            paths = sorted(ending, key=lambda path: (not _fold(path).startswith(folder), _rank(path)))
        else:
            paths = self._ordered(folded_target.rpartition("/")[2]).find(
                folded_target, folder, LINK_CANDIDATES + 1
            )
        if first:
            best = _spelled(first, target)
            paths = best + [path for path in paths if path not in best]
        return _choice(paths) if paths else None

    def _ordered(self, name: str) -> _SortedPaths:
        ordered = self._sorted_paths.get(name)
        if ordered is None:
            ordered = self._sorted_paths[name] = _SortedPaths(self._by_name[name])
        return ordered

    def _alias(self, folded_target: str, source: str) -> Resolution | None:
        paths = self._by_alias.get(folded_target)
        if not paths:
            return None
        folder = _folder(_fold(source))
        nearest = sorted(paths, key=lambda path: (not _fold(path).startswith(folder), _rank(path)))
        return _choice(nearest, by_alias=True)


class _SortedPaths:
    """Many files of one name, sorted in several ways so that most lookups do not visit all of them."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._by_rank = [(_fold(path), path) for path in sorted(paths, key=_rank)]
        self._by_folder = sorted(self._by_rank)
        self._by_end = sorted((_backwards(folded), path) for folded, path in self._by_rank)

    def find(self, folded_target: str, folder: str, limit: int) -> list[str]:
        """Return the files whose path ends with ``folded_target``: those below ``folder`` first, by rank."""
        if "/" in folded_target:
            end = _backwards(folded_target)
            paths = [path for _, path in _within(self._by_end, end, end + "/")]
            return sorted(paths, key=lambda path: (not _fold(path).startswith(folder), _rank(path)))[:limit]
        if not folder:
            return [path for _, path in self._by_rank[:limit]]
        own = self._below(folder, limit)
        others = [path for _, path in self._by_rank[: limit + len(own)] if path not in own]
        return [*own, *others][:limit]

    def _below(self, folder: str, limit: int) -> list[str]:
        pairs = _within(self._by_folder, folder, folder)
        if len(pairs) <= MANY_BELOW:
            return sorted((path for _, path in pairs), key=_rank)[:limit]
        below = (path for folded, path in self._by_rank if folded.startswith(folder))
        return list(islice(below, limit))


def _within(pairs: list[tuple[str, str]], exact: str, prefix: str) -> list[tuple[str, str]]:
    low = bisect_left(pairs, (prefix, ""))
    high = bisect_left(pairs, (prefix[:-1] + chr(ord(prefix[-1]) + 1), ""))
    if exact == prefix:
        return pairs[low:high]
    first = bisect_left(pairs, (exact, ""))
    return pairs[first : bisect_left(pairs, (exact + "\0", ""))] + pairs[low:high]


def _choice(paths: Sequence[str], *, by_alias: bool = False) -> Resolution:
    return Resolution(paths[0], tuple(paths[1 : LINK_CANDIDATES + 1]), by_alias)


def _spelled(paths: Sequence[str], target: str) -> list[str]:
    """Sort paths that differ only in case or normalization: first the one spelled like the target."""
    return sorted(paths, key=lambda path: (not _ends_with(path, target), _rank(path)))


def _rank(path: str) -> tuple[int, str]:
    return len(unicodedata.normalize("NFC", path)), path


def _ends_with(path: str, tail: str) -> bool:
    return path.endswith(tail) and (len(path) == len(tail) or path[-len(tail) - 1] == "/")


def _backwards(path: str) -> str:
    return "/".join(reversed(path.split("/")))


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]


def _join(folder: str, relative: str) -> str | None:
    """Join ``relative`` to ``folder``; None if the result is outside the vault."""
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


_fold = lru_cache(maxsize=4096)(fold_case)


def _bare(name: str) -> str:
    """Strip every ``.md`` from a folded name: ``[[a]]`` may refer to ``a.md.md``."""
    while name.endswith(NOTE_SUFFIX):
        name = name[: -len(NOTE_SUFFIX)]
    return name


def _alias_key(alias: str) -> str:
    """Return the folded alias; empty if it has a slash, since a path never matches an alias."""
    key = _fold(alias.strip())
    return "" if "/" in key else key


def _page_key(path: str) -> str:
    """Return the folded name of the page that a file name stands for; empty if it is the file name."""
    name = note_name(path)
    return "" if name == file_stem(path) else _fold(name)


def _is_hidden(path: str) -> bool:
    return path.startswith(".") or "/." in path
