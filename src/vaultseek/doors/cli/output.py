"""Output of the command line: JSON, paths and whole answers on standard output, errors on standard error."""

from __future__ import annotations

import os
import sys

from vaultseek.base.paths import obsidian_url
from vaultseek.doors.cli.exit_codes import NO_MATCH, SUCCESS
from vaultseek.doors.cli.invocation import current_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from vaultseek.base.model import JSON
    from vaultseek.doors.cli.invocation import Invocation
    from vaultseek.doors.cli.terminal import Terminal
    from vaultseek.errors import Advice, VaultseekError


def allow_any_character() -> None:
    """Escape characters that the locale's encoding lacks, instead of failing on them."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def print_error(problem: VaultseekError | str) -> None:
    """Print a one-line error or warning to standard error."""
    from vaultseek.doors.cli.terminal import clean

    message = problem if isinstance(problem, str) else with_command(problem, problem.advice)
    print(f"vaultseek: {clean(message.removeprefix('vaultseek: '))}", file=sys.stderr)


_COMMANDS = {
    "start": "vaultseek start",
    "stop": "vaultseek stop",
    "add": "vaultseek vault add DIR",
    "choose": "--vault NAME",
    "resume": "vaultseek vault resume {}",
    "index": "vaultseek index --vault {}",
    "fetch": "vaultseek models fetch {}",
    "install": "{}",
}
"""Shell commands by kind of advice; the names in the advice replace the braces."""


def with_command(text: object, advice: Advice | None) -> str:
    """Return the text of an error or reason, with its advice as a shell command."""
    if not advice or advice["kind"] not in _COMMANDS:
        return str(text)
    import shlex

    from vaultseek.base.extras import install_command

    name = install_command if advice["kind"] == "install" else shlex.quote
    return f"{text} with `{_COMMANDS[advice['kind']].replace('{}', ' '.join(map(name, advice['names'])))}`"


def print_json(value: JSON) -> None:
    """Print ``value`` as one line of JSON, in UTF-8 regardless of the locale."""
    import json

    from vaultseek.doors.cli.terminal import clean_json

    text = clean_json(json.dumps(value, ensure_ascii=False, separators=(", ", ": ")))
    sys.stdout.flush()
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        print(text)
        return
    stream.write(text.encode("utf-8") + b"\n")
    stream.flush()


def with_addresses(answer: JSON) -> JSON:
    """Return ``answer`` with the Obsidian URL of each result's note, for programs that open notes."""
    for result in answer.get("results") or ():
        vault = str(result.get("vault_path") or answer.get("vault_path") or "")
        if vault:  # the vault is on this machine
            result["obsidian_url"] = obsidian_url(os.path.join(vault, result["path"]))
    return answer


def failure(code: str, message: str) -> JSON:
    """Return the object that is printed for an error with ``--json``."""
    return {"error": {"code": code, "message": message}}


def print_paths(answer: JSON, key: str = "results") -> None:
    """Print each distinct path on its own line, in a form that can be opened from the current folder.

    On a terminal, a name is quoted if it contains characters that the terminal would act on.
    """
    paths = dict.fromkeys(_openable(item, answer) for item in answer.get(key) or ())
    shown: Iterable[str] = paths
    if sys.stdout.isatty():
        from vaultseek.doors.cli.terminal import shell_quoted

        shown = map(shell_quoted, paths)
    for path in shown:
        sys.stdout.write(f"{path}\n")


def print_remarks(answer: JSON) -> None:
    """Print the remarks on an answer to standard error, so that they do not mix with results meant for
    programs."""
    for remark in answer.get("remarks") or ():
        print_error(with_command(remark["text"], remark.get("advice")))


def print_places(answer: JSON) -> None:
    """Print each result as ``path:line:column:text``, a format recognized by editors and by ``fzf``."""
    from vaultseek.doors.cli.terminal import clean

    for result in answer.get("results") or ():
        path = _openable(result, answer)
        line, column = result.get("line", 1), result.get("column", 1)
        text = result.get("line_text") or result.get("preview") or result.get("title", "")
        sys.stdout.write(f"{clean(path)}:{line}:{column}:{clean(text)}\n")


def _openable(item: JSON, answer: JSON) -> str:
    """Return the path of an item's note, as a relative path if the current folder is in the note's vault."""
    vault = str(item.get("vault_path") or answer.get("vault_path") or "")
    file = os.path.join(vault, item["path"])
    here = os.path.realpath(current_folder())
    is_inside = vault and (here == vault or here.startswith(vault.rstrip(os.sep) + os.sep))
    return os.path.relpath(file, here) if is_inside else file


def print_answer(
    answer: JSON, invocation: Invocation, key: str, show: Callable[[JSON, Terminal], str]
) -> int:
    """Print an answer, whose list is in the field ``key``, as JSON, paths or text; return the exit code."""
    if invocation.json:
        print_json(with_addresses(answer) if key == "results" else answer)
    elif invocation.paths:
        print_paths(answer, key)
    else:
        invocation.show(show(answer, invocation.out))
    return SUCCESS if answer.get(key) else NO_MATCH


def print_result(value: JSON, invocation: Invocation, *lines: str) -> int:
    """Print the result of a command as JSON or as lines of text; return the exit code."""
    if invocation.json:
        print_json(value)
    else:
        print("\n".join(lines))
    return SUCCESS
