"""The life cycle of the language server: exit, a daemon that restarts, progress, cancellation."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp_client import CAPABILITIES, editor
from raw_server import Wire
from vaultseek.base import paths
from worlds import write_files

REFRESHED = types.WorkspaceClientCapabilities(
    code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
    inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
    diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
)


def frames(*messages: dict) -> bytes:
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)


def test_its_end_is_no_failure_and_a_bad_request_has_an_answer(daemon, tmp_path):
    daemon.environment["VAULTSEEK_DAEMON__AUTOSTART"] = "false"
    sent = frames(
        {"id": 1, "method": "initialize", "params": {"capabilities": {}, "processId": None, "rootUri": None}},
        {"id": 2, "method": "textDocument/hover", "params": {"bad": 1}},
        {"id": 3, "method": "shutdown"},
        {"id": 4, "method": "workspace/symbol", "params": {"query": ""}},
        {"method": "exit"},
    )
    command = [sys.executable, "-m", "vaultseek", "lsp"]
    done = subprocess.run(
        command, input=sent, capture_output=True, env=daemon.environment, cwd=tmp_path, timeout=90
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b'"id": 2' in done.stdout
    assert b"-32602" in done.stdout
    assert b'"id": 4' in done.stdout
    assert b"-32600" in done.stdout


async def test_the_editor_is_told_of_changes_also_after_the_daemon_was_away(daemon, vault):
    root = daemon.indexed(vault({"A.md": "# A\n[[B]]\n", "B.md": "# B\n"}))
    lenses = {"codeLens": True, "inlayHints": True}
    async with editor(daemon.environment, root, options=lenses, workspace=REFRESHED) as here:
        here.open("A.md")
        await here.until_published("A.md", lambda items: items == [])
        uri = here.uri("B.md")
        lens = await here.client.text_document_code_lens_async(
            types.CodeLensParams(types.TextDocumentIdentifier(uri))
        )
        assert [each.command.title for each in lens] == ["1 backlink"]
        (root / "B.md").rename(root / "C.md")
        await here.until_published("A.md", lambda items: items)
        await here.until(lambda: types.WORKSPACE_CODE_LENS_REFRESH in here.asked)
        await here.until(lambda: types.WORKSPACE_INLAY_HINT_REFRESH in here.asked)
        daemon.stop()
        (root / "C.md").rename(root / "B.md")
        assert daemon.run("start").returncode == 0
        await here.until_published("A.md", lambda items: items == [])
        (root / "B.md").unlink()
        await here.until_published("A.md", lambda items: items)

        # Once a vault is added inside the other vault, its notes belong to the inner vault.
        inner = write_files(root / "inner", {"A.md": "[[Second]]", "Second.md": ""})
        here.open("inner/A.md")
        await here.until_published("inner/A.md", lambda items: items is not None)
        assert daemon.run("vault", "add", str(inner)).returncode == 0
        (root / "Third.md").write_text("")
        (inner / "Second.md").unlink()
        await here.until_published("inner/A.md", lambda items: items)

    pulling = types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
    async with editor(daemon.environment, root, text_document=pulling, workspace=REFRESHED) as here:
        here.open("A.md")
        (root / "B.md").write_text("")
        await here.until(lambda: types.WORKSPACE_DIAGNOSTIC_REFRESH in here.asked)
        assert types.WORKSPACE_CODE_LENS_REFRESH not in here.asked, "they are off"


@pytest.mark.shared_daemon
async def test_a_folder_without_a_vault_is_named_in_the_log(daemon, tmp_path):
    root = write_files(tmp_path / "plain", {"A.md": "[[B]]"})
    async with editor(daemon.environment, root) as here:
        here.open("A.md")
        (message,) = await here.until(lambda: here.logged)
        named, rest = message.removeprefix("vaultseek: ").split(" is not in a vault", 1)
        assert str(root).startswith(named.removesuffix("..."))  # a long path is truncated
        assert rest == "; run `vaultseek vault add` there"
        assert here.messages == []


@pytest.fixture
async def scripted(daemon, tmp_path):
    """A daemon with scripted answers, and the environment of its clients."""
    wire = Wire(paths.private_directory(daemon.socket.parent))
    yield wire, daemon.environment
    await wire.stop()


def known_vault(root: Path, **more):
    """Return handlers of a daemon with one vault, which contains every folder."""

    async def resolve(params, context):
        return {"vault": "v", "vault_path": str(root), "links": [], "markdown": False}

    async def status(params, context):
        return {"vaults": []}

    return {"links/resolve": resolve, "index/status": status, **more}


async def test_progress_of_open_vaults_is_shown(scripted, tmp_path):
    wire, environment = scripted
    root = write_files(tmp_path / "vault", {"A.md": ""})
    resolved, told = asyncio.Event(), asyncio.Event()

    async def resolve(params, context):
        resolved.set()
        return {"vault": "v", "vault_path": str(root), "links": [], "markdown": False}

    async def subscribe(params, context):
        async def tell():
            await resolved.wait()
            for step in range(40):  # until the client knows its vault
                counts = {"notes": 4, "embedded": step, "chunks": 9}
                share = 0.25 + step / 100
                for name, path in (("other", "/elsewhere"), ("v", str(root))):
                    progress = {"vault": name, "vault_path": path, "share": share, **counts}
                    context.notify("index/progress", progress)
                await asyncio.sleep(0.05)
                if told.is_set():
                    break
            done = {
                "vault": "v",
                "vault_path": str(root),
                "share": 1.0,
                "notes": 4,
                "embedded": 9,
                "chunks": 9,
            }
            context.notify("index/progress", done)

        context.task = asyncio.create_task(tell())
        return {"vaults": []}

    await wire.start(known_vault(root, **{"index/subscribe": subscribe, "links/resolve": resolve}))
    window = types.WindowClientCapabilities(work_done_progress=True)
    async with editor(environment, root, window=window) as here:
        here.open("A.md")
        await here.until(lambda: len(here.progress) > 1)
        told.set()
        await here.until(lambda: here.progress[-1][1]["kind"] == "end")
    assert {token for token, _ in here.progress} == {"vaultseek/v"}
    assert [value["kind"] for _, value in here.progress][:: len(here.progress) - 1] == ["begin", "end"]
    assert here.progress[0][1]["title"] == "Indexing v"
    assert here.asked == [types.WINDOW_WORK_DONE_PROGRESS_CREATE]


async def test_a_vault_that_is_done_before_the_client_answers_shows_no_progress(scripted, tmp_path):
    wire, environment = scripted
    root = write_files(tmp_path / "vault", {"A.md": ""})
    shares: asyncio.Queue[float] = asyncio.Queue()

    async def subscribe(params, context):
        async def tell():
            while True:
                counts = {"notes": 1, "embedded": 0, "chunks": 1, "share": await shares.get()}
                context.notify("index/progress", {"vault": "v", "vault_path": str(root), **counts})
                shares.task_done()

        context.task = asyncio.create_task(tell())
        return {"vaults": []}

    async def search(params, context):
        return {"results": []}

    await wire.start(known_vault(root, **{"index/subscribe": subscribe, "search": search}))
    window = types.WindowClientCapabilities(work_done_progress=True)
    async with editor(environment, root, window=window) as here:
        here.may_answer.clear()
        here.open("A.md")
        await here.until(lambda: shares.put_nowait(0.5) or here.asked)  # until the client knows its vault
        shares.put_nowait(1.0)
        await shares.join()
        words = types.WorkspaceSymbolParams("valves")
        await here.client.workspace_symbol_async(words)  # the daemon's earlier notifications have arrived
        here.may_answer.set()
        await here.client.workspace_symbol_async(words)
        assert here.progress == []


async def test_a_cancelled_request_is_cancelled_in_the_daemon(scripted, tmp_path):
    wire, environment = scripted
    root = write_files(tmp_path / "vault", {"A.md": ""})
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def search(params, context):
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def subscribe(params, context):
        return {"vaults": []}

    await wire.start(known_vault(root, **{"search": search, "index/subscribe": subscribe}))
    async with editor(environment, root, text_document=CAPABILITIES["text_document"]) as here:
        protocol = here.client.protocol
        answer = protocol.send_request(
            types.WORKSPACE_SYMBOL, types.WorkspaceSymbolParams("valves"), msg_id="one"
        )
        async with asyncio.timeout(60):
            await begun.wait()
            protocol.notify(types.CANCEL_REQUEST, types.CancelParams("one"))
            await cancelled.wait()
            with pytest.raises(JsonRpcException, match="cancel"):
                await asyncio.wrap_future(answer)


async def test_the_outline_does_not_wait_for_the_daemon(scripted, tmp_path):
    wire, environment = scripted
    root = write_files(tmp_path / "vault", {"A.md": "# A\n## B\ntext\n"})
    asked = asyncio.Event()

    async def resolve(params, context):
        asked.set()
        await asyncio.sleep(60)

    await wire.start(known_vault(root, **{"links/resolve": resolve}))
    async with editor(environment, root) as here:
        document = types.TextDocumentIdentifier(here.open("A.md"))
        async with asyncio.timeout(30):
            await asked.wait()
            (top,) = await here.client.text_document_document_symbol_async(
                types.DocumentSymbolParams(document)
            )
            folds = await here.client.text_document_folding_range_async(types.FoldingRangeParams(document))
    assert [child.name for child in top.children] == ["B"]
    assert len(folds) == 2
