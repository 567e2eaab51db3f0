"""The texts that an English model can read, by their script, stop words and pieces per word."""

import json
from pathlib import Path

import pytest

from vaultseek.core.indexing.model_source import share_of_folder
from vaultseek.core.indexing.spaces import foreign_share, language_support
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.models.choice import VaultModels

JUDGED = Path(__file__).parents[2] / "data" / "judged"


@pytest.fixture(scope="module")
def count():
    return find_model("bundled").counter()


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "how do plants turn light into sugar": "well",
        "kubectl get pods --all-namespaces": "well",
        "IL-6 signaling plays a major role in atherosclerotic disease": "well",
        "Pyridostatin deregulates G2/M progression": "well",
        "who made Linsen mit Spätzle": "well",
        "TGF-β in fibrosis": "well",
        "2024-11-03": "well",
        "": "well",
        "Wie viele Punkte gab die Verteidigung der Panthers ab?": "poorly",
        "In welchem Jahr starb Tesla?": "poorly",
        "¿Cuántos puntos dejaron escapar en defensa los Panthers?": "poorly",
        "receita da broa farinha de milho": "poorly",
        "Ile kosztuje łódź żaglowa średniej wielkości": "poorly",
        "Сколько очков уступила защита Пэнтерс?": "not",
        "黑豹队的防守丢了多少分？": "not",
        "ป้องกันเสียกี่แต้ม": "not",
        "كم عدد النقاط": "not",
        "what is 麻婆豆腐 and 豆瓣酱 made of": "not",
    }.items(),
)
def test_a_text_is_read_by_its_language(count, text, expected):
    assert language_support(text, count) == expected


def test_no_english_question_of_the_judged_sets_is_taken_for_another_language(count):
    files = [JUDGED / name / "queries.jsonl" for name in ("dendron-site", "logseq-docs", "silverbullet")]
    questions = [json.loads(line)["query"] for file in files for line in file.read_text().splitlines()]
    assert len(questions) > 100
    assert {text for text in questions if language_support(text, count) != "well"} == set()


def test_the_share_is_of_the_texts_that_say_something(count):
    english = "The valve lets water into the tank whenever the level is too low."
    german = "Das Ventil lässt Wasser in den Tank, sobald der Pegel zu niedrig ist."
    assert foreign_share([english, english, german, "x = 1", ""], count) == pytest.approx(1 / 3)
    assert foreign_share(["", "42"], count) == 0.0


@pytest.mark.parametrize(
    ("german", "main", "second"), [(4, "hashing", "hashing-32"), (5, "hashing-32", None)]
)
def test_english_notes_keep_their_model_up_to_a_quarter_of_german_ones(count, tmp_path, german, main, second):
    for i in range(16):
        text = (
            f"Die Pumpe {i} steht im Keller und läuft nur, wenn der Pegel hoch ist."
            if i < german
            else f"The pump {i} is in the cellar, and it only runs when the level is high."
        )
        (tmp_path / f"note {i}.md").write_text(text)
    share = share_of_folder(tmp_path, (), count)
    assert share == german / 16
    choice = VaultModels(find_model("hashing"), find_model("hashing-32"), True, automatic=True)
    models = choice.of_vault(share)
    assert (models.main.name, models.second.name if models.second else None) == (main, second)
    # A German question is answered by the model that reads German, among all notes.
    assert language_support("Wo steht die Pumpe und wann läuft sie?", count) == "poorly"
