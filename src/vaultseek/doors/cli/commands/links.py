"""``vaultseek links`` and other commands about links between notes, and ``vaultseek duplicates``."""

from __future__ import annotations

import time
from collections.abc import Iterator

import click

from vaultseek.base import limits
from vaultseek.doors.cli.completion_values import complete_note
from vaultseek.doors.cli.connect import call_note, call_vault, connect
from vaultseek.doors.cli.exit_codes import NO_MATCH, SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.listing import (
    currency_lines,
    heading_line,
    link_text,
    place,
    place_and_text,
    remaining,
)
from vaultseek.doors.cli.options import (
    completed_by,
    daemon_options,
    json_option,
    limit_option,
    list_options,
    note_argument,
)
from vaultseek.doors.cli.output import print_answer, print_json, print_paths
from vaultseek.doors.cli.terminal import Terminal, age, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON


SHOWN_PAIRS = 10
DIRECTIONS = {"out": "->", "in": "<-", "both": "<->"}


@click.command()
@note_argument
@list_options
def links(invocation: Invocation, /, note: str) -> int:
    """Show the links of a note: outgoing, broken and backlinks.

    With --paths, prints only the paths of the linked notes.

    \b
    vaultseek links Garden
    vaultseek links Garden --json | jq -r '.backlinks[].path'
    """
    out = call_note(invocation, "links/outgoing", note)
    into = call_note(invocation, "links/backlinks", note)
    head = ("vault", "vault_path", "path", "title", "currency")
    answer = {key: out[key] for key in head if key in out}
    answer["outgoing"] = [link for link in out["links"] if link["resolved"]]
    answer["unresolved"] = [link for link in out["links"] if not link["resolved"]]
    answer["backlinks"] = into["links"]
    if invocation.json:
        print_json(answer)
    elif invocation.paths:
        ends = [{"path": link["resolved"]} for link in answer["outgoing"]] + answer["backlinks"]
        print_paths({**answer, "ends": ends}, "ends")
    else:
        invocation.show("\n".join(_links(answer, invocation.out)))
    return SUCCESS if out["links"] or into["links"] else NO_MATCH


@click.command()
@note_argument
@click.option(
    "--depth",
    "--hops",
    type=click.IntRange(1, limits.NEIGHBOUR_DEPTH),
    default=1,
    metavar="N",
    show_default=True,
    help="Follow links for N steps.",
)
@list_options
def neighbors(invocation: Invocation, /, note: str, depth: int) -> int:
    """Show the notes that are linked to a note.

    Links count in both directions.

    \b
    vaultseek neighbors Garden --depth 2
    """
    answer = call_note(invocation, "graph/neighbors", note, depth=depth)
    return print_answer(answer, invocation, "notes", _neighbors)


@click.command()
@note_argument
@list_options
def unlinked(invocation: Invocation, /, note: str) -> int:
    """Show where a note is mentioned without a link.

    Finds mentions of its title, aliases and file name.
    """
    answer = call_note(invocation, "links/unlinked", note)
    return print_answer(answer, invocation, "mentions", _mentions)


@click.command("broken-links")
@click.argument("note", required=False, shell_complete=completed_by(complete_note))
@list_options
def broken_links(invocation: Invocation, /, note: str | None) -> int:
    """Show links to missing notes.

    Looks in one note or in the whole vault. The links are grouped by missing note, the most linked one first.
    Exit code 1 if there are no such links.
    """
    return print_answer(call_note(invocation, "links/unresolved", note), invocation, "links", _broken)


@click.command()
@click.option("--isolated", is_flag=True, help="Show only notes that do not link to other notes either.")
@list_options
def orphans(invocation: Invocation, /, isolated: bool) -> int:
    """Show notes that no other note links to. Exit code 1 if there are no such notes."""
    answer = call_vault(invocation, "vault/orphans", isolated=isolated)
    return print_answer(answer, invocation, "notes", _orphans)


_BELOW_LINK = " " * 9
_BELOW_NOTE = " " * 4


def _head(answer: JSON, terminal: Terminal) -> Iterator[str]:
    yield f"{terminal.paint(clean(answer['title']), 'bold')}  {place(answer, terminal)}"
    yield from currency_lines(answer, terminal)


def _links(answer: JSON, terminal: Terminal) -> Iterator[str]:
    yield from _head(answer, terminal)
    for name, key in (("Outgoing", "outgoing"), ("Unresolved", "unresolved")):
        if answer[key]:
            yield from ("", heading_line(name, len(answer[key]), terminal))
        for link in answer[key]:
            target = clean(link["resolved"]) if link["resolved"] else "missing"
            color = "green" if link["resolved"] else "red"
            text = terminal.fit(link_text(link), max(20, terminal.width - len(target) - 14))
            yield f"  :{link['line']:<5} {text} -> {terminal.paint(target, color)}"
            yield from currency_lines(link, terminal, _BELOW_LINK)
    if answer["backlinks"]:
        yield from ("", heading_line("Backlinks", len(answer["backlinks"]), terminal))
    for link in answer["backlinks"]:
        yield place_and_text(link, link.get("text"), terminal, answer)
        yield from currency_lines(link, terminal, _BELOW_LINK)
    if not any(answer[key] for key in ("outgoing", "unresolved", "backlinks")):
        yield "This note has no links and no backlinks."


