"""Answer types of all protocol methods: the single source for validation, JSON Schema and the clients' types.

``NotRequired`` fields may be missing, and answers may contain fields that are not listed here.
"""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic accepts ``typing.TypedDict`` only from Python 3.12 on

from vaultseek.base.model import LinkKind, ReasonCode


class Answer(TypedDict):
    """An object whose named fields are always present; clients ignore unknown fields."""


class OfVault(Answer):
    """The vault that an answer is about."""

    vault: str
    vault_path: str
    """Absolute, resolved folder of the vault, to which note paths are relative; empty on a searcher, a daemon
    that has only the index."""


class Titled(Answer):
    """A note's path, title and file name."""

    path: str
    title: str
    file_name: NotRequired[str | None]
    """The file name without extension, if it differs from the title."""


class About(Titled):
    """Basic facts about a note. ``modified`` is a local time with its offset: ``2026-03-16T00:30:00+01:00``.

    ``created`` is the day (``2026-03-16``) or time stated in the note or its file name; if neither states
    one, ``created`` equals ``modified``. Times are in the client's time zone; days do not depend on the time
    zone.
    """

    kind: NotRequired[str]
    """The kind of file: note, canvas, base, excalidraw, text, org, html, pdf, image or session."""
    tags: list[str]
    modified: str
    created: str


class OfNote(OfVault, Titled):
    """The note that an answer is about, with its vault."""


class LanePart(Answer):
    """Rank and score of a note in one lane (kind of search); each lane has its own scale for ``score``."""

    rank: int | None
    """Rank, counted from 1; None if only other lanes found the note."""
    score: float | None
    fused_rank: NotRequired[float | None]
    """With ``explain``: the rank from which ``contribution`` is computed."""
    weight: NotRequired[float | None]
    """With ``explain``: the weight of the lane."""
    contribution: NotRequired[float | None]
    """With ``explain``: weight / (k + rank), or the weighted normalised score."""
    baseline: NotRequired[float | None]
    """With ``explain``: the contribution of a note that the lane did not find."""
    gain: NotRequired[float | None]
    """With ``explain``: contribution minus baseline, the part that counts."""


class Advice(Answer):
    """A recommended action; ``names`` are the vaults to choose from, or the vault, model or extra to act
    on."""

    kind: str
    names: list[str]


class Explained(Answer):
    """A state and its reason; ``code`` and ``reason`` are None if all is well."""

    code: ReasonCode | None
    reason: str | None
    advice: NotRequired[Advice]


class Lane(Answer):
    """A lane that was left out of a search, and the reason. ``lane`` is ``vault`` if notes may be missing
    from the answer."""

    lane: str
    code: ReasonCode
    reason: str
    advice: NotRequired[Advice]


class Remark(Answer):
    """A sentence for the person who reads the results; every user interface shows it."""

    code: Literal["no_match", "closest", "query", "incomplete", "waiting"]
    text: str
    """The text of the remark, which begins with a lower-case letter and has no final full stop."""
    advice: NotRequired[Advice]


class Index(Answer):
    """Numbers of notes, passages and vectors in the index."""

    notes: int
    chunks: int
    embedded: int
    pending: int
    """Number of notes to read plus number of vectors to compute."""
    revision: int | None
    """Revision of the index; None for a token that may see only part of the vault."""


class Reranked(Answer):
    """Score given by the cross-encoder, in [0, 1], and the note's rank before reranking."""

    score: float
    rank_before: int
    score_before: NotRequired[float | None]
    """With ``explain``: the note's own score; after reranking, the displayed score belongs to the rank, not
    to the note."""


class Arithmetic(Answer):
    """The components of a score.

    ``score = min(1, ((gain * recency + time) * anchors * bound * joined + name + opened + succession) /
    best)``; 1 if ``best`` is 0.
    """

    gain: float
    """Sum of the gains of all lanes."""
    recency: float
    """Factor for the note's age, applied to part of the score."""
    anchors: float
    """Factor for a note that contains the query's identifiers or phrases, or has the query's words in a
    name."""
    bound: float
    """Factor that ranks a note lower if only a link led to it, or if its name contains only the stem of a
    query word."""
    joined: float
    """Factor for a note linked to a better result, if the two together contain much of the query."""
    time: float
    """Gain of a note that dates from the period named in the query."""
    name: float
    """Gain of a note whose name matches the query."""
    opened: float
    """Gain of a note that is pinned to this query, or was opened from the query's results in the past."""
    succession: float
    """Gain of a note that replaces a better result."""
    best: float
    """The value by which all scores are divided."""


