"""What the commands that ask about notes have in common."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from vaultseek import limits
from vaultseek.cli import FOUND, NOTHING_FOUND
from vaultseek.cli.invocation import JSON, Invocation, as_json, daemon_options
from vaultseek.cli.terminal import Terminal, clean, count, width_of

Command = TypeVar("Command", bound=Callable[..., Any])
HELP = {"help_option_names": ["-h", "--help"]}


def asking_options(command: Command) -> Command:
    """``--json``, ``--paths`` and the options of commands that ask the daemon."""
    json_ = click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
    paths = click.option("--paths", is_flag=True, help="Print only the notes' paths, one a line.")
    return json_(paths(daemon_options(command)))


def ask(invocation: Invocation, method: str, **params: Any) -> JSON:
    """The daemon's answer to ``method`` about the vault meant; parameters that are None are left out."""
    from vaultseek.cli.reach import connect

    given = {name: value for name, value in params.items() if value is not None}
    with connect(invocation) as client:
        answer: JSON = client.call(method, invocation.params(**given), timeout=limits.CALL_SECONDS)
    return answer


def ask_about(invocation: Invocation, method: str, note: str, **params: Any) -> JSON:
    """The daemon's answer about a note, which may be given as a file, from anywhere."""
    if (os.sep in note or note.endswith(".md")) and os.path.isfile(note):  # noqa: PTH113
        note = os.path.realpath(note)
        if invocation.vault is None:
            invocation.folder = os.path.dirname(note)  # noqa: PTH120
    return ask(invocation, method, note=note, **params)


def tell(
    answer: JSON,
    invocation: Invocation,
    key: str,
    show: Callable[[JSON, Terminal], str],
    *,
    json_: bool,
    paths: bool = False,
) -> int:
    """Print an answer whose list is ``key`` in the form wanted; the exit code says whether it is empty."""
    if json_:
        as_json(answer)
    elif paths:
        from vaultseek.cli.search import print_paths

        print_paths(answer, key)
    else:
        invocation.show(show(answer, invocation.out))
    return FOUND if answer.get(key) else NOTHING_FOUND


def heading(text: str, number: int, terminal: Terminal) -> str:
    """The name of a part of an answer, with how much is in it."""
    return f"{terminal.paint(text, 'bold')} {terminal.paint(f'({number:,})', 'dim')}"


def place(item: JSON, terminal: Terminal, answer: JSON | None = None) -> str:
    """``path:line`` of something, the line where there is one; a link where ``answer`` has the vault."""
    line = f":{item['line']}" if item.get("line") else ""
    vault = str((answer or item).get("vault_path") or "")
    file = f"{vault.rstrip('/')}/{item.get('path') or ''}" if vault else ""
    return terminal.link(terminal.paint(f"{clean(item.get('path') or '')}{line}", "cyan"), file)


def beside(item: JSON, text: object, terminal: Terminal, answer: JSON | None = None) -> str:
    """A place and, on the same line, as much of ``text`` as there is room for."""
    where = place(item, terminal, answer)
    room = terminal.width - width_of(clean(f"{item.get('path')}:{item.get('line') or ''}")) - 4
    if not text or (terminal.screen and room <= limits.TERMINAL_COLUMNS // 4):
        return f"  {where}"
    return f"  {where}  {terminal.fit(clean(text), room)}"


def more(answer: JSON) -> str:
    """How much was left out of a list, if anything."""
    left = int(answer.get("total") or 0) - int(answer.get("count") or 0)
    return f"\n… and {count(left, 'more', 'more')}" if answer.get("count") is not None and left > 0 else ""
