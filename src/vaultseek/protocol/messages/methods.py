"""The methods of the protocol, with the types of their parameters and answers."""

from typing import Any

from pydantic import BaseModel

from vaultseek.protocol.messages import answers, params

METHODS: dict[str, tuple[type[BaseModel], Any]] = {
    "search": (params.SearchParams, answers.Search),
    "search/all": (params.AllVaultsParams, answers.SearchAll),
    "search/context": (params.ContextParams, answers.Context),
    "search/why": (params.WhyParams, answers.Why),
    "search/opened": (params.OpenedParams, answers.Kept),
    "search/history": (params.ListParams, answers.History),
    "search/forget": (params.ForgetParams, answers.Forgotten),
    "agents/given": (params.GivenParams, answers.Kept),
    "agents/history": (params.ListParams, answers.AgentHistory),
    "agents/forget": (params.VaultParams, answers.Forgotten),
    "note/get": (params.GetParams, answers.Note),
    "note/related": (params.RelatedParams, answers.Related),
    "links/outgoing": (params.LinksParams, answers.Outgoing),
    "links/backlinks": (params.LinksParams, answers.Backlinks),
    "links/unresolved": (params.UnresolvedParams, answers.Unresolved),
    "links/unlinked": (params.LinksParams, answers.Unlinked),
    "graph/neighbors": (params.NeighborsParams, answers.Neighbors),
    "graph/overview": (params.OverviewParams, answers.Overview),
    "graph/path": (params.PathParams, answers.Routes),
    "graph/suggest": (params.SuggestParams, answers.Suggestions),
    "graph/export": (params.VaultParams, answers.GraphExport),
    "vault/tags": (params.ListParams, answers.Tags),
    "vault/properties": (params.PropertiesParams, answers.Properties),
    "vault/orphans": (params.OrphansParams, answers.Orphans),
    "vault/duplicates": (params.DuplicatesParams, answers.Duplicates),
    "vault/table": (params.TableParams, answers.Tables),
    "vault/stale": (params.StaleParams, answers.Stale),
    "complete": (params.CompleteParams, answers.Completions),
    "links/resolve": (params.ResolveParams, answers.Resolved),
    "links/mentioned": (params.MentionedParams, answers.Mentioned),
    "vault/problems": (params.ProblemsParams, answers.Problems),
    "vault/rename": (params.RenameParams, answers.Rename),
    "vault/list": (params.Nothing, answers.Vaults),
    "vault/add": (params.AddVaultParams, answers.AddedVault),
    "vault/remove": (params.RemoveVaultParams, answers.RemovedVault),
    "vault/pause": (params.NamedVaultParams, answers.PausedVault),
    "vault/resume": (params.NamedVaultParams, answers.PausedVault),
    "index/status": (params.VaultParams, answers.Status),
    "index/refresh": (params.RefreshParams, answers.Refreshed),
    "index/compact": (params.VaultParams, answers.Compacted),
    "index/wait": (params.WaitParams, answers.IndexedVault),
    "index/verify": (params.VaultParams, answers.Verified),
    "index/move": (params.MoveParams, answers.Moved),
    "index/texts": (params.TextsParams, answers.TextsToEmbed),
    "index/vectors": (params.VectorsParams, answers.KeptVectors),
    "index/subscribe": (params.SubscribeParams, answers.Subscribed),
    "index/unsubscribe": (params.SubscribeParams, answers.Done),
    "shutdown": (params.Nothing, answers.Done),
    "$/schema": (params.Nothing, answers.Schemas),
    "initialize": (params.Hello, answers.Hello),
    "$/cancelRequest": (params.Cancel, None),
}

NOTIFICATIONS: dict[str, Any] = {
    "index/progress": answers.Progress,
    "index/changed": answers.Changed,
}
"""Messages that the daemon sends to subscribers."""
OF_EVERY_REQUEST = ("deadline_ms", "supersedes")
"""Parameters allowed in any request; the server removes them before the method sees the rest."""
