"""The sample vault has everything that tests/data/README.md promises."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
VAULT = DATA / "vault"
LEAST_QUERIES = {"identifier": 10, "keyword": 10, "paraphrase": 10, "question": 10} | dict.fromkeys(
    [
        "half-remembered title",
        "code",
        "section of a long note",
        "linked neighbour",
        "two similar notes",
        "several notes",
        "typo",
        "nonsense",
        "chinese",
        "filtered",
    ],
    5,
)
HIDDEN_WORDS = {
    "Zwetschgenkasse": "Archive/private/Letters.md",
    "Pfingstreigen": ".trash/Old Set List.md",
}
FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a about after against an and any are as at be been being but by do does for from had has "
        "have how i in into is it its me much my no not of on one or our over so than that the their "
        "them then there they this till to too two until up was we were what when where which while "
        "who why will with ",
    )
)
FEATURES = {
    "nested tag": r"#work/pumps|work/pumps/sump",
    "inline tag": r"(?m)^#[a-z]+/[a-z]+",
    "text property": r"(?m)^location: \w",
    "number property": r"(?m)^severity: \d$",
    "checkbox property": r"(?m)^resettable: (true|false)$",
    "date property": r"(?m)^due: \d{4}-\d\d-\d\d$",
    "date and time property": r"(?m)^\w+: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$",
    "list property": r"(?m)^\w+:\n  - ",
    "link property": r'(?m)^\w+: "\[\[[^\]]+\]\]"$',
    "list of links property": r'(?m)^  - "\[\[',
    "successor in a property": r'(?m)^superseded_by: "\[\[[^\]]+\]\]"$',
    "successor in a sentence": r"(?m)^Replaced by \[\[[^\]]+\]\]\.",
    "aliases": r"(?m)^aliases: ?(\[\w|\n  - \w)",
    "cssclasses": r"(?m)^cssclasses:",
    "wikilink": r"[^!]\[\[[^\]|#/]+\]\]",
    "wikilink to a heading": r"\[\[[^\]|#]+#[^\]|#^]+\]\]",
    "wikilink to a nested heading": r"\[\[[^\]|#]+#[^\]|#]+#[^\]|#]+\]\]",
    "wikilink to a block": r"\[\[[^\]|#]+#\^[\w-]+\]\]",
    "wikilink with another text": r"\[\[[^\]|]+\|[^\]]+\]\]",
    "wikilink with a path": r"\[\[[^\]|]+/[^\]|]+\]\]",
    "wikilink to an attachment": r"[^!]\[\[[^\]|]+\.(m4a|canvas)[\]|]",
    "encoded Markdown link": r"\]\([^)]*%20[^)]*\.md\)",
    "angled Markdown link": r"\]\(<[^>]+\.md>\)",
    "reference link": r"(?m)\]\[office\][\s\S]*^\[office\]: ",
    "embedded note or section": r"!\[\[[^\]|#]+#[^\]^]+\]\]",
    "embedded block": r"!\[\[[^\]|#]+#\^[\w-]+\]\]",
    "embedded image with a size": r"!\[\[[^\]|]+\.png\|\d+\]\]",
    "embedded image with both sizes": r"!\[\[[^\]|]+\.svg\|\d+x\d+\]\]",
    "Markdown image with a size": r"!\[[^\]]+\|\d+x\d+\]\([^)]+\.png\)",
    "block id": r"(?m) \^[a-z][a-z-]+$",
    "foldable callout": r"(?m)^> \[!\w+\][-+]",
    "nested callout": r"(?m)^> > \[!\w+\]",
    "open task": r"(?m)^\s*- \[ \] \w",
    "done task": r"(?m)^\s*- \[x\] ",
    "other task states": r"(?m)^- \[/\] [\s\S]*^- \[-\] [\s\S]*^- \[>\] ",
    "due date of a task": r"(?m)^- \[ \] .*📅 \d{4}-\d\d-\d\d",
    "table": r"(?m)^\| ?-{3}",
    "indented code": r"(?m)^\n {4}\S",
    "footnote": r"\[\^1\][\s\S]*\n\[\^1\]: ",
    "formula in a line": r"[^$]\$[^$\n]+\$[^$]",
    "formula block": r"\$\$\s*\S[\s\S]*?\$\$",
    "Obsidian comment": r"%%[^%]+%%",
    "HTML comment": r"<!--.+?-->",
    "highlight": r"==[^=]+==",
    "accented letters": r"[ãéçßäöü]",
    "snake_case name": r"brake_release_delta_ms",
    "camelCase name": r"readBarrelLevel\(",
    "codes that look alike": r"E-4107[\s\S]*E-4170[\s\S]*E-4017",
    "part numbers that look alike": r"88-1204-A[\s\S]*88-1204-B[\s\S]*88-1240-A",
    "template fields": r"(?m)^date: .*\{\{date\}\}",
}


def _notes() -> dict[str, str]:
    return {
        path.relative_to(VAULT).as_posix(): path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        for path in sorted(VAULT.rglob("*.md"))
        if not path.relative_to(VAULT).as_posix().startswith((".trash/", "Archive/private/"))
    }


def _queries() -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / "queries.jsonl").read_text(encoding="utf-8").splitlines()]


def _judgements() -> list[tuple[str, str, int]]:
    rows = (line.split("\t") for line in (DATA / "qrels.tsv").read_text(encoding="utf-8").splitlines())
    return [(query, path, int(grade)) for query, path, grade in rows]


NOTES = _notes()
QUERIES = _queries()
JUDGEMENTS = _judgements()


@pytest.mark.parametrize("pattern", FEATURES.values(), ids=FEATURES.keys())
def test_feature_is_present(pattern: str) -> None:
    assert any(re.search(pattern, text) for text in NOTES.values())


def test_there_are_enough_notes_of_each_sort() -> None:
    assert 60 <= len(NOTES) <= 130
    assert len([path for path in NOTES if re.fullmatch(r"Daily/2026-\d\d-\d\d\.md", path)]) >= 15
    assert len([text for text in NOTES.values() if text.count("[[") >= 5 and "map" in text[:200]]) >= 4
    assert len([text for text in NOTES.values() if len(re.findall(r"[\u4e00-\u9fff]", text)) > 100]) >= 3
    assert len([text for text in NOTES.values() if re.search(r"[\u3041-\u30ff]", text)]) >= 1
    assert len([text for text in NOTES.values() if not re.search(r"(?m)^(---$|#{1,6} )", text)]) >= 2
    assert min(len(text.split()) for text in NOTES.values()) < 10


def test_one_note_is_long() -> None:
    text = NOTES["Reference/Funicular Handbook.md"]
    assert len(re.findall(r"\w{2,}", text)) >= 2000
    assert len(text.split()) >= 2500
    assert len(re.findall(r"(?m)^## ", text)) >= 20


def test_code_comes_in_several_languages() -> None:
    fences = {lang for text in NOTES.values() for lang in re.findall(r"(?m)^```(\w+)$", text)}
    assert fences >= {"python", "bash", "yaml", "cpp", "toml", "sql", "json"}


def test_some_names_are_shared_and_some_links_lead_nowhere() -> None:
    names = Counter(Path(path).stem for path in NOTES)
    assert {name for name, count in names.items() if count > 1} == {"Parts", "Log"}
    assert any("[[Parts]]" in text for text in NOTES.values())
    targets = {link for text in NOTES.values() for link in re.findall(r"\[\[([^\]|#/.]+)\]\]", text)}
    assert targets - set(names) >= {"Esperanto", "Pirmin Egger"}


def test_special_bytes_survive_a_checkout() -> None:
    raw = {path: (VAULT / path).read_bytes() for path in NOTES}
    assert [path for path, data in raw.items() if data.startswith(b"\xef\xbb\xbf")] == [
        "Projects/Yunnan/What Three Weeks Cost.md"
    ]
    assert [path for path, data in raw.items() if b"\r\n" in data] == ["Reference/Torque Values.md"]


def test_attachments_are_real_files() -> None:
    assert (VAULT / "Attachments/weltklang.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert "<svg" in (VAULT / "Attachments/hpu-schematic.svg").read_text(encoding="utf-8")
    assert json.loads((VAULT / "Boards/Winter Closing.canvas").read_text(encoding="utf-8"))["nodes"]


def test_hidden_words_stand_in_hidden_notes_only() -> None:
    settings = json.loads((VAULT / ".obsidian/app.json").read_text(encoding="utf-8"))
    assert settings["userIgnoreFilters"] == ["Archive/private/"]
    for word, path in HIDDEN_WORDS.items():
        assert word in (VAULT / path).read_text(encoding="utf-8")
        assert not any(word.casefold() in text.casefold() for text in NOTES.values())


def test_queries_are_unique_and_every_category_is_served() -> None:
    assert (
        len({query["id"] for query in QUERIES}) == len({query["query"] for query in QUERIES}) == len(QUERIES)
    )
    counts = Counter(query["category"] for query in QUERIES)
    assert set(counts) == set(LEAST_QUERIES)
    assert not {name: counts[name] for name, least in LEAST_QUERIES.items() if counts[name] < least}
    assert len(QUERIES) >= 90


def test_judgements_name_visible_notes_and_known_queries_once() -> None:
    assert {path for _, path, _ in JUDGEMENTS} <= set(NOTES)
    assert {query for query, _, _ in JUDGEMENTS} <= {query["id"] for query in QUERIES}
    assert {grade for _, _, grade in JUDGEMENTS} == {1, 2}
    assert len({(query, path) for query, path, _ in JUDGEMENTS}) == len(JUDGEMENTS)


@pytest.mark.parametrize("query", QUERIES, ids=[query["id"] for query in QUERIES])
def test_a_query_has_a_best_note_unless_it_is_nonsense(query: dict[str, str]) -> None:
    grades = [grade for judged, _, grade in JUDGEMENTS if judged == query["id"]]
    assert (2 in grades) if query["category"] != "nonsense" else not grades


@pytest.mark.parametrize("query", [query for query in QUERIES if query["category"] == "paraphrase"])
def test_a_paraphrase_shares_no_content_word_with_its_best_note(query: dict[str, str]) -> None:
    for judged, path, grade in JUDGEMENTS:
        if judged == query["id"] and grade == 2:
            assert not _stems(query["query"]) & _stems(f"{path} {NOTES[path]}")


def test_the_page_about_the_vault_names_queries_that_are_judged() -> None:
    page = (DATA / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"(?m)^\| (?:identifier|paraphrase|filter) \| `([^`]+)` \| `([^`]+)`", page)
    best = {(judged, path) for judged, path, grade in JUDGEMENTS if grade == 2}
    ids = {query["query"]: query["id"] for query in QUERIES}
    assert len(examples) == 3
    assert all((ids[query], path) in best for query, path in examples)
    assert not any("theodolite" in text for text in NOTES.values())


def _stems(text: str) -> set[str]:
    words = re.findall(r"[^\W_]+", text.lower())
    return {word[:5] for word in words if word not in FUNCTION_WORDS}
