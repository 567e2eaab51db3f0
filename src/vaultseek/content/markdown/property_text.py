"""The properties of a note as lines of text, which words and phrases match like any other text."""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from vaultseek.content.markdown.rendering import render_text

NAMELESS = frozenset({"title", "alias", "aliases", "tag", "tags"})
"""Properties whose values are names or tags of the note. The line of such a property has only the value,
because its name carries no information."""


class PropertyLine(NamedTuple):
    """One property as text: ``role: Product manager``."""

    name: str
    text: str

    @property
    def is_name(self) -> bool:
        """True if the value is a name or a tag of the note."""
        return self.name.casefold() in NAMELESS


def property_lines(properties: Mapping[str, Any]) -> Iterator[PropertyLine]:
    """Yield each property as a line, in order; a property without a value gives only its name."""
    for name, value in properties.items():
        text = render_text(value_text(value))
        if name.casefold() not in NAMELESS:
            text = f"{name}: {text}" if text.strip() else name
        text = " ".join(text.split())
        if text or name.casefold() not in NAMELESS:
            yield PropertyLine(name, text)


def lines_of_text(properties: Mapping[str, Any]) -> str:
    """Return the properties, except names and tags of the note, as text with one line each."""
    return "\n".join(line.text for line in property_lines(properties) if not line.is_name)


def named_lines(properties: Mapping[str, Any]) -> str:
    """Return all properties as text, one line each, beginning with the name."""
    lines = property_lines(properties)
    return "\n".join(f"{line.name}: {line.text}" if line.is_name else line.text for line in lines)


def property_places(properties: Mapping[str, Any], last: int) -> dict[str, int]:
    """Return an estimate of the line, 1-based, on which each property is. It is based on the number of
    properties and list items.

    ``last`` is the last line before the text. If there are enough lines, each element of a list is assumed to
    have its own line.
    """
    sizes = [1 + len(value) if isinstance(value, list) else 1 for value in properties.values()]
    if sum(sizes) > last - 2:
        sizes = [1] * len(sizes)
    return dict(zip(properties, accumulate(sizes, initial=2), strict=False))


def value_text(value: Any) -> str:
    """Return a value as text: lists with commas between their elements, mappings as ``name: value``."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {value_text(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(filter(None, map(value_text, value)))
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
