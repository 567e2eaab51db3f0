"""Files other than Markdown, from saving to finding, reading and linking, with a real daemon."""

from pathlib import Path

import pytest

import made_files as made
from daemons import eventually

TEXT = "alarm of the float switch"


@pytest.fixture
def files() -> dict[str, str | bytes]:
    return {
        "Boiler.md": f"# Boiler\n\n{TEXT} [[manual.pdf#page=2]] [[Plan.canvas]]\n",
        "Plan.md": "# Plan\n\nThe plan in words.\n",
        "Plan.canvas": made.canvas(
            made.card("c1", f"{TEXT} [[Boiler]] #work"), made.card("c2", "other", y=90)
        ),
        "manual.pdf": made.pdf("First page.", TEXT),
        "Pit.excalidraw.md": made.DRAWING.replace("Sump pit", TEXT),
        "log.org": f"* Entry :work:\n{TEXT}\n",
        "notes.txt": TEXT,
        "page.html": f"<h1>Page</h1><p>{TEXT}</p>",
        "Shelf.base": "views:\n  - name: To read\n    filters: file.hasTag('float switch')\n",
        "locked.pdf": made.pdf("secret", password="x"),
        "photo.png": made.picture("float"),
    }


@pytest.mark.shared_daemon
def test_every_kind_is_found_filtered_read_and_linked(daemon, vault, files):
    root = daemon.indexed(vault(files))
    here = ["--vault", str(root)]
    results = daemon.json("search", '"float switch"', "--mode", "keyword", *here)["results"]
    found = {result["path"]: (result["kind"], result["place"]) for result in results}
    assert found == {
        "Boiler.md": ("note", None),
        "Plan.canvas": ("canvas", "c1"),
        "manual.pdf": ("pdf", "page=2"),
        "Pit.excalidraw.md": ("excalidraw", "^a1b2"),
        "log.org": ("org", None),
        "notes.txt": ("text", None),
        "page.html": ("html", None),
        "Shelf.base": ("base", "To read"),
    }
    assert daemon.paths("kind:canvas", *here) == ["Plan.canvas"]
    assert sorted(daemon.paths("kind:pdfs", *here)) == ["locked.pdf", "manual.pdf"]
    assert sorted(daemon.paths("ext:pdf OR ext:org", *here)) == ["locked.pdf", "log.org", "manual.pdf"]
    assert sorted(daemon.paths("-kind:note tag:work", *here)) == ["Plan.canvas", "log.org"]
    notes = daemon.json("search", "float kind:song", *here)["interpreted"]["notes"]
    assert "one of note, canvas" in notes[0]

    assert TEXT in daemon.run("read", "manual.pdf", *here).stdout
    parts = (
        "manual.pdf#page=2",
        "Plan.canvas#c1",
        "Pit.excalidraw#^a1b2",
        "log.org#Entry",
        "Shelf.base#To read",
    )
    shown = {part: daemon.run("read", part, *here).stdout for part in parts}
    assert [TEXT in text or "float switch" in text for text in shown.values()] == [True] * len(parts)
    assert "First page" not in shown["manual.pdf#page=2"]
    assert "has no heading" in daemon.run("read", "manual.pdf#page=9", *here).stderr
    assert daemon.run("read", "Plan", *here).stdout.startswith("# Plan")  # a note before the canvas
    assert daemon.run("read", "Plan.canvas", *here).stdout.startswith(TEXT)
    assert "N4KAk" not in daemon.run("read", "Pit.excalidraw", *here).stdout
    links = daemon.json("links", "Boiler", *here)
    assert [link["resolved"] for link in links["outgoing"]] == ["manual.pdf", "Plan.canvas"]
    assert [link["path"] for link in links["backlinks"]] == ["Pit.excalidraw.md", "Plan.canvas"]
    screen = daemon.run("search", '"float switch" kind:pdf', "--mode", "keyword", *here).stdout
    assert "manual.pdf#page=2" in screen
    status = daemon.json("status", *here)
    assert [each["path"] for each in status["vaults"][0]["problems"]] == ["locked.pdf"]
    inspected = daemon.json("inspect", str(root / "manual.pdf"))
    assert [chunk["place"] for chunk in inspected["chunks"]] == ["page=1", "page=2"]

    (root / "notes.txt").write_text("entirely different words")
    (root / "manual.pdf").unlink()
    (root / "new.canvas").write_text(made.canvas(made.card("x", "brand new")))
    daemon.run("index", "--wait", *here)
    assert sorted(daemon.paths('"float switch" (kind:pdf OR kind:text)', *here)) == []
    assert daemon.paths('"brand new"', *here) == ["new.canvas"]


def test_kinds_are_switched_by_the_settings(daemon, vault, files):
    root = vault(files)
    here = ["--vault", str(root)]
    config = Path(daemon.environment["XDG_CONFIG_HOME"]) / "vaultseek" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[index]\nkinds = ["canvas"]\n')
    daemon.run("index", "--wait", *here)
    assert sorted(daemon.paths('"float switch"', *here)) == ["Boiler.md", "Plan.canvas"]
    links = daemon.json("links", "Boiler", *here)
    assert links["outgoing"][0]["resolved"] == "manual.pdf"
    config.write_text('[index]\nkinds = ["pdf"]\n')

    def switched() -> bool:
        daemon.run("index", "--wait", *here)
        return sorted(daemon.paths('"float switch"', *here)) == ["Boiler.md", "manual.pdf"]

    eventually(switched)


def test_a_note_does_not_wait_for_a_file_that_takes_long_to_read(daemon, vault):
    daemon.environment["VAULTSEEK_FAILPOINTS"] = "extract slow.pdf=spin"
    root = vault({"A.md": "first", "slow.pdf": made.pdf("page"), "a.txt": "also waits"})
    here = ["--vault", str(root)]
    daemon.run("index", *here)
    eventually(lambda: daemon.paths('"first"', *here) == ["A.md"], seconds=90)
    for word in ("second", "third"):
        (root / f"{word}.md").write_text(word)
        eventually(lambda word=word: daemon.paths(f'"{word}"', *here) == [f"{word}.md"], seconds=90)
    eventually(lambda: "semantic up" in daemon.run("status", *here).stdout, seconds=90)
    assert daemon.paths("ext:pdf", *here) == []
