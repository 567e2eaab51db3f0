"""Logs of coding agents, Claude Code's and Codex's: turns of user and agent, without tools and secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from vaultseek.base.model import JSON, Note
from vaultseek.content.extractors.composition import Composition, named_only, one_line
from vaultseek.content.markdown.decode import decode

SPEAKERS = {"user": "User", "assistant": "Agent"}
TITLE_CHARS = 80
SECRET = "[secret]"
_TEXTS = frozenset(("text", "input_text", "output_text"))
"""Types of the items of a message that somebody wrote; the others are tools, pictures and thoughts."""
_ADDED = re.compile(r"<([a-z]+(?:[-_][a-z]+)+)>.*?</\1>", re.DOTALL)
"""Text that a program adds to a turn, such as ``<system-reminder>`` or ``<environment_context>``."""
_SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"  # OpenAI, Anthropic, Stripe
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"  # Amazon
    r"|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}"  # Google
    r"|\bxox[abeoprs]-[\w-]{10,}|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{20,}|\bpypi-[\w-]{20,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"  # JSON Web Token
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"
    r"|(?i:(?<=bearer )|(?<=basic ))[\w.~+/-]{12,}=*",
    re.DOTALL,
)
_ASSIGNED = re.compile(
    r"((?:pass(?:word|wd|phrase)?|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credential)s?"
    r"[\"']?\s*(?:[:=]|\bis\b)\s*[\"']?)([^\s\"',;]{4,})",
    re.IGNORECASE,
)


class Turn(NamedTuple):
    """One turn: its text, speaker, and day and time, empty if they are not known."""

    speaker: str
    when: str
    text: str


def read(data: bytes, path: str, *, ocr: bool = False) -> Note:
    """Read a log. Each turn is a part of its own, ``turn=3``, below a heading with speaker and time."""
    entries = [*_entries(decode(data)[0])]
    turns = [*_turns(entries)]
    if not turns:
        return named_only(path, "damaged", "not a session: no line of it is a turn of a known agent")
    made = Composition(path)
    for number, turn in enumerate(turns, start=1):
        if made.full:
            break
        made.place(f"turn={number}")
        made.heading(1, f"{SPEAKERS[turn.speaker]} {turn.when}".strip())
        made.paragraph(turn.text)
    summary = next((each["summary"] for each in entries if isinstance(each.get("summary"), str)), "")
    asked = next((turn.text for turn in turns if turn.speaker == "user"), turns[0].text)
    title = without_secrets(one_line(summary or asked))[:TITLE_CHARS]
    return made.note(title, _properties(entries, turns))


def without_secrets(text: str) -> str:
    """Return ``text`` with keys, tokens and passwords of known forms replaced."""
    return _ASSIGNED.sub(rf"\1{SECRET}", _SECRETS.sub(SECRET, text))


def _entries(text: str) -> Iterator[JSON]:
    """Yield the objects of the lines; of Codex's newer logs what they wrap, with its time."""
    for line in text.split("\n"):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a line is cut off while it is written
        if not isinstance(entry, dict):
            continue
        payload = entry.get("payload")
        if isinstance(payload, dict):
            # An event repeats the message of an item.
            if entry.get("type") != "event_msg":
                yield {"timestamp": entry.get("timestamp"), **payload}
        else:
            yield entry


def _turns(entries: list[JSON]) -> Iterator[Turn]:
    for entry in entries:
        message = entry.get("message") if isinstance(entry.get("message"), dict) else entry
        assert isinstance(message, dict)
        speaker = message.get("role") or entry.get("type")
        if speaker not in SPEAKERS or entry.get("isMeta") or entry.get("isSidechain"):
            continue
        text = without_secrets(_ADDED.sub("", _text(message.get("content"))).strip())
        if text:
            when = str(entry.get("timestamp") or "")[:16].replace("T", " ")
            yield Turn(speaker, when, text)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    items = content if isinstance(content, list) else []
    texts = (item.get("text") for item in items if isinstance(item, dict) and item.get("type") in _TEXTS)
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _properties(entries: list[JSON], turns: list[Turn]) -> JSON:
    project = next((each["cwd"] for each in entries if isinstance(each.get("cwd"), str)), None)
    found = {"date": turns[0].when[:10], "project": project and one_line(project)}
    return {name: value for name, value in found.items() if value}
