"""Completion while typing: the order, tolerated mistakes, and changes of the vault."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.text import fold
from vaultseek.core.notes.complete import VaultCompleter
from vaultseek.core.notes.completer import Completer, Entry
from vaultseek.core.notes.vocabulary import Vocabulary


def texts(found: list[dict[str, Any]]) -> list[str]:
    return [item["text"] for item in found]


def of(*names: str, typed: str, limit: int = 10) -> list[str]:
    return [match.entry.text for match in Completer(map(Entry, names)).complete(typed, limit)]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("ga", ["Gate", "Garden", "The Gate", "Begat"]),
        ("GAR", ["Garden"]),
        ("gdn", ["Garden"]),
        ("gqarden", ["Garden"]),
        ("gaden", ["Garden"]),
        ("the g", ["The Gate"]),
        ("öf", ["Öffnung"]),
        ("zzz", []),
        ("", ["Gate", "Begat", "Garden", "Öffnung", "The Gate"]),
    ],
)
def test_beginnings_come_before_words_before_parts_before_letters_in_order(typed, expected):
    assert of("Garden", "Gate", "Begat", "The Gate", "Öffnung", typed=typed) == expected


def test_in_a_long_text_no_letter_may_be_wrong():
    name = "the garden behind the house"
    assert of(name, typed=name.replace("behind", "behinnd")) == [name]
    assert of(name * 3, typed=(name * 3).replace("behind", "behinnd", 1)) == []


def test_heavier_entries_come_first_among_equals():
    found = Completer([Entry("work", 1), Entry("workshop", 9)]).complete("wo", 2)
    assert [match.entry.text for match in found] == ["workshop", "work"]
    assert Completer(()).complete("x", 5) == []


@given(st.lists(st.text(max_size=6), max_size=8), st.text(max_size=4), st.integers(0, 5))
def test_nothing_that_begins_with_what_was_typed_is_missing_while_there_is_room(names, typed, limit):
    found = of(*names, typed=typed, limit=limit)
    beginning = [name for name in names if fold(name).startswith(fold(typed))]
    assert len(found) <= limit
    assert set(found) <= set(names)
    if len(beginning) <= limit:
        assert sorted(beginning) == sorted(found[: len(beginning)])
    else:
        assert all(fold(name).startswith(fold(typed)) for name in found)


NAMES = st.text("abc -_é\u4e2d", max_size=6)


def grade_of(name: str, typed: str) -> int | None:
    """Return the grade by definition: 0 prefix, 1 prefix of a word, 2 substring, 3 letters in order."""
    folded, part = fold(name), fold(typed)
    places = [at for at in range(len(folded) + 1) if folded.startswith(part, at)]
    if 0 in places:
        return 0
    if any(not folded[at - 1].isalnum() for at in places):
        return 1
    return 2 if places else 3 if in_order(folded, part.replace(" ", "")) else None


def in_order(folded: str, letters: str) -> bool:
    at = first = folded.find(letters[:1])
    for letter in letters[1:]:
        at = folded.find(letter, at + 1) if at >= 0 else -1
    return at >= 0 and at - first < 2 * len(letters) + 2


@given(st.lists(NAMES, max_size=12), NAMES, st.integers(1, 12), st.data())
def test_the_best_come_first_by_grade_then_weight_then_length_then_alphabet(names, typed, limit, data):
    entries = [Entry(name, data.draw(st.integers(0, 2)), note=number) for number, name in enumerate(names)]
    graded = [(grade_of(entry.text, typed), entry) for entry in entries]
    expected = sorted(
        (
            (grade, -entry.weight, len(fold(entry.text)), fold(entry.text))
            for grade, entry in graded
            if grade is not None
        ),
    )[:limit]
    parts = data.draw(st.integers(0, len(entries)))
    for completer in (Completer(entries), Completer(entries[:parts]).merged(entries[parts:], without=())):
        matches = completer.complete(typed, limit)
        exact = [match for match in matches if grade_of(match.entry.text, typed) is not None]
        assert [
            (match.grade, -match.entry.weight, len(fold(match.entry.text)), fold(match.entry.text))
            for match in exact
        ] == expected
        assert len(exact) == len(matches) or not expected or max(grade for grade, *_ in expected) < 3


@given(st.lists(NAMES, max_size=8), st.sets(st.integers(0, 7)), NAMES)
def test_entries_of_notes_that_are_left_out_are_not_completed(names, gone, typed):
    entries = [Entry(name, note=number) for number, name in enumerate(names)]
    left = Completer([entry for entry in entries if entry.note not in gone]).complete(typed, 20)
    assert Completer(entries).complete(typed, 20, without=gone) == left
    assert Completer(entries).merged((), without=gone).complete(typed, 20) == left


def test_titles_aliases_and_file_names_with_their_notes(world):
    here = world({"pump.md": "---\naliases: [Bilge]\n---\n# Float Switch\n", "sub/Pumice.md": ""})
    completer = VaultCompleter(here.ledger)
    assert completer.complete("note", "pum", 10) == [
        {"text": "pump", "match": "prefix", "path": "pump.md", "title": "Float Switch", "is": "name"},
        {"text": "Pumice", "match": "prefix", "path": "sub/Pumice.md", "title": "Pumice", "is": "name"},
    ]
    assert [item["is"] for item in completer.complete("note", "switch", 10)] == ["title"]
    assert [item["path"] for item in completer.complete("note", "bil", 10)] == ["pump.md"]
    assert len(completer.complete("note", "p", 1)) == 1


@pytest.mark.parametrize("recent", [0, 500])
def test_notes_with_a_name_that_begins_so_keep_their_order_while_one_types(world, monkeypatch, recent):
    monkeypatch.setattr("vaultseek.core.notes.vocabulary.RECENT_NOTES", recent)
    here = world({"alpine hut.md": "", "alp.md": "", "beta.md": "---\naliases: [Alpine]\n---", "pal.md": ""})
    completer = VaultCompleter(here.ledger)
    rows = {row.id: row.path for row in here.ledger.notes.by_id(here.ledger.notes.ids()).values()}
    begun = [
        [rows[note] for note in completer.beginning(typed, 10)] for typed in ("Al", "alp", "alpi", "alpine h")
    ]
    assert begun == [["alp.md", "beta.md", "alpine hut.md"]] * 2 + [
        ["beta.md", "alpine hut.md"],
        ["alpine hut.md"],
    ]
    assert completer.beginning(" ", 10) == []
    here.write({"ali.md": "", "alp.md": None})
    assert len(completer.beginning("al", 10)) == 3


@pytest.mark.parametrize("recent", [0, 500])
def test_completion_follows_the_vault(world, monkeypatch, recent):
    monkeypatch.setattr("vaultseek.core.notes.vocabulary.RECENT_NOTES", recent)
    here = world({"alpha.md": "", "beta.md": "---\naliases: [Alp]\n---"})
    completer = VaultCompleter(here.ledger)
    assert texts(completer.complete("note", "al", 10)) == ["Alp", "alpha"]
    here.write({"beta.md": "# Alpine", "alpha.md": None, "almond.md": ""})
    assert texts(completer.complete("note", "al", 10)) == ["almond", "Alpine"]
    (here.root / "almond.md").rename(here.root / "walnut.md")
    here.index()
    assert texts(completer.complete("note", "al", 10)) == ["Alpine", "walnut"]
    assert completer.crowded == (recent == 0)
    completer.prepare()
    assert not completer.crowded
    assert texts(completer.complete("note", "al", 10)) == ["Alpine", "walnut"]


def test_completion_follows_the_vault_after_removals_were_pruned(world, monkeypatch):
    monkeypatch.setattr("vaultseek.store.ledger.notes.REMOVED_NOTES", 0)
    here = world({"alpha.md": "", "almond.md": ""})
    completer = VaultCompleter(here.ledger)
    assert texts(completer.complete("note", "al", 10)) == ["alpha", "almond"]
    here.write({"alpha.md": None})
    assert here.ledger.select("SELECT * FROM removed") == []
    assert texts(completer.complete("note", "al", 10)) == ["almond"]


def test_tags_properties_values_and_headings(world):
    here = world(
        {
            "a.md": "---\nstatus: open\nstage: [one, Two]\ntags: [work/pumps]\n---\n# One\n## Two\n",
            "b.md": "---\nstatus: done\n---\n#work #Water\n",
            "c.md": "---\nStatus: done\n---\n",
        },
    )
    completer = VaultCompleter(here.ledger)
    assert completer.complete("tag", "#w", 10) == [
        {"text": "work", "match": "prefix", "count": 2},
        {"text": "Water", "match": "prefix", "count": 1},
        {"text": "work/pumps", "match": "prefix", "count": 1},
    ]
    assert texts(completer.complete("property", "sta", 10)) == ["status", "stage"]
    assert completer.complete("value", "", 10, name="STATUS") == [
        {"text": "done", "match": "prefix", "count": 2},
        {"text": "open", "match": "prefix", "count": 1},
    ]
    assert texts(completer.complete("value", "t", 10, name="stage")) == ["Two"]
    note = here.ledger.notes.by_path("a.md")
    assert note is not None
    assert completer.complete("heading", "tw", 10, note=note.id) == [
        {"text": "Two", "match": "prefix", "level": 2, "line": 7}
    ]
    here.write({"d.md": "#wind"})
    assert "wind" in texts(completer.complete("tag", "w", 10))


FRONTMATTER = st.dictionaries(
    st.sampled_from(["status", "Status", "stage"]),
    st.one_of(st.sampled_from(["open", "Open", 3, True, None]), st.lists(st.sampled_from(["a", "b", 1]))),
    max_size=3,
)
TAGS = st.lists(st.sampled_from(["work", "Work", "work/pumps", "home"]), max_size=3)


@given(st.lists(st.tuples(st.integers(1, 4), TAGS, FRONTMATTER), max_size=12), st.sets(st.integers(1, 4)))
def test_the_vocabulary_is_the_same_as_one_counted_anew(puts, removed):
    vocabulary = Vocabulary()
    notes: dict[int, tuple[str, str]] = {}
    for note, own_tags, own_properties in puts:
        notes[note] = json.dumps(own_tags), json.dumps(own_properties)
        vocabulary.put(note, *notes[note])
    for note in removed:
        notes.pop(note, None)
        vocabulary.put(note, "[]", "{}")
    anew = Vocabulary()
    for number, own in notes.items():
        anew.put(number, *own)
    assert vocabulary.tags() == anew.tags()
    for counted, again in zip(vocabulary.properties(), anew.properties(), strict=True):
        assert counted == again
    for name in ("STATUS", "stage", "none"):
        assert vocabulary.values(name) == anew.values(name)
