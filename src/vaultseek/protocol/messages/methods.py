"""The methods of the protocol: parameters, answer, and the description of each for the Python clients."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import BaseModel

from vaultseek.protocol.messages import answers, params


class Method(NamedTuple):
    """A method of the protocol; ``answer`` is the type of its answer."""

    params: type[BaseModel]
    answer: Any
    summary: str = ""
    raises: str = ""


_NOTE = "BadPath, NotFound, or UsageError if several notes have the name"

METHODS: dict[str, Method] = {
    "search": Method(
        params.SearchParams,
        answers.Search,
        "Search a vault and return notes, best first, each with its best passage.\n\n"
        "Lines are 1-based and inclusive. ``highlights`` are ranges ``[start, end)`` of characters of "
        "``preview``. ``partial`` names the lanes that were left out, with a code of the cause.",
        "BadQuery for a query that cannot be searched for, Unavailable if no lane can answer",
    ),
    "search/all": Method(
        params.AllVaultsParams,
        answers.SearchAll,
        "Search every vault and return notes, best first, each with its vault.\n\n"
        "The most certain come first. ``vaults`` has the state of each.",
        "BadQuery, Unavailable if no lane can answer, UsageError if there is no vault",
    ),
    "search/why": Method(
        params.WhyParams,
        answers.Why,
        "Explain the rank of a note in the answer to a query, or the stage at which it was lost.",
        f"BadQuery, Unavailable, {_NOTE}",
    ),
    "note/get": Method(
        params.GetParams,
        answers.Note,
        "Return the text and metadata of a note, as it is on disk.\n\n"
        "Lines are 1-based and inclusive. ``truncated`` is true if the text was cut before ``end_line``.",
        _NOTE,
    ),
    "note/related": Method(
        params.RelatedParams,
        answers.Related,
        "Return the notes most similar to a note, best first: by meaning, links and words.",
        _NOTE,
    ),
    "links/outgoing": Method(
        params.LinksParams, answers.Outgoing, "Return the links of a note, in their order.", _NOTE
    ),
    "links/backlinks": Method(
        params.LinksParams,
        answers.Backlinks,
        "Return the links of other notes to a note, each with its 1-based line and that line's text.",
        _NOTE,
    ),
    "links/unresolved": Method(
        params.UnresolvedParams,
        answers.Unresolved,
        "Return the links of the vault, or of one note, that lead nowhere.",
        _NOTE,
    ),
    "links/unlinked": Method(
        params.LinksParams,
        answers.Unlinked,
        "Return the lines that mention a note by title, alias or file name without a link to it.",
        _NOTE,
    ),
    "graph/neighbors": Method(
        params.NeighborsParams,
        answers.Neighbors,
        "Return the notes around a note, nearest first, and the links between them.",
        _NOTE,
    ),
    "graph/overview": Method(
        params.OverviewParams,
        answers.Overview,
        "Return the structure of the links: hubs by PageRank, bridges by betweenness, clusters by Louvain.",
        "Unavailable while the links are being read",
    ),
    "graph/path": Method(
        params.PathParams,
        answers.Routes,
        "Return the shortest routes between two notes, each step with the line of its link.\n\n"
        "Where no links lead, one step is between the nearest notes in meaning.",
        _NOTE,
    ),
    "graph/suggest": Method(
        params.SuggestParams,
        answers.Suggestions,
        "Return links that may be missing, of a note or of the notes that changed last, with the reasons.",
        _NOTE,
    ),
    "graph/export": Method(
        params.VaultParams,
        answers.GraphExport,
        "Return every note with its rank and cluster, and every link.",
        "Unavailable while the links are being read",
    ),
    "vault/tags": Method(params.ListParams, answers.Tags, "Return every tag of the vault."),
    "vault/properties": Method(
        params.PropertiesParams,
        answers.Properties,
        "Return every property of the vault, or with ``name`` every value of one.",
    ),
    "vault/orphans": Method(
        params.OrphansParams, answers.Orphans, "Return the notes that no other note links to."
    ),
    "vault/duplicates": Method(
        params.DuplicatesParams,
        answers.Duplicates,
        "Return the pairs of notes that are most alike, by the text that they share and by meaning.\n\n"
        "There is no threshold: the list goes on with notes that are no duplicates.",
    ),
    "vault/table": Method(
        params.TableParams,
        answers.Tables,
        "Return the tables of a base, of a note with bases, or of the notes that a query finds.\n\n"
        "``problems`` of a table name what is wrong in a base or not supported.",
        f"BadQuery, UsageError for a base that cannot be evaluated, {_NOTE}",
    ),
    "complete": Method(
        params.CompleteParams,
        answers.Completions,
        "Complete the name of a note, heading, block, tag, property or value; the likeliest first.",
        "UsageError if ``note`` or ``property`` is missing for a kind that needs it",
    ),
    "links/resolve": Method(
        params.ResolveParams,
        answers.Resolved,
        "Return where links of a note lead, which need not be saved, and what is wrong with them.",
        "BadPath",
    ),
    "links/mentioned": Method(
        params.MentionedParams,
        answers.Mentioned,
        "Return the notes that a text names outside of links and code, each with its place.",
        "BadPath",
    ),
    "vault/problems": Method(
        params.ProblemsParams,
        answers.Problems,
        "Return the faults of a note or of all: links that lead nowhere or to several files, frontmatter.",
        _NOTE,
    ),
    "vault/rename": Method(
        params.RenameParams,
        answers.Rename,
        "Return the edits that renaming files, a heading or a tag needs. Nothing is written.",
        f"UsageError, {_NOTE}",
    ),
    "vault/list": Method(params.Nothing, answers.Vaults, "Return every vault the daemon knows."),
    "vault/add": Method(
        params.AddVaultParams,
        answers.AddedVault,
        "Follow one more folder of notes, also after the daemon was restarted.",
        "VaultMissing, or UsageError if the folder or the name is a vault already",
    ),
    "vault/remove": Method(
        params.RemoveVaultParams,
        answers.RemovedVault,
        "Stop following a vault that was added; its notes are not touched.",
        "VaultMissing, or UsageError for a vault of the configuration file",
    ),
    "vault/pause": Method(
        params.NamedVaultParams,
        answers.PausedVault,
        "Pause a vault: searches are answered from its index, changes are not followed.",
        "VaultMissing",
    ),
    "vault/resume": Method(
        params.NamedVaultParams, answers.PausedVault, "Resume a paused vault.", "VaultMissing"
    ),
    "index/status": Method(
        params.VaultParams,
        answers.Status,
        "Return the state of the daemon, its worker and its vaults, or of one vault.",
    ),
    "index/refresh": Method(
        params.RefreshParams,
        answers.Refreshed,
        "Compare a vault with the disk, and return when that is done.\n\n"
        "If most notes are gone, this confirms that they were deleted on purpose.",
        "VaultMissing, or Unavailable if the vault is paused or cannot be indexed",
    ),
    "index/compact": Method(
        params.VaultParams,
        answers.Compacted,
        "Remove what is left of deleted text from every file of the index, and return when that is done.\n\n"
        "The daemon does this by itself once a day.",
        "VaultMissing, Busy if another program reads the index, or Unavailable",
    ),
    "index/wait": Method(
        params.WaitParams,
        answers.IndexedVault,
        "Return when all that is on disk now is indexed and embedded.",
        "VaultMissing, Unavailable, or WorkerUnavailable if it cannot be embedded",
    ),
    "index/files": Method(
        params.FilesParams,
        answers.NotesToParse,
        "Return new and changed notes, for a client that parses them.\n\n"
        "It has to wait meanwhile with ``index/wait`` and ``notes_from_client``, on another connection.",
        "VaultMissing, or Unavailable if no client waits so",
    ),
    "index/notes": Method(
        params.ParsedParams,
        answers.KeptNotes,
        "Index notes that ``index/files`` has returned, and that the client has parsed.\n\n"
        "Notes that have changed since, or that do not pass the checks, are parsed by the daemon instead.",
        "VaultMissing, or Unavailable if no client waits so",
    ),
    "index/verify": Method(
        params.VerifyParams,
        answers.Verified,
        "Compare the numbers of notes, passages and vectors that the engine has with those of the ledger.\n\n"
        "With ``repair`` an engine that has others is filled again; nothing is embedded for that.",
        "VaultMissing, or Unavailable if the engine does not answer",
    ),
    "index/texts": Method(
        params.TextsParams,
        answers.TextsToEmbed,
        "Return texts whose vectors are missing, for a client that embeds them.\n\n"
        "It has to wait meanwhile with ``index/wait`` and ``vectors_from_client``, on another connection.",
        "VaultMissing, Unavailable if no client waits so, or if the vectors come from a server",
    ),
    "index/vectors": Method(
        params.VectorsParams,
        answers.KeptVectors,
        "Keep the vectors of texts that ``index/texts`` has returned.\n\n"
        "Vectors that are not of the model's length, or not of length 1, are computed by the daemon instead.",
        "VaultMissing, UsageError for vectors of another model, or Unavailable if no client waits so",
    ),
    "index/subscribe": Method(
        params.SubscribeParams,
        answers.Subscribed,
        "Subscribe to ``index/progress`` and ``index/changed`` of one vault or of all.",
    ),
    "index/unsubscribe": Method(params.SubscribeParams, answers.Done, "End a subscription, or all of them."),
    "shutdown": Method(params.Nothing, answers.Done, "Stop the daemon after its answer."),
    "$/schema": Method(
        params.Nothing,
        answers.Schemas,
        "Return the JSON Schema of every method and notification.",
    ),
    "initialize": Method(params.Hello, answers.Hello),
    "$/cancelRequest": Method(params.Cancel, None),
}

NOTIFICATIONS: dict[str, type[answers.Answer]] = {
    "index/progress": answers.Progress,
    "index/changed": answers.Changed,
}
"""Messages that the daemon sends to subscribers."""
OF_EVERY_REQUEST = ("deadline_ms", "supersedes")
"""Parameters that may go with any request; the server takes them before the method sees the rest."""
