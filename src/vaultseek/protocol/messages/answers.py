"""Answers of each method of the protocol, the one source: their check, their schema and the clients' types.

``NotRequired`` fields may be missing; fields that do not stand here may be added.
"""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic takes the one of ``typing`` from Python 3.12 on

from vaultseek.base.model import LinkKind, ReasonCode


class Answer(TypedDict):
    """An object whose named fields are always there; clients ignore what they do not know."""


class OfVault(Answer):
    """The vault of an answer."""

    vault: str
    vault_path: str
    """Absolute, resolved folder of the vault, where paths of notes start; empty at a searcher."""


class Titled(Answer):
    """The name of a note."""

    path: str
    title: str
    file_name: NotRequired[str | None]
    """The name of the file, without extension, if it says something else than the title."""


class About(Titled):
    """A note in short. ``modified`` is a local time with its offset: ``2026-03-16T00:30:00+01:00``.

    ``created`` is the day, ``2026-03-16``, or the time that the note or its file name states, else
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
    """Rank and score of a note in one lane; ``score`` is the lane's own."""

    rank: int | None
    """Place from 1; None for a note that another lane proposed."""
    score: float | None
    fused_rank: NotRequired[float | None]
    """With ``explain``: the rank that entered the formula."""
    weight: NotRequired[float | None]
    """With ``explain``: weight of the lane."""
    contribution: NotRequired[float | None]
    """With ``explain``: weight / (k + rank), or the weighted normalised score."""
    baseline: NotRequired[float | None]
    """With ``explain``: the part of it that a note gets of which the lane knows nothing."""
    gain: NotRequired[float | None]
    """With ``explain``: what counts, contribution less baseline."""


class Lane(Answer):
    """A lane that was left out, and the cause; "vault" if notes may be missing from the answer."""

    lane: str
    code: ReasonCode
    reason: str


class Remark(Answer):
    """A sentence that a person should read beside the results; every door shows it."""

    code: Literal["no_match", "closest", "query", "incomplete", "waiting"]
    text: str
    """It begins with a small letter and has no full stop."""


class Index(Answer):
    """Counts of the index."""

    notes: int
    chunks: int
    embedded: int
    pending: int
    """Notes to read plus vectors to compute."""
    revision: int | None
    """None for a token that sees a part of the vault."""


class Reranked(Answer):
    """Score of the cross-encoder, in [0, 1], and the rank before it."""

    score: float
    rank_before: int
    score_before: NotRequired[float | None]
    """With ``explain``: the note's own score; the one shown is that of its rank."""


class Arithmetic(Answer):
    """The figures that a score is made of.

    ``score = min(1, (gain * recency * anchors * bound * joined * time + name + opened + succession)
    / best)``; 1 if ``best`` is 0.
    """

    gain: float
    """Sum of the lanes' gains."""
    recency: float
    """Factor for the note's age: of the share of the score that it multiplies."""
    anchors: float
    """Factor for the identifiers and phrases of the query in it, and for the query's words in names."""
    bound: float
    """Factor that keeps notes by link alone, or named by another word with the same stem, below others."""
    joined: float
    """Factor for a note that a link joins to a better one, if the two have much of the query together."""
    time: float
    """Factor for a note of the time that the query names."""
    name: float
    """Gain of a note whose name is the query."""
    opened: float
    """Gain of a note that was opened from this query before, or is pinned to it."""
    succession: float
    """Gain of a note that replaces a better result."""
    best: float
    """The value that all scores are divided by."""


class Successor(Answer):
    """A note that replaces another one."""

    path: str
    title: str


class Currency(Answer):
    """The reason why a note, or the passage shown, no longer holds, or why it precedes one that does not."""

    state: str
    """``superseded``: by other notes, or by its own word; ``stale``: past its date; ``struck``: the passage
    is struck out; ``successor``: it replaces another result."""
    by: list[Successor]
    """The notes that replace it, at the end of each chain; those of a circle include none that ends it."""
    replaces: list[Successor]
    """The results that a successor replaces."""
    missing: list[str]
    """Names of successors that no note has."""
    since: str | None
    """The first day on which it is past its date, if it states one."""
    text: str
    """All of this in a few words."""


class Via(Answer):
    """The note through which another one was found, by a link between both."""

    path: str
    title: str


class IndexNow(Index):
    """The index at the time of the answer; ``state`` as in ``index/status``."""

    state: str
    code: ReasonCode | None
    reason: str | None


