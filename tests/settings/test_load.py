"""Reading the settings: precedence, resolved paths, and one-line errors."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from vaultseek.errors import ConfigError, UsageError
from vaultseek.settings.describe import dotted_key, keys
from vaultseek.settings.load import examine, load, sources, with_overrides
from vaultseek.settings.model import Settings
from vaultseek.settings.search import RecencySettings, RecencyTier, SearchSettings

LoadText = Callable[[str], Settings]


@pytest.fixture(autouse=True)
def _no_inherited_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("VAULTSEEK_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def load_text(tmp_path: Path) -> Iterator[LoadText]:
    """Load a text as the configuration; ``notes`` is a folder beside it."""
    (tmp_path / "notes").mkdir()

    def from_text(text: str) -> Settings:
        file = tmp_path / "config.toml"
        file.write_text(text, encoding="utf-8")
        return load(file)

    return from_text


def error_message(load_text: LoadText, text: str) -> str:
    with pytest.raises(ConfigError) as error:
        load_text(text)
    message = str(error.value)
    assert "\n" not in message
    assert message.isprintable()
    return message


def vault_entry(name: str = "notes", path: str = "notes") -> str:
    return f'[[vaults]]\nname = "{name}"\npath = "{path}"\n'


def test_no_file_means_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert load() == Settings()
    assert load().vaults == ()


def test_the_default_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "vaultseek").mkdir()
    (tmp_path / "vaultseek" / "config.toml").write_text("[search]\nlimit = 3\n")
    assert load().search.limit == 3


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: no such file; use the path of a TOML file"):
        load(tmp_path / "none.toml")


def test_a_folder_is_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path)


@pytest.mark.timeout(10)
def test_a_pipe_a_device_or_a_closed_file_is_one_line_and_no_wait(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    os.mkfifo(file)
    with pytest.raises(ConfigError, match=r"config\.toml: cannot be read \(not a regular file\)"):
        load(file)
    with pytest.raises(ConfigError, match=r"/dev/zero: cannot be read \(not a regular file\)"):
        load(Path("/dev/zero"))
    file.unlink()
    file.write_bytes(b"#" * 2_000_000)
    with pytest.raises(ConfigError, match="larger than 262144 bytes"):
        load(file)


def test_values_of_every_section(load_text: LoadText) -> None:
    loaded = load_text(
        "[index]\nexclude = ['drafts/**']\nmax_note_bytes = 4096\n[model]\nname = 'hashing'\n"
        "[search]\nlimit = 5\nrrf_k = 30\nfusion = 'linear'\n"
        "[search.recency]\ntiers = [{days = 1, factor = 2}]\ndate = 'filename'\n[daemon]\nautostart = false\n"
    )
    assert loaded.index.exclude == ("drafts/**",)
    assert loaded.index.max_note_bytes == 4096
    assert loaded.model.name == "hashing"
    assert (loaded.search.limit, loaded.search.rrf_k, loaded.search.fusion) == (5, 30.0, "linear")
    assert loaded.search.recency.tiers == (RecencyTier(days=1.0, factor=2.0),)
    assert loaded.search.recency.date == "filename"
    assert not loaded.daemon.autostart


def test_vault_paths_are_resolved(
    load_text: LoadText, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "link").symlink_to(tmp_path / "notes")
    (tmp_path / "other").mkdir()
    loaded = load_text(vault_entry("a", "./other/../notes") + vault_entry("b", "~/other"))
    assert [v.path for v in loaded.vaults] == [tmp_path / "notes", tmp_path / "other"]
    assert load_text(vault_entry("a", "link")).vaults[0].path == tmp_path / "notes"
    assert load_text(vault_entry("a", str(tmp_path / "notes"))).vaults[0].path == tmp_path / "notes"


def test_a_model_folder_is_resolved_whether_it_is_there_or_not(load_text: LoadText, tmp_path: Path) -> None:
    assert load_text("[model]\nname = 'notes'").model.name == str(tmp_path / "notes")
    assert load_text("[model]\nname = './nope/x'").model.name == str(tmp_path / "nope" / "x")
    assert load_text("[model]\nname = 'owner/nope'").model.name == "owner/nope"


@pytest.mark.fault("G13")
def test_a_folder_above_the_home_directory_is_no_vault(
    load_text: LoadText, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "notes" / "me"))
    assert "found the home directory or a folder above it" in error_message(load_text, vault_entry())


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
        'index.exclude: expected a list of strings, found "*.md"',
    ),
    "number in a list": ("[index]\nexclude = ['a', 1]", "index.exclude[1]: expected a string, found 1"),
    "date": (
        "[model]\nname = 2020-01-01",
        "model.name: expected a non-empty string, found 2020-01-01",
    ),
    "two problems": ("[search]\nlimit = 0\nrrf_k = 0", "found 0 (1 more problem)"),
    "tier": (
        "[search.recency]\ntiers = [{days = 0, factor = 1}]",
        "search.recency.tiers[0].days: expected a number above 0, found 0",
    ),
    "falling tiers": (
        "[search.recency]\ntiers = [{days = 9, factor = 1}, {days = 2, factor = 1}]",
        "search.recency.tiers: expected tiers in order of increasing days, found",
    ),
    "unknown language": (vault_entry() + "language = 'xx'", 'vaults[0].language: expected one of "ar"'),
    "one vault, not a list": ("[vaults]\nname = 'a'", "vaults: expected a list of {name, path"),
    "no path": ("[[vaults]]\nname = 'a'", "vaults[0].path: expected a path, found nothing"),
    "a file": (vault_entry("a", "config.toml"), "vaults[0].path: expected an existing folder, found a file:"),
    "NUL in a path": (vault_entry("a", "x\\u0000y"), r"found no folder at x\x00y"),
    "nobody's home": (vault_entry("a", "~nobody-9/x"), "found no folder at ~nobody-9/x"),
    "root": (vault_entry("a", "/"), "vaults[0].path: expected a folder of notes, found the whole disk: /"),
    "system": (
        vault_entry("a", "/proc"),
        "vaults[0].path: expected a folder of notes; /proc is a system folder",
    ),
    "home": (vault_entry("a", "~"), "found the home directory or a folder above it"),
    "name with a slash": (vault_entry("a/b"), "vaults[0].name: expected a plain name"),
    "two of one name": (
        vault_entry("a") + vault_entry("A"),
        'vaults[1].name: expected a unique name, found "A" again',
    ),
    "two of one path": (
        vault_entry("a") + vault_entry("b", "./notes/"),
        "vaults[1].path: expected a folder that",
    ),
    "no name of a model": (
        '[model]\nname = "x\\u0000y"',
        'model.name: expected "auto", "bundled", "multilingual-e5-small", a fetched model or its '
        "folder, found no folder at",
    ),
    "control characters": ('[search]\n"a\\u001b[31m" = 1', r"search.a\x1b[31m: unknown key"),
    "long value": (f"[search]\nmode = '{'x' * 500}'", "xxx..."),
    "no value": ("[search]\nlimit =\n", "line 2: not valid TOML: Invalid value"),
    "open list": ("[index]\n\nexclude = [1\n\n", "line 3: not valid TOML: Unclosed array"),
    "key twice": ("[search]\nlimit = 1\nlimit = 2\n", "line 3: not valid TOML: Cannot overwrite a value"),
    "too deep": ("a = " + "[" * 5000, "nested too deeply"),
    "tables too deep": ("\na = " + "{a = " * 5000, "nested too deeply"),
    "key of too many parts": ("# A. a\n" + "a." * 20_000 + "b = 1", "line 2: nested too deeply"),
    "quoted, in a table": ('a = {b = 1,"a." . ' + "'a' . " * 20_000 + "b = 1}", "line 1: nested too"),
    "table of too many parts": ("[[" + "a . " * 20_000 + "b]]", "line 1: nested too deeply"),
    "number of too many digits": ("\na = " + "1" * 5000, "line 2: not valid TOML"),
    "hexadecimal number of too many digits": ("[search]\nlimit = 0x" + "f" * 50_000, "search.limit: "),
}


@pytest.mark.fault("G13")
@pytest.mark.parametrize(("text", "expected"), BAD.values(), ids=BAD.keys())
def test_a_wrong_file_gives_one_line(load_text: LoadText, tmp_path: Path, text: str, expected: str) -> None:
    message = error_message(load_text, text)
    assert message.startswith(f"{tmp_path / 'config.toml'}: ")
    assert expected in message


def test_dots_and_brackets_in_texts_and_comments_do_not_count(load_text: LoadText) -> None:
    many = "[.{" * 100
    lines = (
        f'# {many}"',
        "[searches]",
        rf'a = "{many}\"{many}"',
        f"b = '{many}'",
        f"c = '''{many}\n''{many}'''",
        rf'''d = """{many}\"""{many}"""''',
        "[search]",
        "limit = 3",
    )
    assert load_text("\n".join(lines)).search.limit == 3


def test_other_encodings_are_named_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes("[search]\n# gr\u00f6\u00dfer".encode("latin-1"))
    with pytest.raises(ConfigError, match="line 2: not valid UTF-8"):
        load(file)
    file.write_bytes(b"\xef\xbb\xbf[search]\nlimit = 3\n")
    assert load(file).search.limit == 3


def test_the_environment_goes_before_the_file(load_text: LoadText, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSEEK_SEARCH__SEMANTIC_WEIGHT", "0.7")
    monkeypatch.setenv("VAULTSEEK_SEARCH__LIMIT", "3")
    monkeypatch.setenv("VAULTSEEK_SEARCH__GRAPH", "off")
    monkeypatch.setenv("VAULTSEEK_SEARCH__RECENCY__ENABLED", "false")
    monkeypatch.setenv("VAULTSEEK_SEARCH__RECENCY__TIERS", '[{"days": 3, "factor": 1.5}]')
    monkeypatch.setenv("VAULTSEEK_INDEX__EXCLUDE", '["a/**"]')
    monkeypatch.setenv("VAULTSEEK_SEARCH__ALPHA", "")
    loaded = load_text("[search]\nlimit = 7\nrrf_k = 30\n")
    assert (loaded.search.semantic_weight, loaded.search.limit, loaded.search.rrf_k) == (0.7, 3, 30.0)
    assert not loaded.search.graph
    assert loaded.search.recency == RecencySettings(enabled=False, tiers=(RecencyTier(days=3.0, factor=1.5),))
    assert loaded.index.exclude == ("a/**",)
    assert loaded.search.alpha == 0.7


def test_vaults_from_the_environment(
    load_text: LoadText, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTSEEK_VAULTS", f'[{{"name": "a", "path": "{tmp_path / "notes"}"}}]')
    assert [v.name for v in load_text("").vaults] == ["a"]


def test_other_variables_of_ours_are_no_settings(
    load_text: LoadText, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTSEEK_CONFIG", "/some/config.toml")
    monkeypatch.setenv("VAULTSEEK_DEBUG", "1")
    assert load_text("") == Settings()


BAD_VARIABLES = {
    "wrong type": ("SEARCH__LIMIT", "x", 'search.limit: expected a whole number from 1 to 200, found "x"'),
    "unknown key": ("SEARCH__LIMT", "5", "search.limt: unknown key, expected search.limit?"),
    "unknown section": ("SERCH__LIMIT", "5", "unknown section, expected one of vaults, index"),
    "not true or false": ("DAEMON__AUTOSTART", "perhaps", 'expected true or false, found "perhaps"'),
    "not JSON": ("INDEX__EXCLUDE", "a,b", 'index.exclude: expected a list of strings, found "a,b"'),
    "not a table": ("MODEL", "bundled", 'model: expected a table, found "bundled"'),
    "vaults, not JSON": ("VAULTS", "~/Notes", 'found "~/Notes"'),
    "vaults, a file": (
        "VAULTS",
        '[{"name": "a", "path": "config.toml"}]',
        "vaults[0].path: expected an existing",
    ),
}


@pytest.mark.parametrize(("name", "value", "expected"), BAD_VARIABLES.values(), ids=BAD_VARIABLES.keys())
def test_a_wrong_variable_is_named(
    load_text: LoadText, monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str
) -> None:
    monkeypatch.setenv(f"VAULTSEEK_{name}", value)
    message = error_message(load_text, "[search]\nlimit = 3\n")
    assert message.startswith(f"environment variable VAULTSEEK_{name}: ")
    assert expected in message


def test_the_file_is_blamed_where_the_variable_is_right(
    load_text: LoadText, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTSEEK_SEARCH__LIMIT", "5")
    assert "config.toml: search.rrf_k" in error_message(load_text, "[search]\nrrf_k = 'x'\nlimit = 1\n")


def test_a_key_that_is_set_by_both_of_its_names_is_reported(load_text: LoadText) -> None:
    text = "[search]\nsemantic_weight = 1.0\nrrf_vector_weight = 2.0\n"
    expected = "search.semantic_weight: rrf_vector_weight is another name for this setting and is also set"
    assert expected in error_message(load_text, text)
    with pytest.raises(UsageError, match="keyword_weight: rrf_keyword_weight is another name for this"):
        with_overrides(SearchSettings(), {"keyword_weight": 1, "rrf_keyword_weight": 2})
    with pytest.raises(UsageError, match="rrf_keyword_weight: rrf_bm25_weight is another name for this"):
        with_overrides(SearchSettings(), {"rrf_bm25_weight": 1, "rrf_keyword_weight": 2})
    assert load_text("[search]\nrrf_vector_weight = 2.0\n").search.semantic_weight == 2.0


def test_a_request_overrides_some_settings() -> None:
    base = SearchSettings(limit=4, rrf_k=30.0)
    made = with_overrides(
        base,
        {
            "semantic_weight": "0.7",
            "recency.enabled": "false",
            "graph": False,
            "recency": {"date": "created"},
        },
    )
    assert (made.limit, made.rrf_k, made.semantic_weight, made.graph) == (4, 30.0, 0.7, False)
    assert made.recency == RecencySettings(enabled=False, date="created")
    assert with_overrides(base, {}) is base


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
    with pytest.raises(UsageError) as error:
        with_overrides(SearchSettings(), overrides)
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from([name for name, _ in keys(SearchSettings)]) | st.text(max_size=12)


@examples(150, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_overrides_are_taken_or_refused_in_one_printable_line(overrides: dict[str, object]) -> None:
    try:
        outcome = repr(with_overrides(SearchSettings(), overrides))
    except UsageError as error:
        outcome = str(error)
    assert outcome.isprintable()


def test_all_that_is_wrong_is_named_and_the_rest_can_be_used(load_text: LoadText, tmp_path: Path) -> None:
    load_text("")
    file = tmp_path / "config.toml"
    file.write_text(
        f"serch = 1\n{vault_entry('gone', 'gone')}{vault_entry('here')}[search]\nlimit = 0\nmode = 'hybird'\n"
        "[daemon]\nautostart = false\n"
    )
    settings, problems = examine(file)
    assert [dotted_key(problem.location) for problem in problems] == [
        "serch",
        "search.limit",
        "search.mode",
        "vaults[0].path",
    ]
    assert 'found "hybird"; did you mean "hybrid"?' in problems[2].message
    assert [(v.name, v.path) for v in settings.vaults] == [
        ("gone", tmp_path / "gone"),
        ("here", tmp_path / "notes"),
    ]
    assert (settings.daemon.autostart, settings.search) == (False, SearchSettings())
    with pytest.raises(ConfigError, match=r"serch: unknown key, expected search\? \(2 more problems\)"):
        load(file)


def test_where_a_setting_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[search]\nlimit = 3\nalpha = 0.5\n")
    monkeypatch.setenv("VAULTSEEK_SEARCH__ALPHA", "0.6")
    source = sources(file)
    assert source(("search", "limit")) == "file"
    assert source(("search", "alpha")) == "VAULTSEEK_SEARCH__ALPHA"
    assert source(("search", "recency", "date")) == "default"


def test_a_vault_that_is_not_mounted_stays(load_text: LoadText, tmp_path: Path) -> None:
    load_text("")
    file = tmp_path / "config.toml"
    file.write_text(vault_entry("gone", "gone") + vault_entry("here"))
    settings, problems = examine(file)
    assert [vault.name for vault in settings.vaults] == ["gone", "here"]
    assert [(dotted_key(each.location), each.fatal) for each in problems] == [("vaults[0].path", False)]
    assert load(file) == settings
