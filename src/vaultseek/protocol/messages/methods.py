"""The table of the protocol's methods and notifications.

Checks, JSON Schema, handlers and the Python clients follow this table. It contains the names of types instead
of the types, so that clients start without importing pydantic.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing and re would slow down programs that only call the daemon
if TYPE_CHECKING:
    from typing import Any


class Method:
    """A protocol method: the names of its types in ``params`` and ``answers``, and its signature in the
    Python clients.

    ``call`` lists the parameters that may be passed by position, and is empty if the clients implement the
    method themselves.
    """

    def __init__(self, params: str, answer: str | None, call: str = "") -> None:
        self.params = params
        self.answer = answer
        self.call = call

    @property
    def python(self) -> tuple[str, ...]:
        """Return the method's name in the Python clients, and its positional parameters."""
        name, _, positional = self.call.rstrip(")").partition("(")
        return name, *filter(None, positional.split(", "))

    @property
    def params_type(self) -> Any:
        """Return the pydantic model of the parameters."""
        from vaultseek.protocol.messages import params

        return getattr(params, self.params)

    @property
    def answer_type(self) -> Any:
        """Return the type of the answer, or None if there is no answer."""
        return self.answer and answer_type(self.answer)


def answer_type(name: str) -> Any:
    """Return the type with this name from ``answers``, a module that is slow to import."""
    from vaultseek.protocol.messages import answers

    return getattr(answers, name)


METHODS = {
    "search": Method("SearchParams", "Search", "search(query)"),
    "search/all": Method("AllVaultsParams", "SearchAll", "search_all(query)"),
    "search/context": Method("ContextParams", "Context", "context(query)"),
    "search/why": Method("WhyParams", "Why", "why(query, note)"),
    "search/opened": Method("OpenedParams", "Kept", "opened(query, note, position)"),
    "search/history": Method("ListParams", "History", "history()"),
    "search/forget": Method("ForgetParams", "Forgotten", "forget()"),
    "agents/given": Method("GivenParams", "Kept", "given(tool, question, tokens)"),
    "agents/history": Method("ListParams", "AgentHistory", "agents()"),
    "agents/forget": Method("VaultParams", "Forgotten", "forget_agents()"),
    "note/get": Method("GetParams", "Note", "note(note)"),
    "note/related": Method("RelatedParams", "Related", "related(note)"),
    "links/outgoing": Method("LinksParams", "Outgoing", "outgoing(note)"),
    "links/backlinks": Method("LinksParams", "Backlinks", "backlinks(note)"),
    "links/unresolved": Method("UnresolvedParams", "Unresolved", "unresolved()"),
    "links/unlinked": Method("LinksParams", "Unlinked", "unlinked(note)"),
    "graph/neighbors": Method("NeighborsParams", "Neighbors", "neighbors(note)"),
    "graph/overview": Method("OverviewParams", "Overview", "graph()"),
    "graph/path": Method("PathParams", "Routes", "graph_path(note, other)"),
    "graph/suggest": Method("SuggestParams", "Suggestions", "graph_suggest()"),
    "graph/export": Method("VaultParams", "GraphExport", "graph_export()"),
    "vault/tags": Method("ListParams", "Tags", "tags()"),
    "vault/properties": Method("PropertiesParams", "Properties", "properties()"),
    "vault/orphans": Method("OrphansParams", "Orphans", "orphans()"),
    "vault/duplicates": Method("DuplicatesParams", "Duplicates", "duplicates()"),
    "vault/table": Method("TableParams", "Tables", "table()"),
    "vault/stale": Method("StaleParams", "Stale", "stale()"),
    "complete": Method("CompleteParams", "Completions", "complete(kind, text)"),
    "links/resolve": Method("ResolveParams", "Resolved", "resolve_links(source, links)"),
    "links/mentioned": Method("MentionedParams", "Mentioned", "mentioned(source, lines)"),
    "vault/problems": Method("ProblemsParams", "Problems", "problems()"),
    "vault/rename": Method("RenameParams", "Rename", "propose_rename()"),
    "vault/list": Method("Nothing", "Vaults", "vaults()"),
    "vault/add": Method("AddVaultParams", "AddedVault", "add_vault(path)"),
    "vault/remove": Method("RemoveVaultParams", "RemovedVault", "remove_vault(vault)"),
    "vault/pause": Method("NamedVaultParams", "PausedVault", "pause_vault(vault)"),
    "vault/resume": Method("NamedVaultParams", "PausedVault", "resume_vault(vault)"),
    "index/status": Method("VaultParams", "Status", "status()"),
    "index/refresh": Method("RefreshParams", "Refreshed", "refresh()"),
    "index/compact": Method("VaultParams", "Compacted", "compact()"),
    "index/wait": Method("WaitParams", "IndexedVault", "wait()"),
    "index/verify": Method("VaultParams", "Verified", "verify()"),
    "index/move": Method("MoveParams", "Moved", "move(to)"),
    "index/texts": Method("TextsParams", "TextsToEmbed", "texts_to_embed()"),
    "index/vectors": Method("VectorsParams", "KeptVectors", "keep_vectors(fingerprint, vectors)"),
    "index/subscribe": Method("SubscribeParams", "Subscribed", "subscribe()"),
    "index/unsubscribe": Method("SubscribeParams", "Done", "unsubscribe()"),
    "shutdown": Method("Nothing", "Done", "shutdown()"),
    "$/schema": Method("Nothing", "Schemas", "schema()"),
    "initialize": Method("Hello", "Hello"),
    "$/cancelRequest": Method("Cancel", None),
}

NOTIFICATIONS = {"index/progress": "Progress", "index/changed": "Changed"}
"""Messages that the daemon sends to subscribers, with their types in ``answers``."""
OF_EVERY_REQUEST = ("deadline_ms", "supersedes")
"""Parameters allowed in every request; the server removes them before it calls the method."""
