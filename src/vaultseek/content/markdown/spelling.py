"""Write the target of a link to a file: as short as possible, or in the style of an existing link."""

import posixpath
import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, NamedTuple
from urllib.parse import unquote

from vaultseek.base.model import Link
from vaultseek.base.text import fold_case
from vaultseek.content.markdown.links import in_quotes
from vaultseek.content.markdown.resolve import NOTE_SUFFIX, Names
from vaultseek.content.markdown.title import file_stem, note_name

Format = Literal["shortest", "relative", "absolute"]


class LinkStyle(NamedTuple):
    """Preferred style of links: the form of targets, and whether Markdown links are used instead of
    wikilinks.
    """

    format: Format = "shortest"
    markdown: bool = False


def new_target(path: str, source: str, names: Names, style: LinkStyle) -> str:
    """Return the target of a new link in the note ``source`` to the file at ``path``."""
    wanted = _bare(path, suffix=style.markdown)
    if style.format == "absolute":
        targets = iter((wanted, f"/{wanted}"))
    elif style.format == "relative":
        targets = _relative(wanted, source, dots=False)
    else:
        targets = iter(())
    return _leading(targets, path, source, names) or shortest_target(
        path, source, names, suffix=style.markdown
    )


def shortest_target(path: str, source: str, names: Names, *, suffix: bool = False) -> str:
    """Return the shortest suffix of ``path`` that is unambiguous in a link from ``source``.

    The ``.md`` of a note is omitted unless ``suffix`` is true or no link without ``.md`` reaches the note.
    """
    ambiguous = ""
    for bare in dict.fromkeys((_bare(path, suffix=suffix), path)):
        parts = bare.split("/")
        for count in range(1, len(parts) + 1):
            target = "/".join(parts[-count:])
            resolution = names.resolve(target, source)
            if resolution.path == path and not resolution.by_alias:
                if not resolution.candidates:
                    return target
                ambiguous = ambiguous or target
    return ambiguous or f"/{_bare(path, suffix=suffix)}"


def moved_target(
    link: Link,
    was: tuple[str, str],
    now: tuple[str, str],
    names: Names,
    *,
    by_alias: bool = False,
    portable: bool = False,
) -> str | None:
    """Return the new target of a link after its note and its file have moved.

    ``was`` has the paths of the note and of the file before the move, ``now`` those after the move. ``names``
    are the names after the move. An embed is treated like a wikilink; a Markdown image must be given as a
    Markdown link. The style of the link is kept: name or path, relative or from the root, with or without
    ``.md``. A Markdown link that is a valid path remains a valid path, because other programs follow only
    such links; with ``portable``, the path is relative to the note. If the link matches the file's upper and
    lower case, the new target also does, because some programs are case-sensitive. Returns the target
    unchanged if it is still valid, and None if no target is possible.
    """
    source, path = now
    resolution = names.resolve(link.target, source)
    leads = resolution.path == path and resolution.by_alias == by_alias
    was_true, is_true = (_is_true_path(link, *pair, portable=portable) for pair in (was, now))
    was_spelled, is_spelled = (_is_spelled(link.target, of) for _, of in (was, now))
    if leads and (is_true or not was_true) and (is_spelled or not was_spelled):
        return link.target
    targets = (target for target in _in_manner(link, was, now, names) if _leads(target, path, source, names))
    first = next(targets, None)
    if first is None or link.kind == "markdown" or can_be_in_brackets(first):
        return first
    return next(filter(can_be_in_brackets, targets), first)


def rewritten(written: str, target: str, *, markdown: bool, quote: str = "") -> str:
    """Return ``written``, the target of a link, with its path replaced by ``target`` and its fragment kept.

    ``quote`` is the quotation mark around the link in frontmatter.
    """
    if not markdown:
        end = _WIKI_PATH_END.search(written)
        return in_quotes(target, quote) + (written[end.start() :] if end else "")
    path = _markdown_path(written)
    new = destination(target)
    # Angle brackets around a destination allow spaces, but no other character that must be encoded.
    return in_quotes(new.replace("%20", " ") if " " in written else new, quote) + written[len(path) :]


def with_fragment(written: str, fragment: str, *, markdown: bool, quote: str = "") -> str:
    """Return ``written``, the target of a link, with its fragment replaced by ``fragment``, a heading.

    ``quote`` is the quotation mark around the link in frontmatter.
    """
    if markdown:
        path = _markdown_path(written)
        old = unquote(written[len(path) + 1 :])
        new = (_slug(fragment) if old == _slug(old) else "") or destination(fragment)
        return f"{path}#{in_quotes(new, quote)}"
    path, _, rest = written.partition("#")
    end = _ALIAS.search(rest)
    return f"{path}#{in_quotes(fragment, quote)}{rest[end.start() :] if end else ''}"


def with_target(written: str, moved: str) -> str:
    """Return ``written``, the target of a link, with its path replaced by the path of the target
    ``moved``.
    """
    return _markdown_path(moved) + written[len(_markdown_path(written)) :]


