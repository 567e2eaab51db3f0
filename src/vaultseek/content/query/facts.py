"""The port of filters: the facts of a note that conditions refer to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from vaultseek.base.model import Task

Scope = Literal["content", "section", "line", "block"]


class NoteFacts(Protocol):
    """The facts of one note that conditions refer to."""

    @property
    def path(self) -> str:
        """Vault path with ``/`` between folders and with its extension."""

    @property
    def title(self) -> str: ...

    @property
    def aliases(self) -> Collection[str]: ...

    @property
    def tags(self) -> Collection[str]:
        """Tags without ``#``."""

    @property
    def properties(self) -> Mapping[str, Any]:
        """Frontmatter: text, number, bool, None or a list of these."""

    @property
    def created(self) -> float | None:
        """Unix time, None if unknown."""

    @property
    def modified(self) -> float | None:
        """Unix time, None if unknown."""

    @property
    def links(self) -> Collection[str]:
        """Paths of the notes that this one links to; for unresolved links the target as written."""

    @property
    def backlinks(self) -> Collection[str]:
        """Paths of the notes that link to this one."""

    @property
    def headings(self) -> Collection[str]: ...

    @property
    def tasks(self) -> Sequence[Task]: ...

    def passages(self, scope: Scope) -> Iterable[str]:
        """Yield the note's text as a whole, by section, by line, or by paragraph, list item and quote."""
