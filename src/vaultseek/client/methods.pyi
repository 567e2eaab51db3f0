# Written by scripts/client_types.py from the models of the protocol; change these instead.
# fmt: off
from typing import Any

from vaultseek.base.model import CompletionKind, Mode
from vaultseek.protocol.messages import answers

TABLE: dict[str, tuple[str, ...]]
RENAMED: dict[str, str]

class Methods:
    """The methods of the protocol, for a client that can ``call``.

    ``vault`` is the name or absolute folder of a vault, ``cwd`` the absolute folder that the request comes
    from; without either, the only configured vault is meant. What is not ready after ``deadline_ms``
    milliseconds is left out, and ``partial`` names it. ``supersedes`` is the id of an earlier request of this
    client to cancel. ``timeout`` in seconds replaces the client's own; None waits as long as it takes.

    Every method raises the error of ``vaultseek.errors`` that the daemon answers with: UsageError for wrong
    parameters, VaultMissing for a vault that is not there, Cancelled if there is no answer in time,
    Unavailable if the daemon went away. Lines are 1-based and inclusive everywhere. The answer to
    ``schema`` describes every parameter.
    """

    def search(self, query: str, *, limit: int | None = None, mode: Mode | None = None,
        settings: dict[str, Any] | None = None, filters: dict[str, Any] | None = None, explain: bool = False,
        wait: bool = False, progress: bool = False, brief: bool = False, passages: int | None = None,
        plain: bool = False, typing: bool = False, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Search:
        """Search a vault and return notes, best first, each with its best passage.

        Lines are 1-based and inclusive. ``highlights`` are ranges ``[start, end)`` of characters of
        ``preview``. ``partial`` names the lanes that were left out, with a code of the cause.

        Raises BadQuery for a query that cannot be searched for, Unavailable if no lane can answer.
        """

    def search_all(self, query: str, *, limit: int | None = None, mode: Mode | None = None,
        settings: dict[str, Any] | None = None, filters: dict[str, Any] | None = None, explain: bool = False,
        wait: bool = False, progress: bool = False, brief: bool = False, passages: int | None = None,
        plain: bool = False, typing: bool = False, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.SearchAll:
        """Search every vault and return notes, best first, each with its vault.

        The most certain come first. ``vaults`` has the state of each.

        Raises BadQuery, Unavailable if no lane can answer, UsageError if there is no vault.
        """

    def why(self, query: str, path: str, *, limit: int | None = None, mode: Mode | None = None,
        settings: dict[str, Any] | None = None, filters: dict[str, Any] | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Why:
        """Explain the rank of a note in the answer to a query, or the stage at which it was lost.

        Raises BadQuery, Unavailable, BadPath, NotFound, or UsageError if several notes have the name.
        """

    def note(self, path: str, *, start_line: int | None = None, end_line: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Note:
        """Return the text and metadata of a note, as it is on disk.

        Lines are 1-based and inclusive. ``truncated`` is true if the text was cut before ``end_line``.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """

    def related(self, path: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Related:
        """Return the notes most similar to a note, best first: by meaning, links and words.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """

    def outgoing(self, path: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Outgoing:
        """Return the links of a note, in their order.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """

    def backlinks(self, path: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Backlinks:
        """Return the links of other notes to a note, each with its 1-based line and that line's text.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """

    def unresolved(self, *, limit: int | None = None, note: str | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Unresolved:
        """Return the links of the vault, or of one note, that lead nowhere.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """

    def unlinked(self, path: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Unlinked:
        """Return the lines that mention a note by title, alias or file name without a link to it.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """

    def neighbors(self, path: str, *, depth: int | None = None, limit: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Neighbors:
        """Return the notes around a note, nearest first, and the links between them.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """

    def graph(self, *, limit: int | None = None, without_bridges: bool = False, nodes: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Overview:
        """Return the structure of the links: hubs by PageRank, bridges by betweenness, clusters by Louvain.

        Raises Unavailable while the links are being read.
        """

    def graph_path(self, path: str, other: str, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Routes:
        """Return the shortest routes between two notes, each step with the line of its link.

        Where no links lead, one step is between the nearest notes in meaning.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """

    def graph_suggest(self, *, note: str | None = None, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Suggestions:
        """Return links that may be missing, of a note or of the notes that changed last, with the reasons.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """

    def graph_export(self, *, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.GraphExport:
        """Return every note with its rank and cluster, and every link.

        Raises Unavailable while the links are being read.
        """

    def tags(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Tags:
        """Return every tag of the vault."""

    def properties(self, *, limit: int | None = None, name: str | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Properties:
        """Return every property of the vault, or with ``name`` every value of one."""

    def orphans(self, *, limit: int | None = None, isolated: bool = False, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Orphans:
        """Return the notes that no other note links to."""

    def duplicates(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Duplicates:
        """Return the pairs of notes that are most alike, by the text that they share and by meaning.

        There is no threshold: the list goes on with notes that are no duplicates.
        """

    def table(self, *, file: str | None = None, view: str | None = None, this: str | None = None,
        query: str | None = None, columns: list[str] | None = None, sort: list[str] | None = None,
        group: str | None = None, summaries: dict[str, str] | None = None, limit: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Tables:
        """Return the tables of a base, of a note with bases, or of the notes that a query finds.

        ``problems`` of a table name what is wrong in a base or not supported.

        Raises BadQuery, UsageError for a base that cannot be evaluated, BadPath, NotFound, or UsageError if
        several notes have the name.
        """

    def complete(self, kind: CompletionKind, prefix: str = "", *, note: str | None = None,
        source: str | None = None, property: str | None = None, limit: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Completions:
        """Complete the name of a note, heading, block, tag, property or value; the likeliest first.

        Raises UsageError if ``note`` or ``property`` is missing for a kind that needs it.
        """

    def resolve_links(self, source: str, links: list[dict[str, Any]], *,
        moves: list[dict[str, Any]] | None = None, similar: bool = False, wait: bool = False,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Resolved:
        """Return where links of a note lead, which need not be saved, and what is wrong with them.

        Raises BadPath.
        """

    def mentioned(self, source: str, lines: list[str], *, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Mentioned:
        """Return the notes that a text names outside of links and code, each with its place.

        Raises BadPath.
        """

    def problems(self, *, limit: int | None = None, note: str | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Problems:
        """Return the faults of a note or of all: links that lead nowhere or to several files, frontmatter.

        Raises BadPath, NotFound, or UsageError if several notes have the name.
        """

    def propose_rename(self, *, moves: list[dict[str, Any]] | None = None, note: str | None = None,
        heading: str | None = None, tag: str | None = None, to: str | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Rename:
        """Return the edits that renaming files, a heading or a tag needs. Nothing is written.

        Raises UsageError, BadPath, NotFound, or UsageError if several notes have the name.
        """

    def vaults(self, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Vaults:
        """Return every vault the daemon knows."""

    def add_vault(self, path: str, *, name: str | None = None, language: str | None = None,
        exclude: list[str] | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.AddedVault:
        """Follow one more folder of notes, also after the daemon was restarted.

        Raises VaultMissing, or UsageError if the folder or the name is a vault already.
        """

    def remove_vault(self, vault: str, *, delete_index: bool = False, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.RemovedVault:
        """Stop following a vault that was added; its notes are not touched.

        Raises VaultMissing, or UsageError for a vault of the configuration file.
        """

    def pause_vault(self, vault: str, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.PausedVault:
        """Pause a vault: searches are answered from its index, changes are not followed.

        Raises VaultMissing.
        """

    def resume_vault(self, vault: str, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.PausedVault:
        """Resume a paused vault.

        Raises VaultMissing.
        """

    def status(self, *, vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Status:
        """Return the state of the daemon, its worker and its vaults, or of one vault."""

    def refresh(self, *, remember: bool = False, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Refreshed:
        """Compare a vault with the disk, and return when that is done.

        If most notes are gone, this confirms that they were deleted on purpose.

        Raises VaultMissing, or Unavailable if the vault is paused or cannot be indexed.
        """

    def compact(self, *, vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Compacted:
        """Remove what is left of deleted text from every file of the index, and return when that is done.

        The daemon does this by itself once a day.

        Raises VaultMissing, Busy if another program reads the index, or Unavailable.
        """

    def wait(self, *, remember: bool = False, progress: bool = False, vectors_from_client: bool = False,
        notes_from_client: bool = False, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.IndexedVault:
        """Return when all that is on disk now is indexed and embedded.

        Raises VaultMissing, Unavailable, or WorkerUnavailable if it cannot be embedded.
        """

    def notes_to_parse(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.NotesToParse:
        """Return new and changed notes, for a client that parses them.

        It has to wait meanwhile with ``index/wait`` and ``notes_from_client``, on another connection.

        Raises VaultMissing, or Unavailable if no client waits so.
        """

    def keep_notes(self, notes: dict[str, str], *, refused: list[str] | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.KeptNotes:
        """Index notes that ``index/files`` has returned, and that the client has parsed.

        Notes that have changed since, or that do not pass the checks, are parsed by the daemon instead.

        Raises VaultMissing, or Unavailable if no client waits so.
        """

    def verify(self, *, repair: bool = False, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Verified:
        """Compare the numbers of notes, passages and vectors that the engine has with those of the ledger.

        With ``repair`` an engine that has others is filled again; nothing is embedded for that.

        Raises VaultMissing, or Unavailable if the engine does not answer.
        """

    def texts_to_embed(self, *, limit: int | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.TextsToEmbed:
        """Return texts whose vectors are missing, for a client that embeds them.

        It has to wait meanwhile with ``index/wait`` and ``vectors_from_client``, on another connection.

        Raises VaultMissing, Unavailable if no client waits so, or if the vectors come from a server.
        """

    def keep_vectors(self, fingerprint: str, vectors: dict[str, str], *, refused: list[str] | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.KeptVectors:
        """Keep the vectors of texts that ``index/texts`` has returned.

        Vectors that are not of the model's length, or not of length 1, are computed by the daemon instead.

        Raises VaultMissing, UsageError for vectors of another model, or Unavailable if no client waits so.
        """

    def subscribe(self, *, vault: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Subscribed:
        """Subscribe to ``index/progress`` and ``index/changed`` of one vault or of all."""

    def unsubscribe(self, *, vault: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Done:
        """End a subscription, or all of them."""

    def shutdown(self, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Done:
        """Stop the daemon after its answer."""

    def schema(self, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Schemas:
        """Return the JSON Schema of every method and notification."""

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
        plain: bool = False, typing: bool = False, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.SearchAll: ...
    async def why(self, query: str, path: str, *, limit: int | None = None, mode: Mode | None = None,
        settings: dict[str, Any] | None = None, filters: dict[str, Any] | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Why: ...
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
    async def graph_suggest(self, *, note: str | None = None, limit: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Suggestions: ...
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
        group: str | None = None, summaries: dict[str, str] | None = None, limit: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Tables: ...
    async def complete(self, kind: CompletionKind, prefix: str = "", *, note: str | None = None,
        source: str | None = None, property: str | None = None, limit: int | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Completions: ...
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
    async def wait(self, *, remember: bool = False, progress: bool = False, vectors_from_client: bool = False,
        notes_from_client: bool = False, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.IndexedVault: ...
    async def notes_to_parse(self, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.NotesToParse: ...
    async def keep_notes(self, notes: dict[str, str], *, refused: list[str] | None = None,
        vault: str | None = None, cwd: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.KeptNotes: ...
    async def verify(self, *, repair: bool = False, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Verified: ...
    async def texts_to_embed(self, *, limit: int | None = None, vault: str | None = None,
        cwd: str | None = None, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.TextsToEmbed: ...
    async def keep_vectors(self, fingerprint: str, vectors: dict[str, str], *,
        refused: list[str] | None = None, vault: str | None = None, cwd: str | None = None,
        deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.KeptVectors: ...
    async def subscribe(self, *, vault: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Subscribed: ...
    async def unsubscribe(self, *, vault: str | None = None, deadline_ms: float | None = None,
        supersedes: int | None = None, timeout: float | None = ...) -> answers.Done: ...
    async def shutdown(self, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Done: ...
    async def schema(self, *, deadline_ms: float | None = None, supersedes: int | None = None,
        timeout: float | None = ...) -> answers.Schemas: ...
