"""Read the settings that hide notes from agents: folders, and filters in the query language."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from vaultseek.base.text import fold, quote
from vaultseek.content.query.filters import Filter, Or
from vaultseek.content.query.grammar import parse_query
from vaultseek.errors import BadQuery


class Hidden(NamedTuple):
    """Hidden folders, folded and with a trailing slash, and a filter for all other hidden notes."""

    folders: tuple[str, ...] = ()
    filter: Filter | None = None


def read_hidden(texts: Sequence[str]) -> Hidden:
    """Return the folders and filters in ``texts``, with dates relative to now.

    Raises BadQuery for a setting that is neither a folder nor made only of filters; it would hide nothing.
    """
    folders: list[str] = []
    filters: list[Filter] = []
    for text in texts:
        if (folder := _folder(text)) is not None:
            folders.append(folder)
        else:
            filters.append(_filter(text))
    return Hidden(tuple(folders), Or(tuple(filters)) if len(filters) > 1 else next(iter(filters), None))


def _folder(text: str) -> str | None:
    """Return the folder that a setting names; None if the setting is a filter.

    Raises BadQuery if it could be either.
    """
    written = text.strip()
    if not written.endswith("/") or set(written) & set(':"[]()'):
        return None
    path = written.strip("/")
    is_inside = all(part not in ("", ".", "..") for part in path.split("/"))
    if not is_inside or not path.isprintable() or _OTHER_THAN_FOLDER.search(written):
        raise BadQuery(
            f"{quote(text)} is not a folder; write a folder as Journal/, or an expression as line:/…/"
        )
    return f"{fold(path)}/"


_OTHER_THAN_FOLDER = re.compile(r"^[/!-]|\*| OR ")
"""Pattern for a setting that looks like a regular expression, an exclusion, a wildcard or a list of folders.
If it were read as the name of a folder, it would hide nothing."""


def _filter(text: str) -> Filter:
    query = parse_query(text)
    if query.filter is None or query.rank_text or query.notes:
        why = query.notes[0] if query.notes else f"{quote(query.rank_text or text)} is not a filter"
        raise BadQuery(f"{why}; write a folder as Journal/, a tag as tag:private, or another filter")
    return query.filter
