"""How the methods come to the vault and the note that a request means."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from vaultseek import limits
from vaultseek.daemon.follow import VaultFollower
from vaultseek.errors import NotFound, Unavailable
from vaultseek.index.ledger import NoteRow
from vaultseek.messages.params import VaultParams
from vaultseek.model import JSON, Reason
from vaultseek.notes.lookup import resolve_note

Find = Callable[[VaultParams], Awaitable[VaultFollower]]
"""The vault that a request means. Raises UsageError, VaultMissing or ConfigError."""


async def found_note(name: str, follower: VaultFollower) -> NoteRow:
    """The note that ``name`` means.

    Raises BadPath, NotFound, UsageError, or Unavailable while a vault has not been read.
    """
    await follower.wait_if_new()
    try:
        return await asyncio.to_thread(resolve_note, name, follower.vault.ledger, follower.vault.options.root)
    except NotFound:
        # Right after the start, or in a new vault, it may only not have been read yet.
        if not await follower.wait_for_first_scan(limits.REFRESH_SECONDS):
            raise Unavailable(f"{follower.vault.name} is still being read; try again in a moment") from None
    gap = follower.degraded_reason()
    try:
        return await asyncio.to_thread(resolve_note, name, follower.vault.ledger, follower.vault.options.root)
    except NotFound as error:
        raise NotFound(f"{error}; {gap.text}") if gap else error from None


def of_vault(follower: VaultFollower, answer: JSON) -> JSON:
    """``answer`` with the vault that it is about."""
    return {"vault": follower.vault.name, "vault_path": str(follower.vault.options.root), **answer}


def of_note(follower: VaultFollower, row: NoteRow, answer: JSON) -> JSON:
    """``answer`` with the note that it is about."""
    return of_vault(follower, {"path": row.path, "title": row.title, **answer})


def with_gap(answer: JSON, gap: Reason | None) -> JSON:
    """``answer`` that says in ``partial`` why it may not know all notes, if there is a reason."""
    if gap is not None:
        answer["partial"].append({"lane": "vault", **gap.as_json()})
    return answer
