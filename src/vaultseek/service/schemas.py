"""The protocol as JSON Schema: what every method takes and what it answers."""

from __future__ import annotations

from functools import lru_cache

from pydantic import BaseModel

from vaultseek.model import JSON
from vaultseek.service import params

PARAMETERS: dict[str, type[BaseModel]] = {
    "search": params.SearchParams,
    "search/why": params.WhyParams,
    "note/get": params.GetParams,
    "note/related": params.RelatedParams,
    "links/outgoing": params.LinksParams,
    "links/backlinks": params.LinksParams,
    "links/unresolved": params.UnresolvedParams,
    "links/unlinked": params.LinksParams,
    "graph/neighbors": params.NeighborsParams,
    "vault/tags": params.ListParams,
    "vault/properties": params.PropertiesParams,
    "vault/orphans": params.OrphansParams,
    "complete": params.CompleteParams,
    "vault/list": params.Nothing,
    "vault/add": params.AddVaultParams,
    "vault/remove": params.RemoveVaultParams,
    "vault/pause": params.NamedVaultParams,
    "vault/resume": params.NamedVaultParams,
    "index/status": params.VaultParams,
    "index/refresh": params.VaultParams,
    "index/wait": params.WaitParams,
    "index/subscribe": params.SubscribeParams,
    "index/unsubscribe": params.SubscribeParams,
    "shutdown": params.Nothing,
    "$/schema": params.Nothing,
}


@lru_cache(maxsize=1)
def schemas() -> JSON:
    """``{"methods": {name: {"params": schema}}}``, in JSON Schema 2020-12."""
    return {"methods": {name: {"params": kind.model_json_schema()} for name, kind in PARAMETERS.items()}}
