"""Packing of evidence from several notes for one question into a token budget."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from vaultseek.base.model import JSON, LESS_CERTAIN, Chunk, Span, less_certain
from vaultseek.base.text import fold_case, remove_hidden, tokens
from vaultseek.base.when import dates, iso_time
from vaultseek.content.markdown.blocks import read_blocks
from vaultseek.content.markdown.split import LINE, SENTENCE
from vaultseek.core.search.currency import Currency
from vaultseek.core.search.passages import passage_scores
from vaultseek.core.search.response import Trace
from vaultseek.core.search.snippet import preview
from vaultseek.store.ledger import Ledger, NoteRow

NOTES = 12
"""Maximum number of notes whose passages compete for the budget."""
PASSAGES = 6
"""Maximum number of competing passages per note."""
NEIGHBOUR = 0.3
"""Value of a neighbouring passage of the same section, relative to the passage itself."""
LEAST_CERTAINTY = 0.01
SHINGLE = 4
"""Words in each run by which two passages are compared."""
DOUBLE = 0.6
"""Share of a passage's runs already present in the evidence at which it counts as a near duplicate."""
CUT_TOKENS = 40
"""Minimum tokens of a cut passage; shorter remainders are left out."""
CERTAIN_OR_NOT = 5
"""First notes that compete whatever their certainty; of the others only those that are certain."""
WEAK = 2
"""Passages that are shown where no note matches well."""
WHOLE = frozenset(("code", "html", "list", "math", "quote", "table"))
"""Blocks that are not cut, since a part misleads, such as a row without the head of its table."""
EARLIER = 50
"""Passages above one in which the beginning of its block is looked for."""
COLONS = (":", "\N{FULLWIDTH COLON}")
FOCUS_CHARS = 80
"""Width in characters of the window used to find a passage's best line."""
NAMED = 5
"""Maximum number of places named in the remark about what was left out."""
REMARK_TOKENS = 125
"""Tokens reserved for remarks."""