def destination(target: str) -> str:
    """Return a link target encoded as the destination of a Markdown link."""
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", target)


def linkable_heading(text: str) -> str:
    """Return the text of a heading without characters that have a meaning in link syntax."""
    return " ".join(_LINK_SIGNS.sub(" ", text).split())


def is_wikilink(raw: str) -> bool:
    """True if ``raw``, the text of a whole link, is a wikilink or an embed in wikilink form."""
    return raw.startswith(("[[", "![["))


def can_be_in_brackets(target: str) -> bool:
    """False for a target with a character that would end the target of a wikilink."""
    return not _ENDS_TARGET.search(target)


def can_be_linked(path: str) -> bool:
    """False for a path with a character that has a meaning in link syntax."""
    return not _LINK_SIGNS.search(path)


_WIKI_PATH_END = re.compile(r"\\?\||#")
_MARKDOWN_PATH = re.compile(r"(?:&#(?=[0-9]|[xX][0-9a-fA-F])|[^#])*+")
"""Pattern for the path in a Markdown destination. The path may contain an entity such as ``&#39;``."""
_ALIAS = re.compile(r"\\?\|")
_LINK_SIGNS = re.compile(r"[#|^\[\]\\]|%%")
_ENDS_TARGET = re.compile(r"[#|\[\]\n]")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\"#%&():<>?\[\]\\^`{|}]")
_DOTS = re.compile(r"(?:\.{0,2}/)+")


def _markdown_path(written: str) -> str:
    match = _MARKDOWN_PATH.match(written)
    return match[0] if match else ""


def _slug(text: str) -> str:
    """Return a heading in the form that other programs use in Markdown links; "" if that form would lose
    words.
    """
    text = text.casefold()
    slug = "".join(sign for sign in text if sign in "-_ " or not _is_punctuation(sign)).strip()
    words = "".join(" " if _is_punctuation(sign) else sign for sign in text).split()
    return slug.replace(" ", "-") if re.findall(r"[^-_\s]+", slug) == words else ""


def _is_punctuation(sign: str) -> bool:
    return not sign.isalnum() and (sign.isascii() or unicodedata.category(sign).startswith("P"))


def _bare(path: str, *, suffix: bool) -> str:
    return path if suffix else path.removesuffix(NOTE_SUFFIX)


def _leading(targets: Iterator[str], path: str, source: str, names: Names) -> str | None:
    return next((target for target in targets if _leads(target, path, source, names)), None)


def _leads(target: str, path: str, source: str, names: Names) -> bool:
    resolution = names.resolve(target, source)
    return resolution.path == path and not resolution.by_alias


def _in_manner(link: Link, was: tuple[str, str], now: tuple[str, str], names: Names) -> Iterator[str]:
    """Yield possible targets in the style of an existing link, the most similar first."""
    (old_source, old_path), (source, path) = was, now
    target = link.target
    suffix = target.lower().endswith(NOTE_SUFFIX)
    # Some names cannot be linked without their suffix, such as one that ends with a space.
    for bare in dict.fromkeys((_bare(path, suffix=suffix), path)):
        if target.startswith("/"):
            yield f"/{bare}"
        elif target.startswith(("./", "../")):
            yield from _relative(bare, source, dots=target.startswith("./"))
        elif note_name(old_path) != file_stem(old_path) and fold_case(target) == fold_case(
            note_name(old_path)
        ):
            yield note_name(path)
        elif link.kind == "markdown" and _is_relative(target, old_path, old_source):
            yield from _relative(bare, source, dots=False)
        elif "/" in target and fold_case(target) == fold_case(_bare(old_path, suffix=suffix)):
            yield bare
    yield shortest_target(path, source, names, suffix=suffix)
    yield _bare(path, suffix=suffix)
    yield f"/{_bare(path, suffix=suffix)}"
    yield f"/{path}"


def _is_true_path(link: Link, source: str, path: str, *, portable: bool) -> bool:
    if link.kind != "markdown" or not (portable or "/" in link.target):
        return False
    if _is_relative(link.target, path, source):
        return True
    return not portable and _is_relative(link.target, path, "")


def _is_relative(target: str, path: str, source: str) -> bool:
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    return fold_case(joined) in (fold_case(path), fold_case(path.removesuffix(NOTE_SUFFIX)))


def _is_spelled(target: str, path: str) -> bool:
    """True if a target is spelled exactly like the end of a path, including case and Unicode form."""
    start = _DOTS.match(target)
    end = target[start.end() :] if start else target
    return f"/{path}".endswith((f"/{end}", f"/{end}{NOTE_SUFFIX}"))


def _relative(path: str, source: str, *, dots: bool) -> Iterator[str]:
    relative = posixpath.relpath(path, posixpath.dirname(source) or ".")
    if not dots:
        yield relative
    if not relative.startswith("../"):
        yield f"./{relative}"
    yield relative
