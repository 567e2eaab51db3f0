"""Lists of links, notes, tags, properties and vaults, formatted for an agent page by page. No I/O."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby

from vaultseek.base.limits import LISTED_ITEMS_MOST, NOTE_LINKS
from vaultseek.base.model import JSON
from vaultseek.base.text import count, fold, one_line
from vaultseek.doors.mcp.reply import Form, Reply, advised, dated, head_of, largest, line, outdated, times
from vaultseek.doors.reasons import no_path_reason, reason_text

FOLDERS_NAMED = 30
"""Maximum number of folders named above a list of notes; folders with the most notes are preferred."""
FOLDERS_ALIKE = 3
"""Maximum number of similar folders suggested for a missing folder."""
VALUE_CHARS = 60
"""Maximum number of characters of a property value shown among other values on a line; longer values are
cut."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a longer list: its items, the 1-based number of its first item, and the total number of
    items."""

    items: Sequence[JSON]
    first: int
    total: int


def page_of(items: Sequence[JSON], first: int, size: int) -> Page:
    """Return a page of a complete list: at most ``size`` items, starting at number ``first``."""
    return Page(items[first - 1 : first - 1 + size], first, len(items))


def links(answer: JSON, page: Page, form: Form) -> Reply:
    """Format a note's links, each of which has a ``direction``; ``answer`` contains the note."""
    title = f"{count(page.total, 'link')} of {line(answer.get('path') or '')}"
    title += f" ({outdated(answer)})" if outdated(answer) else ""
    return _listing("links", page, _link, _each(_link_text), title, head_of(answer), form)


def notes(
    answer: JSON, page: Page, form: Form, *, folder: str, paths: Sequence[str] = (), is_dated: bool = True
) -> Reply:
    """Format the notes in ``folder``. The ``paths`` of all its notes are used to count the notes in each
    subfolder.

    With ``is_dated``, notes are grouped below their dates; otherwise each note has its own date.
    """
    head = head_of(answer)
    where = f"below {line(folder)}/ in vault {head['vault']!r}" if folder else f"in vault {head['vault']!r}"
    title = f"{count(page.total, 'note')} {where}"
    if folders := _folders(paths, folder):
        head["folders"] = folders
        named = ", ".join(f"{name}/ {number}" for name, number in folders.items())
        title += f"; folders: {named}"
    lines = _dated_lines if is_dated else _each(lambda note: f"{_named(note)} | {dated(note)}")
    return _listing("notes", page, _note, lines, title, head, form)


def folders_like(folder: str, paths: Sequence[str]) -> list[str]:
    """Return the folders whose paths end with ``folder``; if there are none, folders with similar names;
    otherwise the top-level folders."""
    folders = {path[:sign] for path in paths for sign, character in enumerate(path) if character == "/"}
    ending = fold(f"/{folder}")
    like = sorted(each for each in folders if fold(f"/{each}").endswith(ending))
    return like or _spelled_alike(folder, folders) or sorted(each for each in folders if "/" not in each)


def _spelled_alike(folder: str, folders: Collection[str]) -> list[str]:
    """Return the folders whose path or name is spelled like ``folder``, most similar first."""
    by_spelling: dict[str, list[str]] = {}
    for each in sorted(folders):
        for spelling in dict.fromkeys((fold(each), fold(each.rpartition("/")[2]))):
            by_spelling.setdefault(spelling, []).append(each)
    close = get_close_matches(fold(folder), by_spelling, FOLDERS_ALIKE)
    return list(dict.fromkeys(each for spelling in close for each in by_spelling[spelling]))


def tags(answer: JSON, page: Page, form: Form) -> Reply:
    """Format tags; a tag's count includes notes with nested tags."""
    head = head_of(answer)
    title = f"{count(page.total, 'tag')} in vault {head['vault']!r}, with note counts"
    return _listing(
        "tags", page, lambda tag: {**tag, "tag": line(tag["tag"])}, _each(_tag_text), title, head, form
    )


def properties(answer: JSON, page: Page, form: Form) -> Reply:
    """Format properties, each with its most common values."""
    head = head_of(answer)
    names = count(page.total, "property", "properties")
    title = f"{names} in vault {head['vault']!r}, with note counts"
    return _listing("properties", page, _property, _each(_property_text), title, head, form)