_WEAK = "[no note matches; these are the closest]"
_WORD = re.compile(r"\w+")
_CALLOUT = re.compile(r"[ ]{0,3}>[ ]?\[!")
ABBREVIATION_CHARS = 12
"""Characters before a sentence border that are checked for an abbreviation."""
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:(?:\w\.\s?)*\w|Dr|Mr|Mrs|Ms|Prof|St|No|Nr|Fig|vs|ca|cf|bzw|approx)\.$"
)
"""An abbreviation that does not end a sentence: dotted letters, titles, and words before a number."""
_ASKS_FOR_TIME = re.compile(
    r"\b(when|since|until|timeline|history|chronology|earliest|latest|first|last|recently"
    r"|wann|seit|zuletzt|quand|depuis|cuándo|desde)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Lines of a note. ``use`` is the probability that they help; ``is_cut`` if the passage continues.

    ``position`` is the position of its last passage in the note.
    """

    row: NoteRow
    chunk: Chunk
    position: int
    use: float
    focus: int = 0
    """Offset of the best matching place in the text."""
    currency: Currency | None = None
    is_cut: bool = False
    earlier: Sequence[int] = ()
    """Numbers of the passages before it in the note."""
    opening: str = ""
    """The first line of the block that it begins inside of, such as the head of a table."""
    continued: int = 0
    """Characters at its beginning that belong to this block."""

    @property
    def place(self) -> str:
        """The path with the lines or the part of the file."""
        chunk = self.chunk
        return (
            f"{self.row.path}{f'#{chunk.place}' if chunk.place else f':{chunk.start_line}-{chunk.end_line}'}"
        )

    @property
    def text(self) -> str:
        """A line with the source, followed by the text, indented so that no note can forge a source line."""
        headings = dict.fromkeys([self.row.title, *self.chunk.heading_path])
        days = dates(self.row.created.text, iso_time(self.row.modified))
        # A bar in a name could forge a date.
        about = f"- {_plain(self.place)} | {_plain(' > '.join(headings))} | {days}"
        if self.currency is not None:
            about += f" | {_plain(self.currency.text)}"
        text = f"{self.opening}\n[…]\n{self.chunk.text}" if self.opening else self.chunk.text
        lines = (f"  {line}".rstrip() for line in text.strip("\n").split("\n"))
        return remove_hidden("\n".join([" ".join(about.split()), *lines]))

    @property
    def tokens(self) -> int:
        """Number of tokens of the text and its line feed."""
        return tokens(f"{self.text}\n")

    def as_json(self) -> JSON:
        """Return the evidence in the form of an answer."""
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
            "text": self.chunk.text,
            "cut": self.is_cut,
        }


def pack_context(trace: Trace, ledger: Ledger, budget: int) -> JSON:
    """Return the most useful evidence that fits into ``budget`` tokens.

    The passages that a search found are taken by expected use, each once, and their neighbours where they
    complete a section; the last are cut at sentences. Evidence is ordered by note and line, or by time if the
    question asks for time.
    """
    candidates = sorted(_candidates(trace, ledger), key=lambda each: -each.use)[
        : WEAK if trace.weak else None
    ]
    chosen: list[Evidence] = []
    left_out: list[Evidence] = []
    shingles: set[tuple[str, ...]] = set()
    room = budget - min(REMARK_TOKENS, budget // 3)
    for candidate in candidates:
        own = _shingles(candidate.chunk.text)
        if own and len(own & shingles) >= DOUBLE * len(own):
            continue
        candidate = _with_opening(candidate, ledger)
        fitting = candidate if candidate.tokens <= room else _cut(candidate, room, at_any_rate=not chosen)
        if fitting is None or fitting.is_cut:
            left_out.append(candidate)
        if fitting is not None:
            shingles |= own
            chosen.append(fitting)
            room -= fitting.tokens
    evidence = _joined(_ordered(chosen, trace))
    remarks = [_WEAK] if trace.weak and evidence else []
    text = "\n".join([*remarks, *(each.text for each in evidence), *_places(left_out)])
    return {
        "text": text,
        "tokens": tokens(text),
        "passages": [each.as_json() for each in evidence],
        "left_out": [
            {"path": each.row.path, "start_line": each.chunk.start_line, "end_line": each.chunk.end_line}
            for each in left_out
        ],
    }


def _candidates(trace: Trace, ledger: Ledger) -> Iterator[Evidence]:
    certain = len(trace.results) - less_certain([trace.certainty(each) for each in trace.results])
    results = trace.results[: max(certain, CERTAIN_OR_NOT)]
    rows = [each.about for each in results]
    scores = passage_scores([row.id for row in rows], trace.retrieval, ledger)
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
                if near in chunks and (near == number or _is_one_section(chunks[near], chunks[number])):
                    use = certainty * share * (1.0 if near == number else NEIGHBOUR)
                    uses[near] = max(use, uses.get(near, 0.0))
            if certainty < LESS_CERTAIN and candidate is not trace.results[0]:
                uses = {number: certainty}
                break
        currency = trace.currencies.get(row.path)
        for number, use in uses.items():
            chunk, position = chunks[number], outlines[row.id].index(number)
            earlier = outlines[row.id][max(0, position - EARLIER) : position]
            shown = preview(chunk, FOCUS_CHARS, trace.matcher, row.language, shared=trace.shared)
            yield Evidence(row, chunk, position, use, shown.offset, currency, earlier=earlier)


def _is_one_section(first: Chunk, second: Chunk) -> bool:
    return (first.heading_path, first.place) == (second.heading_path, second.place)


def _near(outline: Sequence[int], number: int) -> Sequence[int]:
    at = outline.index(number)
    return outline[max(0, at - 1) : at + 2]


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(fold_case(text))
    return set(zip(*(words[start:] for start in range(SHINGLE)), strict=False))


def _with_opening(evidence: Evidence, ledger: Ledger) -> Evidence:
    """Return evidence that begins inside a table, a callout or a list with the line that opens it."""
    chunk = evidence.chunk
    opening, continued = "", 0
    # The passage before tells whether it does, which most do not; the block may begin far above that.
    for count in (1, EARLIER):
        numbers = evidence.earlier[-count:]
        known = ledger.chunks.by_number(numbers)
        above = [known[each] for each in numbers if each in known and _is_one_section(known[each], chunk)]
        found = _opened(above, chunk) if above else None
        if found is None:
            return evidence
        opening, continued = found
    return replace(evidence, opening=opening, continued=continued)


def _opened(above: Sequence[Chunk], chunk: Chunk) -> tuple[str, int] | None:
    """Return the line that opens the block which ``chunk`` begins inside of, and where this block ends.

    The line is empty for a block that does not need it, such as code, and one that may be cut ends at once.
    None if no block goes on.
    """
    first = above[0].start_line
    shown, source = ([""] * (chunk.end_line - first + 1) for _ in range(2))
    for each in (*above, chunk):
        row = each.start_line - first
        for lines, text in ((shown, each.text), (source, each.source)):
            for number, line in enumerate(text.split("\n"), row):
                lines[number] += line
    here = chunk.start_line - first + 1
    for span in read_blocks(source).spans:
        if span.kind != "list_item" and span.start_line < here <= span.end_line:
            rows = min(span.end_line - here + 1, chunk.text.count("\n") + 1)
            end = len("\n".join(chunk.text.split("\n")[:rows]))
            return (_first_line(span, shown, source), end) if span.kind in WHOLE else ("", 0)
    return None


def _first_line(span: Span, shown: Sequence[str], source: Sequence[str]) -> str:
    """Return the line that readers need at each part of a block: a head, a title or an introduction."""
    at = span.start_line - 1
    if span.kind == "table" or (span.kind == "quote" and _CALLOUT.match(source[at])):
        return shown[at]
    above = next((line for line in reversed(shown[max(0, at - 2) : at]) if line.strip()), "")
    return above if span.kind == "list" and above.rstrip().endswith(COLONS) else ""


def _cut(evidence: Evidence, room: int, *, at_any_rate: bool) -> Evidence | None:
    """Return the sentences and blocks around the best match, as many as fit; None if that is too little.

    The first evidence is cut ``at_any_rate``, within a sentence if necessary.
    """
    text = evidence.chunk.text
    ends, whole = _borders(evidence)
    spans = [*zip([0, *ends], ends, strict=False)]
    first = last = next(at for at, (_, end) in enumerate(spans) if end > evidence.focus or end == len(text))
    fitting = None
    for low, high in _growing(first, last, len(spans)):
        part = _part(evidence, spans[low][0], spans[high][1])
        if part.tokens > room:
            break
        fitting = part
    if at_any_rate and fitting is None and spans[first][1] not in whole:
        return _beginning(evidence, evidence.focus, room)
    if fitting is None or (not at_any_rate and tokens(fitting.chunk.text) < CUT_TOKENS):
        return None
    return fitting


def _borders(evidence: Evidence) -> tuple[list[int], set[int]]:
    """Return where a text may be cut, and which of these borders end a block that is not cut.

    The sentence that introduces such a block belongs to it.
    """
    text = evidence.chunk.text
    found = {match.end() for match in chain(SENTENCE.finditer(text), LINE.finditer(text))}
    sentences = {
        end for end in found if not _ABBREVIATION.search(text, max(0, end - ABBREVIATION_CHARS), end)
    }
    borders = sorted(sentences | {len(text)})
    whole: set[int] = set()
    for start, end in _whole_blocks(evidence):
        last = borders[bisect_left(borders, end)]
        above = text[:start].rstrip()
        is_introduced = above.endswith(COLONS) or (start - len(above) == 1 and above)
        if is_introduced and start >= evidence.continued:
            at = bisect_left(borders, len(above)) - 1
            start = borders[at] if at >= 0 else 0
        borders = [each for each in borders if not start < each < last]
        whole.add(last)
    return borders, whole


def _whole_blocks(evidence: Evidence) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the blocks of a passage that are not cut."""
    chunk = evidence.chunk
    source = chunk.source.split("\n")
    starts = [0, *(match.end() for match in LINE.finditer(chunk.text)), len(chunk.text) + 1]
    if evidence.continued:
        # What is left of a block reads as another one: the end of code would begin code.
        rows = bisect_left(starts, evidence.continued)
        source[:rows] = [""] * rows
        if evidence.opening:
            yield from zip(starts[:rows], (start - 1 for start in starts[1:]), strict=False)
        else:
            yield 0, evidence.continued
    for span in read_blocks(source).spans:
        if span.kind in WHOLE:
            yield starts[span.start_line - 1], starts[span.end_line] - 1


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
    opening = evidence.opening if start < evidence.continued else ""
    part = replace(chunk, text=text, code=(), edits=(), start_line=first, end_line=first + text.count("\n"))
    return replace(evidence, chunk=part, is_cut=True, opening=opening)


def _ordered(chosen: Sequence[Evidence], trace: Trace) -> list[Evidence]:
    """Return evidence by note, the most useful first, then by line; or by time if the question asks
    for it."""
    use: dict[str, float] = {}
    for each in chosen:
        use[each.row.path] = max(each.use, use.get(each.row.path, 0.0))
    ordered = sorted(chosen, key=lambda each: (-use[each.row.path], each.row.path, each.chunk.start_line))
    if _ASKS_FOR_TIME.search(trace.parsed.query.rank_text):
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
            code=(),
            edits=(),
        )
        joined[-1] = replace(last, chunk=chunk, position=each.position)
    return joined


def _follows(last: Evidence, each: Evidence) -> bool:
    is_next = last.row.id == each.row.id and last.position + 1 == each.position
    return is_next and _is_one_section(last.chunk, each.chunk) and not (last.is_cut or each.is_cut)


def _plain(name: str) -> str:
    return name.replace("|", "\N{BROKEN BAR}")


def _places(left_out: Sequence[Evidence]) -> list[str]:
    if not left_out:
        return []
    places: list[str] = []
    for each in {each.place: each for each in left_out[:NAMED]}.values():
        place = " ".join(each.place.split())
        if tokens("; ".join([*places, place])) > REMARK_TOKENS // 3:
            break
        places.append(place)
    more = len(left_out) - len(places)
    named = "; ".join(places) + (f" and {more} more" if places and more else "")
    return [remove_hidden(f"[left out: {named or more}; read them, or ask for more tokens]")]
