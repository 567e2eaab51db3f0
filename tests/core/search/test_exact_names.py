"""A note of that very name comes first, the file of that name before what only bears it as a heading."""

from semantic_here import measured_here
from vaultseek.settings.search import SearchSettings


def test_the_file_of_that_name_comes_before_headings_of_that_name(vault, tmp_path):
    notes = {
        "Categories/Movies.md": "## Favorites\n\nnothing yet\n",
        "Templates/Actor.md": "## Movies\n\nmovies movies movies\n",
        "Templates/Director.md": "# Movies\n\nmovies with movies\n",
    }
    with measured_here(vault(notes), tmp_path) as ask:
        found = [result["path"] for result in ask("movies", SearchSettings())["results"]]
    assert found[0] == "Categories/Movies.md"


def test_a_title_that_is_the_query_comes_first_where_no_file_is_called_so(vault, tmp_path):
    notes = {"a.md": "# Boat\n\nhull\n", "b.md": "# Sea\n\nboat boat boat\n"}
    with measured_here(vault(notes), tmp_path) as ask:
        assert ask("boat", SearchSettings())["results"][0]["path"] == "a.md"


def test_a_note_is_shown_with_its_file_name_where_its_title_is_another(vault, tmp_path):
    notes = {
        "Pump care.md": "---\ntitle: What to do in spring\n---\nclean it\n",
        "hull-paint.md": "# Hull paint\n\nred\n",
        "log.md": "Paint the hull.\n",
        "pages/pumps___sump.md": "# The sump\n\nwater\n",
    }
    with measured_here(vault(notes), tmp_path) as ask:
        first = {
            query: ask(query, SearchSettings())["results"][0] for query in ("pump care", "hull paint", "log")
        }
        first["pumps/sump"] = ask("pumps/sump", SearchSettings())["results"][0]
    assert {query: (result["title"], result["file_name"]) for query, result in first.items()} == {
        "pump care": ("What to do in spring", "Pump care"),
        "hull paint": ("Hull paint", None),
        "log": ("log", None),
        "pumps/sump": ("The sump", "pumps/sump"),
    }
