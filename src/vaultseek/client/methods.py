"""The methods of the protocol as methods of a client."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Verbs:
    """The words of the protocol as methods of whoever can ``call``; options are the protocol's own.

    Where ``call`` is a coroutine, these are to be awaited too.
    """

    call: Callable[..., Any]

    def search(self, query: str, **options: Any) -> Any:
        """Notes for ``query``, best first."""
        return self.call("search", {"query": query, **options})

    def status(self, **options: Any) -> Any:
        """How the daemon, its vaults and their indexes are."""
        return self.call("index/status", options)

    def note(self, path: str, **options: Any) -> Any:
        """Text and metadata of the note at ``path``."""
        return self.call("note/get", {"note": path, **options})

    def related(self, path: str, **options: Any) -> Any:
        """Notes that are related to the note at ``path``."""
        return self.call("note/related", {"note": path, **options})

    def backlinks(self, path: str, **options: Any) -> Any:
        """The links of other notes to the note at ``path``."""
        return self.call("links/backlinks", {"note": path, **options})

    def complete(self, kind: str, prefix: str, **options: Any) -> Any:
        """Completions of ``prefix`` among the vault's words of one ``kind``."""
        return self.call("complete", {"kind": kind, "text": prefix, **options})

    def shutdown(self) -> Any:
        """Ask the daemon to stop."""
        return self.call("shutdown")
