"""How the methods come to the vault and the note that a request means."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from vaultseek import limits
from vaultseek.daemon.open_vault import Keeper
from vaultseek.errors import NotFound, Unavailable
from vaultseek.index.ledger import NoteRow
from vaultseek.messages.params import VaultParams
from vaultseek.model import JSON, Reason
from vaultseek.notes.lookup import note_called

Find = Callable[[VaultParams], Awaitable[Keeper]]
"""The vault that a request means. Raises UsageError, VaultMissing or ConfigError."""


async def found_note(name: str, keeper: Keeper) -> NoteRow:
    """The note that ``name`` means.

    Raises BadPath, NotFound, UsageError, or Unavailable while a vault has not been read.
    """
    await keeper.first_look()
    try:
        return await asyncio.to_thread(note_called, name, keeper.ledger, keeper.place.root)
    except NotFound:
        # Right after the start, or in a new vault, it may only not have been read yet.
        if not await keeper.compared(limits.REFRESH_SECONDS):
            raise Unavailable(f"{keeper.place.name} is still being read; try again in a moment") from None
    gap = keeper.gap()
    try:
        return await asyncio.to_thread(note_called, name, keeper.ledger, keeper.place.root)
    except NotFound as error:
        raise NotFound(f"{error}; {gap.text}") if gap else error from None


def of_vault(keeper: Keeper, answer: JSON) -> JSON:
    """``answer`` with the vault that it is about."""
    return {"vault": keeper.name, "vault_path": str(keeper.place.root), **answer}


def of_note(keeper: Keeper, row: NoteRow, answer: JSON) -> JSON:
    """``answer`` with the note that it is about."""
    return of_vault(keeper, {"path": row.path, "title": row.title, **answer})


def with_gap(answer: JSON, gap: Reason | None) -> JSON:
    """``answer`` that says in ``partial`` why it may not know all notes, if there is a reason."""
    if gap is not None:
        answer["partial"].append({"lane": "vault", **gap.as_json()})
    return answer
