"""The settings: what is wrong with them, and what of them can be used nevertheless."""

from __future__ import annotations

from pathlib import Path

from vaultseek import paths
from vaultseek.doctor.finding import BROKEN, OK, Finding
from vaultseek.errors import ConfigError
from vaultseek.settings.load import examine
from vaultseek.settings.model import Settings
from vaultseek.settings.origin import SettingProblem

_ADVICE = "correct it; `vaultseek config check` names the line"


def read_settings(config: Path | None) -> tuple[Settings, list[Finding]]:
    """What can be used of the settings, and what is wrong with the rest."""
    file = config or paths.config_file()
    try:
        settings, problems = examine(config)
    except ConfigError as error:
        public = "the file cannot be read"
        return Settings.model_construct(), [Finding("configuration", BROKEN, str(error), _ADVICE, public)]
    if not problems:
        words = f"{file}: nothing is wrong" if file.exists() else "no file; the defaults hold"
        return settings, [Finding("configuration", OK, words)]
    return settings, [Finding("configuration", BROKEN, str(one), _ADVICE, _public(one)) for one in problems]


def usable_settings(config: Path | None) -> Settings:
    """The settings with a default for what is wrong."""
    return read_settings(config)[0]


def _public(problem: SettingProblem) -> str:
    """Which key is wrong, without its value; an unknown one is the user's own word."""
    known = [str(part) for part in problem.location if str(part).isidentifier()]
    if "unknown" in problem.message:
        known = known[:-1]
    return f"wrong or unknown: {'.'.join(known) or 'a key'}"
