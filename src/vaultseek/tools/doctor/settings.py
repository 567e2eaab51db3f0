"""Checks of the configuration and the environment."""

from pathlib import Path

from vaultseek.base import paths
from vaultseek.errors import ConfigError
from vaultseek.settings.load import examine
from vaultseek.settings.model import Settings
from vaultseek.settings.resolve import SettingProblem
from vaultseek.tools.doctor.finding import BROKEN, OK, Finding

_ADVICE = "correct it; `vaultseek config check` names the line"


def check_settings(config: Path | None) -> tuple[Settings, list[Finding]]:
    """Return the usable settings, and a finding for each problem."""
    file = config or paths.config_file()
    try:
        settings, problems = examine(config)
    except ConfigError as error:
        public = "the file cannot be read"
        return Settings.model_construct(), [Finding("configuration", BROKEN, str(error), _ADVICE, public)]
    if not problems:
        message = f"{file}: no errors" if file.exists() else "no file; the defaults apply"
        return settings, [Finding("configuration", OK, message)]
    return settings, [
        Finding("configuration", BROKEN, str(problem), _ADVICE, _public(problem)) for problem in problems
    ]


def _public(problem: SettingProblem) -> str:
    """Return the invalid key without its value; the last part of an unknown key is left out, because it may
    be private."""
    known = [str(part) for part in problem.location if str(part).isidentifier()]
    if "unknown" in problem.message:
        known = known[:-1]
    return f"wrong or unknown: {'.'.join(known) or 'a key'}"
