"""The rights of a client other than the user."""

from contextvars import ContextVar
from typing import Protocol


class Rights(Protocol):
    """The vaults that a client sees, and the folders in them."""

    def sees(self, vault: str) -> bool:
        """True if any part of the vault may be seen."""

    def folders(self, vault: str) -> tuple[str, ...] | None:
        """Return the visible folders of the vault, none of which is inside another; None if all of the vault
        is visible."""


CURRENT_RIGHTS: ContextVar[Rights | None] = ContextVar("rights", default=None)
"""The rights of the client whose request is being answered; None for the user, who has all rights."""
