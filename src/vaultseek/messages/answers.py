"""Answers of each method of the protocol. Fields without a default are always there; others may be added."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from vaultseek.model import LinkKind, ReasonCode

_WEAK = "True if none of the best notes has a word of the query or is near to it in meaning."
_METHOD = "The lanes that answered: keyword, semantic, or hybrid for both; filter if none was asked."
_FILE_NAME = "The name of the file, without extension, if it says something else than the title."


class Answer(BaseModel):
    """An object whose named fields are always there; clients ignore what they do not know."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


_KIND = "The kind of file: note, canvas, base, excalidraw, text, org, html, pdf or image."


class OfVault(Answer):
    """The vault of an answer."""

    vault: str
    vault_path: str = Field(
        description="Absolute, resolved folder of the vault, where paths of notes start; empty at a searcher."
    )


class About(Answer):
    """A note in short. ``modified`` is ISO 8601 in UTC."""

    path: str
    title: str
    file_name: str | None = Field(default=None, description=_FILE_NAME)
    kind: str = Field(default="note", description=_KIND)
    tags: list[str]
    modified: str


class LanePart(Answer):
    """Rank and score of a note in one lane; ``score`` is the lane's own."""

    rank: int | None = Field(description="Place from 1; None for a note that another lane proposed.")
    score: float | None
    fused_rank: float | None = Field(
        default=None, description="With ``explain``: the rank that entered the formula."
    )
    weight: float | None = Field(default=None, description="With ``explain``: weight of the lane.")
    contribution: float | None = Field(
        default=None, description="With ``explain``: weight / (k + rank), or the weighted normalised score."
    )
    baseline: float | None = Field(
        default=None,
        description="With ``explain``: the part of it that a note gets of which the lane knows nothing.",
    )
    gain: float | None = Field(
        default=None, description="With ``explain``: what counts, contribution less baseline."
    )


class Lane(Answer):
    """A lane that was left out, and the cause; "vault" if notes may be missing from the answer."""

    lane: str
    code: ReasonCode
    reason: str


class Index(Answer):
    """Counts of the index."""

    notes: int
    chunks: int
    embedded: int
    pending: int = Field(description="Notes to read plus vectors to compute.")
    revision: int | None = Field(description="None for a token that sees a part of the vault.")


class Reranked(Answer):
    """Score of the cross-encoder, in [0, 1], and the rank before it."""

    score: float
    rank_before: int
    score_before: float | None = Field(
        default=None, description="With ``explain``: the note's own score; the one shown is that of its rank."
    )


class Arithmetic(Answer):
    """The figures that a score is made of.

    ``score = min(1, (max(0, gain + company) * recency * anchors * bound + name) / best) * vault``; 1 in place
    of the quotient if ``best`` is 0.
    """

    gain: float = Field(description="Sum of the lanes' gains.")
    company: float = Field(description="Gain or loss by similar candidates.")
    recency: float = Field(description="Factor for the note's age.")
    anchors: float = Field(description="Factor for the identifiers, phrases and names of the query in it.")
    bound: float = Field(
        description="Factor that keeps notes by link alone, or without any word, below others."
    )
    name: float = Field(description="Gain of a note whose name is the query.")
    best: float = Field(description="The value that all scores are divided by.")
    vault: float = Field(default=1.0, description="In an answer of all vaults: the vault's share.")


class Via(Answer):
    """The note through whose link another one was found."""

    path: str
    title: str


class IndexNow(Index):
    """The index at the time of the answer; ``state`` as in ``index/status``."""

    state: str
    code: ReasonCode | None
    reason: str | None


class Result(Answer):
    """A note in the answer to a search. Scores are in [0, 1], the best has 1."""

    rank: int
    path: str
    title: str
    file_name: str | None = Field(default=None, description=_FILE_NAME)
    kind: str = Field(default="note", description=_KIND)
    score: float
    modified: str


