from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.model import Link
from vaultseek.content.markdown import resolve
from vaultseek.content.markdown.resolve import Names, Resolution, link_key, name_keys

SEGMENTS = st.sampled_from(
    ["a", "A", "b", "log", "Log.md", "x.md", "x.md.md", "é", "e\u0301", "ß", "SS.md", "p.png", ".h"]
)
PATHS = st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)
ALIASES = st.lists(st.sampled_from(["log", "A", "a/b", " x ", "", "x.md", "É", "İ"]), max_size=3)
FILES = st.dictionaries(PATHS, ALIASES, max_size=8)
TARGETS = PATHS | st.builds("{}{}".format, st.sampled_from(["./", "../", "/", "../../", ""]), PATHS)


def names_of(files: Mapping[str, Sequence[str]] | Sequence[str]) -> Names:
    names = Names()
    for path in files:
        names.add(path, files[path] if isinstance(files, Mapping) else ())
    return names


@given(FILES, FILES, TARGETS, PATHS)
def test_a_new_file_changes_only_resolutions_of_its_names(
    before: dict[str, list[str]], more: dict[str, list[str]], target: str, source: str
) -> None:
    names = names_of(before)
    resolution = names.resolve(target, source)
    for path, aliases in more.items():
        keys = names.keys_of(path) ^ name_keys(path, aliases)
        names.add(path, aliases)
        now = names.resolve(target, source)
        assert now == resolution or link_key(target) in keys | names.keys_of(path)
        resolution = now


@given(FILES, FILES, TARGETS, PATHS)
def test_a_removed_file_changes_only_resolutions_of_its_names(
    files: dict[str, list[str]], more: dict[str, list[str]], target: str, source: str
) -> None:
    names = names_of({**files, **more})
    for path in files:
        keys = names.keys_of(path)
        resolution = names.resolve(target, source)
        names.remove(path)
        assert names.resolve(target, source) == resolution or link_key(target) in keys


@given(FILES, st.lists(st.tuples(PATHS, ALIASES, st.booleans()), max_size=12), st.lists(TARGETS, min_size=3))
def test_any_order_of_changes_equals_building_from_scratch(
    files: dict[str, list[str]], changes: list[tuple[str, list[str], bool]], targets: list[str]
) -> None:
    names = names_of(files)
    for path, aliases, here in changes:
        if here:
            files[path] = aliases
            names.add(path, aliases)
        else:
            files.pop(path, None)
            names.remove(path)
        names.resolve(targets[0], "a/b.md")
    fresh = names_of(dict(sorted(files.items(), reverse=True)))
    for target in targets:
        assert names.resolve(target, "a/Log.md") == fresh.resolve(target, "a/Log.md")
    assert {path: names.keys_of(path) for path in files} == {path: fresh.keys_of(path) for path in files}


@given(FILES, TARGETS, PATHS)
def test_many_namesakes_resolve_like_few(files: dict[str, list[str]], target: str, source: str) -> None:
    few = names_of(files).resolve(target, source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resolve, "LINEAR_SEARCH_MAX", 0)
        assert names_of(files).resolve(target, source) == few


@given(FILES)
def test_keys_of_a_file_are_those_of_its_path_and_aliases(files: dict[str, list[str]]) -> None:
    names = names_of(files)
    for path, aliases in files.items():
        assert names.keys_of(path) == name_keys(path, aliases)


def test_no_target_is_the_source_itself() -> None:
    assert names_of([]).resolve("", "a/b.md") == Resolution("a/b.md")


def test_a_link_without_a_target_is_unresolved() -> None:
    names = names_of(["a.md"])
    assert names.resolve_link(Link("wikilink", "", None, None, "text", 1), "a.md").path is None
    assert names.resolve_link(Link("wikilink", "", "Heading", None, None, 1), "a.md").path == "a.md"


