"""Evidence for notes that were opened from the same query before.

People read a list from its top, so a note that was opened at a low place says more than the first. An open
counts by the inverse of the probability that its place is examined, by the position-based model with
``1 / place ** EXAMINATION`` (Joachims, Swaminathan and Schnabel, *Unbiased Learning-to-Rank with Biased
Feedback*, WSDM 2017). An open of another note from the same query counts as one in which a note was passed
over.
"""

import re
import time
from collections.abc import Iterable, Mapping, Sequence

from vaultseek.base.text import fold
from vaultseek.content.languages.stopwords import STOP_WORDS
from vaultseek.core.search.formula import OPENED_GAIN
from vaultseek.core.search.fusion import Candidate
from vaultseek.core.search.request import ParsedRequest
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.opens import Meaning, Open

EXAMINATION = 0.7
HALF_LIFE_SECONDS = 42 * 86_400.0
PRIOR = 1.0
"""Opens that a note has neither for nor against it before the first."""
NEAR_COSINE = 0.8
"""Cosine from which two queries mean the same."""
AGENT_WEIGHT = 0.5
"""Weight of what an agent opens, which looks at more notes than it needs."""
AGENTS = ("vaultseek.mcp",)


def words_of(text: str) -> str:
    """Return the words of a query, folded and in the order of the alphabet, without stop words unless there
    are no others: the same for every query that says the same with the same words."""
    words = set(re.findall(r"\w+", fold(text)))
    return " ".join(sorted(words - STOP_WORDS or words))


def evidence(opens: Iterable[Open], now: float) -> dict[str, float]:
    """Return by path how far a note was opened rather than passed over, in [0, 1]; only what is above 0."""
    opened: dict[str, float] = {}
    times: dict[str, float] = {}
    for each in opens:
        weight = 0.5 ** (max(0.0, now - each.time) / HALF_LIFE_SECONDS)
        if each.client in AGENTS:
            weight *= AGENT_WEIGHT
        opened[each.path] = opened.get(each.path, 0.0) + weight * max(1, each.position) ** EXAMINATION
        times[each.path] = times.get(each.path, 0.0) + weight
    total = sum(times.values())
    passed = {note: total - own for note, own in times.items()}
    return {
        note: (value - passed[note]) / (value + passed[note] + PRIOR)
        for note, value in opened.items()
        if value > passed[note]
    }


def opened_before(parsed: ParsedRequest, retrieval: Retrieval, ledger: Ledger) -> dict[str, float]:
    """Return the evidence for notes that were opened from this query before, by path."""
    text = parsed.query.rank_text
    if not (parsed.request.settings.learn and text and ledger.keeps_opens):
        return {}
    words = {words_of(text)}
    answer = retrieval.unexpanded
    if answer is not None and answer.model:
        words.update(ledger.opens.near(Meaning(answer.model, answer.vector), NEAR_COSINE))
    beginning = text if parsed.is_unfinished else ""
    return evidence(ledger.opens.matching(words, beginning), time.time())


def raised(results: Sequence[Candidate], shares: Mapping[str, float]) -> Sequence[Candidate]:
    """Return the results in their new order, with what they gain by having been opened.

    No note is lost, and all others keep their scores.
    """
    if not any(each.note in shares for each in results):
        return results
    places = {each.note: place for place, each in enumerate(results)}
    gains = {each.note: OPENED_GAIN * shares.get(each.note, 0.0) for each in results}
    ordered = sorted(results, key=lambda each: (-each.score - gains[each.note], places[each.note]))
    return [
        each._replace(score=min(1.0, each.score + gain), opened=gain * each.best)
        if (gain := gains[each.note])
        else each
        for each in ordered
    ]
