"""``vaultseek search``: ask, and show what was found."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from vaultseek import limits
from vaultseek.cli import FOUND, NOTHING_FOUND, candidates
from vaultseek.cli.invocation import JSON, Invocation, as_json, daemon_options, pass_invocation
from vaultseek.errors import UsageError

_SETTINGS = "VAULTSEEK_SEARCH__"
# -draft, -tag:old, -"a phrase": an excluded word, and not the options -h and -n 5
_EXCLUSION = re.compile(r"-(?!-|h$|n\d*$).+", re.DOTALL)
_NUMBERED = ("-n", "--limit")
_ESCAPE = "\0"  # no argument of a process can hold one


class QueryCommand(click.Command):
    """Takes ``-word`` for a part of the query instead of an unknown option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before = ("", *args)  # what stands behind an option that wants a number is no word of the query
        escaped = [
            _ESCAPE + arg if _EXCLUSION.fullmatch(arg) and option not in _NUMBERED else arg
            for option, arg in zip(before, args, strict=False)
        ]
        return super().parse_args(ctx, escaped)


_FILTERS = (
    ("--tag", "TAG", "Only notes with this tag or one nested under it."),
    ("--not-tag", "TAG", "Only notes without it."),
    ("--path", "TEXT", "Only notes whose path contains this; with / at its end, only this folder."),
    ("--not-path", "TEXT", "Only notes outside of it."),
    ("--property", "NAME=VALUE", "Only notes with this property; also <, <=, >, >= and =null."),
    ("--has-property", "NAME", "Only notes that have the property."),
    ("--created-after", "DATE", "From this date on: 2026-01-31, 2026-01, 7d, 'last week'."),
    ("--created-before", "DATE", "Before this date."),
    ("--modified-after", "DATE", "From this date on."),
    ("--modified-before", "DATE", "Before this date."),
    ("--links-to", "NOTE", "Only notes that link to this one."),
    ("--linked-from", "NOTE", "Only notes that this one links to."),
    ("--phrase", "TEXT", "Only notes with exactly these words."),
    ("--exclude", "TEXT", "Only notes without this word or phrase."),
)

_OFFERED = {
    "TAG": candidates.tags,
    "NOTE": candidates.notes,
    "NAME": candidates.properties,
    "NAME=VALUE": candidates.property_values,
}


def _filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, metavar, words in reversed(_FILTERS):
        offered = _OFFERED.get(metavar)
        command = click.option(name, metavar=metavar, multiple=True, help=words, shell_complete=offered)(
            command
        )
    return command


@click.command(cls=QueryCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("query", nargs=-1, shell_complete=candidates.query)
@click.option("-n", "--limit", type=click.IntRange(1, limits.RESULTS), metavar="N", help="At most N results.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@click.option("--paths", is_flag=True, help="Print only the notes' paths, one a line.")
@click.option("--open", "open_", is_flag=True, help="Open the best note: $VISUAL, $EDITOR, else Obsidian.")
@click.option("--explain", is_flag=True, help="Say why each result is where it is.")
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "keyword", "semantic"]),
    help="Ask all lanes, words alone or meaning alone.",
)
@click.option("--wait", is_flag=True, help="Answer only when everything on disk has been taken in.")
@_filter_options
@daemon_options
@pass_invocation
def search(
    invocation: Invocation,
    /,
    query: tuple[str, ...],
    limit: int | None,
    json_: bool,
    paths: bool,
    open_: bool,
    explain: bool,
    mode: str | None,
    wait: bool,
    **filters: tuple[str, ...],
) -> int:
    """Search the notes of a vault.

    Words are searched for as they are and by what they mean. Quotes make a phrase, a minus in front
    excludes, tag: path: file: and [property:value] filter. The same filters exist as options, which may be
    given several times; filters without words list every note that satisfies them.

    \b
    vaultseek search descale the boiler
    vaultseek search '"pressure valve" -draft tag:house'
    vaultseek search -n 3 --json E-4107
    vaultseek search --tag work --modified-after 7d --paths
    """
    from vaultseek.cli.reach import connect

    fields = {name: [unescaped(value) for value in values] for name, values in filters.items() if values}
    if not query and not fields:
        raise UsageError("search needs a word, a phrase or a filter; `vaultseek search -h` lists them")
    shell = settings_of_shell()
    params = invocation.params(query=_text(query), explain=explain, wait=wait, settings=shell)
    more = {"limit": limit, "mode": mode, "filters": fields or None, "brief": (paths and not json_) or None}
    params.update({name: value for name, value in more.items() if value is not None})
    with connect(invocation) as client, blaming_the_shell(shell):
        answer = client.call("search", params, timeout=None if wait else limits.CALL_SECONDS)
    if paths and not json_:
        print_paths(answer)
    else:
        _print(answer, invocation, json_=json_, explain=explain)
    if open_ and answer.get("results"):
        from vaultseek.cli.opening import open_note

        open_note(answer["vault_path"], answer["results"][0])
    return FOUND if answer.get("results") else NOTHING_FOUND


def print_paths(answer: JSON, key: str = "results") -> None:
    """One path a line, as it can be opened from the current folder: for pipes."""
    root = str(answer.get("vault_path") or "")
    inside = _inside(root)
    for path in dict.fromkeys(item["path"] for item in answer.get(key) or ()):
        # Where the current folder is in the vault, as short as a shell user would write it.
        shown = os.path.relpath(os.path.join(root, path)) if inside else os.path.join(root, path)  # noqa: PTH118
        sys.stdout.write(f"{shown}\n")


def settings_of_shell() -> dict[str, str]:
    """The search settings of this shell's environment, which the daemon's own may not have."""
    found = {}
    for variable, value in os.environ.items():
        if variable.upper().startswith(_SETTINGS) and value:
            found[variable[len(_SETTINGS) :].lower().replace("__", ".")] = value
    return found


@contextmanager
def blaming_the_shell(settings: dict[str, str]) -> Iterator[None]:
    """Where a request with ``settings`` of this shell is refused for them, the wrong variable is named."""
    try:
        yield
    except UsageError:
        if settings:
            from vaultseek.settings.load import check_environment

            check_environment()
        raise


def _text(query: tuple[str, ...]) -> str:
    return " ".join(map(unescaped, query))


def unescaped(text: str) -> str:
    return text.removeprefix(_ESCAPE)


def _inside(root: str) -> bool:
    here = os.path.realpath(os.curdir)
    return bool(root) and (here == root or here.startswith(root.rstrip(os.sep) + os.sep))


def _print(answer: JSON, invocation: Invocation, *, json_: bool, explain: bool) -> None:
    if json_:
        as_json(answer)
        return
    from vaultseek.cli.results import page

    invocation.show(page(answer, invocation.out, now=time.time(), explain=explain))
