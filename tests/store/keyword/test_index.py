import contextlib
import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from keyword_answers import hits_of
from keyword_dump import dump
from vaultseek.errors import IndexDamaged
from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.answer import PASSAGES
from vaultseek.store.keyword.index import KeywordChunk, KeywordDocument, KeywordIndex
from vaultseek.store.keyword.merge import MERGE_FACTOR

Make = Callable[..., KeywordIndex]


@pytest.fixture
def vault(tmp_path: Path) -> Make:
    """``vault("first note", "second note")`` is an index of notes 0, 1, ... with these texts."""

    def make(*bodies: str, language: str | None = "en") -> KeywordIndex:
        index = KeywordIndex.create(tmp_path / "index", LanguageRules(language, for_all=True))
        index.apply([note(number, body) for number, body in enumerate(bodies)], (), "first")
        return index

    return make


def note(number: int, *passages: str, code: str = "", title: str = "", **fields: object) -> KeywordDocument:
    chunks = [KeywordChunk(f"{number}.{n}", prose) for n, prose in enumerate(passages)]
    if code:
        chunks.append(KeywordChunk(f"{number}.code", "", code))
    return KeywordDocument(number, str(fields.pop("path", "")), title, chunks=tuple(chunks), **fields)  # type: ignore[arg-type]


def matches(index: KeywordIndex, text: str, k: int = 10, allowed: set[int] | None = None) -> list[int]:
    mask = None if allowed is None else np.array(sorted(allowed), np.int64)
    return [hit.note for hit in hits_of(index.search(text, k, mask))]


def test_a_file_name_that_is_not_the_title_weighs_like_one(tmp_path: Path) -> None:
    index = KeywordIndex.create(tmp_path / "index")
    index.apply(
        [
            note(1, title="Ferry pier", path="x/Kettle.md"),
            note(2, title="Kettle", path="x/Ferry pier.md"),
            note(3, title="Ferry", headings=("kettle",), path="x/y.md"),
        ],
        (),
        "1",
    )
    scores = {hit.note: hit.score for hit in hits_of(index.search("kettle", 3))}
    assert scores[1] >= scores[2] > scores[3]


def test_every_field_is_searched(tmp_path: Path) -> None:
    index = KeywordIndex.create(tmp_path / "index")
    index.apply(
        [
            note(1, title="kettle"),
            note(2, aliases=("kettle",)),
            note(3, headings=("about the kettle",)),
            note(4, tags=("kitchen/kettle",)),
            note(5, path="kitchen/kettle.md"),
            note(6, "the kettle boils"),
            note(7, code="kettle()"),
            note(8, "nothing here", path="other.md"),
        ],
        (),
        "1",
    )
    assert sorted(matches(index, "kettle")) == [1, 2, 3, 4, 5, 6, 7]
    assert matches(index, "md") == []


def test_a_word_in_the_title_counts_more_than_in_the_body(tmp_path: Path) -> None:
    index = KeywordIndex.create(tmp_path / "index")
    index.apply([note(1, "a kettle", title="tea"), note(2, "some tea", title="kettle")], (), "1")
    assert matches(index, "kettle") == [2, 1]


def test_applying_replaces_and_deletes(vault: Make) -> None:
    index = vault("red apple", "green apple", "blue sky")
    index.apply([note(1, "green pear")], [2], "second")
    assert matches(index, "apple") == [0]
    assert matches(index, "pear") == [1]
    assert matches(index, "sky") == []
    assert len(index) == 2
    assert index.revision == "second"


def test_applying_the_same_again_changes_nothing(vault: Make) -> None:
    index = vault("red apple")
    for _ in range(3):
        index.apply([note(1, "green pear")], [0], "second")
    assert dump(index) == vault_dump(index, [note(1, "green pear")])


def vault_dump(index: KeywordIndex, documents: list[KeywordDocument]) -> str:
    """The dump of a fresh index of these documents."""
    directory = index._commits.directory.with_name(
        f"fresh-{len(list(index._commits.directory.parent.iterdir()))}"
    )
    fresh = KeywordIndex.create(directory, LanguageRules(index.language, for_all=True))
    fresh.apply(documents, (), "fresh")
    return dump(fresh)


def test_a_note_twice_in_a_batch_is_refused(vault: Make) -> None:
    index = vault()
    with pytest.raises(ValueError, match="twice"):
        index.apply([note(1), note(1)], (), "x")
    assert index.revision == "first"


def test_filters_come_before_the_cut(vault: Make) -> None:
    index = vault(*["kettle kettle kettle"] * 20, "one kettle among many other words that make it longer")
    assert matches(index, "kettle", k=1, allowed={20}) == [20]
    assert matches(index, "kettle", allowed=set()) == []
    assert matches(index, "kettle", allowed={99}) == []


def test_a_filter_changes_no_score(vault: Make) -> None:
    index = vault("kettle", "kettle and tea", "tea")
    free = {hit.note: hit.score for hit in hits_of(index.search("kettle tea", 10))}
    for allowed in ([0], [1, 2], [2]):
        hits = hits_of(index.search("kettle tea", 10, np.array(allowed, np.int64)))
        assert {hit.note: hit.score for hit in hits} == {n: free[n] for n in allowed}


@pytest.mark.fault("H9")
def test_equal_scores_come_in_the_order_of_ids(vault: Make) -> None:
    index = vault(*["same words"] * 9)
    assert matches(index, "same", k=4) == [0, 1, 2, 3]


def test_identifiers_are_told_apart(vault: Make) -> None:
    index = vault("decision D40 was taken", "decision D41 was taken", "error E-4107", "error E-4108")
    assert matches(index, "D40") == [0]
    assert matches(index, "E-4107") == [2]
    for unknown, alike in (("D42", [0, 1]), ("E-4109", [2, 3])):
        term, *_ = index.search(unknown, 5).terms
        assert term.fuzzy
        assert matches(index, unknown) == alike


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("call user_id here", "user_id"),
        ("call user_id here", "user id"),
        ("getUserName()", "getusername"),
        ("getUserName()", "user name"),
        ("see numpy.linalg.norm", "linalg"),
        ("see numpy.linalg.norm", "numpy.linalg.norm"),
        ("issue #1234", "#1234"),
        ("issue #1234", "1234"),
        ("written in C++", "C++"),
        ("30 CFR 75.1725", "75.1725"),
        ("version 1.2.3", "1.2.3"),
        ("on 2026-03-15 at noon", "2026-03"),
        ("2026-03-15-meeting", "2026-03-15"),
        ("created: 2026-03-15T10:30", "2026-03-15"),
        ("week-of-2026-03-15", "2026-03"),
        ("daily.2026.03.15", "2026-03"),
        ("journal/2026/03/15", "2026-03-15"),
        ("2026-05-12-landlord", "12 May 2026"),
        ("on 2026-05-12 at noon", "what was in May 2026"),
        ("on 2026-05-12 at noon", "12.5.2026"),
        ("on 2026-05-12 at noon", "2026/5/12"),
        ("on 12.05.2026 at noon", "2026-05-12"),
        ("on 4.5.2026 at noon", "2026/05/04"),
        ("on 4.5.2026 at noon", "4 May 2026"),
        ("on 2026-05-12 at noon", "5/12/2026"),
        ("a long-term plan", "long term"),
        ("a long term plan", "long-term"),
        ("das Café", "cafe"),
        ("a cafe", "Café"),
        ("我爱北京天安门", "北京"),
        ("我爱北京天安门", "京"),
        ("東京タワーに行く", "タワー"),
        ("한국어로 검색", "한국어"),
        ("running databases", "database run"),
    ],
)
def test_whole_and_in_parts(vault: Make, text: str, query: str) -> None:
    index = vault(text, "something else entirely")
    assert matches(index, query)[:1] == [0]


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("The van comes 13.2.25 at eight.", ("2025-02-13", "13.2.2025", "13.02.25", "13 Feb 2025")),
        ("Opened 9.11.24.", ("2024-11-09", "9.11.2024", "the 9th of November 2024")),
        ("Paid 1.02.99, again 01.3.99", ("1999-02-01", "1999-03-01")),
    ],
)
def test_a_day_is_found_where_it_may_be_a_version(vault: Make, text: str, queries: tuple[str, ...]) -> None:
    index = vault("v13.2.25 and 9.11.24.1, 01.02.9 and 1.3.9.5", text)
    for query in queries:
        best, *others = hits_of(index.search(query, 10))
        assert best.note == 1
        assert all(other.coverage < best.coverage / 2 for other in others)


