"""Finding the vault and the note that a request refers to."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from vaultseek.base import limits
from vaultseek.base.model import JSON, Reason
from vaultseek.base.text import quote
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.notes.lookup import resolve_note, similar_names
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.visible.view import SeenFollower
from vaultseek.errors import Forbidden, NotFound, Unavailable, advise
from vaultseek.protocol.messages.params import AllVaultsParams, VaultParams
from vaultseek.protocol.wire.context import RequestContext
from vaultseek.store.graph import Graph
from vaultseek.store.ledger import NoteRow

Handlers = Mapping[str, Callable[[Any, RequestContext], Awaitable[JSON]]]
"""Handlers by method name; ``METHODS`` contains the types of their parameters."""

VaultHandlers = dict[str, Callable[[SeenFollower, Any], Awaitable[JSON]]]
"""Handlers that need only the request's vault, whose name is added to their answers."""
Find = Callable[[VaultParams], Awaitable[SeenFollower]]
"""Function that returns the vault that a request refers to. Raises UsageError, VaultMissing or
ConfigError."""
FindAll = Callable[[AllVaultsParams], Awaitable[Mapping[str, SeenFollower | Exception]]]
"""Function that returns the requested vaults, or all vaults, by name. Instead of a vault that cannot be
opened, it returns the exception. Raises VaultMissing, ConfigError, or UsageError if there are no vaults."""


def whole(follower: SeenFollower) -> VaultFollower:
    """Return the `VaultFollower` of the whole vault. Raises Forbidden for a client that may see only part of
    the vault."""
    if isinstance(follower, VaultFollower):
        return follower
    raise Forbidden(
        f"this request needs access to all of {follower.vault.name}, but this client can see only part of it"
    )


async def find_note(name: str, follower: SeenFollower) -> NoteRow:
    """Return the note that ``name`` refers to.

    Raises BadPath, NotFound, UsageError, or Unavailable if the vault's first scan is not finished.
    """
    vault = follower.vault
    await follower.wait_if_new()
    try:
        return await asyncio.to_thread(resolve_note, name, vault.ledger, vault.options.root)
    except NotFound:
        # The note may not have been read yet, if the daemon was just started or the vault is new.
        if not await follower.wait_for_first_scan(limits.REFRESH_SECONDS):
            raise Unavailable(f"{vault.name} is still being read; try again in a moment") from None
    degraded = follower.degraded_reason()
    try:
        return await asyncio.to_thread(resolve_note, name, vault.ledger, vault.options.root)
    except NotFound:
        names = await asyncio.to_thread(similar_names, name, follower.completer)
        advice = [*([degraded.text] if degraded else ()), *([_suggestion(names)] if names else ())]
        if not advice:
            raise
        message = "; ".join([f"no note matches {quote(name)}", *advice])
        raise NotFound(message, advise("search", *names)) from None


def _suggestion(names: Sequence[str]) -> str:
    *others, last = map(quote, names)
    return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"


async def graph_of(follower: SeenFollower) -> Graph:
    """Return the vault's link graph, waiting briefly if necessary. Raises Unavailable if it is still being
    built."""
    if follower.vault.graph is None:
        await follower.wait_for_first_scan(limits.REFRESH_SECONDS)
    if follower.vault.graph is None:
        raise Unavailable("the link graph is being built; try again")
    return follower.vault.graph


def folder_of(vault: SearchedVault, purpose: str) -> Path:
    """Return the vault's folder. If the folder is on another machine, raises Unavailable with ``purpose`` in
    the message."""
    if vault.options.folder is None:
        raise Unavailable(
            f"{purpose} needs the files of {vault.name}, which are on another machine; run the command there"
        )
    return vault.options.folder


def about_vault(vault: SearchedVault, answer: JSON) -> JSON:
    """Return ``answer`` with the name and folder of the vault that it is about."""
    return {"vault": vault.name, "vault_path": str(vault.options.folder or ""), **answer}


def about_note(row: NoteRow, answer: JSON) -> JSON:
    """Return ``answer`` with the path, title and file name of the note that it is about."""
    return {"path": row.path, "title": row.title, "file_name": row.other_name, **answer}


def with_degraded(answer: JSON, degraded: Reason | None) -> JSON:
    """Return ``answer``; if it might not cover all notes, the reason is added to ``partial``."""
    if degraded is not None:
        answer["partial"].append({"lane": "vault", **degraded.as_json()})
    return answer


# -- progress reports for waiting requests


@asynccontextmanager
async def progress_reported(
    follower: VaultFollower, context: RequestContext, *, wanted: bool = True, vectors: bool = True
) -> AsyncIterator[None]:
    """Send ``index/progress`` notifications to the client within this context, if ``wanted`` is true.

    Without ``vectors``, the notifications cover only the reading of notes.
    """
    reporting = asyncio.create_task(_report(follower, context, vectors)) if wanted else None
    try:
        yield
    finally:
        if reporting is not None:
            reporting.cancel()


async def _report(follower: VaultFollower, context: RequestContext, vectors: bool) -> None:
    while True:
        context.notify("index/progress", await asyncio.to_thread(partial(follower.progress, vectors=vectors)))
        await asyncio.sleep(limits.PROGRESS_SECONDS)
