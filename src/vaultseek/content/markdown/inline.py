"""Scan the text of a block for links and tags, in one linear pass from left to right.

Links follow CommonMark with Obsidian's wikilinks. A tag may start where Obsidian's metadata cache was
observed to find one: after white space, or right after a separate node (a link, a code span, an escape, a
delimiter that opens or closes emphasis).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from vaultseek.base.limits import NOTE_MARKS, OPEN_BRACKETS
from vaultseek.base.model import Link, LinkKind, Place, PlacedTag
from vaultseek.base.text import without_hidden
from vaultseek.content.markdown.emphasis import Emphasis, emphasis_matters
from vaultseek.content.markdown.links import label_key, markdown_link, parse_destination, wikilink


class Definition(NamedTuple):
    """A link reference definition: its raw destination, and the position of the destination."""

    destination: str
    place: Place | None = None


Definitions = Mapping[str, Definition]


@dataclass(slots=True)
class Inlines:
    """The links and tags of a note, in document order."""

    links: list[Link] = field(default_factory=list)
    tags: list[PlacedTag] = field(default_factory=list)
    marks: int = NOTE_MARKS
    """Number of markup characters that may still be scanned in this note."""


def worth_scanning(text: str) -> bool:
    """True if ``text`` may contain a link or a tag."""
    return "[" in text or "#" in text


class Source(NamedTuple):
    """The lines of the file that contain a block's text.

    Each line of the text is the final part of one of these lines. ``after`` is the number of characters that
    follow the text on the last line.
    """

    lines: Sequence[str]
    after: int = 0


def is_tag(text: str) -> bool:
    """True if ``text`` can be a whole tag, both in a note's body and in frontmatter."""
    from vaultseek.content.markdown.yamlcore import resolve  # importing YAML is slow

    # YAML reads a single hyphen as a list item; digits alone are not a tag, even as text.
    if not _TAG.fullmatch(text) or text == "-" or (text.isascii() and text.isdigit()):
        return False
    return bool(resolve(text) == text)


def scan(text: str, line: int, source: Source, definitions: Definitions, inlines: Inlines) -> None:
    """Add the links and tags in a block's ``text`` to ``inlines``. ``line`` is the number of the text's first
    line.
    """
    _Scanner(text, line, source, definitions, inlines).run()


# A pattern that begins with a set of characters is found several times as fast.
_IS_SPECIAL = r"(?:(?<![!hH])|(?<=!)(?=\[)|(?<=[hH])(?i:ttps?://))"
_SPECIAL = re.compile(rf"[\\`$<\[\]#!hH]{_IS_SPECIAL}")
_SPECIAL_EMPHASIS = re.compile(rf"[\\`$<\[\]#*_~=!hH]{_IS_SPECIAL}")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_TAG_SIGN = r"[^\s\x00-,.:-@\[-^`{-\x7f\ufeff\u2000-\u206f\u2e00-\u2e7f]"
_TAG = re.compile(rf"(?:{_TAG_SIGN}++|(?<=\w)[\u200b\u2060\ufeff]++(?={_TAG_SIGN}))+")
"""Pattern for a tag. Zero-width spaces do not end a tag."""
_URL_REST = re.compile(r"[^\s<>\[\]`|\"']*")
_BACKTICKS = re.compile(r"`+")
_DOLLAR = re.compile(r"(?<![\\ \t])\$(?![0-9])")
_WIKI_END = re.compile(r"\]\]|\[\[|\n")
_FOOTNOTE = re.compile(r"\[\^[^\s\[\]]+\]")
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.){0,999}+)\]", re.DOTALL)
_AUTOLINK = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*+|[^\s<>@]++@[^\s<>@]++)>")
_ATTRIBUTE = r"\s++[A-Za-z_:][\w:.-]*+(?:\s*+=\s*+(?:[^\s\"'=<>`]++|'[^']*+'|\"[^\"]*+\"))?+"
_HTML_TAG = re.compile(rf"</[A-Za-z][A-Za-z0-9-]*+\s*+>|<[A-Za-z][A-Za-z0-9-]*+(?:{_ATTRIBUTE})*+\s*+/?>")


@dataclass(slots=True)
class _Bracket:
    """An open bracket: the position after it, and the number of links and tags found before it."""

    content: int
    image: bool
    links: int
    tags: int
    nested: bool = False
    pending: list[PlacedTag] | None = None
    """Tags that start right after the bracket. They count only if the bracket is closed."""


