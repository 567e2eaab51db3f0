"""The settings: every key of ``config.toml`` with its type, default and description.

The models are also the reference: ``reference.py`` turns them into ``config.toml.example`` and the
documentation. ``load.py`` reads them. Importing this module takes about 100 ms.
"""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from vaultseek.base import limits
from vaultseek.content.kinds import DEFAULT_SWITCHES, Switch
from vaultseek.settings.search import SearchSettings
from vaultseek.settings.sections import (
    AgentSettings,
    ModelSettings,
    RerankerSettings,
    Section,
    VectorSettings,
    extended,
)

Language = Literal[
    "ar", "bg", "ca", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id",
    "it", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sv", "tr", "uk", "vi",
]  # fmt: skip


class VaultSettings(Section):
    """``[[vaults]]``: a folder of notes to watch and search.

    After ``load``, ``path`` is absolute and resolved.
    """

    name: str = Field(examples=["notes"])
    """Name used with --vault and in results, without slashes."""
    path: Path = Field(strict=False, examples=["~/Notes"])
    """The folder that contains the notes; ~ works, and relative paths are resolved from this file's
    folder."""
    language: Language | None = Field(default=None, examples=["en"])
    """Language of all notes, for stemming; if unset, each note's language is detected."""
    exclude: tuple[str, ...] = Field(default=(), strict=False)
    """Globs for notes and folders to exclude, as in a .gitignore: "Private" at any depth, "/Private" at the
    top, "Private/" a folder only, "**/" any folders. Unlike there, * also matches /, case is ignored, and !
    is not supported."""

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not name.strip() or "/" in name or not name.isprintable() or name.startswith(tuple(_NOT_FIRST)):
            raise ValueError("a plain name (no slash, not starting with '~', '.' or '-')")
        return name


_NOT_FIRST = "~.-"
"""Characters that must not begin a vault's name, because --vault would read it as a path or an option."""


def vault_name(folder: Path) -> str:
    """Return a valid vault name for ``folder``, such as ``notes`` for ``~/.notes``."""
    printable = "".join(filter(str.isprintable, folder.name))
    return printable.lstrip(_NOT_FIRST + " ").rstrip() or "vault"


def _plain_names(searches: dict[str, str]) -> dict[str, str]:
    for name, query in searches.items():
        if not re.fullmatch(r"[\w-]{1,40}", name) or not query.strip():
            raise ValueError("a name may contain only letters, digits, - and _, and needs a query")
    return searches


SavedSearches = Annotated[dict[str, str], AfterValidator(_plain_names)]
"""Saved queries by name."""


@extended
class IndexSettings(Section):
    """``[index]``: what is indexed."""

    exclude: tuple[str, ...] = Field(default=(), strict=False)
    """Globs for notes and folders to exclude from every vault, as in a vault's ``exclude``."""
    max_note_bytes: int = Field(default=limits.NOTE_PARSE_BYTES, ge=limits.KIB, le=limits.NOTE_PARSE_BYTES)
    """Maximum size of a note in bytes; larger notes are reported, and found by name only."""
    kinds: tuple[Switch, ...] = Field(default=DEFAULT_SWITCHES, strict=False)
    """Kinds of files to read besides notes; other kinds are indexed by name only. "ocr" reads pictures and
    scanned PDFs, which is slow and needs the ``ocr`` extra; "session" reads logs of coding agents."""

    @property
    def kept_at(self) -> str:
        """The address of the server that stores the index and the texts of notes; "" if this machine stores
        them."""
        return ""

    @property
    def sends(self) -> str:
        """The status text about the data sent to a server; "" if no data is sent."""
        return ""


class DaemonSettings(Section):
    """``[daemon]``: the background process."""

    autostart: bool = True
    """Let commands start the daemon."""
    tcp: bool = False
    """Also listen on a port of 127.0.0.1, for programs that cannot use a Unix socket; the token is in
    daemon.tcp, next to the socket. Takes effect when the daemon restarts."""
    rescan_minutes: float = Field(default=limits.RESCAN_SECONDS / 60, ge=1.0, le=limits.RESCAN_MINUTES)
    """Minutes between full comparisons of the disk with the index."""


@extended
class Settings(Section):
    """All settings, as returned by ``load``."""

    vaults: tuple[VaultSettings, ...] = Field(default=(), strict=False)
    """The folders of notes to watch."""
    index: IndexSettings = IndexSettings()
    model: ModelSettings = ModelSettings()
    reranker: RerankerSettings = RerankerSettings()
    vectors: VectorSettings = VectorSettings()
    search: SearchSettings = SearchSettings()
    daemon: DaemonSettings = DaemonSettings()
    agents: AgentSettings = AgentSettings()
    searches: SavedSearches = Field(default={}, examples=[{"todo": 'task-todo:"" -path:Archive/'}])
    """Saved searches: a query that begins with @name includes the saved query."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses at which clients can connect, in addition to the socket and the daemon's port."""
        return ()
