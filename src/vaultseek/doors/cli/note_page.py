"""A parsed note as text, for ``vaultseek inspect``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from vaultseek.doors.cli.listing import link_text
from vaultseek.doors.cli.terminal import Terminal, clean, count, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON


def page(note: JSON, terminal: Terminal, *, most: int | None = None, vault: str | None = None) -> str:
    """Return title, properties, outline, links with their targets, tags, tasks, passages and problems.

    At most ``most`` lines of each, None for all; problems are never cut. The note's path is relative to
    ``vault``.
    """
    parts = [
        _head(note, terminal, vault),
        _section("Properties", _properties(note), terminal, most),
        _section("Outline", _outline(note), terminal, most),
        _section("Links", _links(note, terminal), terminal, most),
        _section("Tasks", _tasks(note), terminal, most),
        _section("Callouts", _callouts(note), terminal, most),
        _section("Tables", _tables(note), terminal, most),
        _section("Footnotes", _footnotes(note), terminal, most),
        _section("Code", _code(note), terminal, most),
        _section("Passages", _passages(note), terminal, most),
        _section("Problems", _problems(note, terminal), terminal),
    ]
    return "\n".join(line for part in parts for line in part)


def _head(note: JSON, terminal: Terminal, vault: str | None) -> Iterator[str]:
    title, path = clean(note.get("title") or ""), clean(note.get("path") or "")
    painted = terminal.paint(path, "cyan")
    file = f"{vault}/{note.get('path')}" if vault else ""
    yield f"{terminal.paint(title, 'bold')}  {terminal.link(painted, file)}"
    if note.get("kind", "note") != "note":
        yield f"kind: {clean(note['kind'])}"
    if note.get("tags"):
        yield "tags: " + " ".join(f"#{clean(tag).removeprefix('#')}" for tag in note["tags"])
    names = [name for name in (note.get("file_name"), *(note.get("aliases") or ())) if name]
    if names:
        yield "also called: " + ", ".join(map(clean, names))


def _section(name: str, lines: Iterator[str], terminal: Terminal, most: int | None = None) -> Iterator[str]:
    # Lines with colour have been cut already.
    fitted = [f"  {line if chr(27) in line else terminal.fit(line, terminal.width - 2)}" for line in lines]
    if fitted:
        yield ""
        yield terminal.paint(name, "bold")
        yield from fitted[:most]
    if most is not None and len(fitted) > most:
        yield terminal.paint(f"  … and {len(fitted) - most:,} more; --all shows them", "dim")


def _properties(note: JSON) -> Iterator[str]:
    rows = [[clean(key), _value(value)] for key, value in (note.get("frontmatter") or {}).items()]
    yield from table(rows) if rows else ()


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join("null" if item is None else _value(item) for item in value)
    if isinstance(value, dict | bool):
        return clean(json.dumps(value, ensure_ascii=False, default=str))
    return clean("" if value is None else value)


def _outline(note: JSON) -> Iterator[str]:
    for heading in note.get("headings") or ():
        yield f"{'  ' * (int(heading['level']) - 1)}{clean(heading['text']) or '(empty)'}  :{heading['line']}"


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
        return f"-> {clean(resolved)} (ambiguous, could be {clean(others[0])}{more})", "yellow"
    return f"-> {clean(resolved)}", "green"


def _tasks(note: JSON) -> Iterator[str]:
    for task in note.get("tasks") or ():
        yield f"[{clean(task.get('mark', ' '))}] {clean(task.get('text') or '')}  :{task.get('line')}"


def _callouts(note: JSON) -> Iterator[str]:
    for callout in note.get("callouts") or ():
        title = clean(callout.get("title") or "")
        yield f"[{clean(callout.get('kind') or '')}] {title}  :{callout.get('line')}"


def _tables(note: JSON) -> Iterator[str]:
    for span in note.get("tables") or ():
        yield f":{span['line']}-{span['end_line']}"


def _footnotes(note: JSON) -> Iterator[str]:
    for footnote in note.get("footnotes") or ():
        yield f"[^{clean(footnote['id'])}]  :{footnote['line']}"


def _code(note: JSON) -> Iterator[str]:
    for block in note.get("code_blocks") or ():
        yield f":{block.get('line')} {clean(block.get('lang') or 'no language')}"


def _passages(note: JSON) -> Iterator[str]:
    rows = []
    for chunk in note.get("chunks") or ():
        lines = f"{chunk['start_line']}-{chunk['end_line']}"
        where = " › ".join(clean(heading) for heading in chunk.get("heading_path") or ())
        if chunk.get("place"):
            where = f"#{clean(chunk['place'])}  {where}".rstrip()
        rows.append([lines, count(len(chunk.get("text") or ""), "character"), where])
    yield from table(rows, right=(0, 1)) if rows else ()


def _problems(note: JSON, terminal: Terminal) -> Iterator[str]:
    for problem in note.get("problems") or ():
        line = f":{problem['line']} " if problem.get("line") else ""
        text = f"{line}{clean(problem.get('message') or problem.get('code'))}"
        yield terminal.paint(terminal.fit(text, terminal.width - 2), "yellow")