def values(answer: JSON, page: Page, form: Form) -> Reply:
    """Format the values of one property."""
    head = {**head_of(answer), "property": line(answer["property"])}
    title = f"{count(page.total, 'value')} of {head['property']}, with note counts"
    return _listing(
        "values",
        page,
        lambda value: {**value, "value": line(value["value"])},
        _each(lambda value: f"- {value['value']} | {value['count']}"),
        title,
        head,
        form,
    )


def tables(answer: JSON, first: int, last: int, form: Form) -> Reply:
    """Format rows ``first`` to ``last`` of tables, with the columns of each table."""
    head = head_of(answer)
    head["tables"] = [_table(table) for table in answer["tables"]]
    rows = [
        {**row, "table": number} for number, table in enumerate(answer["tables"]) for row in table["rows"]
    ]
    total = sum(int(table["total"]) for table in answer["tables"])
    title = f"{count(total, 'row')} in vault {head['vault']!r}"
    return _listing(
        "rows",
        Page(rows[first - 1 : last], first, total),
        lambda row: _row(row, answer["tables"][row["table"]]),
        lambda items: _table_lines(items, head["tables"]),
        title,
        head,
        form,
    )


def _table(table: JSON) -> JSON:
    return {
        "name": line(table["name"]),
        "columns": [line(column["name"]) for column in table["columns"]],
        "groups": [{"value": _cell(group["value"]), "count": group["count"]} for group in table["groups"]],
        "summaries": [
            f"{line(each['name'])} of {line(each['column'])}: {_cell(each['value'])}"
            for each in table["summaries"]
        ],
        "problems": [line(problem) for problem in table["problems"]],
    }


def _row(row: JSON, table: JSON) -> JSON:
    cells = [_cell(row["cells"].get(column["id"])) for column in table["columns"]]
    return {"path": line(row["path"]), **times(row), "cells": cells, "table": row["table"]}


def _cell(value: object) -> str:
    if isinstance(value, list):
        value = ", ".join(map(_cell, value))
    text = {None: "", True: "yes", False: "no"}[value] if value is None or isinstance(value, bool) else value
    return one_line(line(text), 4 * VALUE_CHARS)


def _table_lines(rows: Sequence[JSON], about: Sequence[JSON]) -> list[str]:
    """Return lines with the rows of each table, below its column headings and above its summaries and
    problems."""
    lines: list[str] = []
    for number, table in enumerate(about):
        own = [row for row in rows if row["table"] == number]
        name = f"{table['name']}: " if table["name"] else ""
        lines.append(f"table {name}path | {' | '.join(table['columns'])}")
        lines += [
            " | ".join([f"- {row['path']}", *row["cells"], *([dated(row)] if "modified" in row else [])])
            for row in own
        ]
        lines += [f"group {group['value'] or 'none'}: {group['count']}" for group in table["groups"]]
        lines += [f"summary {summary}" for summary in table["summaries"]]
        lines += [f"problem: {problem}" for problem in table["problems"]]
    return lines


def overview(answer: JSON, form: Form) -> Reply:
    """Format the hubs and clusters of the link graph."""
    hubs = [{"kind": "hub", **_note(hub), "backlinks": hub["backlinks"]} for hub in answer["hubs"]]
    clusters = [
        {
            "kind": "cluster",
            "words": [line(word) for word in cluster["words"]],
            "count": cluster["count"],
            "notes": [line(each["path"]) for each in cluster["notes"]],
        }
        for cluster in answer["clusters"]
    ]
    numbers = (count(answer["notes"], "note"), count(answer["links"], "link"))
    title = (
        f"{', '.join(numbers)}, {answer['orphans']} without backlinks, {answer['isolated']} without any link"
    )
    if answer["truncated"]:
        title += f"; only the first {NOTE_LINKS:,} links of {', '.join(map(line, answer['truncated']))}"
    return _graph([*hubs, *clusters], title, answer, form)


def suggestions(answer: JSON, form: Form) -> Reply:
    """Format links that may be missing, with the reasons for adding them."""
    items = [
        {"kind": "suggestion", **_note(each), "reasons": [reason_text(reason) for reason in each["reasons"]]}
        for each in answer["suggestions"]
    ]
    return _graph(items, count(len(items), "link") + " that may be missing", answer, form)


