"""Obsidian's notation as rules for the Markdown renderer: links, embeds, tags, comments, highlights,
callouts.

The rules produce only a few kinds of tokens, with fixed attributes. Text from a note becomes text or the
value of a ``data-`` attribute, but never an element name, a class or an address.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from vaultseek.doors.ui.pictures import EXTENSIONS

TARGETS = "targets"
"""Key in the rendering environment for a dict from each link target in the note to its path."""
LINE_BREAKS = "line_breaks"
"""Key in the rendering environment for a flag: True if line ends are shown as line breaks."""
DEPTH = 200
"""Maximum depth of nested brackets; above it, a paragraph's brackets are plain text, because pairing them
would take too long."""

EMBEDDED = (".md", ".base", ".canvas", ".pdf")
"""Extensions of files that are displayed when embedded in a note; other files are shown as links."""
FORMULA_CHARS = 4000
"""Maximum number of characters in a typeset formula; longer formulas are shown as source."""
_WIKILINK = re.compile(r"(!?)\[\[([^\[\]|\n]*)(?:\|([^\[\]\n]*))?\]\]")
_TAG = re.compile(r"#(?=[\w/-]*[^\W\d])[\w/-]+")
_COMMENT = re.compile(r"%%(?:(?!%%).)*%%", re.DOTALL)
_BLOCK_ID = re.compile(r"\^([A-Za-z0-9-]+)[ \t]*(?=\n|$)")
_CALLOUT = re.compile(r"\[!([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]([+-]?)[ \t]*([^\n]*)")
_TASK = re.compile(r"\[([^\[\]\n])\](?:[ \t]+|$)")
_EXTERNAL = re.compile(r"(?:https?|mailto):", re.IGNORECASE)
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
_ALIASES = {
    "abstract": ("summary", "tldr"),
    "tip": ("hint", "important"),
    "success": ("check", "done"),
    "question": ("help", "faq"),
    "warning": ("caution", "attention"),
    "failure": ("fail", "missing"),
    "danger": ("error",),
    "quote": ("cite",),
    "example": (),
    "info": (),
    "todo": (),
    "bug": (),
}
CALLOUTS = {name: kind for kind, names in _ALIASES.items() for name in (kind, *names)}
"""Obsidian's callout kinds by name, including aliases. An unknown name has the kind ``note``."""
STRUCK = frozenset("xX-")
"""States of tasks whose text is crossed out: done and cancelled."""
_WIDTH = re.compile(r"(\d{1,4})(?:x\d{1,4})?")


