"""One call of ``vaultseek search`` or ``vaultseek complete``, parsed with or without click."""

from __future__ import annotations

import sys

from vaultseek.base import limits
from vaultseek.doors.cli.arguments import FILTERS
from vaultseek.doors.cli.connect import call_vault, record_given
from vaultseek.doors.cli.exit_codes import NO_MATCH, SUCCESS
from vaultseek.doors.cli.invocation import environment_settings, naming_the_variable
from vaultseek.doors.cli.output import print_answer
from vaultseek.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from vaultseek.base.model import JSON
    from vaultseek.client.caller import Caller
    from vaultseek.doors.cli.invocation import Invocation
    from vaultseek.doors.cli.terminal import Terminal


_FILTERS = {option.field for option in FILTERS}


class SearchCall:
    """The arguments of ``vaultseek search``; ``filters`` maps the names of filter options to lists of
    values."""

    def __init__(self, query: Iterable[str], options: Mapping[str, Any]) -> None:
        self.query = tuple(query)
        self.filters = {name: [*values] for name, values in options.items() if name in _FILTERS and values}
        self.limit: int | None = options.get("limit")
        self.passages: int | None = options.get("passages")
        self.mode: str | None = options.get("mode")
        self.folds = self.limit is None and not options.get("all")
        """True to hide the less certain notes; a limit or ``--all`` shows them."""
        self.explain = bool(options.get("explain"))
        self.wait = bool(options.get("wait"))
        self.open = bool(options.get("open"))
        self.all_vaults = bool(options.get("all_vaults"))
        self.plain = False
        """True to treat the query as a passage without operators, and search for similar passages."""
        flags = [name for name in ("json", "paths") if options.get(name)]
        self.output: str = flags[0] if flags else options.get("format") or "text"
        """The output format: text, json, paths, vimgrep or agent."""

    def run(self, invocation: Invocation) -> int:
        """Search, print the results and return the exit code.

        Raises UsageError if the query has neither words nor filters, and the daemon's errors.
        """
        if not self.query and not self.filters:
            raise UsageError(
                "search needs a word, a phrase or a filter; list the filters with `vaultseek search -h`"
            )
        if self.query == ("-",):
            self.query, self.plain = (_standard_input(),), True
        invocation.agent = invocation.agent or self.output == "agent"
        answer = self._ask(invocation)
        self._print(answer, invocation)
        if self.open and answer.get("results"):
            from vaultseek.doors.cli.connect import record_open
            from vaultseek.doors.cli.editor import open_notes

            best = [
                {"vault_path": answer.get("vault_path"), **answer["results"][0], "query": answer["query"]}
            ]
            open_notes(best, on_start=lambda: record_open(invocation, best))
        return SUCCESS if answer.get("results") else NO_MATCH

    def _params(self) -> JSON:
        options = {
            "limit": self.limit,
            "passages": self.passages,
            "mode": self.mode,
            "filters": self.filters,
            "plain": self.plain,
            "brief": self.output == "paths" and not self.open,
            "progress": self._shows_progress,
        }
        params: JSON = {"query": " ".join(self.query), "explain": self.explain, "wait": self.wait}
        return params | {name: value for name, value in options.items() if value}

    @property
    def _shows_progress(self) -> bool:
        return self.wait and (self.output == "text" or sys.stderr.isatty())

    def _ask(self, invocation: Invocation) -> JSON:
        from vaultseek.doors.cli.connect import connect

        settings = environment_settings()
        method, where = invocation.search(all_vaults=self.all_vaults)
        params = {**self._params(), "settings": settings, **where}
        with connect(invocation) as client, naming_the_variable(settings):
            if self.wait:
                return self._await(client, method, params, invocation)
            answer: JSON = client.call(
                method, params, timeout=limits.CALL_SECONDS, meanwhile=self._load_printing
            )
        return answer

    def _await(self, client: Caller, method: str, params: JSON, invocation: Invocation) -> JSON:
        """Call the daemon without a time limit, and show the indexing progress."""
        from vaultseek.doors.cli.progress import DELAY_SECONDS, progress

        with progress(color=invocation.color, quiet=not self._shows_progress, after=DELAY_SECONDS) as show:
            answer: JSON = client.call(
                method,
                params,
                timeout=None,
                meanwhile=self._load_printing,
                on_notification=lambda name, state: show(state) if name == "index/progress" else None,
            )
        return answer

    def _load_printing(self) -> None:
        """Import the modules needed for printing, while the daemon searches."""
        if self.output != "text":
            import vaultseek.doors.cli.terminal
        else:
            import datetime  # noqa: F401

            import vaultseek.doors.cli.search_page  # noqa: F401

    def _print(self, answer: JSON, invocation: Invocation) -> None:
        if self.output != "text":
            from vaultseek.doors.cli import output

            if self.output == "json":
                return output.print_json(output.with_addresses(answer))
            if self.output == "agent":
                from vaultseek.doors.mcp.reply import Form
                from vaultseek.doors.mcp.results import results

                folded = int(answer.get("less_certain") or 0) if self.folds else 0
                shown = {**answer, "results": answer["results"][: len(answer["results"]) - folded]}
                advice = "narrow the search, or use --format json"
                reply = results(shown, Form(limits.AGENT_TOKENS), advice=advice)
                invocation.show(reply.text + (f"\n[{folded} less certain: --all]" if folded else ""))
                question = " ".join(self.query) or ", ".join(answer["interpreted"]["filters"])
                return record_given(invocation, reply, "search", question)
            output.print_remarks(answer)
            return output.print_paths(answer) if self.output == "paths" else output.print_places(answer)
        import time

        from vaultseek.doors.cli.search_page import page

        if not self.all_vaults and invocation.is_outside(answer.get("vault_path")):
            answer = {**answer, "searched": f"{answer.get('vault', '')} ({answer['vault_path']})"}
        text = page(answer, invocation.out, now=time.time(), explain=self.explain, folds=self.folds)
        invocation.show(text)
        return None