def stale(answer: JSON, form: Form) -> Reply:
    """Format outdated notes, and links to superseded notes."""
    items = [
        {
            "kind": "stale",
            "path": line(each["path"]),
            "title": line(each["title"]),
            "text": line(each["text"]),
        }
        | ({"line": each["line"]} if each["line"] else {})
        for each in answer["items"]
    ]
    return _graph(
        items, f"{count(answer['total'], 'stale note or link', 'stale notes and links')}", answer, form
    )


def route(answer: JSON, form: Form) -> Reply:
    """Format the steps of the shortest path between two notes, each with the line that contains its link."""
    steps: list[JSON] = next(iter(answer["routes"]), [])
    items = [
        {"kind": "step", **_note(step), "by": step["by"], "text": line(step.get("text") or "")}
        for step in steps
    ]
    title = (
        f"path of {count(len(steps) - 1, 'step')}" if steps else f"no path: {line(no_path_reason(answer))}"
    )
    return _graph(items, title, answer, form)


def _graph(items: Sequence[JSON], title: str, answer: JSON, form: Form) -> Reply:
    page = Page(items, 1, len(items))
    return _listing("items", page, dict, _each(_graph_text), title, head_of(answer), form, pages=False)


def _graph_text(item: JSON) -> str:
    match item["kind"]:
        case "hub":
            return f"- hub {item['path']} | {count(item['backlinks'], 'backlink')} | {dated(item)}"
        case "cluster":
            words, notes = ", ".join(item["words"]), ", ".join(item["notes"])
            return f"- cluster {words} | {count(item['count'], 'note')} | {notes}"
        case "stale":
            place = f"{item['path']}:{item['line']}" if "line" in item else item["path"]
            return f"- {place} | {item['text']}"
        case "suggestion":
            return f"- {item['path']} | {dated(item)} | {'; '.join(item['reasons'])}"
    text = "no link, similar in meaning" if item["by"] == "meaning" else item["text"]
    return f"- {item['path']} | {dated(item)}" + (f" | {text}" if text else "")


def status(answer: JSON, form: Form) -> Reply:
    """Format the status of the daemon and its vaults, as returned by ``index/status``."""
    daemon = answer.get("daemon") or {}
    worker = daemon.get("worker") or {}
    vaults = answer.get("vaults") or ()
    model = {name: worker.get(name) for name in ("model", "status", "code", "reason")}
    head: JSON = {"untrusted": True, "version": daemon.get("version"), "model": model}
    title = f"{count(len(vaults), 'vault')} open in vaultseek {head['version']}; "
    title += f"model {worker.get('model')} {worker.get('status')}"
    page = Page(vaults, 1, len(vaults))
    return _listing("vaults", page, _vault, _each(_vault_text), title, head, form, pages=False)


def _listing(
    key: str,
    page: Page,
    item: Callable[[JSON], JSON],
    lines: Callable[[Sequence[JSON]], list[str]],
    title: str,
    head: JSON,
    form: Form,
    *,
    pages: bool = True,
) -> Reply:
    """Return as many items as fit, converted by ``item`` for structured content and by ``lines`` for text.

    ``next_first``, the number of the next page's first item, is present if the list has ``pages``.
    """
    items = [item(each) for each in page.items]
    start = f", from number {page.first}" if page.first > 1 else ""

    def reply(number: int) -> Reply:
        last = page.first - 1 + number
        omitted = max(0, page.total - last)
        more = pages and omitted and number and last < LISTED_ITEMS_MOST
        next_first = last + 1 if more else None
        advice = f"continue with first={next_first}" if next_first else "ask again with a larger max_tokens"
        structured: JSON = {**head, "partial": [], key: items[:number]}
        if pages:
            structured |= {"first": page.first, "total": page.total, "next_first": next_first}
        structured |= {"truncated": omitted > 0, "omitted": omitted}
        marks = [f"[cut: {omitted} more; {advice}]"] if omitted else []
        return Reply(title + start, lines(items[:number]), marks, structured)

    return largest(reply, len(items), form)


def _each(text: Callable[[JSON], str]) -> Callable[[Sequence[JSON]], list[str]]:
    return lambda items: [text(item) for item in items]


