"""A note named by another word with the same stem stays below notes with the word itself."""

import pytest

from semantic_here import measured_here
from vaultseek.content.languages.word_forms import is_form
from vaultseek.settings.search import SearchSettings

DAYS = {f"Day {day}.md": f"Weather, work and trip of day {day}.\n" for day in range(20)}
PAIRS = [("moral", "Morale"), ("past", "Paste"), ("university", "Universe"), ("experiment", "Experience")]


def test_the_note_with_the_word_comes_before_one_named_by_another_word(vault, tmp_path):
    notes = dict(DAYS)
    for word, name in PAIRS:
        notes[f"{name}.md"] = f"All about {name.lower()}: {name.lower()} here, {name.lower()} there.\n"
        notes[f"Letter on {name[:1]}.md"] = f"It rained. We talked, and the {word} was one of many things.\n"
    with measured_here(vault(notes), tmp_path) as ask:
        for word, name in PAIRS:
            results = ask(word, SearchSettings())["results"]
            assert results[0]["path"] == f"Letter on {name[:1]}.md", word
            other = next(each for each in results if each["path"] == f"{name}.md")
            assert other["certainty"] <= 0.5, word


def test_the_only_note_with_a_word_like_it_is_not_certain(vault, tmp_path):
    with measured_here(vault(DAYS | {"Morale.md": "Spirits are high.\n"}), tmp_path) as ask:
        first = ask("moral", SearchSettings())["results"][0]
        itself = ask("morale", SearchSettings())["results"][0]
    assert (first["path"], itself["path"]) == ("Morale.md", "Morale.md")
    assert first["certainty"] <= 0.5 < 0.9 < itself["certainty"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("task", "tasks"), ("box", "boxes"), ("query", "queries"), ("note", "noted"), ("plan", "planned"),
        ("run", "running"), ("bake", "baking"), ("try", "tried"), ("link", "linking"), ("box", "box"),
    ],
)  # fmt: skip
def test_endings_make_forms_of_a_word(one, other):
    assert is_form(one, other, "en")
    assert is_form(other, one, "en")


@pytest.mark.parametrize(
    ("one", "other"),
    [*((word, name.lower()) for word, name in PAIRS), ("organ", "organization"), ("gener", "general")],
)
def test_another_word_with_the_same_stem_is_not_a_form(one, other):
    assert not is_form(one, other, "en")


def test_in_other_languages_the_last_letters_may_differ():
    assert is_form("aufgabe", "aufgaben", "de")
    assert is_form("книга", "книги", "ru")
    assert not is_form("organ", "organisation", "de")


SPELLINGS = ["rain barrel", "rain-barrel", "rainbarrel"]


@pytest.mark.parametrize("written", SPELLINGS)
def test_a_word_is_found_in_its_open_hyphened_and_closed_spelling(vault, tmp_path, written):
    notes = DAYS | {"Leak.md": f"The {written} leaks.\n", "Wet.md": "It was wet; no rain.\n"}
    with measured_here(vault(notes), tmp_path) as ask:
        for asked in SPELLINGS:
            first = ask(asked, SearchSettings())["results"][0]
            assert (first["path"], first["certainty"] > 0.9) == ("Leak.md", True), asked


def test_two_words_that_stand_apart_are_no_spelling_of_one(vault, tmp_path):
    notes = DAYS | {"Apart.md": "No rain. A herring barrel was found.\n"}
    with measured_here(vault(notes), tmp_path) as ask:
        answer = ask("rainbarrel", SearchSettings())
    assert answer["weak"] or not answer["results"]


TEXTS = [
    ("polite", "political"), ("secure", "security"), ("author", "authority"), ("insure", "insurance"),
    ("organ", "organize"), ("experiment", "experience"), ("process", "procession"), ("depart", "department"),
]  # fmt: skip
DERIVED = ("insurance", "procession", "department")


NAMES = [("music", "Musical"), ("product", "Production"), ("relate", "Relation"), ("nation", "National")]


@pytest.mark.parametrize(
    ("pairs", "path", "text"),
    [
        (TEXTS, "Two {number}.md", "We met; the {other} thing, and once more the {other} thing, was over."),
        (NAMES, "{other}.md", "# {other}\n{other} about cats."),
    ],
)
def test_another_word_of_the_stem_stays_below_the_word_and_is_not_certain(vault, tmp_path, pairs, path, text):
    notes = dict(DAYS)
    for number, (word, other) in enumerate(pairs):
        notes[f"One {number}.md"] = f"We met on the hill and spoke of the {word} thing until it was over.\n"
        notes[path.format(number=number, other=other)] = f"{text.format(other=other)}\n"
    with measured_here(vault(notes), tmp_path) as ask:
        for number, (word, other) in enumerate(pairs):
            first, *rest = ask(word, SearchSettings(), mode="keyword")["results"]
            assert (first["path"], first["certainty"] > 0.5) == (f"One {number}.md", True), word
            found = {each["path"]: each["certainty"] for each in rest}
            assert found.get(path.format(number=number, other=other), 0.0) <= 0.5, word


