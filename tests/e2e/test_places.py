"""Results lead to the matching line."""

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
        ("SQLSTATE 57014", "Errors.md", 7, 43),
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
    assert done.stdout.startswith("Errors.md:7:43:")
    assert done.stdout.count("\n") == 1


@pytest.mark.shared_daemon
def test_a_known_name_comes_before_a_folder_of_that_name(daemon, vault, tmp_path):
    root = vault({"Pump.md": "The float switch."})
    daemon.run("vault", "add", str(root), "--name", "notes")
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "notes").mkdir(parents=True)
    (elsewhere / "notes" / "Other.md").write_text("The float of a carnival.")
    found = daemon.run("search", "float", "--vault", "notes", "--wait", "--paths", cwd=elsewhere).stdout
    assert found == f"{root}/Pump.md\n"
    found = daemon.run("search", "float", "--vault", "./notes", "--wait", "--paths", cwd=elsewhere).stdout
    assert found == f"{elsewhere}/notes/Other.md\n"


@pytest.mark.shared_daemon
def test_editors_get_the_line_that_matches_also_inside_a_comment(daemon, vault):
    root = daemon.indexed(
        vault({"Pump.md": "# Pump\n\nA first line.\n\nThe float switch.\n\n%% walrus %%\n"})
    )
    line = daemon.run("search", "float", "--format", "vimgrep", "--vault", str(root)).stdout
    assert line == f"{root}/Pump.md:5:5:The float switch.\n"
    line = daemon.run("search", "/walrus/", "--format", "vimgrep", "--vault", str(root)).stdout
    assert line.startswith(f"{root}/Pump.md:7:")
    assert line.endswith(":%% walrus %%\n")