class Result(Titled):
    """A note in the answer to a search. Scores are in [0, 1], the best has 1."""

    rank: int
    kind: NotRequired[str]
    """The kind of file: note, canvas, base, excalidraw, text, org, html, pdf, image or session."""
    score: float
    certainty: float
    """Likelihood that the note is right, in [0, 1]: falls as the order does; 1 for filters alone."""
    modified: str
    created: str
    """The day or the time that the note or its file name states, else when it was modified."""
    heading_path: list[str]
    """Headings of the passage; none if ``brief`` left it out."""
    start_line: int
    """First line of the passage; 1 if ``brief`` left it out."""
    currency: NotRequired[Currency | None]
    """None if the note is current and replaces no other result."""


class FurtherPassage(Answer):
    """A passage of a note besides its best; its fields are those of a result."""

    place: str | None
    heading_path: list[str]
    chunk_id: str
    start_line: int
    end_line: int
    line: int
    preview: str
    highlights: list[list[int]]


class FullResult(Result, total=False):
    """A result with its best passage, unless ``brief`` left that out. Lines are 1-based and inclusive."""

    place: str | None
    """Part of the file with the passage, for ``path#place``: page of a PDF, node of a canvas."""
    chunk_id: str | None
    end_line: int
    line: int
    """The line of the passage with most of the query's words."""
    column: int
    """The character of that line where the first of them begins."""
    line_text: str
    """The text of that line, or its beginning."""
    property: str | None
    """The property that matches, if not the text; ``preview`` shows it."""
    preview: str
    highlights: list[list[int]]
    """Ranges ``[start, end)`` of characters of ``preview``."""
    tags: list[str]
    lanes: dict[str, LanePart | None]
    passages: list[FurtherPassage]
    """With ``passages``: others that match, best first."""
    via: Via | None
    """The linked note that led to this one, if no lane proposed it by itself."""
    recency: float
    confidence: float | None
    """Nearness of the note to the query, whatever the other results are, in [0, 1]."""
    rerank: Reranked | None
    """None if the result was not reranked."""
    arithmetic: Arithmetic | None
    """With ``explain``."""
    search_method: str
    vectorRank: int | None
    """Same as ``lanes.semantic.rank``."""
    bm25Rank: int | None
    """Same as ``lanes.keyword.rank``."""
    content_preview: str
    """Same as ``preview``."""


class Time(Answer):
    """A time that the query names in words, from its first day to its last."""

    text: str
    first: str
    last: str


class Interpreted(Answer):
    """The query as it was understood."""

    rank_text: str
    """The words that rank; empty for filters alone."""
    time: Time | None
    """Notes of this time come higher; None if the query names none."""
    phrases: list[str]
    filters: list[str]
    """Every condition, in words."""
    notes: list[str]
    """The parts that were ignored, and why."""


class Nearest(Answer):
    """The note nearest to a query that no note is near to."""

    path: str
    confidence: float


class Summary(Answer):
    """The facts about a list of results."""

    search_method: str
    """The lanes that answered: keyword, semantic, or hybrid for both; filter if none was asked."""
    took_ms: float
    count: int
    weak: NotRequired[bool]
    """True if none of the best notes has many of the query's words or is near to it in meaning."""
    substitutes: NotRequired[bool]
    """True if no note has any of the query's words, and words like them were searched for instead."""
    less_certain: NotRequired[int]
    """The number of results at the end that are hardly right; lists for people fold them."""
    total: NotRequired[int | None]
    """For a query of filters alone: how many notes match."""


class VaultSearch(OfVault, Summary):
    """The part of a vault in the answer to a search of all vaults."""

    partial: list[Lane]
    """The lanes that were left out."""
    index: IndexNow
    nearest: NotRequired[Nearest | None]
    """Only if no note is near enough."""


class Search(VaultSearch):
    """Results, best first."""

    query: str
    mode: str
    results: list[FullResult]
    interpreted: Interpreted
    remarks: list[Remark]
    explain: NotRequired[dict[str, Any] | None]
    """With ``explain``."""


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


class EvidencePassage(Lines):
    """Lines of a note that a question may need; ``cut`` if their passage goes on."""

    title: str
    heading_path: list[str]
    place: str | None
    """The part of the file, as ``page=3``."""
    modified: str
    created: str
    currency: Currency | None
    """None if the note is current."""
    text: str
    cut: bool


