"""Expand a query's meaning by the vault's own terms for it.

The query is embedded once more together with the nearest terms of the concept vocabulary. Terms that are not
near enough are left out; without any, the first answer stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vaultseek.index.concept_vocabulary import Concept
from vaultseek.index.vectors.port import NoteIds
from vaultseek.search.port import SearchedVault
from vaultseek.search.request import ParsedRequest
from vaultseek.worker import SemanticAnswer


@dataclass(frozen=True, slots=True)
class Expansion:
    """The terms that joined the query, and the semantic answer with them."""

    concepts: tuple[Concept, ...]
    semantic: SemanticAnswer


async def expand(
    parsed: ParsedRequest, semantic: SemanticAnswer, allowed: NoteIds | None, vault: SearchedVault
) -> Expansion | None:
    """Ask again with the vault's nearest terms; None if the request or the vocabulary has none.

    Raises Unavailable while the vocabulary is not known, WorkerUnavailable or IndexDamaged.
    """
    settings, text = parsed.request.settings.expansion, parsed.query.rank_text
    if not settings.enabled or parsed.profile.pure_identifier:
        return None
    concepts = await vault.near_concepts(text, semantic.vector, settings.terms, settings.floor)
    if not concepts:
        return None
    answer = await vault.ask_semantic(expanded_text(text, concepts), parsed.depth, allowed)
    return Expansion(tuple(concepts), answer)


def expanded_text(text: str, concepts: Iterable[Concept]) -> str:
    """Return the text that is embedded for a query with these concepts."""
    return " ".join([text, *(concept.term for concept in concepts)])