class FullResult(Result):
    """A result with its best passage. Lines are 1-based and inclusive."""

    place: str | None = Field(
        default=None,
        description="Part of the file with the passage, for ``path#place``: page of a PDF, node of a canvas.",
    )
    heading_path: list[str]
    chunk_id: str | None
    start_line: int
    end_line: int
    line: int = Field(default=1, description="The line of the passage with most of the query's words.")
    column: int = Field(default=1, description="The character of that line where the first of them begins.")
    line_text: str = Field(default="", description="The text of that line, or its beginning.")
    property: str | None = Field(
        default=None, description="The property that matches, if not the text; ``preview`` shows it."
    )
    preview: str
    highlights: list[list[int]] = Field(description="Ranges ``[start, end)`` of characters of ``preview``.")
    tags: list[str]
    lanes: dict[str, LanePart | None]
    via: Via | None = Field(
        default=None, description="The linked note that led to this one, if no lane proposed it by itself."
    )
    recency: float
    confidence: float | None = Field(
        default=None, description="Confidence that the note is relevant to the query, in [0, 1]."
    )
    certainty: float | None = Field(
        default=None,
        description="Confidence as lists show it: the nearest to it that falls as the order does.",
    )
    rerank: Reranked | None = Field(description="None if the result was not reranked.")
    arithmetic: Arithmetic | None = Field(default=None, description="With ``explain``.")
    search_method: str
    vectorRank: int | None = Field(description="Same as ``lanes.semantic.rank``.")  # noqa: N815 - a name of others
    bm25Rank: int | None = Field(description="Same as ``lanes.keyword.rank``.")  # noqa: N815
    content_preview: str = Field(description="Same as ``preview``.")


class Interpreted(Answer):
    """The query as it was understood."""

    rank_text: str = Field(description="The words that rank; empty for filters alone.")
    phrases: list[str]
    filters: list[str] = Field(description="Every condition, in words.")
    notes: list[str] = Field(description="The parts that were ignored, and why.")


class Nearest(Answer):
    """The note nearest to a query that no note is near to."""

    path: str
    confidence: float


class Search(OfVault):
    """Results, best first; ``partial`` names the lanes that were left out."""

    query: str
    mode: str
    search_method: str = Field(description=_METHOD)
    took_ms: float
    results: list[FullResult | Result]
    count: int
    weak: bool = Field(default=False, description=_WEAK)
    partial: list[Lane]
    index: IndexNow
    interpreted: Interpreted
    nearest: Nearest | None = Field(default=None, description="Only if no note is near enough.")
    total: int | None = Field(default=None, description="For a query of filters alone: how many notes match.")
    explain: dict[str, Any] | None = Field(default=None, description="With ``explain``.")


class VaultSearch(OfVault):
    """The part of a vault in the answer to a search of all vaults."""

    search_method: str = Field(description=_METHOD)
    took_ms: float
    count: int
    weak: bool = Field(default=False, description=_WEAK)
    partial: list[Lane]
    index: IndexNow
    nearest: Nearest | None = Field(default=None, description="Only if no note is near enough.")
    total: int | None = Field(default=None, description="For a query of filters alone: how many notes match.")


class FullResultOfVault(FullResult, OfVault):
    """A result with its vault."""


class ResultOfVault(Result, OfVault):
    """A result in short, with its vault."""


class LaneOfVault(Lane):
    """A lane that was left out in a vault."""

    vault: str


class SearchAll(Answer):
    """Results of every vault, best first."""

    query: str
    mode: str
    search_method: str = Field(description=_METHOD)
    took_ms: float
    results: list[FullResultOfVault | ResultOfVault]
    count: int
    weak: bool = Field(default=False, description=_WEAK)
    partial: list[LaneOfVault]
    interpreted: Interpreted
    vaults: list[VaultSearch]


class WhyLane(Answer):
    """Rank and score of a note in one lane, or the reason for which it has none."""

    rank: int | None
    score: float | None
    code: ReasonCode | None = None
    reason: str | None = None
    of: int | None = Field(default=None, description="Notes in the lane.")
    matched: list[str] | None = Field(default=None, description="Words of the query that the note has.")


class Condition(Answer):
    """A filter of the query."""

    condition: str
    satisfied: bool


class Why(OfVault):
    """The rank of a note in the answer to a query, or the stage at which it was lost."""

    path: str
    title: str
    file_name: str | None = Field(default=None, description=_FILE_NAME)
    query: str
    verdict: Literal["found", "filtered", "no_lane", "below_limit", "cut"]
    code: ReasonCode
    reason: str
    interpreted: Interpreted
    partial: list[Lane]
    result: FullResult | Result | None = None
    filters: list[Condition] | None = None
    lanes: dict[str, WhyLane] | None = None
    explain: dict[str, Any] | None = None


class Heading(Answer):
    """A heading of a note, as written."""

    level: int
    text: str
    line: int


class Passage(Answer):
    """A passage of a note, by its place."""

    chunk_id: str
    heading_path: list[str]
    start_line: int
    end_line: int


class Note(OfVault, About):
    """A note and a range of its lines, 1-based and inclusive."""

    aliases: list[str]
    properties: dict[str, Any]
    headings: list[Heading]
    created: str
    chunks: list[Passage]
    lines: int = Field(description="Number of lines of the whole note.")
    start_line: int
    end_line: int
    text: str
    truncated: bool
    from_index: bool = Field(
        default=False,
        description="True at a searcher: the lines of properties are blank.",
    )


class RelatedNote(About):
    """A note similar to another; ``link`` is the direction of a link between the two."""

    rank: int
    score: float
    link: Literal["out", "in", "both"] | None
    lanes: dict[str, LanePart]
    preview: str


class OfNote(OfVault):
    """The note of an answer."""

    path: str
    title: str
    file_name: str | None = Field(default=None, description=_FILE_NAME)


class Related(OfNote):
    """Notes similar to a note, best first."""

    results: list[RelatedNote]
    partial: list[Lane]


class Link(Answer):
    """A link as written, with its line."""

    kind: LinkKind
    target: str
    heading: str | None
    block: str | None
    alias: str | None
    line: int
    property: str | None
    column: int | None = Field(default=None, description="First column of the link in its line, from 1.")
    end_column: int | None = Field(
        default=None, description="The column after the link's last, in that line."
    )


class OutgoingLink(Link):
    """A link of the note. ``resolved`` is the path that it leads to, None if it leads nowhere."""

    resolved: str | None
    title: str | None


class PlacedLink(Link):
    """A link with its note and the text of its line."""

    path: str
    title: str
    text: str | None


class Counted(Answer):
    """A list of ``count`` of ``total`` items."""

    count: int
    total: int


class Outgoing(OfNote, Counted):
    """Links in their order in the note."""

    links: list[OutgoingLink]


class Backlinks(OfNote, Counted):
    """Links of other notes."""

    links: list[PlacedLink]


class Unresolved(OfVault, Counted):
    """Links that lead nowhere."""

    links: list[PlacedLink]


class Mention(About):
    """A line that mentions the note by ``name``."""

    line: int
    name: str
    text: str


class Unlinked(OfNote, Counted):
    """Mentions without a link."""

    names: list[str]
    mentions: list[Mention]


class Neighbor(About):
    """A note ``depth`` links away: ``direction`` of the link at depth 1, else ``via``, the note before it."""

    depth: int
    direction: Literal["out", "in", "both"] | None
    via: str | None


class Neighbors(OfNote):
    """The notes around a note; each edge is a pair of paths, source and target."""

    depth: int
    notes: list[Neighbor]
    edges: list[list[str]]
    total: int


class Tag(Answer):
    """A tag and its notes; ``total`` counts those with nested tags, too."""

    tag: str
    count: int
    total: int


class Tags(OfVault, Counted):
    """Every tag."""

    tags: list[Tag]


class Value(Answer):
    """A value of a property and the number of its notes."""

    value: str
    count: int


class Property(Answer):
    """A property; ``types`` counts its values that are text, number, boolean, list, mapping and null."""

    name: str
    count: int
    types: dict[str, int]
    distinct: int
    values: list[Value]


class Properties(OfVault, Counted):
    """Every property; with a name, ``property`` and its ``values`` instead."""

    properties: list[Property] = Field(default_factory=list)
    property: str | None = None
    values: list[Value] = Field(default_factory=list)


class Orphans(OfVault, Counted):
    """Notes that nothing links to."""

    notes: list[About]


class Alike(Answer):
    """Two notes that are alike. ``score`` is the mean of ``text`` and ``meaning``, all from 0 to 1."""

    rank: int
    score: float
    text: float = Field(description="The share of text that both have; text of many notes does not count.")
    meaning: float = Field(description="The cosine of their vectors; 0 without vectors.")
    notes: list[About]


class Duplicates(OfVault, Counted):
    """Pairs of notes, the most alike first."""

    pairs: list[Alike]
    partial: list[Lane]


class TableColumn(Answer):
    """A column: its id, under which rows have their values, and its heading."""

    id: str
    name: str


class TableRow(Answer):
    """A file with the values of its columns; dates are ISO 8601 in local time, links as they are written."""

    path: str
    title: str
    cells: dict[str, Any]


class TableSummary(Answer):
    """A figure of all values of a column."""

    column: str
    name: str
    value: Any = Field(default=None, description="None if no value of the column is of the right kind.")


class TableGroup(Answer):
    """The rows with one value of the column that the table is grouped by; they follow each other."""

    value: Any = Field(default=None, description="None for the rows without a value.")
    count: int
    summaries: list[TableSummary]


class TableView(Answer):
    """A view of a base."""

    name: str
    type: str


class Table(Answer):
    """A table: a view of a base, or the notes that a query finds."""

    name: str = Field(description="Name of the view; empty for a query.")
    type: str
    path: str | None = Field(default=None, description="File of the base, or note with its block.")
    line: int | None = Field(default=None, description="Line of the block, or of the embed, in the note.")
    columns: list[TableColumn]
    rows: list[TableRow]
    group: str | None = Field(default=None, description="Heading of the column that the rows are grouped by.")
    groups: list[TableGroup]
    summaries: list[TableSummary]
    count: int
    total: int = Field(description="Rows without the limit.")
    problems: list[str] = Field(description="Sentences on what is wrong or not supported.")
    views: list[TableView]


class Tables(OfVault):
    """The tables of a file or of a query; ``count`` is the number of all rows."""

    tables: list[Table]
    count: int
    partial: list[Lane]


class Item(Answer):
    """A completion; the other fields depend on its kind."""

    text: str
    match: Literal["prefix", "word", "inside", "fuzzy"]
    path: str | None = Field(default=None, description="Of a note.")
    title: str | None = Field(default=None, description="Of a note.")
    is_: Literal["name", "title", "alias"] | None = Field(
        default=None, alias="is", description="Of a note: the part of it that ``text`` is."
    )
    level: int | None = Field(default=None, description="Of a heading.")
    line: int | None = Field(default=None, description="Of a heading or block, 1-based.")
    of: str | None = Field(default=None, description="Of a block: its text.")
    count: int | None = Field(default=None, description="Of a tag, property or value: its notes.")
    link: str | None = Field(
        default=None,
        description="With ``source``: the target of a link from there, as the vault writes links.",
    )


class Completions(OfVault):
    """Completions, likeliest first."""

    kind: str
    items: list[Item]
    markdown: bool = Field(default=False, description="With ``source``: the vault wants Markdown links.")


class Similar(Answer):
    """A note with a name like one that is missing, and the target of a link to it."""

    text: str
    path: str
    link: str


class ResolvedLink(Answer):
    """The target of a link: a file and in it a line, both None if it leads nowhere."""

    resolved: str | None
    title: str | None
    target_line: int | None = Field(description="Line of the heading or block, 1-based.")
    candidates: list[str] = Field(description="Other files that the link may mean.")
    by_alias: bool
    problem: Literal["missing_note", "missing_heading", "missing_block", "ambiguous"] | None
    message: str | None = Field(description="The problem in words.")
    moved: str | None = Field(default=None, description="With ``moves``: the target to be written instead.")
    create: str | None = Field(default=None, description="Path at which a missing note would be made.")
    similar: list[Similar] = Field(default_factory=list, description="Notes called much like a missing one.")


class Resolved(OfVault):
    """Links in the order of the request."""

    links: list[ResolvedLink]
    markdown: bool = Field(description="The vault wants Markdown links.")


class PlacedProblem(Answer):
    """A fault of a note: a link of it, with the columns, or anything else that could not be read."""

    path: str
    line: int | None
    column: int | None
    end_column: int | None
    code: str
    message: str
    target: str | None = Field(description="Of a link: its target as written.")


class Problems(OfVault, Counted):
    """Problems by path and line."""

    problems: list[PlacedProblem]


class NamedNote(Answer):
    """A note that a text names."""

    path: str
    title: str
    link: str = Field(description="The target of a link to it.")


class NamePlace(Answer):
    """A piece of a text that is the name of notes; ``line`` is its number in the request, from 1."""

    line: int
    column: int
    end_column: int
    name: str
    notes: list[NamedNote]


class Mentioned(OfVault):
    """Names of notes in a text."""

    mentions: list[NamePlace]
    markdown: bool = Field(description="The vault wants Markdown links.")


class ProposedEdit(Answer):
    """A piece of a line, and the text to be written there instead of ``old``."""

    path: str
    line: int
    column: int
    end_column: int
    old: str
    new: str


class Rename(OfVault):
    """The edits that a rename needs, in the paths of now; nothing is written."""

    edits: list[ProposedEdit]
    notes: int = Field(description="Number of notes with an edit.")


class Vault(Answer):
    """A vault; ``from`` is the configuration, ``vault/add``, or a request that named its folder."""

    name: str
    path: str
    from_: Literal["config", "added", "request"] = Field(alias="from")
    state: str
    notes: int


class Vaults(Answer):
    """Every vault."""

    vaults: list[Vault]


class AddedVault(Answer):
    """The vault that was added."""

    name: str
    path: str


class RemovedVault(Answer):
    """The folder that is no longer a vault."""

    path: str
    index_deleted: bool


class PausedVault(Answer):
    """The state of the vault after the call."""

    path: str
    paused: bool


class WorkerStatus(Answer):
    """The semantic worker."""

    status: Literal["down", "starting", "ready", "broken"]
    code: ReasonCode | None
    reason: str | None
    model: str | None
    pid: int | None = None
    memory_bytes: int | None = None
    restarts: int = 0
    doing: str = Field(default="", description="Current work, in words.")
    computing: str | None = Field(default=None, description="The way that vectors are computed, in words.")
    sends: str | None = Field(
        default=None, description="Text that is sent to a server, and to which, in words."
    )


class DaemonStatus(Answer):
    """The daemon itself."""

    pid: int
    version: str
    uptime_seconds: float
    memory_bytes: int
    config: str | None
    socket: str
    worker: WorkerStatus


class LaneStatus(Answer):
    """The state of a lane; ``up`` if it takes part in searches."""

    up: bool
    code: ReasonCode | None
    reason: str | None


class NoteProblem(Answer):
    """A problem of a note."""

    path: str
    code: str
    message: str
    line: int | None


class VaultModels(Answer):
    """The models of one vault, by their names in the settings."""

    main: str
    why: str | None = Field(default=None, description="The reason why it was chosen.")
    only_english: bool = Field(description="True if ``main`` reads no other language.")
    second: str | None = Field(description="Model for questions in other languages.")
    second_notes_left: int | None = Field(
        description="Notes without up-to-date vectors of ``second``; None before that is known."
    )
    second_problem: str | None = Field(
        default=None, description="The reason why vectors of ``second`` cannot be made now."
    )
    advice: str | None = Field(description="Advice on installing a model for other languages.")


class VaultStatus(Index):
    """One vault; ``problems`` are the first of ``problem_count``."""

    name: str
    path: str
    state: str
    code: ReasonCode | None
    reason: str | None
    lanes: dict[str, LaneStatus]
    problems: list[NoteProblem]
    problem_count: int
    embeddings_computed: int = Field(default=0, description="Since the index was made.")
    share: float = Field(default=1.0, description="The share of the index that is there: an estimate.")
    rate: float = Field(default=0.0, description="Vectors per second.")
    eta_seconds: float | None = Field(default=None, description="Estimate, None if there is none.")
    last_change: float | None = Field(default=None, description="Seconds since the epoch.")


class IndexedVault(VaultStatus):
    """A vault of which everything is indexed."""

    remembered: bool = Field(default=False, description="True if this call added the vault.")


class TextsToEmbed(OfVault):
    """Texts whose vectors are missing, and the model that makes them."""

    model: str = Field(description="Name of the model, as in the settings.")
    fingerprint: str = Field(description="Identity of the model: vectors of any other are refused.")
    texts: dict[str, str] = Field(
        description="Texts by key, newest notes first. Each is returned once; none means: ask again later."
    )


class NoteFile(Answer):
    """A note to parse."""

    key: str = Field(description="Key by which ``index/notes`` brings it.")
    path: str
    content: str = Field(description="The bytes of the file, in base64.")


class NotesToParse(OfVault):
    """Notes to parse, and the model that they are cut for."""

    model: str = Field(description="Name of the model, as in the settings.")
    fingerprint: str = Field(description="Identity of the model.")
    window: int = Field(description="Tokens that the model reads.")
    files: list[NoteFile] = Field(
        description="New and changed notes. Each is returned once; none means: ask again later."
    )


class KeptNotes(OfVault):
    """Parsed notes that were taken."""

    kept: int = Field(description="Number of notes that were asked for. Each is checked when it is indexed.")


class KeptVectors(OfVault):
    """Vectors that were stored in the ledger."""

    kept: int = Field(description="Number of vectors that were asked for and can be used.")


class Refreshed(Answer):
    """A vault that was compared with the disk."""

    vault: str
    vault_path: str
    remembered: bool = Field(default=False, description="True if this call added the vault.")


class Compacted(Answer):
    """A vault whose index has nothing of deleted text any more."""

    vault: str
    vault_path: str
    bytes: int = Field(description="Bytes of all files of the index.")
    freed_bytes: int = Field(description="Bytes that the index takes less than before.")


class EngineNumber(Answer):
    """The number of something in the ledger and in the engine."""

    of: str = Field(description="notes, passages, or vectors or second vectors of one of these.")
    ledger: int
    engine: int | None = Field(description="None if that cannot be asked now.")


class Verified(OfVault):
    """The numbers of a vault in its engine, beside those of its ledger."""

    engine: str = Field(description="embedded or milvus.")
    place: str | None = Field(description="The address or file of Milvus; None for the embedded engine.")
    numbers: list[EngineNumber]
    pending: int = Field(description="Notes to read plus vectors to store, which explain a difference.")
    same: bool = Field(description="True if each number is the same.")
    filled_again: bool = Field(description="True if the engine is being filled again, as was asked for.")
    reason: str | None = Field(description="The reason why some numbers are missing.")


class Status(Answer):
    """The daemon and its vaults."""

    daemon: DaemonStatus
    vaults: list[VaultStatus]


class Progress(Answer):
    """Progress of a vault; ``eta_seconds`` is an estimate, None if there is none."""

    vault: str
    phase: str = Field(description="``reading``, ``embedding`` or ``done``.")
    share: float = Field(
        default=0.0,
        description="The share that is done, 0 to 1: notes read, vectors computed; an estimate.",
    )
    waiting_for: str | None = Field(
        default=None, description="The reason why no vectors can be computed now, or None."
    )
    notes: int
    notes_done: int
    notes_total: int
    chunks: int
    embedded: int
    pending: int
    rate: float
    eta_seconds: float | None


class Changed(OfVault):
    """Notes that were added, changed or removed; with ``more`` there are others."""

    revision: int
    paths: list[str]
    more: bool


class Subscribed(Answer):
    """Progress of each vault."""

    vaults: list[Progress]


class Server(Answer):
    """The program that answers."""

    name: str
    version: str
    pid: int


class Capabilities(Answer):
    """Methods and limits of the daemon."""

    methods: list[str]
    request_bytes: int
    answer_bytes: int
    requests_in_flight: int


class Hello(Answer):
    """The daemon, and the protocol version spoken from now on."""

    protocol_version: int
    server: Server
    capabilities: Capabilities
    proof: str | None = Field(default=None, description="On the port only: the proof in the address file.")


class Nothing(RootModel[None]):
    """Always null."""


class Done(Answer):
    """An empty object."""


class Schemas(Answer):
    """Parameters and answer of each method, and parameters of each notification, as JSON Schema."""

    methods: dict[str, dict[str, Any]]
    notifications: dict[str, dict[str, Any]]
