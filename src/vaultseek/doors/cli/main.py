"""The console script: run a command, print its errors and exit with its exit code."""

from __future__ import annotations

import gc
import os
import sys

from vaultseek.doors.cli.exit_codes import BROKEN_PIPE, BUG, INTERRUPTED, SUCCESS, UNAVAILABLE, USAGE
from vaultseek.doors.cli.garbage import collect_rarely

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its exit code."""
    collect_rarely()
    code = main(arguments)
    gc.freeze()
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, print any error, and return the exit code."""
    from vaultseek.doors.cli.output import allow_any_character

    _replace_closed_streams()
    allow_any_character()
    try:
        code = _run_command(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return BROKEN_PIPE
    except OSError as error:
        from vaultseek.doors.cli.output import print_error

        _discard_output()
        print_error(f"cannot write the output: {error.strerror or error}; check the disk or the pipe")
        return UNAVAILABLE
    except KeyboardInterrupt:
        # The shell's prompt must be on its own line, after the ^C.
        print(end="\n" if sys.stderr.isatty() else "", file=sys.stderr)
        return INTERRUPTED
    return code


def _run_command(arguments: list[str]) -> int:
    """Run a command and return its exit code. Errors are printed; bugs are printed with a traceback."""
    from vaultseek.doors.cli.invocation import COMPLETION_VARIABLE
    from vaultseek.errors import VaultseekError

    if COMPLETION_VARIABLE in os.environ:
        from vaultseek.doors.cli.commands import vaultseek
        from vaultseek.doors.cli.shell_completion import print_completions

        print_completions(vaultseek)
        return SUCCESS
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    alone = not arguments and sys.stdin.isatty() and sys.stdout.isatty()
    if alone:
        arguments = ["find"]
    try:
        code = _run_without_click(arguments)
        return _invoke(arguments) if code is None else code
    except VaultseekError as error:
        from vaultseek.doors.cli.output import print_error, with_command

        print_error(error)
        if alone:
            print("Try 'vaultseek -h' for the commands.", file=sys.stderr)
        _print_json_failure(arguments, error.code, with_command(error, error.advice))
        return error.exit_code
    except BrokenPipeError:
        raise
    except Exception as error:
        from vaultseek.base.paths import is_disk_full

        if isinstance(error, OSError) and is_disk_full(error):
            raise
        _print_json_failure(arguments, "internal", f"{type(error).__name__}: {error}")
        return _report_bug(error)


def _run_without_click(arguments: list[str]) -> int | None:
    if arguments[:1] not in (["search"], ["complete"]):
        return None
    from vaultseek.doors.cli.arguments import COMPLETE, SEARCH, read

    if arguments[0] == "search":
        found = read(arguments[1:], SEARCH, excluding=True)
        if found is None:
            return None
        from vaultseek.doors.cli.search_call import SearchCall

        return SearchCall(found.words, found.options).run(found.invocation)
    found = read(arguments[1:], COMPLETE)
    if found is None or len(found.words) > 1:
        return None
    from vaultseek.doors.cli.search_call import CompleteCall

    return CompleteCall("".join(found.words), found.options).run(found.invocation)


def _invoke(arguments: list[str]) -> int:
    import click

    from vaultseek.doors.cli.commands import vaultseek
    from vaultseek.doors.cli.output import print_error
    from vaultseek.errors import UsageError

    try:
        # Do not use vaultseek.main: after a closed pipe, click exits with 1, which here would mean "no
        # match".
        with vaultseek.make_context("vaultseek", list(arguments)) as context:
            code = vaultseek.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return USAGE
    except click.ClickException as error:
        message = error.format_message()
        failed = getattr(error, "ctx", None)
        options = [option for each in failed.command.params for option in each.opts] if failed else []
        if "extra argument" in message and "--vault" in options:
            message += "; choose a vault with --vault"
        print_error(message)
        if failed is not None:
            print(f"Try '{failed.command_path} -h' for help.", file=sys.stderr)
        _print_json_failure(arguments, UsageError.code, message)
        return USAGE
    return code if isinstance(code, int) else SUCCESS


def _print_json_failure(arguments: Sequence[str], code: str, message: str) -> None:
    """Also print an error as JSON on standard output, if the arguments request JSON."""
    from itertools import pairwise

    options = [*(arguments[: arguments.index("--")] if "--" in arguments else arguments)]
    formats = [option for before, option in pairwise(options) if before == "--format"]
    if "--json" in options or "--format=json" in options or "json" in formats:
        from vaultseek.doors.cli.output import failure, print_json

        print_json(failure(code, message))


def _report_bug(error: Exception) -> int:
    import traceback

    from vaultseek.doors.cli.output import print_error

    traceback.print_exc()
    print_error(f"this is a bug in vaultseek; please report the lines above: {type(error).__name__}: {error}")
    return BUG


def _replace_closed_streams() -> None:
    """Open the null device in place of standard streams that were closed, as with ``>&-``."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _discard_output() -> None:
    # At exit, Python flushes standard output and would print an error.
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
