"""A daemon with two models: each vault and each question uses the model for its language."""

import pytest

from vaultseek.errors import ConfigError
from vaultseek.semantic.models.packed import MULTILINGUAL

ENGLISH = {
    f"n{i}.md": f"# Stone {i}\n\nThis is a note about the granite of quarry {i}.\n" for i in range(9)
} | {
    "owl.md": "# The owl\n\nIt hunts at night, and hears a mouse under the snow.\n",
    "bread.md": "# The bread\n\nFlour, water and salt are kneaded, and rest for a day.\n",
}
GERMAN = {
    f"n{i}.md": f"# Stein {i}\n\nDies ist eine Notiz über den Granit aus dem Bruch {i}.\n" for i in range(9)
}
RUSSIAN = "как сова охотится зимой"


def has_multilingual() -> bool:
    try:
        MULTILINGUAL.file()
    except ConfigError:
        return False
    return True


@pytest.fixture
def automatic(daemon):
    """A daemon with the bundled model for English, and a stand-in for other languages."""
    daemon.environment["VAULTSEEK_MODEL__NAME"] = "auto"
    daemon.environment["VAULTSEEK_MODEL__OTHER_LANGUAGES"] = "hashing-32"
    return daemon


def models_of(daemon) -> dict:
    """Return the models of the only vault; none while it is being reopened."""
    vaults = daemon.json("status")["vaults"]
    return vaults[0]["models"] if vaults else {"main": None}


@pytest.mark.model
def test_an_english_vault_is_filled_twice_and_the_second_space_answers(automatic, vault, eventually):
    root = vault(ENGLISH)
    automatic.run("index", "--wait", "--vault", str(root))
    assert models_of(automatic)["main"] == "bundled"
    eventually(lambda: models_of(automatic)["second_notes_left"] == 0, "the second space is filled")
    answer = automatic.json("search", RUSSIAN, "--mode", "semantic", "--vault", str(root))
    assert (answer["partial"], len(answer["results"])) == ([], 10)
    (root / "owl.md").write_text("# Сова\n\nСова охотится зимой.\n")
    automatic.run("index", "--wait", "--vault", str(root))

    def finds_owl() -> bool:
        found = automatic.json("search", RUSSIAN, "--mode", "semantic", "--vault", str(root))
        return found["results"][0]["path"] == "owl.md" and models_of(automatic)["second_notes_left"] == 0

    eventually(finds_owl, "the second space follows when it is asked")
    automatic.stop()
    automatic.run("index", "--wait", "--vault", str(root))
    assert models_of(automatic)["second_notes_left"] == 0, "known without asking the model"


@pytest.mark.model
def test_a_vault_in_another_language_gets_the_other_model_and_changes_back(automatic, vault, eventually):
    root = vault(GERMAN)
    automatic.run("index", "--wait", "--vault", str(root))
    assert (models_of(automatic)["main"], models_of(automatic)["second"]) == ("hashing-32", None)
    for path, text in ENGLISH.items():
        (root / path).write_text(text)
    automatic.run("index", "--vault", str(root))
    eventually(lambda: models_of(automatic)["main"] == "bundled", "the vault is judged by its present notes")
    automatic.run("index", "--wait", "--vault", str(root))
    answer = automatic.json("search", "granite of the quarry", "--vault", str(root))
    assert answer["results"]
    assert "semantic" not in [each["lane"] for each in answer["partial"]]


@pytest.mark.model
@pytest.mark.skipif(not has_multilingual(), reason="the multilingual model is not installed")
def test_a_russian_question_finds_the_english_note_that_answers_it(daemon, vault, eventually):
    daemon.environment["VAULTSEEK_MODEL__NAME"] = "auto"
    root = daemon.indexed(vault(ENGLISH))
    eventually(lambda: models_of(daemon)["second_notes_left"] == 0, "the second space is filled")
    for question, path in (
        (RUSSIAN, "owl.md"),
        ("怎么做面包", "bread.md"),
        ("wie jagt die Eule im Winter", "owl.md"),
    ):
        answer = daemon.json("search", question, "--vault", str(root))
        assert (answer["partial"], answer["results"][0]["path"]) == ([], path)


@pytest.mark.model
def test_a_foreign_question_without_a_model_for_it_is_answered_by_word_and_says_why(daemon, vault):
    daemon.environment |= {"VAULTSEEK_MODEL__NAME": "bundled", "VAULTSEEK_MODEL__OTHER_LANGUAGES": "off"}
    root = daemon.indexed(vault({**ENGLISH, "сова.md": "# Сова\n\nСова охотится зимой.\n"}))
    answer = daemon.json("search", RUSSIAN, "--vault", str(root))
    assert [(each["lane"], each["code"]) for each in answer["partial"]] == [("semantic", "unread_language")]
    assert answer["results"][0]["path"] == "сова.md"
