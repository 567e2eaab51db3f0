"""Text of notes as an editor may show it: Markdown without pictures and HTML, which could fetch something."""

from __future__ import annotations

import re

from lsprotocol import types

from vaultseek.base.text import remove_hidden
from vaultseek.doors.lsp.session import Session

_PICTURE = re.compile(r"!(?=\[)")
_HTML = re.compile(r"<(?=[A-Za-z/!?])")
_COMMAND = re.compile(r"\]\(\s*<?\s*(?:command|javascript|data|vbscript):[^)]*\)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FRONTMATTER = re.compile(r"---[ \t]*\n(?:.*\n)*?---[ \t]*(?:\n|\Z)")


def harmless(markdown: str) -> str:
    """Return a note's Markdown without what makes an editor load or run something."""
    text = _CONTROL.sub("", remove_hidden(markdown))
    text = _COMMAND.sub("]", _PICTURE.sub("", text))
    return _HTML.sub("&lt;", text)


def escaped(text: str) -> str:
    """Return a note's words as Markdown that shows them as they are."""
    line = " ".join(_CONTROL.sub("", remove_hidden(text)).split())
    return re.sub(r"([\\`*_{}\[\]()#!|<>~&])", r"\\\1", line)


def without_frontmatter(text: str) -> str:
    """Return a text without the frontmatter that it begins with."""
    match = _FRONTMATTER.match(text)
    return text[match.end() :].lstrip("\n") if match else text


def markup(session: Session, text: str, capability: str) -> types.MarkupContent:
    """Return a note's text in the form that the client reads, by the name of its capability."""
    formats = session.can(f"text_document.{capability}") or ()
    body = without_frontmatter(text).strip()
    if types.MarkupKind.Markdown in formats:
        return types.MarkupContent(types.MarkupKind.Markdown, harmless(body))
    return types.MarkupContent(types.MarkupKind.PlainText, _CONTROL.sub("", remove_hidden(body)))
