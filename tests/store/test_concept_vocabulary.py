"""The file of a vault's concepts: written data is read back, and untrusted data counts as missing."""

import json
from pathlib import Path
from typing import Any

import pytest

from vaultseek.semantic.inference.embed import HashingEncoder
from vaultseek.store.concept_vocabulary import ConceptVocabulary, read_vocabulary, write_vocabulary

TERMS = {"sump pump": 3, "Grüße": 1, "索道": 2}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A vocabulary file for the model ``hashing``."""
    rows = dict(zip(TERMS, HashingEncoder().encode(list(TERMS)), strict=True))
    write_vocabulary(ConceptVocabulary.build("hashing", TERMS, rows), tmp_path / "concepts.json")
    return tmp_path / "concepts.json"


def nearest(vocabulary: ConceptVocabulary, text: str, floor: float = 0.5) -> list[tuple[str, int]]:
    vector = HashingEncoder().encode([text])[0]
    return [(concept.term, concept.notes) for concept in vocabulary.nearest(vector, floor)]


def test_what_was_written_is_read_again(file):
    vocabulary = read_vocabulary(file, "hashing")
    assert vocabulary is not None
    assert dict(vocabulary.terms) == TERMS
    assert nearest(vocabulary, "sump pump") == [("sump pump", 3)]
    assert nearest(vocabulary, "索道") == [("索道", 2)]
    assert nearest(vocabulary, "zeppelin") == []


def test_it_is_for_the_user_alone_and_leaves_nothing_beside_it(file):
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.glob("concepts*")) == [file]


def test_the_nearest_come_first_and_none_below_the_floor(file):
    vocabulary = read_vocabulary(file, "hashing")
    assert vocabulary is not None
    vector = HashingEncoder().encode(["pump Grüße Grüße"])[0]
    near = list(vocabulary.nearest(vector, 0.1))
    assert [concept.term for concept in near] == ["Grüße", "sump pump"]
    assert near[0].similarity == pytest.approx(2 / 5**0.5, abs=1e-3)
    assert [concept.term for concept in vocabulary.nearest(vector, 0.5)] == ["Grüße"]


def test_a_vocabulary_without_terms_is_near_to_nothing(tmp_path):
    file = tmp_path / "none.json"
    write_vocabulary(ConceptVocabulary.build("hashing", {}, {}), file)
    vocabulary = read_vocabulary(file, "hashing")
    assert vocabulary is not None
    assert nearest(vocabulary, "pump", 0.0) == []


def test_another_models_vectors_are_not_used(file):
    assert read_vocabulary(file, "hashing-32") is None


def test_a_file_that_is_not_there(tmp_path):
    assert read_vocabulary(tmp_path / "none.json", "hashing") is None
    (tmp_path / "folder.json").mkdir()
    assert read_vocabulary(tmp_path / "folder.json", "hashing") is None


def changed(file: Path, change: Any) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")


DAMAGE = {
    "another version": lambda content: content.update(version=99),
    "no terms": lambda content: content.pop("terms"),
    "terms of another kind": lambda content: content.update(terms=7),
    "an entry more": lambda content: content["terms"].append("pump"),
    "no checksum": lambda content: content.pop("check"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_counts_as_not_there(file, damage):
    changed(file, damage)
    assert read_vocabulary(file, "hashing") is None


@pytest.mark.fault("B4")
def test_a_flipped_bit_changes_no_concept(file):
    data, concepts = file.read_bytes(), nearest(read_vocabulary(file, "hashing"), "sump pump", -1.0)
    for place in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        file.write_bytes(flipped)
        found = read_vocabulary(file, "hashing")
        assert found is None or nearest(found, "sump pump", -1.0) == concepts, place


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"null", b"[" * 100_000])
def test_a_foreign_file_counts_as_not_there(file, content):
    file.write_bytes(content)
    assert read_vocabulary(file, "hashing") is None


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "concepts.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_vocabulary(ConceptVocabulary.build("hashing", {}, {}), tmp_path / "concepts.json")
    assert list(tmp_path.glob("concepts*")) == [tmp_path / "concepts.json"]