class Successor(Answer):
    """A note that replaces another note."""

    path: str
    title: str


class Currency(Answer):
    """The reason why a note, or the passage shown, is outdated, or why a note ranks above the note that it
    replaces."""

    state: str
    """``superseded``: replaced by other notes, or declared outdated in its own text; ``stale``: past its
    expiry date; ``struck``: the line shown is struck out; ``successor``: the note replaces another result."""
    by: list[Successor]
    """The last note of each chain of successors; if all chains lead back to the note, its direct
    successors."""
    replaces: list[Successor]
    """For a successor: the results that it replaces."""
    missing: list[str]
    """Names of missing successors."""
    since: str | None
    """The day on which the note became stale."""
    text: str
    """A short summary of the other fields."""


class Judged(Answer):
    """An object that describes a note. ``currency`` is present only if the note is not current."""

    currency: NotRequired[Currency]


class Via(Answer):
    """The note that led to another note through a link between the two."""

    path: str
    title: str


class IndexNow(Index, Explained):
    """State of the index when the answer was computed; ``state`` has the same values as in
    ``index/status``."""

    state: str


class Result(Titled):
    """A note in the answer to a search. Scores are in [0, 1]; the best note has 1."""

    rank: int
    kind: NotRequired[str]
    """The kind of file: note, canvas, base, excalidraw, text, org, html, pdf, image or session."""
    score: float
    certainty: float
    """Probability that the note is the one searched for, in [0, 1]. It never increases down the list, and is
    1 if the query has only filters."""
    modified: str
    created: str
    """The day or time stated in the note or its file name, otherwise the modification time."""
    heading_path: list[str]
    """Headings of the passage; empty if ``brief`` left the passage out."""
    start_line: int
    """First line of the passage; 1 if ``brief`` left the passage out."""
    currency: NotRequired[Currency | None]
    """Currency of the note; None if the note is current and replaces no other result."""


class FurtherPassage(Answer):
    """Another passage of a note, with the same fields as the best passage in a result."""

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
    """The part of the file that contains the passage, such as a page of a PDF or a node of a canvas; used in
    links of the form ``path#place``."""
    chunk_id: str | None
    end_line: int
    line: int
    """The line, within the passage, that contains the most query words."""
    column: int
    """Column in ``line`` at which the first query word begins, counted from 1."""
    line_text: str
    """The text of ``line``, shortened if it is long."""
    property: str | None
    """Name of the property that matched, if the text did not match; ``preview`` shows the property."""
    preview: str
    highlights: list[list[int]]
    """Character ranges ``[start, end)`` in ``preview`` to highlight."""
    tags: list[str]
    lanes: dict[str, LanePart | None]
    passages: list[FurtherPassage]
    """With ``passages``: further matching passages, best first."""
    via: Via | None
    """The linked note that led to this note, if no lane found this note directly."""
    recency: float
    confidence: float | None
    """Similarity of the note to the query, in [0, 1], independent of other results."""
    rerank: Reranked | None
    """Result of the cross-encoder; None if the note was not reranked."""
    arithmetic: Arithmetic | None
    """With ``explain``: the components of the score."""
    search_method: str
    vectorRank: int | None
    """Same value as ``lanes.semantic.rank``, under a name that other tools use."""
    bm25Rank: int | None
    """Same value as ``lanes.keyword.rank``, under a name that other tools use."""
    content_preview: str
    """Same value as ``preview``, under a name that other tools use."""


class Time(Answer):
    """A period named in the query, with its first and last day."""

    text: str
    first: str
    last: str


class Interpreted(Answer):
    """The interpretation of the query."""

    rank_text: str
    """The words used for ranking; empty if the query has only filters."""
    time: Time | None
    """The period named in the query, or None; notes from this period rank higher."""
    phrases: list[str]
    filters: list[str]
    """All filters of the query, in words."""
    notes: list[str]
    """The parts of the query that were ignored, each with the reason."""


