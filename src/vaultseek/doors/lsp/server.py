"""The language server, which registers its features with pygls and connects them to the daemon.

It opens no index and writes nothing: it proposes edits, and the editor applies them.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from vaultseek import __version__
from vaultseek.base.model import JSON
from vaultseek.base.text import printable
from vaultseek.doors.lsp import actions, completion, diagnostics, navigation, renaming, symbols
from vaultseek.doors.lsp.commands import Commands
from vaultseek.doors.lsp.daemon import Daemon
from vaultseek.doors.lsp.documents import NoteWorkspace, start_of_line
from vaultseek.doors.lsp.session import Options, Session
from vaultseek.errors import Cancelled, VaultseekError

REQUEST_FAILED = -32803
REQUEST_CANCELLED = -32800
DIAGNOSE_SECONDS = 0.25
"""Seconds without changes after which a document's diagnostics are published."""
REFRESH_SECONDS = 1.0
"""Minimum seconds between two refreshes of the client."""

Feature = Callable[..., Awaitable[Any]]
"""Function that takes the session and the request's parameters. If the feature needs a note, the note's
`Spot` and text come between them."""
_FILES = types.FileOperationRegistrationOptions(
    filters=[types.FileOperationFilter(types.FileOperationPattern("**/*"), scheme="file")]
)
_NOTE_FEATURES: dict[str, Feature] = {
    types.TEXT_DOCUMENT_DEFINITION: navigation.definition,
    types.TEXT_DOCUMENT_REFERENCES: navigation.references,
    types.TEXT_DOCUMENT_DOCUMENT_LINK: navigation.document_links,
    types.TEXT_DOCUMENT_HOVER: navigation.hover,
    types.TEXT_DOCUMENT_CODE_LENS: symbols.code_lenses,
    types.TEXT_DOCUMENT_INLAY_HINT: symbols.inlay_hints,
    types.TEXT_DOCUMENT_CODE_ACTION: actions.code_actions,
    types.TEXT_DOCUMENT_RENAME: renaming.rename,
    types.TEXT_DOCUMENT_PREPARE_RENAME: renaming.prepare,
}
"""Features for notes in a vault; requests about other documents get no answer."""
_OTHER_FEATURES: dict[str, Feature] = {
    types.TEXT_DOCUMENT_COMPLETION: completion.complete,
    types.COMPLETION_ITEM_RESOLVE: completion.resolve,
    types.WORKSPACE_SYMBOL: symbols.search_symbols,
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: symbols.document_symbols,
    types.TEXT_DOCUMENT_FOLDING_RANGE: symbols.folding_ranges,
    types.TEXT_DOCUMENT_DIAGNOSTIC: diagnostics.pull,
    types.WORKSPACE_DIAGNOSTIC: diagnostics.pull_all,
    types.CODE_ACTION_RESOLVE: actions.resolve,
    types.WORKSPACE_WILL_RENAME_FILES: renaming.will_rename,
}
_OPTIONS: dict[str, Any] = {
    types.TEXT_DOCUMENT_COMPLETION: types.CompletionOptions(
        trigger_characters=completion.TRIGGERS, resolve_provider=True
    ),
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(
        code_action_kinds=[
            types.CodeActionKind.QuickFix,
            types.CodeActionKind.RefactorRewrite,
            types.CodeActionKind.Source,
        ],
        resolve_provider=True,
    ),
    types.TEXT_DOCUMENT_DIAGNOSTIC: types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=True, identifier="vaultseek"
    ),
    types.WORKSPACE_WILL_RENAME_FILES: _FILES,
}
_SHOWN_FAILURES = {types.TEXT_DOCUMENT_RENAME, types.WORKSPACE_WILL_RENAME_FILES}
"""Requests whose failure is shown to the user; other requests that fail get an empty answer."""

log = logging.getLogger(__name__)


def serve(start: Callable[[], object], options: Options) -> None:
    """Serve a client on standard input and output until the client ends.

    ``start`` is called when the daemon is needed. It starts the daemon unless it is running, and may raise
    VaultseekError.
    """
    logging.basicConfig(level=logging.ERROR)
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    # pygls closes its output at the end, but must not close standard output itself.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:
        make_server(start, options).start_io(stdout=output)


def make_server(start: Callable[[], object], options: Options | None = None) -> LanguageServer:
    """Return a language server for one client."""
    server = _Server("vaultseek", __version__, protocol_cls=_Protocol)
    _Editor(server, start, options or Options()).register()
    return server


