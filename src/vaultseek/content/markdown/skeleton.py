"""Reduce a note's body to its skeleton: its structural markers, with filler in place of the words.

The grammar parses the skeleton several times faster than the text. Syntax that the grammar does not support
or misreads is replaced by a supported equivalent.
"""

import re
from collections.abc import Sequence

FOOTNOTE = re.compile(r"(?m)^((?:[ \t]{0,3}>)*[ \t]{0,3})\[\^[^\s\[\]]+\]:[ \t]*")
"""Marker of a footnote definition."""

HTML_BLOCK = re.compile(
    r"<(?:!--|\?|![A-Za-z]|(?:script|style|pre|textarea)(?=[\s>]|$)|/?(?:address|article|aside|base|basefont|"
    r"blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|"
    r"footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|"
    r"noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|"
    r"ul)(?=[\s>]|/>|$))",
    re.IGNORECASE,
)
"""Start of an HTML block that may interrupt a paragraph."""

_MARKERS = r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)]|\#{1,6})[ \t]+|>[ \t]*)*+"
_WORDS = re.compile(rf"(?m)^({_MARKERS})([A-Za-z,][^|<>\n]*)$")
# The marker of a task is part of the item's text.
_TASK = re.compile(rf"(?m)^({_MARKERS})\[[ xX]\](?=[ \t])")
_FOREIGN = re.compile(r"[^\t\n -~]")
# The grammar does not recognize these elements as HTML blocks, or misses the ends of the blocks.
_NEWER_ELEMENT = re.compile(r"(</?)(?:[hH][1-6]|search)(?=[\s/>])")
_DECLARATION = re.compile(r"<![A-Za-z][^<>]*+>")
# Elements indented this far in a list after a paragraph are not blocks, but the grammar fails on them.
_DEEP_HTML = re.compile(
    r"((?<=\S)[ \t]*\n(?:[ ]{4}|[ ]{0,3}\t)[ \t]*)<(?!/(?:script|style|pre|textarea))(?=[/a-zA-Z])"
)
_LONG_LINE = 2000
_LONG_WORD = re.compile(r"[A-Za-z0-9][^\s|<>()\[\]]{200,}")
"""Pattern for a long word that is not markup, such as the data of a picture."""
_FOOTNOTE_ITEM = "01. "


def skeleton_of(lines: Sequence[str]) -> list[str]:
    """Return the skeleton of ``lines``, line by line; markers before the words keep their columns."""
    text = _FOREIGN.sub(",", "\n".join(lines))
    if "<" in text:
        text = _NEWER_ELEMENT.sub(r"\1div", text).replace("textarea>", "pre>").replace("<textarea", "<pre")
        text = _DECLARATION.sub(lambda match: "<!--" + "\n" * match[0].count("\n") + "-->", text)
        text = _DEEP_HTML.sub(r"\1x", text)
    if "[ ]" in text or "[x]" in text or "[X]" in text:
        text = _TASK.sub(r"\1xxx", text)
    if "[^" in text:
        # Like a list item, a definition contains blocks, whose lines are indented by four columns.
        text = FOOTNOTE.sub(rf"\g<1>{_FOOTNOTE_ITEM}x ", text)
    skeleton = _WORDS.sub(lambda match: match[1] + "x" * min(len(match[2]), 8), text).split("\n")
    if len(text) > _LONG_LINE:
        skeleton = [line if len(line) <= _LONG_LINE else _shortened(line) for line in skeleton]
    return skeleton


def _shortened(line: str) -> str:
    # The rest of a long line matters only for tables, link definitions and the ends of HTML blocks.
    line = _LONG_WORD.sub("x", line)
    needed = "|" in line or ">" in line[_LONG_LINE:]
    return line[: 10 * _LONG_LINE] if needed else line[:_LONG_LINE]