class Context(OfVault):
    """Evidence for a question, in the order in which it reads best.

    ``text`` has all of it, with the place and day of each passage; ``left_out`` is what did not fit.
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
    """Rank and score of a note in one lane, or the reason for which it has none."""

    rank: int | None
    score: float | None
    code: NotRequired[ReasonCode | None]
    reason: NotRequired[str | None]
    of: NotRequired[int | None]
    """Notes in the lane."""
    matched: NotRequired[list[str] | None]
    """Words of the query that the note has."""


class Condition(Answer):
    """A filter of the query."""

    condition: str
    satisfied: bool


class Why(OfNote):
    """The rank of a note in the answer to a query, or the stage at which it was lost."""

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


class Note(OfVault, About):
    """A note and a range of its lines, 1-based and inclusive."""

    aliases: list[str]
    properties: dict[str, Any]
    headings: list[Heading]
    chunks: list[Passage]
    lines: int
    """Number of lines of the whole note."""
    start_line: int
    end_line: int
    text: str
    truncated: bool
    from_index: NotRequired[bool]
    """True at a searcher: the lines of properties are blank."""


class RelatedNote(About):
    """A note similar to another; ``link`` is the direction of a link between the two."""

    rank: int
    score: float
    link: Literal["out", "in", "both"] | None
    lanes: dict[str, LanePart]
    preview: str


class Related(OfNote):
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
    """The column after the link's last, in that line."""


class OutgoingLink(Link):
    """A link of the note. ``resolved`` is the path that it leads to, None if it leads nowhere."""

    resolved: str | None
    title: str | None
    modified: NotRequired[str | None]
    """When the note that it leads to was changed."""
    created: NotRequired[str | None]


class PlacedLink(Link):
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
    """The outcome of a report of what was opened, or given to an agent."""

    kept: bool
    """True if it is in the history; false where nothing is recorded."""


class OpenedNote(Answer):
    """A note that was opened from the answer to a query."""

    query: str
    path: str
    position: int
    """Place of the note among the results, from 1."""
    time: str
    """Time of the opening: a local time with its offset, in ISO 8601."""
    client: str
    """Name of the client that it was opened with."""


class History(OfVault, Counted):
    """The notes that were opened from queries, the latest first."""

    opened: list[OpenedNote]
    learn: bool
    """True if opened notes are recorded."""


class GivenNote(Answer):
    """A note in an answer to an agent, and the lines that were shown; None if it was only named."""

    path: str
    start_line: int | None
    end_line: int | None


class GivenAnswer(Answer):
    """An answer that an agent was given."""

    time: str
    """A local time with its offset, in ISO 8601."""
    agent: str
    """Name of the agent, or of the program that showed it the answer."""
    tool: str
    question: str
    tokens: int
    notes: list[GivenNote]


class AgentHistory(OfVault, Counted):
    """The answers that agents were given, the latest first."""

    given: list[GivenAnswer]
    record: bool
    """True if answers are recorded."""


class Forgotten(OfVault):
    """The number of opened notes, or of answers to agents, that are forgotten."""

    forgotten: int


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
    """The line; of a long one, the part around the name, after ``…`` if it is not the beginning."""
    highlights: list[list[int]]
    """Range ``[start, end)`` of the name's characters in ``text``."""


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


class Linked(About):
    """A note with the numbers of its links."""

    outgoing: int
    backlinks: int


class Hub(Linked):
    """A note that much leads to; ``rank`` is its PageRank, those of all notes sum to 1."""

    rank: float


class Bridge(Linked):
    """A note between others; ``share`` is the part of shortest paths that pass it, estimated."""

    share: float


class Cluster(Answer):
    """Notes that link to each other more than to others.

    ``hub`` is the note with the most links inside the cluster, whose title names it. ``words`` are those in
    which their names and headings differ most from other notes. ``created`` and
    ``changed`` count notes of the last 30 days, those that are new and those that were changed. ``notes`` are
    the first by rank.
    """

    hub: About | None
    words: list[str]
    count: int
    created: int
    changed: int
    notes: list[About]


class Components(Answer):
    """The connected parts of the graph with two notes or more, and the number of notes in the largest."""

    count: int
    largest: int


class Node(About):
    """A note of a map; ``cluster`` is the number of its cluster, the largest has 0."""

    rank: float
    cluster: int | None


