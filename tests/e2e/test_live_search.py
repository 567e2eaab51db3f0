"""``vaultseek find`` in a real terminal with a real daemon: typing, the display, and opening a result."""

import shlex
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path

import pytest

from live_terminal import LiveTerminal
from worlds import write_files

NOTES = {
    ".obsidian/app.json": "{}",
    "Projects/Float Switch.md": "---\ntags: [work/pumps]\n---\n# Float switch\n\nThree floats in the pit.\n\n"
    "The highest rings the alarm upstairs.\n",
    "Projects/Old pump.md": "---\ntags: [archive]\n---\n# Old pump\n\nIt rings no alarm any more.\n",
    "Garden/Slugs.md": "# Slugs\n\n"
    + "They came at night.\n\n" * 40
    + "Beer traps drowned eleven of them.\n",
    "Evil.md": "# Evil\n\nzebra \x1b[2J\x1b]0;owned\x07 stripes\n",
    "Größe 北京.md": "# Größe 北京\n\nBreite Zeichen, 京都 auch.\n",
}
Start = Callable[..., LiveTerminal]


@pytest.fixture(scope="module")
def notes(indexed_vault):
    return indexed_vault(NOTES)


@pytest.fixture
def start(notes, tmp_path) -> Start:
    """``start("find")`` runs a command in the vault; the editor writes its arguments to a file."""
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {shlex.quote(str(tmp_path / "opened"))}\n')
    editor.chmod(0o700)
    environment = {**notes.daemon.environment, "EDITOR": str(editor), "VISUAL": ""}

    def run(*arguments: str, shell: str = "", columns: int = 120, **variables: str) -> LiveTerminal:
        command = [sys.executable, "-m", "vaultseek", *arguments]
        if shell:
            command = ["sh", "-c", f"{shlex.join(command)} {shell}"]
        return LiveTerminal(command, cwd=notes.root, environment=environment | variables, columns=columns)

    return run


def opened(folder: Path) -> list[str]:
    return (folder / "opened").read_text().splitlines()


def test_what_is_typed_is_searched_previewed_and_opened_at_the_line(notes, start, tmp_path):
    with start("find") as terminal:
        terminal.shows("5 notes")
        for letter in "beer traps":
            terminal.type(letter)
        terminal.until(lambda it: "▌ Slugs" in it.lines[2], "the note is first")
        terminal.shows("83▌ Beer traps drowned eleven")
        terminal.type("Enter")
        assert terminal.ended() == 0
    assert opened(tmp_path) == ["+83", str(notes.root / "Garden/Slugs.md")]


def test_the_first_screen_of_a_search_for_words_has_their_results_or_none(start):
    with start("find", "beer", "traps") as terminal:
        terminal.until(lambda it: any("> beer traps" in line for line in it.lines), "it is drawn")
        terminal.until(lambda it: "searching" in it.lines[1] or "▌ Slugs" in it.lines[2], "no other note")
        assert not any("Old pump" in line for line in terminal.lines)
        terminal.shows("83▌ Beer traps drowned eleven")


def test_vaultseek_alone_searches_and_escape_leaves(start):
    with start() as terminal:
        terminal.shows("5 notes")
        terminal.type("Esc")
        assert terminal.ended() == 0


def test_enter_before_the_answer_opens_what_it_finds(notes, start, tmp_path):
    with start("find") as terminal:
        terminal.shows("5 notes")
        terminal.type("beer traps\r")
        assert terminal.ended() == 0
    assert opened(tmp_path)[1] == str(notes.root / "Garden/Slugs.md")


def test_arrows_select_and_the_preview_follows(notes, start, tmp_path):
    with start("find", "alarm") as terminal:
        terminal.shows("rings")
        first = terminal.lines[2]
        terminal.type("Down")
        terminal.until(lambda it: it.lines[3].startswith("▌"), "the second is selected")
        other = "It rings no alarm" if "Float" in first else "The highest rings"
        terminal.shows(other)
        terminal.type("Enter")
        assert terminal.ended() == 0
    chosen = "Old pump" if "Float" in first else "Float Switch"
    assert chosen in opened(tmp_path)[1]


