"""The judged questions about vaults other than the sample, and what their page says about them."""

import re
from pathlib import Path

import pytest
from bench_quality import is_held_out, vault_of
from bench_sentences import read_spans

from vaultseek.tools.evaluate.judgements import JudgedQuery, read_queries

DATA = Path(__file__).parent / "data"
SETS = sorted(path for part in ("judged", "held-out") for path in (DATA / part).iterdir())
CATEGORIES = {
    "another language",
    "another script",
    "conceptual",
    "date",
    "identifier",
    "keyword",
    "known item",
    "paraphrase",
    "question",
    "section",
    "several notes",
    "title",
    "typo",
}


def questions_of(folder: Path) -> list[JudgedQuery]:
    return read_queries(folder / "queries.jsonl", folder / "qrels.tsv", plain=True)


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_every_question_has_a_best_note(folder):
    for question in questions_of(folder):
        assert question.category in CATEGORIES
        assert set(question.grades.values()) <= {1, 2}
        best = [path for path, grade in question.grades.items() if grade == 2]
        assert len(best) >= (2 if question.category == "several notes" else 1), question.text


@pytest.mark.parametrize("folder", [path for path in SETS if path.name.startswith("dialogues")], ids=str)
def test_questions_about_the_dialogues_name_their_notes(folder):
    root = vault_of(folder, None)
    for question in questions_of(folder):
        assert all((root / path).is_file() for path in question.grades)


def test_no_question_is_asked_twice():
    texts = [question.text.casefold() for folder in SETS for question in questions_of(folder)]
    assert len(set(texts)) == len(texts)


def test_questions_for_testing_only_stand_beside_those_for_development():
    held_out = {folder.name: len(questions_of(folder)) for folder in SETS if is_held_out(folder)}
    developed = {folder.name: len(questions_of(folder)) for folder in SETS if not is_held_out(folder)}
    assert set(held_out) < set(developed)
    assert sum(developed[name] for name in held_out) - sum(held_out.values()) <= len(held_out)


def test_the_page_counts_the_questions():
    page = (DATA / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| \*([\w-]+)\* \|.*\| (\d+) \| ?(\d*) \|$", page)
    counts = {(folder.parent.name, folder.name): len(questions_of(folder)) for folder in SETS}
    assert {("judged", name): int(number) for name, number, _ in rows} | {
        ("held-out", name): int(number) for name, _, number in rows if number
    } == counts


@pytest.mark.parametrize("path", sorted(DATA.glob("*/*/spans.tsv")), ids=lambda path: path.parent.name)
def test_the_spans_are_lines_of_best_notes(path):
    best = {question.id: question.grades for question in questions_of(path.parent)}
    for query, (note, spans) in read_spans(path).items():
        assert best[query][note] == 2
        assert all(spans)
        if (path.parent / "vault.txt").is_file():
            text = (vault_of(path.parent, None) / note).read_text(encoding="utf-8").splitlines()
            assert all(text[line - 1].strip() for span in spans for line in (span[0], span[-1]))