class Nearest(Answer):
    """The note closest to a query that has no good match."""

    path: str
    confidence: float


class Summary(Answer):
    """General facts about a list of results."""

    search_method: str
    """The lanes that answered: keyword, semantic, hybrid (both) or filter (neither)."""
    took_ms: float
    count: int
    weak: NotRequired[bool]
    """True if none of the best notes contains many of the query's words or resembles the query in meaning."""
    substitutes: NotRequired[bool]
    """True if no note has any of the query's words, and similar words were searched for instead."""
    less_certain: NotRequired[int]
    """Number of unlikely results at the end; user interfaces collapse them."""
    total: NotRequired[int | None]
    """Number of matching notes, if the query has only filters."""


class VaultSearch(OfVault, Summary):
    """One vault's part of an answer about several vaults."""

    partial: list[Lane]
    """The lanes that were left out."""
    index: IndexNow
    nearest: NotRequired[Nearest | None]
    """The closest note; present only if no note is similar enough."""


class Search(VaultSearch):
    """Results of a search, best first."""

    query: str
    mode: str
    results: list[FullResult]
    interpreted: Interpreted
    remarks: list[Remark]
    explain: NotRequired[dict[str, Any] | None]
    """With ``explain``: details of how the lanes were combined."""


class FullResultOfVault(FullResult, OfVault):
    """A result with its vault."""


class LaneOfVault(Lane):
    """A lane that was left out when one of the vaults was searched."""

    vault: str


class SearchAll(Summary):
    """Results of a search of several vaults, best first."""

    query: str
    mode: str
    results: list[FullResultOfVault]
    partial: list[LaneOfVault]
    interpreted: Interpreted
    remarks: list[Remark]
    vaults: list[VaultSearch]


class Lines(Answer):
    """A range of lines in a note, 1-based and inclusive."""

    path: str
    start_line: int
    end_line: int


class LineRange(Answer):
    """A range of lines, 1-based and inclusive."""

    start_line: int
    end_line: int


class EvidencePassage(Lines):
    """Lines of a note, to help answer a question; ``cut`` is true if the passage continues after these
    lines."""

    title: str
    heading_path: list[str]
    place: str | None
    """The part of the file that contains the lines, such as ``page=3``."""
    modified: str
    created: str
    currency: Currency | None
    """Currency of the note; None if the note is current."""
    block: LineRange | None
    """The line range of the whole block, such as a table, that contains these lines."""
    opening: str | None
    """The text that opens the block above these lines, such as the header row of a table."""
    text: str
    cut: bool


class Context(OfVault):
    """Evidence for a question, in reading order.

    ``text`` contains all the evidence, with the source and day of each passage; ``left_out`` lists the
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
    """Rank and score of a note in one lane, or the reason why the lane did not find the note."""

    rank: int | None
    score: float | None
    code: NotRequired[ReasonCode | None]
    reason: NotRequired[str | None]
    of: NotRequired[int | None]
    """Number of notes that the lane found."""
    matched: NotRequired[list[str] | None]
    """The query's words that occur in the note."""


class Condition(Answer):
    """A filter of the query; ``satisfied`` is true if the note matches it."""

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
    """The headings and the line range of a passage in a note."""

    chunk_id: str
    heading_path: list[str]
    start_line: int
    end_line: int


class Note(OfVault, About, Judged):
    """A note and the text of a range of its lines, 1-based and inclusive."""

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
    """True on a searcher, which returns the text from its index, with blank lines in place of the
    properties."""


class RelatedNote(About, Judged):
    """A note similar to another note; ``link`` is the direction of a link between the two, or None."""

    rank: int
    score: float
    link: Literal["out", "in", "both"] | None
    lanes: dict[str, LanePart]
    preview: str


class Related(OfNote, Judged):
    """Notes similar to a given note, best first."""

    results: list[RelatedNote]
    partial: list[Lane]
    remarks: list[Remark]


