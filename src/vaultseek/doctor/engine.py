"""The check of an engine that notes are kept in, if the settings name one."""

from __future__ import annotations

from collections.abc import Iterator

from vaultseek.doctor.finding import BROKEN, OK, Finding
from vaultseek.errors import ConfigError, Unavailable
from vaultseek.settings.model import Settings

_ADVICE = "correct [index] in config.toml, then restart the daemon"


def check_engine(settings: Settings) -> Iterator[Finding]:
    """Say which engine there is, and whether a server of Milvus answers.

    A file of Milvus Lite belongs to the daemon while that runs, and is not opened here.
    """
    options = settings.index.engine
    if options is None:
        return
    from vaultseek.index.backend.milvus_client import MilvusClient, check_installed

    place = f"Milvus at {options.place}"
    try:
        check_installed()
        options.check()
        options.token()
        if options.is_lite:
            yield Finding("engine", OK, f"{place}, a file of Milvus Lite", public="a file of Milvus Lite")
            return
        client = MilvusClient(options)
        try:
            version = client.version
        finally:
            client.close()
    except ConfigError as error:
        yield Finding("engine", BROKEN, str(error), _ADVICE, "it cannot be used")
    except Unavailable as error:
        advice = "see that it runs and can be reached; what changed meanwhile is not lost"
        yield Finding("engine", BROKEN, str(error), advice, "it does not answer")
    else:
        message = f"{place}, version {version}; the text of notes is sent there"
        yield Finding("engine", OK, message, public=f"a server of Milvus, version {version}")
