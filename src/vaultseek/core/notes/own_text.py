"""Reduce a note to its own part, without the names, properties, sentences and links that many notes of the
vault share.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from operator import attrgetter
from typing import NamedTuple

from vaultseek.base.limits import OPENING_CHARS
from vaultseek.base.model import Link
from vaultseek.store.ledger import Ledger, LinkRow, NoteRow, heading_values
from vaultseek.store.ledger.line_forms import (
    Form,
    form_of,
    lines_with_links,
    links_by_line,
    property_form,
    sentences,
    value_number,
)
from vaultseek.store.ledger.lines import LEAST_NOTES

FIRST_CHUNKS, LAST_CHUNKS = 20, 2
"""Numbers of chunks read at the beginning and at the end of a note."""


@dataclass(frozen=True, slots=True)
class OwnText:
    """A note without the parts that many notes of the vault share.

    Shared names, headings and properties are removed from ``row``, and shared sentences from ``opening``.
    ``links`` maps the path of each linked note to a weight from 0 to 1. A link gets the weight 0 if every
    note of a kind has it. ``parents`` are linked notes whose link is the only one in a line or property of a
    template, as in ``up: [[Log]]``. Each is mapped to the number of notes with this link in the same line or
    property.
    """

    row: NoteRow
    opening: str
    links: Mapping[str, float]
    parents: Mapping[str, int]


class _Part(NamedTuple):
    """A sentence with its links and the number of its line. ``is_first`` is true if the sentence is part of
    the opening.
    """

    text: str
    links: Sequence[Link]
    form: Form | None
    is_first: bool
    line: int


def own_text(row: NoteRow, ledger: Ledger) -> OwnText:
    """Return a note without the parts that many other notes share; if they share all of it, return the whole
    note.
    """
    links = ledger.links.from_notes([row.id])
    parts = list(_parts(row, links, ledger))
    names = {name: form_of(name) for name in {row.title, *row.names}}
    headings = {heading: form_of(heading.shown) for heading in row.headings}
    properties = {name: property_form(name, value) for name, value in row.properties.items()}
    found = [*names.values(), *headings.values(), *properties.values(), *(part.form for part in parts)]
    repeated = ledger.lines.repeated(found)
    weights, parents = _weights(links, properties, parts, ledger)
    whole = _text(parts)
    own = _text(part for part in parts if part.form not in repeated and any(map(str.isalpha, part.text)))
    if not own and whole:
        return OwnText(row, whole, weights, parents)
    is_repeated = names[row.title] in repeated
    own_row = row._replace(
        title="" if is_repeated else row.title,
        title_is_name=is_repeated or row.title_is_name,
        aliases=tuple(name for name in row.aliases if names[name] not in repeated),
        heading_values=heading_values(each for each, form in headings.items() if form not in repeated),
        properties={name: row.properties[name] for name, form in properties.items() if form not in repeated},
    )
    return OwnText(own_row, own, weights, parents)


def _parts(row: NoteRow, links: Sequence[LinkRow], ledger: Ledger) -> Iterator[_Part]:
    by_line = links_by_line(each.link for each in links)
    length, numbers = 0, count()
    for chunk in ledger.chunks.ends(row.id, FIRST_CHUNKS, LAST_CHUNKS):
        for number, (line, of_line) in zip(numbers, lines_with_links(chunk, by_line), strict=False):
            is_first = length < OPENING_CHARS
            if is_first or of_line:
                for text, of_part in sentences(line, of_line):
                    yield _Part(text, of_part, form_of(text, of_part), is_first, number)
            length += len(line) + 1


def _text(parts: Iterable[_Part]) -> str:
    """Return the parts in the opening as text, with the same line breaks as in the note."""
    lines = groupby((part for part in parts if part.is_first), attrgetter("line"))
    return "\n".join(" ".join(part.text for part in line) for _, line in lines)[:OPENING_CHARS]


def _weights(
    links: Sequence[LinkRow], properties: Mapping[str, Form | None], parts: Collection[_Part], ledger: Ledger
) -> tuple[dict[str, float], dict[str, int]]:
    """Return two dicts by the path of the linked note: the weights below 1, and the counts for
    ``OwnText.parents``.

    A weight is the rarity of the link among the notes that have this line or property.
    """
    of_part = {link: part.form for part in parts for link in part.links}
    forms = {
        each.link: of_part.get(each.link)
        if each.link.property is None
        else properties.get(each.link.property)
        for each in links
    }
    labels = {link: form.label for link, form in forms.items() if form is not None}
    links_in = Counter(labels.values())
    spreads = ledger.lines.spreads([*links_in])
    weights, parents = dict[str, float](), dict[str, int]()
    for path, link in ((each.resolved, each.link) for each in links if each.resolved is not None):
        spread = spreads[labels[link]] if link in labels else None
        if spread is None or spread.notes < LEAST_NOTES or spread.is_varied:
            weights[path] = 1.0
            continue
        shown = (link.alias or link.target) if link.property is not None else link.target
        value = value_number(shown)
        weights[path] = max(weights.get(path, 0.0), spread.rarity(value))
        if links_in[labels[link]] == 1:
            parents[path] = spread.values.get(value, 0)
    return {path: weight for path, weight in weights.items() if weight < 1}, parents