def test_a_version_is_not_the_day_with_these_numbers(vault: Make) -> None:
    index = vault("milk on 3.11.2024", "Python 3.11.24")
    best, *others = hits_of(index.search("3.11.24", 10))
    assert (best.note, best.coverage) == (1, 1.0)
    assert all(other.coverage < 0.5 for other in others)


def test_dates_are_matched_by_their_beginning_and_no_other_month_or_day_comes_before(vault: Make) -> None:
    index = vault("2026-03-15", "2026-03-01", "2026-04-15", "2025-03-15", "3 of 2026, 15 of 03", "2026-13-15")
    hits = {hit.note: hit for hit in hits_of(index.search("2026-03", 10))}
    assert sorted(matches(index, "2026-03")[:2]) == [0, 1]
    assert hits[0].coverage == hits[1].coverage == 1.0
    assert hits[2].coverage < 0.7
    assert matches(index, "2026-03-15")[0] == 0
    assert hits_of(index.search("2026-03-15", 10))[1].coverage < 0.7
    assert {term.word for term in index.search("2026-03-15", 1).terms} == {"2026-03-15", "2026", "03", "15"}


def test_the_identifier_itself_comes_before_its_parts(vault: Make) -> None:
    index = vault("user user id id user id", "the user_id", "nothing")
    assert matches(index, "user_id") == [1, 0]


@pytest.mark.fault("K15")
def test_notes_that_may_not_be_seen_count_in_no_score(vault: Make) -> None:
    texts = [f"a kettle {'boils water ' * (number % 3)}in kettles, {number}" for number in range(40)]
    visible = np.array([1, 3, 8], np.int64)
    queries = ("kettle water", "kett", "boils kettel", "wat*")
    alone = vault(*(texts[number] for number in visible))
    expected = [alone.search(query, 5, unfinished=True) for query in queries]
    index = vault(*texts)
    for query, answer in zip(queries, expected, strict=True):
        seen = index.search(query, 5, visible, visible=visible, unfinished=True)
        assert [hit.note for hit in hits_of(seen)] == [visible[hit.note] for hit in hits_of(answer)]
        assert [hit.score for hit in hits_of(seen)] == [hit.score for hit in hits_of(answer)]
        assert seen.terms == answer.terms


@pytest.mark.fault("K15")
def test_a_word_of_notes_that_may_not_be_seen_is_a_word_of_none(vault: Make) -> None:
    index = vault("boil the kettle", "a ketle, kettles and user_idx", "a kettle for a user and an id")
    visible = np.array([0, 2], np.int64)
    for query in ("ketle", "ketle boil", "user_idx", "kettles ketle"):
        seen = index.search(query, 5, visible, visible=visible)
        index_of_seen = vault("boil the kettle", "", "a kettle for a user and an id")
        alone = index_of_seen.search(query, 5, visible)
        assert [hit.note for hit in hits_of(seen)] == [hit.note for hit in hits_of(alone)]
        assert [(term.terms, term.fuzzy) for term in seen.terms] == [
            (term.terms, term.fuzzy) for term in alone.terms
        ]
        index = vault("boil the kettle", "a ketle, kettles and user_idx", "a kettle for a user and an id")
    assert [hit.note for hit in hits_of(index.search("ketle", 5, visible))] == []


