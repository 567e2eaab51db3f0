"""HTML pages: their readable text, without menus and advertisements, as Markdown."""

import re

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

from vaultseek.base.model import Note
from vaultseek.content.extractors.composition import Composition, named_only
from vaultseek.content.extractors.plain import decode_any

DEPTH = 500
_OPTIONS = ConversionOptions(
    preprocessing=PreprocessingOptions(preset="aggressive"),
    exclude_selectors=["aside"],
    max_depth=DEPTH,
)
_CHARSET = re.compile(rb"(?i)<meta[^>]{0,200}charset\s*=\s*[\"']?([A-Za-z0-9_-]{2,30})")
_HEAD = re.compile(r"---\n(?!\n).*?\n---(?:\n|\Z)", re.DOTALL)
"""Frontmatter with facts about a page; unlike after it, a rule is followed by a blank line."""
_IMAGE = re.compile(r"!\[((?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]\((?:<[^>\n]*>[^)\n]*|[^)\n]*)\)")
_TAG = re.compile(r"[\w/-]{1,60}")


def read(data: bytes, path: str) -> Note:
    """Read an HTML file. Line numbers refer to the resulting Markdown."""
    page = convert(_text(data), _OPTIONS)
    about = page.metadata.document if page.metadata else None
    text = _IMAGE.sub(
        # Its alternative text represents an image; its address belongs to the site.
        lambda image: f" {image[1]} " if image[1].strip() else "",
        page.content or "",
    )
    head = _HEAD.match(text) if about else None
    if not text.strip() and page.warnings:
        return named_only(path, "too_complex", f"its elements are nested more than {DEPTH} deep")
    made = Composition(path)
    made.markdown(text[head.end() :].lstrip("\n") if head else text, of_app=False)
    for word in (about.keywords if about else None) or ():
        tag = "-".join(word.split())
        if _TAG.fullmatch(tag) and not tag.isdigit():
            made.tag(tag)
    return made.note((about.title if about else None) or "")


def _text(data: bytes) -> str:
    named = _CHARSET.search(data[:4096])
    if named is not None and named[1].lower() not in (b"utf-8", b"utf8"):
        try:
            return data.decode(named[1].decode("ascii"), errors="replace")
        except LookupError:
            pass
    return decode_any(data)[0]
