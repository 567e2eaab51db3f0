"""Inline Markdown as the words that a reader sees."""

from __future__ import annotations

import re

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[ \t]+\^[A-Za-z0-9-]+$"), ""),
    (re.compile(r"<!--.*?-->"), ""),
    (re.compile(r"!?\[\[[^\[\]|]*\|([^\[\]]*)\]\]"), r"\1"),
    (re.compile(r"!?\[\[([^\[\]|]*)\]\]"), r"\1"),
    (re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)"), r"\1"),
    (re.compile(r"!?\[([^\[\]]+)\]\[[^\[\]]*\]"), r"\1"),
    (re.compile(r"</?[A-Za-z][^<>]*>"), ""),
    (re.compile(r"(\*\*|~~|==)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(`+)(.+?)\1"), r"\2"),
    (re.compile(r"\*(?=\S)([^*]+?)(?<=\S)\*"), r"\1"),
    (re.compile(r"(?<!\w)(__?)(?=\S)(.+?)(?<=\S)\1(?!\w)"), r"\2"),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)


def plain_text(markdown: str) -> str:
    """``markdown`` without its markup, on one line. Quadratic in the length, so bound it."""
    text = markdown
    for pattern, words in _PATTERNS:
        text = pattern.sub(words, text)
    return " ".join(text.split())
