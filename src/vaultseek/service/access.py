"""How the methods come to the vault and the note that a request means."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from vaultseek.asking.naming import note_called
from vaultseek.errors import NotFound
from vaultseek.index.ledger import NoteRow
from vaultseek.keeper import Keeper
from vaultseek.messages.params import VaultParams
from vaultseek.model import JSON

Find = Callable[[VaultParams], Awaitable[Keeper]]
"""The vault that a request means. Raises UsageError, VaultMissing or ConfigError."""


async def found_note(name: str, keeper: Keeper) -> NoteRow:
    """The note that ``name`` means. Raises BadPath, NotFound or UsageError."""
    await keeper.first_look()
    gap = keeper.gap()
    try:
        return await asyncio.to_thread(note_called, name, keeper.ledger, keeper.place.root)
    except NotFound as error:
        raise NotFound(f"{error}; {gap}") if gap else error from None


def of_vault(keeper: Keeper, answer: JSON) -> JSON:
    """``answer`` with the vault that it is about."""
    return {"vault": keeper.name, "vault_path": str(keeper.place.root), **answer}


def of_note(keeper: Keeper, row: NoteRow, answer: JSON) -> JSON:
    """``answer`` with the note that it is about."""
    return of_vault(keeper, {"path": row.path, "title": row.title, **answer})


def with_gap(answer: JSON, gap: str | None) -> JSON:
    """``answer`` that says in ``partial`` why it may not know all notes, if there is a reason."""
    if gap is not None:
        answer["partial"].append({"lane": "vault", "reason": gap})
    return answer
