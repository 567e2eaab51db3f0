"""Checks of an engine: whether it can be used, and whether it has all notes."""

from collections.abc import Callable, Iterator
from functools import partial

from vaultseek.base.model import JSON
from vaultseek.client import Client
from vaultseek.errors import ConfigError, Unavailable, VaultseekError
from vaultseek.settings.model import Settings
from vaultseek.tools.doctor.finding import BROKEN, OK, WARNING, Finding
from vaultseek_server.settings import engine_of

VERIFY_SECONDS = 60.0
"""Seconds for an engine to count its rows of a vault."""
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
    """Yield the checks of a server by name; ``status`` is the daemon's."""
    yield "engine", lambda: check_engine(settings)
    vaults = status["vaults"] if isinstance(status, dict) and engine_of(settings) is not None else ()
    for each in vaults:
        name = str(each["name"])
        yield f"engine of {name}", partial(check_numbers, name, str(each["path"]))


def check_engine(settings: Settings) -> Iterator[Finding]:
    """Check that the engine can be used, and that its server answers."""
    options = engine_of(settings)
    if options is None:
        return
    from vaultseek_server.engines.administration import probe_engine

    try:
        version = probe_engine(options)
    except ConfigError as error:
        yield Finding("engine", BROKEN, str(error), _ADVICE, "it cannot be used")
    except Unavailable as error:
        advice = "make sure it is running and reachable; no changes are lost"
        yield Finding("engine", BROKEN, str(error), advice, "it does not answer")
    else:
        message = f"{options.title} at {options.place}, version {version}; the text of notes is sent there"
        yield Finding("engine", OK, message, public=f"a server of {options.title}, version {version}")


def check_numbers(name: str, root: str) -> Iterator[Finding]:
    """Compare the engine's counts for an open vault with the ledger; the daemon counts."""
    check = f"engine of {name}"
    try:
        with Client(timeout=VERIFY_SECONDS, name="vaultseek.doctor") as client:
            answer: JSON = client.call("index/verify", {"vault": root})
    except VaultseekError as error:
        advice = "see `vaultseek status`; no changes are lost"
        yield Finding(check, WARNING, f"it cannot be compared: {error}", advice, "it cannot be compared")
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
    """Return the counts in an answer of ``index/verify`` as one line."""
    return ", ".join(map(_in_words, answer["numbers"]))


def _in_words(number: JSON) -> str:
    of, ledger, engine = number["of"], number["ledger"], number["engine"]
    if engine == ledger:
        return f"{ledger:,} {_SINGULAR.get(of, of) if ledger == 1 else of}"
    return f"{'unknown' if engine is None else f'{engine:,}'} of {ledger:,} {of}"
