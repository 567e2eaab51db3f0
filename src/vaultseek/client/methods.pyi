# Written by scripts/client_types.py from the models of the protocol; change these instead.
# fmt: off
from typing import Any

from vaultseek.base.model import CompletionKind, EngineKind, Mode
from vaultseek.protocol.messages import answers

TABLE: dict[str, tuple[str, ...]]
RENAMED: dict[str, str]

class Methods:
    """The methods of the protocol, for a client that can ``call``.

    ``vault`` is the name or absolute folder of a vault, ``cwd`` the absolute folder from which the request
    comes; without either, the only configured vault is used. Parts not ready after ``deadline_ms``
    milliseconds are left out and listed in ``partial``. ``supersedes`` is the id of an earlier request of
    this client to cancel. ``timeout`` in seconds replaces the client's own; None waits indefinitely.

    Every method raises the error of ``vaultseek.errors`` that the daemon answers with: UsageError for wrong
    parameters, VaultMissing for a missing vault, Cancelled if there is no answer in time, Unavailable if the
    daemon disconnected. Lines are 1-based and inclusive everywhere. The answer to ``schema`` describes every
    parameter.
    """

    def search(self, query: str, *, limit: int | None = None, mode: Mode | None = None,
        settings: dict[str, Any] | None = None, filters: dict[str, Any] | None = None, explain: bool = False,
        wait: bool = False, progress: bool = False, brief: bool = False, passages: int | None = None,
        plain: bool = False, typing: bool = False, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Search:
        """Return results, best first."""

    def search_all(self, query: str, *, limit: int | None = None, mode: Mode | None = None,
        settings: dict[str, Any] | None = None, filters: dict[str, Any] | None = None, explain: bool = False,
        wait: bool = False, progress: bool = False, brief: bool = False, passages: int | None = None,
        plain: bool = False, typing: bool = False, vaults: list[str] | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.SearchAll:
        """Return results of every vault, best first."""

    def context(self, query: str, *, limit: int | None = None, mode: Mode | None = None,
        settings: dict[str, Any] | None = None, filters: dict[str, Any] | None = None,
        tokens: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Context:
        """Return evidence for a question, in reading order."""

    def why(self, query: str, path: str, *, limit: int | None = None, mode: Mode | None = None,
        settings: dict[str, Any] | None = None, filters: dict[str, Any] | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Why:
        """Return the rank of a note in the answer to a query, or the stage at which it was dropped."""

    def opened(self, query: str, path: str, position: int, *, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Kept:
        """Return the outcome of a report of what was opened, or given to an agent."""

    def history(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.History:
        """Return notes opened from queries, latest first."""

    def forget(self, *, what: str | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Forgotten:
        """Return the number of opened notes, or of answers to agents, that are forgotten."""

    def given(self, tool: str, question: str, tokens: int, *, notes: list[dict[str, Any]] | None = None,
        agent: str | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Kept:
        """Return the outcome of a report of what was opened, or given to an agent."""

    def agents(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.AgentHistory:
        """Return the answers that agents were given, the latest first."""

    def forget_agents(self, *, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Forgotten:
        """Return the number of opened notes, or of answers to agents, that are forgotten."""

    def note(self, path: str, *, start_line: int | None = None, end_line: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Note:
        """Return a note and a range of its lines, 1-based and inclusive."""

    def related(self, path: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Related:
        """Return notes similar to a note, best first."""

    def outgoing(self, path: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Outgoing:
        """Return links in document order."""

    def backlinks(self, path: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Backlinks:
        """Return links of other notes."""

    def unresolved(self, *, limit: int | None = None, note: str | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Unresolved:
        """Return links with a missing target."""

    def unlinked(self, path: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Unlinked:
        """Return mentions without a link."""

    def neighbors(self, path: str, *, depth: int | None = None, limit: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Neighbors:
        """Return the notes around a note; each edge is a pair of paths, source and target."""

    def graph(self, *, limit: int | None = None, without_bridges: bool = False, nodes: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Overview:
        """Return the link structure of a vault, with each list sorted by size."""

    def graph_path(self, path: str, other: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Routes:
        """Return the shortest routes from a note to the ``other``; empty if neither links nor meaning connect
        them."""

    def graph_suggest(self, *, note: str | None = None, start: int | None = None, limit: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Suggestions:
        """Return links that may be missing, most likely first; ``markdown`` if the vault does not use
        wikilinks."""

    def graph_export(self, *, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.GraphExport:
        """Return all notes and links; each link is a pair of indices into ``nodes``; ``clusters`` has the
        words of each."""

    def tags(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Tags:
        """Return every tag."""

    def properties(self, *, limit: int | None = None, name: str | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Properties:
        """Return every property; with a name, ``property`` and its ``values`` instead."""

    def orphans(self, *, limit: int | None = None, isolated: bool = False, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Orphans:
        """Return notes without backlinks."""

    def duplicates(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Duplicates:
        """Return pairs of notes, most similar first."""

    def table(self, *, file: str | None = None, view: str | None = None, this: str | None = None,
        query: str | None = None, columns: list[str] | None = None, sort: list[str] | None = None,
        group: str | None = None, summaries: dict[str, str | list[str]] | None = None,
        limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Tables:
        """Return the tables of a file or of a query; ``count`` is the number of all rows."""

    def stale(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Stale:
        """Return outdated notes that were forgotten; ``total`` includes those beyond the limit."""

    def complete(self, kind: CompletionKind, prefix: str = "", *, note: str | None = None,
        source: str | None = None, missing: bool = False, property: str | None = None,
        limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Completions:
        """Return completions, most likely first."""

    def resolve_links(self, source: str, links: list[dict[str, Any]], *,
        moves: list[dict[str, Any]] | None = None, similar: bool = False, wait: bool = False,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Resolved:
        """Return links in the order of the request."""

    def mentioned(self, source: str, lines: list[str], *, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Mentioned:
        """Return names of notes in a text."""

    def problems(self, *, limit: int | None = None, note: str | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Problems:
        """Return problems, sorted by path and line."""

    def propose_rename(self, *, moves: list[dict[str, Any]] | None = None, note: str | None = None,
        heading: str | None = None, tag: str | None = None, to: str | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Rename:
        """Return the edits that a rename needs, with current paths; nothing is written."""

    def vaults(self, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Vaults:
        """Return every vault."""

    def add_vault(self, path: str, *, name: str | None = None, language: str | None = None,
        exclude: list[str] | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.AddedVault:
        """Return the vault that was added."""

    def remove_vault(self, vault: str, *, delete_index: bool = False, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.RemovedVault:
        """Return the folder that is no longer a vault."""

    def pause_vault(self, vault: str, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.PausedVault:
        """Return the state of the vault after the call."""

    def resume_vault(self, vault: str, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.PausedVault:
        """Return the state of the vault after the call."""

    def status(self, *, vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Status:
        """Return the daemon and its vaults."""

    def refresh(self, *, remember: bool = False, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Refreshed:
        """Return a vault compared with the disk."""

    def compact(self, *, vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Compacted:
        """Return a vault whose index no longer contains deleted text."""

    def wait(self, *, remember: bool = False, progress: bool = False, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.IndexedVault:
        """Return a completely indexed vault."""

    def verify(self, *, vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Verified:
        """Return a vault's counts in its engine, compared with its ledger."""

    def move(self, to: EngineKind, *, uri: str | None = None, progress: bool = False,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Moved:
        """Return the vaults in an engine, compared with their ledgers and with the searches before a move."""

    def texts_to_embed(self, *, limit: int | None = None, after: str | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.TextsToEmbed:
        """Return texts without vectors, and the model to use."""

    def keep_vectors(self, fingerprint: str, vectors: dict[str, str], *, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.KeptVectors:
        """Return vectors stored in the ledger."""

    def subscribe(self, *, vault: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Subscribed:
        """Return progress of each vault."""

    def unsubscribe(self, *, vault: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Done:
        """Return an empty object."""

    def shutdown(self, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Done:
        """Return an empty object."""

    def schema(self, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Schemas:
        """Return parameters and answer of each method, and parameters of each notification, as JSON
        Schema."""

class AsyncMethods:
    """The same methods, to be awaited."""

    async def search(self, query: str, *, limit: int | None = None, mode: Mode | None = None,
        settings: dict[str, Any] | None = None, filters: dict[str, Any] | None = None, explain: bool = False,
        wait: bool = False, progress: bool = False, brief: bool = False, passages: int | None = None,
        plain: bool = False, typing: bool = False, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Search: ...
    async def search_all(self, query: str, *, limit: int | None = None, mode: Mode | None = None,
        settings: dict[str, Any] | None = None, filters: dict[str, Any] | None = None, explain: bool = False,
        wait: bool = False, progress: bool = False, brief: bool = False, passages: int | None = None,
        plain: bool = False, typing: bool = False, vaults: list[str] | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.SearchAll: ...
    async def context(self, query: str, *, limit: int | None = None, mode: Mode | None = None,
        settings: dict[str, Any] | None = None, filters: dict[str, Any] | None = None,
        tokens: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Context: ...
    async def why(self, query: str, path: str, *, limit: int | None = None, mode: Mode | None = None,
        settings: dict[str, Any] | None = None, filters: dict[str, Any] | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Why: ...
    async def opened(self, query: str, path: str, position: int, *, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Kept: ...
    async def history(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.History: ...
    async def forget(self, *, what: str | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Forgotten: ...
    async def given(self, tool: str, question: str, tokens: int, *, notes: list[dict[str, Any]] | None = None,
        agent: str | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Kept: ...
    async def agents(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.AgentHistory: ...
    async def forget_agents(self, *, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Forgotten: ...
    async def note(self, path: str, *, start_line: int | None = None, end_line: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Note: ...
    async def related(self, path: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Related: ...
    async def outgoing(self, path: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Outgoing: ...
    async def backlinks(self, path: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Backlinks: ...
    async def unresolved(self, *, limit: int | None = None, note: str | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Unresolved: ...
    async def unlinked(self, path: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Unlinked: ...
    async def neighbors(self, path: str, *, depth: int | None = None, limit: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Neighbors: ...
    async def graph(self, *, limit: int | None = None, without_bridges: bool = False,
        nodes: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Overview: ...
    async def graph_path(self, path: str, other: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Routes: ...
    async def graph_suggest(self, *, note: str | None = None, start: int | None = None,
        limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Suggestions: ...
    async def graph_export(self, *, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.GraphExport: ...
    async def tags(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Tags: ...
    async def properties(self, *, limit: int | None = None, name: str | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Properties: ...
    async def orphans(self, *, limit: int | None = None, isolated: bool = False, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Orphans: ...
    async def duplicates(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Duplicates: ...
    async def table(self, *, file: str | None = None, view: str | None = None, this: str | None = None,
        query: str | None = None, columns: list[str] | None = None, sort: list[str] | None = None,
        group: str | None = None, summaries: dict[str, str | list[str]] | None = None,
        limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Tables: ...
    async def stale(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Stale: ...
    async def complete(self, kind: CompletionKind, prefix: str = "", *, note: str | None = None,
        source: str | None = None, missing: bool = False, property: str | None = None,
        limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Completions: ...
    async def resolve_links(self, source: str, links: list[dict[str, Any]], *,
        moves: list[dict[str, Any]] | None = None, similar: bool = False, wait: bool = False,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Resolved: ...
    async def mentioned(self, source: str, lines: list[str], *, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Mentioned: ...
    async def problems(self, *, limit: int | None = None, note: str | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Problems: ...
    async def propose_rename(self, *, moves: list[dict[str, Any]] | None = None, note: str | None = None,
        heading: str | None = None, tag: str | None = None, to: str | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Rename: ...
    async def vaults(self, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Vaults: ...
    async def add_vault(self, path: str, *, name: str | None = None, language: str | None = None,
        exclude: list[str] | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.AddedVault: ...
    async def remove_vault(self, vault: str, *, delete_index: bool = False, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.RemovedVault: ...
    async def pause_vault(self, vault: str, *, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.PausedVault: ...
    async def resume_vault(self, vault: str, *, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.PausedVault: ...
    async def status(self, *, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Status: ...
    async def refresh(self, *, remember: bool = False, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Refreshed: ...
    async def compact(self, *, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Compacted: ...
    async def wait(self, *, remember: bool = False, progress: bool = False, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.IndexedVault: ...
    async def verify(self, *, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Verified: ...
    async def move(self, to: EngineKind, *, uri: str | None = None, progress: bool = False,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Moved: ...
    async def texts_to_embed(self, *, limit: int | None = None, after: str | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.TextsToEmbed: ...
    async def keep_vectors(self, fingerprint: str, vectors: dict[str, str], *, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.KeptVectors: ...
    async def subscribe(self, *, vault: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Subscribed: ...
    async def unsubscribe(self, *, vault: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Done: ...
    async def shutdown(self, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Done: ...
    async def schema(self, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Schemas: ...
