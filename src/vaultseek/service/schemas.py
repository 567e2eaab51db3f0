"""The protocol as JSON Schema: what every method takes and what it answers."""

from __future__ import annotations

from functools import lru_cache

from pydantic import BaseModel

from vaultseek.model import JSON
from vaultseek.service import answers, params

METHODS: dict[str, tuple[type[BaseModel], type[BaseModel]]] = {
    "search": (params.SearchParams, answers.Search),
    "search/why": (params.WhyParams, answers.Why),
    "note/get": (params.GetParams, answers.Note),
    "note/related": (params.RelatedParams, answers.Related),
    "links/outgoing": (params.LinksParams, answers.Outgoing),
    "links/backlinks": (params.LinksParams, answers.Backlinks),
    "links/unresolved": (params.UnresolvedParams, answers.Unresolved),
    "links/unlinked": (params.LinksParams, answers.Unlinked),
    "graph/neighbors": (params.NeighborsParams, answers.Neighbors),
    "vault/tags": (params.ListParams, answers.Tags),
    "vault/properties": (params.PropertiesParams, answers.Properties),
    "vault/orphans": (params.OrphansParams, answers.Orphans),
    "complete": (params.CompleteParams, answers.Completions),
    "vault/list": (params.Nothing, answers.Vaults),
    "vault/add": (params.AddVaultParams, answers.AddedVault),
    "vault/remove": (params.RemoveVaultParams, answers.RemovedVault),
    "vault/pause": (params.NamedVaultParams, answers.PausedVault),
    "vault/resume": (params.NamedVaultParams, answers.PausedVault),
    "index/status": (params.VaultParams, answers.Status),
    "index/refresh": (params.VaultParams, answers.Done),
    "index/wait": (params.WaitParams, answers.VaultStatus),
    "index/subscribe": (params.SubscribeParams, answers.Subscribed),
    "index/unsubscribe": (params.SubscribeParams, answers.Done),
    "shutdown": (params.Nothing, answers.Done),
    "$/schema": (params.Nothing, answers.Schemas),
}


@lru_cache(maxsize=1)
def schemas() -> JSON:
    """``{"methods": {name: {"params": schema, "answer": schema}}}``, in JSON Schema 2020-12."""
    return {
        "methods": {
            name: {"params": taken.model_json_schema(), "answer": given.model_json_schema()}
            for name, (taken, given) in METHODS.items()
        }
    }
