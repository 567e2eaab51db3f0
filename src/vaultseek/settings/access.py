"""The settings by which servers are reached: what can be seen of addresses, keys and certificates in them.

`vaultseek config check` shows it. The daemon and the doctor find out by using them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from vaultseek.errors import ConfigError
from vaultseek.semantic.models.service import Service, secret_option
from vaultseek.settings.describe import Location
from vaultseek.settings.model import IndexSettings, Settings
from vaultseek.settings.origin import Origin, SettingProblem
from vaultseek.settings.servers import ServerSettings

_SECRET = (
    "a secret is not allowed among the options; put it into a file of mode 0600 and name that as key_file, "
    "or its variable as key_variable"
)


def access_problems(settings: Settings, origin: Origin) -> list[SettingProblem]:
    """Return a problem for each setting of a server that cannot be used."""
    found = [*_of_engine(settings.index)]
    for name, section in (("model", settings.model), ("reranker", settings.reranker)):
        found += [((name, *key), message) for key, message in _of_server(section)]
    return [replace(origin.problem(key, message), fatal=False) for key, message in found]


def _of_engine(index: IndexSettings) -> Iterator[tuple[Location, str]]:
    options = index.milvus
    checks: dict[str, Callable[[], None]] = {
        "token_file": options.check_token_file,
        "certificate": options.check_certificate,
    }
    if index.uri or index.engine is not None:
        checks["uri"] = options.check_address
    for key, check in checks.items():
        if (message := _message(check)) is not None:
            message = message.removeprefix(f"index.{key}: ").removeprefix(f"index.{key} is ")
            yield ("index", key), message
    if index.token_file and index.token_variable:
        yield ("index", "token_variable"), "token_file is set, too; leave one of them out"


def _of_server(server: ServerSettings) -> Iterator[tuple[Location, str]]:
    if (name := secret_option(server.options)) is not None:
        yield ("options", *name), _SECRET
    elif server.service is not None and server.service.fault is not None:
        yield ("class_name",), server.service.fault
    if server.key_file and (message := _message(Service("", key_file=server.key_file).key)) is not None:
        yield ("key_file",), message
    if server.key_file and server.key_variable:
        yield ("key_variable",), "key_file is set, too; leave one of them out"


def _message(check: Callable[[], object]) -> str | None:
    try:
        check()
    except ConfigError as error:
        return str(error)
    return None
