"""The settings: what ``config.toml`` and ``VAULTSEEK_*`` variables may say, with every default.

The models below are the reference: each key has its type, its default and one sentence of why. The
environment goes before the file (``VAULTSEEK_SEARCH__LIMIT=5`` is ``limit`` in ``[search]``; lists are JSON).
Whatever is wrong becomes a ``ConfigError`` of one line: file or variable, key, what was expected and found;
``examine`` names all that is wrong and gives what can be used nevertheless.

Importing this module costs some 150 ms; the daemon does, the command line only when it has to start one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from vaultseek import limits, paths
from vaultseek.errors import ConfigError, UsageError
from vaultseek.settings import describe as schema
from vaultseek.settings import toml as toml_file
from vaultseek.settings.describe import Location, dotted, printable, shown

PREFIX = "VAULTSEEK_"
DELIMITER = "__"
BUNDLED = "bundled"
HASHING = "hashing"

Language = Literal[
    "ar", "da", "de", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ro", "ru", "sv", "tr"
]
Mode = Literal["hybrid", "keyword", "semantic"]
Weight = Annotated[float, Field(ge=0.0, le=limits.WEIGHT)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class VaultSettings(_Section):
    """``[[vaults]]``: a folder of notes that is watched.

    After ``load``, ``path`` is a real, absolute folder.
    """

    name: str = Field(
        examples=["notes"],
        description="What --vault and the answers call this vault; no slash in it.",
    )
    path: Path = Field(
        strict=False,
        examples=["~/Notes"],
        description="The folder of notes; ~ works, a relative path starts at the folder of this file.",
    )
    language: Language | None = Field(
        default=None,
        examples=["en"],
        description="Language of the notes, for word stems; left out, the notes themselves decide.",
    )
    exclude: tuple[str, ...] = Field(
        default=(), strict=False, description="Globs of notes and folders of this vault that are left out."
    )

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not name.strip() or "/" in name or not name.isprintable() or name.startswith(("~", ".", "-")):
            raise ValueError("a plain name (no slash, not starting with '~', '.' or '-')")
        return name


class IndexSettings(_Section):
    """``[index]``: what is taken in."""

    exclude: tuple[str, ...] = Field(
        default=(), strict=False, description="Globs of notes and folders that are left out of every vault."
    )
    max_note_bytes: int = Field(
        default=limits.NOTE_PARSE_BYTES,
        ge=limits.KIB,
        le=limits.NOTE_PARSE_BYTES,
        description="A larger note is found by its name and path only, and named as a problem.",
    )


class ModelSettings(_Section):
    """``[model]``: what turns passages into vectors."""

    name: str = Field(
        default=BUNDLED,
        min_length=1,
        description='"bundled" is all-MiniLM-L6-v2 as installed; else a model that `vaultseek models fetch` '
        'brought, or the folder of one; "hashing" is a stand-in without meaning, for tests.',
    )


class RecencyTier(_Section):
    """Notes up to ``days`` old have their score multiplied by ``factor``."""

    days: float = Field(gt=0.0, description="Age up to which the tier holds.")
    factor: float = Field(gt=0.0, le=limits.WEIGHT, description="What the score is multiplied by.")


class RecencySettings(_Section):
    """``[search.recency]``: fresh notes first among equals."""

    enabled: bool = Field(default=True, description="Whether the age of a note counts at all.")
    tiers: tuple[RecencyTier, ...] = Field(
        default=(RecencyTier(days=7.0, factor=1.2), RecencyTier(days=30.0, factor=1.1)),
        strict=False,
        description="The first tier that a note is young enough for multiplies its score.",
    )
    date: Literal["modified", "created", "filename"] = Field(
        default="modified", description="Which date of a note its age is counted from."
    )
    properties: tuple[str, ...] = Field(
        default=(),
        strict=False,
        max_length=limits.DATE_PROPERTIES,
        description="Properties that hold a date; the first that a note has goes before ``date``.",
    )

    @field_validator("tiers")
    @classmethod
    def _ascending(cls, tiers: tuple[RecencyTier, ...]) -> tuple[RecencyTier, ...]:
        days = [tier.days for tier in tiers]
        if any(later <= earlier for earlier, later in pairwise(days)):
            raise ValueError("tiers with rising days")
        return tiers


class ExpansionSettings(_Section):
    """``[search.expansion]``: terms of the vault that are near to a query join it, for the meaning only."""

    enabled: bool = Field(default=False, description="Whether queries are expanded at all.")
    terms: int = Field(
        default=3, ge=1, le=limits.EXPANSION_TERMS, description="How many of the nearest terms join a query."
    )
    floor: float = Field(
        default=0.6, ge=0.0, le=1.0, description="Similarity to the query below which no term joins it."
    )


class SearchSettings(_Section):
    """``[search]``: how a query is answered; every key may also be given with a request."""

    limit: int = Field(default=10, ge=1, le=limits.RESULTS, description="Results, one a note.")
    mode: Mode = Field(
        default="hybrid", description="Which lanes are asked: all, words alone or meaning alone."
    )
    fusion: Literal["rrf", "linear"] = Field(
        default="rrf", description="How lanes become one list: reciprocal ranks, or normalised scores."
    )
    rrf_k: float = Field(
        default=60.0, ge=1.0, le=1000.0, description="Smaller trusts the top of each lane more."
    )
    rrf_ranks: Literal["score", "integer"] = Field(
        default="score", description="Ranks that keep the distance between scores, or the textbook's 1, 2, 3."
    )
    rrf_min_score: float = Field(
        default=0.0, ge=0.0, le=1.0, description="Raw RRF score below which a result is dropped; 0 keeps all."
    )
    keyword_weight: Weight = Field(
        default=1.0, description="Weight of the keyword lane; set, it switches adaptive off."
    )
    semantic_weight: Weight = Field(
        default=1.0, description="Weight of the semantic lane; set, it switches adaptive off."
    )
    graph_weight: Weight = Field(
        default=0.5, description="Weight of linked neighbours, below direct matches."
    )
    graph: bool = Field(default=True, description="Whether neighbours by links join the candidates.")
    alpha: float = Field(
        default=0.7,
        ge=0.0,
        le=1.0,
        description='Semantic share with fusion = "linear"; keywords get the rest.',
    )
    adaptive: bool = Field(
        default=True, description="Choose the weights by the query, as the profile says, where none is set."
    )
    profile: Literal["auto", "length", "code", "conceptual", "balanced"] = Field(
        default="auto",
        description="Whose weights: by what words find, by the query's length, or one of three fixed pairs.",
    )
    company: float = Field(
        default=0.3,
        ge=0.0,
        le=0.9,
        description="Share of a note's score that comes from the other candidates that are most like it.",
    )
    top_k_factor: float = Field(
        default=2.0, ge=1.0, le=20.0, description="Each lane gives max(10, factor * limit) candidates."
    )
    min_confidence: float = Field(
        default=0.0, ge=0.0, le=1.0, description="Confidence below which a result is dropped; 0 keeps all."
    )
    nothing_below: float = Field(
        default=0.06,
        ge=0.0,
        le=1.0,
        description="Nothing is found where none of the ten best has this confidence; 0 always lists them.",
    )
    anchor_boost: float = Field(
        default=1.5,
        ge=1.0,
        le=limits.WEIGHT,
        description="Factor for notes that hold an identifier of the query.",
    )
    rerank_enabled: bool = Field(
        default=False,
        description="Whether a cross-encoder reads the first results again, slowly, and orders them anew.",
    )
    rerank_model: str = Field(
        default="cross-encoder/ms-marco-MiniLM-L-6-v2",
        min_length=1,
        description="A cross-encoder that was fetched, or the folder of one.",
    )
    rerank_top_n: int = Field(
        default=10, ge=2, le=limits.RERANKED_NOTES, description="How many results are read again."
    )
    rerank_seconds: float = Field(
        default=limits.RERANK_SECONDS,
        gt=0.0,
        le=limits.DEADLINE_SECONDS,
        description="What is not reranked after so long keeps the order that it had.",
    )
    recency: RecencySettings = RecencySettings()
    expansion: ExpansionSettings = ExpansionSettings()

    @property
    def weights_given(self) -> bool:
        """Whether somebody set a lane's weight, so that no profile may choose it."""
        return bool({"keyword_weight", "semantic_weight"} & self.model_fields_set)

    @property
    def alpha_given(self) -> bool:
        """Whether somebody set ``alpha``."""
        return "alpha" in self.model_fields_set


class DaemonSettings(_Section):
    """``[daemon]``: the process behind the commands."""

    autostart: bool = Field(default=True, description="Whether a command that needs the daemon may start it.")
    tcp: bool = Field(
        default=False,
        description="Whether programs that cannot use the Unix socket may come through a port of 127.0.0.1, "
        "with the token from daemon.tcp beside the socket; needs a restart of the daemon.",
    )
    rescan_minutes: float = Field(
        default=limits.RESCAN_SECONDS / 60,
        ge=1.0,
        le=limits.RESCAN_MINUTES,
        description="How often the disk is compared with the index although no change was reported.",
    )


class Settings(BaseSettings):
    """All settings, frozen. Made by ``load``; called directly, it reads the environment only."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        env_prefix=PREFIX,
        env_nested_delimiter=DELIMITER,
        env_ignore_empty=True,
    )

    vaults: tuple[VaultSettings, ...] = Field(
        default=(), strict=False, description="The folders of notes that are watched from the start."
    )
    index: IndexSettings = IndexSettings()
    model: ModelSettings = ModelSettings()
    search: SearchSettings = SearchSettings()
    daemon: DaemonSettings = DaemonSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment before the file, and nothing else."""
        return _Environment(settings_cls), init_settings


class _Environment(EnvSettingsSource):
    """Variables with their text turned into the type of their key, as far as that works."""

    def __call__(self) -> dict[str, Any]:
        values: dict[str, Any] = schema.typed(super().__call__(), Settings)
        return values

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        # Text that is no JSON is left for validation to complain about, which knows key and variable.
        return schema.from_json(value)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A setting that cannot be taken: where it was said, its key, and what was expected and found."""

    where: str
    """The file, or ``environment variable NAME``."""
    location: Location
    what: str
    bearable: bool = False
    """Whether the daemon can run all the same, and says what does not work."""

    def __str__(self) -> str:
        key = f"{dotted(self.location)}: " if self.location else ""
        return f"{printable(self.where, limits.PATH_BYTES)}: {key}{self.what}"


def load(path: Path | None = None) -> Settings:
    """Read the settings from ``path``, or from the default file if there is one.

    Vault and model paths come back absolute and resolved; relative ones start at the file's folder. A model
    that is not there is no error: whoever looks for it is told.

    Raises:
        ConfigError: one line that names file or variable, key, what was expected and what was found.
    """
    settings, wrong = examine(path)
    grave = [one for one in wrong if not one.bearable]
    if grave:
        raise ConfigError(f"{grave[0]}{schema.and_more(len(grave) - 1)}")
    return settings


def examine(path: Path | None = None) -> tuple[Settings, tuple[Wrong, ...]]:
    """Everything that is wrong with the settings, and those that can be used: what is wrong has its default.

    Raises:
        ConfigError: the file cannot be read, or it is no TOML.
    """
    file = _absolute(path)
    data = toml_file.read(file, required=path is not None)
    origin = _Origin(file)
    wrong = [*_unknown_variables(), *_unknown_sections(data, origin)]
    known = {name: value for name, value in data.items() if name in Settings.model_fields}
    try:
        settings = Settings(**known)
        vaults = list(enumerate(settings.vaults))
    except ValidationError as error:
        wrong += [origin.wrong(*problem) for problem in schema.problems(error, Settings)]
        settings, vaults = _usable(known)
    placed, misplaced = _placed(settings, vaults, origin)
    return placed, (*wrong, *misplaced)


def sources(path: Path | None = None) -> Callable[[Location], str]:
    """Tells where the setting at a location comes from: a variable's name, ``file`` or ``default``.

    Raises ConfigError where the file cannot be read.
    """
    file = _absolute(path)
    origin = _Origin(file)
    data = toml_file.read(file, required=path is not None)

    def source(location: Location) -> str:
        told: Any = data
        for part in location:
            if not isinstance(told, Mapping) or part not in told:
                return origin.variable(location) or "default"
            told = told[part]
        return origin.variable(location) or "file"

    return source


def check_environment() -> None:
    """Raise ConfigError if a variable of this process says what no setting can be."""
    wrong = _unknown_variables()
    try:
        Settings()
    except ValidationError as error:
        origin = _Origin(paths.config_file())
        wrong += [origin.wrong(*problem) for problem in schema.problems(error, Settings)]
    if wrong:
        raise ConfigError(f"{wrong[0]}{schema.and_more(len(wrong) - 1)}")


def search_settings(base: SearchSettings, overrides: Mapping[str, Any]) -> SearchSettings:
    """``base`` with one request's settings laid over it.

    ``overrides`` maps dotted keys of ``[search]`` (``"recency.enabled"``) or nested tables to values; text is
    understood as in the environment.

    Raises:
        UsageError: one line that names the key, what was expected and what was found.
    """
    if not overrides:
        return base
    values = base.model_dump(exclude_unset=True)
    for key, value in overrides.items():
        _lay(values, str(key).lower().split("."), value)
    try:
        return SearchSettings.model_validate(schema.typed(values, SearchSettings))
    except ValidationError as error:
        location, wrong = schema.first_problem(error, SearchSettings)
        raise UsageError(f"setting {dotted(location)}: {wrong}") from None


def _absolute(path: Path | None) -> Path:
    return Path(os.path.abspath(path or paths.config_file()))  # noqa: PTH100 - absolute, links kept


def _unknown_sections(data: Mapping[str, Any], origin: _Origin) -> list[Wrong]:
    """``Settings`` is called with keywords, where a few names would mean something else."""
    unknown = [name for name in data if name not in Settings.model_fields]
    return [Wrong(str(origin.file), (name,), schema.unknown_key(name, Settings)) for name in unknown]


def _usable(data: Mapping[str, Any]) -> tuple[Settings, list[tuple[int, VaultSettings]]]:
    """The sections and the vaults, with their numbers, that are right by themselves."""
    told = dict(data)
    for name, value in _Environment(Settings)().items():
        _lay(told, [name], value)
    sections: dict[str, Any] = {}
    for name, field in Settings.model_fields.items():
        section = schema.section_of(field.annotation)
        if name in told and section is not None and not schema.is_list(field.annotation):
            with suppress(ValidationError):
                sections[name] = section.model_validate(told[name])
    vaults = []
    for number, entry in enumerate(told.get("vaults") or ()):
        with suppress(ValidationError):
            vaults.append((number, VaultSettings.model_validate(entry)))
    return Settings.model_construct(**sections), vaults


# The environment


def _unknown_variables() -> list[Wrong]:
    found = []
    for variable in sorted(os.environ):
        section, nested, _ = variable.upper().removeprefix(PREFIX).partition(DELIMITER)
        if not nested or not variable.upper().startswith(PREFIX):
            continue
        if section.lower() not in Settings.model_fields:
            known = ", ".join(Settings.model_fields)
            where = f"environment variable {printable(variable)}"
            found.append(Wrong(where, (), f"unknown section, expected one of {known}"))
    return found


def _lay(values: dict[str, Any], key: list[str], value: Any) -> None:
    *tables, last = key
    for name in tables:
        inner = values.get(name)
        values[name] = values = dict(inner) if isinstance(inner, dict) else {}
    if isinstance(value, Mapping):
        for name, nested in value.items():
            _lay(values, [last, str(name)], nested)
    else:
        values[last] = value


# Folders


def _placed(
    settings: Settings, vaults: list[tuple[int, VaultSettings]], origin: _Origin
) -> tuple[Settings, list[Wrong]]:
    """The settings with real folders, and what is wrong with others; ``vaults`` come with their numbers."""
    wrong: list[Wrong] = []
    kept: list[VaultSettings] = []
    for number, vault in vaults:
        try:
            placed = vault.model_copy(update={"path": _vault_folder(vault, number, origin)})
            _refuse_double(placed, number, kept, vaults, origin)
            kept.append(placed)
        except _Misplaced as error:
            wrong.append(error.wrong)
    model = settings.model
    try:
        model = model.model_copy(update={"name": _model_name(model.name, origin)})
    except _Misplaced as error:
        absent = _absent_model(model.name, origin)
        wrong.append(replace(error.wrong, bearable=absent is not None))
        model = ModelSettings(name=absent) if absent else ModelSettings()
    return settings.model_copy(update={"vaults": tuple(kept), "model": model}), wrong


class _Misplaced(Exception):
    def __init__(self, wrong: Wrong) -> None:
        self.wrong = wrong


def _vault_folder(vault: VaultSettings, number: int, origin: _Origin) -> Path:
    key: Location = ("vaults", number, "path")
    root = _folder(vault.path, key, origin, "an existing folder")
    home = Path(os.path.realpath(Path.home()))
    if home.is_relative_to(root):
        what = "the whole disk" if root == root.parent else "the home directory or a folder above it"
        raise _Misplaced(origin.wrong(key, f"expected a folder of notes, found {what}: {shown(root)}"))
    return root


def _model_name(name: str, origin: _Origin) -> str:
    """``bundled`` and stand-ins as they are; a fetched model or a folder as an absolute path."""
    if name == BUNDLED or name.partition("-")[0] == HASHING:
        return name
    fetched = paths.fetched_model(name)
    if fetched is not None and fetched.is_dir():
        return str(fetched)
    wanted = f'"{BUNDLED}", a fetched model or the folder of a model'
    return str(_folder(Path(name), ("model", "name"), origin, wanted))


def _absent_model(name: str, origin: _Origin) -> str | None:
    """A model that is not there, by the name or folder to look for; without it all but meaning works."""
    if paths.fetched_model(name) is not None:
        return name
    try:
        return os.path.realpath(origin.file.parent / Path(name).expanduser())
    except (OSError, RuntimeError, ValueError):
        return None


def _folder(path: Path, key: Location, origin: _Origin, wanted: str) -> Path:
    try:
        full = origin.file.parent / path.expanduser()
        root = Path(os.path.realpath(full))
        there = root.is_dir()
    except (OSError, RuntimeError, ValueError):  # a home that is nobody's, a NUL, a name too long
        there, full = False, path
    if not there:
        found = f"a file: {shown(full)}" if _exists(full) else f"no folder at {shown(full)}"
        raise _Misplaced(origin.wrong(key, f"expected {wanted}, found {found}"))
    return root


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _refuse_double(
    vault: VaultSettings,
    number: int,
    earlier: list[VaultSettings],
    vaults: list[tuple[int, VaultSettings]],
    origin: _Origin,
) -> None:
    numbers = {other.name: at for at, other in reversed(vaults)}
    for other in earlier:
        at = f"vaults[{numbers[other.name]}]"
        if vault.name.casefold() == other.name.casefold():
            what = f"expected a name of its own, found {shown(vault.name)} again ({at})"
            raise _Misplaced(origin.wrong(("vaults", number, "name"), what))
        if vault.path == other.path:
            what = f"expected a folder of its own, found that of {at}: {shown(vault.path)}"
            raise _Misplaced(origin.wrong(("vaults", number, "path"), what))


# Where a key came from


class _Origin:
    """Knows whether a key came from the file or from a variable."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._environment = _Environment(Settings)()

    def wrong(self, location: Location, what: str) -> Wrong:
        """That what is said at ``location`` is wrong."""
        variable = self.variable(location)
        return Wrong(f"environment variable {variable}" if variable else str(self.file), location, what)

    def variable(self, location: Location) -> str | None:
        """The variable that decides what is at ``location``, if there is one."""
        values: Any = self._environment
        for part in location:
            if not isinstance(values, dict):
                break
            if part not in values:
                return None
            values = values[part]
        names = {name.upper(): name for name in os.environ}
        for end in range(len(location), 0, -1):
            name = PREFIX + DELIMITER.join(str(part).upper() for part in location[:end])
            if name in names:
                return names[name]
        return None