class _Server(LanguageServer):
    """The pygls server; the client learns of errors only through answers."""

    def report_server_error(self, error: Exception, source: Any) -> None:
        log.debug("%s: %s", source, error)


class _Protocol(LanguageServerProtocol):
    """The pygls protocol, extended to answer unreadable requests and requests after the shutdown."""

    def handle_message(self, message: Any) -> None:
        if self._shutdown and hasattr(message, "method") and hasattr(message, "id"):
            error = JsonRpcInvalidRequest("the server has been shut down")
            self._send_response(message.id, error=error.to_response_error())
        else:
            super().handle_message(message)

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "method" in data and "id" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise


class _Editor:
    """The editor that a server serves: its session, and the daemon's notifications for it."""

    def __init__(self, server: LanguageServer, start: Callable[[], object], options: Options) -> None:
        self._server = server
        self._daemon = Daemon(start, self._notified, self._reconnected, self._warn)
        self._session = Session(self._daemon.ask, self._warn, options)
        self._commands = Commands(self._session, self._choose, self._show, self._apply)
        self._diagnosing: dict[str, asyncio.Task[None]] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._asked: dict[str, float] = {}
        """The vaults whose progress the client has been asked to show, each with the share that is
        indexed."""
        self._shown: set[str] = set()
        """The vaults whose progress the client is showing."""
        self._vaults: set[str] = set()

    def register(self) -> None:
        """Register all features with the server."""
        feature = self._server.feature
        for method, answer in (_OTHER_FEATURES | _NOTE_FEATURES).items():
            feature(method, _OPTIONS.get(method))(self._handler(method, answer))
        for method, note in (
            (types.INITIALIZE, self._initialize),
            (types.INITIALIZED, self._initialized),
            (types.TEXT_DOCUMENT_DID_OPEN, self._changed),
            (types.TEXT_DOCUMENT_DID_CHANGE, self._changed),
            (types.TEXT_DOCUMENT_DID_SAVE, self._changed),
            (types.TEXT_DOCUMENT_DID_CLOSE, self._closed),
            (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, lambda _: self._session.forget_roots()),
        ):
            feature(method)(partial(note))
        for name, command in self._commands.all().items():
            self._server.command(name)(self._command(command))

    # -- requests ----------------------------------------------------------------------------------------

    def _handler(self, method: str, answer: Feature) -> Callable[[Any], Awaitable[Any]]:
        async def handle(params: Any) -> Any:
            try:
                if method not in _NOTE_FEATURES:
                    return await answer(self._session, params)
                document = await self._session.document(params.text_document.uri)
                return None if document is None else await answer(self._session, *document, params)
            except Cancelled as error:
                raise JsonRpcException(str(error), REQUEST_CANCELLED) from None
            except VaultseekError as error:
                if method in _SHOWN_FAILURES:
                    raise JsonRpcException(printable(str(error), 500), REQUEST_FAILED) from None
                log.debug("%s: %s", method, error)
                resolved = method in (types.COMPLETION_ITEM_RESOLVE, types.CODE_ACTION_RESOLVE)
                return params if resolved else None

        return handle

    def _command(self, run: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def command(*arguments: Any) -> Any:
            try:
                return await run(*arguments)
            except VaultseekError as error:
                raise JsonRpcException(printable(str(error), 500), REQUEST_FAILED) from None

        return command

    # -- start and end of a client's session ---------------------------------------------------------------

    def _initialize(self, params: types.InitializeParams) -> None:
        protocol = self._server.protocol
        before = protocol.workspace
        workspace = NoteWorkspace(
            before.root_uri,
            types.TextDocumentSyncKind.Incremental,
            list(before.folders.values()),
            before.position_encoding,
        )
        protocol._workspace = workspace
        self._session.begin(workspace, params)

    async def _initialized(self, _: types.InitializedParams) -> None:
        try:
            await self._daemon.ask("index/status", {})
        except VaultseekError:
            return  # the failure was already shown to the user
        self._daemon.subscribe()
        folders = self._session.folders()
        if folders and not await self._session.roots():
            message = f"vaultseek: {printable(folders[0])} is not in a vault; run `vaultseek vault add` there"
            self._server.window_log_message(types.LogMessageParams(types.MessageType.Info, message))

    # -- diagnostics -----------------------------------------------------------------------------------------

    def _changed(self, params: Any) -> None:
        if self._session.can("text_document.diagnostic") is None:
            uri = params.text_document.uri
            self._schedule(uri, self._publish(uri))

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        if task := self._diagnosing.pop(uri, None):
            task.cancel()
        if self._session.can("text_document.diagnostic") is None:
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def _schedule(self, key: str, work: Any) -> None:
        """Run ``work`` in the background, and cancel earlier work with the same key."""
        if task := self._diagnosing.pop(key, None):
            task.cancel()
        self._diagnosing[key] = asyncio.ensure_future(work)

    async def _publish(self, uri: str) -> None:
        await asyncio.sleep(DIAGNOSE_SECONDS)
        try:
            document = await self._session.document(uri)
            items = await diagnostics.of_document(self._session, document)
        except VaultseekError:
            return
        if self._session.is_open(uri):
            version = document.text.version if document else None
            params = types.PublishDiagnosticsParams(uri, items, version)
            self._server.text_document_publish_diagnostics(params)

    # -- notifications from the daemon -----------------------------------------------------------------------

    def _notified(self, method: str, params: JSON) -> None:
        vault = params.get("vault_path")
        if vault is not None and vault not in self._vaults:
            self._vaults.add(vault)
            self._session.forget_roots()  # the vault may be new and contain a folder that is already known
        if method == "index/changed":
            if self._refreshing is None or self._refreshing.done():
                self._refreshing = asyncio.ensure_future(self._refresh())
        elif method == "index/progress":
            self._report(params)

    def _reconnected(self) -> None:
        """Make the client refresh, because vaults and notes may have changed while the daemon was not
        running."""
        self._vaults.clear()
        self._notified("index/changed", {})

    async def _refresh(self) -> None:
        """Make the client refresh its diagnostics and counts, because link targets may have changed."""
        await asyncio.sleep(REFRESH_SECONDS)
        if self._session.can("text_document.diagnostic") is None:
            for document in list(self._session.workspace.text_documents.values()):
                self._schedule(document.uri, self._publish(document.uri))
        elif self._session.can("workspace.diagnostics.refresh_support"):
            self._server.workspace_diagnostic_refresh(None)
        options = self._session.options
        if options.code_lens and self._session.can("workspace.code_lens.refresh_support"):
            self._server.workspace_code_lens_refresh(None)
        if options.inlay_hints and self._session.can("workspace.inlay_hint.refresh_support"):
            self._server.workspace_inlay_hint_refresh(None)

    def _report(self, state: JSON) -> None:
        """Show the indexing progress of an open vault, if the client supports progress and the vault is not
        complete."""
        if not self._session.has_vault(str(state["vault_path"])):
            return
        vault, share = str(state["vault"]), float(state["share"])
        token = f"vaultseek/{vault}"
        progress = self._server.work_done_progress
        if vault in self._asked:
            self._asked[vault] = share
        elif vault not in self._shown:
            if share >= 1 or not self._session.can("window.work_done_progress"):
                return
            self._asked[vault] = share

            def begin(*_: Any) -> None:
                share = self._asked.pop(vault)
                if share >= 1:
                    progress.tokens.pop(token, None)
                    return
                self._shown.add(vault)
                title = f"Indexing {printable(vault)}"
                progress.begin(token, types.WorkDoneProgressBegin(title, percentage=int(share * 100)))

            progress.create(token, begin)
        elif share >= 1:
            progress.end(token, types.WorkDoneProgressEnd())
            progress.tokens.pop(token, None)
            self._shown.discard(vault)
        else:
            message = f"{state['notes']} notes, {state['embedded']} of {state['chunks']} passages"
            report = types.WorkDoneProgressReport(message=message, percentage=int(share * 100))
            progress.report(token, report)

    def _warn(self, message: str) -> None:
        self._server.window_show_message(
            types.ShowMessageParams(types.MessageType.Warning, f"vaultseek: {printable(message, 500)}")
        )

    # -- questions to the user -------------------------------------------------------------------------------

    async def _choose(self, message: str, titles: Sequence[str]) -> int | None:
        if not self._session.can("window.show_document.support"):
            return None
        # The titles must differ from each other, because the client returns only the chosen title.
        items = [types.MessageActionItem(f"{number} {title}") for number, title in enumerate(titles, 1)]
        params = types.ShowMessageRequestParams(types.MessageType.Info, message, items)
        chosen = await self._server.window_show_message_request_async(params)
        return next(
            (number for number, item in enumerate(items) if chosen and item.title == chosen.title), None
        )

    async def _show(self, uri: str, line: int) -> None:
        params = types.ShowDocumentParams(uri, take_focus=True, selection=start_of_line(line))
        await self._server.window_show_document_async(params)

    async def _apply(self, title: str, edit: types.WorkspaceEdit) -> None:
        params = types.ApplyWorkspaceEditParams(edit, title)
        await self._server.workspace_apply_edit_async(params)
