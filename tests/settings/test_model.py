"""Settings: what the file and the environment may say, and the one line that follows when they are wrong."""

import os
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from vaultseek.errors import ConfigError, UsageError
from vaultseek.settings import describe as schema
from vaultseek.settings import model as config
from vaultseek.settings import reference as settings_page

EXAMPLE = Path(__file__).parents[2] / "config.toml.example"
Load = Callable[[str], config.Settings]


@pytest.fixture(autouse=True)
def _no_inherited_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("VAULTSEEK_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """Load a text as the configuration; ``notes`` is a folder beside it."""
    (tmp_path / "notes").mkdir()

    def from_text(text: str) -> config.Settings:
        file = tmp_path / "config.toml"
        file.write_text(text, encoding="utf-8")
        return config.load(file)

    return from_text


def complaint(load: Load, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(text)
    message = str(caught.value)
    assert "\n" not in message
    assert message.isprintable()
    return message


def vault(name: str = "notes", path: str = "notes") -> str:
    return f'[[vaults]]\nname = "{name}"\npath = "{path}"\n'


def test_no_file_means_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config.load() == config.Settings()
    assert config.load().vaults == ()


def test_the_default_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "vaultseek").mkdir()
    (tmp_path / "vaultseek" / "config.toml").write_text("[search]\nlimit = 3\n")
    assert config.load().search.limit == 3


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: no such file; --config takes"):
        config.load(tmp_path / "none.toml")


def test_a_folder_is_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        config.load(tmp_path)


@pytest.mark.timeout(10)
def test_a_pipe_a_device_or_a_closed_file_is_one_line_and_no_wait(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    os.mkfifo(file)
    with pytest.raises(ConfigError, match=r"config\.toml: cannot be read \(it is a named pipe, not a file\)"):
        config.load(file)
    with pytest.raises(ConfigError, match=r"/dev/zero: cannot be read \(it is a device, not a file\)"):
        config.load(Path("/dev/zero"))
    file.unlink()
    file.write_bytes(b"#" * 2_000_000)
    with pytest.raises(ConfigError, match="larger than 1048576 bytes"):
        config.load(file)


def test_values_of_every_section(load: Load) -> None:
    loaded = load(
        "[index]\nexclude = ['drafts/**']\nmax_note_bytes = 4096\n[model]\nname = 'hashing'\n"
        "[search]\nlimit = 5\nrrf_k = 30\nfusion = 'linear'\n"
        "[search.recency]\ntiers = [{days = 1, factor = 2}]\ndate = 'filename'\n[daemon]\nautostart = false\n"
    )
    assert loaded.index.exclude == ("drafts/**",)
    assert loaded.index.max_note_bytes == 4096
    assert loaded.model.name == "hashing"
    assert (loaded.search.limit, loaded.search.rrf_k, loaded.search.fusion) == (5, 30.0, "linear")
    assert loaded.search.recency.tiers == (config.RecencyTier(days=1.0, factor=2.0),)
    assert loaded.search.recency.date == "filename"
    assert not loaded.daemon.autostart


def test_settings_are_frozen(load: Load) -> None:
    loaded = load(vault())
    with pytest.raises(ValidationError, match="frozen"):
        loaded.search.limit = 3  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        loaded.vaults[0].name = "other"  # type: ignore[misc]


def test_vault_paths_are_resolved(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "link").symlink_to(tmp_path / "notes")
    (tmp_path / "other").mkdir()
    loaded = load(vault("a", "./other/../notes") + vault("b", "~/other"))
    assert [v.path for v in loaded.vaults] == [tmp_path / "notes", tmp_path / "other"]
    assert load(vault("a", "link")).vaults[0].path == tmp_path / "notes"
    assert load(vault("a", str(tmp_path / "notes"))).vaults[0].path == tmp_path / "notes"


def test_a_model_folder_is_resolved_whether_it_is_there_or_not(load: Load, tmp_path: Path) -> None:
    assert load("[model]\nname = 'notes'").model.name == str(tmp_path / "notes")
    assert load("[model]\nname = './nope/x'").model.name == str(tmp_path / "nope" / "x")
    assert load("[model]\nname = 'owner/nope'").model.name == "owner/nope"


BAD = {
    "unknown key": ("[search]\nlimt = 5", "search.limt: unknown key, expected search.limit?"),
    "unknown section": ("[serch]\nlimit = 5", "serch: unknown key, expected search?"),
    "nothing like it": (
        "[daemon]\nzzz = 5",
        "daemon.zzz: unknown key, expected one of autostart, tcp, rescan_minutes",
    ),
    "key of the library": ("_env_prefix = 1", "_env_prefix: unknown key, expected one of vaults, index"),
    "text for a number": (
        '[search]\nlimit = "5"',
        'search.limit: expected a whole number from 1 to 200, found "5"',
    ),
    "true for a number": (
        "[search]\nrrf_k = true",
        "search.rrf_k: expected a number from 1 to 1000, found true",
    ),
    "fraction": ("[search]\nlimit = 1.5", "search.limit: expected a whole number from 1 to 200, found 1.5"),
    "out of range": ("[search]\nlimit = 0", "search.limit: expected a whole number from 1 to 200, found 0"),
    "not a number": ("[search]\nalpha = nan", "search.alpha: expected a number from 0 to 1, found NaN"),
    "number for true": ("[search]\ngraph = 1", "search.graph: expected true or false, found 1"),
    "not an option": (
        "[search]\nmode = 'fast'",
        'search.mode: expected one of "hybrid", "keyword", "semantic", found "fast"',
    ),
    "value for a table": ("search = 5", "search: expected a table, found 5"),
    "text for a list": (
        "[index]\nexclude = '*.md'",
        'index.exclude: expected a list of texts, found "*.md"',
    ),
    "number in a list": ("[index]\nexclude = ['a', 1]", "index.exclude[1]: expected a text, found 1"),
    "date": ("[model]\nname = 2020-01-01", "model.name: expected a text that is not empty, found 2020-01-01"),
    "two problems": ("[search]\nlimit = 0\nrrf_k = 0", "found 0 (1 more problem)"),
    "tier": (
        "[search.recency]\ntiers = [{days = 0, factor = 1}]",
        "search.recency.tiers[0].days: expected a number above 0, found 0",
    ),
    "falling tiers": (
        "[search.recency]\ntiers = [{days = 9, factor = 1}, {days = 2, factor = 1}]",
        "search.recency.tiers: expected tiers with rising days, found",
    ),
    "unknown language": (vault() + "language = 'xx'", 'vaults[0].language: expected one of "ar"'),
    "one vault, not a list": ("[vaults]\nname = 'a'", "vaults: expected a list of {name, path"),
    "no path": ("[[vaults]]\nname = 'a'", "vaults[0].path: expected a path, found nothing"),
    "no folder": (
        vault("a") + vault("b", "gone"),
        "vaults[1].path: expected an existing folder, found no folder at",
    ),
    "a file": (vault("a", "config.toml"), "vaults[0].path: expected an existing folder, found a file:"),
    "NUL in a path": (vault("a", "x\\u0000y"), r"found no folder at x\x00y"),
    "nobody's home": (vault("a", "~nobody-9/x"), "found no folder at ~nobody-9/x"),
    "root": (vault("a", "/"), "vaults[0].path: expected a folder of notes, found the whole disk: /"),
    "home": (vault("a", "~"), "found the home directory or a folder above it"),
    "name with a slash": (vault("a/b"), "vaults[0].name: expected a plain name"),
    "two of one name": (
        vault("a") + vault("A"),
        'vaults[1].name: expected a name of its own, found "A" again',
    ),
    "two of one path": (vault("a") + vault("b", "./notes/"), "vaults[1].path: expected a folder of its own"),
    "no name of a model": (
        '[model]\nname = "x\\u0000y"',
        'model.name: expected "bundled", a fetched model or the folder of a model, found no folder at',
    ),
    "control characters": ('[search]\n"a\\u001b[31m" = 1', r"search.a\x1b[31m: unknown key"),
    "long value": (f"[search]\nmode = '{'x' * 500}'", "xxx..."),
    "no value": ("[search]\nlimit =\n", "line 2: not valid TOML: Invalid value"),
    "open list": ("[index]\n\nexclude = [1\n\n", "line 3: not valid TOML: Unclosed array"),
    "key twice": ("[search]\nlimit = 1\nlimit = 2\n", "line 3: not valid TOML: Cannot overwrite a value"),
    "too deep": ("a = " + "[" * 5000, "nested too deeply"),
}


@pytest.mark.parametrize(("text", "expected"), BAD.values(), ids=BAD.keys())
def test_a_wrong_file_gives_one_line(load: Load, tmp_path: Path, text: str, expected: str) -> None:
    message = complaint(load, text)
    assert message.startswith(f"{tmp_path / 'config.toml'}: ")
    assert expected in message


def test_other_encodings_are_named_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes("[search]\n# gr\u00f6\u00dfer".encode("latin-1"))
    with pytest.raises(ConfigError, match="line 2: expected UTF-8 text"):
        config.load(file)
    file.write_bytes(b"\xef\xbb\xbf[search]\nlimit = 3\n")
    assert config.load(file).search.limit == 3


def test_a_folder_above_the_home_directory_is_no_vault(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "notes" / "me"))
    assert "found the home directory or a folder above it" in complaint(load, vault())


def test_the_environment_goes_before_the_file(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSEEK_SEARCH__SEMANTIC_WEIGHT", "0.7")
    monkeypatch.setenv("VAULTSEEK_SEARCH__LIMIT", "3")
    monkeypatch.setenv("VAULTSEEK_SEARCH__GRAPH", "off")
    monkeypatch.setenv("VAULTSEEK_SEARCH__RECENCY__ENABLED", "false")
    monkeypatch.setenv("VAULTSEEK_SEARCH__RECENCY__TIERS", '[{"days": 3, "factor": 1.5}]')
    monkeypatch.setenv("VAULTSEEK_INDEX__EXCLUDE", '["a/**"]')
    monkeypatch.setenv("VAULTSEEK_SEARCH__ALPHA", "")
    loaded = load("[search]\nlimit = 7\nrrf_k = 30\n")
    assert (loaded.search.semantic_weight, loaded.search.limit, loaded.search.rrf_k) == (0.7, 3, 30.0)
    assert not loaded.search.graph
    assert loaded.search.recency == config.RecencySettings(
        enabled=False, tiers=(config.RecencyTier(days=3.0, factor=1.5),)
    )
    assert loaded.index.exclude == ("a/**",)
    assert loaded.search.alpha == 0.7


def test_vaults_from_the_environment(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSEEK_VAULTS", f'[{{"name": "a", "path": "{tmp_path / "notes"}"}}]')
    assert [v.name for v in load("").vaults] == ["a"]


def test_other_variables_of_ours_are_no_settings(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSEEK_CONFIG", "/some/config.toml")
    monkeypatch.setenv("VAULTSEEK_DEBUG", "1")
    assert load("") == config.Settings()


BAD_VARIABLES = {
    "wrong type": ("SEARCH__LIMIT", "x", 'search.limit: expected a whole number from 1 to 200, found "x"'),
    "unknown key": ("SEARCH__LIMT", "5", "search.limt: unknown key, expected search.limit?"),
    "unknown section": ("SERCH__LIMIT", "5", "unknown section, expected one of vaults, index"),
    "not true or false": ("DAEMON__AUTOSTART", "perhaps", 'expected true or false, found "perhaps"'),
    "not JSON": ("INDEX__EXCLUDE", "a,b", 'index.exclude: expected a list of texts, found "a,b"'),
    "not a table": ("MODEL", "bundled", 'model: expected a table, found "bundled"'),
    "vaults, not JSON": ("VAULTS", "~/Notes", 'found "~/Notes"'),
    "vaults, no folder": (
        "VAULTS",
        '[{"name": "a", "path": "gone"}]',
        "vaults[0].path: expected an existing",
    ),
}


@pytest.mark.parametrize(("name", "value", "expected"), BAD_VARIABLES.values(), ids=BAD_VARIABLES.keys())
def test_a_wrong_variable_is_named(
    load: Load, monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str
) -> None:
    monkeypatch.setenv(f"VAULTSEEK_{name}", value)
    message = complaint(load, "[search]\nlimit = 3\n")
    assert message.startswith(f"environment variable VAULTSEEK_{name}: ")
    assert expected in message


def test_the_file_is_blamed_where_the_variable_is_right(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSEEK_SEARCH__LIMIT", "5")
    assert "config.toml: search.rrf_k" in complaint(load, "[search]\nrrf_k = 'x'\nlimit = 1\n")


def test_a_request_overrides_some_settings() -> None:
    base = config.SearchSettings(limit=4, rrf_k=30.0)
    made = config.search_settings(
        base,
        {
            "semantic_weight": "0.7",
            "recency.enabled": "false",
            "graph": False,
            "recency": {"date": "created"},
        },
    )
    assert (made.limit, made.rrf_k, made.semantic_weight, made.graph) == (4, 30.0, 0.7, False)
    assert made.recency == config.RecencySettings(enabled=False, date="created")
    assert config.search_settings(base, {}) is base


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"limit": "x"}, 'setting limit: expected a whole number from 1 to 200, found "x"'),
        ({"limit": 10**30}, "setting limit: expected a whole number from 1 to 200"),
        ({"limitt": 3}, "setting limitt: unknown key, expected limit?"),
        (
            {"recency.on": "1"},
            "setting recency.on: unknown key, expected one of enabled, tiers, date, properties",
        ),
        ({"recency": 5}, "setting recency: expected a table, found 5"),
        ({"rrf_k": "nan"}, "setting rrf_k: expected a number from 1 to 1000"),
        ({"": 1}, 'setting "": unknown key'),
    ],
)
def test_a_wrong_override_gives_one_line(overrides: dict[str, object], expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        config.search_settings(config.SearchSettings(), overrides)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_weight_that_was_set_is_known_to_be_set() -> None:
    assert not config.SearchSettings(limit=3).weights_given
    assert config.SearchSettings(keyword_weight=1.0).weights_given
    assert config.search_settings(config.SearchSettings(), {"semantic_weight": "1"}).weights_given


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from([name for name, _ in schema.keys(config.SearchSettings)]) | st.text(max_size=12)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_overrides_are_taken_or_refused_in_one_printable_line(overrides: dict[str, object]) -> None:
    try:
        outcome = repr(config.search_settings(config.SearchSettings(), overrides))
    except UsageError as error:
        outcome = str(error)
    assert outcome.isprintable()


def uncommented_example() -> str:
    """The example with every key in force, as somebody would have it who took away each ``# ``."""
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line == "# [[vaults]]")
    setting = re.compile(r"# (\w+ = .*|\[\[vaults\]\])$")
    return "\n".join(setting.sub(r"\1", line) for line in lines[start:])


