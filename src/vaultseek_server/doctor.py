"""Checks that an engine can be used and contains all notes, and checks of a team's settings."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial

from vaultseek.base import paths
from vaultseek.base.model import JSON
from vaultseek.base.text import count, quote
from vaultseek.client import Client
from vaultseek.errors import ConfigError, Unavailable, VaultseekError
from vaultseek.protocol.wire.loopback import is_of_this_machine
from vaultseek.settings.model import Settings
from vaultseek.tools.doctor.finding import BROKEN, OK, WARNING, Finding
from vaultseek_server.settings import TokenSettings, address_of, engine_of, team_of

VERIFY_SECONDS = 60.0
"""Maximum number of seconds for an engine to count its rows for a vault."""
_ADVICE = "correct [index] in config.toml, then restart the daemon"
_SINGULAR = {
    "notes": "note",
    "passages": "passage",
    "vectors of passages": "vector of passages",
    "vectors of notes": "vector of notes",
}
_FILL = "`vaultseek backend migrate` to the current engine refills it"


def checks(
    settings: Settings, status: JSON | VaultseekError | None
) -> Iterator[tuple[str, Callable[[], Iterator[Finding]]]]:
    """Yield the names and functions of the checks for a server; ``status`` is the daemon's status."""
    yield "engine", lambda: check_engine(settings)
    vaults = status["vaults"] if isinstance(status, dict) else ()
    for each in vaults if engine_of(settings) is not None else ():
        name = str(each["name"])
        yield f"engine of {name}", partial(check_numbers, name, str(each["path"]))
    addresses = status["daemon"].get("addresses") if isinstance(status, dict) else None
    yield "team", lambda: check_team(settings, [str(each["name"]) for each in vaults], addresses)


def check_engine(settings: Settings) -> Iterator[Finding]:
    """Check that the engine can be used and that its server answers."""
    options = engine_of(settings)
    if options is None:
        return
    from vaultseek_server.engines.administration import probe_engine

    try:
        version = probe_engine(options)
    except ConfigError as error:
        yield Finding("engine", BROKEN, str(error), _ADVICE, "the engine cannot be used")
    except Unavailable as error:
        advice = "make sure that the server is running and reachable; no changes are lost"
        yield Finding("engine", BROKEN, str(error), advice, "the engine does not answer")
    else:
        message = f"{options.title} at {options.place}, version {version}; the text of notes is sent there"
        yield Finding("engine", OK, message, public=f"a {options.title} server, version {version}")


def check_numbers(name: str, root: str) -> Iterator[Finding]:
    """Compare the engine's counts for an open vault with the counts in the ledger. The daemon does the
    counting."""
    check = f"engine of {name}"
    try:
        with Client(timeout=VERIFY_SECONDS, name="vaultseek.doctor") as client:
            answer: JSON = client.call("index/verify", {"vault": root})
    except VaultseekError as error:
        advice = "see `vaultseek status`; no changes are lost"
        message = "the engine cannot be compared with the index"
        yield Finding(check, WARNING, f"{message}: {error}", advice, message)
        return
    numbers = in_words(answer)
    if answer["same"]:
        yield Finding(check, OK, f"{numbers}, as in the index")
    elif answer["pending"] or answer["reason"]:
        waits = answer["reason"] or f"{answer['pending']:,} changes have not reached the engine yet"
        yield Finding(check, WARNING, f"{numbers}; {waits}", "see `vaultseek status`", numbers)
    else:
        yield Finding(check, BROKEN, numbers, _FILL)


def in_words(answer: JSON) -> str:
    """Describe the counts in an answer of ``index/verify`` in one line."""
    return ", ".join(map(_in_words, answer["numbers"]))


def _in_words(number: JSON) -> str:
    of, ledger, engine = number["of"], number["ledger"], number["engine"]
    if engine == ledger:
        return f"{ledger:,} {_SINGULAR.get(of, of) if ledger == 1 else of}"
    return f"{'unknown' if engine is None else f'{engine:,}'} of {ledger:,} {of}"


def check_team(
    settings: Settings,
    shards: Collection[str] = (),
    addresses: Mapping[str, str | None] | None = None,
) -> Iterator[Finding]:
    """Check that every token gives access to something, and that the daemon listens on its addresses, which
    should not be public.

    ``shards`` are the names of those vaults that are shards in an engine. ``addresses`` maps each address
    that the daemon should open to the reason why it could not be opened, or None. Without a running daemon,
    ``addresses`` itself is None.
    """
    team = team_of(settings)
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
            message = f"the daemon is not listening on {text} yet"
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
            message = f"the token {quote(token.name)} has no access to {quote(each)}: {fault}"
            public = "a token refers to a vault or folder that does not exist"
            yield Finding("team", WARNING, message, "correct `sees` in [[team.tokens]]", public)
