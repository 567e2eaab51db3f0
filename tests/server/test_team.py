"""The rights and limits of a team's tokens, without a daemon."""

import contextlib
import json
import re
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from semantic_here import WorkerHere
from team_calls import WIKI
from vaultseek.base import paths
from vaultseek.base.model import JSON, Reason
from vaultseek.core.indexing.model_source import ModelSource
from vaultseek.core.indexing.open_vault import open_folder
from vaultseek.core.indexing.scoped_vault import general
from vaultseek.daemon.methods import Methods
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.errors import Busy, Forbidden
from vaultseek.protocol.wire.context import ClientInfo, RequestContext
from vaultseek.semantic.models.choice import choose_models
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.settings.model import Settings, VaultSettings
from vaultseek.settings.watch import SettingsFile
from vaultseek_server.doctor import check_team
from vaultseek_server.settings import TeamSettings, TokenSettings, address_of
from vaultseek_server.team.audit import AuditLog, entry_of
from vaultseek_server.team.gate import Quotas, TokenGate
from vaultseek_server.team.grants import Grant, token_digest, token_proof
from worlds import write_files


def token(*sees: str, **more: int) -> TokenSettings:
    return TokenSettings.model_validate({"name": "ana", "sha256": token_digest("x"), "sees": sees, **more})


@pytest.mark.parametrize(
    ("sees", "vault", "folders"),
    [
        (["wiki"], "wiki", None),
        (["Wiki"], "wIKI", None),
        (["*"], "anything", None),
        (["wiki/A"], "wiki", ("A",)),
        (["wiki/A/", "wiki/A/B", "wiki/AB"], "wiki", ("A", "AB")),
        (["wiki/A", "wiki"], "wiki", None),
        (["wiki/A", "*"], "wiki", None),
        (["wiki/A"], "other", ()),
    ],
)
def test_what_a_token_sees(sees, vault, folders):
    grant = Grant(token(*sees))
    assert grant.folders(vault) == folders
    assert grant.sees(vault) == (folders != ())


@pytest.mark.parametrize("sees", ["", "/", "/etc", "wiki/../other", "wiki//A", "wiki/.", "wiki/A\n"])
def test_what_no_token_may_be_said_to_see(sees):
    with pytest.raises(ValidationError):
        token(sees)


def test_a_minute_of_requests_may_come_at_once_and_grows_back_steadily():
    now = [100.0]
    quotas, grant = Quotas(lambda: now[0]), Grant(token("wiki", requests_per_minute=60, in_flight=2))
    for _ in range(60):
        with quotas.request(grant):
            pass
    with pytest.raises(Busy), quotas.request(grant):
        pass
    now[0] += 1.0
    with quotas.request(grant):
        pass
    now[0] += 3600.0
    with (
        quotas.request(grant),
        quotas.request(grant),
        pytest.raises(Busy, match="are running"),
        quotas.request(grant),
    ):
        pass
    with pytest.raises(ZeroDivisionError), quotas.request(grant):
        _ = 1 / 0
    with quotas.request(grant), quotas.request(grant):
        pass


def test_the_audit_log_is_private_and_has_a_line_for_each_entry(tmp_path: Path):
    log = AuditLog(tmp_path / "state" / "audit.log")
    log.write(entry_of("ana", "cli\nent", "search", {"vault": "a\nb", "note": 5}))
    log.write({"method": "search"}, "a\nquery")
    log.close()
    entries = [json.loads(line) for line in log.file.read_text().splitlines()]
    assert [each["method"] for each in entries] == ["search", "search"]
    assert "query" not in entries[0]
    assert entries[1]["query"] == "a\nquery"
    assert stat.S_IMODE(log.file.stat().st_mode) == 0o600


async def test_refused_requests_do_not_fill_the_audit_log(tmp_path: Path):
    clock = [0.0]
    log = AuditLog(tmp_path / "state" / "audit.log")
    grant = Grant(token("wiki", requests_per_minute=3))

    async def current(grant: Grant) -> Grant:
        return grant

    async def search(params: JSON, context: RequestContext) -> JSON:
        return {"count": 1}

    control = TokenGate(TeamSettings, current, log, clock=lambda: clock[0])
    context = RequestContext(ClientInfo(grant=grant))
    for now in (0.0, 61.0):
        clock[0] = now
        for method in ("vault/add", "search"):
            for _ in range(100):
                with contextlib.suppress(Busy, Forbidden):
                    await control.guard(method, search)({}, context)
    log.close()
    lines = [json.loads(line) for line in log.file.read_text().splitlines()]
    granted = [("search", "ok", None)] * 3
    assert [(each["method"], each["outcome"], each.get("repeated")) for each in lines] == [
        ("vault/add", "forbidden", None),
        *granted,
        ("search", "busy", None),
        ("vault/add", "forbidden", 99),
        *granted,
        ("search", "busy", 96),
    ]


