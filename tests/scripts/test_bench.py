"""The benchmark script: its data, its guard, its pages, and its leftovers. No time is asserted."""

import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import psutil
import pytest
from benchmark import docs, guard
from benchmark.figures import Figure, Times, alternate
from benchmark.growth import Point, draw
from benchmark.notes import GeneratedNotes, Texts, number_of, place_of, share_of, tags_of
from benchmark.rows_links import make_ledger

from vaultseek.store.graph import Graph
from vaultseek.store.ledger import Ledger

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def notes(tmp_path):
    GeneratedNotes(200, 2).write(tmp_path)
    return tmp_path


def test_generated_notes_are_the_same_each_time(notes, tmp_path_factory):
    again = tmp_path_factory.mktemp("again")
    GeneratedNotes(200, 2).write(again)
    texts = [
        {path.relative_to(root): path.read_text() for path in root.rglob("*.md")} for root in (notes, again)
    ]
    assert len(texts[0]) == 200
    assert texts[0] == texts[1]


@pytest.mark.parametrize("share", [1, 10, 50])
def test_each_filter_leaves_its_share(notes, share):
    paths = [path.relative_to(notes).as_posix() for path in notes.rglob("*.md")]
    numbers = [number_of(path) for path in paths]
    folder = place_of(next(number for number in range(200) if share_of(number) == share)) + "/"
    assert sum(share_of(number) <= share for number in numbers) == 200 * share // 100
    assert sum(f"p{share}" in tags_of(number) for number in numbers) == 200 * share // 100
    assert sum(path.startswith(folder) for path in paths) == 200 * share // 100


@pytest.mark.parametrize("size", [1, 2, 4, 8, 12])
def test_queries_have_so_many_words_and_differ(notes, size):
    queries = Texts(notes).of_words(size, 20)
    assert len(set(queries)) == 20
    assert {len(query.split()) for query in queries} == {size}


def test_turns_are_of_all_sides_and_leave_out_their_first_query():
    asked = {"a": [], "b": []}
    queries = [str(number) for number in range(10)]
    times = alternate({name: asked[name].append for name in asked}, queries, block=5)
    assert asked["a"] == asked["b"] == queries
    assert [len(times[name].values) for name in asked] == [8, 8]


def test_a_machine_too_busy_ends_after_one_turn():
    asked = []
    alternate({"a": asked.append}, [str(number) for number in range(10)], block=5, seconds=-1)
    assert len(asked) == 5


def test_percentiles_of_a_few_times():
    times = Times.of([3.0, 1.0, 2.0])
    assert (times.p10, times.p50, times.p95, times.most) == (1.0, 2.0, 3.0, 3.0)


def test_the_guard_names_what_has_more_than_doubled_or_is_missing():
    earlier = {"hybrid": 0.5, "keyword": 0.1, "embed": 0.3}
    assert guard.losses({"hybrid": 1.0, "keyword": 0.11, "embed": 0.2}, earlier) == {}
    assert set(guard.losses({"hybrid": 1.01, "keyword": 0.1}, earlier)) == {"hybrid", "embed"}


def test_guarded_ratios_are_of_rows_of_the_quick_run():
    import benchmark.__main__ as script

    for name in guard.read():
        assert script.ROWS[name].quick


def test_every_row_is_in_the_order():
    import benchmark.__main__ as script

    assert {row.name for row in script.ordered()} == set(script.ROWS)


def test_the_ledger_of_the_link_row_has_its_notes_and_links(tmp_path):
    make_ledger(tmp_path / "ledger.sqlite", 20, 60)
    ledger = Ledger(tmp_path / "ledger.sqlite")
    assert (len(ledger.notes.ids()), len(Graph.of(ledger).edges())) == (20, 60)
    ledger.close()


def test_the_plot_is_an_image_with_every_size():
    points = [Point(10**power, 2.0 * power, 9.0, 60.0) for power in (3, 4, 5)]
    plot = ElementTree.fromstring(draw(points))
    texts = [element.text for element in plot.iter("{http://www.w3.org/2000/svg}text")]
    assert {"1,000", "10,000", "100,000", "keyword search"} <= set(texts)


def test_pages_are_written_between_their_markers(tmp_path, monkeypatch):
    for name in ("README", "PAGE", "PLOT"):
        page = tmp_path / getattr(docs, name).name
        monkeypatch.setattr(docs, name, page)
        blocks = "".join(
            f"<!-- bench: {block} -->\nold\n<!-- bench: end of {block} -->\nkept\n"
            for block in ("table", "profile", "main")
        )
        page.write_text(blocks)
    figure = Figure("hybrid-large", "hybrid search", "p50 9 ms", ratio=0.75, met=True)
    file = tmp_path / "run.json"
    run = {"machine": "two cores", "when": "2026-01-01T00:00", "figures": [figure.json()], "plot": "<svg/>"}
    file.write_text(json.dumps(run))
    for _ in range(2):
        docs.write(docs.read_runs([file]))
    row = "| hybrid search | p50 9 ms |  | ratio 0.75, met |"
    assert row in docs.PAGE.read_text()
    assert "| hybrid search | p50 9 ms |  |\n" in docs.README.read_text()
    assert docs.PAGE.read_text().count("kept") == 3
    assert docs.PLOT.read_text() == "<svg/>"


def test_the_pages_have_the_markers():
    for page, blocks in ((docs.README, ("main",)), (docs.PAGE, ("table", "profile"))):
        text = page.read_text(encoding="utf-8")
        for block in blocks:
            assert f"<!-- bench: {block} -->\n" in text
            assert f"<!-- bench: end of {block} -->" in text


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(600)
def test_a_run_measures_a_daemon_and_leaves_nothing_behind(tmp_path):
    figures, place = tmp_path / "figures.json", tmp_path / "t"
    place.mkdir()
    run = subprocess.run(
        [PROJECT / "scripts" / "bench", "--quick", "--only", "keyword-small", "--json", figures],
        env=os.environ | {"TMPDIR": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stderr  # 1 if the machine is too busy for the guard
    sizes = [figure["numbers"]["words"] for figure in json.loads(figures.read_text())["figures"]]
    assert sizes == [1, 2, 4, 8, 12]
    assert list(place.iterdir()) == []
    assert [process.pid for process in psutil.process_iter(["environ"]) if _belongs(process, place)] == []


def _belongs(process: psutil.Process, folder: Path) -> bool:
    return (
        str(folder) in (process.info["environ"] or {}).get("XDG_DATA_HOME", "") and process.pid != os.getpid()
    )
