"""Text that is too long for the screen, through the reader's own pager."""

from __future__ import annotations

import os
import shlex
from pathlib import PurePath

import click

from vaultseek.cli.terminal import without_links


def page(text: str) -> None:
    """Show ``text`` with ``$PAGER``, else with less; where that cannot be, or $PAGER is empty, print it."""
    # Less shows colours and links only when told to; one that the reader has set up is left alone.
    os.environ.setdefault("LESS", "-R")
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
