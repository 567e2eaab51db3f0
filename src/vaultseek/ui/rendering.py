"""A note as HTML: markdown-it without HTML, then nh3, which drops all that is not named here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import nh3
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin

from vaultseek.ui.notation import TARGETS, obsidian

ELEMENTS = {
    *(
        "a",
        "blockquote",
        "br",
        "code",
        "dd",
        "del",
        "div",
        "dl",
        "dt",
        "em",
        "hr",
        "img",
        "input",
        "li",
        "mark",
    ),
    *("h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "s", "section", "span", "strong", "sub", "sup"),
    *("table", "tbody", "td", "th", "thead", "tr", "ul"),
}
ATTRIBUTES = {
    "*": {"data-line", "data-end"},
    "a": {"href", "id", "data-note", "data-anchor", "data-tag", "data-target"},
    "blockquote": {"data-kind"},
    "img": {"alt", "width", "data-file", "data-address"},
    "input": {"type", "checked", "disabled"},
    "li": {"id"},
    "ol": {"start"},
    "span": {"data-note", "data-anchor", "data-block", "data-target"},
}
CLASSES = {
    "a": {"tag", "lost", "here", "outside", "footnote-backref"},
    "blockquote": {"callout"},
    "li": {"footnote-item", "task-list-item"},
    "ol": {"footnotes-list"},
    "section": {"footnotes"},
    "span": {"embed"},
    "sup": {"footnote-ref"},
}
SCHEMES = {"http", "https", "mailto"}
NESTING = 40
"""Depth of quotes and lists that are rendered."""


def as_html(text: str, targets: Mapping[str, str | None], first_line: int = 1) -> str:
    """Return the HTML of a note's ``text``, whose first line is ``first_line`` of the file.

    ``targets`` has the paths that the targets of links lead to. Blocks have their lines as ``data-line`` and
    ``data-end``. Links have ``data-note`` instead of an address, pictures ``data-file``: nothing is loaded or
    opened unless the page does it.
    """
    html = _renderer().render(text, {TARGETS: targets, "first_line": first_line})
    return _cleaner().clean(html)


@cache
def _renderer() -> MarkdownIt:
    options = {
        "html": False,
        "linkify": False,
        "typographer": False,
        "tasklists": True,
        "maxNesting": NESTING,
    }
    md = MarkdownIt("commonmark", options)
    md.enable(["table", "strikethrough"])
    md.use(footnote_plugin)
    md.use(obsidian)
    return md


@cache
def _cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=ELEMENTS,
        attributes=ATTRIBUTES,
        allowed_classes=CLASSES,
        url_schemes=SCHEMES,
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )
