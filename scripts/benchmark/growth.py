"""The growth plot, as an SVG that is legible on light and dark pages."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 30, 50
DECADES = (0, 3)
"""The vertical axis spans 10^0 to 10^3 milliseconds."""
LINES = (
    ("save_ms", "save to searchable", "save"),
    ("hybrid_ms", "hybrid search", "hybrid"),
    ("keyword_ms", "keyword search", "keyword"),
)
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.axis { stroke: #8c959f; stroke-width: 1 }
.grid { stroke: #d0d7de; stroke-width: 1 }
.keyword { stroke: #0969da; fill: #0969da }
.hybrid { stroke: #bc4c00; fill: #bc4c00 }
.save { stroke: #1a7f37; fill: #1a7f37 }
polyline { fill: none !important; stroke-width: 2 }
text.keyword, text.hybrid, text.save { stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .grid { stroke: #30363d }
  .keyword { stroke: #58a6ff; fill: #58a6ff }
  .hybrid { stroke: #f0883e; fill: #f0883e }
  .save { stroke: #3fb950; fill: #3fb950 }
}
"""


@dataclass(frozen=True)
class Point:
    """Medians at one size of a vault, in milliseconds."""

    passages: int
    keyword_ms: float
    hybrid_ms: float
    save_ms: float


def draw(points: Sequence[Point]) -> str:
    """Return the plot: both axes are logarithmic, with a line for each kind of search and one for saves."""
    low, high = (math.log10(points[end].passages) for end in (0, -1))
    scale = _Scale(low, max(high, low + 1))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "<title>Milliseconds by the number of passages</title>",
        f"<style>{STYLE}</style>",
        *_grid(scale, points),
    ]
    for attribute, label, kind in LINES:
        parts += _line(scale, [(p.passages, getattr(p, attribute)) for p in points], label, kind)
    return "\n".join([*parts, "</svg>", ""])


@dataclass(frozen=True)
class _Scale:
    """The position of a size and a time in the picture."""

    low: float
    high: float

    def x(self, passages: float) -> float:
        share = (math.log10(passages) - self.low) / (self.high - self.low)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, milliseconds: float) -> float:
        power = min(max(math.log10(milliseconds), DECADES[0]), DECADES[1])
        share = (power - DECADES[0]) / (DECADES[1] - DECADES[0])
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def _grid(scale: _Scale, points: Sequence[Point]) -> list[str]:
    parts = []
    for power in range(DECADES[0], DECADES[1] + 1):
        y = scale.y(10**power)
        kind = "axis" if power == DECADES[0] else "grid"
        parts.append(f'<line class="{kind}" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{10**power:,} ms</text>')
    for point in points:
        x, below = scale.x(point.passages), HEIGHT - BOTTOM + 20
        parts.append(f'<text x="{x}" y="{below}" text-anchor="middle">{point.passages:,}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">passages in the vault</text>')
    return parts


def _line(scale: _Scale, values: Sequence[tuple[int, float]], label: str, kind: str) -> list[str]:
    places = [(scale.x(passages), scale.y(milliseconds)) for passages, milliseconds in values]
    path = " ".join(f"{x},{y}" for x, y in places)
    parts = [f'<polyline class="{kind}" points="{path}"/>']
    parts += [f'<circle class="{kind}" cx="{x}" cy="{y}" r="3.5"/>' for x, y in places]
    x, y = places[-1]
    return [*parts, f'<text class="{kind}" x="{x + 10}" y="{y + 4}">{label}</text>']
