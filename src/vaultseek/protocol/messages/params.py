"""Parameters of each protocol method. These models are the reference against which requests are checked."""

from __future__ import annotations  # scripts/client_types.py copies the annotations as written

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from vaultseek.base import limits
from vaultseek.base.model import JSON, CompletionKind, EngineKind, LinkKind, Mode
from vaultseek.errors import UsageError
from vaultseek.settings.describe import first_problem

P = TypeVar("P", bound=BaseModel)


class Nothing(BaseModel):
    """No parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class VaultParams(Nothing):
    """A vault, given by name or absolute folder; by default the vault that contains the folder ``cwd``."""

    vault: str | None = None
    """Name or absolute folder of the vault."""
    cwd: str | None = None
    """The client's working directory, as an absolute path; used if ``vault`` is missing."""


class Query(Nothing):
    """A query, and how to rank its results."""

    query: str
    """Words, phrases and operators of the query language."""
    limit: int | None = Field(default=None, ge=1, le=limits.RESULTS)
    """Maximum number of results; by default the limit in the settings."""
    mode: Mode | None = None
    """Kind of search; by default the mode in the settings."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Values that replace the ``[search]`` settings for this request."""
    filters: dict[str, Any] = Field(default_factory=dict)
    """Filters as fields: ``tag``, ``not_tag``, ``path``, ``property``, ``created_after``, ..."""


class SearchOptions(Query):
    """A query, and how to answer it."""

    explain: bool = False
    """Explain the rank of each result."""
    wait: bool = False
    """Index the current state of the disk first."""
    progress: bool = False
    """With ``wait``, send ``index/progress`` notifications while waiting."""
    brief: bool = False
    """Leave the passages out of the results."""
    passages: int = Field(default=1, ge=1, le=limits.NOTE_PASSAGES)
    """Maximum number of passages per note; passages after the best one are in the result's ``passages``."""
    plain: bool = False
    """Treat the query as plain words, even if it contains operators; the query may then be a whole
    passage."""
    typing: bool = False
    """The query is still being typed: the last word also matches longer words that begin with it, and notes
    whose names begin with the query come first."""


class SearchParams(SearchOptions, VaultParams):
    """A query to one vault, and how to answer it."""


class AllVaultsParams(SearchOptions):
    """A query to several vaults, and how to answer it."""

    vaults: list[str] | None = Field(default=None, min_length=1)
    """Names or absolute folders of the vaults; by default every vault."""
    cwd: str | None = None
    """Absolute folder that relative folders in ``vaults`` start from."""


class ContextParams(Query, VaultParams):
    """A question, and the size of the evidence for it; ``limit`` is the maximum number of notes."""

    tokens: int = Field(
        default=limits.AGENT_TOKENS, ge=limits.AGENT_TOKENS_LEAST, le=limits.AGENT_TOKENS_MOST
    )
    """Maximum number of tokens in ``text``, estimated at three bytes of UTF-8 per token."""


class NoteParams(VaultParams):
    """A note, given by its title, alias, file name or path from the vault's root."""

    note: str
    """Path, end of a path, title, alias or file name of the note."""


class WhyParams(Query, NoteParams):
    """A query, and a note that may be among its results."""


class OpenedParams(NoteParams):
    """A note that was opened from the results of a query."""

    query: str = Field(max_length=limits.QUERY_CHARS)
    """The query as typed."""
    position: int = Field(ge=1, le=limits.RESULTS)
    """Rank of the note among the results, counted from 1."""


class ForgetParams(VaultParams):
    """The part of the history to forget."""

    what: str | None = None
    """Query to forget or, if no such query is recorded, note to forget; by default everything."""


class GivenNote(Nothing):
    """A note in an answer to an agent, and the lines shown; the lines are None if the note was only
    mentioned."""

    path: str
    start_line: int | None = None
    end_line: int | None = None


class GivenParams(VaultParams):
    """An answer that was given to an agent."""

    tool: str = Field(max_length=limits.NAME_CHARS)
    """Tool or command that gave the answer."""
    question: str = Field(max_length=limits.QUERY_CHARS)
    """Query, note or folder that the agent asked for."""
    tokens: int = Field(ge=0)
    """Number of tokens in the answer, estimated at three bytes of UTF-8 per token."""
    notes: list[GivenNote] = Field(default_factory=list, max_length=limits.LISTED_ITEMS_MOST)
    """Notes in the answer."""
    agent: str | None = Field(default=None, max_length=limits.NAME_CHARS)
    """Name of the agent; by default the client's name."""


class GetParams(NoteParams):
    """A note and a range of its lines."""

    start_line: int = Field(default=1, ge=1)
    """First line of the text, 1-based."""
    end_line: int | None = Field(default=None, ge=1)
    """Last line of the text, inclusive; by default the note's last line."""

    @field_validator("end_line")
    @classmethod
    def _not_before_start(cls, end: int | None, info: ValidationInfo) -> int | None:
        if end is not None and end < info.data.get("start_line", 1):
            raise ValueError("a line at or after start_line")
        return end