class Link(Answer):
    """A link as written in a note, and its line."""

    kind: LinkKind
    target: str
    heading: str | None
    block: str | None
    alias: str | None
    line: int
    property: str | None
    column: NotRequired[int | None]
    """Column at which the link begins, counted from 1."""
    end_column: NotRequired[int | None]
    """Column just after the link, on the same line."""


class OutgoingLink(Link, Judged):
    """A link in the note. ``resolved`` is the target's path, or None if the target is missing; ``currency``
    describes the target."""

    resolved: str | None
    title: str | None
    modified: NotRequired[str | None]
    """Modification time of the target."""
    created: NotRequired[str | None]


class PlacedLink(Link, Judged):
    """A link, with the note that contains it and the text of its line."""

    path: str
    title: str
    text: str | None
    modified: NotRequired[str | None]
    created: NotRequired[str | None]


class Counted(Answer):
    """A list that contains ``count`` of ``total`` items."""

    count: int
    total: int


class Kept(OfVault):
    """The result of reporting that a note was opened or that an agent was given an answer."""

    kept: bool
    """True if the report was added to the history; False if recording is off."""


class OpenedNote(Answer):
    """A note that was opened from the results of a query."""

    query: str
    path: str
    position: int
    """Rank of the note among the results, counted from 1."""
    time: str
    """Time at which the note was opened: a local time with its offset, in ISO 8601."""
    client: str
    """Name of the client with which the note was opened."""


class History(OfVault, Counted):
    """Notes opened from search results, latest first."""

    opened: list[OpenedNote]
    learn: bool
    """True if opened notes are recorded."""


class GivenNote(Answer):
    """A note in an answer to an agent, and the lines shown; the lines are None if the note was only
    mentioned."""

    path: str
    start_line: int | None
    end_line: int | None


class GivenAnswer(Answer):
    """An answer that was given to an agent."""

    time: str
    """Time of the answer: a local time with its offset, in ISO 8601."""
    agent: str
    """Name of the agent, or of the program that passed the answer to the agent."""
    tool: str
    question: str
    tokens: int
    notes: list[GivenNote]


class HidingEntry(Answer):
    """An entry of ``[agents] hide``, and the number of files that it hides in the vault (0 for a misspelt
    entry)."""

    entry: str
    files: int


class AgentHistory(OfVault, Counted):
    """Answers given to agents, latest first."""

    given: list[GivenAnswer]
    record: bool
    """True if answers are recorded."""
    hidden: list[HidingEntry]
    """The entries of ``[agents] hide``, with the number of files that each entry hides."""


class Forgotten(OfVault):
    """The number of opened notes, or of answers to agents, that were deleted from the history."""

    forgotten: int


class Outgoing(OfNote, Counted, Judged):
    """Links in a note, in document order."""

    links: list[OutgoingLink]


class Backlinks(OfNote, Counted, Judged):
    """Links from other notes to a note."""

    links: list[PlacedLink]


class Unresolved(OfVault, Counted):
    """Links whose target is missing."""

    links: list[PlacedLink]


class Mention(About, Judged):
    """A line of a note that mentions the requested note by ``name``."""

    line: int
    name: str
    text: str
    """The line or, if it is long, the part around the name; ``…`` at the beginning marks omitted text."""
    highlights: list[list[int]]
    """Character range ``[start, end)`` of the name in ``text``."""


class Unlinked(OfNote, Counted, Judged):
    """Mentions of a note that are not links."""

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
    """The notes around a note; each edge is a pair of paths: source and target."""

    depth: int
    notes: list[Neighbor]
    edges: list[list[str]]
    total: int


class Linked(About):
    """A note with its link counts."""

    outgoing: int
    backlinks: int


class Hub(Linked):
    """A note with many links; ``rank`` is its PageRank. The PageRank values of all notes sum to 1."""

    rank: float


class Bridge(Linked):
    """A note that connects other notes; ``share`` is the estimated fraction of shortest paths passing through
    the note."""

    share: float


class Cluster(Answer):
    """Notes that link to each other more than to other notes.

    ``hub`` is the note with the most links inside the cluster; its title names the cluster. ``words`` are the
    most distinctive words in the notes' names and headings. ``created`` and ``changed`` count the notes
    created and changed in the last 30 days. ``notes`` are the notes with the highest PageRank.
    """

    hub: About | None
    words: list[str]
    count: int
    created: int
    changed: int
    notes: list[About]


