"""One call of ``vaultseek complete``, which editors make at every key."""

from __future__ import annotations

from vaultseek.doors.cli.connect import call_vault
from vaultseek.doors.cli.output import print_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from vaultseek.base.model import JSON
    from vaultseek.doors.cli.invocation import Invocation
    from vaultseek.doors.cli.terminal import Terminal


class CompleteCall:
    """The arguments of ``vaultseek complete``."""

    def __init__(self, text: str, options: Mapping[str, Any]) -> None:
        self.text = text
        self.kind: str = options.get("kind") or "note"
        self.note: str | None = options.get("note")
        self.property: str | None = options.get("property")
        self.limit: int | None = options.get("limit")
        self.json = bool(options.get("json"))

    def run(self, invocation: Invocation) -> int:
        """Ask the daemon, print its answer and return the exit code. Raises the errors of the daemon."""
        answer = call_vault(
            invocation,
            "complete",
            text=self.text,
            kind=self.kind,
            note=self.note,
            property=self.property,
            limit=self.limit,
        )
        return print_answer(answer, invocation, "items", _list, json_=self.json)


def _list(answer: JSON, terminal: Terminal) -> str:
    from vaultseek.doors.cli.terminal import clean

    items = answer["items"]
    texts = [item["text"].casefold() for item in items]
    # Notes of one name are told apart by their paths, which name a note as well.
    shown = (
        item.get("path") or item["text"] if texts.count(text) > 1 else item["text"]
        for item, text in zip(items, texts, strict=True)
    )
    return "\n".join(map(clean, shown))