class RelatedParams(NoteParams):
    """A note, and the number of similar notes to return."""

    limit: int = Field(default=limits.SHOWN_RESULTS, ge=1, le=limits.RESULTS)
    """Maximum number of notes."""


class ListParams(VaultParams):
    """A request for a list of at most ``limit`` items."""

    limit: int = Field(default=limits.LISTED_ITEMS_MOST, ge=1, le=limits.LISTED_ITEMS_MOST)
    """Maximum number of items; ``total`` in the answer counts all items."""


class LinksParams(ListParams, NoteParams):
    """A note whose links are to be listed."""


class UnresolvedParams(ListParams):
    """A request for links with missing targets, in a note or in the whole vault."""

    note: str | None = None
    """Note whose links are listed; by default every note."""


class NeighborsParams(NoteParams):
    """A note, and how far to follow links from it."""

    depth: int = Field(default=1, ge=1, le=limits.NEIGHBOUR_DEPTH)
    """Maximum distance in links."""
    limit: int = Field(default=limits.RESULTS, ge=1, le=limits.LISTED_ITEMS_MOST)
    """Maximum number of notes."""


class OverviewParams(VaultParams):
    """Limits on the lists of notes and clusters in the answer."""

    limit: int = Field(default=limits.GRAPH_ITEMS, ge=1, le=limits.LISTED_ITEMS_MOST)
    """Maximum number of hubs, of bridges and of clusters."""
    without_bridges: bool = False
    """Leave out the bridges, which take the longest to compute."""
    nodes: int = Field(default=0, ge=0, le=limits.GRAPH_NODES)
    """Number of notes to return, highest-ranked first, with the links between them."""


class PathParams(NoteParams):
    """Two notes between which routes are searched for."""

    other: str
    """Note at the other end of the routes, given like ``note``."""
    limit: int = Field(default=3, ge=1, le=limits.GRAPH_ROUTES)
    """Maximum number of routes."""


class StaleParams(VaultParams):
    """A request for outdated notes, and for links to superseded notes."""

    limit: int = Field(default=limits.LISTED_ITEMS, ge=1, le=limits.LISTED_ITEMS_MOST)
    """Maximum number of items."""


class SuggestParams(VaultParams):
    """The note to which links may be added; by default the most recently changed notes."""

    note: str | None = None
    """Note that may lack links; by default the most recently changed notes."""
    start: int = Field(default=0, ge=0)
    """Number of most recently changed notes to skip: the ``next`` of the previous answer."""
    limit: int = Field(default=limits.GRAPH_ITEMS, ge=1, le=limits.RESULTS)
    """Maximum number of suggestions."""


class PropertiesParams(ListParams):
    """A request for all properties, or for all values of one property."""

    name: str | None = None
    """Property whose values are listed; by default all properties are listed."""


class OrphansParams(ListParams):
    """A request for notes without backlinks."""

    isolated: bool = False
    """List only notes without any links."""


class DuplicatesParams(VaultParams):
    """A request for nearly identical notes."""

    limit: int = Field(default=20, ge=1, le=limits.RESULTS)
    """Maximum number of pairs."""


class TableParams(VaultParams):
    """A base, a note with bases, or a query whose results form a table."""

    file: str | None = None
    """Path or name of a `.base` file, or of a note that contains or embeds bases."""
    view: str | None = None
    """For a file: name of the view; by default the first."""
    this: str | None = None
    """For a file: the note to which ``this`` refers in formulas; by default the file itself."""
    query: str | None = None
    """Query that finds the rows of the table, instead of ``file``."""
    columns: list[str] = Field(default_factory=list, max_length=limits.TABLE_COLUMNS)
    """For a query: the columns, as properties, facts such as ``title`` and ``modified``, or expressions."""
    sort: list[str] = Field(default_factory=list, max_length=limits.TABLE_COLUMNS)
    """For a query: columns to sort by; ``-rating`` is descending."""
    group: str | None = None
    """For a query: column to group by."""
    summaries: dict[str, str | list[str]] = Field(default_factory=dict)
    """For a query: the summaries of each column, as a name such as ``Average`` or a list of names."""
    limit: int | None = Field(default=None, ge=1, le=limits.LISTED_ITEMS_MOST)
    """Maximum number of rows per table; by default the maximum for lists or, if the query contains words, for
    search results."""


class CompleteParams(VaultParams):
    """Typed text, and the kind of name to complete."""

    kind: CompletionKind = "note"
    """Kind of name to complete."""
    text: str = Field(default="", max_length=limits.QUERY_CHARS)
    """Text typed so far; for ``query``, the query up to the cursor."""
    note: str | None = None
    """For the kinds ``heading`` and ``block``: the note whose headings or blocks are completed; by default
    all notes."""
    source: str | None = None
    """Path of the note in which a link is typed; items then have the ``link`` to write in that note."""
    missing: bool = False
    """With ``source``, for the kind ``note``: also complete names of missing notes that other notes link
    to."""
    property: str | None = None
    """For the kind ``value``: the property whose values are completed."""
    limit: int = Field(default=20, ge=1, le=limits.COMPLETIONS)
    """Maximum number of items."""


