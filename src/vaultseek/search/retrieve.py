"""Ask the lanes: the keyword index and the semantic worker, at the same time, each only as far as it can.

A lane that fails is left out and the reason is kept; only without any lane is there no answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from vaultseek.errors import IndexDamaged, Unavailable
from vaultseek.index.concept_vocabulary import Concept
from vaultseek.index.keyword.index import KeywordAnswer
from vaultseek.index.vectors.port import NoteIds
from vaultseek.model import Reason
from vaultseek.search.expansion import expand
from vaultseek.search.port import SearchedVault
from vaultseek.search.request import ParsedRequest
from vaultseek.worker import SemanticAnswer

LATE = Reason("deadline", "not ready by the deadline of the request")


@dataclass(frozen=True, slots=True)
class KeywordRetrieval:
    """The keyword lane's answer, or the reason why there is none or not all of it."""

    answer: KeywordAnswer | None = None
    reason: Reason | None = None
    milliseconds: float | None = None


@dataclass(frozen=True, slots=True)
class SemanticRetrieval:
    """The semantic lane's answer and the terms that expanded it.

    ``unexpanded`` is the answer to the query's own words; confidence comes from this. ``reasons`` say why the
    lane or the expansion did not take part.
    """

    answer: SemanticAnswer | None = None
    unexpanded: SemanticAnswer | None = None
    concepts: tuple[Concept, ...] = ()
    reasons: Mapping[str, Reason] = field(default_factory=dict)
    milliseconds: float | None = None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The answers of both lanes; None for a lane that was not asked or could not answer."""

    keyword: KeywordAnswer | None = None
    semantic: SemanticAnswer | None = None
    unexpanded: SemanticAnswer | None = None
    concepts: tuple[Concept, ...] = ()
    partial: Mapping[str, Reason] = field(default_factory=dict)
    milliseconds: Mapping[str, float] = field(default_factory=dict)


async def retrieve(parsed: ParsedRequest, allowed: NoteIds | None, vault: SearchedVault) -> Retrieval:
    """Ask both lanes for ``parsed.depth`` notes each. Raises Unavailable if no lane can answer."""
    keyword, semantic = await asyncio.gather(
        _ask_keyword(parsed, allowed, vault), _ask_semantic(parsed, allowed, vault)
    )
    partial = {**({"keyword": keyword.reason} if keyword.reason else {}), **semantic.reasons}
    if keyword.answer is None and semantic.answer is None:
        reasons = "; ".join(reason.text for reason in partial.values())
        raise Unavailable(f"no lane can answer now, try again: {reasons}")
    spent = {"keyword": keyword.milliseconds, "semantic": semantic.milliseconds}
    return Retrieval(
        keyword.answer,
        semantic.answer,
        semantic.unexpanded,
        semantic.concepts,
        partial,
        {stage: each for stage, each in spent.items() if each is not None},
    )


async def _ask_keyword(
    parsed: ParsedRequest, allowed: NoteIds | None, vault: SearchedVault
) -> KeywordRetrieval:
    if parsed.request.mode == "semantic":
        return KeywordRetrieval()
    began = time.perf_counter()
    try:
        answer = await asyncio.to_thread(
            vault.keyword_index.search, parsed.query.rank_text, parsed.depth, allowed
        )
    except (IndexDamaged, OSError) as error:
        vault.rebuild_keyword_index()
        reason = Reason("index_damaged", f"the keyword index is being made again ({error})")
        return KeywordRetrieval(None, reason, _milliseconds_since(began))
    return KeywordRetrieval(answer, vault.keyword_reason(), _milliseconds_since(began))


async def _ask_semantic(
    parsed: ParsedRequest, allowed: NoteIds | None, vault: SearchedVault
) -> SemanticRetrieval:
    mode = parsed.request.mode
    if mode == "keyword" or (mode == "hybrid" and parsed.profile.pure_identifier):
        return SemanticRetrieval()
    reason = vault.semantic_reason()
    if reason is not None:
        return SemanticRetrieval(reasons={"semantic": reason})
    began = time.perf_counter()
    own: SemanticAnswer | None = None
    answer: SemanticAnswer | None = None
    concepts: tuple[Concept, ...] = ()
    reasons: dict[str, Reason] = {}
    try:
        async with asyncio.timeout(parsed.request.seconds):
            own = answer = await vault.ask_semantic(parsed.query.rank_text, parsed.depth, allowed)
            expansion = await expand(parsed, own, allowed, vault)
            if expansion is not None:
                answer, concepts = expansion.semantic, expansion.concepts
    except TimeoutError:
        reasons = {_missing(own): LATE}
    except (Unavailable, IndexDamaged) as error:
        reasons = {_missing(own): Reason.of(error)}
    return SemanticRetrieval(answer, own, concepts, reasons, _milliseconds_since(began))


def _missing(answer: SemanticAnswer | None) -> str:
    return "semantic" if answer is None else "expansion"


def _milliseconds_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