def test_marked_notes_stay_marked_and_are_opened_together(notes, start, tmp_path):
    with start("find", "beer") as terminal:
        terminal.until(lambda it: "▌ Slugs" in it.lines[2], "the note is first")
        terminal.type("Ctrl-T")
        terminal.shows("1 note marked")
        terminal.type("Ctrl-U")
        terminal.type("京都")
        terminal.until(lambda it: "▌ Größe" in it.lines[2], "the next query is answered")
        terminal.type("Ctrl-T")
        terminal.shows("2 notes marked")
        terminal.type("Enter")
        assert terminal.ended() == 0
    files = [str(notes.root / path) for path in ("Garden/Slugs.md", "Größe 北京.md")]
    assert opened(tmp_path) == ["+83", *files]


def test_what_is_marked_twice_is_not_marked(start, tmp_path):
    with start(
        "find", "alarm", "--mode", "keyword", shell=f"> {shlex.quote(str(tmp_path / 'chosen'))}"
    ) as terminal:
        terminal.shows("2 notes")
        terminal.type("Ctrl-T")
        terminal.until(lambda it: it.lines[2].startswith(" *") and it.lines[3].startswith("▌ "), "the mark")
        terminal.type("Ctrl-T")
        terminal.shows("2 notes marked")
        terminal.type("Up")
        terminal.type("Ctrl-T")
        terminal.shows("1 note marked")
        terminal.type("Enter")
        assert terminal.ended() == 0
    assert len((tmp_path / "chosen").read_text().splitlines()) == 1


def copied(terminal: LiveTerminal) -> str:
    return b64decode(terminal.written.rpartition(b"\x1b]52;c;")[2].partition(b"\x07")[0]).decode()


def test_a_link_to_the_note_is_copied_by_the_terminal(start):
    with start("find", "beer") as terminal:
        terminal.until(lambda it: "▌ Slugs" in it.lines[2], "the note is first")
        terminal.type("Ctrl-Y")
        terminal.shows("Copied [[Slugs]]")
        assert copied(terminal) == "[[Slugs]]"
        terminal.type("Ctrl-T")
        terminal.type("Ctrl-U")
        terminal.type("京都")
        terminal.until(lambda it: "▌ Größe" in it.lines[2], "the next query is answered")
        terminal.type("Ctrl-T")
        terminal.shows("2 notes marked")
        terminal.type("Ctrl-Y")
        terminal.shows("Copied [[Slugs]] [[Größe 北京]]")
        assert copied(terminal) == "[[Slugs]]\n[[Größe 北京]]"


def test_a_copied_link_is_one_of_markdown_where_the_vault_or_the_name_wants_that(
    indexed_vault, start, tmp_path
):
    pages = indexed_vault(
        {
            ".obsidian/app.json": '{"useMarkdownLinks": true, "newLinkFormat": "absolute"}',
            "a/C [sharp] notes.md": "# C [sharp] notes\n\nquartz\n",
        }
    )
    odd = write_files(
        tmp_path / "odd",
        {
            ".obsidian/app.json": "{}",
            "F# minor.md": "quartz",
            "two\nlines.md": "obsidian",
            "b/Same.md": "feldspar",
            "c/Same.md": "gneiss",
        },
    )
    pages.run("index", "--wait", "--vault", str(odd))
    for vault, word, link in (
        (str(pages.root), "quartz", r"[C \[sharp\] notes](a/C%20%5Bsharp%5D%20notes.md)"),
        (str(odd), "quartz", "[F# minor](F%23%20minor.md)"),
        (str(odd), "gneiss", "[[c/Same]]"),
        (str(odd), "obsidian", "[two lines](two%0Alines.md)"),
    ):
        with start("find", word, "--mode", "keyword", "--vault", vault) as terminal:
            terminal.until(lambda it: it.lines[2].startswith("▌"), "a note is selected")
            terminal.shows("1 note")
            terminal.type("Ctrl-Y")
            terminal.shows("Copied")
            assert copied(terminal) == link


def test_tab_offers_filters_that_narrow(start):
    with start("find", "alarm") as terminal:
        terminal.shows("Old pump")
        terminal.type("Tab")
        terminal.shows("tag:archive")
        terminal.type("Tab")
        terminal.until(lambda it: "> alarm tag:archive" in it.lines[0], "the first filter is selected")
        assert "Float" in terminal.text, "the list waits until a filter is taken"
        terminal.type("Enter")
        terminal.until(lambda it: "Float" not in it.text, "the list is narrower")
        terminal.type("Ctrl-U")
        terminal.type("tag:work/p")
        terminal.type("Tab")
        terminal.until(lambda it: "> tag:work/pumps" in it.lines[0], "the tag is completed")
        terminal.shows("Float switch")
        terminal.type("Ctrl-C")
        assert terminal.ended() == 0