def _neighbors(answer: JSON, terminal: Terminal) -> str:
    lines = list(_head(answer, terminal))
    if not answer["notes"]:
        lines.append("This note has no links and no backlinks.")
    for note in answer["notes"]:
        sign = DIRECTIONS.get(note["direction"] or "", "…")
        via = f"via {clean(note['via'])}" if note["via"] else clean(note["title"])
        where = f"{sign:<3} {place(note, terminal, answer)}  {terminal.paint(via, 'dim')}"
        lines.append("  " * note["depth"] + where)
        lines += currency_lines(note, terminal, "  " * note["depth"] + _BELOW_NOTE)
    left = answer["total"] - len(answer["notes"])
    return "\n".join([*lines, *([f"… and {left:,} more"] if left > 0 else [])])


def _mentions(answer: JSON, terminal: Terminal) -> str:
    names = ", ".join(clean(name) for name in answer["names"])
    if not answer["mentions"]:
        return f"No unlinked mentions of {names}."
    lines = [heading_line(f"Mentions of {names}", answer["total"], terminal)]
    lines += currency_lines(answer, terminal)
    for mention in answer["mentions"]:
        lines.append(place_and_text(mention, mention["text"], terminal, answer))
        lines += currency_lines(mention, terminal, _BELOW_NOTE)
    return "\n".join(lines) + remaining(answer)


def _broken(answer: JSON, terminal: Terminal) -> str:
    if not answer["links"]:
        return "No broken links."
    lines = [heading_line("Broken links", answer["total"], terminal)]
    by_target: dict[str, list[JSON]] = {}
    for link in answer["links"]:
        by_target.setdefault(str(link["target"]).casefold(), []).append(link)
    for _, links in sorted(by_target.items(), key=lambda item: (-len(item[1]), item[0])):
        target = terminal.fit(clean(links[0]["target"]), terminal.width - 8)
        lines += ["", heading_line(target, len(links), terminal)]
        lines += [place_and_text(link, link.get("text"), terminal, answer) for link in links]
    return "\n".join(lines) + remaining(answer)


def _orphans(answer: JSON, terminal: Terminal) -> str:
    if not answer["notes"]:
        return "No orphans."
    lines = [heading_line("Orphans", answer["total"], terminal)]
    for note in answer["notes"]:
        lines.append(place_and_text(note, note["title"], terminal, answer))
        lines += currency_lines(note, terminal, _BELOW_NOTE)
    return "\n".join(lines) + remaining(answer)


@click.command()
@note_argument
@limit_option("Show at most N notes.", default=limits.SHOWN_RESULTS)
@list_options
def related(invocation: Invocation, /, note: str, limit: int | None) -> int:
    """Show notes that are similar to a note.

    Finds notes that are similar in meaning or words, are linked to the note, or share links with it. NOTE is
    a path or the end of one, a title, an alias or a file name.

    \b
    vaultseek related "Float Switch Wiring"
    vaultseek related Projects/Sump/High\\ Water\\ Night.md -n 3 --paths
    """
    answer = call_note(invocation, "note/related", note, limit=limit)
    return print_answer(answer, invocation, "results", _page)


def _page(answer: JSON, terminal: Terminal) -> str:
    from vaultseek.doors.cli.search_page import page

    if answer["results"]:
        head = [*_head(answer, terminal), ""] if "currency" in answer else []
        return "\n".join([*head, page(answer, terminal, now=time.time())])
    missing = "; ".join(clean(remark["text"]) for remark in answer["remarks"])
    reason = missing or "no note is similar to this one in meaning or linked to it"
    return f"Found nothing related to {clean(answer['path'])}: {reason}."


@click.command()
@limit_option("Show at most N pairs.", default=SHOWN_PAIRS)
@json_option()
@daemon_options
def duplicates(invocation: Invocation, /, limit: int | None) -> int:
    """Show the most similar notes, in pairs.

    The pairs are sorted by shared text and similarity in meaning, the most similar first. The list also has
    pairs that are not duplicates; you decide which ones are.

    \b
    vaultseek duplicates -n 20
    """
    with connect(invocation) as client:
        params = invocation.params(limit=limit or SHOWN_PAIRS)
        answer = client.call("vault/duplicates", params, timeout=None)
    return print_answer(answer, invocation, "pairs", _pairs)


def _pairs(answer: JSON, terminal: Terminal) -> str:
    lines: list[str] = []
    for pair in answer["pairs"]:
        alike = f"same text {pair['text']:.0%} · same meaning {pair['meaning']:.0%}"
        rank = terminal.paint(f"{pair['rank']:>2}", "dim")
        lines.append(f"{rank}  {terminal.bar(pair['score'])}  {terminal.paint(alike, 'dim')}")
        for note in pair["notes"]:
            lines += [_alike(note, answer, terminal), *currency_lines(note, terminal, _BELOW_NOTE)]
        lines.append("")
    for lane in answer["partial"]:
        remark = f"compared by text only: {clean(lane['reason'])}"
        lines += terminal.wrapped(terminal.paint(remark, "magenta"))
    if not answer["pairs"]:
        lines.append("No two notes are alike.")
    return "\n".join(lines).removesuffix("\n")


def _alike(note: JSON, answer: JSON, terminal: Terminal) -> str:
    title = clean(note["title"])
    parts = [title if title not in note["path"] else "", age(note["modified"], time.time())]
    details = " · ".join(part for part in parts if part)
    room = max(20, terminal.width - len(clean(note["path"])) - 6)
    return f"    {place(note, terminal, answer)}  {terminal.paint(terminal.fit(details, room), 'dim')}"
