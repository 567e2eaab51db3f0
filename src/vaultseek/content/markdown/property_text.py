"""Convert the properties of a note to lines of text, which are searched like any other text."""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from vaultseek.content.markdown.rendering import render_text

NAMELESS = frozenset({"title", "alias", "aliases", "tag", "tags"})
"""Properties whose values are names or tags of the note. Their lines have only the value, because the name of
such a property carries no information."""


class PropertyLine(NamedTuple):
    """One property as a line of text, such as ``role: Product manager``."""

    name: str
    text: str

    @property
    def is_name(self) -> bool:
        """True if the value is a name or a tag of the note."""
        return self.name.casefold() in NAMELESS


def property_lines(properties: Mapping[str, Any]) -> Iterator[PropertyLine]:
    """Yield each property as a line, in order. The line of a property without a value has only its name."""
    for name, value in properties.items():
        text = render_text(value_text(value))
        if name.casefold() not in NAMELESS:
            text = f"{name}: {text}" if text.strip() else name
        text = " ".join(text.split())
        if text or name.casefold() not in NAMELESS:
            yield PropertyLine(name, text)


def lines_of_text(properties: Mapping[str, Any]) -> str:
    """Return the properties as text, one per line, except names and tags of the note."""
    return "\n".join(line.text for line in property_lines(properties) if not line.is_name)


def named_lines(properties: Mapping[str, Any]) -> str:
    """Return all properties as text, one per line, each beginning with its name."""
    lines = property_lines(properties)
    return "\n".join(f"{line.name}: {line.text}" if line.is_name else line.text for line in lines)


def property_places(properties: Mapping[str, Any], last: int) -> dict[str, int]:
    """Estimate the 1-based line of each property from the number of properties and list items before it.

    ``last`` is the last line before the note's text. If there are enough lines, each element of a list is
    assumed to have its own line.
    """
    sizes = [1 + len(value) if isinstance(value, list) else 1 for value in properties.values()]
    if sum(sizes) > last - 2:
        sizes = [1] * len(sizes)
    return dict(zip(properties, accumulate(sizes, initial=2), strict=False))


def value_text(value: Any) -> str:
    """Return a value as text: a list with commas between its elements, a mapping as ``name: value``."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {value_text(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(filter(None, map(value_text, value)))
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