def test_the_only_text_with_another_word_of_the_stem_is_not_certain(vault, tmp_path):
    pairs = [pair for pair in TEXTS if pair[1] not in DERIVED]
    notes = {f"N{number}.md": f"It was {other}, they said.\n" for number, (_, other) in enumerate(pairs)}
    with measured_here(vault(DAYS | notes), tmp_path) as ask:
        for word, _ in pairs:
            assert ask(word, SearchSettings(), mode="keyword")["results"][0]["certainty"] <= 0.5, word


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("install", "The installation took an hour"), ("polite", "He nodded politely"),
        ("resume", "Her résumé was short"), ("configure", "Configuration of the router"),
        ("polite", "Their polite_tone helped"), ("rain barrel", "The rainbarrel leaks"),
        ("polite", "---\ntone: polite\n---\nA letter"), ("polite", "---\ntags: [polite]\n---\nA letter"),
    ],
)  # fmt: skip
def test_a_derived_word_counts_as_the_word(vault, tmp_path, asked, written):
    others = {"A.md": "Political matters.\n", "B.md": "Resumption and configurators.\n"}
    with measured_here(vault(DAYS | others | {"Right.md": f"{written}.\n"}), tmp_path) as ask:
        answer = ask(asked, SearchSettings(), mode="keyword")
    certain = {each["path"]: each["certainty"] for each in answer["results"]}
    assert certain["Right.md"] > 0.5


def test_a_note_with_only_a_longer_word_is_not_certain(vault, tmp_path):
    notes = DAYS | {"Longer.md": "The taxi came and went.\n"}
    with measured_here(vault(notes), tmp_path) as ask:
        (result,) = ask("tax", SearchSettings(), mode="keyword")["results"]
    assert (result["path"], result["certainty"] <= 0.5) == ("Longer.md", True)


@pytest.mark.parametrize(
    ("asked", "written", "most"),
    [("horse", "house", 0.5), ("the moose", "the mouse", 0.5), ("vest", "rest", 0.0)],
)
def test_a_note_with_only_a_similar_word_is_not_certain(vault, tmp_path, asked, written, most):
    with measured_here(vault(DAYS | {"Other.md": f"The {written} was old.\n"}), tmp_path) as ask:
        results = ask(asked, SearchSettings(), mode="keyword")["results"]
    assert max((each["certainty"] for each in results), default=0.0) <= most


@pytest.mark.parametrize("query", ["plum jam without sugar", "plum jam not sugar"])
def test_nothing_is_certain_if_a_word_seems_to_exclude_another_one(vault, tmp_path, query):
    with measured_here(vault(DAYS | {"Jam.md": "Plum jam with sugar.\n"}), tmp_path) as ask:
        asked, plain = (
            ask(each, SearchSettings(), mode="keyword")["results"][0] for each in (query, "plum jam sugar")
        )
    assert (asked["path"], plain["path"]) == ("Jam.md", "Jam.md")
    assert asked["certainty"] <= 0.5 < plain["certainty"]


def test_not_even_a_note_of_that_name_is_certain_if_a_word_seems_to_exclude_another_one(vault, tmp_path):
    with measured_here(vault(DAYS | {"Tag Page.md": "A page for every tag.\n"}), tmp_path) as ask:
        first = ask("pages with no tags", SearchSettings(), mode="keyword")["results"][0]
    assert (first["path"], first["certainty"] <= 0.5) == ("Tag Page.md", True)


def test_no_stop_word_replaces_a_missing_word(vault, tmp_path):
    notes = DAYS | {"Longer.md": "The sandy path.\n", "Other.md": "This and that and more.\n"}
    with measured_here(vault(notes), tmp_path) as ask:
        results = ask("sand", SearchSettings(), mode="keyword")["results"]
    assert [each["path"] for each in results] == ["Longer.md"]


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("дом", "Мы шли между домами и говорили о погоде"),
        ("trabajar", "Nosotros trabajábamos en el jardín de la casa con el perro"),
    ],
)
def test_long_endings_of_other_languages_make_no_other_word(vault, tmp_path, asked, written):
    notes = DAYS | {"Own.md": f"{written}.\n"}
    with measured_here(vault(notes), tmp_path) as ask:
        (result,) = ask(asked, SearchSettings(), mode="keyword")["results"]
    assert result["certainty"] > 0.5
