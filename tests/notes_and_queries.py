"""Hypothesis strategies for notes and for queries with filters."""

from collections.abc import Mapping

from hypothesis import strategies as st

WORDS = st.sampled_from(
    [
        "Straße",
        "strasse",
        "ﬁle",
        "file",
        "Kiwi",
        "kiwi",
        "grün",
        "gru\u0308n",
        "рыба",
        "昆明",
        "a",
        "x-y",
        "c++",
    ]
)
PROPERTY = st.tuples(
    st.sampled_from(["status", "Größe", "n"]),
    st.sampled_from(["open", "OPEN", "5", "5.0", "true", "", "[a, Straße]", "'[[Kiwi]]'", "2026-03-01", "~"]),
)
LINE = st.one_of(
    WORDS,
    st.lists(WORDS, min_size=2, max_size=3).map(" ".join),
    WORDS.map(lambda word: f"# {word}"),
    WORDS.map(lambda word: f"- [ ] {word}"),
    WORDS.map(lambda word: f"- [x] {word}"),
    st.sampled_from(["#work", "#work/Pumps", "#Straße", "[[b]]", "[[Kiwi|x]]", "[[gone]]", "", ""]),
)
NOTE = st.tuples(
    st.dictionaries(st.sampled_from(["status", "Größe", "n", "aliases"]), PROPERTY.map(lambda p: p[1])),
    st.lists(LINE, max_size=6),
).map(lambda parts: _note(*parts))
PATH = st.sampled_from(["a.md", "b.md", "Straße/c.md", "strasse/d.md", "Kiwi.md", "x y/ﬁle.md", "grün.md"])


def _note(properties: Mapping[str, str], lines: list[str]) -> str:
    head = "".join(f"{name}: {value}\n" for name, value in properties.items())
    return (f"---\n{head}---\n" if head else "") + "\n".join(lines)


_TERM = st.one_of(
    WORDS.map(lambda word: f'"{word}"'),
    WORDS.map(lambda word: f"({word[:-1] or word}* OR tag:none)"),
    st.sampled_from(["path", "file", "heading", "alias", "line", "section", "block", "content", "task-todo"])
    .flatmap(lambda name: WORDS.map(lambda word: f'{name}:"{word}"')),
    st.sampled_from(["tag:work", "tag:strasse", "path:strasse/", "link:b", "link:kiwi", "link:x", "ext:m",
                     "task:kiwi", "line:(kiwi -file)", "line:(kiwi OR grün)", "before:2020", "after:2020",
                     "heading:/^ki|gr/", "tag:/^w|ß/", "path:/^a|e\\./", "alias:/^k./", "[n:/^5|o/]"]),
    PROPERTY.map(lambda p: f"[{p[0]}:{p[1].strip('[]')}]"),
    st.sampled_from(["[status]", "[grösse:null]", "[n:>4]", "[n:<2026-04]"]),
)  # fmt: skip
QUERY = st.recursive(
    _TERM,
    lambda term: st.one_of(
        term.map(lambda inner: f"-({inner})"),
        st.lists(term, min_size=2, max_size=3).map(" ".join),
        st.lists(term, min_size=2, max_size=3).map(lambda parts: f"({' OR '.join(parts)})"),
    ),
    max_leaves=4,
)