def test_on_a_narrow_screen_the_preview_stands_below(start):
    with start("find", "beer", columns=60) as terminal:
        terminal.shows("Beer traps drowned")
        assert any(set(line) == {"─"} for line in terminal.lines)


def test_the_text_of_a_note_cannot_act_on_the_terminal(start):
    with start("find", "zebra") as terminal:
        terminal.shows("zebra \\x1b[2J\\x1b]0;owned\\x07 stripes")
        assert terminal.screen.title == ""


def test_wide_characters_keep_their_columns(start):
    with start("find", "京都") as terminal:
        terminal.shows("Breite Zeichen")
        assert all(line[72] == "│" for line in terminal.screen.display[3:20])


def test_in_a_pipe_the_chosen_path_is_printed(start, tmp_path):
    with start("find", "beer", shell=f"> {shlex.quote(str(tmp_path / 'chosen'))}") as terminal:
        terminal.shows("Beer traps drowned")
        terminal.type("Enter")
        assert terminal.ended() == 0
    assert (tmp_path / "chosen").read_text() == "Garden/Slugs.md\n"


def test_a_wrong_query_is_explained_and_mends_itself(start):
    with start("find") as terminal:
        terminal.shows("5 notes")
        terminal.type("(" * 60 + "a")
        terminal.until(lambda it: "nest" in it.lines[1] or "deep" in it.lines[1], "it says why")
        terminal.type("Ctrl-U")
        terminal.type("slugs")
        terminal.until(lambda it: "▌ Slugs" in it.lines[2], "the next query is answered")


def test_ctrl_o_opens_in_obsidian(notes, start, tmp_path):
    program = tmp_path / "xdg-open"
    program.write_text((tmp_path / "editor").read_text())
    program.chmod(0o700)
    path = f"{tmp_path}:{notes.daemon.environment['PATH']}"
    with start("find", "beer", PATH=path) as terminal:
        terminal.shows("Beer traps drowned")
        terminal.type("Ctrl-O")
        assert terminal.ended() == 0
    assert opened(tmp_path)[0].startswith("obsidian://open?path=%2F")
    assert opened(tmp_path)[0].endswith("%2FGarden%2FSlugs.md")


@pytest.mark.fault("L12")
def test_l12_enter_twice_opens_the_note_once(notes, start, tmp_path):
    counting = tmp_path / "counting"
    counting.write_text(f'#!/bin/sh\nsleep 0.2; echo "$@" >> {shlex.quote(str(tmp_path / "opened"))}\n')
    counting.chmod(0o700)
    for keys in ("\r\r", "\r\r\x0f\x1b", "\r\x03"):
        (tmp_path / "opened").unlink(missing_ok=True)
        with start("find", "beer", EDITOR=str(counting)) as terminal:
            terminal.until(lambda it: "▌ Slugs" in it.lines[2], "the note is first")
            terminal.type(keys)
            assert terminal.ended() == 0, terminal.text
            assert "Traceback" not in terminal.text
            assert "Return value" not in terminal.text
        if keys != "\r\x03":
            assert opened(tmp_path) == [f"+83 {notes.root}/Garden/Slugs.md"]


@pytest.mark.fault("L12")
def test_l12_what_cannot_be_opened_is_said_and_the_search_stays(notes, start, tmp_path):
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    program = tmp_path / "late"
    with start("find", "beer", EDITOR=str(program), PATH=str(nothing)) as terminal:
        terminal.shows("83▌ Beer traps drowned eleven")
        terminal.type("Ctrl-T")
        terminal.shows("1 note marked")
        terminal.type("Enter")
        terminal.shows(f"cannot start {program}")
        assert "> beer" in terminal.lines[0]
        terminal.shows("1 note marked")
        terminal.type("Ctrl-O")
        terminal.shows("Obsidian is not installed")
        terminal.type(" traps")
        terminal.until(
            lambda it: "> beer traps" in it.lines[0] and "installed" not in it.text, "typing goes on"
        )
        program.write_text((tmp_path / "editor").read_text())
        program.chmod(0o700)
        terminal.type("Enter")
        assert terminal.ended() == 0
    assert opened(tmp_path) == ["+83", str(notes.root / "Garden/Slugs.md")]


