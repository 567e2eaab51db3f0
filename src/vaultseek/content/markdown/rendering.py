"""Render Markdown as displayed text, with a map back to the source.

A note is rendered once, when it is parsed. The rendered text is indexed, embedded, previewed and compared. It
has no markup, no link addresses, no HTML tags, no comments and no invisible characters; entities and escapes
are decoded. Code stays as written, without its fences.

Rendering never moves a line: line 7 of the rendered text is line 7 of the file. The map is therefore a list
of edits for each line that differs. Inline syntax follows CommonMark 0.31 with Obsidian's additions.
Rendering takes linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from vaultseek.base.limits import OPEN_BRACKETS
from vaultseek.base.model import Edit, apply_edits
from vaultseek.base.text import HIDDEN, IS_HIDDEN, MAY_BE_HIDDEN
from vaultseek.content.markdown.links import decode_reference, label_key, parse_destination
from vaultseek.content.markdown.structure import Block, without_quotes

BULLET = "•"
"""Marker for a bulleted list item; it separates items where lines are joined."""
PARAGRAPH = "\u2029"
"""Border between two paragraphs in one line of HTML. It is white space, but ends a phrase."""
SCRIPT_CHARS = 20
"""Maximum length, in characters, of a subscript or superscript between single delimiters, as in Pandoc's
``H~2~O``."""
CACHED_TEXTS = 4096
"""Number of short texts, such as headings and properties, whose rendering is cached."""
Labels = frozenset[str]
"""Keys of the link reference definitions in a note."""


@lru_cache(CACHED_TEXTS)
def render_text(markdown: str) -> str:
    """Render inline Markdown (a heading, a property, a task) as displayed text on one line."""
    edits = _inline(markdown, frozenset())
    return " ".join(apply_edits(markdown, edits).split())


def render_plain(lines: Iterable[str], first: int) -> dict[int, list[Edit]]:
    """Return the edits that render text other than Markdown: only invisible characters are removed.

    ``first`` is the line number of the first line.
    """
    hidden = ((number, _hidden(line)) for number, line in enumerate(lines, first) if not line.isascii())
    return {number: edits for number, edits in hidden if edits}


def render_blocks(
    lines: Sequence[str], first: int, blocks: Iterable[Block], labels: Labels
) -> dict[int, list[Edit]]:
    """Return a dict from line number to the edits that render the ``blocks`` in that line. The first of the
    body's ``lines`` has the number ``first``.
    """
    found: defaultdict[int, list[Edit]] = defaultdict(list)
    rendered: set[int] = set()
    for block in blocks:
        rows = range(block.start, block.end + 1)
        rendered.update(rows)
        for row, edit in _RENDERERS[block.kind](block, lines, labels):
            found[row + first].append(edit)
        for row in rows if block.kind == "paragraph" else ():
            if lines[row][:2] in _DIRECTIVE_SIGNS and _DIRECTIVE.fullmatch(lines[row]):
                found[row + first] = [Edit(0, len(lines[row]))]
    edits = {number: sorted(each) for number, each in found.items()}
    outside = (row for row, line in enumerate(lines) if row not in rendered and not line.isascii())
    return edits | {row + first: hidden for row in outside if (hidden := _hidden(lines[row]))}


# -- blocks: each function yields the rows and edits of one block

Placed = Iterator[tuple[int, Edit]]


def _columns(block: Block, lines: Sequence[str]) -> list[int]:
    """Return, for each line of the block, the column at which its text begins, after quote and list markers
    and indentation.
    """
    first, *rest = lines[block.start : block.end + 1]
    head = first[block.column :]
    return [
        len(first) - len(head.lstrip(" \t")),
        *(len(line) - len(without_quotes(line, block.quotes)) for line in rest),
    ]


def _paragraph(block: Block, lines: Sequence[str], labels: Labels) -> Placed:
    columns = _columns(block, lines)
    own = lines[block.start : block.end + 1]
    text = "\n".join(line[column:] for line, column in zip(own, columns, strict=True))
    edits = _inline(text, labels)
    opening = ""
    if block.opens == "item":
        sign = _ITEM.search(own[0][: columns[0]])
        opening = f"{BULLET if sign is None or sign[1] in '-*+' else sign[1]} "
        if task := _TASK.match(text):
            edits = [Edit(0, task.end()), *(edit for edit in edits if edit.start >= task.end())]
    elif block.opens == "quote" and (callout := _CALLOUT.match(text)):
        shown = "" if callout[2].strip() else callout[1].strip().capitalize()
        end = callout.start(2)
        edits = [Edit(0, end, shown), *(edit for edit in edits if edit.start >= end)]
    for row, column in enumerate(columns, block.start):
        shown = opening if row == block.start else ""
        if column and lines[row][:column] != shown:
            yield row, Edit(0, column, shown)
    yield from _by_row(edits, block.start, own, columns)


def _by_row(edits: Iterable[Edit], first: int, own: Sequence[str], columns: Sequence[int]) -> Placed:
    """Divide edits of a text that spans several lines into edits of its lines; line breaks are kept.

    ``own`` has the lines, and ``first`` is the number of the first one. ``columns`` has the column at which
    the text starts in each line.
    """
    if len(own) == 1:
        shift = columns[0]
        for start, end, text in edits:
            yield first, Edit(start + shift, end + shift, text)
        return
    row, start = 0, 0
    for edit in edits:
        text = edit.text
        while row < len(own):
            end = start + len(own[row]) - columns[row]
            if edit.start <= end:
                low, high = max(edit.start, start), min(edit.end, end)
                shift = columns[row] - start
                if low < high or text:
                    yield first + row, Edit(low + shift, high + shift, text)
                text = ""
                if edit.end <= end:
                    break
            row, start = row + 1, end + 1


def _heading(block: Block, lines: Sequence[str], labels: Labels) -> Placed:
    first = lines[block.start]
    if block.start < block.end or not (match := _ATX.match(first, block.column)):
        underlined = Block("paragraph", block.start, block.end - 1, block.column, block.quotes)
        yield from _paragraph(underlined, lines, labels)
        yield block.end, Edit(0, len(lines[block.end]))
        return
    start = match.end()
    text = first[start:].rstrip(" \t")
    unclosed = text.rstrip("#")
    end = start + len(text if unclosed[-1:] not in ("", " ", "\t") else unclosed.rstrip(" \t"))
    yield block.start, Edit(0, start)
    yield from ((block.start, edit) for edit in _within(first, start, end, labels))
    if end < len(first):
        yield block.start, Edit(end, len(first))


def _within(line: str, start: int, end: int, labels: Labels) -> Iterator[Edit]:
    """Yield edits of a line for the part from ``start`` to ``end``, which is rendered as a separate text."""
    text = line[start:end]
    for edit in _inline(text, labels):
        yield Edit(edit.start + start, edit.end + start, edit.text)


def _code(block: Block, lines: Sequence[str], labels: Labels) -> Placed:
    """Remove the fences of a code block, and the quote and list markers around it."""
    first = lines[block.start]
    fence = _FENCE.match(first, block.column) if block.kind == "fence" else None
    item = block.column - _quoted(first, block.quotes) if fence else 0
    for row in range(block.start, block.end + 1):
        line = lines[row]
        start = block.column
        if row > block.start:
            start = _quoted(line, block.quotes)
            if item:
                start += min(item, len(line) - start - len(line[start:].lstrip(" \t")))
        if fence and row == block.start:
            start = fence.end()
        elif fence and row == block.end and not line[start:].strip().strip(fence[1][0]):
            start = len(line)
        if start:
            yield row, Edit(0, start)
        if not line.isascii():
            yield from ((row, edit) for edit in _hidden(line) if edit.start >= start)


def _quoted(line: str, quotes: int) -> int:
    """Return the length of the quote markers at the beginning of a line."""
    marker = -1
    for _ in range(quotes):
        marker = max(marker, line.find(">", marker + 1))
    return marker + 1 + line.startswith(" ", marker + 1) if quotes else 0


def _table(block: Block, lines: Sequence[str], labels: Labels) -> Placed:
    """Show the cells of each row, separated by bars; the delimiter row becomes a single character."""
    columns = _columns(block, lines)
    for row, column in enumerate(columns, block.start):
        line = lines[row]
        cells = [cell.span() for cell in _CELL.finditer(line, column)]
        if row == block.start + 1 or not cells:
            yield row, Edit(0, len(line))
            continue
        if cells[0][0]:
            yield row, Edit(0, cells[0][0])
        for (_, end), (start, _) in pairwise(cells):
            yield row, Edit(end, start, " | ")
        if cells[-1][1] < len(line):
            yield row, Edit(cells[-1][1], len(line))
        for start, end in cells:
            yield from ((row, edit) for edit in _within(line, start, end, labels))


def _html(block: Block, lines: Sequence[str], labels: Labels) -> Placed:
    own = lines[block.start : block.end + 1]
    columns = _columns(block, lines)
    text = "\n".join(line[column:] for line, column in zip(own, columns, strict=True))
    for row, column in enumerate(columns, block.start):
        if column:
            yield row, Edit(0, column)
    yield from _by_row(list(_html_edits(text)), block.start, own, columns)


def _nothing(block: Block, lines: Sequence[str], labels: Labels) -> Placed:
    """Hide a block that is not displayed: a comment, a rule or a link definition."""
    yield from ((row, Edit(0, len(lines[row]))) for row in range(block.start, block.end + 1) if lines[row])


def _math(block: Block, lines: Sequence[str], labels: Labels) -> Placed:
    """Leave formulas as written."""
    yield from ()


_RENDERERS: Mapping[str, Callable[[Block, Sequence[str], Labels], Placed]] = {
    "heading": _heading,
    "paragraph": _paragraph,
    "fence": _code,
    "indented": _code,
    "table": _table,
    "html": _html,
    "math": _math,
    "comment": _nothing,
    "definition": _nothing,
    "break": _nothing,
}
_DIRECTIVE = re.compile(
    r"(?:\[TOC\]|\[\[_?TOC_?\]\]|\$\{toc\}|\{\{< toc >\}\}|#\+(?:BEGIN|END)_\w+.*)[ \t]*",
    re.IGNORECASE,
)
"""A line for a table of contents, or the border of a block in Org."""
_DIRECTIVE_SIGNS = frozenset({"[T", "[t", "[[", "${", "{{", "#+"})
"""First two characters of such a line."""
_ITEM = re.compile(r"([-*+]|\d{1,9}[.)])[ \t]*$")
_TASK = re.compile(r"\[[^\n]\][ \t]+(?=\S)")
_CALLOUT = re.compile(r"\[!([^\]\n|]+)(?:\|[^\]\n]*)?\][+-]?[ \t]*([^\n]*)")
_ATX = re.compile(r"[ \t]*#{1,6}[ \t]*")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*")
_CELL = re.compile(r"(?:[^|\\\s]|\\.?)(?:(?:[^|\\]|\\.)*(?:[^|\\\s]|\\.?))?")


# -- inline syntax

_REFERENCE = r"&(?:\#(?:[0-9]{1,7}|[xX][0-9a-fA-F]{1,6})|[a-zA-Z][a-zA-Z0-9]{1,31});"


_MARKUP = r"\\`$<\[\]&*_~=%^"


@cache
def _signs_pattern(is_ascii: bool) -> re.Pattern[str]:
    """Return the pattern for the characters of markup, and in text that is not ASCII, for invisible ones."""
    other = f"{MAY_BE_HIDDEN}](?:(?<=[{_MARKUP}])|{IS_HIDDEN})"
    return re.compile(f"[{_MARKUP}" + ("]" if is_ascii else other))


@cache
def _token_pattern(is_ascii: bool) -> re.Pattern[str]:
    """Return the pattern for a token of inline Markdown.

    ASCII text has no invisible characters, and searching for them takes three times as long.
    """
    hidden = "(?!)" if is_ascii else HIDDEN
    return re.compile(
        rf"""
        # most characters begin nothing and are skipped
        (?=[\\`$<%\[!\]&*_~=^]|h(?=ttps?://)|w(?=ww\.)|(?<![ \t])[ \t]++(?=\^)|{hidden})
        (?:(?P<escape>\\(?:[!-/:-@\[-`{{-~]|\n))
      | (?P<code>`+)
      | (?P<math>\$\$?)
      | (?P<url>(?:https?://|www\.)[^\s<>\[\]`|"'*]*)
      | (?P<comment><!--|%%)
      | (?P<angle><)
      | (?P<footnote>\[\^[^\s\[\]]+\]:?)
      | (?P<wiki>!?\[\[)
      | (?P<open>(?:!|(?<=[\w.,;)])\^)?\[)
      | (?P<close>\])
      | (?P<entity>{_REFERENCE})
      | (?P<script>(?:(?=~)(?<=[^\W\d_]|[)\]])|(?=\^)(?<=[\w)\]]))
          (?P<sign>[~^])[\w+\-−,.]{{1,{SCRIPT_CHARS}}}(?P=sign)(?![~^]))
      | (?P<mark>\*+|_+|~~+|==+)
      | (?P<block_id>(?:^|(?<=\n)|(?<![ \t])[ \t]++)\^[A-Za-z0-9-]+[ \t]*\Z)
      | (?P<hidden>(?:{hidden})++))
        """,
        re.VERBOSE,
    )


_BACKTICKS = re.compile(r"`+")
_DOLLAR = re.compile(r"(?<![\\ \t])\$(?![0-9])")
_WIKI = re.compile(r"!?\[\[([^\[\]\n]*)\](?:\[([^\[\]\n]+)\])?\]")
_SIZE = re.compile(r"\|[\dx \t]*$")
_ATTRIBUTE = r"\s++[A-Za-z_:][\w:.-]*+(?:\s*+=\s*+(?:[^\s\"'=<>`]++|'[^']*+'|\"[^\"]*+\"))?+"
_TAG = re.compile(rf"</?([A-Za-z][A-Za-z0-9-]*+)((?:{_ATTRIBUTE})*+)\s*+/?>")
_AUTOLINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*+|[^\s<>@]++@[^\s<>@]++)>")
_ALT = re.compile(r"""\salt\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_JOINING = re.compile(
    "a|abbr|acronym|b|bd[io]|big|cite|code|data|del|dfn|em|font|i|ins|kbd|mark|q|rp|rt|ruby|s|samp|small|span"
    "|strike|strong|su[bp]|time|tt|u|var|wbr"
)
"""HTML elements whose tags do not separate words: the text before and after such a tag may form one word."""
_BEFORE_TAG = {"li": f"{PARAGRAPH}{BULLET} ", "td": " | ", "th": " | "}
_BORDERS = re.compile(
    "address|article|aside|blockquote|caption|d[dlt]|details|div|fig(?:caption|ure)|footer|h[1-6r]|header"
    "|main|nav|[ou]l|p|pre|section|summary|table|tr"
)
"""HTML elements that begin and end a paragraph."""
_SILENT = frozenset({"script", "style", "template", "noscript"})
"""HTML elements whose content is not displayed."""


def _inline(text: str, labels: Labels) -> list[Edit]:
    """Return the edits that render inline Markdown, in order."""
    return _Inline(text, labels).edits() if _signs_pattern(text.isascii()).search(text) else []


class _Inline:
    """A single pass over inline Markdown, from left to right."""

    def __init__(self, text: str, labels: Labels) -> None:
        self._text = text
        self._labels = labels
        self._found: list[Edit] = []
        self._brackets: list[tuple[int, int]] = []
        """Start and end of each bracket that is still open."""
        self._marks: defaultdict[str, list[list[int]]] = defaultdict(list)
        """Map from delimiter character to the open delimiters: the start of each, and the number of its
        characters still unmatched."""
        self._runs: dict[int, list[int]] | None = None
        self._dollars: list[int] | None = None
        self._unclosed: set[str] = set()
        """Delimiters that are not closed anywhere after the current position."""
        self._readings: list[str] = []
        """Readings in the current ruby annotation."""

    def edits(self) -> list[Edit]:
        text, position = self._text, 0
        token = _token_pattern(text.isascii())
        while match := token.search(text, position):
            kind = match.lastgroup or ""
            position = getattr(self, f"_{kind}")(match)
        return sorted(self._found)

    def _remove(self, start: int, end: int, shown: str = "") -> None:
        self._found.append(Edit(start, end, shown))

    def _escape(self, match: re.Match[str]) -> int:
        self._remove(match.start(), match.start() + 1)
        return match.end()

    def _code(self, match: re.Match[str]) -> int:
        """Remove the backticks around code, and one space on each side if both are present."""
        start, end = match.span()
        if self._runs is None:
            self._runs = {}
            for run in _BACKTICKS.finditer(self._text):
                self._runs.setdefault(run.end() - run.start(), []).append(run.start())
        starts = self._runs.get(end - start, [])
        place = bisect_left(starts, end)
        if place == len(starts):
            return end
        closer = starts[place]
        code = self._text[end:closer]
        space = code.strip(" ") != "" and code[0] == code[-1] == " "
        self._remove(start, end + space)
        self._remove(closer - space, closer + end - start)
        return closer + end - start

    def _math(self, match: re.Match[str]) -> int:
        text, end = self._text, match.end()
        if match[0] == "$$":
            closer = self._closing("$$", end)
            return end if closer < 0 else closer + 2
        if text[end : end + 1] in ("", " ", "\t"):
            return end
        if self._dollars is None:
            self._dollars = [dollar.start() for dollar in _DOLLAR.finditer(text)]
        place = bisect_right(self._dollars, end)
        return end if place == len(self._dollars) else self._dollars[place] + 1

    def _closing(self, sign: str, position: int) -> int:
        closer = -1 if sign in self._unclosed else self._text.find(sign, position)
        if closer < 0:
            self._unclosed.add(sign)
        return closer

    def _url(self, match: re.Match[str]) -> int:
        return match.end()

    def _comment(self, match: re.Match[str]) -> int:
        sign = "-->" if match[0] == "<!--" else "%%"
        closer = self._closing(sign, match.end())
        if closer < 0:
            return match.end()
        self._remove(match.start(), closer + len(sign))
        return closer + len(sign)

    def _angle(self, match: re.Match[str]) -> int:
        start = match.start()
        if link := _AUTOLINK.match(self._text, start):
            self._remove(start, start + 1)
            self._remove(link.end() - 1, link.end())
            return link.end()
        tag = _TAG.match(self._text, start)
        if tag is None:
            return match.end()
        edit = _tag_edit(tag) if (ruby := _ruby_edit(tag, self._text, self._readings)) is None else ruby
        self._found.append(edit)
        return edit.end

    def _footnote(self, match: re.Match[str]) -> int:
        end = match.end() - (match[0].endswith(":") and match.start() > 0)
        self._remove(match.start(), end)
        return end

    def _wiki(self, match: re.Match[str]) -> int:
        """Show a wikilink's alias or, without one, its target: ``Note > Heading`` for
        ``[[Note#Heading]]``.
        """
        link = _WIKI.match(self._text, match.start())
        if link is None:
            return match.end() - 1  # the second bracket may open a link
        if link[2]:  # a link in Org
            self._remove(link.start(), link.start(2))
            self._remove(link.end(2), link.end())
            return link.end()
        is_embed = match[0][0] == "!"
        start, end = link.span(1)
        target, _, alias = link[1].partition("|")
        if alias.strip() and not (is_embed and _SIZE.search(link[1])):
            self._remove(link.start(), start + len(target) + 1)
            self._found += _within(self._text, start + len(target) + 1, end, self._labels)
            self._remove(end, link.end())
            return link.end()
        name, sign, part = target.removesuffix("\\").partition("#")
        if sign:
            parts = [name.strip(), *part.split("#")]
            shown = [each for each in parts if each and not (name.strip() and each.startswith("^"))]
            self._remove(link.start(), link.end(), " > ".join(shown))
        else:
            self._remove(link.start(), start)
            self._remove(start + len(name), link.end())
        return link.end()

    def _open(self, match: re.Match[str]) -> int:
        if len(self._brackets) >= OPEN_BRACKETS:  # the innermost are the most likely to be closed
            del self._brackets[: OPEN_BRACKETS // 2]
        self._brackets.append(match.span())
        return match.end()

    def _close(self, match: re.Match[str]) -> int:
        """Remove the brackets and the destination of a link or an image; put a footnote in parentheses."""
        position = match.start()
        if not self._brackets:
            return match.end()
        start, content = self._brackets.pop()
        if self._text[start] == "^":
            self._remove(start, content, " (")
            self._remove(position, match.end(), ")")
            return match.end()
        end = self._end_of_link(content, position)
        if end == 0:
            return match.end()
        self._remove(start, content)
        is_image = content - start == 2
        size = _SIZE.search(self._text, content, position) if is_image else None
        self._remove(size.start() if size else position, end)
        return end

    def _end_of_link(self, content: int, position: int) -> int:
        """Return the end of the link whose text ends at the bracket at ``position``; 0 if there is no
        link.
        """
        text = self._text
        if text.startswith("(", position + 1):
            _, end = parse_destination(text, position + 1)
            if end:
                return end
        if not self._labels:
            return 0
        if (
            text.startswith("[", position + 1)
            and (close := text.find("]", position + 2, position + 1002)) > 0
        ):
            label = text[position + 2 : close] or text[content:position]
            if label_key(label) in self._labels:
                return close + 1
        is_short = position - content < 1000
        return position + 1 if is_short and label_key(text[content:position]) in self._labels else 0

    def _entity(self, match: re.Match[str]) -> int:
        self._remove(*match.span(), _decoded(match[0]))
        return match.end()

    def _script(self, match: re.Match[str]) -> int:
        start, end = match.span()
        self._remove(start, start + 1)
        self._remove(end - 1, end)
        return end

    def _mark(self, match: re.Match[str]) -> int:
        """Remove emphasis delimiters that have a matching delimiter."""
        text, (start, end) = self._text, match.span()
        sign, left = match[0][0], end - start
        before, after = text[start - 1 : start] if start else " ", text[end : end + 1] or " "
        inside_word = sign == "_"
        closes = not before.isspace() and not (inside_word and after.isalnum())
        opens = not after.isspace() and not (inside_word and before.isalnum())
        least = 1 if sign in "*_" else 2
        open_marks = self._marks[sign]
        position = start
        while closes and open_marks and left >= least:
            opener = open_marks[-1]
            width = 2 if min(left, opener[1]) >= 2 else 1
            self._remove(opener[0] + opener[1] - width, opener[0] + opener[1])
            self._remove(position, position + width)
            opener[1] -= width
            position, left = position + width, left - width
            if opener[1] < least:
                open_marks.pop()
        if opens and left >= least:
            open_marks.append([position, left])
        return end

    def _block_id(self, match: re.Match[str]) -> int:
        self._remove(*match.span())
        return match.end()

    def _hidden(self, match: re.Match[str]) -> int:
        self._remove(*match.span())
        return match.end()


def _html_edits(text: str) -> Iterator[Edit]:
    """Yield the edits that render a block of HTML, in order."""
    position = 0
    readings: list[str] = []
    while match := _html_token_pattern().search(text, position):
        start, position = match.span()
        if match[0] == "<!--":
            closer = text.find("-->", position)
            position = len(text) if closer < 0 else closer + 3
            yield Edit(start, position)
        elif match[0][0] == "&":
            yield Edit(start, position, _decoded(match[0]))
        elif match[0][0] != "<":
            yield Edit(start, position)
        elif tag := _TAG.match(text, start):
            position = tag.end()
            name = tag[1].lower()
            if name in _SILENT and match[0] != "</":
                end = re.compile(f"</{name}", re.IGNORECASE).search(text, position)
                position = end.start() if end else len(text)
                yield Edit(start, position)
            elif (ruby := _ruby_edit(tag, text, readings)) is not None:
                position = ruby.end
                yield ruby
            else:
                yield _tag_edit(tag)


def _tag_edit(tag: re.Match[str]) -> Edit:
    """Return the edit that replaces a tag: a picture by its alt text, a tag within a word by nothing, an item
    or a cell by its sign, another block by the border of a paragraph, any other tag by a space.
    """
    name = tag[1].lower()
    if name == "img" and (alt := _ALT.search(tag[2])):
        return Edit(tag.start(), tag.end(), alt[1] or alt[2] or alt[3] or "")
    if not tag[0].startswith("</") and (sign := _BEFORE_TAG.get(name)):
        return Edit(tag.start(), tag.end(), sign)
    shown = "" if _JOINING.fullmatch(name) else PARAGRAPH if _BORDERS.fullmatch(name) else " "
    return Edit(tag.start(), tag.end(), shown)


def _ruby_edit(tag: re.Match[str], text: str, readings: list[str]) -> Edit | None:
    """Return the edit for a tag in a ruby annotation; None for other tags.

    The base text stays together, and the readings follow it. ``readings`` collects them.
    """
    name, start, end = tag[1].lower(), tag.start(), tag.end()
    if name == "ruby" and tag[0].startswith("</"):
        shown = f" ({' '.join(readings)})" if readings else ""
        readings.clear()
        return Edit(start, end, shown)
    if name not in ("rt", "rp") or tag[0].startswith("</"):
        return None
    closer = text.find("<", end)
    closer = len(text) if closer < 0 else closer
    if name == "rt" and (reading := " ".join(text[end:closer].split())):
        readings.append(reading)
    return Edit(start, closer)


def _decoded(reference: str) -> str:
    """Return the characters for a reference such as ``&eacute;``, on one line."""
    return _hidden_pattern().sub("", " ".join(re.split("[\xa0\\s]", decode_reference(reference))))


def _hidden(text: str) -> list[Edit]:
    return [Edit(*match.span()) for match in _hidden_pattern().finditer(text)]


@cache
def _hidden_pattern() -> re.Pattern[str]:
    return re.compile(f"(?:{HIDDEN})+")


@cache
def _html_token_pattern() -> re.Pattern[str]:
    return re.compile(f"<!--|</?|{_REFERENCE}|(?:{HIDDEN})+", re.VERBOSE)
