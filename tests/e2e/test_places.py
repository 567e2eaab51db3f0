"""Results lead to the line that matches."""

from __future__ import annotations

import pytest

ERRORS = """# Database

Some words about databases in general.

- 23505: a key exists twice
- 40P01: two transactions wait for each other
- **57014**: the statement was cancelled, SQLSTATE 57014
- 53300: too many connections
"""


@pytest.fixture(scope="module")
def notes(indexed_vault):
    return indexed_vault({"Errors.md": ERRORS, "Größe.md": "Etwas.\n\nDie Größe der Pumpe, 北京 dort.\n"})


@pytest.mark.parametrize(
    ("query", "path", "line", "column"),
    [
        ("SQLSTATE 57014", "Errors.md", 7, 5),
        ("53300", "Errors.md", 8, 3),
        ("transactions wait", "Errors.md", 6, 14),
        ("pumpe größe", "Größe.md", 3, 5),
        ("北京", "Größe.md", 3, 22),
    ],
)
def test_a_result_names_the_line_that_matches(notes, query, path, line, column):
    best = notes.json("search", query, "--mode", "keyword")["results"][0]
    assert (best["path"], best["line"], best["column"]) == (path, line, column)
    assert best["start_line"] <= best["line"] <= best["end_line"]
    assert f"{path}:{line} " in notes.run("search", query, "--mode", "keyword").stdout


def test_places_are_printed_for_editors(notes):
    done = notes.run("search", "SQLSTATE 57014", "-n", "1", "--format", "vimgrep", cwd=notes.root)
    assert done.stdout.startswith("Errors.md:7:5:")
    assert done.stdout.count("\n") == 1


def test_the_editor_opens_at_the_line(notes, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "$@"\n')
    editor.chmod(0o700)
    environment = {"VISUAL": str(editor)}
    done = notes.run("search", "53300", "--open", "--paths", env=environment)
    assert f"+8 {notes.root / 'Errors.md'}" in done.stdout
