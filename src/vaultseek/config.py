"""The settings: what ``config.toml`` and ``VAULTSEEK_*`` variables may say, with every default.

The models below are the reference: each key has its type, its default and one sentence of why. The
environment goes before the file (``VAULTSEEK_SEARCH__LIMIT=5`` is ``limit`` in ``[search]``; lists are JSON).
Whatever is wrong becomes a ``ConfigError`` of one line: file or variable, key, what was expected and found.

Importing this module costs some 150 ms; the daemon does, the command line only when it has to start one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from vaultseek import limits, paths, schema, toml_file
from vaultseek.errors import ConfigError, UsageError
from vaultseek.schema import Location, dotted, printable, shown

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
    """One ``[[vaults]]`` entry; after ``load``, ``path`` is a real, absolute folder."""

    name: str = Field(description="What --vault and the answers call this vault; no slash in it.")
    path: Path = Field(
        strict=False,
        description="The folder of notes; ~ works, a relative path starts at the folder of this file.",
    )
    language: Language | None = Field(
        default=None,
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
        le=limits.NOTE_READ_BYTES,
        description="A larger note is found by its name and path only, and named as a problem.",
    )


class ModelSettings(_Section):
    """``[model]``: what turns passages into vectors."""

    name: str = Field(
        default=BUNDLED,
        min_length=1,
        description='"bundled" is all-MiniLM-L6-v2 as installed; else the folder of a sentence-transformers '
        'model; "hashing" is a stand-in without meaning, for tests.',
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

    vaults: tuple[VaultSettings, ...] = Field(default=(), strict=False)
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


def load(path: Path | None = None) -> Settings:
    """Read the settings from ``path``, or from the default file if there is one.

    Vault and model paths come back absolute and resolved; relative ones start at the file's folder.

    Raises:
        ConfigError: one line that names file or variable, key, what was expected and what was found.
    """
    file = Path(os.path.abspath(path or paths.config_file()))  # noqa: PTH100 - absolute, links kept
    data = toml_file.read(file, required=path is not None)
    _refuse_unknown_sections()
    try:
        settings = Settings(**_sections(data, file))
    except ValidationError as error:
        raise ConfigError(_Origin(file).line(*schema.first_problem(error, Settings))) from None
    return _placed(settings, _Origin(file))


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


def _sections(data: dict[str, Any], file: Path) -> dict[str, Any]:
    """``Settings`` is called with keywords, where a few names would mean something else."""
    for name in data:
        if name not in Settings.model_fields:
            raise ConfigError(f"{file}: {printable(name)}: {schema.unknown_key(name, Settings)}")
    return data


# The environment


def _refuse_unknown_sections() -> None:
    for variable in sorted(os.environ):
        section, nested, _ = variable.upper().removeprefix(PREFIX).partition(DELIMITER)
        if not nested or not variable.upper().startswith(PREFIX):
            continue
        if section.lower() not in Settings.model_fields:
            known = ", ".join(Settings.model_fields)
            raise ConfigError(
                f"environment variable {printable(variable)}: unknown section, expected one of {known}"
            )


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


def _placed(settings: Settings, origin: _Origin) -> Settings:
    vaults = tuple(_placed_vault(vault, i, origin) for i, vault in enumerate(settings.vaults))
    _refuse_doubles(vaults, origin)
    model = settings.model
    if model.name != BUNDLED and model.name.partition("-")[0] != HASHING:
        folder = _folder(Path(model.name), ("model", "name"), origin, f'"{BUNDLED}" or the folder of a model')
        model = model.model_copy(update={"name": str(folder)})
    return settings.model_copy(update={"vaults": vaults, "model": model})


def _placed_vault(vault: VaultSettings, index: int, origin: _Origin) -> VaultSettings:
    key: Location = ("vaults", index, "path")
    root = _folder(vault.path, key, origin, "an existing folder")
    home = Path(os.path.realpath(Path.home()))
    if home.is_relative_to(root):
        what = "the whole disk" if root == root.parent else "the home directory or a folder above it"
        raise ConfigError(origin.line(key, f"expected a folder of notes, found {what}: {shown(root)}"))
    return vault.model_copy(update={"path": root})


def _folder(path: Path, key: Location, origin: _Origin, wanted: str) -> Path:
    try:
        full = origin.file.parent / path.expanduser()
        root = Path(os.path.realpath(full))
        there = root.is_dir()
    except (OSError, RuntimeError, ValueError):  # a home that is nobody's, a NUL, a name too long
        there, full = False, path
    if not there:
        found = f"a file: {shown(full)}" if _exists(full) else f"no folder at {shown(full)}"
        raise ConfigError(origin.line(key, f"expected {wanted}, found {found}"))
    return root


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _refuse_doubles(vaults: tuple[VaultSettings, ...], origin: _Origin) -> None:
    for index, vault in enumerate(vaults):
        for other, earlier in enumerate(vaults[:index]):
            if vault.name.casefold() == earlier.name.casefold():
                wrong = f"expected a name of its own, found {shown(vault.name)} again (vaults[{other}])"
                raise ConfigError(origin.line(("vaults", index, "name"), wrong))
            if vault.path == earlier.path:
                wrong = f"expected a folder of its own, found that of vaults[{other}]: {shown(vault.path)}"
                raise ConfigError(origin.line(("vaults", index, "path"), wrong))


# Where a key came from


class _Origin:
    """Knows whether a key came from the file or from a variable."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._environment = _Environment(Settings)()

    def line(self, location: Location, wrong: str) -> str:
        variable = self._variable(location)
        where = f"environment variable {variable}" if variable else str(self.file)
        return f"{printable(where, limits.PATH_BYTES)}: {dotted(location)}: {wrong}"

    def _variable(self, location: Location) -> str | None:
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
