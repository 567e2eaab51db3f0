"""The settings models: frozen, and aware of explicitly set weights."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from vaultseek.errors import UsageError
from vaultseek.settings.load import with_overrides
from vaultseek.settings.model import Settings, VaultSettings, vault_name
from vaultseek.settings.search import SearchSettings


def test_settings_are_frozen() -> None:
    settings = Settings(vaults=(VaultSettings(name="notes", path=Path("/notes")),))
    with pytest.raises(ValidationError, match="frozen"):
        settings.search.limit = 3  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        settings.vaults[0].name = "other"  # type: ignore[misc]


def test_an_explicit_weight_is_recognised() -> None:
    assert not SearchSettings(limit=3).has_explicit_weights
    assert SearchSettings(keyword_weight=1.0).has_explicit_weights
    assert with_overrides(SearchSettings(), {"semantic_weight": "1"}).has_explicit_weights


def test_the_weights_have_the_names_that_rank_fusion_gives_them_too():
    base = SearchSettings(semantic_weight=0.5)
    chosen = with_overrides(base, {"rrf_vector_weight": "0.7", "rrf_keyword_weight": 2})
    assert (chosen.semantic_weight, chosen.keyword_weight) == (0.7, 2.0)
    assert chosen.has_explicit_weights
    assert with_overrides(chosen, {"semantic_weight": 0.1}).semantic_weight == 0.1
    assert with_overrides(base, {"rrf_bm25_weight": "1.5"}).keyword_weight == 1.5
    with pytest.raises(UsageError, match="semantic_weight"):
        with_overrides(base, {"rrf_vector_weight": "much"})


@given(st.text(st.characters(exclude_characters="/\0"), min_size=1))
def test_every_folder_gives_its_vault_a_name(folder):
    name = vault_name(Path("/home/ana") / folder)
    assert VaultSettings(name=name, path=Path("/")).name == name


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        (".notes", "notes"),
        ("~/.config/-- my notes", "my notes"),
        ("...", "vault"),
        (" a ", "a"),
        ("Notes.v2", "Notes.v2"),
        ("日記", "日記"),
    ],
)
def test_a_name_is_made_from_a_folder(folder, name):
    assert vault_name(Path(folder)) == name