class Components(Answer):
    """The connected components with at least two notes: their number, and the number of notes in the
    largest."""

    count: int
    largest: int


class Node(About):
    """A note on a map; ``cluster`` is the number of its cluster (0 is the largest), or None."""

    rank: float
    cluster: int | None


class Overview(OfVault):
    """The link structure of a vault; each list is sorted in descending order.

    ``orphans`` counts notes without backlinks, and ``isolated`` counts notes without any links. ``truncated``
    lists notes with so many links that some were not read. ``nodes`` and ``edges`` are present if requested;
    an edge is a pair of indices into ``nodes``.
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
    """A note on a route; ``by`` shows whether a link or similar meaning led to it, and is None for the first
    note.

    If a link led to it, the link is on line ``line`` of the note ``source``; ``text`` is the text of that
    line.
    """

    by: Literal["link", "meaning"] | None
    direction: NotRequired[Literal["out", "in", "both"]]
    source: NotRequired[str]
    line: NotRequired[int | None]
    text: NotRequired[str | None]
    cosine: NotRequired[float]


class Routes(OfNote, Judged):
    """The shortest routes from a note to the note ``other``; empty if neither links nor similar meaning
    connect the two notes."""

    other: About
    routes: list[list[Step]]
    partial: list[Lane]
    """The reason why search by meaning was left out, if no links connect the notes."""


class LinkReason(Answer):
    """A reason for a link.

    ``mentioned``: the note mentions the other note on line ``line``; ``mentions``: the other note mentions
    this note on line ``line``; ``links_back``: the other note links to this one; ``cited_together``:
    ``count`` notes link to both notes; ``common_links``: ``count`` notes have a link to or from each of the
    two notes; ``followed``: ``count`` notes similar in meaning link to the other note; ``meaning``:
    ``cosine`` is the similarity of the two notes' vectors.
    """

    kind: Literal[
        "mentioned", "mentions", "links_back", "cited_together", "common_links", "followed", "meaning"
    ]
    line: NotRequired[int]
    count: NotRequired[int]
    cosine: NotRequired[float]


class Suggestion(About):
    """A note to which a link could be added; a higher ``score`` means stronger evidence."""

    score: float
    likely: bool
    reasons: list[LinkReason]
    link: str
    """The target to write in a new link to this note, in the style of the vault's settings."""
    source: NotRequired[Titled]
    """The note that would contain the link; present only if the request names no note."""


class StaleItem(Titled):
    """A note that needs attention, and the reason.

    ``kind`` is ``circle``: this note and another note claim to supersede each other; ``missing``: the note's
    successor is missing; ``past_date``: the note is past its expiry date; or ``link``: the note's line
    ``line`` links to ``target``, which is superseded.
    """

    kind: str
    line: int | None
    target: Successor | None
    currency: Currency
    """The currency of the note; for ``link``, the currency of the target."""
    text: str
    """The reason in a few words."""


class Stale(OfVault):
    """Outdated notes, and links to superseded notes; ``total`` includes items beyond the limit."""

    items: list[StaleItem]
    total: int


class Suggestions(OfVault):
    """Links that may be missing, most likely first; ``markdown`` is true if the vault uses Markdown links.

    If one second is not enough to examine all recently changed notes, ``next`` is the ``start`` for the next
    request; otherwise it is None.
    """

    suggestions: list[Suggestion]
    markdown: bool
    next: int | None


class GraphNode(Answer):
    """A note in an export; ``cluster`` is the number of its cluster, or None."""

    path: str
    title: str
    modified: str
    rank: float
    cluster: int | None


class GraphExport(OfVault):
    """All notes and links. Each link is a pair of indices into ``nodes``; ``clusters`` contains the
    distinctive words of each cluster."""

    nodes: list[GraphNode]
    links: list[list[int]]
    clusters: list[str]


class Tag(Answer):
    """A tag and its number of notes; ``total`` includes notes with nested tags."""

    tag: str
    count: int
    total: int


class Tags(OfVault, Counted):
    """All tags of the vault."""

    tags: list[Tag]


