"""The table on the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmark.figures import Figure


def show(figures: Sequence[Figure], machine: str) -> None:
    """Print the figures as one table."""
    table = Table(title=machine, title_justify="left", show_lines=False, pad_edge=False)
    for heading in ("what", "measured", "reference", "target"):
        table.add_column(heading, overflow="fold", ratio=3)
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("met", no_wrap=True)
    for figure in figures:
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}x"
        cells = (figure.what, figure.measured, figure.reference, figure.target, ratio)
        table.add_row(*cells, verdict(figure), style="red" if figure.met is False else "")
    console = Console()
    console.width = max(console.width, 120)
    console.print(table)


def verdict(figure: Figure) -> str:
    """Return whether the target was reached; empty if there is no target."""
    return "" if figure.met is None else "yes" if figure.met else "no"
