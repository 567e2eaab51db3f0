"""Reduce a note to its own part, without the names, properties, lines and links that many notes of the vault
share.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from vaultseek.base.limits import OPENING_CHARS
from vaultseek.base.model import Link
from vaultseek.store.ledger import Ledger, LinkRow, NoteRow
from vaultseek.store.ledger.line_forms import (
    Form,
    form_of,
    lines_with_links,
    links_by_line,
    property_form,
    value_number,
)
from vaultseek.store.ledger.lines import LEAST_NOTES

FIRST_CHUNKS, LAST_CHUNKS = 20, 2
"""Numbers of chunks read at the beginning and at the end of a note."""


@dataclass(frozen=True, slots=True)
class OwnText:
    """A note without the parts that many notes of the vault share.

    Shared names, headings and properties are removed from ``row``, and shared lines from ``opening``.
    ``links`` maps the path of each linked note to a weight from 0 to 1. A link found in every note of a kind
    gets the weight 0.
    """

    row: NoteRow
    opening: str
    links: Mapping[str, float]


class _Line(NamedTuple):
    text: str
    links: Sequence[Link]
    form: Form | None
    is_first: bool


def own_text(row: NoteRow, ledger: Ledger) -> OwnText:
    """Return the part of a note that is its own, or the whole note if no part is."""
    links = ledger.links.from_notes([row.id])
    lines = list(_lines(row, links, ledger))
    names = {name: form_of(name) for name in {row.title, *row.names}}
    headings = {heading: form_of(heading.shown) for heading in row.headings}
    properties = {name: property_form(name, value) for name, value in row.properties.items()}
    found = [*names.values(), *headings.values(), *properties.values(), *(line.form for line in lines)]
    repeated = ledger.lines.repeated(found)
    weights = _weights(links, properties, lines, ledger)
    whole = "\n".join(line.text for line in lines if line.is_first)[:OPENING_CHARS]
    own = "\n".join(line.text for line in lines if _is_own(line, repeated))[:OPENING_CHARS]
    if not own and whole:
        return OwnText(row, whole, weights)
    is_repeated = names[row.title] in repeated
    own_row = replace(
        row,
        title="" if is_repeated else row.title,
        title_is_name=is_repeated or row.title_is_name,
        aliases=tuple(name for name in row.aliases if names[name] not in repeated),
        headings=tuple(heading for heading, form in headings.items() if form not in repeated),
        properties={name: row.properties[name] for name, form in properties.items() if form not in repeated},
    )
    return OwnText(own_row, own, weights)


def _lines(row: NoteRow, links: Sequence[LinkRow], ledger: Ledger) -> Iterator[_Line]:
    by_line = links_by_line(each.link for each in links)
    length = 0
    for chunk in ledger.chunks.ends(row.id, FIRST_CHUNKS, LAST_CHUNKS):
        for text, of_line in lines_with_links(chunk, by_line):
            yield _Line(text, of_line, form_of(text, of_line), length < OPENING_CHARS)
            length += len(text) + 1


def _is_own(line: _Line, repeated: Set[Form]) -> bool:
    return line.is_first and line.form not in repeated and any(map(str.isalpha, line.text))


def _weights(
    links: Sequence[LinkRow], properties: Mapping[str, Form | None], lines: Collection[_Line], ledger: Ledger
) -> dict[str, float]:
    """Return the weights of linked notes by path.

    The weight is the share of notes with a different link among all notes with the same line or property.
    """
    of_line = {link: line.form for line in lines for link in line.links}
    forms = {
        each.link: of_line.get(each.link)
        if each.link.property is None
        else properties.get(each.link.property)
        for each in links
    }
    labels = {link: form.label for link, form in forms.items() if form is not None}
    spreads = ledger.lines.spreads([*{*labels.values()}])
    weights: dict[str, float] = {}
    for path, link in ((each.resolved, each.link) for each in links if each.resolved is not None):
        spread = spreads[labels[link]] if link in labels else None
        if spread is None or spread.notes < LEAST_NOTES or spread.is_varied:
            weights[path] = 1.0
            continue
        shown = (link.alias or link.target) if link.property is not None else link.target
        weights[path] = max(weights.get(path, 0.0), 1.0 - spread.share(value_number(shown)))
    return {path: weight for path, weight in weights.items() if weight < 1}
