"""Suggest missing links: find notes that a note should link to, with the evidence for each."""

import asyncio
import heapq
import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.model import JSON
from vaultseek.base.text import fold
from vaultseek.content.kinds import is_markdown
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.notes.mentions import mentions_of
from vaultseek.core.notes.name_mentions import named_in
from vaultseek.core.notes.read import about
from vaultseek.core.notes.related import alike
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.store.graph import Common, Graph
from vaultseek.store.ledger import Ledger, NoteRow

MOST_NEIGHBOURS = 200
"""Number of links above which a note no longer connects its neighbours with each other. Such a note is linked
with almost everything."""
MOST_CANDIDATES = 1000
"""Maximum number of candidates whose names are compared with the note's text. A hub has tens of thousands of
candidates."""
SUGGEST_SECONDS = 1.0
"""Time limit, in seconds, for examining recently changed notes. The answer contains the suggestions found by
then."""
RECENT_NOTES = 50
"""Number of most recently changed notes for which links are suggested if no note is given."""
_READ_NOTES = 10
"""Number of recently changed notes whose mentions are read in one batch."""


FOLLOWED_NOTES = 15
"""Number of similar notes whose links are examined. Similar notes often have the same links, so the targets
of these links are suggested."""
NAME_RARITY = 5.0
"""Minimum divisor in the score of a name. The rarity of the matching words is divided by the rarity of the
whole name or, if greater, by this minimum. Names of common words, which may match by chance, therefore count
less."""
_WORD = re.compile(r"\w{3,}")


class Evidence(NamedTuple):
    """The evidence for a link from a source note to a target note.

    ``common`` describes the notes linked with both source and target, and ``cosine`` compares the vectors of
    source and target. ``mentioned`` is the line on which the source names the target; ``mentions`` is the
    line on which the target names the source. ``links_back`` is true if the target links to the source.
    ``followed`` is the number of notes similar to the source that link to the target, and ``following`` grows
    with the cosines of these notes. ``name_words`` is the share of the words in the target's name that occur
    in the source.
    """

    common: Common = Common()
    cosine: float = 0.0
    mentioned: int | None = None
    mentions: int | None = None
    links_back: bool = False
    backlinks: int = 0
    same_folder: bool = False
    followed: int = 0
    following: float = 0.0
    name_words: float = 0.0

    def features(self) -> tuple[float, ...]:
        """Return the features of the evidence, to be fused by rank in `scores`."""
        return (
            float(self.common.cited),
            self.common.adamic_adar,
            self.common.resource_allocation,
            self.cosine,
            float(self.mentioned is not None),
            float(self.mentions is not None),
            float(self.links_back),
            float(self.backlinks),
            float(self.same_folder),
            self.following,
            self.name_words,
        )


WEIGHTS = (0.00, 0.23, 0.49, 1.26, 1.29, 1.41, 0.43, 1.35, 2.12, 1.73, 2.37)
"""Weight of each feature, fitted by scripts/bench_links.py."""
RANK_CONSTANT = 5.0
"""Constant ``k`` in the reciprocal ranks; with a small value, the first few ranks matter most."""


def reciprocal_ranks(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return k / (k + rank) for each candidate and feature, one row per feature; 0 for a candidate without
    the feature.

    Features have different scales, so they are fused by rank (Cormack, Clarke and Buettcher 2009). Ranks
    count from 0; tied candidates share the mean of their ranks.
    """
    fused = np.zeros_like(features)
    for column, values in enumerate(features.T):
        ordered = np.sort(-values)
        before, until = np.searchsorted(ordered, -values), np.searchsorted(ordered, -values, side="right")
        ranks = (before + until - 1) / 2
        fused[:, column] = np.where(values > 0, RANK_CONSTANT / (RANK_CONSTANT + ranks), 0.0)
    return fused


def scores(evidence: Mapping[int, Evidence]) -> dict[int, float]:
    """Return a dict from note id to the strength of the evidence for a link to that note."""
    if not evidence:
        return {}
    features = np.array([each.features() for each in evidence.values()])
    return dict(zip(evidence, (reciprocal_ranks(features) @ WEIGHTS).tolist(), strict=True))


async def suggestions(
    row: NoteRow,
    vault: SearchedVault,
    graph: Graph,
    limit: int,
    mentions: Mapping[int, int] | None = None,
) -> list[JSON]:
    """Return up to ``limit`` notes to which the note ``row`` could link, most likely first, with reasons.

    ``mentions``, if known, maps the id of each note that names this note to the line with the name.
    """
    evidence = await collect_evidence(row, vault, graph, mentions)
    scored = scores(evidence)
    best = sorted(evidence, key=lambda other: (-scored[other], other))[:limit]
    notes = await asyncio.to_thread(vault.ledger.notes.by_id, best)
    return [
        {
            **about(notes[id]),
            "score": round(scored[id], 4),
            "likely": _is_likely(reasons := _reasons(evidence[id])),
            "reasons": reasons,
        }
        for id in best
        if id in notes
    ]


async def recent_suggestions(
    vault: SearchedVault, graph: Graph, limit: int, start: int = 0
) -> tuple[list[JSON], int | None]:
    """Return the most likely missing links of recently changed notes, each with its ``source``.

    The first ``start`` notes are skipped. Also returns the ``start`` with which to continue if
    ``SUGGEST_SECONDS`` ran out, otherwise None.
    """
    end = time.monotonic() + SUGGEST_SECONDS
    ids = await asyncio.to_thread(vault.ledger.latest_notes, vault.ledger.notes.ids(), RECENT_NOTES)
    mentions: Mapping[int, Mapping[int, int]] = {}
    rows: Mapping[int, NoteRow] = {}
    found: list[JSON] = []
    for place, id in enumerate(ids[start:], start):
        if place > start and time.monotonic() > end:
            return best_of(found, limit), place
        if (place - start) % _READ_NOTES == 0:
            rows = await asyncio.to_thread(vault.ledger.notes.by_id, ids[place : place + _READ_NOTES])
            mentions = await asyncio.to_thread(_first_mentions, list(rows.values()), vault.ledger)
        # A link can be added only to Markdown, not to a PDF, for example.
        if id in rows and is_markdown(rows[id].path):
            source = {"path": rows[id].path, "title": rows[id].title}
            items = await suggestions(rows[id], vault, graph, limit, mentions[id])
            found += ({**item, "source": source} for item in items)
    return best_of(found, limit), None


def best_of(found: Iterable[JSON], limit: int) -> list[JSON]:
    """Return the ``limit`` most likely missing links. A link found in both directions is listed only in the
    more likely direction.
    """
    best: dict[frozenset[str], JSON] = {}
    for item in found:
        pair = frozenset((item["source"]["path"], item["path"]))
        if pair not in best or best[pair]["score"] < item["score"]:
            best[pair] = item
    return sorted(best.values(), key=lambda item: (-item["score"], item["source"]["path"]))[:limit]


async def collect_evidence(
    row: NoteRow, vault: SearchedVault, graph: Graph, mentions: Mapping[int, int] | None = None
) -> dict[int, Evidence]:
    """Return a dict from note id to the evidence for a link to that note. It contains notes that ``row`` does
    not link to, but that are close to it by links, meaning or name.
    """
    cosines, (common, mentioned, mentions) = await asyncio.gather(
        _cosines(row, vault), asyncio.to_thread(_links_and_names, row, vault.ledger, graph, mentions)
    )
    followed = _followed(cosines, graph)
    linked, linking = graph.neighbours(row.id)
    found = {*common, *cosines, *mentioned, *mentions, *linking, *followed} - {row.id, *linked}

    def near(other: int) -> tuple[bool, float, int]:
        shared = common.get(other, Common()).adamic_adar + followed.get(other, (0, 0.0))[1]
        return other in mentioned or other in mentions, shared + cosines.get(other, 0.0), -other

    others = heapq.nlargest(MOST_CANDIDATES, found, key=near)
    rows = await asyncio.to_thread(vault.ledger.notes.by_id, others)
    chunks = (await asyncio.to_thread(vault.ledger.chunks.by_note, [row.id]))[row.id]
    text = " ".join(chunk.text for chunk in chunks)
    name_words = _name_words(text, {other: each.names for other, each in rows.items()})
    folder = row.path.rpartition("/")[0]
    return {
        other: Evidence(
            common.get(other, Common()),
            cosines.get(other, 0.0),
            mentioned.get(other),
            mentions.get(other),
            other in linking,
            graph.degrees(other)[1],
            other in rows and rows[other].path.rpartition("/")[0] == folder,
            *followed.get(other, (0, 0.0)),
            name_words.get(other, 0.0),
        )
        for other in others
    }


def _followed(cosines: Mapping[int, float], graph: Graph) -> dict[int, tuple[int, float]]:
    followed: dict[int, tuple[int, float]] = {}
    for near in sorted(cosines, key=lambda note: (-cosines[note], note))[:FOLLOWED_NOTES]:
        if graph.degrees(near)[0] <= MOST_NEIGHBOURS:
            for other in graph.neighbours(near)[0]:
                number, following = followed.get(other, (0, 0.0))
                followed[other] = number + 1, following + cosines[near] ** 2
    return followed


def _name_words(text: str, names: Mapping[int, Sequence[str]]) -> dict[int, float]:
    """Return a dict from note id to a share, from 0 to 1: how much of the note's best-matching name occurs in
    ``text``.

    Words are weighted by their rarity among all ``names``; names that consist of common words count less.
    """
    own = set(_WORD.findall(fold(text)))
    words = {note: [set(_WORD.findall(fold(name))) for name in each] for note, each in names.items()}
    counts = Counter(word for each in words.values() for word in set[str]().union(*each))
    rarity = {word: math.log(1 + len(names) / count) for word, count in counts.items()}

    def share(name: set[str]) -> float:
        total = sum(rarity[word] for word in name)
        return sum(rarity[word] for word in name & own) / max(total, NAME_RARITY)

    return {note: max(map(share, each), default=0.0) for note, each in words.items()}


async def _cosines(row: NoteRow, vault: SearchedVault) -> Mapping[int, float]:
    try:
        return await alike(row, vault)
    except (WorkerUnavailable, IndexDamaged):
        return {}


def _links_and_names(
    row: NoteRow, ledger: Ledger, graph: Graph, mentions: Mapping[int, int] | None
) -> tuple[Mapping[int, Common], Mapping[int, int], Mapping[int, int]]:
    mentioned: dict[int, int] = {}
    for chunk in ledger.chunks.by_note([row.id])[row.id]:
        for named in named_in(chunk.source.split("\n"), ledger, row.id):
            if len(named.notes) == 1:
                mentioned.setdefault(named.notes[0], chunk.start_line + named.line)
    if mentions is None:
        mentions = _first_mentions([row], ledger)[row.id]
    return graph.common(row.id, MOST_NEIGHBOURS), mentioned, mentions


def _first_mentions(rows: Sequence[NoteRow], ledger: Ledger) -> Mapping[int, Mapping[int, int]]:
    """Return a dict from the id of each note in ``rows`` to its mentions. The mentions are a dict from the id
    of the mentioning note to the line of its first mention.
    """
    lines: dict[int, dict[int, int]] = {row.id: {} for row in rows}
    for each in mentions_of(rows, ledger):
        lines[each.named].setdefault(each.note, each.line)
    return lines


def _is_likely(reasons: Sequence[JSON]) -> bool:
    """True if the note names the other note, or if reasons of two kinds support the link.

    Three kinds do not count. Every note has a note closest in meaning, similar notes always link to
    something, and a link back is not a reason for a link.
    """
    kinds = {reason["kind"] for reason in reasons}
    return "mentioned" in kinds or len(kinds - {"links_back", "followed", "meaning"}) > 1


def _reasons(evidence: Evidence) -> list[JSON]:
    reasons: list[JSON] = []
    if evidence.mentioned is not None:
        reasons.append({"kind": "mentioned", "line": evidence.mentioned})
    if evidence.mentions is not None:
        reasons.append({"kind": "mentions", "line": evidence.mentions})
    if evidence.links_back:
        reasons.append({"kind": "links_back"})
    if evidence.common.cited:
        reasons.append({"kind": "cited_together", "count": evidence.common.cited})
    if evidence.common.number > evidence.common.cited:
        reasons.append({"kind": "common_links", "count": evidence.common.number})
    if evidence.followed:
        reasons.append({"kind": "followed", "count": evidence.followed})
    if evidence.cosine > 0:
        reasons.append({"kind": "meaning", "cosine": round(evidence.cosine, 4)})
    return reasons