class Overview(OfVault):
    """The structure of the links of a vault, each list with the largest first.

    ``orphans`` counts the notes that no note links to, ``isolated`` those of them that link to none either.
    ``truncated`` are the notes with more links than are read from one. ``nodes`` and ``edges`` are there if
    they were asked for; an edge is a pair of places in ``nodes``.
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


class Step(About):
    """A note on a route, reached ``by`` a link or by meaning from the one before; None for the first.

    A link is in ``line`` of the note ``source``, and ``text`` is that line.
    """

    by: Literal["link", "meaning"] | None
    direction: NotRequired[Literal["out", "in", "both"]]
    source: NotRequired[str]
    line: NotRequired[int | None]
    text: NotRequired[str | None]
    cosine: NotRequired[float]


class Routes(OfNote):
    """The shortest routes from a note to the ``other``; none if neither links nor meaning lead there."""

    other: About
    routes: list[list[Step]]
    partial: list[Lane]
    """Where no links lead: why meaning was not asked."""


class LinkReason(Answer):
    """A reason for a link.

    ``mentioned``: the note names the other in ``line``; ``mentions``: the other names it in ``line``;
    ``links_back``: the other links to it; ``cited_together``: ``count`` notes link to both;
    ``common_links``: ``count`` notes are linked with both; ``followed``: ``count`` notes similar in meaning
    link to the other; ``meaning``: the notes have this ``cosine``.
    """

    kind: Literal[
        "mentioned", "mentions", "links_back", "cited_together", "common_links", "followed", "meaning"
    ]
    line: NotRequired[int]
    count: NotRequired[int]
    cosine: NotRequired[float]


class Suggestion(About):
    """A note that may be linked; ``score`` grows with what speaks for it."""

    score: float
    likely: bool
    reasons: list[LinkReason]
    link: str
    """The target of a new link to it, as the vault's settings want it."""
    source: NotRequired[Titled]
    """The note that would link it, if none was asked about."""


class StaleItem(Titled):
    """A note to tidy up, and why.

    ``kind`` is ``circle``: it and another note claim to supersede each other; ``missing``: no note is its
    successor; ``past_date``; or ``link``: its ``line`` links to the ``target``, which is superseded.
    """

    kind: str
    line: int | None
    target: Successor | None
    currency: Currency
    """The currency of the note, or of the target of its link."""
    text: str
    """The reason in a few words."""


class Stale(OfVault):
    """Notes that no longer hold and were forgotten; ``total`` counts those beyond the limit, too."""

    items: list[StaleItem]
    total: int


class Suggestions(OfVault):
    """Links that may be missing, the likeliest first; ``markdown`` if the vault writes no wikilinks."""

    suggestions: list[Suggestion]
    markdown: bool


class GraphNode(Answer):
    """A note of an export; ``cluster`` is the number of its cluster."""

    path: str
    title: str
    modified: str
    rank: float
    cluster: int | None


class GraphExport(OfVault):
    """All notes and links; each link is a pair of places in ``nodes``, ``clusters`` has their words."""

    nodes: list[GraphNode]
    links: list[list[int]]
    clusters: list[str]


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

    properties: NotRequired[list[Property]]
    property: NotRequired[str | None]
    values: NotRequired[list[Value]]


class Orphans(OfVault, Counted):
    """Notes that nothing links to."""

    notes: list[About]


class Alike(Answer):
    """Two notes that are alike. ``score`` is the mean of ``text`` and ``meaning``, all from 0 to 1."""

    rank: int
    score: float
    text: float
    """The share of text that both have; text of many notes does not count."""
    meaning: float
    """The cosine of their vectors; 0 without vectors."""
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
    modified: NotRequired[str]
    created: NotRequired[str]
    """Of notes: a day, or a local time with its offset, in ISO 8601."""
    cells: dict[str, Any]


class TableSummary(Answer):
    """A figure of all values of a column."""

    column: str
    name: str
    value: NotRequired[Any]
    """None if no value of the column is of the right kind."""


class TableGroup(Answer):
    """The rows with one value of the column that the table is grouped by; they follow each other."""

    value: NotRequired[Any]
    """None for the rows without a value."""
    count: int
    summaries: list[TableSummary]


class TableView(Answer):
    """A view of a base."""

    name: str
    type: str