def obsidian(md: MarkdownIt) -> None:
    """Add the rules for Obsidian's notation to a renderer."""
    md.inline.ruler.before("link", "wikilink", _wikilink)
    md.inline.ruler.before("link", "tag", _tag)
    md.inline.ruler.before("link", "comment", _comment)
    md.inline.ruler.before("link", "mark", _mark)
    md.inline.ruler.before("link", "block_id", _block_id)
    md.block.ruler.before(
        "fence", "comment", _comment_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    md.core.ruler.before("inline", "callouts", _callouts)
    md.core.ruler.before("inline", "tasks", _tasks)
    md.core.ruler.before("inline", "depth", _escape_deep_brackets)
    md.core.ruler.push("places", _places)
    md.add_render_rule("softbreak", _softbreak)
    md.add_render_rule("html_inline", _html)
    md.add_render_rule("html_block", _html)
    for kind in ("math_inline", "math_inline_double", "math_block"):
        md.add_render_rule(kind, _math)


def link_attributes(target: str, anchor: str, targets: Mapping[str, str | None]) -> dict[str, str]:
    """Return the HTML attributes of a link within the vault; a broken link has its target in
    ``data-target``."""
    path = targets.get(target)
    attributes = {"data-anchor": anchor} if anchor else {}
    if path is None and target:
        return {"class": "lost", "data-target": target}
    return attributes | ({"data-note": path} if path else {"class": "here"})


def _wikilink(state: StateInline, silent: bool) -> bool:
    match = _WIKILINK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        target, _, anchor = match[2].removesuffix("\\").partition("#")
        name = (match[3] or "").strip()
        attributes = link_attributes(target.strip(), anchor.strip(), state.env.get(TARGETS, {}))
        if match[1]:
            _push_embed(state, attributes, name, match[2].strip())
        else:
            _push_text(state, "a", attributes, name or match[2].strip().removeprefix("#").replace("#", " › "))
    state.pos = match.end()
    return True


def _push_embed(state: StateInline, attributes: dict[str, str], name: str, target: str) -> None:
    path = attributes.get("data-note", "")
    if not path.lower().endswith(EXTENSIONS):
        shown = {"class": "embed"} if path.lower().endswith(EMBEDDED) else {}
        _push_text(state, "span" if shown else "a", attributes | shown, name or target)
        return
    token = state.push("picture", "img", 0)
    width = _WIDTH.fullmatch(name)
    token.attrs = {"data-file": path, "alt": target if width or not name else name}
    if width:
        token.attrs["width"] = width[1]


def _push_text(state: StateInline, tag: str, attributes: Mapping[str, str], text: str) -> None:
    state.push("place_open", tag, 1).attrs = dict(attributes)
    state.push("text", "", 0).content = text
    state.push("place_close", tag, -1)


def _tag(state: StateInline, silent: bool) -> bool:
    before = state.src[state.pos - 1] if state.pos else " "
    match = _TAG.match(state.src, state.pos, state.posMax)
    if match is None or not (before.isspace() or before in "([,;"):
        return False
    if not silent:
        _push_text(state, "a", {"class": "tag", "data-tag": match[0][1:]}, match[0])
    state.pos = match.end()
    return True


def _comment(state: StateInline, silent: bool) -> bool:
    match = _COMMENT.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    state.pos = match.end()
    return True


def _mark(state: StateInline, silent: bool) -> bool:
    start = state.pos
    if not state.src.startswith("==", start):
        return False
    end = state.src.find("==", start + 2, state.posMax)
    if end <= start + 2 or "\n\n" in state.src[start:end]:
        return False
    if not silent:
        state.push("mark_open", "mark", 1)
        outer, state.pos, state.posMax = state.posMax, start + 2, end
        state.md.inline.tokenize(state)
        state.posMax = outer
        state.push("mark_close", "mark", -1)
    state.pos = end + 2
    return True


def _block_id(state: StateInline, silent: bool) -> bool:
    match = _BLOCK_ID.match(state.src, state.pos, state.posMax)
    if match is None or (state.pos and not state.src[state.pos - 1].isspace()):
        return False
    if not silent:
        token = state.push("block_id", "span", 1)
        token.attrs = {"data-block": match[1]}
        state.push("block_id", "span", -1)
    state.pos = match.end()
    return True


def _comment_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Skip the lines of a comment, from a line that begins with ``%%`` to the next line that contains
    ``%%``."""
    first = state.getLines(start, start + 1, state.blkIndent, False).strip()
    if not first.startswith("%%") or "%%" in first[2:]:
        return False
    for line in range(start + 1, end):
        if "%%" in state.getLines(line, line + 1, state.blkIndent, False):
            if not silent:
                state.line = line + 1
            return True
    return False


def _callouts(state: StateCore) -> None:
    """Turn quotes that begin with ``[!kind] title`` into callouts; a ``-`` or ``+`` makes a callout
    foldable."""
    tokens: list[Token] = []
    folding: list[int] = []
    for number, token in enumerate(state.tokens):
        tokens.append(token)
        if token.type == "blockquote_close" and token.level in folding:
            folding.remove(token.level)
            token.tag = "details"
        if token.type != "inline" or number < 2 or state.tokens[number - 2].type != "blockquote_open":
            continue
        match = _CALLOUT.match(token.content)
        if match is None:
            continue
        quote, title = state.tokens[number - 2], state.tokens[number - 1]
        quote.attrs = {"class": "callout", "data-kind": CALLOUTS.get(match[1].strip().lower(), "note")}
        if match[2]:
            folding.append(quote.level)
            quote.tag = "details"
            quote.attrs |= {"open": "open"} if match[2] == "+" else {}
        tokens += _title_and_text(title, token, state.tokens[number + 1], match)
    state.tokens = tokens


def _title_and_text(title: Token, inline: Token, end: Token, match: re.Match[str]) -> Sequence[Token]:
    """Turn the first line of a paragraph into a callout's title; return the tokens for the remaining text."""
    tag = "summary" if match[2] else "p"
    rest = inline.content[match.end() :].lstrip("\n")
    inline.content = match[3].strip() or match[1].strip().capitalize()
    first, last = title.map or [0, 1]
    title.tag, title.map = tag, [first, first + 1]
    title.attrs = {"class": "title"} if tag == "p" else {}
    level = title.level
    if not rest:
        end.tag = tag
        return ()
    text = Token("inline", "", 0, level=level + 1, block=True, children=[], content=rest)
    opening = Token("paragraph_open", "p", 1, level=level, block=True, map=[first + 1, last])
    return Token("paragraph_close", tag, -1, level=level, block=True), opening, text


def _tasks(state: StateCore) -> None:
    """Remove the task state, such as ``[/]``, from the text of a list item."""
    for item, paragraph, token in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if (item.type, paragraph.type) != ("list_item_open", "paragraph_open"):
            continue
        if match := _TASK.match(token.content):
            item.attrSet("class", "task-list-item")
            token.meta["task"] = match[1]
            token.content = token.content[match.end() :]


def _with_task(children: list[Token], task: str) -> list[Token]:
    """Return a checkbox and the text of a task, crossed out if the task is done or cancelled."""
    box = Token("task", "input", 0, {"type": "checkbox", "disabled": "", "data-task": task})
    if task != " ":
        box.attrs["checked"] = ""
    if task in STRUCK and children:
        children = [Token("s_open", "s", 1), *children, Token("s_close", "s", -1)]
    return [box, Token("text", "", 0, content=" "), *children]


def _escape_deep_brackets(state: StateCore) -> None:
    for token in state.tokens:
        if token.type != "inline" or token.content.count("[") <= DEPTH:
            continue
        depth = most = 0
        for sign in token.content:
            depth = max(0, depth + (sign == "[") - (sign == "]"))
            most = max(most, depth)
        if most > DEPTH:
            token.content = re.sub(r"\\?([\[\]])", r"\\\1", token.content)


def _softbreak(
    renderer: RendererHTML, tokens: Sequence[Token], number: int, options: Any, env: Mapping[str, Any]
) -> str:
    return "<br>\n" if env.get(LINE_BREAKS) else "\n"


_HTML = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)\b[^<>]*>|<!--.*?(?:-->|\Z)|<[!?][^<>]*>", re.DOTALL)
_HIDDEN = re.compile(r"<(script|style|svg|iframe|template)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_SHOWN = {
    tag: tag
    for tags in (
        "br hr span sub sup kbd mark em strong del s p ul ol li details summary",
        "table thead tbody tr th td",
    )
    for tag in tags.split()
} | {"b": "strong", "i": "em", "strike": "s"}
"""HTML elements that notes may use, with their replacements; other elements are reduced to their text."""


