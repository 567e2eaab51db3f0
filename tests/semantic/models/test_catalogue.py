"""Lookup of the model named in the settings."""

from collections.abc import Callable
from pathlib import Path

import pytest

from vaultseek.semantic.models import directories
from vaultseek.semantic.models.catalogue import find_model

MakeModel = Callable[..., Path]


def test_the_weights_of_the_bundled_model_are_not_read(
    model_folder: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker checks them against the digest that vaultseek trusts, so the daemon need not read 90 MB."""
    folder = model_folder()
    monkeypatch.setattr(directories, "package_path", lambda *_: folder)
    before = find_model("bundled").fingerprint
    (folder / "model.safetensors").write_text("others")
    assert find_model("bundled").fingerprint == before