def test_one_typo_and_the_beginning_stand_in_for_an_unknown_word(vault: Make) -> None:
    index = vault("a database here", "some data there", "unrelated text")
    for query in ("databse", "dtaabase", "databasee", "dotabase"):
        answer = index.search(query, 5)
        assert [hit.note for hit in hits_of(answer)] == [0]
        assert answer.terms[0].fuzzy
    assert matches(index, "databa") == [0]
    assert not index.search("data", 5).terms[0].fuzzy
    assert matches(index, "data") == [1]
    assert matches(index, "xy") == []


def test_a_near_word_is_weaker_than_the_word(vault: Make) -> None:
    index = vault("the kettle is new", "the settle is old")
    exact, near = hits_of(index.search("kettle", 5))[0].score, hits_of(index.search("kettlq", 5))[0].score
    assert 0 < near < exact
    assert hits_of(index.search("kettlq", 5))[0].coverage < hits_of(index.search("kettle", 5))[0].coverage


def test_numbers_and_identifiers_have_no_near_ones(vault: Make) -> None:
    index = vault("number 123456 and user_identity and sha256sum")
    assert matches(index, "123457") == []
    assert matches(index, "sha255sum") == []


def test_a_beginning_is_asked_for_by_a_star(vault: Make) -> None:
    index = vault("linking notes", "a link", "linkage", "a lunk")
    assert sorted(matches(index, "link*")) == [0, 1, 2]
    assert sorted(matches(index, "LINK*")) == [0, 1, 2]
    answer = index.search("linki*", 5)
    assert [hit.note for hit in hits_of(answer)][:1] in ([0], [1])
    assert answer.terms[0].kind == "prefix"


@pytest.mark.fault("H1")
@pytest.mark.parametrize(
    "text", ["", "   ", "* ? !", "*", "AND", '"', "(" * 900, "\0", "~9 [a TO z] _stored:*"]
)
def test_odd_queries_are_only_words(vault: Make, text: str) -> None:
    index = vault("plain text")
    assert matches(index, text) == []


def test_stop_words_count_less_unless_they_are_all_there_is(vault: Make) -> None:
    index = vault("the which", "kettle", "other", "words")
    weights = {term.word: term.weight for term in index.search("which kettle", 5).terms}
    assert weights["which"] < weights["kettle"] == 1
    assert [term.weight for term in index.search("the which", 5).terms] == [1, 1]
    assert matches(index, "the which") == [0]


def test_a_repeated_word_counts_more_but_not_as_often(vault: Make) -> None:
    index = vault("kettle tea")
    kettle, tea = index.search("kettle tea kettle kettle", 5).terms
    assert tea.weight < kettle.weight < 3 * tea.weight


def test_a_word_with_nothing_near_it_is_found_nowhere(vault: Make) -> None:
    (term,) = vault("some text").search("zzzzzz", 5).terms
    assert (term.fuzzy, term.df, term.terms) == (False, 0, ("zzzzzz",))


@pytest.mark.fault("H3")
def test_the_query_language_of_whoosh_is_not_even_loaded() -> None:
    code = "import sys, vaultseek.store.keyword.index; sys.exit('whoosh.qparser' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_best_passages_of_a_note(vault: Make) -> None:
    index = vault()
    index.apply(
        [note(1, "about tea", "the kettle, the kettle", "one kettle here and tea", "tea kettle", "and tea")],
        (),
        "1",
    )
    (hit,) = hits_of(index.search("kettle tea", 5))
    assert hit.chunks[0].id == "1.3"
    assert len(hit.chunks) == PASSAGES
    assert [c.score for c in hit.chunks] == sorted((c.score for c in hit.chunks), reverse=True)


