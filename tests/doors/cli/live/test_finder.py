"""Requests of the live search to the daemon, and the list shown while they run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from vaultseek.doors.cli.live import finder as module
from vaultseek.doors.cli.live.finder import Finder
from vaultseek.errors import BadQuery, Unavailable

RECENT = {"vault_path": "/v", "results": [{"path": "new.md"}, {"path": "old.md"}]}


def answer(*paths: str) -> dict[str, Any]:
    return {"vault_path": "/v", "results": [{"path": path, "line": 7} for path in paths]}


class Daemon:
    """Answers searches by query: an event is waited for, an exception is raised."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.searches: list[str] = []
        self.notes: list[dict[str, Any]] = []
        self.cancelled: list[str] = []

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "note/get":
            self.notes.append(params)
            return {"text": f"text of {params['note']}"}
        query = params["query"]
        self.searches.append(query)
        said = self.answers.get(query, answer(f"{query}.md"))
        if isinstance(said, asyncio.Event):
            try:
                await said.wait()
            except asyncio.CancelledError:
                self.cancelled.append(query)
                raise
            return answer(f"{query}.md")
        if isinstance(said, Exception):
            raise said
        return said


@asynccontextmanager
async def searching(daemon: Daemon) -> AsyncIterator[Finder]:
    finder = Finder(daemon.call, {"limit": 5}, RECENT)
    running = asyncio.create_task(finder.run())
    try:
        async with asyncio.timeout(20):
            yield finder
    finally:
        running.cancel()


def paths(finder: Finder) -> list[str]:
    return [result["path"] for result in finder.results]


async def test_an_empty_prompt_lists_recent_notes_and_asks_nothing():
    daemon = Daemon()
    async with searching(daemon) as finder:
        assert paths(finder) == ["new.md", "old.md"]
        finder.type("a")
        await finder.settled()
        finder.type("")
        await finder.settled()
        assert paths(finder) == ["new.md", "old.md"]
        assert daemon.searches == ["a"]


async def test_a_search_that_begins_with_words_shows_no_recent_notes_before_their_answer():
    asked, gate = asyncio.Event(), asyncio.Event()
    daemon = Daemon(pump=gate)
    finder = Finder(daemon.call, {"limit": 5}, RECENT, query=" pump ", on_change=asked.set)
    assert (paths(finder), finder.is_beginning) == ([], True)
    running = asyncio.create_task(finder.run())
    await asked.wait()
    assert (paths(finder), finder.is_beginning) == ([], True)
    gate.set()
    await finder.settled()
    assert (paths(finder), finder.is_beginning) == (["pump.md"], False)
    finder.type("")
    await finder.settled()
    assert paths(finder) == ["new.md", "old.md"]
    running.cancel()


async def test_the_last_query_wins_however_fast_it_is_typed():
    daemon = Daemon()
    async with searching(daemon) as finder:
        for end in range(1, len("pump") + 1):
            finder.type("pump"[:end])
        await finder.settled()
        assert paths(finder) == ["pump.md"]
        assert daemon.searches == ["pump"]


async def test_a_slow_search_is_cancelled_by_the_next_letter_but_not_at_once(monkeypatch):
    monkeypatch.setattr(module, "SEARCH_GRACE_SECONDS", 0.01)
    daemon = Daemon(slow=asyncio.Event())
    async with searching(daemon) as finder:
        finder.type("slow")
        while not daemon.searches:
            await asyncio.sleep(0)
        finder.type("slower")
        await finder.settled()
        assert paths(finder) == ["slower.md"]
        assert daemon.cancelled == ["slow"]


async def test_a_slow_search_goes_on_while_the_cursor_moves_in_its_words(monkeypatch):
    monkeypatch.setattr(module, "SEARCH_GRACE_SECONDS", 0.01)
    daemon = Daemon(slow=asyncio.Event())
    async with searching(daemon) as finder:
        finder.type("slow")
        while not daemon.searches:
            await asyncio.sleep(0)
        finder.type("slow")
        await asyncio.sleep(0.1)
        daemon.answers["slow"].set()
        await finder.settled()
        assert (paths(finder), daemon.searches, daemon.cancelled) == (["slow.md"], ["slow"], [])


