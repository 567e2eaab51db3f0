"""The command line: the only part of vaultseek that prints.

``run`` is what the console script calls. Modules that cost time are imported by the command that needs them,
so that a search with a running daemon takes a few hundredths of a second.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

FOUND = 0
NOTHING_FOUND = 1
WRONG_USE = 2
UNAVAILABLE = 3
BUG = 70
INTERRUPTED = 130
BROKEN_PIPE = 141

USUAL_COLLECTIONS = gc.get_threshold()
# Most commands are over before there is any garbage; looking for it is a tenth of what a search costs.
_RARELY = 100_000
COMPLETE = "_VAULTSEEK_COMPLETE"


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with its exit code."""
    gc.set_threshold(_RARELY)
    code = main(arguments)
    gc.freeze()
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; every error has been printed by then."""
    from vaultseek.cli.terminal import plain_output

    plain_output()
    try:
        code = _command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return BROKEN_PIPE
    except OSError as error:
        _forget_output()
        complain(f"cannot write the output: {error.strerror or error}")
        return UNAVAILABLE
    except KeyboardInterrupt:
        # The prompt belongs on a line of its own, after the ^C.
        print(end="\n" if sys.stderr.isatty() else "", file=sys.stderr)
        return INTERRUPTED
    return code


def _command(arguments: Sequence[str] | None) -> int:
    import click

    from vaultseek.cli.commands import vaultseek
    from vaultseek.errors import UsageError, VaultseekError

    if COMPLETE in os.environ:
        from vaultseek.cli.completion import answer

        answer()
        return FOUND
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        # Not vaultseek.main: a closed pipe would end with 1 there, which is for nothing found.
        with vaultseek.make_context("vaultseek", list(given)) as context:
            code = vaultseek.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return WRONG_USE
    except click.ClickException as error:
        complain(error.format_message())
        _hint(error)
        _tell_program(given, UsageError.code, error.format_message())
        return WRONG_USE
    except VaultseekError as error:
        complain(str(error))
        _tell_program(given, error.code, str(error))
        return error.exit_code
    except BrokenPipeError:
        raise
    except Exception as error:
        _tell_program(given, "internal", f"{type(error).__name__}: {error}")
        return _bug(error)
    return code if isinstance(code, int) else FOUND


def complain(message: str) -> None:
    """Print one line of trouble on standard error."""
    from vaultseek.cli.terminal import clean

    print(f"vaultseek: {clean(message.removeprefix('vaultseek: '))}", file=sys.stderr)


def _tell_program(arguments: Sequence[str], code: str, message: str) -> None:
    """Where JSON was asked for, say what went wrong on standard output, too."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--json" in options:
        from vaultseek.cli.invocation import as_json, failure

        as_json(failure(code, message))


def _hint(error: Exception) -> None:
    context = getattr(error, "ctx", None)
    if context is not None:
        print(f"Try '{context.command_path} -h' for help.", file=sys.stderr)


def _bug(error: Exception) -> int:
    import traceback

    traceback.print_exc()
    complain(f"a bug in vaultseek, please report the lines above: {type(error).__name__}: {error}")
    return BUG


def _forget_output() -> None:
    # Python flushes standard output once more when it ends, and would complain then.
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
