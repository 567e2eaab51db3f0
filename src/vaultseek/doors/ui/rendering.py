"""Convert notes to HTML with markdown-it, and sanitize the HTML with nh3, which removes everything not listed
here."""

import html
from collections.abc import Mapping
from functools import cache

import nh3
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from pygments.token import STANDARD_TYPES

from vaultseek.doors.ui.notation import LINE_BREAKS, TARGETS, obsidian

ELEMENTS = {
    *("a", "blockquote", "br", "code", "dd", "del", "details", "div", "dl", "dt", "em", "hr", "img", "input"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "kbd", "li", "mark", "ol", "p", "pre", "s", "section", "span"),
    *("strong", "sub", "summary", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
FORMULAS = {
    *(
        "math",
        "menclose",
        "mfrac",
        "mi",
        "mn",
        "mo",
        "mover",
        "mpadded",
        "mphantom",
        "mroot",
        "mrow",
        "mspace",
    ),
    *("msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover"),
}
ATTRIBUTES = {
    "*": {"data-line", "data-end"},
    "math": {"display"},
    "mfrac": {"linethickness"},
    "mi": {"mathvariant"},
    "mo": {"fence", "form", "maxsize", "minsize", "stretchy"},
    "mover": {"accent"},
    "mspace": {"width"},
    "mtable": {"columnalign"},
    "mtd": {"columnalign"},
    "code": {"data-language"},
    "a": {"href", "id", "data-note", "data-anchor", "data-tag", "data-target"},
    "blockquote": {"data-kind"},
    "details": {"data-kind", "open"},
    "img": {"alt", "width", "data-file", "data-address"},
    "input": {"type", "checked", "disabled", "data-task"},
    "li": {"id"},
    "ol": {"start"},
    "span": {"data-note", "data-anchor", "data-block", "data-target"},
}
CLASSES = {
    "a": {"tag", "lost", "here", "outside", "footnote-backref"},
    "blockquote": {"callout"},
    "details": {"callout"},
    "div": {"math"},
    "li": {"footnote-item", "task-list-item"},
    "ol": {"footnotes-list"},
    "p": {"plain", "title"},
    "section": {"footnotes"},
    "span": {"embed", "math", *filter(None, STANDARD_TYPES.values())},
    "sup": {"footnote-ref"},
}
SCHEMES = {"http", "https", "mailto"}
NESTING = 40
"""Maximum nesting depth of quotes and lists that are rendered."""
COLOURED_CHARS = 20_000
"""Maximum number of characters in a code block with syntax colours; longer blocks are plain."""


def as_html(
    text: str, targets: Mapping[str, str | None], first_line: int = 1, line_breaks: bool = False
) -> str:
    """Return a note's ``text`` as HTML; its first line is line ``first_line`` of the file.

    ``targets`` maps link targets to paths. Blocks have their line numbers in ``data-line`` and ``data-end``.
    Links have ``data-note`` instead of an address, and pictures have ``data-file``, so that only the page
    itself loads or opens anything. With ``line_breaks``, each line end is shown as a line break.
    """
    environment = {TARGETS: targets, "first_line": first_line, LINE_BREAKS: line_breaks}
    return _cleaner().clean(_renderer().render(text, environment))


def as_paragraphs(text: str, first_line: int = 1) -> str:
    """Return ``text``, which is not Markdown, as HTML with the same paragraphs."""
    paragraphs: list[str] = []
    lines: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], first_line):
        if line.strip():
            lines.append(line)
        elif lines:
            shown = html.escape("\n".join(lines))
            paragraphs.append(
                f'<p class="plain" data-line="{number - len(lines)}" data-end="{number - 1}">{shown}</p>'
            )
            lines = []
    return _cleaner().clean("\n".join(paragraphs))


@cache
def _renderer() -> MarkdownIt:
    options = {
        "html": True,
        "linkify": True,
        "typographer": False,
        "maxNesting": NESTING,
        "highlight": _coloured,
    }
    md = MarkdownIt("commonmark", options)
    md.enable(["table", "strikethrough", "linkify"])
    # Only complete addresses become links: README.md is a file, although .md is also a country's domain.
    md.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})  # type: ignore[union-attr]
    md.use(footnote_plugin)
    md.use(dollarmath_plugin, allow_space=False, allow_digits=False, allow_labels=False, double_inline=True)
    md.use(obsidian)
    return md


def _coloured(code: str, language: str, attributes: str) -> str:
    """Return code as HTML with classes for syntax colours, or "" if the code stays plain."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    if len(code) > COLOURED_CHARS:
        return ""
    try:
        return str(highlight(code, get_lexer_by_name(language.lower()), HtmlFormatter(nowrap=True)))
    except ClassNotFound:
        return ""


@cache
def _cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=ELEMENTS | FORMULAS,
        attributes=ATTRIBUTES,
        allowed_classes=CLASSES,
        url_schemes=SCHEMES,
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )
