"""Answers of each protocol method: the single source for checks, the schema and the clients' types.

``NotRequired`` fields may be missing; fields not listed here may be added.
"""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic accepts the one from ``typing`` only from Python 3.12 on

from vaultseek.base.model import LinkKind, ReasonCode


class Answer(TypedDict):
    """An object whose named fields are always present; clients ignore unknown fields."""


class OfVault(Answer):
    """The vault to which an answer belongs."""

    vault: str
    vault_path: str
    """Absolute, resolved folder of the vault, to which note paths are relative; empty on a searcher."""


class Titled(Answer):
    """The name of a note."""

    path: str
    title: str
    file_name: NotRequired[str | None]
    """The file name without extension, if it differs from the title."""


class About(Titled):
    """Basic facts about a note. ``modified`` is a local time with its offset: ``2026-03-16T00:30:00+01:00``.

    ``created`` is the day, ``2026-03-16``, or the time stated in the note or its file name, otherwise
    ``modified``. A day is the same for every reader; the zone of a time is the client's.
    """

    kind: NotRequired[str]
    """The kind of file: note, canvas, base, excalidraw, text, org, html, pdf, image or session."""
    tags: list[str]
    modified: str
    created: str


class OfNote(OfVault, Titled):
    """The note of an answer."""


class LanePart(Answer):
    """Rank and score of a note in one lane (kind of search); ``score`` is the lane's own."""

    rank: int | None
    """Rank from 1; None for a note that only another lane proposed."""
    score: float | None
    fused_rank: NotRequired[float | None]
    """With ``explain``: the rank used in the formula."""
    weight: NotRequired[float | None]
    """With ``explain``: the weight of the lane."""
    contribution: NotRequired[float | None]
    """With ``explain``: weight / (k + rank), or the weighted normalised score."""
    baseline: NotRequired[float | None]
    """With ``explain``: the contribution of a note unknown to the lane."""
    gain: NotRequired[float | None]
    """With ``explain``: contribution minus baseline, the part that counts."""


class Advice(Answer):
    """An action to take; ``names`` are the vaults to choose from, or the vault, model or extra that it is
    about."""

    kind: str
    names: list[str]


class Explained(Answer):
    """A state; ``code`` and ``reason`` are None if all is well."""

    code: ReasonCode | None
    reason: str | None
    advice: NotRequired[Advice]


class Lane(Answer):
    """A lane that was left out, with the cause. The lane is "vault" if notes may be missing from the
    answer."""

    lane: str
    code: ReasonCode
    reason: str
    advice: NotRequired[Advice]


class Remark(Answer):
    """A sentence for the person who reads the results; every user interface shows it."""

    code: Literal["no_match", "closest", "query", "incomplete", "waiting"]
    text: str
    """The remark; begins with a small letter and has no full stop."""
    advice: NotRequired[Advice]


class Index(Answer):
    """Counts of the index."""

    notes: int
    chunks: int
    embedded: int
    pending: int
    """Notes to read plus vectors to compute."""
    revision: int | None
    """None for a token that may see only a part of the vault."""


class Reranked(Answer):
    """Score of the cross-encoder, in [0, 1], and the rank before reranking."""

    score: float
    rank_before: int
    score_before: NotRequired[float | None]
    """With ``explain``: the note's own score; the displayed score belongs to its rank."""


class Arithmetic(Answer):
    """The components of a score.

    ``score = min(1, (gain * recency * anchors * bound * joined * time + name + opened + succession) /
    best)``; 1 if ``best`` is 0.
    """

    gain: float
    """Sum of the gains of all lanes."""
    recency: float
    """Factor for the note's age, applied to part of the score."""
    anchors: float
    """Factor for the query's identifiers and phrases in the note, and for its words in names."""
    bound: float
    """Factor that keeps notes below others if they were found only by link, or if their name has the query's
    stem but not its word."""
    joined: float
    """Factor for a note linked to a better one, if both together have much of the query."""
    time: float
    """Gain of a note from the time named in the query."""
    name: float
    """Gain of a note whose name is the query."""
    opened: float
    """Gain of a note that was opened from this query before, or is pinned to it."""
    succession: float
    """Gain of a note that replaces a better result."""
    best: float
    """The value by which all scores are divided."""


class Successor(Answer):
    """A note that replaces another one."""

    path: str
    title: str


class Currency(Answer):
    """The reason why a note, or the passage shown, no longer holds, or why a note ranks before an outdated
    one."""

    state: str
    """``superseded``: replaced by other notes, or outdated by its own statement; ``stale``: past its date;
    ``struck``: the line shown is struck out; ``successor``: the note replaces another result."""
    by: list[Successor]
    """The notes at the end of each chain of successors; empty for a circle."""
    replaces: list[Successor]
    """The results that a successor replaces."""
    missing: list[str]
    """Names of missing successors."""
    since: str | None
    """The day on which the note became stale."""
    text: str
    """A short text that summarizes the other fields."""


class Judged(Answer):
    """An object about a note. ``currency`` is present only if the note is not current."""

    currency: NotRequired[Currency]


class Via(Answer):
    """The note through which another note was found, because a link joins the two."""

    path: str
    title: str


class IndexNow(Index, Explained):
    """The index at the time of the answer; ``state`` as in ``index/status``."""

    state: str


class Result(Titled):
    """A note in the answer to a search. Scores are in [0, 1]; the best note has 1."""

    rank: int
    kind: NotRequired[str]
    """The kind of file: note, canvas, base, excalidraw, text, org, html, pdf, image or session."""
    score: float
    certainty: float
    """Probability that the note is right, in [0, 1]. It never increases with rank, and is 1 if the query has
    only filters."""
    modified: str
    created: str
    """The day or time stated in the note or its file name, otherwise the modification time."""
    heading_path: list[str]
    """Headings of the passage; empty if ``brief`` left the passage out."""
    start_line: int
    """First line of the passage; 1 if ``brief`` left the passage out."""
    currency: NotRequired[Currency | None]
    """None if the note is current and replaces no other result."""


class FurtherPassage(Answer):
    """Another passage of a note besides the best one, with the same fields as a result."""

    place: str | None
    heading_path: list[str]
    chunk_id: str
    start_line: int
    end_line: int
    line: int
    preview: str
    highlights: list[list[int]]


class FullResult(Result, total=False):
    """A result with its best passage, unless ``brief`` left it out. Lines are 1-based and inclusive."""

    place: str | None
    """Part of the file with the passage, for ``path#place``: page of a PDF, node of a canvas."""
    chunk_id: str | None
    end_line: int
    line: int
    """The line of the passage with most of the query's words."""
    column: int
    """The column in ``line`` at which the first of these words begins."""
    line_text: str
    """The text of ``line``, or the beginning of it."""
    property: str | None
    """The matching property, if a property and not the text matched; ``preview`` shows it."""
    preview: str
    highlights: list[list[int]]
    """Ranges ``[start, end)`` of characters of ``preview``."""
    tags: list[str]
    lanes: dict[str, LanePart | None]
    passages: list[FurtherPassage]
    """With ``passages``: further matching passages, best first."""
    via: Via | None
    """The linked note that led to this one, if no lane proposed it directly."""
    recency: float
    confidence: float | None
    """Similarity of the note to the query, independent of other results, in [0, 1]."""
    rerank: Reranked | None
    """None if the result was not reranked."""
    arithmetic: Arithmetic | None
    """With ``explain``: the components of the score."""
    search_method: str
    vectorRank: int | None
    """Same as ``lanes.semantic.rank``."""
    bm25Rank: int | None
    """Same as ``lanes.keyword.rank``."""
    content_preview: str
    """Same as ``preview``."""


class Time(Answer):
    """A time expressed in the query, from its first day to its last."""

    text: str
    first: str
    last: str


class Interpreted(Answer):
    """The query as interpreted."""

    rank_text: str
    """The words used for ranking; empty if the query has only filters."""
    time: Time | None
    """The time named in the query, None if it names none; notes from this time rank higher."""
    phrases: list[str]
    filters: list[str]
    """All conditions, in words."""
    notes: list[str]
    """The parts that were ignored, each with the reason."""


class Nearest(Answer):
    """The note nearest to a query without a good match."""

    path: str
    confidence: float


class Summary(Answer):
    """The facts about a list of results."""

    search_method: str
    """The lanes that answered: keyword, semantic, or hybrid for both; filter if none was used."""
    took_ms: float
    count: int
    weak: NotRequired[bool]
    """True if none of the best notes has many of the query's words or is similar in meaning."""
    substitutes: NotRequired[bool]
    """True if no note has any of the query's words, and similar words were searched for instead."""
    less_certain: NotRequired[int]
    """Number of unlikely results at the end; user interfaces collapse them."""
    total: NotRequired[int | None]
    """For a query with only filters: the number of matching notes."""


class VaultSearch(OfVault, Summary):
    """A vault's part of the answer to a search of all vaults."""

    partial: list[Lane]
    """The lanes that were left out."""
    index: IndexNow
    nearest: NotRequired[Nearest | None]
    """Only present if no note is similar enough."""


class Search(VaultSearch):
    """Results, best first."""

    query: str
    mode: str
    results: list[FullResult]
    interpreted: Interpreted
    remarks: list[Remark]
    explain: NotRequired[dict[str, Any] | None]
    """With ``explain``: how the lanes were combined."""


class FullResultOfVault(FullResult, OfVault):
    """A result with its vault."""


class LaneOfVault(Lane):
    """A lane that was left out in a vault."""

    vault: str


class SearchAll(Summary):
    """Results of every vault, best first."""

    query: str
    mode: str
    results: list[FullResultOfVault]
    partial: list[LaneOfVault]
    interpreted: Interpreted
    remarks: list[Remark]
    vaults: list[VaultSearch]


class Lines(Answer):
    """Lines of a note, 1-based and inclusive."""

    path: str
    start_line: int
    end_line: int


class LineRange(Answer):
    """Lines, 1-based and inclusive."""

    start_line: int
    end_line: int


class EvidencePassage(Lines):
    """Lines of a note that may help with a question; ``cut`` is true if their passage continues."""

    title: str
    heading_path: list[str]
    place: str | None
    """The part of the file, such as ``page=3``."""
    modified: str
    created: str
    currency: Currency | None
    """None if the note is current."""
    block: LineRange | None
    """The lines of the block that contains this part, such as a table."""
    opening: str | None
    """The text above these lines that opens the block, such as the table's head."""
    text: str
    cut: bool


class Context(OfVault):
    """Evidence for a question, in reading order.

    ``text`` contains all the evidence, with the place and day of each passage; ``left_out`` lists the
    passages that did not fit.
    """

    query: str
    text: str
    tokens: int
    passages: list[EvidencePassage]
    left_out: list[Lines]
    partial: list[Lane]
    weak: bool
    index: IndexNow
    interpreted: Interpreted
    remarks: list[Remark]
    nearest: NotRequired[Nearest | None]


class WhyLane(Answer):
    """Rank and score of a note in one lane, or the reason why the note has none."""

    rank: int | None
    score: float | None
    code: NotRequired[ReasonCode | None]
    reason: NotRequired[str | None]
    of: NotRequired[int | None]
    """Number of notes in the lane."""
    matched: NotRequired[list[str] | None]
    """Words of the query that occur in the note."""


class Condition(Answer):
    """A filter of the query."""

    condition: str
    satisfied: bool


class Why(OfNote, Judged):
    """The rank of a note in the answer to a query, or the stage at which it was dropped."""

    query: str
    verdict: Literal["found", "filtered", "no_lane", "below_limit", "cut"]
    code: ReasonCode
    reason: str
    partial: list[Lane]
    weak: bool
    index: IndexNow
    interpreted: Interpreted
    nearest: NotRequired[Nearest | None]
    result: NotRequired[FullResult | None]
    filters: NotRequired[list[Condition] | None]
    lanes: NotRequired[dict[str, WhyLane] | None]
    explain: NotRequired[dict[str, Any] | None]


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


class Note(OfVault, About, Judged):
    """A note and a range of its lines, 1-based and inclusive."""

    aliases: list[str]
    properties: dict[str, Any]
    headings: list[Heading]
    chunks: list[Passage]
    lines: int
    """Number of lines in the whole note."""
    start_line: int
    end_line: int
    text: str
    truncated: bool
    from_index: NotRequired[bool]
    """True on a searcher, where the lines of properties are blank."""


class RelatedNote(About, Judged):
    """A note similar to another note; ``link`` is the direction of a link between the two."""

    rank: int
    score: float
    link: Literal["out", "in", "both"] | None
    lanes: dict[str, LanePart]
    preview: str


class Related(OfNote, Judged):
    """Notes similar to a note, best first."""

    results: list[RelatedNote]
    partial: list[Lane]
    remarks: list[Remark]


class Link(Answer):
    """A link as written, with its line."""

    kind: LinkKind
    target: str
    heading: str | None
    block: str | None
    alias: str | None
    line: int
    property: str | None
    column: NotRequired[int | None]
    """First column of the link in its line, from 1."""
    end_column: NotRequired[int | None]
    """The column just after the link, on the same line."""


class OutgoingLink(Link, Judged):
    """A link of the note. ``resolved`` is the target's path, None if it is missing; ``currency`` is the
    target's."""

    resolved: str | None
    title: str | None
    modified: NotRequired[str | None]
    """Modification time of the target."""
    created: NotRequired[str | None]


class PlacedLink(Link, Judged):
    """A link with its note and the text of its line."""

    path: str
    title: str
    text: str | None
    modified: NotRequired[str | None]
    created: NotRequired[str | None]


class Counted(Answer):
    """A list of ``count`` of ``total`` items."""

    count: int
    total: int


class Kept(OfVault):
    """The outcome of a report that a note was opened, or that an agent was given an answer."""

    kept: bool
    """True if the report was added to the history; False if recording is off."""


class OpenedNote(Answer):
    """A note that was opened from the answer to a query."""

    query: str
    path: str
    position: int
    """Rank of the note among the results, from 1."""
    time: str
    """Time of the opening: a local time with its offset, in ISO 8601."""
    client: str
    """Name of the client with which the note was opened."""


class History(OfVault, Counted):
    """Notes opened from queries, latest first."""

    opened: list[OpenedNote]
    learn: bool
    """True if opened notes are recorded."""


class GivenNote(Answer):
    """A note in an answer to an agent, and the lines that were shown; None if the note was only mentioned."""

    path: str
    start_line: int | None
    end_line: int | None


class GivenAnswer(Answer):
    """An answer that an agent was given."""

    time: str
    """A local time with its offset, in ISO 8601."""
    agent: str
    """Name of the agent, or of the program that gave the agent the answer."""
    tool: str
    question: str
    tokens: int
    notes: list[GivenNote]


class HidingEntry(Answer):
    """An entry of ``[agents] hide``, and the number of files in the vault that it hides; a misspelt entry
    hides none."""

    entry: str
    files: int


class AgentHistory(OfVault, Counted):
    """The answers that agents were given, the latest first."""

    given: list[GivenAnswer]
    record: bool
    """True if answers are recorded."""
    hidden: list[HidingEntry]
    """The entries of ``[agents] hide``."""


class Forgotten(OfVault):
    """The number of opened notes, or of answers to agents, that were forgotten."""

    forgotten: int


class Outgoing(OfNote, Counted, Judged):
    """Links in document order."""

    links: list[OutgoingLink]


class Backlinks(OfNote, Counted, Judged):
    """Links of other notes."""

    links: list[PlacedLink]


class Unresolved(OfVault, Counted):
    """Links with a missing target."""

    links: list[PlacedLink]


class Mention(About, Judged):
    """A line that mentions the note by ``name``."""

    line: int
    name: str
    text: str
    """The line or, if it is long, the part around the name; ``…`` at the beginning means that text before it
    was left out."""
    highlights: list[list[int]]
    """Range ``[start, end)`` of the name's characters in ``text``."""


class Unlinked(OfNote, Counted, Judged):
    """Mentions without a link."""

    names: list[str]
    mentions: list[Mention]


class Neighbor(About, Judged):
    """A note ``depth`` links away.

    ``direction`` is set at depth 1; beyond that, ``via`` is the previous note on the path.
    """

    depth: int
    direction: Literal["out", "in", "both"] | None
    via: str | None


class Neighbors(OfNote, Judged):
    """The notes around a note; each edge is a pair of paths, source and target."""

    depth: int
    notes: list[Neighbor]
    edges: list[list[str]]
    total: int


class Linked(About):
    """A note with its link counts."""

    outgoing: int
    backlinks: int


class Hub(Linked):
    """A note with many links; ``rank`` is its PageRank. The ranks of all notes sum to 1."""

    rank: float


class Bridge(Linked):
    """A note that connects others; ``share`` is the estimated share of shortest paths through it."""

    share: float


class Cluster(Answer):
    """Notes that link to each other more than to others.

    ``hub`` is the note with the most links inside the cluster; its title names the cluster. ``words`` are the
    most distinctive words of their names and headings. ``created`` and ``changed`` count the notes created
    and changed in the last 30 days. ``notes`` are the first notes by rank.
    """

    hub: About | None
    words: list[str]
    count: int
    created: int
    changed: int
    notes: list[About]


class Components(Answer):
    """The connected parts of the graph with at least two notes, and the number of notes in the largest."""

    count: int
    largest: int


class Node(About):
    """A note on a map; ``cluster`` is the number of its cluster, 0 for the largest."""

    rank: float
    cluster: int | None


class Overview(OfVault):
    """The link structure of a vault, with each list sorted by size.

    ``orphans`` counts notes without backlinks, ``isolated`` those without any links. ``truncated`` lists
    notes with more links than are read. ``nodes`` and ``edges`` are present if requested; an edge is a pair
    of indices into ``nodes``.
    """

    notes: int
    links: int
    orphans: int
    isolated: int
    truncated: list[str]
    components: Components
    hubs: list[Hub]
    bridges: list[Bridge]
    clusters: list[Cluster]
    cluster_count: int
    nodes: NotRequired[list[Node]]
    edges: NotRequired[list[list[int]]]


class Step(About, Judged):
    """A note on a route; ``by`` tells whether it was reached by a link or by meaning, None for the first
    note.

    A link is on line ``line`` of the note ``source``; ``text`` is the text of that line.
    """

    by: Literal["link", "meaning"] | None
    direction: NotRequired[Literal["out", "in", "both"]]
    source: NotRequired[str]
    line: NotRequired[int | None]
    text: NotRequired[str | None]
    cosine: NotRequired[float]


class Routes(OfNote, Judged):
    """The shortest routes from a note to the ``other`` note; empty if neither links nor meaning connect the
    two."""

    other: About
    routes: list[list[Step]]
    partial: list[Lane]
    """If no links connect the notes: the reason why search by meaning was left out."""


class LinkReason(Answer):
    """A reason for a link.

    ``mentioned``: the note mentions the other note on line ``line``; ``mentions``: the other note mentions
    this one on line ``line``; ``links_back``: the other note links to this one; ``cited_together``: ``count``
    notes link to both; ``common_links``: ``count`` notes are linked with both; ``followed``: ``count`` notes
    similar in meaning link to the other note; ``meaning``: the two notes have this ``cosine``.
    """

    kind: Literal[
        "mentioned", "mentions", "links_back", "cited_together", "common_links", "followed", "meaning"
    ]
    line: NotRequired[int]
    count: NotRequired[int]
    cosine: NotRequired[float]


class Suggestion(About):
    """A note that could be linked; ``score`` grows with the evidence."""

    score: float
    likely: bool
    reasons: list[LinkReason]
    link: str
    """The target of a new link to this note, in the style of the vault's settings."""
    source: NotRequired[Titled]
    """The note that would contain the link, if the request named none."""


class StaleItem(Titled):
    """A note to tidy up, and the reason.

    ``kind`` is ``circle``: this note and another one claim to supersede each other; ``missing``: the note's
    successor is missing; ``past_date``: the note is past its date; or ``link``: its ``line`` links to the
    superseded ``target``.
    """

    kind: str
    line: int | None
    target: Successor | None
    currency: Currency
    """The currency of the note; for ``link``, the currency of the target."""
    text: str
    """The reason in a few words."""


class Stale(OfVault):
    """Outdated notes, and links to superseded ones; ``total`` includes items beyond the limit."""

    items: list[StaleItem]
    total: int


class Suggestions(OfVault):
    """Links that may be missing, most likely first; ``markdown`` is true if the vault does not use wikilinks.

    ``next`` is the ``start`` with which to continue if not all of the notes changed last were examined within
    a second; otherwise None.
    """

    suggestions: list[Suggestion]
    markdown: bool
    next: int | None


class GraphNode(Answer):
    """A note in an export; ``cluster`` is the number of its cluster."""

    path: str
    title: str
    modified: str
    rank: float
    cluster: int | None


class GraphExport(OfVault):
    """All notes and links; each link is a pair of indices into ``nodes``; ``clusters`` has the words of each
    cluster."""

    nodes: list[GraphNode]
    links: list[list[int]]
    clusters: list[str]


class Tag(Answer):
    """A tag with its number of notes; ``total`` includes nested tags."""

    tag: str
    count: int
    total: int


class Tags(OfVault, Counted):
    """Every tag."""

    tags: list[Tag]


class Value(Answer):
    """A value of a property with its number of notes."""

    value: str
    count: int


class Property(Answer):
    """A property; ``types`` counts its values of type text, number, boolean, list, mapping and null."""

    name: str
    count: int
    types: dict[str, int]
    distinct: int
    values: list[Value]


class Properties(OfVault, Counted):
    """Every property; if a name is given, ``property`` and its ``values`` instead."""

    properties: NotRequired[list[Property]]
    property: NotRequired[str | None]
    values: NotRequired[list[Value]]


class ListedNote(About, Judged):
    """A note in a list."""


class Orphans(OfVault, Counted):
    """Notes without backlinks."""

    notes: list[ListedNote]


class Alike(Answer):
    """Two similar notes. ``score`` is the mean of ``text`` and ``meaning``, all from 0 to 1."""

    rank: int
    score: float
    text: float
    """The share of common text; text found in many notes does not count."""
    meaning: float
    """The cosine of their vectors; 0 without vectors."""
    notes: list[ListedNote]


class Duplicates(OfVault, Counted):
    """Pairs of notes, most similar first."""

    pairs: list[Alike]
    partial: list[Lane]


class TableColumn(Answer):
    """A column: its id, which is the key of its values in rows, and its heading."""

    id: str
    name: str


class TableRow(Judged):
    """A file with the values of its columns; dates are ISO 8601 in local time, links as written."""

    path: str
    title: str
    modified: NotRequired[str]
    created: NotRequired[str]
    """Only for notes: a day, or a local time with its offset, in ISO 8601."""
    cells: dict[str, Any]


class TableSummary(Answer):
    """A statistic over all values of a column."""

    column: str
    name: str
    value: NotRequired[Any]
    """None if no value of the column has the right type."""


class TableGroup(Answer):
    """The rows with one value of the grouping column; they are consecutive."""

    value: NotRequired[Any]
    """None for the rows without a value."""
    count: int
    summaries: list[TableSummary]


class TableView(Answer):
    """A view of a base."""

    name: str
    type: str


class Table(Answer):
    """A table, which is a view of a base or the notes found by a query."""

    name: str
    """Name of the view; empty for a query."""
    type: str
    path: NotRequired[str | None]
    """The base's file, or the note with its block."""
    line: NotRequired[int | None]
    """Line of the block, or of the embed, in the note."""
    columns: list[TableColumn]
    rows: list[TableRow]
    group: NotRequired[str | None]
    """Heading of the grouping column."""
    groups: list[TableGroup]
    summaries: list[TableSummary]
    count: int
    total: int
    """Number of rows without the limit."""
    problems: list[str]
    """Sentences about errors and unsupported parts."""
    views: list[TableView]


class Tables(OfVault):
    """The tables of a file or of a query; ``count`` is the number of all rows."""

    tables: list[Table]
    count: int
    partial: list[Lane]


_NamedBy = TypedDict(
    "_NamedBy", {"is": NotRequired[Literal["name", "title", "alias", "path", "operator"] | None]}
)


class Item(_NamedBy, Answer):
    """A completion; its other fields depend on its kind. For a note, ``is`` tells which kind of name ``text``
    is; ``operator`` is the name of a filter."""

    text: str
    match: Literal["prefix", "word", "inside", "fuzzy", "missing"]
    path: NotRequired[str | None]
    """For a note: its path; for a missing note, the path at which it would be created."""
    title: NotRequired[str | None]
    """For a note: its title."""
    level: NotRequired[int | None]
    """For a heading: its level."""
    line: NotRequired[int | None]
    """For a heading or block: its line, 1-based."""
    of: NotRequired[str | None]
    """For a block: its text."""
    replaces: NotRequired[int]
    """For a query: the number of characters before the cursor that ``text`` replaces."""
    about: NotRequired[str | None]
    """For an operator of a query: the meaning of its value."""
    count: NotRequired[int | None]
    """For a tag, property, value, folder or extension: its number of notes; for a missing name, the number
    of notes linking to it."""
    link: NotRequired[str | None]
    """With ``source``: the target of a link from that note, in the style of the vault."""


class Completions(OfVault):
    """Completions, most likely first."""

    kind: str
    items: list[Item]
    markdown: NotRequired[bool]
    """With ``source``: True if the vault uses Markdown links."""


class Similar(Answer):
    """A note whose name is similar to a missing name, and the target of a link to this note."""

    text: str
    path: str
    link: str


class ResolvedLink(Answer):
    """The target of a link: a file and a line in it, both None if the target is missing."""

    resolved: str | None
    title: str | None
    target_line: int | None
    """Line of the heading or block, 1-based."""
    candidates: list[str]
    """Other files that the link may mean."""
    by_alias: bool
    problem: Literal["missing_note", "missing_heading", "missing_block", "ambiguous"] | None
    message: str | None
    """The problem in words."""
    moved: NotRequired[str | None]
    """With ``moves``: the new target to write."""
    create: NotRequired[str | None]
    """Path at which a missing note would be created."""
    similar: NotRequired[list[Similar]]
    """Notes with names similar to that of the missing note."""


class Resolved(OfVault):
    """Links in the order of the request."""

    links: list[ResolvedLink]
    markdown: bool
    """True if the vault uses Markdown links."""


class PlacedProblem(Answer):
    """A problem of a note: a link, with its columns, or another part that could not be read."""

    path: str
    line: int | None
    column: int | None
    end_column: int | None
    code: str
    message: str
    target: str | None
    """For a link: its target as written."""


class Problems(OfVault, Counted):
    """Problems, sorted by path and line."""

    problems: list[PlacedProblem]


class NamedNote(Answer):
    """A note named in a text."""

    path: str
    title: str
    link: str
    """The target of a link to this note."""


class NamePlace(Answer):
    """A piece of text that is the name of one or more notes; ``line`` is the number of its line in the
    request, from 1."""

    line: int
    column: int
    end_column: int
    name: str
    notes: list[NamedNote]


class Mentioned(OfVault):
    """Names of notes in a text."""

    mentions: list[NamePlace]
    markdown: bool
    """True if the vault uses Markdown links."""


class ProposedEdit(Answer):
    """Replacement of ``old``, a piece of a line."""

    path: str
    line: int
    column: int
    end_column: int
    old: str
    new: str


class Rename(OfVault):
    """The edits that a rename needs, with current paths; nothing is written."""

    edits: list[ProposedEdit]
    notes: int
    """Number of notes with edits."""
    left: list[str]
    """Files to change by hand, because the place of a link or tag is unknown, or a base or query names a
    path."""


_KnownFrom = TypedDict("_KnownFrom", {"from": Literal["config", "added", "request"]})


class Vault(_KnownFrom, Answer):
    """A vault; ``from`` tells whether it comes from the configuration, from ``vault/add``, or from a request
    that named its folder."""

    name: str
    path: str
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


class WorkerStatus(Explained):
    """The semantic worker."""

    status: Literal["down", "starting", "ready", "broken"]
    model: str | None
    pid: NotRequired[int | None]
    memory_bytes: NotRequired[int | None]
    restarts: NotRequired[int]
    doing: NotRequired[str]
    """Current work, in words."""
    computing: NotRequired[str | None]
    """Description of how vectors are computed."""
    sends: NotRequired[str | None]
    """Description of the text that is sent to each server."""


class DaemonStatus(Answer):
    """The daemon itself."""

    pid: int
    version: str
    uptime_seconds: float
    memory_bytes: int
    config: str | None
    socket: str
    addresses: dict[str, str | None]
    """The addresses of a team's server in the settings, each with the reason if it cannot be used, or None.
    ``daemon.tcp`` stands for the daemon's own port, and is present only if the port cannot be used."""
    shards_problem: str | None
    """The reason why a searcher cannot list the vaults of the engine, or None."""
    worker: WorkerStatus


class LaneStatus(Explained):
    """The state of a lane; ``up`` is true if the lane takes part in searches."""

    up: bool


class NoteProblem(Answer):
    """A problem of a note."""

    path: str
    code: str
    message: str
    line: int | None


class VaultModels(Answer, total=False):
    """The models of one vault, by their names in the settings; empty until the vault is open."""

    main: str
    why: str | None
    """The reason for choosing ``main``."""
    only_english: bool
    """True if ``main`` supports only English."""
    second: str | None
    """Model for questions in other languages."""
    second_notes_left: int | None
    """Number of notes without up-to-date vectors of ``second``; None while it is unknown."""
    second_problem: str | None
    """The reason why vectors of ``second`` cannot be computed now."""
    advice: str | None
    """Advice on installing a model for other languages."""


class VaultStatus(Index, Explained):
    """One vault; ``problems`` contains the first of ``problem_count``."""

    name: str
    path: str
    state: str
    lanes: dict[str, LaneStatus]
    problems: list[NoteProblem]
    problem_count: int
    models: NotRequired[VaultModels]
    embeddings_computed: NotRequired[int]
    """Number of embeddings computed since the index was created."""
    share: NotRequired[float]
    """Estimated share of the index that is complete."""
    rate: NotRequired[float]
    """Vectors per second."""
    eta_seconds: NotRequired[float | None]
    """Estimated remaining seconds, or None."""
    last_change: NotRequired[float | None]
    """Seconds since the epoch."""


class IndexedVault(VaultStatus):
    """A completely indexed vault."""

    remembered: NotRequired[bool]
    """True if this call added the vault."""


class TextsToEmbed(OfVault):
    """Texts without vectors, and the model to use."""

    model: str
    """Name of the model, as in the settings."""
    fingerprint: str
    """Identity of the model; vectors of other models are refused."""
    texts: dict[str, str]
    """Texts by key, in the order in which they were added; empty if no text is waiting at the moment."""
    next: str
    """Position after these texts, for ``after``."""


class KeptVectors(OfVault):
    """Vectors stored in the ledger."""

    kept: int
    """Number of vectors that were usable and new."""


class Refreshed(OfVault):
    """A vault compared with the disk."""

    remembered: NotRequired[bool]
    """True if this call added the vault."""


class Compacted(OfVault):
    """A vault whose index no longer contains deleted text."""

    bytes: int
    """Size of all index files in bytes."""
    freed_bytes: int
    """Bytes by which the index shrank."""


class EngineNumber(Answer):
    """A count in the ledger and in the engine."""

    of: str
    """Unit of the counts: notes, passages, or vectors or second vectors of either."""
    ledger: int
    engine: int | None
    """None if the engine currently does not answer."""


class Verified(OfVault):
    """A vault's counts in its engine, compared with its ledger."""

    engine: str
    """The engine's name, as in `index.backend`."""
    place: str | None
    """The address or file of the engine; None for the embedded one."""
    numbers: list[EngineNumber]
    pending: int
    """Number of notes to read plus vectors to store; it may explain a difference."""
    same: bool
    """True if all counts are equal."""
    reason: str | None
    """The reason why some counts are missing."""


class ComparedSearch(Answer):
    """A search before and after a move."""

    query: str
    notes: int
    """Number of first notes of the search before the move."""
    again: int
    """Number of these notes that are also among the first notes after the move."""


class MovedVault(OfVault):
    """A vault after a move."""

    same: bool
    """True if all counts are equal."""
    reason: str | None
    """The reason why some counts are missing."""
    numbers: list[EngineNumber]
    searches: list[ComparedSearch]
    unsearched: str | None
    """The reason why no searches were made before the move."""


class Moved(Answer):
    """The vaults in an engine, compared with their ledgers and with the searches before a move."""

    engine: str
    """embedded or postgres."""
    place: str | None
    """The address of the engine; None for the embedded one."""
    former: str | None
    """The former server, which keeps its copy."""
    was_there: bool
    """True if there was nothing to move, not even the rest of an interrupted move."""
    same: bool
    """True if all counts are equal, and nine in ten of the notes are found again."""
    vaults: list[MovedVault]


class Status(Answer):
    """The daemon and its vaults."""

    daemon: DaemonStatus
    vaults: list[VaultStatus]


class Progress(Answer):
    """Progress of a vault; ``eta_seconds`` is an estimate, or None."""

    vault: str
    phase: str
    """``reading``, ``embedding`` or ``done``."""
    share: NotRequired[float]
    """Estimated share done, 0 to 1: notes read, vectors computed."""
    waiting_for: NotRequired[str | None]
    """The reason why no vectors can be computed now, or None."""
    notes: int
    notes_done: int
    notes_total: int
    chunks: int
    embedded: int
    pending: int
    rate: float
    eta_seconds: float | None


class Changed(OfVault):
    """Notes that were added, changed or removed; ``more`` is true if the list is incomplete."""

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
    """The daemon, and the protocol version in use."""

    protocol_version: int
    server: Server
    capabilities: Capabilities
    proof: NotRequired[str | None]
    """On the port only: the proof from the address file."""


class Done(Answer):
    """An empty object."""


class Schemas(Answer):
    """Parameters and answer of each method, and parameters of each notification, as JSON Schema."""

    methods: dict[str, dict[str, Any]]
    notifications: dict[str, dict[str, Any]]
