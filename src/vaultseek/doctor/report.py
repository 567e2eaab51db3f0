"""Findings as a text for a bug report: no home folder, no user, no host, no name of a vault or note."""

from __future__ import annotations

import getpass
import platform
import re
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path

from vaultseek import __version__
from vaultseek.doctor.finding import Finding
from vaultseek.doctor.settings import usable_settings
from vaultseek.doctor.vaults import KnownVault, known_vaults

_SYSTEM = ("/usr", "/opt", "/etc", "/proc", "/dev", "/run/user", "/bin", "/lib")
_PATH = re.compile(r"(?<![\w~<.])/[^\s'\"`,;:()]+")


def report(findings: Iterable[Finding], config: Path | None = None) -> str:
    """The text, in Markdown; ``config`` is the configuration file that was looked at."""
    lines = [f"vaultseek {__version__} on {platform.system()} {platform.release()} {platform.machine()}", ""]
    hide = _Hiding(known_vaults(usable_settings(config)))
    for finding in findings:
        words = finding.public if finding.public is not None else finding.message
        lines.append(f"- {finding.status}: {hide(finding.check)}: {hide(words)}")
    return "\n".join(lines)


class _Hiding:
    """Callable: a text to the same text without what belongs to the user."""

    def __init__(self, vaults: Sequence[KnownVault]) -> None:
        words: dict[str, str] = {}
        for number, vault in enumerate(vaults, 1):
            words |= {str(vault.root): f"<vault {number}>", vault.name: f"<vault {number}>"}
        home = str(Path.home())
        if home != "/":
            words[home] = "~"
        self._words = sorted(words.items(), key=lambda pair: -len(pair[0]))
        self._names = {name: mark for name, mark in ((_user(), "<user>"), (_host(), "<host>")) if name}

    def __call__(self, text: str) -> str:
        for word, mark in self._words:
            text = text.replace(word, mark) if "/" in word else _named(word, mark, text)
        for name, mark in self._names.items():
            text = _whole(name, mark, text)
        return _PATH.sub(lambda found: found[0] if found[0].startswith(_SYSTEM) else "<path>", text)


def _named(word: str, mark: str, text: str) -> str:
    """A vault's name hidden; one that is a word of ours only where it is the name of a vault."""
    if word.casefold() not in _OUR_WORDS:
        return _whole(word, mark, text)
    return re.sub(rf"((?:vault|(?:index|vectors) of) ){re.escape(word)}(?!\w)", rf"\1{mark}", text)


_OUR_WORDS = frozenset(
    {"notes", "note", "vault", "vaults", "index", "passages", "documents", "model", "memory"}
)


def _whole(word: str, mark: str, text: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", mark, text)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _host() -> str:
    return socket.gethostname()
