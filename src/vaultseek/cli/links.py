"""``vaultseek links``, ``neighbors``, ``unlinked``, ``broken-links`` and ``orphans``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from vaultseek import limits
from vaultseek.cli import FOUND, NOTHING_FOUND, candidates
from vaultseek.cli.asking import HELP, ask, ask_about, asking_options, beside, heading, more, place, tell
from vaultseek.cli.invocation import JSON, Invocation, as_json, pass_invocation
from vaultseek.cli.terminal import Terminal, clean

_DIRECTIONS = {"out": "->", "in": "<-", "both": "<->"}


@click.command(context_settings=HELP)
@click.argument("note", shell_complete=candidates.notes)
@asking_options
@pass_invocation
def links(invocation: Invocation, /, note: str, json_: bool, paths: bool) -> int:
    """Show the links of a note: outgoing, backlinks, and those that lead nowhere.

    With --paths, the notes at either end.

    \b
    vaultseek links Garden
    vaultseek links Garden --json | jq -r '.backlinks[].path'
    """
    from vaultseek.cli.search import print_paths

    out = ask_about(invocation, "links/outgoing", note)
    into = ask_about(invocation, "links/backlinks", note)
    answer = {key: out[key] for key in ("vault", "vault_path", "path", "title")}
    answer["outgoing"] = [link for link in out["links"] if link["resolved"]]
    answer["unresolved"] = [link for link in out["links"] if not link["resolved"]]
    answer["backlinks"] = into["links"]
    if json_:
        as_json(answer)
    elif paths:
        ends = [{"path": link["resolved"]} for link in answer["outgoing"]] + answer["backlinks"]
        print_paths({**answer, "ends": ends}, "ends")
    else:
        invocation.show("\n".join(_links(answer, invocation.out)))
    return FOUND if out["links"] or into["links"] else NOTHING_FOUND


@click.command(context_settings=HELP)
@click.argument("note", shell_complete=candidates.notes)
@click.option(
    "--depth",
    type=click.IntRange(1, limits.NEIGHBOUR_DEPTH),
    default=1,
    metavar="N",
    help=f"Follow links N steps, up to {limits.NEIGHBOUR_DEPTH}.",
)
@asking_options
@pass_invocation
def neighbors(invocation: Invocation, /, note: str, depth: int, json_: bool, paths: bool) -> int:
    """Show the notes around a note, by links in either direction.

    \b
    vaultseek neighbors Garden --depth 2
    """
    answer = ask_about(invocation, "graph/neighbors", note, depth=depth)
    return tell(answer, invocation, "notes", _neighbors, json_=json_, paths=paths)


@click.command(context_settings=HELP)
@click.argument("note", shell_complete=candidates.notes)
@asking_options
@pass_invocation
def unlinked(invocation: Invocation, /, note: str, json_: bool, paths: bool) -> int:
    """Show where a note is mentioned without a link: by title, alias or file name."""
    answer = ask_about(invocation, "links/unlinked", note)
    return tell(answer, invocation, "mentions", _mentions, json_=json_, paths=paths)


@click.command("broken-links", context_settings=HELP)
@click.argument("note", required=False, shell_complete=candidates.notes)
@asking_options
@pass_invocation
def broken_links(invocation: Invocation, /, note: str | None, json_: bool, paths: bool) -> int:
    """Show links that lead nowhere, of the whole vault or of a note. Exit code 1 if there are none."""
    method = "links/unresolved"
    answer = ask(invocation, method) if note is None else ask_about(invocation, method, note)
    return tell(answer, invocation, "links", _broken, json_=json_, paths=paths)


@click.command(context_settings=HELP)
@click.option("--isolated", is_flag=True, help="Only notes that link to no other note either.")
@asking_options
@pass_invocation
def orphans(invocation: Invocation, /, isolated: bool, json_: bool, paths: bool) -> int:
    """Show the notes that no other note links to. Exit code 1 if there are none."""
    answer = ask(invocation, "vault/orphans", isolated=isolated)
    return tell(answer, invocation, "notes", _orphans, json_=json_, paths=paths)


def _links(answer: JSON, terminal: Terminal) -> Iterator[str]:
    yield f"{terminal.paint(clean(answer['title']), 'bold')}  {place(answer, terminal)}"
    for name, key in (("Outgoing", "outgoing"), ("Unresolved", "unresolved")):
        if answer[key]:
            yield from ("", heading(name, len(answer[key]), terminal))
        for link in answer[key]:
            goal = clean(link["resolved"]) if link["resolved"] else "missing"
            color = "green" if link["resolved"] else "red"
            room = max(20, terminal.width - len(goal) - 14)
            written = terminal.fit(_written(link), room)
            yield f"  :{link['line']:<5} {written} -> {terminal.paint(goal, color)}"
    if answer["backlinks"]:
        yield from ("", heading("Backlinks", len(answer["backlinks"]), terminal))
    for link in answer["backlinks"]:
        yield beside(link, link.get("text"), terminal, answer)


def _written(link: JSON) -> str:
    fragment = (
        f"#{link['heading']}" if link.get("heading") else f"#^{link['block']}" if link.get("block") else ""
    )
    return clean(f"{link['target']}{fragment}")


def _neighbors(answer: JSON, terminal: Terminal) -> str:
    lines = [f"{terminal.paint(clean(answer['title']), 'bold')}  {place(answer, terminal)}"]
    for note in answer["notes"]:
        sign = _DIRECTIONS.get(note["direction"] or "", "…")
        via = f"via {clean(note['via'])}" if note["via"] else clean(note["title"])
        lines.append(
            "  " * note["depth"] + f"{sign:<3} {place(note, terminal, answer)}  {terminal.paint(via, 'dim')}"
        )
    left = answer["total"] - len(answer["notes"])
    return "\n".join([*lines, *([f"… and {left:,} more"] if left > 0 else [])])


def _mentions(answer: JSON, terminal: Terminal) -> str:
    names = ", ".join(clean(name) for name in answer["names"])
    if not answer["mentions"]:
        return f"No mention without a link of {names}."
    lines = [beside(mention, mention["text"], terminal, answer) for mention in answer["mentions"]]
    return "\n".join([heading(f"Mentions of {names}", answer["total"], terminal), *lines]) + more(answer)


def _broken(answer: JSON, terminal: Terminal) -> str:
    if not answer["links"]:
        return "No broken links."
    lines = [beside(link, f"-> {_written(link)}", terminal, answer) for link in answer["links"]]
    return "\n".join([heading("Broken links", answer["total"], terminal), *lines]) + more(answer)


def _orphans(answer: JSON, terminal: Terminal) -> str:
    if not answer["notes"]:
        return "No orphans."
    lines = [beside(note, note["title"], terminal, answer) for note in answer["notes"]]
    return "\n".join([heading("Orphans", answer["total"], terminal), *lines]) + more(answer)
