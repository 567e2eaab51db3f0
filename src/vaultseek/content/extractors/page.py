"""Read HTML pages: their readable text, without menus and advertisements, as Markdown."""

import re
from typing import Any

import nh3
from bs4 import BeautifulSoup
from bs4.filter import SoupStrainer
from markdownify import MarkdownConverter

from vaultseek.base.model import Note
from vaultseek.content.extractors.composition import Composition, named_only
from vaultseek.content.extractors.plain import decode_any

DEPTH = 400
"""Maximum nesting depth of elements. The time to read a page grows with its size times its depth, and the
stack is limited."""
HEAD_CHARS = 65_536
"""Number of characters at the beginning of a page that are searched for its title and keywords."""
_UNREAD = {"aside", "button", "footer", "form", "iframe", "nav", "noscript", "object"}
_UNREAD |= {"script", "select", "style", "svg", "template", "textarea", "title"}
"""HTML elements that are left out together with their content."""
_CLEANER = nh3.Cleaner(
    tags=nh3.ALLOWED_TAGS - _UNREAD,
    clean_content_tags=_UNREAD,
    attributes={"a": {"href"}, "img": {"alt"}},
    link_rel=None,
)
"""Cleaner that parses a page as browsers do, and closes elements that were left open."""
_OPTIONS: dict[str, Any] = {
    "heading_style": "atx",
    "bullets": "-",
    "table_infer_header": True,
    "escape_asterisks": False,
    "escape_underscores": False,
}
_CHARSET = re.compile(rb"(?i)<meta[^>]{0,200}charset\s*=\s*[\"']?([A-Za-z0-9_-]{2,30})")
_BODY = re.compile("(?i)<body")
_BLANKS = re.compile(r"(\s{100})\s+")
"""Pattern for long runs of white space, which markdownify would process in quadratic time."""
_COMMENT = re.compile(r"<!--(?s:.*?)(?:-->|\Z)")
"""Pattern for an HTML comment. Comments are removed because html.parser takes quadratic time for unclosed
ones."""
_NESTING = re.compile(r"(?i)<(/?)(?:div|span|section|blockquote|[uod]l|table|font|strong|em|[biu])(?=[\s>])")
"""Pattern for tags of HTML elements that stay open until their end tag and can therefore be nested deeply."""
_TAG = re.compile(r"[\w/-]{1,60}")


def read(data: bytes, path: str) -> Note:
    """Read an HTML file as a note. Line numbers are those of the resulting Markdown."""
    text = _text(data)
    try:
        markdown = _markdown(text)
    except RecursionError:
        return named_only(
            path, "too_complex", f"the page's elements are nested more than {DEPTH} levels deep"
        )
    start = _COMMENT.sub("", _BODY.split(text[:HEAD_CHARS], maxsplit=1)[0])
    head = BeautifulSoup(start, "html.parser", parse_only=SoupStrainer(["title", "meta"]))
    keywords = head.find("meta", attrs={"name": re.compile("(?i)^keywords$")})
    made = Composition(path)
    made.markdown(markdown.strip("\n"), of_app=False)
    for word in str(keywords.get("content", "")).split(",") if keywords else ():
        tag = "-".join(word.split())
        if _TAG.fullmatch(tag) and not tag.isdigit():
            made.tag(tag)
    return made.note(head.title.get_text() if head.title else "")


def _markdown(text: str) -> str:
    """Convert a page to Markdown. Raises RecursionError if its elements are nested too deeply."""
    depth = 0
    for tag in _NESTING.finditer(text):
        depth = max(0, depth - 1 if tag[1] else depth + 1)
        if depth > DEPTH:
            raise RecursionError
    return _Converter(**_OPTIONS).convert(_BLANKS.sub(r"\1", _CLEANER.clean(text)))


class _Converter(MarkdownConverter):
    def convert_img(self, image: Any, _text: str, parent_tags: object) -> str:
        """Return an image's alt text. The image's address is left out, because it belongs to the web site."""
        return f" {image.get('alt', '')} "


def _text(data: bytes) -> str:
    named = _CHARSET.search(data[:4096])
    if named is not None and named[1].lower() not in (b"utf-8", b"utf8"):
        try:
            return data.decode(named[1].decode("ascii"), errors="replace")
        except LookupError:
            pass
    return decode_any(data)[0]
