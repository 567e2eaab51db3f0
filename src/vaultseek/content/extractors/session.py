"""Read logs of coding agents, Claude Code and Codex: the turns of user and agent, without tool calls or
secrets.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from vaultseek.base.model import JSON, Note
from vaultseek.content.extractors.composition import Composition, named_only, one_line
from vaultseek.content.markdown.decode import decode

SPEAKERS = {"user": "User", "assistant": "Agent"}
TITLE_CHARS = 80
TIME_CHARS = 40
"""Maximum length of a turn's time, in characters. The log's time field may contain any text."""
SECRET = "[secret]"
_TEXTS = frozenset(("text", "input_text", "output_text"))
"""Types of message items written by a person or an agent; items of other types are tool calls, pictures and
thoughts."""
_ADDED = re.compile(
    r"<([a-z]+(?:[-_][a-z]+)+)>.*?</\1>"
    r"|\A\s*# AGENTS\.md instructions for [^\n]*\s*<INSTRUCTIONS>.*?</INSTRUCTIONS>"
    r"|\A\s*# Context from my IDE setup:.*?\n## My request for Codex:",
    re.DOTALL,
)
"""Pattern for text that a program added to a turn, such as ``<system-reminder>`` or project instructions."""
_SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [A-Z ]*PRIVATE KEY[A-Z ]*-----|\Z)"
    r"|AGE-SECRET-KEY-1\w+"
    r"|\b(?:sk|pk|rk)[-_](?:[a-z0-9]+[-_])*[A-Za-z0-9]{16,}[\w-]*"
    r"|\b(?:gh[pousr]|github_pat|glpat|hf|npm|pypi|xox[abeoprs]|xapp|dop_v1|shp(?:at|ca|pa|ss)|dapi|hvs|gsk|lin_api"
    r"|ntn|figd|sbp|pplx|xai|r8|tskey|dckr_pat|rubygems|whsec|GOCSPX|ya29|SG)[-_.]?[\w.-]{12,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{20,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
    r"|(?<=hooks\.slack\.com/services/)\S+|(?<=/api/webhooks/)\S+"
    r"|(?<=://)[^\s/@\"'<>]*:[^\s\"'<>]+(?=@)|(?<=://)[^\s/@:]{12,}(?=@)"
    r"|(?i:(?<=bearer)|(?<=basic)|(?<=authorization: token))\s+(?=\S*[A-Z0-9])[\w.~+/-]{12,}=*"
    # A long word that mixes upper case, lower case and digits is a key, whoever issued it.
    r"|(?<![\w/.-])(?=[\w+/-]*[a-z])(?=[\w+/-]*[A-Z])(?=[\w+/-]*\d)[\w+-][\w+/-]{23,}={0,2}",
    re.DOTALL,
)
"""Patterns for keys and tokens with a known form."""
_PASSWORDS = re.compile(
    r"((?:pass(?:word|wd|phrase|wort)|\b(?:pwd|psk))[\"'\\*]*\s*(?:=>|[:=|>-]|\b(?:is|was)\b:?)[\"'\\*\s]*"
    r"|--pass(?:word)?[ =]|\bsshpass -p ?|\bcurl -u ?)"
    r"(?!(?:required|wrong|too|not|missing|empty|the|a|stored|hashed)\b)([^\s\"'<|]{3,})",
    re.IGNORECASE,
)
"""Pattern for passwords that can be recognized by the word before them."""
_ASSIGNED = re.compile(
    r"((?:secret|token|(?:api|access|account|private|signing|encryption|secret)[-_ ]?key|credential|cookie"
    r"|\bsig)[\"'\\*]*\s*(?:=>|[:=]|\bis\b)[\"'\\*\s]*|--(?:token|secret|api-key)[ =])"
    r"(?=\S*\d)(?!\d+\b)([^\s\"'<|]{6,})",
    re.IGNORECASE,
)
"""Pattern for values that are assigned to a name such as ``api_key``. A value must contain a digit and not be
a number."""


class Turn(NamedTuple):
    """One turn in a log: its text, its speaker, and its time in ISO 8601 format, empty if unknown."""

    speaker: str
    when: str
    text: str


def read(data: bytes, path: str) -> Note:
    """Read a log as a note. Each turn is a separate part, such as ``turn=3``, below a heading with speaker
    and time.
    """
    entries = [*_entries(decode(data)[0])]
    turns = [*_turns(entries)]
    if not turns:
        return named_only(path, "damaged", "not an agent session: no line is from a known agent")
    made = Composition(path)
    for number, turn in enumerate(turns, start=1):
        if made.full:
            break
        made.place(f"turn={number}")
        made.heading(1, f"{SPEAKERS[turn.speaker]} {_shown(turn.when)}".strip())
        made.paragraph(turn.text)
    summary = next((each["summary"] for each in entries if isinstance(each.get("summary"), str)), "")
    asked = next((turn.text for turn in turns if turn.speaker == "user"), turns[0].text)
    title = without_secrets(one_line(summary or asked))[:TITLE_CHARS]
    return made.note(title, _properties(entries, turns))


def without_secrets(text: str) -> str:
    """Return ``text`` with keys, tokens and passwords of known forms replaced."""
    for pattern in (_PASSWORDS, _ASSIGNED):
        text = pattern.sub(rf"\1{SECRET}", text)
    return _SECRETS.sub(SECRET, text)


def _entries(text: str) -> Iterator[JSON]:
    """Yield the JSON object on each line. In newer Codex logs, yield the wrapped object with its time."""
    for line in text.split("\n"):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a line may be incomplete while it is being written
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
        if (
            not isinstance(speaker, str)
            or speaker not in SPEAKERS
            or entry.get("isMeta")
            or entry.get("isSidechain")
        ):
            continue
        text = without_secrets(_ADDED.sub("", _text(message.get("content"))).strip())
        if text:
            yield Turn(speaker, str(entry.get("timestamp") or "")[:TIME_CHARS], text)


def _shown(when: str) -> str:
    """Return a time to the minute. It is in UTC, as agents write it, so that the text is the same in every
    time zone.
    """
    minute = when[:16].replace("T", " ")
    return f"{minute} UTC" if when.endswith("Z") else minute


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    items = content if isinstance(content, list) else []
    texts = (item.get("text") for item in items if isinstance(item, dict) and str(item.get("type")) in _TEXTS)
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _properties(entries: list[JSON], turns: list[Turn]) -> JSON:
    project = next((each["cwd"] for each in entries if isinstance(each.get("cwd"), str)), None)
    found = {"date": turns[0].when, "project": project and one_line(project)}
    return {name: value for name, value in found.items() if value}