def _link(link: JSON) -> JSON:
    item: JSON = {"direction": link["direction"]}
    for name in ("path", "title", "target", "resolved", "heading", "line", "text"):
        if link.get(name) is not None:
            item[name] = line(link[name]) if isinstance(link[name], str) else link[name]
    return item | times(link)


def _link_text(link: JSON) -> str:
    anchor = f"#{link['heading']}" if link.get("heading") else ""
    date = f" | {dated(link)}" if link.get("modified") else ""
    if link["direction"] == "outgoing":
        target = link.get("resolved") or f"{link['target']} (missing)"
        return f"- line {link['line']} -> {target}{anchor}{date}"
    where = f"{link['path']}:{link['line']}"
    if link["direction"] == "unresolved":
        return f"- {where} -> {link['target']}{anchor} (missing)"
    return f"- <- {where}{date} | {link.get('text') or link['title']}"


def _note(note: JSON) -> JSON:
    item: JSON = {"path": line(note["path"]), "title": line(note["title"])}
    if name := note.get("file_name"):
        item["file_name"] = line(name)
    return {**item, **times(note)}


def _named(note: JSON) -> str:
    return f"- {note['path']}" + (f" | {note['title']}" if note.get("file_name") else "")


def _dated_lines(notes: Sequence[JSON]) -> list[str]:
    """Return the notes as lines, below a line for each day on which any note was changed."""
    lines: list[str] = []
    for day, on_it in groupby(notes, key=lambda note: f"changed {note['modified'][:10]}"):
        lines += [day, *(" | ".join(filter(None, (_named(note), outdated(note)))) for note in on_it)]
    return lines


def _folders(paths: Sequence[str], folder: str) -> dict[str, int]:
    """Return the folders directly in ``folder`` with the number of notes in each, largest first."""
    depth = len(folder.split("/")) if folder else 0
    below = Counter(line(parts[depth]) for path in paths if len(parts := path.split("/")) > depth + 1)
    return dict(below.most_common(FOLDERS_NAMED))


def _tag_text(tag: JSON) -> str:
    nested = f" ({tag['count']} directly)" if tag["count"] != tag["total"] else ""
    return f"- #{tag['tag']} | {tag['total']}{nested}"


def _property(item: JSON) -> JSON:
    common = [
        {"value": one_line(line(each["value"]), VALUE_CHARS), "count": each["count"]}
        for each in item["values"]
    ]
    return {**item, "name": line(item["name"]), "values": common}


def _property_text(item: JSON) -> str:
    common = ", ".join(f"{each['value']} {each['count']}" for each in item["values"])
    more = item["distinct"] - len(item["values"])
    rest = f", {count(more, 'other')}" if more > 0 else ""
    kinds = "/".join(item["types"])
    return f"- {item['name']} | {item['count']} | {kinds}" + (f" | {common}{rest}" if common else "")


def _vault(vault: JSON) -> JSON:
    lanes = (vault.get("lanes") or {}).items()
    down = {
        name: advised(lane.get("reason") or "reason unknown", lane.get("advice"))
        for name, lane in lanes
        if not lane.get("up")
    }
    reason = vault.get("reason") and advised(vault["reason"], vault.get("advice"))
    return {**{name: vault.get(name) for name in _VAULT_FIELDS}, "reason": reason, "lanes_down": down}


def _vault_text(vault: JSON) -> str:
    reason = f" ({vault['reason']})" if vault["reason"] else ""
    parts = [count(vault["notes"], "note")]
    parts.append(f"{count(vault['chunks'], 'passage')}, {vault['embedded']} embedded")
    parts += [count(vault[name], *nouns) for name, nouns in _COUNTED if vault.get(name)]
    parts += [f"{name} search is down: {reason}" for name, reason in vault["lanes_down"].items()]
    return f"- {line(vault['name'])} | {line(vault['path'])} | {vault['state']}{reason} | {', '.join(parts)}"


_VAULT_FIELDS = (
    *("name", "path", "state", "code", "reason"),
    *("notes", "chunks", "embedded", "pending", "problem_count"),
)
_COUNTED = (
    ("pending", ("passage to embed", "passages to embed")),
    ("problem_count", ("note with problems", "notes with problems")),
)
