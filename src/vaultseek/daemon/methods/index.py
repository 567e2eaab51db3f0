"""RPC methods `index/…`: status, refresh, compact, wait, texts and vectors for a cluster, subscriptions."""

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Sequence

import numpy as np

from vaultseek.base import paths
from vaultseek.base.model import JSON
from vaultseek.daemon.failed_vaults import FailedVault
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.methods.access import (
    Find,
    Handlers,
    VaultHandlers,
    about_vault,
    folder_of,
    progress_reported,
    whole,
)
from vaultseek.daemon.methods.subscribers import Subscribers
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.daemon.visible.view import SeenFollower
from vaultseek.errors import Unavailable, UsageError
from vaultseek.protocol.messages import params
from vaultseek.protocol.wire.context import RequestContext
from vaultseek.semantic.models.encoder import Vectors

Remember = Callable[[VaultFollower], Awaitable[bool]]
"""A function that adds an open vault to the user's vaults. Returns False if the vault was already added."""


class IndexMethods:
    """Handlers of `index/…`; ``daemon`` returns the status of the daemon process."""

    def __init__(
        self,
        registry: VaultRegistry,
        find: Find,
        remember: Remember,
        subscribers: Subscribers,
        daemon: Callable[[], JSON],
    ) -> None:
        self._registry = registry
        self._find = find
        self._remember = remember
        self._subscribers = subscribers
        self._daemon = daemon

    def handlers(self) -> Handlers:
        """Return the handlers, keyed by method name."""
        return {
            "index/status": self.status,
            "index/refresh": self.refresh,
            "index/wait": self.wait,
            "index/subscribe": self.subscribe,
            "index/unsubscribe": self.unsubscribe,
        }

    async def status(self, call: params.VaultParams, context: RequestContext) -> JSON:
        """Return the status of the daemon and its vaults."""
        self._registry.close_missing()
        followers, failed = await self._known(call)
        statuses = await asyncio.gather(*(asyncio.to_thread(follower.status) for follower in followers))
        statuses += [vault.status() for vault in failed]
        return {"daemon": self._daemon(), "vaults": [status.as_json() for status in statuses]}

    async def _known(self, call: params.VaultParams) -> tuple[Sequence[SeenFollower], Sequence[FailedVault]]:
        if not call.vault:
            return self._registry.followers, self._registry.failed
        try:
            return [await self._find(call)], []
        except Unavailable:
            root = self._registry.options_of(call.vault, call.cwd).root
            failed = [each for each in self._registry.failed if each.options.root == root]
            if not failed:
                raise
            return [], failed

    async def refresh(self, call: params.RefreshParams, context: RequestContext) -> JSON:
        """Rescan the vault, and answer when the rescan is done."""
        follower, remembered = await self._remembered(call)
        await follower.rescan(accept_loss=True)
        return about_vault(follower.vault, {"remembered": remembered})

    async def wait(self, call: params.WaitParams, context: RequestContext) -> JSON:
        """Answer when everything that is now on disk is indexed and embedded."""
        follower, remembered = await self._remembered(call)
        follower.waiting_clients += 1
        try:
            async with progress_reported(follower, context, wanted=call.progress):
                await follower.rescan(accept_loss=True)
                await follower.wait_until_embedded()
        finally:
            follower.waiting_clients -= 1
        status = await asyncio.to_thread(follower.status)
        return {**status.as_json(), "remembered": remembered}

    async def _remembered(self, call: params.RefreshParams) -> tuple[VaultFollower, bool]:
        """Return the vault that a request refers to, and True if the request has just added it to the user's
        vaults."""
        follower = whole(await self._find(call))
        if not (call.remember and await self._remember(follower)):
            return whole(await self._find(call)), False
        return whole(await self._find(call)), True

    async def subscribe(self, call: params.SubscribeParams, context: RequestContext) -> JSON:
        """Notify the client of progress and changed notes from now on; return the current progress."""
        root, followers = await self._subscription(call)
        self._subscribers.add(context, root)
        progress = await asyncio.gather(*(asyncio.to_thread(follower.progress) for follower in followers))
        return {"vaults": progress}

    async def unsubscribe(self, call: params.SubscribeParams, context: RequestContext) -> JSON:
        """Stop notifying the client about a vault, or about all vaults."""
        root, _ = await self._subscription(call)
        self._subscribers.drop(context, root)
        return {}

    async def _subscription(self, call: params.SubscribeParams) -> tuple[str | None, list[VaultFollower]]:
        if call.vault is None:
            return None, self._registry.followers
        follower = whole(await self._find(params.VaultParams(vault=call.vault)))
        return str(follower.vault.options.root), [follower]


async def _compact(follower: SeenFollower, call: params.VaultParams) -> JSON:
    follower = whole(follower)
    await follower.rescan()
    folder = paths.vault_data_directory(follower.vault.options.root)
    before = await asyncio.to_thread(paths.folder_bytes, folder)
    await follower.maintenance.compact()
    after = await asyncio.to_thread(paths.folder_bytes, folder)
    return {"bytes": after, "freed_bytes": max(0, before - after)}


async def _texts(follower: SeenFollower, call: params.TextsParams) -> JSON:
    follower = whole(follower)
    embedding = follower.vault.embedding
    _check_model(follower)
    chunk, note = map(int, call.after.split(":"))
    texts, (chunk, note) = await embedding.texts_after((chunk, note), call.limit)
    spec = embedding.spec
    return {
        "model": spec.model,
        "fingerprint": spec.fingerprint,
        "texts": texts,
        "next": f"{chunk}:{note}",
    }


async def _vectors(follower: SeenFollower, call: params.VectorsParams) -> JSON:
    follower = whole(follower)
    embedding = follower.vault.embedding
    if call.fingerprint != embedding.spec.fingerprint:
        raise UsageError(
            f"these vectors are from the model {call.fingerprint}; use the model of {follower.vault.name},"
            f" {embedding.spec.fingerprint}"
        )
    vectors = {key: _vector(text) for key, text in call.vectors.items()}
    return {"kept": await embedding.keep(vectors)}


HANDLERS: VaultHandlers = {
    "index/compact": _compact,
    "index/texts": _texts,
    "index/vectors": _vectors,
}
"""Handlers of ``index/…`` methods that need only a vault."""


def _check_model(follower: VaultFollower) -> None:
    """Check that a cluster can embed with the vault's model. Raises Unavailable if it cannot, or if the notes
    are on another machine."""
    vault = follower.vault
    folder_of(vault, "a cluster")
    model = vault.spaces.models.main
    if model.fault:
        raise model.fault.error()
    if model.service is not None:
        raise Unavailable(
            f"the vectors of {vault.name} come from the server in your settings; only the daemon may call it"
        )
    if vault.options.paused:
        raise vault.options.paused_reason.error()


def _vector(text: str) -> Vectors:
    """Decode a vector from base64. If the base64 is invalid, return an empty vector, which fits no model."""
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), "<f4").astype(np.float32)
    except (binascii.Error, ValueError):
        return np.zeros(0, np.float32)
