"""Links and tags in the text of a block, in one pass from left to right and in linear time.

Links follow CommonMark with Obsidian's wikilinks; where a tag may start follows what Obsidian's metadata
cache was observed to hold: after white space, or right after something that it reads as a node of its own (a
link, a code span, an escape, a delimiter that opens or closes emphasis).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from vaultseek.limits import NOTE_MARKS, OPEN_BRACKETS
from vaultseek.markdown.emphasis import Emphasis, emphasis_matters
from vaultseek.markdown.links import destination_at, label_key, markdown_link, wikilink
from vaultseek.model import Link, LinkKind

Definitions = Mapping[str, str]


@dataclass(slots=True)
class Found:
    """The links and tags of a note, in document order."""

    links: list[Link] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    marks: int = NOTE_MARKS
    """The number of significant characters that may still be scanned."""


def worth_scanning(text: str) -> bool:
    """True if ``text`` may have a link or a tag."""
    return "[" in text or "#" in text


def scan(text: str, line: int, definitions: Definitions, found: Found) -> None:
    """Add the links and tags of a block's ``text``, whose first line is ``line``, to ``found``."""
    _Scanner(text, line, definitions, found).run()


_SPECIAL = re.compile(r"[\\`$<\[\]#]|!(?=\[)|https?://", re.IGNORECASE)
_SPECIAL_EMPHASIS = re.compile(r"[\\`$<\[\]#*_~=]|!(?=\[)|https?://", re.IGNORECASE)
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_TAG = re.compile(r"[^\s\x00-,.:-@\[-^`{-\x7f\ufeff\u2000-\u206f\u2e00-\u2e7f]+")
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
    """An opening bracket without its partner yet."""

    content: int
    image: bool
    links: int
    tags: int
    nested: bool = False
    pending: list[str] | None = None
    """Tags that start right after the bracket; they count only if it is one of a pair."""


