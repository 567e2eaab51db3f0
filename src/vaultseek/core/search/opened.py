"""Evidence for notes that were opened from the same query before.

People read a list from its top, so a note that was opened at a low place says more than the first. An open
counts by the inverse of the probability that its place is examined, by the position-based model with
``1 / place ** EXAMINATION`` (Joachims, Swaminathan and Schnabel, *Unbiased Learning-to-Rank with Biased
Feedback*, WSDM 2017). An open of another note from the same query counts as one in which a note was passed
over.
"""

import time
from collections.abc import Iterable, Mapping, Sequence

from vaultseek.content.query.words import pinned_name, words_of
from vaultseek.core.search.formula import OPENED_GAIN, PINNED_GAIN, SAME_QUERY_GAIN
from vaultseek.core.search.fusion import Candidate
from vaultseek.core.search.request import ParsedRequest
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.opens import Meaning, Open

EXAMINATION = 0.7
HALF_LIFE_SECONDS = 42 * 86_400.0
MOST_OF_ONE = 3.0
"""Most that one open counts, so that three others outweigh it."""
PRIOR = 4.0
"""Opens that a note has neither for nor against it before the first."""
NEAR_COSINE = 0.75
"""Cosine from which two queries mean the same."""
AGENT_WEIGHT = 0.5
"""Weight of what an agent opens, which looks at more notes than it needs."""
AGENTS = ("vaultseek.mcp",)


def evidence(opens: Iterable[Open], now: float) -> dict[str, float]:
    """Return by path how far a note was opened rather than passed over, in [0, 1]; only what is above 0."""
    opened: dict[str, float] = {}
    times: dict[str, float] = {}
    for each in opens:
        weight = 0.5 ** (max(0.0, now - each.time) / HALF_LIFE_SECONDS)
        if each.client in AGENTS:
            weight *= AGENT_WEIGHT
        opened[each.path] = opened.get(each.path, 0.0) + weight * min(
            max(1, each.position) ** EXAMINATION, MOST_OF_ONE
        )
        times[each.path] = times.get(each.path, 0.0) + weight
    total = sum(times.values())
    passed = {note: total - own for note, own in times.items()}
    return {
        note: (value - passed[note]) / (value + passed[note] + PRIOR)
        for note, value in opened.items()
        if value > passed[note]
    }


def pinned_to(query: str, ledger: Ledger) -> set[int]:
    """Return the ids of the notes that are pinned to a query."""
    return {row[0] for row in ledger.select("SELECT note FROM names WHERE name = ?", pinned_name(query))}


def opened_before(parsed: ParsedRequest, retrieval: Retrieval, ledger: Ledger) -> dict[str, float]:
    """Return by path what notes gain, as a share of the best score, that are pinned to this query, or were
    opened from it or from one like it."""
    text = parsed.query.rank_text
    pinned = {row.path: PINNED_GAIN for row in ledger.notes.by_id(sorted(pinned_to(text, ledger))).values()}
    if not (parsed.request.settings.learn and text and ledger.keeps_opens):
        return pinned
    now, words, answer = time.time(), words_of(text), retrieval.unexpanded
    same = evidence(ledger.opens.matching([words]), now)
    near: list[str] = []
    if answer is not None and answer.model:
        near = ledger.opens.near(Meaning(answer.model, answer.vector), NEAR_COSINE)
    like = evidence(ledger.opens.matching([words, *near], text if parsed.is_unfinished else ""), now)
    gains = {path: OPENED_GAIN * share for path, share in like.items()}
    gains |= {path: max(SAME_QUERY_GAIN * share, gains.get(path, 0.0)) for path, share in same.items()}
    return gains | pinned


def raised(results: Sequence[Candidate], gains: Mapping[str, float]) -> Sequence[Candidate]:
    """Return the results in their new order, with what they gain by having been opened.

    No note is lost, and all others keep their scores.
    """
    if not any(each.note in gains for each in results):
        return results
    ordered = sorted(results, key=lambda each: -each.score - gains.get(each.note, 0.0))
    return [
        each._replace(score=min(1.0, each.score + gain), opened=gain * each.best)
        if (gain := gains.get(each.note, 0.0))
        else each
        for each in ordered
    ]
