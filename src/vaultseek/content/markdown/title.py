"""Determine the title of a note, and the name derived from its file name.

The title is the property ``title``; without one, the level-1 heading with which the note begins; otherwise
the file name. What has no words of its own before the heading is ignored: comments, link definitions,
footnotes, pictures and badges. If other level-1 headings follow, the first one is a section, not the title.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal
from urllib.parse import unquote

from vaultseek.base.limits import TITLE_CHARS
from vaultseek.base.model import Heading
from vaultseek.base.text import fold, without_hidden
from vaultseek.content.markdown.structure import BlockKind

TitleSource = Literal["frontmatter", "heading", "name"]
CACHED_NAMES = 4096
"""Number of titles whose comparison with the file name is cached."""


def title_of(written: str | None, opening: Heading | None, path: str) -> tuple[str, TitleSource]:
    """Return the title and its source. ``written`` is the property ``title``, ``opening`` the heading that
    begins the note, if any.
    """
    if written:
        return written, "frontmatter"
    title = ""
    if opening and opening.level == 1:
        title = (opening.text if opening.rendered is None else opening.rendered)[:TITLE_CHARS].strip()
    # Tags are left out of the title, because they are tags of the note, unless nothing else remains.
    title = " ".join(_TAG.sub(" ", title).split()) or title
    return (title, "heading") if title else (note_name(path), "name")


_TAG = re.compile(r"(?<!\S)#(?=[^\s#]*[^\W\d_])[\w/-]+(?!\S)")


def note_name(path: str) -> str:
    """Return the note's name: its file name without the extension.

    Invisible characters are left out. Logseq's escapes are decoded: ``___`` for a slash in a page name, and
    ``%3F`` for a character not allowed in file names.
    """
    stem = name = without_hidden(file_stem(path))
    if "___" in name:
        name = _NAMESPACE.sub("/", name)
    if "%" in name:
        name = _ESCAPED.sub(lambda match: unquote(match[0]), name)
    return name if name.isprintable() or not stem.isprintable() else stem


_NAMESPACE = re.compile(r"(?<=[^_])___(?=[^_])")
_ESCAPED = re.compile("%(?:2[25AFaf]|3[ACEFacef]|5[Cc]|7[Cc])")
"""Escapes for the characters ``" % * / : < > ? \\ |``."""


def file_stem(path: str) -> str:
    """Return the name of the file at ``path`` without its extension."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name


@lru_cache(maxsize=CACHED_NAMES)
def other_name(title: str, path: str) -> str | None:
    """Return the file name of the note at ``path`` if its words differ from the title, otherwise None."""
    name = note_name(path)
    return None if name == title or _words(name) == _words(title) else name


def _words(name: str) -> list[str]:
    return _WORD.findall(fold(name))


_WORD = re.compile(r"[^\W_]+|[^\w\s\-.,:;!?'\"()/]")


def shows_no_words(kind: BlockKind, text: str) -> bool:
    """True for a block without words at its place: a link definition, a footnote, or text that consists of
    comments, pictures and badges."""
    if kind not in ("html", "comment", "paragraph"):
        return kind == "definition"
    return WORDLESS.fullmatch("".join(outside_comments(text))) is not None


_TO = r"(?:\([^)]*\)|\[[^\]]*\])"
_PICTURE = rf"!\[[^\]]*\]{_TO}"
_TAG_OF_PICTURE = r"</?(?:a|br|center|div|img|p|picture|source)(?![\w-])[^<>]*>"
WORDLESS = re.compile(
    rf"\s*(?:\[\^[^\]\s]+\]:.*|(?:(?:\[{_PICTURE}\]{_TO}|{_PICTURE}|!\[\[[^\]]*\]\]|{_TAG_OF_PICTURE})\s*)*+)",
    re.DOTALL | re.IGNORECASE,
)
"""Pattern for text that is blank, a footnote, or only pictures and badges."""


def outside_comments(text: str) -> Iterator[str]:
    """Yield the parts of ``text`` that are outside comments."""
    end = 0
    for match in _COMMENT_START.finditer(text):
        start = match.start()
        if start < end:
            continue
        yield text[end:start]
        closing = "-->" if match[0] == "<!--" else "%%"
        close = text.find(closing, match.end())
        if close < 0:
            return
        end = close + len(closing)
    yield text[end:]


_COMMENT_START = re.compile("<!--|%%")
