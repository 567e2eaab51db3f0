"""What was understood of a note, as a person reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from vaultseek.cli.terminal import Terminal, clean, count, cut, table

JSON = dict[str, Any]


def page(note: JSON, terminal: Terminal) -> str:
    """Title, properties, outline, links with their targets, tags, tasks, passages and problems."""
    parts = [
        _head(note, terminal),
        _section("Properties", _properties(note), terminal),
        _section("Outline", _outline(note), terminal),
        _section("Links", _links(note, terminal), terminal),
        _section("Tasks", _tasks(note), terminal),
        _section("Code", _code(note), terminal),
        _section("Passages", _passages(note), terminal),
        _section("Problems", _problems(note, terminal), terminal),
    ]
    return "\n".join(line for part in parts for line in part)


def _head(note: JSON, terminal: Terminal) -> Iterator[str]:
    title, path = clean(note.get("title") or ""), clean(note.get("path") or "")
    yield f"{terminal.paint(title, 'bold')}  {terminal.paint(path, 'cyan')}"
    if note.get("tags"):
        yield "tags: " + " ".join(f"#{clean(tag).removeprefix('#')}" for tag in note["tags"])
    if note.get("aliases"):
        yield "also called: " + ", ".join(clean(alias) for alias in note["aliases"])


def _section(name: str, lines: Iterator[str], terminal: Terminal) -> Iterator[str]:
    # Lines that hold colour are cut where they are made.
    made = [f"  {line if chr(27) in line else cut(line, terminal.width - 2)}" for line in lines]
    if made:
        yield ""
        yield terminal.paint(name, "bold")
        yield from made


def _properties(note: JSON) -> Iterator[str]:
    rows = [[clean(key), _value(value)] for key, value in (note.get("frontmatter") or {}).items()]
    yield from table(rows) if rows else ()


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(clean(item) for item in value)
    if isinstance(value, dict | bool):
        return clean(json.dumps(value, ensure_ascii=False, default=str))
    return clean("" if value is None else value)


def _outline(note: JSON) -> Iterator[str]:
    for heading in note.get("headings") or ():
        yield f"{'  ' * (int(heading['level']) - 1)}{clean(heading['text'])}  :{heading['line']}"


def _links(note: JSON, terminal: Terminal) -> Iterator[str]:
    for link in note.get("links") or ():
        goal, color = _goal(link)
        room = max(20, terminal.width - len(goal) - 4)
        text = cut(f":{link.get('line')} {clean(link.get('kind'))} {_written(link)}", room)
        yield f"{text} {terminal.paint(goal, color)}"


def _written(link: JSON) -> str:
    heading = f"#{link['heading']}" if link.get("heading") else ""
    block = f"#^{link['block']}" if link.get("block") else ""
    return clean(f"{link.get('target') or ''}{heading}{block}")


def _goal(link: JSON) -> tuple[str, str]:
    resolved = link.get("resolved")
    others = link.get("candidates") or link.get("ambiguous")
    if not resolved:
        return "-> missing", "red"
    if others:
        many = f", or {count(len(others), 'other')}" if isinstance(others, list) else ""
        return f"-> {clean(resolved)} (ambiguous{many})", "yellow"
    return f"-> {clean(resolved)}", "green"


def _tasks(note: JSON) -> Iterator[str]:
    for task in note.get("tasks") or ():
        yield f"[{clean(task.get('mark', ' '))}] {clean(task.get('text') or '')}  :{task.get('line')}"


def _code(note: JSON) -> Iterator[str]:
    for block in note.get("code_blocks") or ():
        yield f":{block.get('line')} {clean(block.get('lang') or 'no language')}"


def _passages(note: JSON) -> Iterator[str]:
    rows = []
    for chunk in note.get("chunks") or ():
        lines = f"{chunk['start_line']}-{chunk['end_line']}"
        where = " › ".join(clean(heading) for heading in chunk.get("heading_path") or ())
        rows.append([lines, count(len(chunk.get("text") or ""), "character"), where])
    yield from table(rows, right=(0, 1)) if rows else ()


def _problems(note: JSON, terminal: Terminal) -> Iterator[str]:
    for problem in note.get("problems") or ():
        line = f":{problem['line']} " if problem.get("line") else ""
        text = cut(f"{line}{clean(problem.get('message') or problem.get('code'))}", terminal.width - 2)
        yield terminal.paint(text, "yellow")