def test_the_others_of_the_same_name_are_candidates_in_order() -> None:
    names = names_of(["long/folder/Log.md", "b/Log.md", "a/Log.md", "here/Log.md", "here/deep/Log.md"])
    resolution = names.resolve("log", "here/x.md")
    assert resolution.path == "here/Log.md"
    assert resolution.candidates == ("here/deep/Log.md", "a/Log.md", "b/Log.md", "long/folder/Log.md")


def test_a_name_at_the_root_is_an_exact_path_and_wins() -> None:
    assert names_of(["Log.md", "a/Log.md"]).resolve("Log", "a/x.md").path == "Log.md"


def test_a_whole_path_is_not_ambiguous() -> None:
    names = names_of(["quay/Log.md", "north/quay/Log.md"])
    assert names.resolve("quay/Log", "x.md") == Resolution("quay/Log.md")
    assert names.resolve("./Log", "quay/x.md") == Resolution("quay/Log.md")


def test_candidates_are_bounded() -> None:
    names = names_of([f"d{n}/README.md" for n in range(1000)])
    resolution = names.resolve("README", "d500/x.md")
    assert resolution.path == "d500/README.md"
    assert len(resolution.candidates) == 20


@pytest.mark.fault("C19")
def test_of_names_that_differ_in_case_only_the_spelling_decides() -> None:
    names = names_of(["a/note.md", "a/Note.md"])
    assert names.resolve("a/Note", "x.md").path == "a/Note.md"
    assert names.resolve("a/note", "x.md").path == "a/note.md"
    assert names.resolve("./note", "a/x.md").path == "a/note.md"
    assert names.resolve("a/NOTE", "x.md") == Resolution("a/Note.md", ("a/note.md",))


@pytest.mark.parametrize("space", ["\u00a0", "\u202f"])
def test_a_no_break_space_is_a_space(space: str) -> None:
    for path, target in (("Foo Bar.md", f"foo{space}bar"), (f"At 9.00{space}AM.png", "At 9.00 AM.png")):
        names = names_of([path])
        assert names.resolve(target, "n.md").path == path
        assert link_key(target) in names.keys_of(path)


def test_an_alias_is_the_last_resort_and_is_flagged() -> None:
    names = Names()
    names.add("Reef.md", ["AR", "Fish"])
    assert names.resolve("ar", "x.md") == Resolution("Reef.md", (), by_alias=True)
    names.add("AR.md")
    assert names.resolve("ar", "x.md") == Resolution("AR.md")
    names.add("Reef.md", [])
    assert names.resolve("Fish", "x.md").path is None


@pytest.mark.parametrize(
    "target", ["a/", "./a/", "../x", "/../x", "./../../x", "a//x", "b/../x", "..", ".", "/", "~"]
)
def test_odd_paths_find_nothing(target: str) -> None:
    assert names_of(["x.md", "a.md", "a/x.md", "a/.md"]).resolve(target, "s.md").path is None


def test_hidden_files_are_no_targets() -> None:
    names = names_of([".obsidian/app.md", "a/.trash/app.md", ".app.md"])
    assert len(names) == 0
    assert names.resolve("app", "x.md").path is None


def test_a_missing_file_can_be_removed() -> None:
    names = names_of(["a.md"])
    names.remove("b.md")
    assert "a.md" in names


def test_a_move_onto_a_note_that_is_only_considered_changes_nothing() -> None:
    names = Names()
    for path, aliases in {"a.md": ["Tea"], "b.md": ["Xylo"], "c.md": ["Xylo"]}.items():
        names.add(path, aliases)
    after = names.moved({"a.md": "b.md"})
    assert (after.resolve("Xylo", "n.md").path, after.resolve("Tea", "n.md").path) == ("c.md", "b.md")
    assert names.resolve("Xylo", "n.md").path == "b.md"
    names.add("b.md", ["Xylo"])
    assert names.resolve("Xylo", "n.md").candidates == ("c.md",)