class WrittenLink(Nothing):
    """A link as written in a note."""

    target: str = ""
    """The target; empty for a link within the same note."""
    kind: LinkKind = "wikilink"
    """Kind of the link."""
    heading: str | None = None
    """The heading after ``#``."""
    block: str | None = None
    """The block id after ``#^``."""


class Move(Nothing):
    """A file or folder that is about to move; paths are relative to the vault's root."""

    old: str
    """The current path."""
    new: str
    """The new path."""


class ResolveParams(VaultParams):
    """Links in a note; the note need not be saved yet."""

    source: str
    """Path of the note from the vault's root."""
    links: list[WrittenLink] = Field(max_length=limits.NOTE_LINKS)
    """Links to look up."""
    moves: list[Move] = Field(default_factory=list)
    """Files that are about to move; links that must change are returned with their new target in
    ``moved``."""
    similar: bool = False
    """For missing notes, also return notes with similar names."""
    wait: bool = False
    """Index the current state of the disk first."""


class ProblemsParams(ListParams):
    """A request for problems in a note, or in the whole vault."""

    note: str | None = None
    """Note whose problems are listed; by default every note."""


class MentionedParams(VaultParams):
    """Text of a note that may mention other notes by name."""

    source: str
    """Path of the note from the vault's root."""
    lines: list[str] = Field(max_length=limits.LISTED_NOTES)
    """Lines of the note's text."""


class RenameParams(VaultParams):
    """A rename of files and folders, of a heading in a note, or of a tag."""

    moves: list[Move] = Field(default_factory=list)
    """Files and folders that are about to move."""
    note: str | None = None
    """Note that contains the heading."""
    heading: str | None = None
    """The current heading."""
    tag: str | None = None
    """The current tag, without ``#``."""
    to: str | None = None
    """The new text of the heading, or the new tag."""


class AddVaultParams(Nothing):
    """A folder of notes to index and watch from now on."""

    path: str
    """Absolute path of the folder."""
    name: str | None = None
    """Name of the vault; by default the folder's name."""
    language: str | None = None
    """Language of the notes, for stemming."""
    exclude: list[str] = Field(default_factory=list)
    """Glob patterns of notes to leave out."""


class RemoveVaultParams(Nothing):
    """A vault to remove."""

    vault: str
    """Name or absolute folder of the vault."""
    delete_index: bool = False
    """Also delete the vault's index."""


class NamedVaultParams(Nothing):
    """A vault, given by name or absolute folder."""

    vault: str
    """Name or absolute folder of the vault."""


class RefreshParams(VaultParams):
    """A vault to compare with the disk. If most notes are gone, the request confirms that they were deleted
    on purpose."""

    remember: bool = False
    """Add the vault, like ``vault/add``."""


class WaitParams(RefreshParams):
    """A vault to wait for until it is indexed."""

    progress: bool = False
    """Send ``index/progress`` notifications while waiting."""


class MoveParams(VaultParams):
    """A request to move all vaults to an engine. The answer comes once the given vault (by default, every
    vault) is moved, and its counts in the engine and in the ledger are compared."""

    to: EngineKind
    """The engine to move to."""
    uri: str | None = None
    """The engine's address; by default the address in the settings."""
    progress: bool = False
    """Send ``index/progress`` notifications for all vaults during the move."""


class TextsParams(VaultParams):
    """A request for texts that need vectors."""

    limit: int = Field(default=64, ge=0, le=limits.TAKEN_TEXTS)
    """Maximum number of texts."""
    after: str = Field(default="0:0", pattern=r"^[0-9]{1,18}:[0-9]{1,18}$")
    """The ``next`` of the previous answer; by default the beginning."""


class VectorsParams(VaultParams):
    """Vectors for texts returned by ``index/texts``."""

    fingerprint: str
    """Identity of the model, as returned by ``index/texts``."""
    vectors: dict[str, str]
    """Unit vectors by the keys of their texts, each as little-endian float32 numbers in base64."""


class SubscribeParams(Nothing):
    """A vault, or all vaults, for a subscription."""

    vault: str | None = None
    """Name or absolute folder of the vault; by default all vaults."""


class Hello(BaseModel):
    """The client and its protocol version; a client may add fields."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    protocol_version: int
    """The newest version that the client supports."""
    client: str | None = None
    """Name of the client, for the log."""
    capabilities: dict[str, Any] = Field(default_factory=dict)
    """Capabilities of the client; currently unused."""
    token: str | None = None
    """Only over TCP: the token from the address file."""
    time_zone: str | None = None
    """The client's time zone in the format of the TZ variable, such as ``Europe/Berlin``; if missing or
    unknown, the daemon's time zone is used."""
    agent: bool = False
    """True for a client that shows its answers to an agent; notes hidden by ``[agents] hide`` are then left
    out."""


class Cancel(BaseModel):
    """The id of a request to cancel."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    id: int | str


def read(kind: type[P], params: JSON) -> P:
    """Return the parameters as an instance of ``kind``. Raises a UsageError that names the first invalid
    parameter."""
    try:
        return kind.model_validate(params)
    except ValidationError as error:
        where, wrong = first_problem(error, kind)
        raise UsageError(f"parameter {'.'.join(map(str, where))}: {wrong}") from None
