"""One invocation of the command line: the options shared by all commands, and settings from the shell."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from vaultseek.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from vaultseek.base.model import JSON
    from vaultseek.doors.cli.terminal import Terminal

COMPLETION_VARIABLE = "_VAULTSEEK_COMPLETE"
"""Environment variable with which a shell requests completions instead of running a command."""
_SEARCH_VARIABLE = "VAULTSEEK_SEARCH"


class Invocation:
    """The values of the shared options, which may come before or after the command's name."""

    def __init__(self) -> None:
        self.config: Path | None = None
        self.vaults: list[str] = []
        """Folders or names of vaults; if empty, the current folder determines the vault."""
        self.color = True
        self.autostart = True
        self.pager: bool | None = None
        """True always uses a pager, False never; None uses it for output longer than the screen."""
        self.json = False
        """True to print JSON instead of text."""
        self.paths = False
        """True to print only the paths of notes."""
        self.agent = False
        """True if an agent reads the answer; notes hidden from agents are then left out."""
        self.folder: str | None = None
        """Folder that determines the vault, instead of the current folder."""

    @property
    def vault(self) -> str | None:
        """The vault given by ``--vault``, or None. Raises UsageError if several vaults are given."""
        if len(self.vaults) > 1:
            raise UsageError("only search and find accept several vaults; use only one --vault")
        return self.vaults[0] if self.vaults else None

    @property
    def out(self) -> Terminal:
        """Standard output, as a terminal."""
        from vaultseek.doors.cli.terminal import terminal

        return terminal(sys.stdout, color=self.color)

    def show(self, text: str) -> None:
        """Print ``text``, through the pager if it is longer than the screen."""
        out = self.out
        fits = text.count("\n") + 1 < out.height or os.environ.get("TERM", "dumb") == "dumb"
        if not out.screen or self.pager is False or (fits and not self.pager):
            print(text)
        else:
            from vaultseek.doors.cli.terminal import page_text

            page_text(text)

    def params(self, **more: Any) -> JSON:
        """Return the parameters in ``more`` that are not None, plus ``vault`` (if given) and ``cwd``."""
        vault = None if self.vault is None else vault_argument(self.vault)
        params = {**more, "vault": vault, "cwd": self.folder or current_folder()}
        return {name: value for name, value in params.items() if value is not None}

    def is_outside(self, vault: str | None) -> bool:
        """Return True if the current folder is outside ``vault``, which was chosen because it is the only
        vault."""
        here = os.path.realpath(self.folder or current_folder())
        return bool(vault) and not self.vaults and not f"{here}/".startswith(f"{vault}/")

    def search(self, *, all_vaults: bool) -> tuple[str, JSON]:
        """Return the method for searching this invocation's vaults, and the parameters that select the
        vaults."""
        if all_vaults and self.vaults:
            raise UsageError("--all-vaults searches every vault; leave out --vault")
        if all_vaults:
            return "search/all", {}
        if len(self.vaults) > 1:
            return "search/all", {"vaults": [*map(vault_argument, self.vaults)], "cwd": current_folder()}
        return "search", self.params()


def current_folder() -> str:
    """Return the current folder, or the root if the current folder has been removed."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep


def vault_argument(vault: str) -> str:
    """Return a vault in the form that the daemon expects: a path is made absolute, and a single word is left
    unchanged.

    The daemon treats a single word first as a vault's name, then as a subfolder of the current folder.
    """
    is_path = os.sep in vault or vault.startswith("~") or vault in (os.curdir, os.pardir)
    return os.path.abspath(os.path.expanduser(vault)) if is_path else vault


def environment_settings() -> JSON:
    """Return the search settings in this shell's environment, which may differ from the daemon's
    environment."""
    section: JSON = {}
    settings: JSON = {}
    for variable, value in os.environ.items():
        name, _, key = variable.upper().partition("__")
        if name != _SEARCH_VARIABLE or not value:
            continue
        if key:
            settings[key.lower().replace("__", ".")] = value
        else:
            section = _section(value)
    return section | settings


def _section(text: str) -> JSON:
    """Return the settings in a variable that contains a whole section, with dotted names for nested
    tables."""
    import json

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        from vaultseek.settings.load import check_environment

        check_environment()
        return {}
    return dict(_dotted(value))


def _dotted(table: JSON, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


@contextmanager
def naming_the_variable(settings: JSON) -> Iterator[None]:
    """Replace an error from the daemon about one of ``settings`` with an error that names the environment
    variable."""
    try:
        yield
    except UsageError:
        if settings:
            from vaultseek.settings.load import check_environment

            check_environment()
        raise
