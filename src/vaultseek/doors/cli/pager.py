"""Text that is longer than the screen, shown in the user's pager."""

from __future__ import annotations

import os
import shlex
from pathlib import PurePath

import click

from vaultseek.doors.cli.terminal import without_links


def page(text: str) -> None:
    """Show ``text`` in ``$PAGER``, by default less. Print it if ``$PAGER`` is empty or cannot be parsed."""
    # less shows colours and links only with -R, leaves its page on the screen with -X, and ends by itself
    # with -F where that is all there is. The user's own LESS stays as it is.
    os.environ.setdefault("LESS", "-FRX")
    try:
        pager = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:
        print(text)
        return
    if not pager:
        print(text)
        return
    raw = PurePath(pager[0]).stem == "less" and "r" in os.environ["LESS"].casefold()
    click.echo_via_pager(text if raw else without_links(text))
