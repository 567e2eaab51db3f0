"""The pictures of docs/ui.md: the page with the sample vault, as Chromium shows it.

``scripts/record`` creates them if Chromium is installed.
"""

import re
import sys
from itertools import product
from pathlib import Path
from typing import Any

from PIL import Image

from browsing import CHROMIUM, NO_CHROMIUM, Served, chromium, served
from sessions import PROJECT, opened_home

SIZE = {"width": 1180, "height": 720}
PICTURES: dict[str, tuple[str, str]] = {
    "ui": (
        "/?q=tag%3Awork+float+switch&note=Projects%2FSump%2FFloat+Switch+Wiring.md&of=notes",
        "#note .passage mark:visible",
    ),
    "ui-why": ("/?q=sump+pump&why=1", "#results .stack"),
    "ui-graph": ("/?q=pump+alarm&view=graph", "#graph svg"),
    "graph-map": ("/?view=graph", "#graph a.cluster-0"),
    "graph-path": (
        "/?view=graph&note=Reading%2FHow+Bridges+Breathe.md&of=notes"
        "&from=Reading%2FHow+Bridges+Breathe.md&to=Recipes%2FQuince+Jelly.md",
        "#graph .steps li",
    ),
    "ui-state": ("/?view=state", "#state .vault"),
}
"""Each picture: the address to open, and the element to wait for."""


COLOURS = 128
"""Number of colours in a picture. So few colours reduce it to a third of the size."""
TRIES = 20
QUIET_MS = 60
"""Maximum search time shown in a picture; an idle machine does not exceed it."""


def _milliseconds(page: Any) -> int:
    shown = re.search(r"(\d+) ms", page.locator("#summary").inner_text())
    return int(shown[1]) if shown else 0


def photograph(page: Any, command: Served, folder: Path, home: str) -> None:
    """Write the pictures into a folder, with ``home`` as ``/home/ana``."""
    for (name, (address, there)), colours in product(PICTURES.items(), ("light", "dark")):
        page.emulate_media(color_scheme=colours)
        page.goto(command.root + address)
        page.locator(there).first.wait_for()
        for _ in range(TRIES if "q=" in address and "graph" not in address else 0):
            if _milliseconds(page) <= QUIET_MS:
                break
            page.reload()
            page.locator(there).first.wait_for()
        if "state" in name:
            for title in ("Broken links", "Orphans"):
                page.locator("summary", has_text=title).click()
            page.locator("#state .vault li", has_text="Esperanto").wait_for()
            page.locator("#state details", has_text="Orphans").locator("li").first.wait_for()
        if "note=" in address:
            page.locator("#note details[open]", has_text="Related").wait_for()
        page.evaluate(
            """home => {
              document.activeElement.blur();
              for (const each of document.querySelectorAll(".where"))
                each.textContent = each.textContent.replace(home, "/home/ana");
            }""",
            home,
        )
        file = folder / f"{name}-dark.png" if colours == "dark" else folder / f"{name}.png"
        page.screenshot(path=file)
        Image.open(file).quantize(COLOURS).save(file, optimize=True)


def main() -> int:
    """Draw the pictures of the documentation."""
    if CHROMIUM is None:
        sys.stderr.write(f"The pictures of docs/ui.md stay as they are: this {NO_CHROMIUM}\n")
        return 0
    with opened_home() as home, chromium() as browser:
        home.run("vaultseek index --wait")
        with served(home.environment, cwd=home.folder / "notes") as command:
            page = browser.new_context(viewport=SIZE).new_page()
            page.goto(command.address)
            page.locator("#results li").first.wait_for()
            photograph(page, command, PROJECT / "docs", str(home.folder))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
