"""What each method of the protocol answers. Answers may carry more; what stands here is always there."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from vaultseek.model import ReasonCode


class Answer(BaseModel):
    """An object whose named fields are always there; clients ignore what they do not know."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


class OfVault(Answer):
    """The vault that an answer is about."""

    vault: str
    vault_path: str = Field(description="The vault's real, absolute folder; paths of notes start there.")


class About(Answer):
    """A note, briefly. ``modified`` is ISO 8601 in UTC."""

    path: str
    title: str
    tags: list[str]
    modified: str


class LanePart(Answer):
    """A note's place in one lane."""

    rank: int
    score: float | None


class Lane(Answer):
    """A lane that did not take part, and why; "vault" where the answer may not know all notes."""

    lane: str
    code: ReasonCode
    reason: str


class Index(Answer):
    """How far the index is."""

    notes: int
    chunks: int
    embedded: int
    pending: int
    revision: int


class Reranked(Answer):
    """What the cross-encoder says of a note, in [0, 1], and where it was before."""

    score: float
    rank_before: int


class IndexNow(Index):
    """How far the index is while it answers; ``state`` as in ``index/status``."""

    state: str
    code: ReasonCode | None
    reason: str | None


class Result(Answer):
    """One note found, with its best passage. Scores are in [0, 1], the best has 1."""

    rank: int
    path: str
    title: str
    score: float
    modified: str


class FullResult(Result):
    """A result with its passage; ``highlights`` are ranges of characters of ``preview``."""

    heading_path: list[str]
    chunk_id: str | None
    start_line: int
    end_line: int
    preview: str
    highlights: list[list[int]]
    tags: list[str]
    lanes: dict[str, LanePart | None]
    recency: float
    rerank: Reranked | None = Field(description="None where the result was not read again.")
    search_method: str
    vectorRank: int | None = Field(description="As lanes.semantic.rank.")  # noqa: N815 - a name of others
    bm25Rank: int | None = Field(description="As lanes.keyword.rank.")  # noqa: N815
    content_preview: str = Field(description="As preview.")


class Nearest(Answer):
    """The best of what a search came upon, where not even that has to do with the query."""

    path: str
    confidence: float


class Search(OfVault):
    """Results, best first; ``partial`` names the lanes that did not take part."""

    query: str
    mode: str
    took_ms: float
    results: list[FullResult | Result]
    count: int
    partial: list[Lane]
    index: IndexNow
    interpreted: dict[str, Any]
    nearest: Nearest | None = Field(default=None, description="Only where nothing was found for its sake.")


class Why(OfVault):
    """What became of a note in a search."""

    path: str
    title: str
    query: str
    verdict: Literal["found", "filtered", "no_lane", "below_limit", "cut"]
    code: ReasonCode
    reason: str
    interpreted: dict[str, Any]
    partial: list[Lane]


class Heading(Answer):
    """A heading of a note, as written."""

    level: int
    text: str
    line: int


class Note(OfVault, About):
    """A note and lines of its text."""

    aliases: list[str]
    properties: dict[str, Any]
    headings: list[Heading]
    created: str
    chunks: list[dict[str, Any]]
    lines: int
    start_line: int
    end_line: int
    text: str
    truncated: bool


class RelatedNote(About):
    """A note like the one asked about; ``link`` is how the two are joined."""

    rank: int
    score: float
    link: Literal["out", "in", "both"] | None
    lanes: dict[str, LanePart]
    preview: str


class OfNote(OfVault):
    """The note that an answer is about."""

    path: str
    title: str


class Related(OfNote):
    """Notes like a note, best first."""

    results: list[RelatedNote]
    partial: list[Lane]


class Link(Answer):
    """A link as written, with the line that it stands in."""

    kind: Literal["wikilink", "embed", "markdown"]
    target: str
    heading: str | None
    block: str | None
    alias: str | None
    line: int
    property: str | None


class OutgoingLink(Link):
    """``resolved`` is the path that it leads to, None if nothing is there."""

    resolved: str | None
    title: str | None


class PlacedLink(Link):
    """A link with the note that it stands in, and its line's text."""

    path: str
    title: str
    text: str | None


class Counted(Answer):
    """``count`` items are here of ``total``."""

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
    """A line that names the note asked about."""

    line: int
    name: str
    text: str


class Unlinked(OfNote, Counted):
    """Mentions without a link."""

    names: list[str]
    mentions: list[Mention]


class Neighbor(About):
    """``direction`` is that of the link at distance 1, ``via`` the note before this one at greater ones."""

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
    """``total`` counts the notes with nested tags, too."""

    tag: str
    count: int
    total: int


class Tags(OfVault, Counted):
    """Every tag."""

    tags: list[Tag]


class Value(Answer):
    """A value of a property and how many notes have it."""

    value: str
    count: int


class Property(Answer):
    """A property; ``types`` counts text, number, boolean, list, mapping and null."""

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


class Item(Answer):
    """A completion; a note's has ``path``, ``title`` and ``is``, a heading's ``level`` and ``line``."""

    text: str
    match: Literal["prefix", "word", "inside", "fuzzy"]


class Completions(OfVault):
    """Completions, the likeliest first."""

    kind: str
    items: list[Item]


class Vault(Answer):
    """A vault; ``from`` is ``config``, ``added`` or ``request``."""

    name: str
    path: str
    state: str
    notes: int


class Vaults(Answer):
    """Every vault."""

    vaults: list[Vault]


class AddedVault(Answer):
    """The vault as it is kept now."""

    name: str
    path: str


class RemovedVault(Answer):
    """The folder that is a vault no longer."""

    path: str
    index_deleted: bool


class PausedVault(Answer):
    """Whether the vault is paused now."""

    path: str
    paused: bool


class WorkerStatus(Answer):
    """The semantic worker."""

    status: Literal["down", "starting", "ready", "broken"]
    code: ReasonCode | None
    reason: str | None
    model: str | None


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
    """Whether a lane takes part, and if not, why."""

    up: bool
    code: ReasonCode | None
    reason: str | None


class NoteProblem(Answer):
    """What was not understood of a note."""

    path: str
    code: str
    message: str
    line: int | None


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


class Status(Answer):
    """The daemon and its vaults."""

    daemon: DaemonStatus
    vaults: list[VaultStatus]


class Progress(Answer):
    """How far a vault is; ``eta_seconds`` is a guess, None where there is nothing to go by."""

    vault: str
    phase: str
    notes: int
    notes_done: int
    notes_total: int
    chunks: int
    embedded: int
    pending: int
    rate: float
    eta_seconds: float | None


class Changed(OfVault):
    """Notes that were added, changed or removed; with ``more``, these are not all."""

    revision: int
    paths: list[str]
    more: bool


class Subscribed(Answer):
    """How far each vault is now."""

    vaults: list[Progress]


class Server(Answer):
    """The program that answers."""

    name: str
    version: str
    pid: int


class Capabilities(Answer):
    """What the daemon can be asked, and how much at once."""

    methods: list[str]
    request_bytes: int
    answer_bytes: int
    requests_in_flight: int


class Hello(Answer):
    """What the daemon is and the protocol version that is spoken from now on."""

    protocol_version: int
    server: Server
    capabilities: Capabilities
    proof: str | None = Field(default=None, description="On the port only: the proof of the address file.")


class Nothing(RootModel[None]):
    """Always null."""


class Done(Answer):
    """Nothing to tell."""


class Schemas(Answer):
    """Parameters and answer of each method, and what notifications say, as JSON Schema."""

    methods: dict[str, dict[str, Any]]
    notifications: dict[str, dict[str, Any]]
