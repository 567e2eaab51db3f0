"""How the methods come to the vault and the note that a request means."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from vaultseek import limits
from vaultseek.asking.naming import note_called
from vaultseek.errors import NotFound, Unavailable
from vaultseek.index.ledger import NoteRow
from vaultseek.keeper import Keeper
from vaultseek.model import JSON
from vaultseek.service.params import VaultParams

Find = Callable[[VaultParams], Awaitable[Keeper]]
"""The vault that a request means. Raises UsageError, VaultMissing or ConfigError."""


async def found_note(name: str, keeper: Keeper) -> NoteRow:
    """The note that ``name`` means.

    Raises BadPath, NotFound, UsageError, or Unavailable while a vault has not been read.
    """
    try:
        return await asyncio.to_thread(note_called, name, keeper.ledger, keeper.place.root)
    except NotFound:
        # Right after the start, or in a new vault, it may only not have been read yet.
        if not await keeper.compared(limits.REFRESH_SECONDS):
            raise Unavailable(f"{keeper.place.name} is still being read; try again in a moment") from None
        return await asyncio.to_thread(note_called, name, keeper.ledger, keeper.place.root)


def of_vault(keeper: Keeper, answer: JSON) -> JSON:
    """``answer`` with the vault that it is about."""
    return {"vault": keeper.name, "vault_path": str(keeper.place.root), **answer}


def of_note(keeper: Keeper, row: NoteRow, answer: JSON) -> JSON:
    """``answer`` with the note that it is about."""
    return of_vault(keeper, {"path": row.path, "title": row.title, **answer})