def test_a_proof_tells_nothing_of_the_digest():
    assert token_proof("x") != token_digest("x")
    assert token_proof("x") != token_proof("y")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7447", ("127.0.0.1", 7447)),
        ("[::1]:80", ("::1", 80)),
        (":80", None),
        ("host", None),
        ("a:65536", None),
        ("a:1e3", None),
    ],
)
def test_addresses(text, address):
    assert address_of(text) == address


@pytest.mark.parametrize("metrics", ["127.0.0.1:7447", "[127.0.0.1]:7447"])
def test_two_servers_at_one_address_are_refused(metrics):
    with pytest.raises(ValidationError, match="an address that listen does not use"):
        TeamSettings(listen="127.0.0.1:7447", metrics=metrics)
    assert TeamSettings(listen="127.0.0.1:0", metrics="127.0.0.1:0").metrics, "the system chooses two ports"


def test_the_doctor_names_tokens_that_see_nothing_and_open_addresses(tmp_path: Path):
    (tmp_path / "wiki" / "A").mkdir(parents=True)
    vaults = (VaultSettings(name="wiki", path=tmp_path / "wiki"),)

    def messages(listen: str, *sees: str, running: JSON | None = None) -> list[str]:
        team = TeamSettings(listen=listen, tokens=(token(*sees),))
        settings = Settings(vaults=vaults, team=team)
        return [each.message for each in check_team(settings, ["Shard"], running)]

    place = "127.0.0.1:7447"
    assert messages(place, "wiki/A", "*") == [f"{place} for 1 token"]
    assert messages(place, "shard/B") == [f"{place} for 1 token"]
    assert messages(place, "wiki", running={place: None}) == [f"listens on {place} for 1 token"]
    assert messages(place, "wiki", running={place: "it is taken"}) == ["it is taken"]
    assert messages(place, "wiki", running={}) == [f"the daemon is not listening on {place} yet"]
    assert "no folder" in messages(place, "wiki/B")[0]
    assert "no vault" in messages(place, "wik")[0]
    assert "without encryption" in messages("0.0.0.0:7447", "wiki")[0]
    assert "not set" in messages("", "wiki")[0]
    assert list(check_team(Settings())) == []


@pytest.mark.parametrize("code", ["being_read", "being_built", "behind", "vault_missing", "failing"])
def test_who_sees_a_part_of_a_vault_is_told_no_number_of_its_notes(code):
    reason = general(Reason(code, "75 of 1,100 notes, on the disk of host7"))
    assert reason is not None
    assert reason.code == code
    assert not re.search(r"\d", reason.text)


Ask = Callable[..., Awaitable[JSON]]


@pytest.fixture
async def ask(tmp_path: Path) -> AsyncIterator[Ask]:
    """``ask(method)`` calls a method with a token for one folder of ``wiki``; the vault's notes determined
    the model."""
    root = write_files(tmp_path / "wiki", WIKI)
    allowed = token("wiki/Handbook")
    settings = Settings(
        vaults=[VaultSettings(name="wiki", path=root)],
        team=TeamSettings(tokens=(allowed,), audit=False),
        searches={"salaries-of-all": "xylophone"},
    )
    choice = replace(choose_models("hashing"), why="chosen because 37% of the notes are not in English")
    models = ModelSource(choice, WorkerPool(lambda model: WorkerHere()))
    registry = VaultRegistry(settings, models, lambda follower, paths: None)
    handlers = Methods(SettingsFile(None), registry, "").handlers()

    async def ask(method: str, **params: Any) -> JSON:
        await registry.open_configured(settings)
        answer: JSON = await handlers[method](params, RequestContext(ClientInfo(grant=Grant(allowed))))
        return answer

    yield ask
    await registry.close()


async def test_a_token_of_folders_sees_the_status_of_a_vault_that_cannot_be_opened(ask, tmp_path):
    root = tmp_path / "wiki"
    with open_folder(paths.vault_data_directory(root), root):
        (status,) = (await ask("index/status"))["vaults"]
    assert (status["name"], status["state"], status["notes"]) == ("wiki", "failing", 0)
    assert status["models"] == {}


async def test_a_token_of_folders_is_not_told_the_languages_of_the_whole_vault(ask):
    (status,) = (await ask("index/status"))["vaults"]
    assert status["models"]["main"] == "hashing"
    assert "37%" not in json.dumps(status)


async def test_a_token_is_not_told_the_names_of_saved_searches(ask):
    answer = await ask("search", query="@nothing float switch", vault="wiki")
    assert answer["interpreted"]["notes"] == []


@pytest.mark.parametrize("method", ["search", "search/all", "search/context"])
async def test_a_saved_search_is_a_word_for_a_token(ask, method):
    answer = await ask(
        method, query="@salaries-of-all", **({} if method == "search/all" else {"vault": "wiki"})
    )
    assert "xylophone" not in json.dumps(answer)
    if method != "search/all":
        assert answer["interpreted"]["rank_text"] == "@salaries-of-all"