class Value(Answer):
    """A value of a property, and the number of notes with this value."""

    value: str
    count: int


class Property(Answer):
    """A property; ``types`` counts its values by type: text, number, boolean, list, mapping or null."""

    name: str
    count: int
    types: dict[str, int]
    distinct: int
    values: list[Value]


class Properties(OfVault, Counted):
    """All properties of the vault or, if the request names a property, ``property`` and its ``values``."""

    properties: NotRequired[list[Property]]
    property: NotRequired[str | None]
    values: NotRequired[list[Value]]


class ListedNote(About, Judged):
    """A note in a list."""


class Orphans(OfVault, Counted):
    """Notes without backlinks."""

    notes: list[ListedNote]


class Alike(Answer):
    """Two similar notes. ``score`` is the mean of ``text`` and ``meaning``, and all three are in [0, 1]."""

    rank: int
    score: float
    text: float
    """Share of the text that the two notes have in common; text found in many notes is ignored."""
    meaning: float
    """Cosine of the two notes' vectors; 0 if there are no vectors."""
    notes: list[ListedNote]


class Duplicates(OfVault, Counted):
    """Pairs of similar notes, most similar first."""

    pairs: list[Alike]
    partial: list[Lane]


class TableColumn(Answer):
    """A column; ``id`` is the key of its values in ``cells``, ``name`` its heading."""

    id: str
    name: str


class TableRow(Judged):
    """A file and its value in each column; dates are ISO 8601 in local time, and links are as written."""

    path: str
    title: str
    modified: NotRequired[str]
    created: NotRequired[str]
    """Only for notes: the day, or the local time with its offset, in ISO 8601."""
    cells: dict[str, Any]


class TableSummary(Answer):
    """A statistic over all values of a column."""

    column: str
    name: str
    value: NotRequired[Any]
    """Value of the statistic; None if no value in the column has the right type."""


class TableGroup(Answer):
    """A group of consecutive rows with the same value in the grouping column."""

    value: NotRequired[Any]
    """The common value; None for rows without a value."""
    count: int
    summaries: list[TableSummary]


class TableView(Answer):
    """A view of a base."""

    name: str
    type: str


class Table(Answer):
    """A table: a view of a base, or the notes found by a query."""

    name: str
    """Name of the view; empty for a query."""
    type: str
    path: NotRequired[str | None]
    """Path of the base, or of the note that contains the base as a block."""
    line: NotRequired[int | None]
    """Line of the note on which the base's block or embed begins."""
    columns: list[TableColumn]
    rows: list[TableRow]
    group: NotRequired[str | None]
    """Heading of the grouping column."""
    groups: list[TableGroup]
    summaries: list[TableSummary]
    count: int
    total: int
    """Number of rows before the limit is applied."""
    problems: list[str]
    """Messages about errors and unsupported features."""
    views: list[TableView]


class Tables(OfVault):
    """The tables in a file or for a query; ``count`` is the number of rows in all tables."""

    tables: list[Table]
    count: int
    partial: list[Lane]


_NamedBy = TypedDict(
    "_NamedBy", {"is": NotRequired[Literal["name", "title", "alias", "path", "operator"] | None]}
)


class Item(_NamedBy, Answer):
    """A completion; most fields depend on its kind. For a note, ``is`` is the kind of its name in ``text``;
    for a filter of a query, it is ``operator``."""

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
    """For an operator of a query: a description of its value."""
    count: NotRequired[int | None]
    """For a tag, property, value, folder or extension: its number of notes; for a missing name, the number of
    notes that link to it."""
    link: NotRequired[str | None]
    """With ``source``: the target to write in a link from that note, in the style of the vault."""


class Completions(OfVault):
    """Completions, most likely first."""

    kind: str
    items: list[Item]
    markdown: NotRequired[bool]
    """With ``source``: True if the vault uses Markdown links."""


class Similar(Answer):
    """A note with a name similar to a missing note's name, and the target to write in a link to this note."""

    text: str
    path: str
    link: str