class _Scanner:
    def __init__(self, text: str, line: int, definitions: Definitions, found: Found) -> None:
        self.text = text
        self.line = line
        self.counted = 0
        self.definitions = definitions
        self.found = found
        self.edge = 0
        """The end of the last node, where a tag may start."""
        self.brackets: list[_Bracket] = []
        self.inactive = 0
        """The number of outermost brackets that are around a link and so make none themselves."""
        self.chain: tuple[int, _Bracket | None] = (-1, None)
        """The end of the last tag and the bracket that decides about it, also for tags glued to it."""
        self.no_double_dollar = False
        self._runs: dict[int, list[int]] | None = None
        self._dollars: list[int] | None = None
        self.emphasis = Emphasis(text) if emphasis_matters(text) else None

    def run(self) -> None:
        text = self.text
        search = (_SPECIAL_EMPHASIS if self.emphasis else _SPECIAL).search
        handlers = _HANDLERS
        at = 0
        marks = self.found.marks
        while marks and (match := search(text, at)):
            start = match.start()
            at = handlers[text[start]](self, start)
            marks -= 1
        self.found.marks = marks

    def _line_of(self, at: int) -> int:
        # Links come in ascending order, so that each line end is counted once.
        if at > self.counted:
            self.line += self.text.count("\n", self.counted, at)
            self.counted = at
            return self.line
        return self.line - self.text.count("\n", at, self.counted)

    # -- what hides text

    def escape(self, at: int) -> int:
        if self.text[at + 1 : at + 2] in _PUNCTUATION:
            self.edge = at + 2
            return at + 2
        return at + 1

    def code(self, at: int) -> int:
        run = _BACKTICKS.match(self.text, at)
        end = run.end() if run else at + 1
        for length in range(end - at, 0, -1):
            closer = self._closing_run(length, end)
            if closer is not None:
                self.edge = closer + length
                return self.edge
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

    def math(self, at: int) -> int:
        text = self.text
        following = text[at + 1 : at + 2]
        if following == "$":
            return self.double_math(at)
        if not following or following in " \t":
            return at + 1
        if self._dollars is None:
            self._dollars = [match.start() for match in _DOLLAR.finditer(text)]
        index = bisect_right(self._dollars, at + 1)
        if index == len(self._dollars):
            return at + 1
        self.edge = self._dollars[index] + 1
        return self.edge

    def double_math(self, at: int) -> int:
        end = -1 if self.no_double_dollar else self.text.find("$$", at + 2)
        if end < 0:
            self.no_double_dollar = True
            return at + 1
        self.edge = end + 2
        return self.edge

    def angle(self, at: int) -> int:
        text = self.text
        if text.startswith("<!--", at):
            return self.comment(at)
        match = _HTML_TAG.match(text, at) or _AUTOLINK.match(text, at)
        if not match:
            return at + 1
        self.edge = match.end()
        return self.edge

    def comment(self, at: int) -> int:
        text = self.text
        if text.startswith((">", "->"), at + 4):
            return at + 4
        end = text.find("--", at + 4 + text.startswith("-", at + 4))
        if end < 0 or not text.startswith(">", end + 2):
            return at + 4
        self.edge = end + 3
        return self.edge

    def url(self, at: int) -> int:
        rest = _URL_REST.match(self.text, at)
        return rest.end() if rest else at + 1

    # -- tags

    def hash(self, at: int) -> int:
        text = self.text
        waiting = self._waiting_for_tag(at)
        if waiting is None and not (at == self.edge or text[at - 1].isspace() or text[at - 1] == "\ufeff"):
            return at + 1
        limit = self.emphasis.limit(at) if self.emphasis else len(text)
        match = _TAG.match(text, at + 1, limit)
        if not match or (match[0].isascii() and match[0].isdigit()):
            return at + 1
        if waiting is None:
            self.found.tags.append(match[0])
        else:
            waiting.pending = [*(waiting.pending or ()), match[0]]
        self.edge = match.end()
        self.chain = (self.edge, waiting)
        return self.edge

    def _waiting_for_tag(self, at: int) -> _Bracket | None:
        if at == self.chain[0]:
            return self.chain[1]
        last = self.brackets[-1] if self.brackets else None
        return last if last is not None and last.content == at else None

    def delimiter(self, at: int) -> int:
        assert self.emphasis is not None
        end, is_node = self.emphasis.take(at)
        if is_node:
            self.edge = end
        return end

    # -- brackets

    def bang(self, at: int) -> int:
        if self.text.startswith("[[", at + 1) and (end := self.wiki(at + 1, "embed")):
            return end
        return self._push(at + 2, image=True)

    def bracket(self, at: int) -> int:
        text = self.text
        if text.startswith("[", at + 1) and (end := self.wiki(at, "wikilink")):
            return end
        if text.startswith("^", at + 1) and (match := _FOOTNOTE.match(text, at)):
            self.edge = match.end()
            return self.edge
        return self._push(at + 1, image=False)

    def _push(self, content: int, *, image: bool) -> int:
        if len(self.brackets) >= OPEN_BRACKETS:
            # The innermost brackets are the ones that may still close.
            del self.brackets[: OPEN_BRACKETS // 2]
            self.inactive = max(0, self.inactive - OPEN_BRACKETS // 2)
        found = self.found
        self.brackets.append(_Bracket(content, image, len(found.links), len(found.tags)))
        return content

    def wiki(self, at: int, kind: LinkKind) -> int | None:
        """Return the end of the wikilink whose ``[[`` is at ``at``; None if there is none."""
        text, start = self.text, at + 2
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
        link = wikilink(content, kind, self._line_of(at))
        if link is not None:
            self.found.links.append(link)
            self.edge = end + 2
        return end + 2

    def close(self, at: int) -> int:
        if not self.brackets:
            return at + 1
        opener = self.brackets.pop()
        active = opener.image or len(self.brackets) >= self.inactive
        self.inactive = min(self.inactive, len(self.brackets))
        end, destination = self._partner(opener, at)
        if end is None:
            if self.brackets:
                self.brackets[-1].nested = True
            return at + 1
        self._settle(opener)
        if self.brackets:
            self.brackets[-1].nested = True
        if destination is not None and active:
            self._add_link(opener, at, destination)
        self.edge = end
        return end

    def _partner(self, opener: _Bracket, at: int) -> tuple[int | None, str | None]:
        """Return the end of the node that the ``]`` at ``at`` closes (None: text), and its destination."""
        text = self.text
        if text.startswith("(", at + 1):
            destination, end = destination_at(text, at + 1)
            if end:
                return end, destination
        if text.startswith("[", at + 1) and not text.startswith("[^", at + 1):
            label = _LABEL.match(text, at + 1)
            if label and label[1].strip():
                return label.end(), self._definition(label[1])
            if label and not label[1] and not opener.nested and at > opener.content:
                return label.end(), self._definition(text[opener.content : at])
        if opener.nested or at == opener.content:
            return None, None
        return at + 1, self._definition(text[opener.content : at])

    def _definition(self, label: str) -> str | None:
        return self.definitions.get(label_key(label)) if self.definitions else None

    def _settle(self, opener: _Bracket) -> None:
        """Add the tags that depended on the closed bracket; drop those in an image's alt text."""
        found = self.found
        if opener.image:
            del found.links[opener.links :]
            del found.tags[opener.tags :]
        elif opener.pending:
            found.tags[opener.tags : opener.tags] = opener.pending

    def _add_link(self, opener: _Bracket, at: int, destination: str) -> None:
        kind: LinkKind = "embed" if opener.image else "markdown"
        alias = self.text[opener.content : at]
        link = markdown_link(destination, kind, alias, self._line_of(opener.content))
        if link is not None:
            self.found.links.insert(opener.links, link)
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