def _html(
    renderer: RendererHTML, tokens: Sequence[Token], number: int, options: Any, env: Mapping[str, Any]
) -> str:
    """Return the allowed elements without attributes, so that a note cannot imitate the page's own
    elements."""
    token = tokens[number]
    text = "".join(_elements(_HIDDEN.sub("", token.content)))
    return text if token.type == "html_inline" else f"<div{renderer.renderAttrs(token)}>{text}</div>\n"


def _elements(text: str) -> Iterator[str]:
    end = 0
    for tag in _HTML.finditer(text):
        yield escapeHtml(unescape(text[end : tag.start()]))
        if shown := _SHOWN.get((tag[2] or "").lower()):
            yield f"<{tag[1]}{shown}>"
        end = tag.end()
    yield escapeHtml(unescape(text[end:]))


def _math(
    renderer: RendererHTML, tokens: Sequence[Token], number: int, options: Any, env: Mapping[str, Any]
) -> str:
    """Return a formula as MathML, or as its source if it is not valid LaTeX."""
    token = tokens[number]
    token.attrSet("class", "math")
    signs = "$" if token.type == "math_inline" else "$$"
    tag, end = ("div", "\n") if token.type == "math_block" else ("span", "")
    shown = _formula(token.content, signs) or escapeHtml(signs + token.content + signs)
    return f"<{tag}{renderer.renderAttrs(token)}>{shown}</{tag}>{end}"


def _formula(text: str, signs: str) -> str:
    from latex2mathml.converter import convert

    if len(text) > FORMULA_CHARS:
        return ""
    try:
        return convert(text, display="inline" if signs == "$" else "block")
    except Exception:  # exceptions of many types, for invalid or deeply nested LaTeX
        return ""


def _places(state: StateCore) -> None:
    """Add to each block its line numbers, and to each link its target in the vault."""
    first = int(state.env.get("first_line", 1))
    targets = state.env.get(TARGETS, {})
    for token in state.tokens:
        if token.map and token.nesting >= 0 and token.type != "inline":
            token.attrSet("data-line", str(first + token.map[0]))
            token.attrSet("data-end", str(first + max(token.map[0], token.map[1] - 1)))
        if token.type == "fence":
            token.attrSet("data-language", token.info.partition(" ")[0].lower())
        if "task" in token.meta:
            token.children = _with_task(token.children or [], token.meta["task"])
        for child in token.children or ():
            if child.type == "link_open":
                address = str(child.attrs.get("href", ""))
                if _EXTERNAL.match(address):
                    child.attrs = {"href": address, "class": "outside"}
                elif _SCHEME.match(address):
                    child.attrs = {"class": "lost"}
                else:
                    target, anchor = _within(address)
                    child.attrs = dict(link_attributes(target, anchor, targets))
            elif child.type == "image":
                _place_image(child, targets)


def _place_image(token: Token, targets: Mapping[str, str | None]) -> None:
    """Turn an image into a picture from the vault or into a link, so that nothing is loaded from other
    servers."""
    address = str(token.attrs.get("src", ""))
    name = token.content
    token.type, token.tag = "picture", "img"
    if _SCHEME.match(address):
        token.attrs = {"alt": name, "data-address": address if _EXTERNAL.match(address) else ""}
        return
    target, _ = _within(address)
    token.attrs = {"alt": name or target, "data-file": targets.get(target) or target}


def _within(address: str) -> tuple[str, str]:
    from urllib.parse import unquote

    target, _, anchor = address.partition("#")
    return unquote(target).strip(), unquote(anchor).strip()
