"""The colours of the page: text is legible on every background, light and dark."""

import re
from itertools import product
from pathlib import Path

import pytest

import vaultseek.doors.ui

STYLE = (Path(vaultseek.doors.ui.__file__).parent / "page" / "page.css").read_text()
COLOURS = {
    name: (light, dark) for name, light, dark in re.findall(r"--(\w+): light-dark\((#\w+), (#\w+)\)", STYLE)
}
GROUNDS = ("ground", "raised", "passage")
TEXTS = sorted(
    {*re.findall(r"(?<![-\w])color: var\(--(\w+)\)", STYLE)} - {"ground", "kind"}
    | {*re.findall(r"--kind: var\(--(\w+)\)", STYLE)}
)
TINT = 0.08
"""Share of a callout's colour in its background."""


def _parts(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * each for each in colour[1:])
    return [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]


def _contrast(one, other):
    def light(parts):
        linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_stands_out_from_every_ground(scheme):
    assert {"ink", "soft", "recent", "links", "wrong"} <= set(TEXTS)
    for text, ground in product(TEXTS, GROUNDS):
        ratio = _contrast(_parts(COLOURS[text][scheme]), _parts(COLOURS[ground][scheme]))
        assert ratio >= 4.5, (text, ground, round(ratio, 2))


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_the_title_of_every_callout_stands_out_from_its_tint(scheme):
    kinds = re.findall(r"--kind: var\(--(\w+)\)", STYLE)
    assert len(kinds) == 13
    for kind in kinds:
        colour, ground = _parts(COLOURS[kind][scheme]), _parts(COLOURS["ground"][scheme])
        tint = [TINT * one + (1 - TINT) * other for one, other in zip(colour, ground, strict=True)]
        assert _contrast(colour, tint) >= 4.5, kind


def test_the_parts_of_a_score_have_a_colour_each():
    named = dict(re.findall(r"\.([a-z-]+) \{ --colour: var\(--(\w+)\)", STYLE))
    parts = ("words", "meaning", "links", "recency", "names-and-phrases", "linked-with-a-better-one")
    assert len({named[each] for each in (*parts, "name-of-the-note")}) == len(parts) + 1
