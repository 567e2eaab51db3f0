"""The terminal sessions in the docs match the output of the commands."""

from collections.abc import Iterator

import pytest

from sessions import PAGES, Home, opened_home, sessions, stable

pytestmark = pytest.mark.long


@pytest.fixture
def home() -> Iterator[Home]:
    """Yield a home directory whose vault is indexed and embedded with the bundled model."""
    with opened_home() as opened:
        opened.index()
        yield opened


@pytest.mark.model
@pytest.mark.timeout(400)
def test_the_pages_show_what_the_commands_print(home):
    exchanges = [
        exchange for page in PAGES for session in sessions(page.read_text("utf-8")) for exchange in session
    ]
    assert len(exchanges) > 15
    differences = {}
    for exchange in exchanges:
        output = stable(home.run(exchange.command).rstrip())
        if output != stable(exchange.output):
            differences[exchange.command] = "\n".join(output)
    assert differences == {}, "if this is intended, run `scripts/record`"


def test_what_differs_each_time_is_left_out():
    line = " 1  Slimy Visitors                                                 ████████ 100%"
    place = "    Areas/Garden/Slimy Visitors.md:1 · #garden/pests · "
    assert stable(line) == stable(line.replace("100%", " 98%"))
    assert stable(place + "3 weeks ago") == stable(place + "just now") != stable("    Other.md:1 · just now")
    assert (
        stable("1 note · 24 ms · hybrid")
        == stable("1 note · 3.1 ms · hybrid")
        != stable("2 notes · 3 ms · hybrid")
    )