def test_the_example_loads_as_it_is() -> None:
    assert config.load(EXAMPLE) == config.Settings()


def test_the_example_names_every_key_with_its_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "Notes").mkdir()
    text = uncommented_example()
    file = tmp_path / "config.toml"
    file.write_text(text, encoding="utf-8")
    loaded = config.load(file)
    assert loaded.vaults == (config.VaultSettings(name="notes", path=tmp_path / "Notes", language="en"),)
    assert loaded.model_copy(update={"vaults": ()}) == config.Settings()
    assert dotted_keys(tomllib.loads(text)) == [name for name, _ in schema.keys(config.Settings)]
    assert list(tomllib.loads(text)["vaults"][0]) == list(config.VaultSettings.model_fields)


def test_the_example_and_the_reference_page_are_what_the_models_say() -> None:
    page = EXAMPLE.parent / "docs" / "configuration.md"
    anew = "it is made by scripts/settings_docs.py: run it"
    assert EXAMPLE.read_text(encoding="utf-8") == settings_page.example(), anew
    assert page.read_text(encoding="utf-8") == settings_page.reference(), anew


def test_every_key_has_a_description_of_a_sentence_and_stands_on_the_page() -> None:
    page = settings_page.reference()
    for model in (config.Settings, config.VaultSettings, config.RecencyTier):
        for name, field in schema.keys(model):
            assert (field.description or "").endswith("."), name
            variable = f"`VAULTSEEK_{name.upper().replace('.', '__')}`"
            assert (variable if model is config.Settings else f"| `{name}` |") in page