def test_a_match_in_the_title_alone_has_no_passage(vault: Make) -> None:
    index = vault()
    index.apply([note(1, "some text", title="kettle")], (), "1")
    assert hits_of(index.search("kettle", 5))[0].chunks == ()


def test_matched_words_and_their_coverage(vault: Make) -> None:
    index = vault("kettle and tea", "tea", "milk", "sugar")
    both, one = hits_of(index.search("Kettle tea zzzz", 5))
    assert both.matched == ("kettle", "tea")
    assert one.matched == ("tea",)
    assert 1 > both.coverage > one.coverage > 0
    assert hits_of(index.search("tea kettle", 1))[0].coverage == pytest.approx(1)


def test_the_words_of_the_vault(vault: Make) -> None:
    index = vault("databases and a database", "database", "北京")
    assert {"database": 2, "and": 1}.items() <= dict(index.terms()).items()
    assert dict(index.terms(least=2)) == {"database": 2}
    assert index.words_of(["databas"], "data") == {"database", "databases"}


@pytest.mark.fault("B12")
def test_single_saves_do_not_pile_up(vault: Make) -> None:
    index = vault()
    for number in range(100):
        index.apply([note(number % 30, f"text {number}")], (), str(number))
    assert index.segments < 3 * MERGE_FACTOR
    assert len(index) == 30
    assert dump(index) == vault_dump(index, [note(n % 30, f"text {n}") for n in range(70, 100)])


def test_merging_to_the_end_leaves_few_segments_and_the_same_answers(vault: Make) -> None:
    index = vault()
    for number in range(60):
        index.apply(
            [note(n, f"word{n % 7} and word{number % 5}") for n in range(number, number + 40)],
            (),
            str(number),
        )
    before = dump(index), hits_of(index.search("word3 word4", 50))
    while index.merge_step():
        pass
    assert (dump(index), hits_of(index.search("word3 word4", 50))) == before
    assert index.revision == "59"


@pytest.mark.fault("B13")
def test_what_is_deleted_is_gone_from_the_disk_after_merging(tmp_path: Path) -> None:
    index = KeywordIndex.create(tmp_path / "index")
    index.apply([note(1, "secretword one"), note(2, "other")], (), "1")
    index.apply([note(3, "third")], [1, 2], "2")
    while index.merge_step():
        pass
    assert all(b"secretword" not in path.read_bytes() for path in (tmp_path / "index").iterdir())


def test_everything_deleted_leaves_nothing(vault: Make) -> None:
    index = vault(*["text"] * 20)
    index.apply([note(30, "more")], (), "second")
    index.apply([], range(31), "third")
    assert (len(index), index.segments, dump(index), matches(index, "text more")) == (0, 0, "", [])
    index.apply([note(1, "text")], (), "fourth")
    assert matches(index, "text") == [1]


