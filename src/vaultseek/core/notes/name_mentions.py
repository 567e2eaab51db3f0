"""Find names of notes in prose. Such a mention is a weaker connection between two notes than a link."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from vaultseek.base.limits import SQL_VARIABLES
from vaultseek.base.text import fold, is_unspaced
from vaultseek.content.markdown.links import label_key
from vaultseek.store.ledger import Ledger

_TEXT = r"(?:[^\[\]\n]|\[(?:[^\[\]\n]|\[[^\[\]\n]*+\])*+\])*+"
"""Pattern for the text of a link, with balanced brackets."""
_ADDRESS = r"(?:<[^<>\n]*+>|[^()\n]|\((?:[^()\n]|\([^()\n]*+\))*+\))*+"
"""Pattern for the address and title of a link, with balanced parentheses."""
_PIECES = (
    r"^[ \t>]*+(?P<fence>`{3,}|~{3,})[^\n]*+(?:\n(?![ \t>]*+(?P=fence))[^\n]*+)*+(?:\n[^\n]*+)?",
    r"``(?:[^`\n]|`(?!`))++``|`[^`\n]*+`",
    r"%%(?:[^%]|%(?!%))*+%%|<!--(?:[^-]|-(?!->))*+(?:-->)?",
    r"(?<!\\)\$\$[^$]*+\$\$|(?<![\\$])\$(?![\s$])[^$\n]++(?<!\s)\$(?!\d)",
    r"^[ ]{0,3}\[(?!\^)(?P<label>[^\[\]\n]+)\]:[^\n]*+",
    r"!?\[\[(?:[^\[\]\n]|\](?!\]))*+\]\]",
    rf"!?\[{_TEXT}\](?:\({_ADDRESS}\)|\[[^\[\]\n]*+\])",
    r"\[[!^][^\[\]\n]++\]",
    r"(?<![^\s(>|])[#](?:[^\W_]|[_/-])[^\s,.:;!?()\[\]{}<>|\"'#]*+",
    r"(?<!\S)\^[A-Za-z0-9-]++[ \t]*+$",
    r"</?[A-Za-z][^<>\n]*+>|<[^<>\s]+>|https?://\S+",
)
"""Patterns for code, comments, formulas, definitions, links, footnote and callout marks, tags, block ids and
HTML."""
NO_PROSE = re.compile("|".join(_PIECES), re.MULTILINE)
"""Pattern for parts of a text in which a name is not a mention. Each alternative matches in a single pass, so
that none is slow."""
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"
    r"|[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+(?:['’.+#-]\w+)*[+#]*"
)
"""Pattern for a word, or for one character of a script without spaces."""
MIN_NAME_CHARS = 2
"""Minimum length of a name, in characters. Shorter names would match everywhere; names in unspaced scripts
have no minimum."""


class Named(NamedTuple):
    """A piece of text that names one or more notes: its line, counted from 0, its columns, and the notes."""

    line: int
    start: int
    end: int
    name: str
    notes: tuple[int, ...]


def named_in(lines: Sequence[str], ledger: Ledger, without: int | None = None) -> list[Named]:
    """Return the names of notes found in the prose of ``lines``, only the longest name at each position.

    Names of the note with the id ``without`` are ignored.
    """
    text = prose("\n".join(line.replace("\n", " ") for line in lines))
    pieces = [piece for number, line in enumerate(text.split("\n")) for piece in _pieces(number, line)]
    folded = [fold(name) for _, _, _, name in pieces]
    ids = _ids_by_name(sorted(set(folded)), ledger)
    named: list[Named] = []
    for (line, start, end, name), key in zip(pieces, folded, strict=True):
        if key not in ids:
            continue
        notes = tuple(sorted(ids[key] - {without}))
        inside = named and named[-1].line == line and start < named[-1].end
        if notes and not inside:
            named.append(Named(line, start, end, name, notes))
    return named


def _ids_by_name(names: Sequence[str], ledger: Ledger) -> dict[str, set[int]]:
    ids: dict[str, set[int]] = {}
    for start in range(0, len(names), SQL_VARIABLES):
        part = names[start : start + SQL_VARIABLES]
        sql = f"SELECT name, note FROM names WHERE name IN ({', '.join('?' * len(part))})"
        for name, note in ledger.select(sql, *part):
            ids.setdefault(name, set()).add(note)
    return ids


def _pieces(number: int, prose: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield the pieces of a line that may be names, sorted by position; at each position the longest comes
    first.
    """
    words = list(_WORD.finditer(prose))
    stop = prose.find("\0")
    for at, word in enumerate(words):
        ends = [other.end() for other in words[at : at + NAME_WORDS]]
        if 0 <= stop < word.start():
            stop = prose.find("\0", word.start())
        for end in reversed(ends):
            name = prose[word.start() : end]
            if (stop < 0 or end <= stop) and (len(name) >= MIN_NAME_CHARS or is_unspaced(name)):
                yield number, word.start(), end, name


NAME_WORDS = 10
"""Maximum length of a recognized name: in words or, in unspaced scripts, in characters."""


def prose(text: str, labels: Collection[str] = ()) -> str:
    """Replace everything except prose with null characters, so that lines and columns stay the same.

    ``labels`` are link labels defined elsewhere in the note; they make ``[label]`` a link.
    """
    labels = {*labels, *labels_in(text)}
    text = NO_PROSE.sub(_hidden, text)
    if not labels:
        return text
    return _SHORTCUT.sub(lambda link: _hidden(link) if label_key(link[1]) in labels else link[0], text)


def labels_in(text: str) -> set[str]:
    """Return the keys of the link labels that ``text`` defines."""
    if "]:" not in text:
        return set()
    return {label_key(piece["label"]) for piece in NO_PROSE.finditer(text) if piece["label"]}


def _hidden(piece: re.Match[str]) -> str:
    return _SIGN.sub("\0", piece[0])


_SHORTCUT = re.compile(r"(?<!\\)!?\[([^\[\]\n\0]+)\]")
_SIGN = re.compile(r"[^\n]")