class Table(Answer):
    """A table: a view of a base, or the notes that a query finds."""

    name: str
    """Name of the view; empty for a query."""
    type: str
    path: NotRequired[str | None]
    """File of the base, or note with its block."""
    line: NotRequired[int | None]
    """Line of the block, or of the embed, in the note."""
    columns: list[TableColumn]
    rows: list[TableRow]
    group: NotRequired[str | None]
    """Heading of the column that the rows are grouped by."""
    groups: list[TableGroup]
    summaries: list[TableSummary]
    count: int
    total: int
    """Rows without the limit."""
    problems: list[str]
    """Sentences on what is wrong or not supported."""
    views: list[TableView]


class Tables(OfVault):
    """The tables of a file or of a query; ``count`` is the number of all rows."""

    tables: list[Table]
    count: int
    partial: list[Lane]


_NamedBy = TypedDict("_NamedBy", {"is": NotRequired[Literal["name", "title", "alias"] | None]})


class Item(_NamedBy, Answer):
    """A completion; the other fields depend on its kind. Of a note, ``is`` says what of it ``text`` is."""

    text: str
    match: Literal["prefix", "word", "inside", "fuzzy", "missing"]
    path: NotRequired[str | None]
    """Of a note; of a missing one where it would be."""
    title: NotRequired[str | None]
    """Of a note."""
    level: NotRequired[int | None]
    """Of a heading."""
    line: NotRequired[int | None]
    """Of a heading or block, 1-based."""
    of: NotRequired[str | None]
    """Of a block: its text."""
    count: NotRequired[int | None]
    """Of a tag, property or value: its notes; of a missing name those that link to it."""
    link: NotRequired[str | None]
    """With ``source``: the target of a link from there, as the vault writes links."""


class Completions(OfVault):
    """Completions, likeliest first."""

    kind: str
    items: list[Item]
    markdown: NotRequired[bool]
    """With ``source``: the vault wants Markdown links."""


class Similar(Answer):
    """A note with a name like one that is missing, and the target of a link to it."""

    text: str
    path: str
    link: str


class ResolvedLink(Answer):
    """The target of a link: a file and in it a line, both None if it leads nowhere."""

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
    """With ``moves``: the target to be written instead."""
    create: NotRequired[str | None]
    """Path at which a missing note would be made."""
    similar: NotRequired[list[Similar]]
    """Notes called much like a missing one."""


class Resolved(OfVault):
    """Links in the order of the request."""

    links: list[ResolvedLink]
    markdown: bool
    """The vault wants Markdown links."""


class PlacedProblem(Answer):
    """A fault of a note: a link of it, with the columns, or anything else that could not be read."""

    path: str
    line: int | None
    column: int | None
    end_column: int | None
    code: str
    message: str
    target: str | None
    """Of a link: its target as written."""


class Problems(OfVault, Counted):
    """Problems by path and line."""

    problems: list[PlacedProblem]


class NamedNote(Answer):
    """A note that a text names."""

    path: str
    title: str
    link: str
    """The target of a link to it."""


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
    markdown: bool
    """The vault wants Markdown links."""


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
    notes: int
    """Number of notes with an edit."""
    left: list[str]
    """Files with links or tags that should follow, but whose place in the file is not known."""


_KnownFrom = TypedDict("_KnownFrom", {"from": Literal["config", "added", "request"]})


class Vault(_KnownFrom, Answer):
    """A vault; ``from`` is the configuration, ``vault/add``, or a request that named its folder."""

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


class WorkerStatus(Answer):
    """The semantic worker."""

    status: Literal["down", "starting", "ready", "broken"]
    code: ReasonCode | None
    reason: str | None
    model: str | None
    pid: NotRequired[int | None]
    memory_bytes: NotRequired[int | None]
    restarts: NotRequired[int]
    doing: NotRequired[str]
    """Current work, in words."""
    computing: NotRequired[str | None]
    """The way that vectors are computed, in words."""
    sends: NotRequired[str | None]
    """Text that is sent to a server, and to which, in words."""


class DaemonStatus(Answer):
    """The daemon itself."""

    pid: int
    version: str
    uptime_seconds: float
    memory_bytes: int
    config: str | None
    socket: str
    addresses: dict[str, str | None]
    """The addresses of a team's server in the settings, and why one cannot be used, or None; ``daemon.tcp``
    stands for the daemon's own port if that cannot be."""
    shards_problem: str | None
    """The reason why a searcher cannot list the vaults of the engine, or None."""
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