def test_changes_during_a_merge_are_kept(vault: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    import vaultseek.store.keyword.merge as module

    index = vault()
    for number in range(MERGE_FACTOR):
        index.apply([note(n, f"old {n}") for n in range(number * 100, number * 100 + 100)], (), str(number))
    real = module.merge_segments

    def slow(sources: object, file: object) -> int:
        size = real(sources, file)  # type: ignore[arg-type]
        index.apply([note(5, "new five")], [7, *range(100, 200)], "meanwhile")
        return size

    monkeypatch.setattr(module, "merge_segments", slow)
    assert index.merge_step()
    assert index.revision == "meanwhile"
    expected = [note(n, f"old {n}") for n in range(800) if n not in {5, 7} and not 100 <= n < 200]
    assert dump(index) == vault_dump(index, [*expected, note(5, "new five")])


@pytest.mark.fault("H6")
def test_searches_see_one_state_while_changes_go_on(vault: Make) -> None:
    index = vault(*["pair left"] * 10)
    done = threading.Event()
    wrong: list[object] = []

    def search() -> None:
        while not done.is_set():
            hits = hits_of(index.search("left right", 50))
            sides = {hit.matched for hit in hits}
            if len(hits) != 10 or len(sides) != 1:
                wrong.append(hits)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(40):
        side = "right" if number % 2 == 0 else "left"
        index.apply([note(n, f"pair {side}") for n in range(10)], (), str(number))
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_opening_again_gives_the_same(tmp_path: Path) -> None:
    index = KeywordIndex.create(tmp_path / "index", LanguageRules("de", for_all=True))
    index.apply([note(1, "Die Häuser"), note(2, "Das Haus")], (), "stamp one")
    index.apply([note(3, "Ein Garten")], [2], "stamp two")
    expected = dump(index), hits_of(index.search("haus garten", 9))
    index.close()
    again = KeywordIndex.open(tmp_path / "index", LanguageRules("de", for_all=True))
    assert (dump(again), hits_of(again.search("haus garten", 9))) == expected
    assert again.revision == "stamp two"


def test_another_language_asks_for_a_refill(tmp_path: Path) -> None:
    KeywordIndex.create(tmp_path / "index", LanguageRules("de", for_all=True))
    with pytest.raises(IndexDamaged, match="rebuilt"):
        KeywordIndex.open(tmp_path / "index", LanguageRules("en", for_all=True))


def test_a_closed_index_finds_nothing(vault: Make) -> None:
    index = vault("some text")
    index.close()
    assert matches(index, "text") == []


bodies = st.lists(
    st.sampled_from(["red", "green", "blue", "user_id", "D40", "北京", "notes"]), max_size=5
).map(" ".join)


class AgainstAFreshIndex(RuleBasedStateMachine):
    """Any changes, merges and reopenings give the same index as building it from scratch."""

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name) / "index"
        self.index = KeywordIndex.create(self.path)
        self.model: dict[int, KeywordDocument] = {}
        self.revision: str | None = None

    @rule(
        changed=st.dictionaries(st.integers(0, 20), st.tuples(bodies, bodies), max_size=5),
        gone=st.sets(st.integers(0, 20)),
    )
    def apply(self, changed: dict[int, tuple[str, str]], gone: set[int]) -> None:
        upserts = [note(n, *passages, title=passages[0]) for n, passages in changed.items()]
        self.revision = f"{self.revision}."
        self.index.apply(upserts, gone - set(changed), self.revision)
        self.model = {n: d for n, d in self.model.items() if n not in gone} | {d.note: d for d in upserts}

    @rule()
    def merge(self) -> None:
        self.index.merge_step()

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = KeywordIndex.open(self.path)

    @invariant()
    def same_as_fresh(self) -> None:
        assert self.index.revision == self.revision
        assert len(self.index) == len(self.model)
        assert dump(self.index) == vault_dump(self.index, list(self.model.values()))

    def teardown(self) -> None:
        self.index.close()
        self.directory.cleanup()


TestAgainstAFreshIndex = AgainstAFreshIndex.TestCase
TestAgainstAFreshIndex.settings = settings(max_examples=8, stateful_step_count=12, deadline=None)


def test_no_deleted_file_stays_open_until_the_next_garbage_collection(vault: Make, tmp_path: Path) -> None:
    index = vault(*["granite"] * 20)
    gc.collect()
    gc.disable()
    try:
        for number in range(30):
            index.apply([note(number % 20, f"saved{number}")], (), str(number))
            assert matches(index, f"saved{number}") == [number % 20]
        files = [link for link in open_files() if str(tmp_path) in link]
    finally:
        gc.enable()
    assert files
    assert [link for link in files if link.endswith("(deleted)")] == []


def open_files() -> list[str]:
    """Return the files that the open descriptors of this process refer to."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(str(descriptor.readlink()))
    return links


def test_a_word_with_accents_finds_the_one_without_beside_its_own(vault: Make) -> None:
    index = vault("his résumé", "her resume", "something else entirely")
    assert sorted(matches(index, "résumé")) == [0, 1]
