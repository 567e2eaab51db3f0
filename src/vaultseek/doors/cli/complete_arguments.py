"""One call of ``vaultseek complete``, and its arguments read without click: editors ask at every key."""

from __future__ import annotations

from vaultseek.base import limits
from vaultseek.doors.cli.connect import call_vault
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.output import print_answer
from vaultseek.doors.cli.search_arguments import LIMIT, Reader, limit_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON
    from vaultseek.doors.cli.terminal import Terminal

KINDS = ("note", "heading", "block", "tag", "property", "value")


class CompleteCall:
    """The arguments of ``vaultseek complete``."""

    def __init__(self) -> None:
        self.text = ""
        self.kind = "note"
        self.note: str | None = None
        self.property: str | None = None
        self.limit: int | None = None
        self.json = False

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


def read_complete(arguments: list[str]) -> tuple[CompleteCall, Invocation] | None:
    """Return the call that the arguments after ``complete`` mean; None if click has to read them."""
    reader = _CompleteReader(arguments)
    return (reader.call, reader.invocation) if reader.read() else None


class _CompleteReader(Reader):
    """Reads arguments of ``complete`` into a call."""

    def __init__(self, arguments: list[str]) -> None:
        super().__init__(arguments)
        self.call = CompleteCall()

    def read(self) -> bool:
        known = super().read()
        self.call.text = self.words[0] if self.words else ""
        return known and len(self.words) < 2

    def set_flag(self, name: str) -> bool:
        if name == "--json":
            self.call.json = True
        return name == "--json" or super().set_flag(name)

    def set_option(self, name: str, value: str) -> bool:
        if name == "--kind" and value in KINDS:
            self.call.kind = value
        elif name == "--note":
            self.call.note = value
        elif name == "--property":
            self.call.property = value
        elif name in LIMIT and (limit := limit_of(value, limits.COMPLETIONS)):
            self.call.limit = limit
        else:
            return super().set_option(name, value)
        return True


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
