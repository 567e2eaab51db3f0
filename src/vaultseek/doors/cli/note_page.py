"""A parsed note formatted as text, for ``vaultseek inspect``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from vaultseek.doors.cli.listing import currency_lines, link_text
from vaultseek.doors.cli.terminal import Terminal, clean, count, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from vaultseek.base.model import JSON

    Lines = Callable[[JSON, Terminal], Iterable[str]]


def page(note: JSON, terminal: Terminal, *, most: int | None = None, vault: str | None = None) -> str:
    """Return a note's title, properties, outline, links with their targets, tags, tasks, passages and
    problems.

    Each part has at most ``most`` lines, or all if ``most`` is None; problems are never cut. The note's path
    is relative to the folder ``vault``.
    """
    parts = [_head(note, terminal, vault)]
    parts += [
        _section(name, list(lines(note, terminal)), terminal, most if name != "Problems" else None)
        for name, lines in _SECTIONS
    ]
    return "\n".join(line for part in parts for line in part)


def _head(note: JSON, terminal: Terminal, vault: str | None) -> Iterator[str]:
    title, path = clean(note.get("title") or ""), clean(note.get("path") or "")
    painted = terminal.paint(path, "cyan")
    file = f"{vault}/{note.get('path')}" if vault else ""
    yield f"{terminal.paint(title, 'bold')}  {terminal.link(painted, file)}"
    yield from currency_lines(note, terminal)
    if note.get("kind", "note") != "note":
        yield f"kind: {clean(note['kind'])}"
    if note.get("tags"):
        yield "tags: " + " ".join(f"#{clean(tag).removeprefix('#')}" for tag in note["tags"])
    names = [name for name in (note.get("file_name"), *(note.get("aliases") or ())) if name]
    if names:
        yield "also called: " + ", ".join(map(clean, names))


def _section(name: str, lines: list[str], terminal: Terminal, most: int | None) -> Iterator[str]:
    if lines:
        yield from ("", terminal.paint(name, "bold"))
    for line in lines[:most]:
        # Coloured lines are already cut to the width.
        yield f"  {line if chr(27) in line else terminal.fit(line, terminal.width - 2)}"
    if most is not None and len(lines) > most:
        yield terminal.paint(f"  … and {len(lines) - most:,} more; --all shows them", "dim")


def _properties(note: JSON, terminal: Terminal) -> list[str]:
    rows = [[clean(key), _value(value)] for key, value in (note.get("frontmatter") or {}).items()]
    return table(rows) if rows else []


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join("null" if item is None else _value(item) for item in value)
    if isinstance(value, dict | bool):
        return clean(json.dumps(value, ensure_ascii=False, default=str))
    return clean("" if value is None else value)


def _links(note: JSON, terminal: Terminal) -> Iterator[str]:
    for link in note.get("links") or ():
        target, color = _target(link)
        room = max(20, terminal.width - len(target) - 4)
        text = terminal.fit(f":{link.get('line')} {clean(link.get('kind'))} {link_text(link)}", room)
        yield f"{text} {terminal.paint(target, color)}"


def _target(link: JSON) -> tuple[str, str]:
    resolved = link.get("resolved")
    others = link.get("candidates") or link.get("ambiguous")
    if not resolved:
        return "-> missing", "red"
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        return f"-> {clean(resolved)} (ambiguous, could be {clean(others[0])}{more})", "magenta"
    return f"-> {clean(resolved)}", "green"


def _passages(note: JSON, terminal: Terminal) -> list[str]:
    rows = []
    for chunk in note.get("chunks") or ():
        lines = f"{chunk['start_line']}-{chunk['end_line']}"
        where = " › ".join(clean(heading) for heading in chunk.get("heading_path") or ())
        if chunk.get("place"):
            where = f"#{clean(chunk['place'])}  {where}".rstrip()
        rows.append([lines, count(len(chunk.get("text") or ""), "character"), where])
    return table(rows, right=(0, 1)) if rows else []


def _problems(note: JSON, terminal: Terminal) -> Iterator[str]:
    for problem in note.get("problems") or ():
        line = f":{problem['line']} " if problem.get("line") else ""
        text = f"{line}{clean(problem.get('message') or problem.get('code'))}"
        yield terminal.paint(terminal.fit(text, terminal.width - 2), "magenta")


def _each(key: str, line: Callable[[JSON], str]) -> Lines:
    return lambda note, terminal: (line(item) for item in note.get(key) or ())


def _heading(heading: JSON) -> str:
    return f"{'  ' * (int(heading['level']) - 1)}{clean(heading['text']) or '(empty)'}  :{heading['line']}"


_SECTIONS: tuple[tuple[str, Lines], ...] = (
    ("Properties", _properties),
    ("Outline", _each("headings", _heading)),
    ("Links", _links),
    ("Tasks", _each("tasks", lambda it: f"[{clean(it['mark'])}] {clean(it['text'])}  :{it['line']}")),
    ("Callouts", _each("callouts", lambda it: f"[{clean(it['kind'])}] {clean(it['title'])}  :{it['line']}")),
    ("Tables", _each("tables", lambda it: f":{it['line']}-{it['end_line']}")),
    ("Footnotes", _each("footnotes", lambda it: f"[^{clean(it['id'])}]  :{it['line']}")),
    ("Code", _each("code_blocks", lambda it: f":{it['line']} {clean(it['lang'] or 'no language')}")),
    ("Passages", _passages),
    ("Problems", _problems),
)