class ResolvedLink(Answer):
    """The target of a link: a file and a line in it; both are None if the target is missing."""

    resolved: str | None
    title: str | None
    target_line: int | None
    """Line of the heading or block, 1-based."""
    candidates: list[str]
    """Other files to which the link may refer."""
    by_alias: bool
    problem: Literal["missing_note", "missing_heading", "missing_block", "ambiguous"] | None
    message: str | None
    """Description of the problem."""
    moved: NotRequired[str | None]
    """With ``moves``: the target to write after the move."""
    create: NotRequired[str | None]
    """Path at which a missing note would be created."""
    similar: NotRequired[list[Similar]]
    """Notes whose names are similar to the missing note's name."""


class Resolved(OfVault):
    """The targets of links, in the order of the request."""

    links: list[ResolvedLink]
    markdown: bool
    """True if the vault uses Markdown links."""


class PlacedProblem(Answer):
    """A problem in a note: a faulty link, with its columns, or a part that could not be read."""

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
    """A note named in the text of a request."""

    path: str
    title: str
    link: str
    """The target to write in a link to this note."""


class NamePlace(Answer):
    """A piece of text that is the name of one or more notes; ``line`` is its line in the request, 1-based."""

    line: int
    column: int
    end_column: int
    name: str
    notes: list[NamedNote]


class Mentioned(OfVault):
    """Note names that occur in the text of the request."""

    mentions: list[NamePlace]
    markdown: bool
    """True if the vault uses Markdown links."""


class ProposedEdit(Answer):
    """An edit that replaces the text ``old`` in a line with ``new``."""

    path: str
    line: int
    column: int
    end_column: int
    old: str
    new: str


class Rename(OfVault):
    """The edits required by a rename, with current paths; no file is changed."""

    edits: list[ProposedEdit]
    notes: int
    """Number of notes with edits."""
    left: list[str]
    """Files to edit by hand, because the position of a link or tag in them is unknown, or because a base or
    query in them contains a path."""


_KnownFrom = TypedDict("_KnownFrom", {"from": Literal["config", "added", "request"]})


class Vault(_KnownFrom, Answer):
    """A vault; ``from`` shows whether the vault was set in the configuration, added by ``vault/add``, or
    opened by a request that named its folder."""

    name: str
    path: str
    state: str
    notes: int


class Vaults(Answer):
    """All vaults."""

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
    """State of the semantic worker, the process that computes vectors."""

    status: Literal["down", "starting", "ready", "broken"]
    model: str | None
    pid: NotRequired[int | None]
    memory_bytes: NotRequired[int | None]
    restarts: NotRequired[int]
    doing: NotRequired[str]
    """Description of the current work."""
    computing: NotRequired[str | None]
    """Description of how vectors are computed."""
    sends: NotRequired[str | None]
    """Description of the text that is sent to each server."""


class DaemonStatus(Answer):
    """State of the daemon process."""

    pid: int
    version: str
    uptime_seconds: float
    memory_bytes: int
    config: str | None
    socket: str
    addresses: dict[str, str | None]
    """The addresses of a team's server in the settings, each with the reason why it cannot be used, or None.

    ``daemon.tcp`` stands for the daemon's own port, and is present only if that port cannot be used.
    """
    shards_problem: str | None
    """The reason why a searcher cannot list the vaults in the engine, or None."""
    worker: WorkerStatus


class LaneStatus(Explained):
    """The state of a lane; ``up`` is true if the lane takes part in searches."""

    up: bool


class NoteProblem(Answer):
    """A problem in a note."""

    path: str
    code: str
    message: str
    line: int | None


class VaultModels(Answer, total=False):
    """Names of the models used by one vault, as in the settings; empty until the vault is open."""

    main: str
    why: str | None
    """The reason for choosing ``main``."""
    only_english: bool
    """True if ``main`` supports only English."""
    second: str | None
    """Name of the model for questions in other languages."""
    second_notes_left: int | None
    """Number of notes without up-to-date vectors from the model ``second``; None if unknown."""
    second_problem: str | None
    """The reason why the model ``second`` cannot compute vectors now."""
    advice: str | None
    """Advice on installing a model for other languages."""


class VaultStatus(Index, Explained):
    """State of a vault; ``problems`` contains the first few of all ``problem_count`` problems."""

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
    """Estimated share of the index that is complete, in [0, 1]."""
    rate: NotRequired[float]
    """Vectors per second."""
    eta_seconds: NotRequired[float | None]
    """Estimated seconds until the index is complete, or None."""
    last_change: NotRequired[float | None]
    """Time of the last change, in seconds since the epoch."""