def _standard_input() -> str:
    """Return the text from standard input. Raises UsageError if it is empty or too long."""
    data = sys.stdin.buffer.read(limits.FRAME_BYTES + 1)
    text = data.decode("utf-8", "replace").strip()
    if not text:
        raise UsageError("standard input is empty; pipe text into `vaultseek search -`")
    if len(text) > limits.PASSAGE_CHARS:
        raise UsageError(
            f"standard input is longer than {limits.PASSAGE_CHARS:,} characters; use a part of it"
        )
    return text


class CompleteCall:
    """The arguments of ``vaultseek complete``."""

    def __init__(self, text: str, options: Mapping[str, Any]) -> None:
        self.text = text
        self.kind: str = options.get("kind") or "note"
        self.note: str | None = options.get("note")
        self.property: str | None = options.get("property")
        if not options.get("kind"):
            self._read_operator()
        self.limit: int | None = options.get("limit")
        self.json = bool(options.get("json"))

    def _read_operator(self) -> None:
        """Read an operator at the beginning of the text, as in a query, to complete its value."""
        for operator, kind in (("tag:", "tag"), ("#", "tag"), ("link:", "note")):
            if self.text.startswith(operator):
                self.text, self.kind = self.text.removeprefix(operator), kind
                return
        if self.text.startswith("["):
            name, colon, value = self.text[1:].partition(":")
            self.text, self.kind = (value, "value") if colon else (name, "property")
            self.property = name if colon else self.property

    def run(self, invocation: Invocation) -> int:
        """Print the completions and return the exit code.

        Raises UsageError if values are requested without a property, and the daemon's errors.
        """
        if self.kind == "value" and not self.property:
            raise UsageError("--kind value needs a property; add --property NAME")
        answer = call_vault(
            invocation,
            "complete",
            text=self.text,
            kind=self.kind,
            note=self.note,
            property=self.property,
            limit=self.limit,
        )
        invocation.json = self.json
        return print_answer(answer, invocation, "items", _list)


def _list(answer: JSON, terminal: Terminal) -> str:
    from vaultseek.doors.cli.terminal import clean

    items = answer["items"]
    texts = [item["text"].casefold() for item in items]
    # Notes with the same name are distinguished by their paths.
    shown = (
        item.get("path") or item["text"] if texts.count(text) > 1 else item["text"]
        for item, text in zip(items, texts, strict=True)
    )
    return "\n".join(map(clean, shown))
