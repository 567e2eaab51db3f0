"""Checks of the configuration, the environment and a team's settings."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from vaultseek.base import paths
from vaultseek.base.text import count, quote
from vaultseek.errors import ConfigError
from vaultseek.protocol.wire.loopback import is_of_this_machine
from vaultseek.settings.load import examine
from vaultseek.settings.model import Settings
from vaultseek.settings.resolve import SettingProblem
from vaultseek.settings.sections import TokenSettings, address_of
from vaultseek.tools.doctor.finding import BROKEN, OK, WARNING, Finding

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
    """Name the wrong key without its value; an unknown key is left out, because it is the user's own word."""
    known = [str(part) for part in problem.location if str(part).isidentifier()]
    if "unknown" in problem.message:
        known = known[:-1]
    return f"wrong or unknown: {'.'.join(known) or 'a key'}"


def check_team(
    settings: Settings,
    shards: Collection[str] = (),
    addresses: Mapping[str, str | None] | None = None,
) -> Iterator[Finding]:
    """Check that every token has access to something, and that addresses are in use and not public.

    ``shards`` are the names of the daemon's vaults from an engine, ``addresses`` the addresses that it should
    open, each with the reason if it did not; None if no daemon runs.
    """
    team = settings.team
    closed = False
    for key in ("listen", "metrics"):
        text = getattr(team, key)
        if (address := address_of(text)) is None:
            continue
        if not is_of_this_machine(address[0]):
            message = f"team.{key} can be reached from other machines, without encryption"
            yield Finding("team", WARNING, message, "use 127.0.0.1 and a proxy with TLS; see docs/team.md")
        if addresses is not None and text not in addresses:
            closed = True
            message = f"the daemon does not listen on {text} yet"
            yield Finding("team", WARNING, message, "run `vaultseek start --restart`")
        elif addresses is not None and (problem := addresses[text]) is not None:
            closed = True
            advice = f"correct team.{key} and run `vaultseek start --restart`"
            yield Finding("team", BROKEN, problem, advice)
    if not team.listen and not team.tokens:
        return
    for token in team.tokens:
        yield from _token(token, settings, {name.casefold() for name in shards})
    if not team.listen or not team.tokens:
        missing = "tokens, but team.listen is not set" if team.tokens else "team.listen, but no token"
        yield Finding("team", WARNING, f"there are {missing}", "see docs/team.md")
    elif not closed:
        message = f"{team.listen} for {count(len(team.tokens), 'token')}"
        yield Finding("team", OK, message if addresses is None else f"listens on {message}")


def _token(token: TokenSettings, settings: Settings, shards: Collection[str]) -> Iterator[Finding]:
    roots = {vault.name.casefold(): vault.path for vault in settings.vaults}
    for each in token.sees:
        vault, _, folder = each.rstrip("/").partition("/")
        root = roots.get(vault.casefold())
        fault = None
        if vault != "*" and root is None and vault.casefold() not in shards:
            fault = f"there is no vault {quote(vault)}"
        elif root is not None and folder and not paths.is_folder(root / folder):
            fault = f"there is no folder {quote(folder)} in {quote(vault)}"
        if fault is not None:
            message = f"the token {quote(token.name)} gets nothing from {quote(each)}: {fault}"
            public = "a token refers to a vault or folder that does not exist"
            yield Finding("team", WARNING, message, "correct sees in [[team.tokens]]", public)