def test_all_that_is_wrong_is_named_and_the_rest_can_be_used(load: Load, tmp_path: Path) -> None:
    load("")
    file = tmp_path / "config.toml"
    file.write_text(
        f"serch = 1\n{vault('gone', 'gone')}{vault('here')}[search]\nlimit = 0\nmode = 'hybird'\n"
        "[daemon]\nautostart = false\n"
    )
    settings, wrong = config.examine(file)
    assert [schema.dotted(one.location) for one in wrong] == [
        "serch",
        "search.limit",
        "search.mode",
        "vaults[0].path",
    ]
    assert 'found "hybird"; did you mean "hybrid"?' in wrong[2].what
    assert [(v.name, v.path) for v in settings.vaults] == [("here", tmp_path / "notes")]
    assert (settings.daemon.autostart, settings.search) == (False, config.SearchSettings())
    with pytest.raises(ConfigError, match=r"serch: unknown key, expected search\? \(3 more problems\)"):
        config.load(file)


def test_where_a_setting_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[search]\nlimit = 3\nalpha = 0.5\n")
    monkeypatch.setenv("VAULTSEEK_SEARCH__ALPHA", "0.6")
    source = config.sources(file)
    assert source(("search", "limit")) == "file"
    assert source(("search", "alpha")) == "VAULTSEEK_SEARCH__ALPHA"
    assert source(("search", "recency", "date")) == "default"


def dotted_keys(table: dict[str, object], prefix: str = "") -> list[str]:
    found: list[str] = []
    for name, value in table.items():
        found += dotted_keys(value, f"{prefix}{name}.") if isinstance(value, dict) else [f"{prefix}{name}"]
    return found
