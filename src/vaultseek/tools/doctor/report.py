"""Bug reports made from findings, without the names of the user, host, folders, vaults and notes."""

import getpass
import platform
import re
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path

from vaultseek import __version__
from vaultseek.base import paths
from vaultseek.tools.doctor.finding import Finding
from vaultseek.tools.doctor.settings import check_settings
from vaultseek.tools.doctor.vaults import KnownVault, known_vaults

_SYSTEM = r"/(?:usr|opt|etc|proc|dev|run/user|bin|lib(?:64)?)(?![\w-])[^\s'\"`,;:()]*"
_PATH = re.compile(rf"(?<![\w<.])(?:({_SYSTEM})|~?/(?=\S)[^'\"`,;:()\n]*)")
"""Pattern of a path. Names may contain spaces, so a user's path includes the following words, up to a
character that cannot be part of a path."""
_CHECK = re.compile(r"((?:vault|(?:index|vectors|audit|engine|state|model) of) )(.+?)( for other languages)?")
"""Pattern of the name of a check that contains a vault's name."""
_END = r"(?=[/\s'\"`,;:()]|$)"


def report(findings: Iterable[Finding], config: Path | None = None) -> str:
    """Return the findings as Markdown for a bug report; ``config`` is the configuration file that was
    checked."""
    lines = [f"vaultseek {__version__} on {platform.system()} {platform.release()} {platform.machine()}", ""]
    redact = _Redactor(known_vaults(check_settings(config)[0]), config or paths.config_file())
    for finding in findings:
        message = finding.public if finding.public is not None else finding.message
        lines.append(f"- {finding.status}: {redact.check(finding.check)}: {redact(message)}")
    return "\n".join(lines)


class _Redactor:
    """A callable that replaces private names and paths in text."""

    def __init__(self, vaults: Sequence[KnownVault], config: Path) -> None:
        places = (config, paths.data_directory(), paths.state_directory())
        known = {str(place): "<path>" for place in places}
        self._vaults: dict[str, str] = {}
        for number, vault in enumerate(vaults, 1):
            known[str(vault.root)] = self._vaults[vault.name] = f"<vault {number}>"
        home = str(Path.home())
        if home != "/":
            known[home] = "~"
        self._paths = sorted(known.items(), key=lambda pair: -len(pair[0]))
        self._names = {
            name: mark for name, mark in ((_user(), "<user>"), (socket.gethostname(), "<host>")) if name
        }

    def check(self, name: str) -> str:
        """Return the name of a check with the vault's name replaced."""
        match = _CHECK.fullmatch(name)
        if match is None:
            return self(name)
        return f"{match[1]}{self._vaults.get(match[2], '<vault>')}{match[3] or ''}"

    def __call__(self, text: str) -> str:
        for path, mark in self._paths:
            text = re.sub(re.escape(path) + _END, mark, text)
        for name, mark in self._vaults.items():
            text = re.sub(rf"(?<=['\"`]){re.escape(name)}(?=['\"`])", mark, text)
        for name, mark in self._names.items():
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", mark, text)
        return _PATH.sub(lambda match: match[1] or "<path>", text)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
