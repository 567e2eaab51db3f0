"""What a shell offers for a word that is being typed: notes, tags, properties and vaults of the daemon.

Only a daemon that runs is asked, and not for long; without an answer nothing is offered.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from vaultseek import limits
from vaultseek.cli.terminal import clean

if TYPE_CHECKING:
    from click import Context, Parameter
    from click.shell_completion import CompletionItem

COMPLETION_SECONDS = 0.3
"""What the daemon may take to answer a shell that completes a word; later than this, nothing is offered."""

JSON = dict[str, Any]
Items = list["CompletionItem[str]"]

OPERATORS = (
    *("tag:", "path:", "file:", "heading:", "alias:", "link:", "content:", "section:", "line:", "block:"),
    *("task:", "task-todo:", "task-done:", "ext:", "before:", "after:", "created:", "modified:"),
)
"""Those of the query language, which is not imported for a word or two."""


def notes(context: Context, _: Parameter, typed: str) -> Items:
    """Notes by file name, title or alias; what looks like a path is completed as one."""
    if _is_path(typed):
        return _items([(typed, "")], typed, kind="file")
    return _items(
        ((item["text"], item["path"]) for item in _known(context, "note", typed) if item.get("path")), typed
    )


def files_and_notes(context: Context, parameter: Parameter, typed: str) -> Items:
    """Notes, where a vault is named; files otherwise."""
    named = _invocation(context).vault is not None and not _is_path(typed)
    return notes(context, parameter, typed) if named else _items([(typed, "")], typed, kind="file")


def folders(_: Context, __: Parameter, typed: str) -> Items:
    """Folders."""
    return _items([(typed, "")], typed, kind="dir")


def tags(context: Context, _: Parameter, typed: str) -> Items:
    """Tags, with ``#`` if one was typed."""
    mark = "#" if typed.startswith("#") else ""
    found = _known(context, "tag", typed.removeprefix("#"))
    return _items(((mark + item["text"].removeprefix("#"), _notes(item)) for item in found), typed)


def properties(context: Context, _: Parameter, typed: str) -> Items:
    """Names of properties."""
    return _items(((item["text"], _notes(item)) for item in _known(context, "property", typed)), typed)


def property_values(context: Context, parameter: Parameter, typed: str) -> Items:
    """``name=``, and after that the property's values."""
    name, equals, value = typed.partition("=")
    if not equals:
        return _items(
            ((f"{item.value}=", item.help or "") for item in properties(context, parameter, typed)), typed
        )
    found = _known(context, "value", value, property=name)
    return _items(((f"{name}={item['text']}", _notes(item)) for item in found), typed)


def vaults(context: Context, _: Parameter, typed: str) -> Items:
    """Vaults by name; what looks like a path is completed as a folder."""
    found = [] if _is_path(typed) else _ask("vault/list", {}).get("vaults") or []
    known = _items(((vault["name"], vault["path"]) for vault in found), typed)
    return known or _items([(typed, "")], typed, kind="dir")


def query(context: Context, parameter: Parameter, typed: str) -> Items:
    """Of a query: the name of an operator, a tag after ``tag:``, a property after ``[``."""
    minus = "-" if typed.startswith("-") else ""
    part = typed.removeprefix("-")
    if part.startswith("tag:"):
        start = f"{minus}tag:"
        return _items(
            ((start + item.value, item.help or "") for item in tags(context, parameter, typed[len(start) :])),
            typed,
        )
    if part.startswith("[") and ":" not in part:
        start = f"{minus}["
        found = properties(context, parameter, part[1:])
        return _items(((f"{start}{item.value}:", item.help or "") for item in found), typed)
    return _items(((minus + name, "") for name in OPERATORS), typed) if part else []


def _known(context: Context, kind: str, typed: str, **more: str) -> list[JSON]:
    params = {"kind": kind, "text": typed, "limit": limits.COMPLETIONS, **more}
    found: list[JSON] = _ask("complete", _invocation(context).params(**params)).get("items") or []
    return found


def _ask(method: str, params: JSON) -> JSON:
    from vaultseek.cli import reach
    from vaultseek.client import Client
    from vaultseek.errors import VaultseekError

    # Asked first, or a service manager that keeps the socket would start a daemon.
    if reach.holder() is None:
        return {}
    try:
        with Client(timeout=COMPLETION_SECONDS, name="vaultseek.cli") as client:
            answer: JSON = client.call(method, params)
    except (VaultseekError, OSError):
        return {}
    return answer


def _invocation(context: Context) -> Any:
    from vaultseek.cli.invocation import Invocation

    return context.ensure_object(Invocation)


def _items(found: Any, typed: str, *, kind: str = "plain") -> Items:
    """What begins with what was typed, each once. A name that a terminal would act on is not offered."""
    from click.shell_completion import CompletionItem

    wanted = typed.casefold()
    offered = {
        text: clean(help)
        for text, help in found
        if text.casefold().startswith(wanted) and clean(text) == text
    }
    return [CompletionItem(text, type=kind, help=help or None) for text, help in offered.items()]


def _notes(item: JSON) -> str:
    from vaultseek.cli.terminal import count

    return count(int(item["count"]), "note") if item.get("count") else ""


def _is_path(typed: str) -> bool:
    return os.sep in typed or typed.startswith((".", "~"))
