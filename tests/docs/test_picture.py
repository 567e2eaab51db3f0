"""The animated picture of the README: the contents of the file, and its creation from frames."""

from pathlib import Path
from xml.etree import ElementTree

import pyte

from recording import PICTURE, STORY, Film, frame_of, svg

PROJECT = Path(__file__).parents[2]


def texts(picture: str) -> str:
    return " ".join(part for part in ElementTree.fromstring(picture).itertext())


def test_the_readme_shows_a_picture_of_the_story():
    assert f"(docs/{PICTURE.name})" in (PROJECT / "README.md").read_text("utf-8")
    shown = texts(PICTURE.read_text("utf-8"))
    for verb, text in STORY:
        if verb == "until":
            assert all(word in shown for word in text.split()), text


def test_the_picture_holds_no_program_and_no_address():
    tree = ElementTree.parse(PICTURE)
    for element in tree.iter():
        assert element.tag.rpartition("}")[2] in {"svg", "style", "rect", "defs", "g", "use", "text"}
        assert all(not name.startswith("on") for name in element.attrib)
        assert element.get("href", "#").startswith("#")
    assert PICTURE.stat().st_size < 250_000


def test_frames_are_played_one_after_another_and_equal_rows_are_drawn_once():
    screen = pyte.Screen(20, 3)
    stream = pyte.Stream(screen)
    frames = []
    for text in ("\x1b[?25lfirst <&>\r\nsame", "\x1b[H\x1b[2K\x1b[1;31msecond"):
        stream.feed(text)
        frames.append((1.0, frame_of(screen)))
    picture = svg(frames, 20, 3)
    assert "first <&>" in texts(picture)
    assert picture.count("same") == 1
    assert 'class="b" style="fill:#f2777a">second' in picture
    assert "50.000%{transform:translateY(-82px)}" in picture


def test_a_screen_that_is_still_being_drawn_is_no_frame():
    one, two, three = (((),), ((), ()), ((), (), ()))
    film = Film([(0.0, one), (0.5, two), (0.51, three), (90.0, one)])
    assert [frame for _, frame in film.timed()] == [one, three, one]
    assert max(seconds for seconds, _ in film.timed()) == 2.5
