"""``vaultseek graph``: the structure of a vault's links, paths between notes, and missing links."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from pathlib import Path

import click

from vaultseek.base import limits
from vaultseek.doors.cli.commands.links import DIRECTIONS, neighbors
from vaultseek.doors.cli.completion_values import complete_note
from vaultseek.doors.cli.connect import call_note, call_vault, note_file
from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.listing import currency_lines, heading_line, place, title_and_name
from vaultseek.doors.cli.options import (
    completed_by,
    daemon_options,
    json_option,
    limit_option,
    list_options,
    note_argument,
)
from vaultseek.doors.cli.output import print_answer
from vaultseek.doors.cli.terminal import Terminal, clean, count
from vaultseek.doors.reasons import no_path_reason, reason_text
from vaultseek.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON

FORMATS = ("graphml", "gexf", "json")
LINE_CHARS = 100


@click.group(invoke_without_command=True)
@limit_option("Show at most N hubs, bridges and clusters.", default=limits.GRAPH_ITEMS)
@list_options
@click.pass_context
def graph(context: click.Context, invocation: Invocation, /, limit: int | None) -> int | None:
    """Show how notes are linked: hubs, bridges and clusters.

    Hubs are the most linked notes; bridges connect parts of the vault. A cluster is named after the note with
    the most links within the cluster; the words listed distinguish the cluster's notes from all others.

    \b
    vaultseek graph
    vaultseek graph path Boiler "Heating Bill"
    vaultseek graph suggest Boiler
    """
    if context.invoked_subcommand is not None:
        context.default_map = {context.invoked_subcommand: {"limit": limit}}
        return None
    answer = call_vault(invocation, "graph/overview", limit=limit)
    return print_answer(answer, invocation, "hubs", _overview)


@graph.command()
@limit_option("Show at most N clusters.", default=limits.RESULTS)
@json_option()
@daemon_options
def clusters(invocation: Invocation, /, limit: int | None) -> int:
    """Show groups of notes that mostly link to each other."""
    answer = call_vault(invocation, "graph/overview", limit=limit or limits.RESULTS, without_bridges=True)
    if invocation.json:
        answer = {key: answer[key] for key in ("vault", "vault_path", "clusters", "cluster_count")}
    return print_answer(answer, invocation, "clusters", lambda each, out: "\n".join(_clusters(each, out)))


@graph.command()
@limit_option("Show at most N notes.", default=limits.GRAPH_ITEMS)
@list_options
def hubs(invocation: Invocation, /, limit: int | None) -> int:
    """Show the most linked notes, by PageRank."""
    answer = call_vault(invocation, "graph/overview", limit=limit, without_bridges=True)
    if invocation.json:
        answer = {key: answer[key] for key in ("vault", "vault_path", "hubs")}
    return print_answer(answer, invocation, "hubs", lambda each, out: "\n".join(_hubs(each, out)))


@graph.command()
@note_argument
@click.argument("other", shell_complete=completed_by(complete_note))
@limit_option("Show at most N paths.", limits.GRAPH_ROUTES, default=3)
@json_option()
@daemon_options
def path(invocation: Invocation, /, note: str, other: str, limit: int | None) -> int:
    """Show the shortest paths from one note to another.

    Each step shows the line of its link. Links count in both directions. If links do not connect the notes,
    one step connects the notes closest in meaning. Exit code 1 if there is no path.
    """
    answer = call_note(
        invocation, "graph/path", note, other=note_file(other, invocation) or other, limit=limit
    )
    return print_answer(answer, invocation, "routes", _routes)


around = copy(neighbors)
around.help = (neighbors.help or "").replace("neighbors Garden --depth", "graph around Garden --hops")
graph.add_command(around, "around")


@graph.command()
@click.argument("note", required=False, shell_complete=completed_by(complete_note))
@limit_option("Show at most N suggestions.", default=limits.GRAPH_ITEMS)
@list_options
def suggest(invocation: Invocation, /, note: str | None, limit: int | None) -> int:
    """Show links that may be missing, with the reasons.

    Suggests links in NOTE, or in the notes changed most recently. The first links are printed after a second,
    and better ones as they are found. Nothing is written. Exit code 1 if no links seem to be missing.
    """
    answer = call_note(invocation, "graph/suggest", note, limit=limit)
    if answer["next"] is None:
        return print_answer(answer, invocation, "suggestions", _suggestions)
    return _suggest_on(answer, invocation, limit or limits.GRAPH_ITEMS)


@graph.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Format; by default, the extension of FILE decides.",
)
@daemon_options
def export(invocation: Invocation, /, file: Path, form: str | None) -> None:
    """Write all notes and links to FILE, for other programs.

    Programs such as Gephi, Cytoscape and NetworkX can read the file, which lists each note's title, PageRank,
    cluster and modification time.

    \b
    vaultseek graph export notes.gexf
    """
    chosen = form or file.suffix.lstrip(".").lower()
    if chosen not in FORMATS:
        raise click.UsageError(f"Use --format {'|'.join(FORMATS)}, or a FILE with one of these extensions.")
    answer = call_vault(invocation, "graph/export")
    if file.resolve().is_relative_to(answer["vault_path"]):
        raise UsageError(f"{file} is in the vault, where vaultseek never writes; use another folder")
    from vaultseek.core.graph.files import write_graph

    try:
        write_graph(answer, file, chosen)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}; use another folder") from None
    notes, links = count(len(answer["nodes"]), "note"), count(len(answer["links"]), "link")
    invocation.show(clean(f"{file}: {notes}, {links}"))


def _overview(answer: JSON, terminal: Terminal) -> str:
    components, orphans = answer["components"], count(answer["orphans"], "note")
    most = count(limits.NOTE_LINKS, "link")
    lines = [
        f"{count(answer['notes'], 'note')}, {count(answer['links'], 'link')}",
        f"{orphans} without backlinks, {answer['isolated']:,} of them without any link",
    ]
    if components["count"]:
        parts = count(components["count"], "connected part")
        lines.append(f"{parts}, the largest with {count(components['largest'], 'note')}")
    lines += [f"Only the first {most} of {clean(path)} are read" for path in answer["truncated"]]
    lines += ["", *_hubs(answer, terminal)]
    if answer["bridges"]:
        lines += ["", terminal.paint("Bridges", "bold")]
    for note in answer["bridges"]:
        share = f"{note['share']:.0%}" if note["share"] >= 0.005 else "less than 1%"
        lines.append(_note(note, f"on {share} of the paths", terminal))
    return "\n".join([*lines, "", *_clusters(answer, terminal)])


def _hubs(answer: JSON, terminal: Terminal) -> Iterator[str]:
    if not answer["hubs"]:
        yield "No links between notes."
        return
    yield terminal.paint("Hubs", "bold")
    for note in answer["hubs"]:
        yield _note(note, f"{count(note['backlinks'], 'backlink')}, links to {note['outgoing']:,}", terminal)


def _note(note: JSON, remark: str, terminal: Terminal) -> str:
    return f"  {place(note, terminal)}  {terminal.paint(remark, 'dim')}"


def _clusters(answer: JSON, terminal: Terminal) -> Iterator[str]:
    if not answer["clusters"]:
        yield "No clusters: too few notes are linked to each other."
        return
    yield heading_line("Clusters", answer["cluster_count"], terminal)
    for cluster in answer["clusters"]:
        words = clean(", ".join(cluster["words"]))
        name = clean(cluster["hub"]["title"]) if cluster["hub"] else words
        news = [f"{cluster[key]:,} {key}" for key in ("created", "changed") if cluster[key]]
        recent = f"; {', '.join(news)} in the last 30 days" if news else ""
        remark = f"{count(cluster['count'], 'note')}{recent}; {words}"
        yield f"  {terminal.paint(name, 'bold')}  {terminal.paint(remark, 'dim')}"
        titles = ", ".join(title_and_name(note) for note in cluster["notes"])
        yield f"    {terminal.fit(titles, LINE_CHARS)}"
    left = answer["cluster_count"] - len(answer["clusters"])
    if left > 0:
        yield f"… and {left:,} more"


def _routes(answer: JSON, terminal: Terminal) -> str:
    if not answer["routes"]:
        return f"No path: {clean(no_path_reason(answer))}."
    return "\n\n".join("\n".join(_route(route, terminal, answer)) for route in answer["routes"])


def _route(route: list[JSON], terminal: Terminal, answer: JSON) -> Iterator[str]:
    for step in route:
        if step["by"] == "meaning":
            remark = f"~ no link, similar in meaning ({step['cosine']:.2f})"
            yield f"    {terminal.paint(remark, 'magenta')}"
        elif step["by"] == "link":
            text = terminal.fit(clean(step["text"] or ""), LINE_CHARS)
            yield f"    {DIRECTIONS[step['direction']]} {terminal.paint(text, 'dim')}"
        note = {**step, "line": None}
        yield f"{place(note, terminal, answer)}  {title_and_name(note)}"
        yield from currency_lines(step, terminal, "    ")


def _suggest_on(answer: JSON, invocation: Invocation, limit: int) -> int:
    """Print the links found so far, and then better links as they are found in more notes."""
    from vaultseek.core.graph.suggestions import best_of

    in_parts = not (invocation.json or invocation.paths)
    best: list[JSON] = answer["suggestions"]
    printed: list[JSON] = []
    while True:
        new = [item for item in best if in_parts and item not in printed]
        if new:
            print(_suggestions({**answer, "suggestions": new}, invocation.out), flush=True)
            printed += new
        if answer["next"] is None:
            break
        answer = call_vault(invocation, "graph/suggest", limit=limit, start=answer["next"])
        best = best_of([*best, *answer["suggestions"]], limit)
    if printed:
        return SUCCESS
    return print_answer({**answer, "suggestions": best}, invocation, "suggestions", _suggestions)


def _suggestions(answer: JSON, terminal: Terminal) -> str:
    if not answer["suggestions"]:
        return "No links seem to be missing."
    lines = []
    for item in answer["suggestions"]:
        source = f"{clean(item['source']['path'])} -> " if "source" in item else ""
        reasons = "; ".join(reason_text(each) for each in item["reasons"])
        lines.append(f"{source}{place(item, terminal, answer)}\n    {terminal.paint(reasons, 'dim')}")
    return "\n".join(lines)
