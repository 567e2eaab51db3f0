"""Select passages from several notes as evidence for one question, within a token budget."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

from vaultseek.base.model import JSON, LESS_CERTAIN, Chunk, less_certain
from vaultseek.base.text import count, fold_case, remove_hidden, tokens
from vaultseek.base.when import dates, iso_time
from vaultseek.content.markdown.split import LINE, SENTENCE
from vaultseek.core.notes.section import (
    COLONS,
    Block,
    Section,
    is_one_section,
    marked_lines,
    section_of,
)
from vaultseek.core.search.currency import Currency
from vaultseek.core.search.passages import passage_scores
from vaultseek.core.search.ranking import Candidate
from vaultseek.core.search.response import Trace
from vaultseek.core.search.snippet import preview
from vaultseek.store.ledger import Ledger, NoteRow

NOTES = 12
"""Maximum number of notes whose passages compete for the budget."""
PASSAGES = 6
"""Maximum number of passages per note that compete for the budget."""
NEIGHBOUR = 0.3
"""Value of a passage's neighbour in the same section, relative to the value of the passage itself."""
LEAST_CERTAINTY = 0.01
SHINGLE = 4
"""Number of words in each run of words by which passages are compared."""
DOUBLE = 0.6
"""Minimum share of a passage's word runs that must be in the evidence for the passage to count as a near
duplicate."""
CUT_TOKENS = 40
"""Minimum length of a shortened passage, in tokens. A passage that would be shorter is left out."""
CERTAIN_OR_NOT = 5
"""Number of best notes whose passages compete even if the notes' certainty is low. Other notes must have a
high certainty."""
WEAK = 2
"""Number of passages shown if no note matches well."""
WEAK_TOKENS = 400
"""Maximum number of tokens for the passages shown if no note matches well."""
FOCUS_CHARS = 80
"""Width, in characters, of the window used to find the best line of a passage."""
NAMED = 5
"""Maximum number of omitted passages that a remark lists."""
REMARK_TOKENS = 125
"""Number of tokens reserved for remarks."""

_WEAK = "[no note matches; these are the closest]"
_WORD = re.compile(r"\w+")
ABBREVIATION_CHARS = 12
"""Number of characters before the end of a sentence that are checked for an abbreviation."""
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:(?:\w\.\s?)*\w|Dr|Mr|Mrs|Ms|Prof|St|No|Nr|Fig|vs|ca|cf|bzw|approx)\.$"
)
"""Pattern for an abbreviation whose full stop does not end a sentence: dotted letters, titles, and words used
before a number."""
_ASKS_FOR_TIME = re.compile(
    r"\b(when|since|until|timeline|history|chronology|earliest|latest|first|last|recently"
    r"|wann|seit|zuletzt|quand|depuis|cuándo|desde)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A piece of evidence: lines from a note, with the probability ``use`` that they help to answer the
    question.

    ``chunk`` is the passage as an agent reads it, or only the displayed part. ``is_cut`` is true if the
    passage continues after that part.
    """

    row: NoteRow
    chunk: Chunk
    section: Section
    position: int | None
    """Position of the passage in its note; None for a whole block made of several passages."""
    use: float
    rank: int
    """Rank of the passage in its note; ``PASSAGES`` for a passage that only completes another passage."""
    focus: int | None = None
    """Offset of the best match in the text; None if that match is in another piece of the passage."""
    currency: Currency | None = None
    is_cut: bool = False
    block: Block | None = None
    """Block to which these lines belong, if the block spans several passages."""

    @property
    def place(self) -> str:
        """Path of the note, with the lines or the part of the file."""
        return _place(self.row, self.chunk)

    @property
    def text(self) -> str:
        """A source line followed by the text, which is indented so that no note can forge a source line."""
        headings = dict.fromkeys([self.row.title, *self.chunk.heading_path])
        days = dates(self.row.created.text, iso_time(self.row.modified))
        # A bar in a name could forge a date.
        about = f"- {_plain(self.place)} | {_plain(' > '.join(headings))} | {days}"
        if self.currency is not None:
            about += f" | {_plain(self.currency.text)}"
        shown = "\n".join([*self._before, self.chunk.text.strip("\n"), *self._after])
        lines = (f"  {line}".rstrip() for line in shown.split("\n"))
        return remove_hidden("\n".join([" ".join(about.split()), *lines]))

    @property
    def opening(self) -> str:
        """Opening of the block, if these lines are a later part of the block; otherwise ""."""
        block = self.block
        return block.opening if block is not None and block.opening_line < self.chunk.start_line else ""

    @property
    def _before(self) -> list[str]:
        """Lines to show before the text if the block begins earlier."""
        if self.block is None or self.block.start_line == self.chunk.start_line:
            return []
        return [self.opening, "[…]"] if self.opening else ["[…]"]

    @property
    def _after(self) -> list[str]:
        """Lines to show after the text, stating how much of the block is missing."""
        block, chunk = self.block, self.chunk
        if block is None:
            return []
        shown = chunk.end_line - chunk.start_line + 1 + bool(self.opening)
        missing = count(block.end_line - block.start_line + 1 - shown, "line")
        below = ["[…]"] if chunk.end_line < block.end_line else []
        place = f"{_plain(self.row.path)}:{block.start_line}-{block.end_line}"
        return [*below, f"[{missing} left out; for the whole block, read {place}]"]

    @property
    def tokens(self) -> int:
        """Number of tokens in the text and its final line feed."""
        return tokens(f"{self.text}\n")

    def as_json(self) -> JSON:
        """Return the evidence as JSON for an answer."""
        return {
            "path": self.row.path,
            "title": self.row.title,
            "heading_path": list(self.chunk.heading_path),
            "place": self.chunk.place,
            "start_line": self.chunk.start_line,
            "end_line": self.chunk.end_line,
            "modified": iso_time(self.row.modified),
            "created": self.row.created.text,
            "currency": None if self.currency is None else self.currency.as_json(),
            "opening": self.opening or None,
            "block": self.block
            and {
                "start_line": self.block.start_line,
                "end_line": self.block.end_line,
            },
            "text": self.chunk.text,
            "cut": self.is_cut,
        }


def pack_context(trace: Trace, ledger: Ledger, budget: int) -> JSON:
    """Return the most useful evidence that fits into ``budget`` tokens.

    Each passage is taken once, the most useful first, together with neighbours that complete a section. The
    last passages are cut between sentences. Evidence is sorted by note and line, or by time if the question
    asks about time.
    """
    passages = sorted(_passages(trace, ledger), key=lambda each: -each.use)[: WEAK if trace.weak else None]
    sections: dict[int, Section] = {}
    chosen: list[Evidence] = []
    left_out: dict[str, JSON] = {}
    given: set[tuple[int, Block]] = set()
    shingles: set[tuple[str, ...]] = set()
    room = budget - min(REMARK_TOKENS, budget // 3)
    if trace.weak:
        room = min(room, WEAK_TOKENS)
    for passage in passages:
        own = _shingles(passage.chunk.text)
        if own and len(own & shingles) >= DOUBLE * len(own):
            continue
        if room < CUT_TOKENS:
            left_out |= _lines_left_out(passage.row, passage.chunk)
            continue
        for piece in _pieces(_evidence(passage, trace, sections, ledger)):
            if piece.block is not None and (piece.row.id, piece.block) in given:
                continue
            fitting = _fitting(piece, room, at_any_rate=not chosen)
            if fitting is None or fitting.is_cut:
                left_out |= _lines_left_out(piece.row, _whole(piece).chunk)
            if fitting is None:
                continue
            if piece.block is not None:
                given.add((piece.row.id, piece.block))
            shingles |= own
            chosen.append(fitting)
            room -= fitting.tokens
    evidence = _joined(_ordered(chosen, trace))
    remarks = [_WEAK] if trace.weak and evidence else []
    said = {_whole(each).place for each in chosen if each.block is not None}
    places = [place for place in left_out if place not in said]
    text = "\n".join([*remarks, *(each.text for each in evidence), *_remark(places)])
    return {
        "text": text,
        "tokens": tokens(text),
        "passages": [each.as_json() for each in evidence],
        "left_out": [*left_out.values()],
    }


class Passage(NamedTuple):
    """A passage that competes for the budget, and its position in ``outline``, the list of its note's
    passages.

    ``rank`` is the passage's rank in the note; PASSAGES for a passage that only completes another one.
    """

    row: NoteRow
    chunk: Chunk
    outline: Sequence[int]
    position: int
    use: float
    rank: int
    currency: Currency | None


def _passages(trace: Trace, ledger: Ledger) -> Iterator[Passage]:
    certain = len(trace.results) - less_certain([trace.certainty(each) for each in trace.results])
    results = [*_prose(trace.results[: max(certain, CERTAIN_OR_NOT)])]
    rows = [each.about for each in results]
    scores = passage_scores([row.id for row in rows], trace.query.retrieval, ledger)
    outlines = {note: list(each) for note, each in scores.items()}
    best = {note: sorted(each, key=lambda number: -each[number])[:PASSAGES] for note, each in scores.items()}
    wanted = {near for note in best for number in best[note] for near in _near(outlines[note], number)}
    chunks = ledger.chunks.by_number(sorted(wanted))
    for candidate, row in zip(results, rows, strict=True):
        certainty = max(trace.certainty(candidate), LEAST_CERTAINTY)
        uses: dict[int, float] = {}
        for rank, number in enumerate(best.get(row.id, ())):
            first = scores[row.id][best[row.id][0]] or 1.0
            share = (scores[row.id][number] / first if rank else 1.0) / (rank + 1)
            for near in _near(outlines[row.id], number):
                if near in chunks and (near == number or is_one_section(chunks[near], chunks[number])):
                    use = certainty * share * (1.0 if near == number else NEIGHBOUR)
                    uses[near] = max(use, uses.get(near, 0.0))
            if certainty < LESS_CERTAIN and candidate is not trace.results[0]:
                uses = {number: certainty}
                break
        currency = trace.currencies.get(row.path)
        for number, use in uses.items():
            position = outlines[row.id].index(number)
            rank = best[row.id].index(number) if number in best[row.id] else PASSAGES
            yield Passage(row, chunks[number], outlines[row.id], position, use, rank, currency)


def _prose(results: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield the results without bases, which only define tables. A base is kept if it is the best result."""
    wanted = bool(results) and results[0].about.kind == "base"
    return (each for each in results if wanted or each.about.kind != "base")


def _evidence(passage: Passage, trace: Trace, sections: dict[int, Section], ledger: Ledger) -> Evidence:
    """Return a passage as an agent reads it, with its best match. ``sections`` caches the sections read so
    far.
    """
    row, chunk, outline, position, use, rank, currency = passage
    if outline[position] not in sections:
        sections |= section_of(outline, position, ledger)
    shared = ledger.shared_lines([chunk.text])
    shown = preview(chunk, FOCUS_CHARS, trace.matcher, row.language, shared=shared)
    lines = marked_lines(chunk)
    # Markers are added only at the beginning of a line.
    rest = chunk.text.split("\n")[: shown.line + 1]
    focus = len("\n".join(lines[: shown.line + 1])) - (len("\n".join(rest)) - shown.offset)
    marked = replace(chunk, text="\n".join(lines), code=(), edits=())
    return Evidence(row, marked, sections[outline[position]], position, use, rank, max(0, focus), currency)


def _near(outline: Sequence[int], number: int) -> Sequence[int]:
    at = outline.index(number)
    return outline[max(0, at - 1) : at + 2]


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(fold_case(text))
    return set(zip(*(words[start:] for start in range(SHINGLE)), strict=False))


def _pieces(evidence: Evidence) -> list[Evidence]:
    """Split a passage into pieces, best first: blocks that the passage contains only in part, and the lines
    around them.

    The blocks are omitted if the passage was added only to complete another passage.
    """
    chunk, blocks = evidence.chunk, evidence.section.divided_blocks(evidence.chunk)
    if not blocks:
        return [evidence]
    lines = range(chunk.start_line, chunk.end_line + 1)
    best = chunk.start_line + chunk.text.count("\n", 0, evidence.focus)
    pieces: list[Evidence] = []
    for block in blocks if evidence.rank < PASSAGES else ():
        pieces.append(_of_block(evidence, block, best))
    headings = {heading.line for heading in evidence.row.headings}
    outside = [each for each in lines if not any(each in block.lines for block in blocks)]
    if any(evidence.section.text(each, each).strip() for each in outside if each not in headings):
        pieces.append(_between(evidence, outside[0], outside[-1]))
    return sorted(pieces, key=lambda each: each.focus is None)


def _between(evidence: Evidence, first: int, last: int) -> Evidence:
    """Return lines ``first`` to ``last`` of a passage; these lines are outside its blocks."""
    chunk = evidence.chunk
    rows = chunk.text.split("\n")
    before = sum(len(row) + 1 for row in rows[: first - chunk.start_line])
    text = "\n".join(rows[first - chunk.start_line : last - chunk.start_line + 1])
    focus = evidence.focus - before if evidence.focus is not None else -1
    part = replace(chunk, text=text, start_line=first, end_line=last)
    return replace(evidence, chunk=part, focus=focus if 0 <= focus <= len(text) else None)


def _of_block(evidence: Evidence, block: Block, best: int) -> Evidence:
    """Return the lines of a block that are in a passage; ``best`` is the best line of the passage."""
    chunk = evidence.chunk
    first, last = max(chunk.start_line, block.start_line), min(chunk.end_line, block.end_line)
    focus = len(evidence.section.text(first, best)) if first <= best <= last else None
    return replace(_of_section(evidence, first, last), focus=focus, block=block)


def _of_section(evidence: Evidence, first: int, last: int) -> Evidence:
    """Return lines ``first`` to ``last``, uncut, of the section that contains the evidence."""
    text = evidence.section.text(first, last)
    return replace(evidence, chunk=replace(evidence.chunk, text=text, start_line=first, end_line=last))


def _whole(piece: Evidence) -> Evidence:
    """Return the whole block to which a piece belongs."""
    if piece.block is None:
        return piece
    block = _of_section(piece, piece.block.start_line, piece.block.end_line)
    return replace(block, position=None, block=None, is_cut=False)


def _fitting(piece: Evidence, room: int, *, at_any_rate: bool) -> Evidence | None:
    """Return the piece, extended to its whole block if that fits into ``room`` tokens, or cut to the part
    that fits.

    A part of a block counts as evidence only if it contains the note's best match.
    """
    whole = _whole(piece)
    if whole.tokens <= room:
        return whole
    if piece.block is None:
        return _cut(piece, room, at_any_rate=at_any_rate)
    return None if piece.rank or piece.focus is None else _cut_block(piece, room)


def _cut(evidence: Evidence, room: int, *, at_any_rate: bool) -> Evidence | None:
    """Return as many sentences and blocks around the best match as fit into ``room`` tokens; None if too few
    fit.

    With ``at_any_rate``, used for the first evidence, the cut may also be within a sentence or a block.
    """
    text = evidence.chunk.text
    ends, whole = _borders(evidence)
    spans = [*zip([0, *ends], ends, strict=False)]
    focus = evidence.focus or 0
    first = next(at for at, (_, end) in enumerate(spans) if end > focus or end == len(text))
    fitting = None
    for low, high in _growing(first, first, len(spans)):
        part = _part(evidence, spans[low][0], spans[high][1])
        if part.tokens > room:
            break
        fitting = part
    if at_any_rate and fitting is None:
        block = whole.get(spans[first][1])
        if block is None:
            return _beginning(evidence, focus, room)
        best = max(block.start_line, evidence.chunk.start_line + text.count("\n", 0, focus))
        return _cut_block(_of_block(evidence, block, best), room)
    if fitting is None or (not at_any_rate and tokens(fitting.chunk.text) < CUT_TOKENS):
        return None
    return fitting


def _cut_block(piece: Evidence, room: int) -> Evidence | None:
    """Return as many lines around the best match as fit into ``room`` tokens."""
    first = piece.chunk.start_line
    at = piece.chunk.text.count("\n", 0, piece.focus)
    fitting = None
    for low, high in _growing(at, at, piece.chunk.end_line - first + 1):
        part = replace(_of_section(piece, first + low, first + high), is_cut=True)
        if part.tokens > room:
            break
        fitting = part
    is_opening = fitting and piece.block and fitting.chunk.end_line <= piece.block.head_line
    return None if is_opening else fitting


def _borders(evidence: Evidence) -> tuple[list[int], dict[int, Block]]:
    """Return the positions at which the text may be cut, and a dict from the end position of each block that
    must stay whole to the block.

    The sentence that introduces such a block belongs to the block.
    """
    text = evidence.chunk.text
    found = {match.end() for match in chain(SENTENCE.finditer(text), LINE.finditer(text))}
    sentences = {
        end for end in found if not _ABBREVIATION.search(text, max(0, end - ABBREVIATION_CHARS), end)
    }
    borders = sorted(sentences | {len(text)})
    whole: dict[int, Block] = {}
    for start, end, block in _whole_blocks(evidence):
        last = borders[bisect_left(borders, end)]
        above = text[:start].rstrip()
        is_introduced = above.endswith(COLONS) or (start - len(above) == 1 and above)
        if is_introduced:
            at = bisect_left(borders, len(above)) - 1
            start = borders[at] if at >= 0 else 0
        borders = [each for each in borders if not start < each < last]
        whole[last] = block
    return borders, whole


def _whole_blocks(evidence: Evidence) -> Iterator[tuple[int, int, Block]]:
    """Yield the blocks of a passage that must not be cut, each with its character range."""
    chunk = evidence.chunk
    starts = [0, *(match.end() for match in LINE.finditer(chunk.text)), len(chunk.text) + 1]
    for block in evidence.section.blocks:
        if chunk.start_line <= block.first_line and block.end_line <= chunk.end_line:
            rows = block.first_line - chunk.start_line, block.end_line - chunk.start_line
            yield starts[rows[0]], starts[rows[1] + 1] - 1, block


def _beginning(evidence: Evidence, start: int, room: int) -> Evidence | None:
    lengths = range(1, len(evidence.chunk.text) - start + 1)
    length = bisect_right(lengths, room, key=lambda each: _part(evidence, start, start + each).tokens)
    return _part(evidence, start, start + length) if length else None


def _growing(first: int, last: int, count: int) -> Iterator[tuple[int, int]]:
    yield first, last
    while (first, last) != (0, count - 1):
        if last < count - 1:
            last += 1
            yield first, last
        if first > 0:
            first -= 1
            yield first, last


def _part(evidence: Evidence, start: int, end: int) -> Evidence:
    chunk = evidence.chunk
    first = chunk.start_line + chunk.text.count("\n", 0, start)
    headings = {heading.line - first for heading in evidence.row.headings}
    lines = chunk.text[start:end].rstrip().split("\n")
    while len(lines) > 1 and (len(lines) - 1 in headings or not lines[-1].strip()):
        lines.pop()
    text = "\n".join(lines).rstrip()
    part = replace(chunk, text=text, start_line=first, end_line=first + text.count("\n"))
    return replace(evidence, chunk=part, is_cut=True)


def _ordered(chosen: Sequence[Evidence], trace: Trace) -> list[Evidence]:
    """Return the evidence sorted by note, then by line, with the most useful note first.

    Equally useful notes keep the order of their ranks. If the question asks about time, the evidence is
    sorted by time.
    """
    place = {each.note: place for place, each in enumerate(trace.results)}
    use: dict[str, float] = {}
    for each in chosen:
        use[each.row.path] = max(each.use, use.get(each.row.path, 0.0))
    ordered = sorted(
        chosen,
        key=lambda each: (
            -use[each.row.path],
            place[each.row.path],
            each.chunk.start_line,
            each.position or 0,
        ),
    )
    if _ASKS_FOR_TIME.search(trace.query.parsed.query.rank_text):
        ordered.sort(key=lambda each: each.row.created.text[:10])
    return ordered


def _joined(evidence: Sequence[Evidence]) -> list[Evidence]:
    joined: list[Evidence] = []
    for each in evidence:
        last = joined[-1] if joined else None
        if last is None or not _follows(last, each):
            joined.append(each)
            continue
        gap = "\n" * (each.chunk.start_line - last.chunk.end_line) or " "
        chunk = replace(
            last.chunk,
            text=f"{last.chunk.text.rstrip()}{gap}{each.chunk.text}",
            end_line=each.chunk.end_line,
        )
        joined[-1] = replace(last, chunk=chunk, position=each.position)
    return joined


def _follows(last: Evidence, each: Evidence) -> bool:
    if last.section is not each.section or last.is_cut or each.is_cut:
        return False
    is_next = last.position is None or each.position is None or last.position + 1 == each.position
    return is_next and last.section.are_adjacent(last.chunk.end_line, each.chunk.start_line)


def _plain(name: str) -> str:
    return name.replace("|", "\N{BROKEN BAR}")


def _place(row: NoteRow, chunk: Chunk) -> str:
    return f"{row.path}{f'#{chunk.place}' if chunk.place else f':{chunk.start_line}-{chunk.end_line}'}"


def _lines_left_out(row: NoteRow, chunk: Chunk) -> dict[str, JSON]:
    """Return an entry for the dict of omitted passages, from the passage's source to its path and line
    range.
    """
    lines = {"path": row.path, "start_line": chunk.start_line, "end_line": chunk.end_line}
    return {_place(row, chunk): lines}


def _remark(left_out: Sequence[str]) -> list[str]:
    """Return a list with one line that names the first omitted passages; an empty list if nothing was
    omitted.
    """
    if not left_out:
        return []
    places: list[str] = []
    for each in left_out[:NAMED]:
        place = " ".join(each.split())
        if tokens("; ".join([*places, place])) > REMARK_TOKENS // 3:
            break
        places.append(place)
    more = len(left_out) - len(places)
    named = "; ".join(places) + (f" and {more} more" if places and more else "")
    return [remove_hidden(f"[left out: {named or more}; read these notes, or ask for more tokens]")]
