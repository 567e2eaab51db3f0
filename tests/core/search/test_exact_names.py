"""A note with exactly the queried name comes first, before notes with a heading of that name."""

import pytest

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


def test_a_name_of_the_same_words_comes_first_whatever_their_form(vault, tmp_path):
    notes = {
        "Task State.md": "Open, done, dropped.\n",
        "quick-note.md": "---\ntitle: Scratch\n---\nA page for the day.\n",
        "Über uns.md": "Wer wir sind.\n",
        "Organ.md": "Pipes and stops.\n",
        "Charts.md": "The organization of the club, and how an organization grows.\n",
        "Log.md": "Each task, its state: tasks, states, tasks by state. A quick note. Uns, uber uns.\n",
    }
    queries = (
        "task states",
        "states of tasks",
        "what is a task state",
        "quick notes",
        "uber uns",
        "organization",
    )
    with measured_here(vault(notes), tmp_path) as ask:
        first = [ask(query, SearchSettings())["results"][0]["path"] for query in queries]
    assert first == ["Task State.md"] * 3 + ["quick-note.md", "Über uns.md", "Charts.md"]


DAYS = {f"Day {day}.md": f"Weather, work and trip of day {day}.\n" for day in range(20)}
"""Further notes, so that the words of the other notes are rare."""


@pytest.mark.parametrize(
    ("query", "first", "notes"),
    [
        (
            "how does the bilge pump work",
            "Bilge Pump.md",
            {
                "Bilge Pump.md": "Runs dry in spring.\n",
                "Log.md": "The bilge smells. Where is the pump? A bilge pump has a float.\n",
            },
        ),
    ],
)
def test_a_name_in_the_query_raises_its_note(vault, tmp_path, query, first, notes):
    with measured_here(vault(DAYS | notes), tmp_path) as ask:
        assert ask(query, SearchSettings())["results"][0]["path"] == first


def test_a_name_of_more_words_comes_before_one_of_fewer_words_of_the_query(vault, tmp_path):
    notes = DAYS | {
        "Trips.md": "All of them: each trip, and no trip twice.\n",
        "2023 Japan Trip.md": "Kyoto, then home.\n",
        "people/Mira Okonkwo.md": "Boats.\n",
        "Falcon.md": "Okonkwo knows. Ask Okonkwo, as Okonkwo has the key. See people/Mira Okonkwo.md.\n",
        "Kyoto.md": "A town.\n",
        "Temples.md": "Kyoto, Kyoto, Kyoto.\n",
    }
    expected = {
        "trip 2023": "2023 Japan Trip.md",
        "Okonkwo": "people/Mira Okonkwo.md",
        "people/Mira Okonkwo.md": "people/Mira Okonkwo.md",
    }
    with measured_here(vault(notes), tmp_path) as ask:
        first = {query: ask(query, SearchSettings())["results"][0]["path"] for query in expected}
        misspelt = ask("kyotto", SearchSettings(semantic_weight=0.0))["results"][0]["path"]
    assert first == expected
    assert misspelt == "Kyoto.md"


def test_beginnings_of_words_alone_are_searched_by_word(vault, tmp_path):
    notes = {"Dough.md": "Make pizza.\n", "Stone.md": "Gneiss and granite.\n"}
    with measured_here(vault(notes), tmp_path) as ask:
        answer = ask("pi*", SearchSettings())
    assert answer["search_method"] == "keyword"
    assert [result["path"] for result in answer["results"]] == ["Dough.md"]