class IndexedVault(VaultStatus):
    """A completely indexed vault."""

    remembered: NotRequired[bool]
    """True if this call added the vault."""


class TextsToEmbed(OfVault):
    """Texts that need vectors, and the model that must compute them."""

    model: str
    """Name of the model, as in the settings."""
    fingerprint: str
    """Identity of the model; vectors from other models are refused."""
    texts: dict[str, str]
    """Texts by key, in the order in which they were added; empty if no text needs a vector at the moment."""
    next: str
    """Position after these texts, to be passed as ``after`` in the next request."""


class KeptVectors(OfVault):
    """The outcome of storing vectors in the ledger."""

    kept: int
    """Number of usable vectors that were not stored before."""


class Refreshed(OfVault):
    """A vault whose index was compared with the files on disk."""

    remembered: NotRequired[bool]
    """True if this call added the vault."""


class Compacted(OfVault):
    """A vault whose index no longer contains deleted text."""

    bytes: int
    """Size of all index files, in bytes."""
    freed_bytes: int
    """Number of bytes by which the index shrank."""


class EngineNumber(Answer):
    """A number of items, as counted in the ledger and in the engine."""

    of: str
    """Kind of the counted items: notes, passages, or their vectors from the first or second model."""
    ledger: int
    engine: int | None
    """Count in the engine; None if the engine does not answer now."""


class Verified(OfVault):
    """Numbers of a vault's items in its engine and in its ledger, for comparison."""

    engine: str
    """The engine's name, as in `index.backend`."""
    place: str | None
    """The address or file of the engine; None for the embedded engine."""
    numbers: list[EngineNumber]
    pending: int
    """Number of notes to read plus vectors to store, which may explain a difference."""
    same: bool
    """True if all counts are equal."""
    reason: str | None
    """The reason why some counts are missing."""


class ComparedSearch(Answer):
    """Comparison of a search before and after a move."""

    query: str
    notes: int
    """Number of top results of the search before the move."""
    again: int
    """Number of top results before the move that are still top results after it."""


class MovedVault(OfVault):
    """A vault after its move to another engine."""

    same: bool
    """True if all counts are equal."""
    reason: str | None
    """The reason why some counts are missing."""
    numbers: list[EngineNumber]
    searches: list[ComparedSearch]
    unsearched: str | None
    """The reason why no searches were made before the move, or None."""


class Moved(Answer):
    """The result of a move to an engine: the counts in the engine and in the ledgers, and the searches before
    and after the move."""

    engine: str
    """Kind of the engine: embedded or postgres."""
    place: str | None
    """The address of the engine; None for the embedded engine."""
    former: str | None
    """The previous server, which keeps its copy of the vaults."""
    was_there: bool
    """True if there was nothing to move, not even the remainder of an interrupted move."""
    same: bool
    """True if all counts are equal, and searches still find at least nine in ten of their top results."""
    vaults: list[MovedVault]


class Status(Answer):
    """The state of the daemon and its vaults."""

    daemon: DaemonStatus
    vaults: list[VaultStatus]


class Progress(Answer):
    """Indexing progress of a vault; ``eta_seconds`` is an estimate of the remaining seconds, or None."""

    vault: str
    phase: str
    """``reading``, ``embedding`` or ``done``."""
    share: NotRequired[float]
    """Estimated share of the work done, in [0, 1], for reading notes and computing vectors together."""
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
    """The indexing progress of each vault."""

    vaults: list[Progress]


class Server(Answer):
    """The program that answers requests."""

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
    """The daemon's identity, and the protocol version in use."""

    protocol_version: int
    server: Server
    capabilities: Capabilities
    proof: NotRequired[str | None]
    """Only over TCP: the proof from the address file."""


class Done(Answer):
    """An empty object."""


class Schemas(Answer):
    """The parameters and answer of each method, and the parameters of each notification, as JSON Schema."""

    methods: dict[str, dict[str, Any]]
    notifications: dict[str, dict[str, Any]]
