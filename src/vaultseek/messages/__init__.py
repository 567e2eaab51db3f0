"""The protocol as models: what every method takes and what it answers, as JSON Schema and to check by.

The daemon checks requests by these models, clients that want to check answers by them too. ``schema.json``
beside this file is the same for programs in other languages; ``python -m vaultseek.messages`` writes it.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from vaultseek.errors import ProtocolError
from vaultseek.messages import answers, params
from vaultseek.text import SHOWN_CHARS

if TYPE_CHECKING:
    from vaultseek.model import JSON

METHODS: dict[str, tuple[type[BaseModel], type[BaseModel]]] = {
    "search": (params.SearchParams, answers.Search),
    "search/why": (params.WhyParams, answers.Why),
    "note/get": (params.GetParams, answers.Note),
    "note/related": (params.RelatedParams, answers.Related),
    "links/outgoing": (params.LinksParams, answers.Outgoing),
    "links/backlinks": (params.LinksParams, answers.Backlinks),
    "links/unresolved": (params.UnresolvedParams, answers.Unresolved),
    "links/unlinked": (params.LinksParams, answers.Unlinked),
    "graph/neighbors": (params.NeighborsParams, answers.Neighbors),
    "vault/tags": (params.ListParams, answers.Tags),
    "vault/properties": (params.PropertiesParams, answers.Properties),
    "vault/orphans": (params.OrphansParams, answers.Orphans),
    "complete": (params.CompleteParams, answers.Completions),
    "vault/list": (params.Nothing, answers.Vaults),
    "vault/add": (params.AddVaultParams, answers.AddedVault),
    "vault/remove": (params.RemoveVaultParams, answers.RemovedVault),
    "vault/pause": (params.NamedVaultParams, answers.PausedVault),
    "vault/resume": (params.NamedVaultParams, answers.PausedVault),
    "index/status": (params.VaultParams, answers.Status),
    "index/refresh": (params.VaultParams, answers.Done),
    "index/wait": (params.WaitParams, answers.VaultStatus),
    "index/subscribe": (params.SubscribeParams, answers.Subscribed),
    "index/unsubscribe": (params.SubscribeParams, answers.Done),
    "shutdown": (params.Nothing, answers.Done),
    "$/schema": (params.Nothing, answers.Schemas),
    "initialize": (params.Hello, answers.Hello),
    "$/cancelRequest": (params.Cancel, answers.Nothing),
}

NOTIFICATIONS: dict[str, type[BaseModel]] = {
    "index/progress": answers.Progress,
    "index/changed": answers.Changed,
}
"""What the daemon tells without being asked for an answer."""
SCHEMA_FILE = Path(__file__).with_name("schema.json")
OF_EVERY_REQUEST = ("deadline_ms", "supersedes")
"""Parameters that may go with any request; the server takes them before the method sees the rest."""


@lru_cache(maxsize=1)
def schemas() -> JSON:
    """As JSON Schema 2020-12: ``methods``, each with ``params`` and ``answer``, and ``notifications``."""
    return {
        "methods": {
            name: {"params": taken.model_json_schema(), "answer": given.model_json_schema()}
            for name, (taken, given) in METHODS.items()
        },
        "notifications": {name: told.model_json_schema() for name, told in NOTIFICATIONS.items()},
    }


def check_request(method: str, asked: JSON) -> None:
    """Raise UsageError that names what is wrong with a request. Methods that are not known here pass."""
    if method in METHODS:
        own = {name: value for name, value in asked.items() if name not in OF_EVERY_REQUEST}
        # As it will travel: a tuple is a list there.
        params.read(METHODS[method][0], json.loads(json.dumps(own)))


def check_answer(method: str, answer: object) -> None:
    """Raise ProtocolError that names what is wrong with an answer. Methods that are not known here pass."""
    if method not in METHODS:
        return
    try:
        METHODS[method][1].model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))[:SHOWN_CHARS] or "all of it"
        wrong = f"{where}: {first['msg'][:SHOWN_CHARS]}"
        raise ProtocolError(
            f"the daemon's answer to {method!r} is not as documented ({wrong}); "
            "it may be of another version, which `vaultseek stop` ends"
        ) from None