async def test_an_answer_that_comes_soon_is_shown_though_more_was_typed():
    event = asyncio.Event()
    daemon = Daemon(p=event, pu=event)
    shown = []
    async with searching(daemon) as finder:
        finder.on_change = lambda: shown.append(paths(finder)[0])
        finder.type("p")
        while not daemon.searches:
            await asyncio.sleep(0)
        finder.type("pu")
        event.set()
        await finder.settled()
        assert "p.md" in shown
        assert daemon.cancelled == []


async def test_half_a_word_that_matches_nothing_does_not_empty_the_list(monkeypatch):
    monkeypatch.setattr(module, "QUIET_SECONDS", 10.0)
    daemon = Daemon(snai=answer())
    counts = []
    async with searching(daemon) as finder:
        finder.type("sna")
        await finder.settled()
        finder.on_change = lambda: counts.append(len(finder.results))
        finder.type("snai")
        while "snai" not in daemon.searches:
            await asyncio.sleep(0)
        finder.type("snail")
        await finder.settled()
        assert 0 not in counts
        assert paths(finder) == ["snail.md"]
        monkeypatch.setattr(module, "QUIET_SECONDS", 0.01)
        finder.type("snai")
        await finder.settled()
        assert paths(finder) == []


@pytest.mark.parametrize("error", [BadQuery("too deep"), Unavailable("the daemon went away")])
async def test_an_error_is_shown_and_the_last_results_stay(error):
    daemon = Daemon(bad=error)
    async with searching(daemon) as finder:
        finder.type("good")
        await finder.settled()
        finder.type("bad")
        await finder.settled()
        assert (finder.message, paths(finder)) == (str(error), ["good.md"])
        finder.type("fine")
        await finder.settled()
        assert (finder.message, paths(finder)) == ("", ["fine.md"])


async def test_the_preview_follows_the_selection_around_the_line_that_matches():
    daemon = Daemon(x=answer("a.md", "b.md"))
    async with searching(daemon) as finder:
        finder.type("x")
        await finder.settled()
        finder.move(1)
        finder.move(1)
        assert finder.result["path"] == "b.md"
        while finder.preview is None or finder.preview.lines != ("text of b.md",):
            await asyncio.sleep(0)
        assert finder.preview.line == 7
        assert daemon.notes[-1] == {"vault": "/v", "note": "b.md", "start_line": 1, "end_line": 307}
        finder.move(-5)
        assert finder.result["path"] == "a.md"


async def test_less_certain_results_show_when_the_selection_gets_there():
    daemon = Daemon(x={**answer("a.md", "b.md", "c.md"), "less_certain": 2})
    async with searching(daemon) as finder:
        finder.type("x")
        await finder.settled()
        assert (paths(finder), finder.folded) == (["a.md"], 2)
        finder.move(1)
        assert (paths(finder), finder.folded) == (["a.md", "b.md", "c.md"], 0)
        assert finder.result["path"] == "b.md"
        finder.type("y")
        await finder.settled()
        finder.type("x")
        await finder.settled()
        assert (paths(finder), finder.folded) == (["a.md"], 2)


async def test_a_note_that_cannot_be_read_says_why():
    async def call(method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise Unavailable("gone")

    finder = Finder(call, {}, RECENT)
    running = asyncio.create_task(finder.run())
    while finder.preview is None:
        await asyncio.sleep(0)
    running.cancel()
    assert finder.preview.lines == ("gone",)


async def test_the_note_of_a_searcher_which_has_no_folder_is_read_by_the_name_of_its_vault():
    daemon = Daemon(a={"vault": "wiki", "vault_path": "", "results": [{"path": "a.md", "line": 1}]})
    async with searching(daemon) as finder:
        finder.type("a")
        while not any(note["note"] == "a.md" for note in daemon.notes):
            await asyncio.sleep(0)
        assert daemon.notes[-1]["vault"] == "wiki"