class VaultModels(Answer, total=False):
    """The models of one vault, by their names in the settings; empty until it is open."""

    main: str
    why: str | None
    """The reason why it was chosen."""
    only_english: bool
    """True if ``main`` reads no other language."""
    second: str | None
    """Model for questions in other languages."""
    second_notes_left: int | None
    """Notes without up-to-date vectors of ``second``; None before that is known."""
    second_problem: str | None
    """The reason why vectors of ``second`` cannot be made now."""
    advice: str | None
    """Advice on installing a model for other languages."""


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
    models: NotRequired[VaultModels]
    embeddings_computed: NotRequired[int]
    """Since the index was made."""
    share: NotRequired[float]
    """The share of the index that is there: an estimate."""
    rate: NotRequired[float]
    """Vectors per second."""
    eta_seconds: NotRequired[float | None]
    """Estimate, None if there is none."""
    last_change: NotRequired[float | None]
    """Seconds since the epoch."""


class IndexedVault(VaultStatus):
    """A vault of which everything is indexed."""

    remembered: NotRequired[bool]
    """True if this call added the vault."""


class TextsToEmbed(OfVault):
    """Texts whose vectors are missing, and the model that makes them."""

    model: str
    """Name of the model, as in the settings."""
    fingerprint: str
    """Identity of the model: vectors of any other are refused."""
    texts: dict[str, str]
    """Texts by key, in the order in which they were added; none means that there are none now."""
    next: str
    """Position after these texts, for ``after``."""


class KeptVectors(OfVault):
    """Vectors that were stored in the ledger."""

    kept: int
    """Number of vectors that can be used and were not there yet."""


class Refreshed(OfVault):
    """A vault that was compared with the disk."""

    remembered: NotRequired[bool]
    """True if this call added the vault."""


class Compacted(OfVault):
    """A vault whose index has nothing of deleted text any more."""

    bytes: int
    """Bytes of all files of the index."""
    freed_bytes: int
    """Bytes that the index takes less than before."""


class EngineNumber(Answer):
    """The number of something in the ledger and in the engine."""

    of: str
    """notes, passages, or vectors or second vectors of one of these."""
    ledger: int
    engine: int | None
    """None if that cannot be asked now."""


class Verified(OfVault):
    """The numbers of a vault in its engine, beside those of its ledger."""

    engine: str
    """Its name in the settings, as in `index.backend`."""
    place: str | None
    """The address or file of the engine; None for the embedded one."""
    numbers: list[EngineNumber]
    pending: int
    """Notes to read plus vectors to store, which explain a difference."""
    same: bool
    """True if each number is the same."""
    reason: str | None
    """The reason why some numbers are missing."""


class ComparedSearch(Answer):
    """A search before and after a move."""

    query: str
    notes: int
    """Number of its first notes before the move."""
    again: int
    """Number of these that are among the first notes after it."""


class MovedVault(OfVault):
    """A vault after a move."""

    same: bool
    """True if each number is the same."""
    reason: str | None
    """The reason why some numbers are missing."""
    numbers: list[EngineNumber]
    searches: list[ComparedSearch]
    unsearched: str | None
    """The reason why there was no search before the move."""


class Moved(Answer):
    """The vaults in an engine, compared with their ledgers, and with the searches before a move."""

    engine: str
    """embedded or postgres."""
    place: str | None
    """The address of the engine; None for the embedded one."""
    former: str | None
    """The server that was left, which keeps its copy."""
    was_there: bool
    """True if there was nothing to move, not even the rest of a move that was interrupted."""
    same: bool
    """True if all numbers are the same, and nine in ten of the notes are found again."""
    vaults: list[MovedVault]


class Status(Answer):
    """The daemon and its vaults."""

    daemon: DaemonStatus
    vaults: list[VaultStatus]


class Progress(Answer):
    """Progress of a vault; ``eta_seconds`` is an estimate, None if there is none."""

    vault: str
    phase: str
    """``reading``, ``embedding`` or ``done``."""
    share: NotRequired[float]
    """The share that is done, 0 to 1: notes read, vectors computed; an estimate."""
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
    proof: NotRequired[str | None]
    """On the port only: the proof in the address file."""


class Done(Answer):
    """An empty object."""


class Schemas(Answer):
    """Parameters and answer of each method, and parameters of each notification, as JSON Schema."""

    methods: dict[str, dict[str, Any]]
    notifications: dict[str, dict[str, Any]]
