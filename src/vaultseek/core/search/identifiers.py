"""Which notes have the identifiers of a query.

Who searches for ``E-4107`` alone wants the notes that have it. Notes with one like it, ``E-4170`` or the
number by itself, are of interest only where no note has it; those that share a few letters or digits with it,
never.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from heapq import nlargest
from itertools import chain, islice

from vaultseek.base.text import fold
from vaultseek.content.query.dates import dates_in_numbers, has_date, parse_period
from vaultseek.content.query.profile import find_identifiers
from vaultseek.content.query.property_text import property_lines
from vaultseek.core.search.filter import those_within
from vaultseek.core.search.request import ParsedRequest
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.store.keyword.answer import KeywordAnswer, MatchedTerm
from vaultseek.store.ledger import Ledger, NoteRow

_OF_WHOLE = ("whole", "word", "prefix")
"""Kinds of terms that stand for a whole identifier or a whole word of one, not for a part of it."""
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
TELLING_DIGITS = 4
"""Digits that make a number, unless it is a year, tell an identifier by itself."""
SEPARATED_CHARACTERS = 6
"""Letters and digits from which on an identifier is the same with any signs between them."""
SEPARATORS = " \t\n\xa0./():,'’-‐‑_"
"""Signs between the groups of a long number or code."""
SPELLINGS = 8
"""Ways to separate one identifier that are searched for."""
SOUGHT = 3
"""Identifiers beside other words that every text is looked at for: a pasted page may have hundreds."""
SOUGHT_PASSAGES = 20_000
"""Passages of a vault up to which that is done: a thousand take one to four milliseconds an identifier."""


@dataclass(frozen=True, slots=True)
class Identified:
    """The notes, by id, with one of the query's identifiers; if there is none, those with one ``near`` it.

    ``missing`` are the identifiers that none of them has.
    """

    whole: frozenset[int]
    near: frozenset[int] = frozenset()
    missing: tuple[str, ...] = ()


def notes_with_signs(
    parsed: ParsedRequest, keyword: KeywordAnswer | None, allowed: NoteIds | None, ledger: Ledger
) -> dict[str, frozenset[int]]:
    """Return the best notes with each identifier that its signs make one, like ``main()`` and ``§5``.

    The keyword index knows no signs: by word, these notes may be behind any number of others. So every text
    is looked at, which is too much for each key that is typed.
    """
    found: dict[str, frozenset[int]] = {}
    if keyword is None or not parsed.profile.pure_identifier or parsed.request.typing:
        return found
    for identifier in parsed.profile.identifiers:
        bare = identifier.strip("§() ")
        if bare == identifier or find_identifiers(bare):
            continue
        spellings = identifier, identifier.replace("§", "§ ")
        rows = ledger.select(
            "SELECT note FROM chunks WHERE instr(text, ?) > 0 OR instr(text, ?) > 0", *spellings
        )
        ids = those_within({row[0] for row in rows} & keyword.rows.keys(), allowed)
        scores = {id: float(keyword.columns.scores[keyword.rows[id]]) for id in ids}
        notes = ledger.notes.by_id(nlargest(parsed.ranked, scores, key=scores.__getitem__))
        if exact := _with_text_like(map(exact_pattern, spellings), notes, ledger):
            found[identifier] = frozenset(exact)
    return found


def notes_with_identifier(
    parsed: ParsedRequest,
    keyword: KeywordAnswer | None,
    notes: Mapping[int, NoteRow],
    ledger: Ledger,
    with_signs: Mapping[str, frozenset[int]],
    *,
    is_known: bool = True,
) -> Identified | None:
    """Return those of the ``notes`` that have one of the query's identifiers, or one like them.

    None if the query has other words, too, or was not searched by word. ``with_signs`` are the notes with
    those that their signs make identifiers. ``os.path`` is in a note with ``os.path.join``, and ``RFC2119``
    in one with ``RFC 2119``, which the index does not tell: so notes with all parts of it are read. If the
    identifier is not ``is_known``, the answer is about :func:`texts_like` it.
    """
    if keyword is None or not parsed.profile.pure_identifier:
        return None
    identifiers = parsed.profile.identifiers
    if not is_known:
        words = {term.word for term in keyword.terms if term.kind in _OF_WHOLE}
        answered = {note: row for note, row in notes.items() if words.intersection(keyword.matched(note))}
        same = _with_text_like([separate_pattern(identifiers[0])], answered, ledger)
        like = _with_text_like([similar_pattern(identifiers[0], longer=False)], answered, ledger)
        return Identified(frozenset(same), frozenset() if same else frozenset(like))
    required = [whole_words(each, keyword.terms) for each in identifiers]
    if not any(required):
        return None
    missing = {term.word for term in keyword.terms if not term.df}
    other = missing | {term.word for term in keyword.terms if term.fuzzy}
    matched = {note: set(keyword.matched(note)) for note in notes}
    parts = {term.word for term in keyword.terms if term.kind == "part"}
    whole: set[int] = set()
    absent = []
    for identifier, wanted in zip(identifiers, required, strict=True):
        is_known = bool(wanted) and not wanted & other
        having = notes.keys() & with_signs.get(identifier, frozenset())
        if is_known and identifier not in with_signs:
            having |= {note for note, words in matched.items() if wanted <= words}
        own = {part for part in parts - other if part in fold(identifier)}
        in_parts = {
            note: notes[note]
            for note, words in matched.items()
            if note not in having and own and own <= words
        }
        having |= _with_text_like([exact_pattern(identifier)], in_parts, ledger)
        if not having and (not is_known or keyword.total <= sum(map(bool, matched.values()))):
            absent.append(identifier)
        whole |= having
    if whole:
        return Identified(frozenset(whole), missing=tuple(absent))
    by_word = {note: notes[note] for note, words in matched.items() if words}
    near = _with_text_like(map(similar_pattern, identifiers), by_word, ledger)
    if not all(any(map(str.isdecimal, identifier)) for identifier in identifiers):
        near |= {note for note in by_word if parts and parts <= matched[note]}
    return Identified(frozenset(), frozenset(near))


def texts_like(parsed: ParsedRequest, ledger: Ledger, *, only_separated: bool = False) -> Iterator[str]:
    """Yield texts to search for where no note has the query's only identifier, the most like it first.

    They are its letters and digits as some note separates them, ``089 / 123 45 67`` for ``0891234567``, and,
    unless they are ``only_separated``, beginnings that others may have, ``E-41`` and ``E41`` for ``E-4199``.
    While the query is typed, no text is read for separators.
    """
    if len(parsed.profile.identifiers) > 1:
        return
    identifier = fold(parsed.profile.identifiers[0])
    if not parsed.request.typing and (separate := _as_separated(identifier, ledger)):
        yield separate
    if only_separated:
        return
    pieces = _pieces(identifier)
    last = next((at for at in reversed(range(len(pieces))) if pieces[at].isdecimal()), 0)
    letters = "".join(pieces[:last]).rstrip(" -")
    if letters[-1:].isalpha():
        for size in reversed(range(1, len(pieces[last]))):
            for hyphen in ("-", ""):
                yield f"{letters}{hyphen}{pieces[last][:size]}"


def _as_separated(identifier: str, ledger: Ledger) -> str:
    """Return how notes write the letters and digits of an identifier, if with other signs between them."""
    pattern = separate_pattern(identifier)
    if pattern is None:
        return ""
    found = _texts_with([character for character in identifier if character.isalnum()], ledger)
    spellings = chain.from_iterable(re.findall(pattern, text) for text in found)
    return " ".join(list(dict.fromkeys(spellings))[:SPELLINGS])


def missing_beside_words(
    parsed: ParsedRequest, keyword: KeywordAnswer | None, ledger: Ledger
) -> tuple[str, ...]:
    """Return the identifiers beside other words of a finished query that no note of the vault has.

    Only those with a digit, and neither dates nor small numbers. Those that the keyword index does not know
    may stand in a text with other separators, or be part of a longer name. A vault of too many passages to
    look at gets none: a remark is not worth a search that waits.
    """
    profile = parsed.profile
    if keyword is None or not profile.identifiers or profile.pure_identifier or parsed.request.typing:
        return ()
    if ledger.counts().chunks > SOUGHT_PASSAGES:
        return ()
    known = {term.word for term in keyword.terms if term.df and term.kind in _OF_WHOLE}
    unknown = (
        each for each in profile.identifiers if _is_code(each) and fold(each).strip("#§()") not in known
    )
    return tuple(each for each in islice(unknown, SOUGHT) if not _is_in_a_text(each, ledger))


def _is_code(identifier: str) -> bool:
    """True for an identifier of letters and digits, or of many digits, which is no date and names no year."""
    pieces = _pieces(identifier)
    numbers = [piece for piece in pieces if piece.isdecimal()]
    if all(map(_YEAR.fullmatch, numbers)):
        return False
    if any(map(str.isalpha, pieces)):
        return identifier.isascii()
    is_date = dates_in_numbers(identifier) or parse_period(identifier, datetime.now())
    return not is_date and sum(map(len, numbers)) >= TELLING_DIGITS


def _is_in_a_text(identifier: str, ledger: Ledger) -> bool:
    """True if some text has the identifier with any separators, even between letters if there are many."""
    pieces = [piece for piece in _pieces(identifier) if piece.isalnum()]
    characters = "".join(pieces)
    if len(characters) >= SEPARATED_CHARACTERS or characters.isdecimal():
        pieces = list(characters)
    apart = re.compile(rf"(?<![^\W_]){_BETWEEN.join(pieces)}(?![^\W_])")
    return any(map(apart.search, _texts_with(pieces, ledger)))


def _texts_with(pieces: list[str], ledger: Ledger) -> Iterator[str]:
    """Yield the texts of notes, folded, in which only separators stand between these letters and digits."""
    joined = "text"
    for _ in SEPARATORS:
        joined = f"replace({joined}, ?, '')"
    # CASE, for an AND may compute the slow condition first: the quick one leaves few texts to it.
    found = ledger.select(
        "SELECT text FROM"
        " (SELECT text FROM chunks UNION ALL SELECT path || ' ' || properties FROM notes) AS texts"
        f" WHERE CASE WHEN text LIKE ? THEN instr(lower({joined}), ?) ELSE 0 END > 0",
        f"%{'%'.join(pieces)}%",
        *SEPARATORS,
        "".join(pieces),
    )
    return (fold(text) for (text,) in found)


def _with_text_like(patterns: Iterable[str | None], notes: Mapping[int, NoteRow], ledger: Ledger) -> set[int]:
    """Return those of the notes in whose names, properties or text one of the patterns matches."""
    wanted = "|".join(pattern for pattern in patterns if pattern)
    return _with_text(re.compile(wanted).search, notes, ledger) if wanted else set()


def notes_with_date(dates: Collection[str], notes: Mapping[int, NoteRow], ledger: Ledger) -> set[int]:
    """Return those of the notes that have one of the days or months, ISO, in any spelling."""
    return _with_text(lambda text: has_date(text, dates), notes, ledger)


def _with_text(find: Callable[[str], object], notes: Mapping[int, NoteRow], ledger: Ledger) -> set[int]:
    """Return those of the notes in whose names, properties or text, folded, ``find`` finds something."""
    chunks = ledger.chunks.by_note(list(notes)) if notes else {}
    found = set()
    for note, row in notes.items():
        properties = (line.text for line in property_lines(row.properties))
        text = (chunk.text for chunk in chunks[note])
        if any(find(fold(words)) for words in chain((row.path, *row.names), properties, text)):
            found.add(note)
    return found


def exact_pattern(identifier: str) -> str:
    """Return the pattern of the identifier in folded text, also with a hyphen or a space more or less.

    It may begin or end a longer name, ``os.path.join``, but no longer number.
    """
    return rf"(?<![\w\-])(?<![0-9]\.)(?:{_spelled(_pieces(identifier))})(?![\w\-]|\.[0-9])"


def similar_pattern(identifier: str, *, longer: bool = True) -> str | None:
    """Return the pattern of identifiers that differ in the last number, or go on; None without a number.

    Unless they may be ``longer``, the other number has as many digits. A number that is long enough, and no
    year, is like the identifier by itself.
    """
    pieces = _pieces(identifier)
    last = next((at for at in reversed(range(len(pieces))) if pieces[at].isdecimal()), None)
    if last is None:
        return None
    number = pieces[last]
    others = f"(?:{number}[0-9]*|[0-9]{{{len(number)}}})" if longer else f"(?:[0-9]{{{len(number)}}})"
    forms = []
    if any(piece.isalnum() for at, piece in enumerate(pieces) if at != last):
        forms.append(_spelled([*pieces[:last], others, *pieces[last + 1 :]]))
    forms += [
        piece
        for piece in pieces
        if piece.isdecimal() and len(piece) >= TELLING_DIGITS and not _YEAR.fullmatch(piece)
    ]
    return rf"(?<![\w])(?:{'|'.join(forms)})(?!\w)" if forms else None


def separate_pattern(identifier: str) -> str | None:
    """Return the pattern of the identifier's letters and digits with any separators between them.

    None if it is too short: a number of a few digits is looked for with a separator of thousands at most,
    letters before two or more digits with a dot or a hyphen.
    """
    characters = [character for character in fold(identifier) if character.isalnum()]
    written = "".join(characters)
    if not written.isascii() or not any(map(str.isdecimal, characters)):
        return None
    if len(characters) >= SEPARATED_CHARACTERS:
        pattern = _BETWEEN.join(characters)
    elif written.isdecimal() and len(written) > 3:
        pattern = rf"{written[:-3]}[.,'’ ]{written[-3:]}"
    elif match := _LETTERS_AND_DIGITS.fullmatch(written):
        pattern = rf"{match[1]}[.\-]?{match[2]}"
    else:
        return None
    return rf"(?<!\w){pattern}(?!\w)"


_PIECE = re.compile(r"[0-9]+|[^\W\d_]+|[\s\-]+|.", re.DOTALL)
_LETTERS_AND_DIGITS = re.compile(r"([a-z]+)([0-9]{2,})")
_HYPHEN = r"[-‐‑]"
_BETWEEN = f"[{re.escape(SEPARATORS)}]*"


def _pieces(identifier: str) -> list[str]:
    """Return letters, digits and each of the signs, in order."""
    return _PIECE.findall(fold(identifier))


def _spelled(pieces: list[str]) -> str:
    """Return the pattern of these pieces, of which one may be a pattern of digits already.

    Between letters and digits a hyphen may be missing or added, and a space, if there are several letters.
    """
    pattern = ""
    for at, piece in enumerate(pieces):
        before, after = pieces[at - 1] if at else "", pieces[at + 1] if at + 1 < len(pieces) else ""
        if piece.strip(" -") == "":
            space = "| " if len(before) > 1 or piece == " " else ""
            loose = "?" if before.isalpha() and _is_number(after) else ""
            pattern += f"(?:{_HYPHEN}{space}){loose}"
            continue
        if before.isalpha() and _is_number(piece):
            pattern += f"(?:{_HYPHEN}{'| ' if len(before) > 1 else ''})?"
        pattern += piece if _is_number(piece) else re.escape(piece)
    return pattern


def _is_number(piece: str) -> bool:
    return piece.isdecimal() or piece.startswith("(?:")


def whole_words(identifier: str, terms: Collection[MatchedTerm]) -> frozenset[str]:
    """Return the words of the query that a note with the whole ``identifier`` has; none if unknown."""
    folded = fold(identifier)
    words = {term.word.rstrip("*"): term.word for term in terms if term.kind in _OF_WHOLE}
    if folded in words:
        return frozenset({words[folded]})
    inside = [word for word in words if word in folded]
    outermost = [word for word in inside if not any(word != other and word in other for other in inside)]
    return frozenset(words[word] for word in outermost)