@pytest.mark.fault("L12")
def test_l12_without_an_editor_one_of_the_terminal_opens_the_note(notes, start, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "vi").write_text((tmp_path / "editor").read_text())
    (programs / "vi").chmod(0o700)
    for command in (("find", "beer"), ("open", "Garden/Slugs.md:83"), ("search", "beer", "--open")):
        (tmp_path / "opened").unlink(missing_ok=True)
        with start(*command, EDITOR="", PATH=str(programs)) as terminal:
            if command[0] == "find":
                terminal.until(lambda it: "▌ Slugs" in it.lines[2], "the note is first")
                terminal.type("Enter")
            assert terminal.ended() == 0, terminal.text
        assert opened(tmp_path) == ["+83", str(notes.root / "Garden/Slugs.md")]


def test_without_a_terminal_it_says_what_to_use(notes):
    done = notes.run("find", "slugs", stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (
        2,
        "vaultseek: this needs a terminal; in a script, use `vaultseek search`\n",
    )


def test_the_daemon_is_started_again(notes, start):
    with start("find") as terminal:
        terminal.shows("5 notes")
        notes.daemon.stop()
        terminal.type("beer")
        terminal.shows("Beer traps drowned")


def test_no_color_leaves_no_colour(start):
    with start("find", "beer", NO_COLOR="1") as terminal:
        terminal.shows("Beer traps drowned")
        cells = [cell for row in terminal.screen.buffer.values() for cell in row.values()]
        assert {cell.fg for cell in cells} == {"default"}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Slugs", 1),
        ("Garden/Slugs.md:83", 83),
        ("Garden/Slugs.md:83:5", 83),
        ("Float switch", 1),
        ("Projects/Float Switch#float  SWITCH", 4),
    ],
)
def test_open_goes_to_the_line(notes, start, tmp_path, name, line):
    with start("open", name) as terminal:
        assert terminal.ended() == 0, terminal.text
    place, file = opened(tmp_path)
    assert place == f"+{line}"
    assert Path(file).is_file()


def test_open_names_the_headings_that_there_are(notes):
    done = notes.run("open", "Slugs#Snails")
    assert done.returncode != 0
    assert done.stderr == 'vaultseek: Garden/Slugs.md has no heading "Snails"; its headings are "Slugs"\n'
    assert notes.run("open", "nothing of this name").returncode != 0


def test_json_has_the_address_for_obsidian(notes):
    best = notes.json("search", "京都 Breite")["results"][0]
    assert best["obsidian_url"].startswith("obsidian://open?path=%2F")
    assert best["obsidian_url"].endswith("Gr%C3%B6%C3%9Fe%20%E5%8C%97%E4%BA%AC.md")
    assert notes.json("related", "Old pump")["results"][0]["obsidian_url"].startswith("obsidian://")


def test_an_empty_search_shows_what_was_opened_last_and_offers_its_query(notes, start):
    with start("find", "zebra") as terminal:
        terminal.until(lambda it: "▌ Evil" in it.lines[2], "the note is first")
        terminal.type("Enter")
        assert terminal.ended() == 0
    with start("find") as terminal:
        terminal.until(lambda it: "▌ Evil" in it.lines[2], "the note that was opened is first")
        terminal.type("Tab")
        terminal.until(
            lambda it: any("zebra" in line and "asked before" in line for line in it.lines),
            "its query is offered",
        )
        terminal.type("Tab")
        terminal.type("Enter")
        terminal.until(lambda it: "> zebra" in it.lines[0], "the query is asked again")
        terminal.type("Ctrl-C")
        assert terminal.ended() == 0


def test_the_queries_of_several_vaults_are_offered(indexed_vault, start):
    first, second = (indexed_vault({f"{word}.md": f"A {word}."}) for word in ("zebra", "yak"))
    for pages, word in ((first, "zebra"), (second, "yak")):
        with start("find", word, "--vault", str(pages.root)) as terminal:
            terminal.until(lambda it, word=word: f"▌ {word}" in it.lines[2], "the note is first")
            terminal.type("Enter")
            assert terminal.ended() == 0
    with start("find", "--vault", str(first.root), "--vault", str(second.root)) as terminal:
        terminal.shows("yak")
        terminal.type("Tab")
        terminal.until(lambda it: it.text.count("asked before") == 2, "both queries are offered")