class _Scanner:
    def __init__(
        self, text: str, line: int, source: Source, definitions: Definitions, inlines: Inlines
    ) -> None:
        self.text = text
        self.line = line
        self.source = source
        self.line_position = 0
        self.span = (0, -1)
        """Range, in the text, of one line: the last line for which a position in the file was computed."""
        self.definitions = definitions
        self.inlines = inlines
        self.node_end = 0
        """End of the last node; a tag may start there."""
        self.brackets: list[_Bracket] = []
        self.inactive = 0
        """Number of outermost brackets that contain a link and therefore cannot be links themselves."""
        self.last_tag: tuple[int, _Bracket | None] = (-1, None)
        """End of the last tag, and the open bracket on which this tag depends, if any. A tag directly after
        the last tag depends on the same bracket."""
        self.no_double_dollar = False
        self._runs: dict[int, list[int]] | None = None
        self._dollars: list[int] | None = None
        self.emphasis = Emphasis(text) if emphasis_matters(text) else None

    def run(self) -> None:
        text = self.text
        search = (_SPECIAL_EMPHASIS if self.emphasis else _SPECIAL).search
        handlers = _HANDLERS
        position = 0
        marks = self.inlines.marks
        while marks and (match := search(text, position)):
            start = match.start()
            position = handlers[text[start]](self, start)
            marks -= 1
        self.inlines.marks = marks

    def _line_of(self, position: int) -> int:
        # Links come in ascending order, so each line end is counted once.
        if position > self.line_position:
            self.line += self.text.count("\n", self.line_position, position)
            self.line_position = position
            return self.line
        return self.line - self.text.count("\n", position, self.line_position)

    def _place(self, line: int, start: int, end: int) -> Place | None:
        """Return the position in the file of the range from ``start`` to ``end``, cut off at the end of
        ``line``.
        """
        if not self.span[0] <= start <= self.span[1]:
            after = self.text.find("\n", start)
            self.span = self.text.rfind("\n", 0, start) + 1, len(self.text) if after < 0 else after
        stop = self.span[1]
        lines, after = self.source
        if line > len(lines):
            return None
        width = len(lines[line - 1]) - (after if stop == len(self.text) else 0)
        return Place(line, width - (stop - start), width - (stop - min(end, stop)))

    def _node(self, end: int) -> int:
        self.node_end = end
        return end

    # -- escapes, code, math, HTML and URLs

    def escape(self, position: int) -> int:
        return (
            self._node(position + 2)
            if self.text[position + 1 : position + 2] in _PUNCTUATION
            else position + 1
        )

    def code(self, position: int) -> int:
        run = _BACKTICKS.match(self.text, position)
        end = run.end() if run else position + 1
        for length in range(end - position, 0, -1):
            closer = self._closing_run(length, end)
            if closer is not None:
                return self._node(closer + length)
        return end

    def _closing_run(self, length: int, after: int) -> int | None:
        if self._runs is None:
            self._runs = {}
            for match in _BACKTICKS.finditer(self.text):
                self._runs.setdefault(match.end() - match.start(), []).append(match.start())
        starts = self._runs.get(length)
        if not starts:
            return None
        index = bisect_left(starts, after)
        return starts[index] if index < len(starts) else None

    def math(self, position: int) -> int:
        text = self.text
        following = text[position + 1 : position + 2]
        if following == "$":
            end = -1 if self.no_double_dollar else text.find("$$", position + 2)
            self.no_double_dollar = end < 0
            return position + 1 if end < 0 else self._node(end + 2)
        if not following or following in " \t":
            return position + 1
        if self._dollars is None:
            self._dollars = [match.start() for match in _DOLLAR.finditer(text)]
        index = bisect_right(self._dollars, position + 1)
        if index == len(self._dollars):
            return position + 1
        return self._node(self._dollars[index] + 1)

    def angle(self, position: int) -> int:
        text = self.text
        if text.startswith("<!--", position):
            return self.comment(position)
        match = _HTML_TAG.match(text, position) or _AUTOLINK.match(text, position)
        return self._node(match.end()) if match else position + 1

    def comment(self, position: int) -> int:
        text = self.text
        if text.startswith((">", "->"), position + 4):
            return position + 4
        end = text.find("--", position + 4 + text.startswith("-", position + 4))
        if end < 0 or not text.startswith(">", end + 2):
            return position + 4
        return self._node(end + 3)

    def url(self, position: int) -> int:
        rest = _URL_REST.match(self.text, position)
        return rest.end() if rest else position + 1

    # -- tags

    def hash(self, position: int) -> int:
        text = self.text
        opener = self._opener_before(position)
        previous = text[position - 1]
        if opener is None and not (position == self.node_end or previous.isspace() or previous == "\ufeff"):
            return position + 1
        limit = self.emphasis.limit(position) if self.emphasis else len(text)
        match = _TAG.match(text, position + 1, limit)
        if not match or (match[0].isascii() and match[0].isdigit()):
            return position + 1
        place = self._place(self._line_of(position), position + 1, match.end())
        tag = PlacedTag(without_hidden(match[0]), place or Place(self.line, 0, 0))
        if opener is None:
            self.inlines.tags.append(tag)
        else:
            opener.pending = [*(opener.pending or ()), tag]
        self.node_end = match.end()
        self.last_tag = (self.node_end, opener)
        return self.node_end

    def _opener_before(self, position: int) -> _Bracket | None:
        if position == self.last_tag[0]:
            return self.last_tag[1]
        last = self.brackets[-1] if self.brackets else None
        return last if last is not None and last.content == position else None

    def delimiter(self, position: int) -> int:
        assert self.emphasis is not None
        end, is_node = self.emphasis.consume(position)
        return self._node(end) if is_node else end

    # -- brackets

    def bang(self, position: int) -> int:
        if self.text.startswith("[[", position + 1) and (end := self.wiki(position + 1, "embed")):
            return end
        return self._push(position + 2, image=True)

    def bracket(self, position: int) -> int:
        text = self.text
        if text.startswith("[", position + 1) and (end := self.wiki(position, "wikilink")):
            return end
        if text.startswith("^", position + 1) and (match := _FOOTNOTE.match(text, position)):
            return self._node(match.end())
        return self._push(position + 1, image=False)

    def _push(self, content: int, *, image: bool) -> int:
        if len(self.brackets) >= OPEN_BRACKETS:
            # The innermost brackets are the most likely to be closed.
            del self.brackets[: OPEN_BRACKETS // 2]
            self.inactive = max(0, self.inactive - OPEN_BRACKETS // 2)
        inlines = self.inlines
        self.brackets.append(_Bracket(content, image, len(inlines.links), len(inlines.tags)))
        return content

    def wiki(self, position: int, kind: LinkKind) -> int | None:
        text, start = self.text, position + 2
        if text.startswith("[", start):
            return None
        match = _WIKI_END.search(text, start)
        if not match or match[0] != "]]":
            return None
        end = match.start()
        content = text[start:end]
        if text.startswith("]", end + 2) and content.count("[") > content.count("]"):
            end += 1
            content = text[start:end]
        line = self._line_of(position)
        first = position - (kind == "embed")
        places = self._place(line, first, end + 2), self._place(line, start, end)
        link = wikilink(content, kind, line, None, places)
        if link is not None:
            self.inlines.links.append(link)
            self.node_end = end + 2
        return end + 2

    def close(self, position: int) -> int:
        if not self.brackets:
            return position + 1
        opener = self.brackets.pop()
        active = opener.image or len(self.brackets) >= self.inactive
        self.inactive = min(self.inactive, len(self.brackets))
        end, definition = self._partner(opener, position)
        if end is None:
            if self.brackets:
                self.brackets[-1].nested = True
            return position + 1
        self._add_pending_tags(opener)
        if self.brackets:
            self.brackets[-1].nested = True
        if definition is not None and active:
            self._add_link(opener, position, end, definition)
        return self._node(end)

    def _partner(self, opener: _Bracket, position: int) -> tuple[int | None, Definition | None]:
        """Return the end and the destination of the link or image that the ``]`` at ``position`` closes.

        The end is None if the brackets are plain text.
        """
        text = self.text
        if text.startswith("(", position + 1):
            destination, end = parse_destination(text, position + 1)
            if end:
                start = text.find(destination, position + 2)
                return end, Definition(destination, self._place_ahead(start, start + len(destination)))
        if text.startswith("[", position + 1) and not text.startswith("[^", position + 1):
            label = _LABEL.match(text, position + 1)
            if label and label[1].strip():
                return label.end(), self._definition(label[1])
            if label and not label[1] and not opener.nested and position > opener.content:
                return label.end(), self._definition(text[opener.content : position])
        if opener.nested or position == opener.content:
            return None, None
        return position + 1, self._definition(text[opener.content : position])

    def _place_ahead(self, start: int, end: int) -> Place | None:
        line, position = self.line, self.line_position
        place = self._place(self._line_of(start), start, end)
        self.line, self.line_position = line, position
        return place

    def _definition(self, label: str) -> Definition | None:
        return self.definitions.get(label_key(label)) if self.definitions else None

    def _add_pending_tags(self, opener: _Bracket) -> None:
        """Add the tags that depended on the bracket now closed; drop tags in an image's alt text."""
        inlines = self.inlines
        if opener.image:
            del inlines.links[opener.links :]
            del inlines.tags[opener.tags :]
        elif opener.pending:
            inlines.tags[opener.tags : opener.tags] = opener.pending

    def _add_link(self, opener: _Bracket, position: int, end: int, definition: Definition) -> None:
        kind: LinkKind = "embed" if opener.image else "markdown"
        alias = self.text[opener.content : position]
        line = self._line_of(opener.content)
        place = self._place(line, opener.content - 1 - opener.image, end)
        link = markdown_link(definition.destination, kind, alias, line, None, (place, definition.place))
        if link is not None:
            self.inlines.links.insert(opener.links, link)
        if not opener.image:
            self.inactive = len(self.brackets)


_HANDLERS = {
    "\\": _Scanner.escape,
    "`": _Scanner.code,
    "$": _Scanner.math,
    "<": _Scanner.angle,
    "[": _Scanner.bracket,
    "]": _Scanner.close,
    "!": _Scanner.bang,
    "#": _Scanner.hash,
    "h": _Scanner.url,
    "H": _Scanner.url,
    "*": _Scanner.delimiter,
    "_": _Scanner.delimiter,
    "~": _Scanner.delimiter,
    "=": _Scanner.delimiter,
}
