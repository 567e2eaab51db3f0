"""What was said on the command line beside the command itself, and the options that every command shares."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from vaultseek.cli import candidates
from vaultseek.cli.terminal import Terminal, clean_json, terminal
from vaultseek.errors import ConfigError

Command = TypeVar("Command", bound=Callable[..., Any])
JSON = dict[str, Any]


class Invocation:
    """One call of the command line; the shared options fill it in, wherever on the line they stand."""

    def __init__(self) -> None:
        self.config: Path | None = None
        self.vault: str | None = None
        self.color = True
        self.autostart = True
        self.pager: bool | None = None
        """Whether long output goes through a pager; None decides by the length."""
        self.folder: str | None = None
        """Where the question is asked from, instead of the current folder."""

    @property
    def out(self) -> Terminal:
        """Standard output."""
        return terminal(sys.stdout, color=self.color)

    def show(self, text: str) -> None:
        """Print ``text``, on a screen that is too small for it through the pager."""
        out = self.out
        fits = text.count("\n") + 1 < out.height or os.environ.get("TERM", "dumb") == "dumb"
        if not out.screen or self.pager is False or (fits and not self.pager):
            print(text)
        else:
            from vaultseek.cli.pager import page

            page(text)

    def params(self, **more: Any) -> JSON:
        """A request's parameters: ``more``, and what tells the daemon which vault is meant."""
        return {**more, "vault": _vault(self.vault), "cwd": self.folder or current_folder()}


pass_invocation = click.make_pass_decorator(Invocation, ensure=True)


def current_folder() -> str:
    """The current folder, or the root where the current one has been removed."""
    try:
        return str(Path.cwd())
    except OSError:
        return os.sep


def shared_options(command: Command, *, environment: str | None = None) -> Command:
    """``--config``, ``--no-color`` and ``--pager``, which may stand before or after the command's name."""
    config = click.option(
        "--config",
        envvar=environment,
        metavar="FILE",
        expose_value=False,
        callback=_keep_config,
        help="Use this configuration file.",
    )
    no_color = click.option(
        "--no-color",
        is_flag=True,
        expose_value=False,
        callback=_forbid("color"),
        help="Print without colour; NO_COLOR does the same.",
    )
    pager = click.option(
        "--pager/--no-pager",
        default=None,
        expose_value=False,
        callback=_keep("pager"),
        help="Show the output with $PAGER; by default what is longer than the screen.",
    )
    return config(no_color(pager(command)))


def daemon_options(command: Command) -> Command:
    """``--vault`` and ``--no-start`` for commands that ask the daemon, and the shared options."""
    no_start = click.option(
        "--no-start",
        is_flag=True,
        expose_value=False,
        callback=_forbid("autostart"),
        help="Do not start a daemon where none is running.",
    )
    return vault_option(no_start(shared_options(command)))


def vault_option(command: Command) -> Command:
    """``--vault``."""
    option = click.option(
        "--vault",
        metavar="DIR|NAME",
        shell_complete=candidates.vaults,
        expose_value=False,
        callback=_keep("vault"),
        help="The vault, by folder or by name; else the one that the current folder is in.",
    )
    return option(command)


def as_json(value: JSON) -> None:
    """Print ``value`` as one line of JSON, in UTF-8 whatever the locale."""
    import json

    text = clean_json(json.dumps(value, ensure_ascii=False, separators=(", ", ": ")))
    sys.stdout.flush()
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        print(text)
        return
    stream.write(text.encode("utf-8") + b"\n")
    stream.flush()


def failure(code: str, message: str) -> JSON:
    """What a program is told on standard output of a command that failed."""
    return {"error": {"code": code, "message": message}}


def _keep_config(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    file = Path(os.path.abspath(value))  # noqa: PTH100 - absolute, links kept
    if not file.exists():
        raise ConfigError(f"{file}: no such file; --config takes the path of a TOML file")
    context.ensure_object(Invocation).config = file


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value is not None:
            setattr(context.ensure_object(Invocation), name, value)

    return callback


def _forbid(name: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    def callback(context: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            setattr(context.ensure_object(Invocation), name, False)

    return callback


def _vault(given: str | None) -> str | None:
    """The vault as the daemon is told: a folder by its absolute path, a name as it is."""
    if given is None:
        return None
    folder = os.path.expanduser(given)  # noqa: PTH111 - a name stays a plain text
    return os.path.abspath(folder) if os.path.isdir(folder) or os.sep in given else given  # noqa: PTH100, PTH112
