"""Retrieve notes: query the keyword index and the semantic worker at the same time.

A lane that fails is left out with a reason; the search fails only if both lanes fail. If the request enables
expansion, the query is embedded again, together with the nearest terms from the vault.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial

from vaultseek.base.model import Reason
from vaultseek.base.text import fold_accents
from vaultseek.content.languages.stopwords import all_stop_words
from vaultseek.core.indexing.scoped_vault import SearchedVault
from vaultseek.core.search.request import ParsedRequest
from vaultseek.errors import IndexDamaged, Unavailable
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.semantic.worker import SemanticAnswer
from vaultseek.store.concept_vocabulary import Concept
from vaultseek.store.keyword.analysis import extract_prefixes
from vaultseek.store.keyword.index import KeywordAnswer

LATE = Reason("deadline", "not ready by the request's deadline")
MOST_TIES = 1000
"""Maximum number of notes retrieved beyond the limit because they have the same score as the last note within
it. Otherwise the order of indexing would decide between these notes."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The answers of the lanes; None for a lane that was not queried or could not answer.

    ``unexpanded`` is the semantic answer to the query's own words, and determines the confidence;
    ``concepts`` are the terms added to the query for the ``semantic`` answer. ``partial`` has the reasons why
    a lane or the expansion is missing or incomplete. ``continued`` is true if no note has any of the query's
    words, so that the keyword answer is for words that begin with the query's last word.
    """

    keyword: KeywordAnswer | None = None
    semantic: SemanticAnswer | None = None
    unexpanded: SemanticAnswer | None = None
    concepts: tuple[Concept, ...] = ()
    partial: Mapping[str, Reason] = field(default_factory=dict)
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    continued: bool = False

    @property
    def answered(self) -> list[str]:
        """Names of the lanes that answered."""
        return [name for name in ("keyword", "semantic") if getattr(self, name) is not None]

    @property
    def missing_words(self) -> Set[str]:
        """Words of the query, as indexed, that no note has; similar words were searched for instead."""
        terms = () if self.keyword is None else self.keyword.terms
        return {term.word for term in terms if self.continued or term.fuzzy or not term.df}


def combine_lanes(keyword: Retrieval, semantic: Retrieval) -> Retrieval:
    """Return a retrieval with both lanes' answers. Raises Unavailable if neither lane can answer."""
    both = replace(
        semantic,
        keyword=keyword.keyword,
        continued=keyword.continued,
        partial={**semantic.partial, **keyword.partial},
        milliseconds={**keyword.milliseconds, **semantic.milliseconds},
    )
    if not both.answered:
        reasons = "; ".join(dict.fromkeys(reason.text for reason in both.partial.values()))
        raise Unavailable(f"no search is available right now: {reasons}; try again later")
    return both


def expanded_text(text: str, concepts: Iterable[Concept]) -> str:
    """Return the text to embed for a query expanded with these concepts."""
    return " ".join([text, *(concept.term for concept in concepts)])


def ask_keyword(parsed: ParsedRequest, allowed: NoteIds | None, vault: SearchedVault) -> Retrieval:
    """Query the keyword index for ``parsed.depth`` notes; if the index is damaged, report that to the vault.

    If no note has any of the words, search for words that begin with the last word, as if the query were
    unfinished. Identifiers are always searched for as typed.
    """
    if parsed.request.mode == "semantic":
        return Retrieval()
    began, text = time.perf_counter(), parsed.query.rank_text
    answer: KeywordAnswer | None = None
    continued, reasons = False, dict[str, Reason]()
    ask = partial(vault.keyword_index.search, text, parsed.depth, allowed, ties=MOST_TIES)
    try:
        answer = ask(unfinished=parsed.is_unfinished)
        # A stop word in any language is not treated as the beginning of another word.
        last = fold_accents(text.split()[-1].casefold()) if text.split() else ""
        is_over = parsed.is_unfinished or parsed.profile.identifiers or last in all_stop_words()
        if not len(answer) and not is_over:
            answer = ask(unfinished=True)
            continued = len(answer) > 0
    except (IndexDamaged, OSError) as error:
        vault.rebuild_keyword_index()
        reasons["keyword"] = Reason("index_damaged", f"the keyword index is being rebuilt ({error})")
    except Unavailable as error:
        reasons["keyword"] = Reason.of(error)
    else:
        if (incomplete := vault.keyword_reason()) is not None:
            reasons["vault"] = incomplete
    spent = {"keyword": 1000 * (time.perf_counter() - began)}
    return Retrieval(answer, partial=reasons, milliseconds=spent, continued=continued)


def wants_semantic(parsed: ParsedRequest) -> bool:
    """True if the semantic lane takes part in a request.

    It is left out if the query is only the beginning of a word, because such a fragment has no meaning.
    """
    mode = parsed.request.mode
    has_words = not parsed.profile.pure_identifier and extract_prefixes(parsed.query.rank_text)[0].strip()
    return mode == "semantic" or (mode == "hybrid" and bool(has_words))


async def ask_semantic(parsed: ParsedRequest, allowed: NoteIds | None, vault: SearchedVault) -> Retrieval:
    """Query the semantic worker for ``parsed.depth`` notes, if the semantic lane takes part in the request.

    If no installed model reads the query's language, or while few notes have vectors, the lane is left out.
    This does not apply if the client requested a search by meaning only.
    """
    if not wants_semantic(parsed):
        return Retrieval()
    if not parsed.request.typing:
        await vault.spaces.wait_until_loaded()
    text, has_words = parsed.query.rank_text, parsed.request.mode != "semantic"
    reason, unread = vault.spaces.reason(text), vault.spaces.unsupported_language_reason(text)
    incomplete = unread or vault.spaces.lag_reason(text)
    if reason is None and has_words:
        is_misleading = incomplete is not None and incomplete.code == "not_embedded"
        reason = unread or (incomplete if is_misleading else None)
    if reason is not None:
        return Retrieval(partial={"semantic": reason})
    began = time.perf_counter()
    own: SemanticAnswer | None = None
    answer: SemanticAnswer | None = None
    concepts: tuple[Concept, ...] = ()
    reasons = {} if incomplete is None else {"vault": incomplete}
    try:
        async with asyncio.timeout(parsed.seconds):
            own = answer = await vault.spaces.ask(text, parsed.depth, allowed)
            answer, concepts = await _expand(parsed, own, allowed, vault)
    except (TimeoutError, Unavailable, IndexDamaged) as error:
        failed = "semantic" if own is None else "expansion"
        reasons[failed] = LATE if isinstance(error, TimeoutError) else Reason.of(error)
    spent = {"semantic": 1000 * (time.perf_counter() - began)}
    if answer is not None:  # time that the lane spent in the worker
        spent |= {"embed": answer.embed_ms, "neighbours": answer.search_ms}
    return Retrieval(None, answer, own, concepts, reasons, spent)


async def _expand(
    parsed: ParsedRequest, own: SemanticAnswer, allowed: NoteIds | None, vault: SearchedVault
) -> tuple[SemanticAnswer, tuple[Concept, ...]]:
    """Expand the query with the nearest terms from the vault, and query again.

    Returns the answer to the query itself if expansion is off or no term is near. Raises WorkerUnavailable or
    IndexDamaged, and Unavailable while the vocabulary is unknown.
    """
    settings, text = parsed.request.settings.expansion, parsed.query.rank_text
    if not settings.enabled or parsed.profile.pure_identifier:
        return own, ()
    concepts = await vault.near_concepts(text, own.vector, settings.terms, settings.floor)
    if not concepts:
        return own, ()
    return await vault.spaces.ask(expanded_text(text, concepts), parsed.depth, allowed), tuple(concepts)
