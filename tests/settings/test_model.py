"""The settings models: frozen, and aware of the weights that are set explicitly."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from vaultseek.settings.load import with_overrides
from vaultseek.settings.model import SearchSettings, Settings, VaultSettings


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
