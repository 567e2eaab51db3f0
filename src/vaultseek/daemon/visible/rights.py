"""The rights of clients other than the user's own."""

from contextvars import ContextVar
from typing import Protocol


class Rights(Protocol):
    """The vaults that a client may see, and the visible folders in them."""

    def sees(self, vault: str) -> bool:
        """Return True if any part of the vault may be seen."""

    def folders(self, vault: str) -> tuple[str, ...] | None:
        """Return the vault's visible folders, none of which is inside another, or None if the whole vault is
        visible."""


CURRENT_RIGHTS: ContextVar[Rights | None] = ContextVar("rights", default=None)
"""The rights of the client whose request is being answered; None for the user, who has all rights."""
