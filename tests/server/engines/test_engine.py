"""The settings of an engine, and the data it must hold."""

import pytest

from vaultseek.base import limits
from vaultseek.core.indexing import batches, ingest
from vaultseek.errors import ConfigError
from vaultseek.settings.model import IndexSettings
from vaultseek_server.settings import EngineOptions


def test_a_page_holds_all_notes_of_one_commit():
    """Otherwise a large commit would be applied again and again, because a page ends before the next
    revision."""
    assert max(batches.MOST_NOTES, ingest.BATCH_NOTES) <= limits.CATCH_UP_NOTES


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "index.uri is missing"),
        ({"uri": "notes.db"}, "expected postgresql://HOST/DATABASE"),
        ({"uri": "postgresql://me:secret@db/notes"}, "put user:password into a file"),
        ({"uri": "postgresql://db/notes", "certificate": "/no/such.pem"}, "found none at /no/such.pem"),
        (
            {"uri": "postgresql://db/notes", "token_variable": "NO_SUCH"},
            r"NO_SUCH \(index\.token_variable\) is not",
        ),
        ({"uri": "postgresql://db/notes", "token_file": "{shared}"}, "other users can read"),
        ({"uri": "postgresql://db/notes", "token_file": "/no/such"}, "cannot be read"),
    ],
)
def test_a_wrong_setting_is_one_line(tmp_path, values, message):
    from vaultseek_server.engines.engine import backend_of

    shared = tmp_path / "token"
    shared.write_text("anna:pump")
    shared.chmod(0o644)
    given = {key: value.replace("{shared}", str(shared)) for key, value in values.items()}
    options = IndexSettings(backend="postgres", **given).engine
    assert options is not None
    with pytest.raises(ConfigError, match=message) as raised:
        backend_of(options)
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_token_comes_from_a_private_file_or_a_variable(tmp_path, monkeypatch):
    file = tmp_path / "token"
    file.write_text("anna:pump\n")
    file.chmod(0o600)
    assert EngineOptions("postgresql://db/notes", token_file=str(file)).token() == "anna:pump"
    monkeypatch.setenv("MY_TOKEN", "abc")
    assert EngineOptions("postgresql://db/notes", token_variable="MY_TOKEN").token() == "abc"
    assert EngineOptions("postgresql://db/notes").token() == ""


def test_the_place_of_an_engine_is_its_address_without_user_and_password():
    assert EngineOptions("postgresql://anna@a:5432,b:5432/notes").place == "postgresql://a:5432,b:5432/notes"
    assert IndexSettings().engine is None


def test_a_missing_extra_is_one_line(monkeypatch):
    import importlib.util

    from vaultseek_server.engines.engine import backend_of

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="needs the postgres extra; add it"):
        backend_of(EngineOptions("postgresql://db/notes"))
