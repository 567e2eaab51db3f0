"""What the daemon does for each method of the protocol: parameters in, an answer out."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vaultseek import __version__, config, limits
from vaultseek.errors import UsageError, WorkerUnavailable
from vaultseek.keeper import Keeper
from vaultseek.library import Library
from vaultseek.model import JSON
from vaultseek.schema import first_problem
from vaultseek.search import Request, Searcher
from vaultseek.settings_file import SettingsFile
from vaultseek.wire.server import Handler, RequestContext
from vaultseek.worker import SemanticWorker

P = TypeVar("P", bound=BaseModel)


class _Params(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class VaultParams(_Params):
    """Which vault: a name or folder, else where the request came from."""

    vault: str | None = None
    cwd: str | None = None


class SearchParams(VaultParams):
    """``search``."""

    query: str
    limit: int | None = Field(default=None, ge=1, le=limits.RESULTS)
    mode: Literal["hybrid", "keyword", "semantic"] | None = None
    explain: bool = False
    wait: bool = False
    settings: dict[str, Any] = Field(default_factory=dict)
    filters: dict[str, Any] = Field(default_factory=dict)
    brief: bool = False


class WaitParams(VaultParams):
    """``index/wait``: with ``progress``, tell how far it is meanwhile."""

    progress: bool = False


class Service:
    """The handlers of one daemon."""

    def __init__(self, file: SettingsFile, library: Library, worker: SemanticWorker, socket: str) -> None:
        self.stop = asyncio.Event()
        self._file = file
        self._library = library
        self._worker = worker
        self._socket = socket
        self._began = time.monotonic()

    def handlers(self) -> Mapping[str, Handler]:
        """Method name to handler."""
        return {
            "search": self.search,
            "index/status": self.status,
            "index/refresh": self.refresh,
            "index/wait": self.wait,
            "vault/list": self.list_vaults,
            "shutdown": self.shutdown,
        }

    async def search(self, params: JSON, context: RequestContext) -> JSON:
        """Answer a query."""
        asked = _read(SearchParams, params)
        keeper = await self._vault(asked)
        settings = config.search_settings(self._library.settings.search, asked.settings)
        request = Request(
            query=asked.query,
            limit=asked.limit,
            mode=asked.mode or settings.mode,
            explain=asked.explain,
            settings=settings,
            fields=asked.filters,
            brief=asked.brief,
        )
        if not keeper.counts().notes:
            await keeper.first_look()
        if asked.wait:
            await keeper.seen_everything()
            await _embedded(keeper, request.mode)
        return _with_aliases(await Searcher(keeper).search(request), keeper)

    async def status(self, params: JSON, context: RequestContext) -> JSON:
        """How the daemon and its vaults are."""
        asked = _read(VaultParams, params)
        keepers = [await self._vault(asked)] if asked.vault else self._library.keepers
        vaults = await asyncio.gather(*(asyncio.to_thread(keeper.status) for keeper in keepers))
        return {"daemon": self._daemon(), "vaults": vaults}

    async def refresh(self, params: JSON, context: RequestContext) -> JSON:
        """Compare the vault with the disk now; the answer comes when that is done."""
        keeper = await self._vault(_read(VaultParams, params))
        await keeper.seen_everything(accept_loss=True)
        return {}

    async def wait(self, params: JSON, context: RequestContext) -> JSON:
        """Answer when everything that is on disk now is taken in and embedded."""
        asked = _read(WaitParams, params)
        keeper = await self._vault(asked)
        telling = asyncio.create_task(_tell(keeper, context)) if asked.progress else None
        try:
            await keeper.seen_everything(accept_loss=True)
            await keeper.all_embedded()
        finally:
            if telling is not None:
                telling.cancel()
        return await asyncio.to_thread(keeper.status)

    async def list_vaults(self, params: JSON, context: RequestContext) -> JSON:
        """The vaults that are open."""
        _read(_Params, params)
        vaults = [{"name": k.place.name, "path": str(k.place.root)} for k in self._library.keepers]
        return {"vaults": vaults}

    async def shutdown(self, params: JSON, context: RequestContext) -> JSON:
        """End the daemon after this answer."""
        _read(_Params, params)
        self.stop.set()
        return {}

    async def _vault(self, asked: VaultParams) -> Keeper:
        settings = await asyncio.to_thread(self._file.changed)
        if settings is not None:
            await self._library.open_configured(settings)
        return await self._library.find(asked.vault, asked.cwd)

    def _daemon(self) -> JSON:
        worker = self._worker.state
        return {
            "pid": os.getpid(),
            "version": __version__,
            "uptime_seconds": round(time.monotonic() - self._began, 1),
            "memory_bytes": _memory(),
            "config": str(self._file.path) if self._file.exists() else None,
            "socket": self._socket,
            "worker": {
                "status": worker.status,
                "reason": worker.reason,
                "pid": worker.pid,
                "model": worker.model,
                "memory_bytes": worker.memory_bytes,
                "restarts": worker.restarts,
                "doing": worker.doing,
            },
        }


def _read(kind: type[P], params: JSON) -> P:
    try:
        return kind.model_validate(params)
    except ValidationError as error:
        where, wrong = first_problem(error, kind)
        raise UsageError(f"parameter {'.'.join(map(str, where))}: {wrong}") from None


def _with_aliases(answer: JSON, keeper: Keeper) -> JSON:
    """Where the vault is, how many results there are, and the names that other tools have for our fields."""
    for result in answer["results"]:
        lanes = result.get("lanes")
        if lanes is not None:
            took_part = [name for name in ("semantic", "keyword", "graph") if lanes.get(name)]
            result["search_method"] = _method(took_part)
            result["vectorRank"] = (lanes.get("semantic") or {}).get("rank")
            result["bm25Rank"] = (lanes.get("keyword") or {}).get("rank")
            result["content_preview"] = result["preview"]
    return {**answer, "count": len(answer["results"]), "vault_path": str(keeper.place.root)}


def _method(lanes: list[str]) -> str:
    return "hybrid" if len(lanes) > 1 else lanes[0] if lanes else "filter"


async def _embedded(keeper: Keeper, mode: str) -> None:
    if mode == "keyword":
        return
    try:
        await keeper.all_embedded()
    except WorkerUnavailable:
        return  # the answer says which lanes did not take part


async def _tell(keeper: Keeper, context: RequestContext) -> None:
    while True:
        context.notify("index/progress", await asyncio.to_thread(keeper.progress))
        await asyncio.sleep(limits.PROGRESS_SECONDS)


def _memory() -> int:
    """Resident bytes of this process."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - no Path for a pseudo file
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * limits.KIB
