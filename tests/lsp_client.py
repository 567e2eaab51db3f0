"""An editor for tests: pygls' own client, connected to ``vaultseek lsp`` as a user's editor starts it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

ENCODINGS = {"utf-8": types.PositionEncodingKind.Utf8, "utf-16": types.PositionEncodingKind.Utf16}
ENCODINGS["utf-32"] = types.PositionEncodingKind.Utf32


class Editor:
    """The client, the vault, and the server's notifications and requests."""

    def __init__(self, client: LanguageClient, root: Path) -> None:
        self.client = client
        self.root = root
        self.published: dict[str, list[types.Diagnostic]] = {}
        self.messages: list[str] = []
        self.logged: list[str] = []
        self.asked: list[str] = []
        self.applied: list[types.WorkspaceEdit] = []
        self.progress: list[tuple[str, Any]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.server: types.ServerCapabilities | None = None

    def uri(self, path: str) -> str:
        """Return the address of a file of the vault."""
        return (self.root / path).as_uri()

    def path(self, uri: str) -> str:
        """Return the vault path of an address."""
        return types.TextDocumentIdentifier(uri).uri.removeprefix(self.root.as_uri() + "/")

    def open(self, path: str, text: str | None = None) -> str:
        """Open a note with its text on disk or a different one; return its address."""
        text = (self.root / path).read_text() if text is None else text
        uri = self.uri(path)
        item = types.TextDocumentItem(uri, "markdown", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, path: str, version: int, *changes: Any) -> None:
        """Change an open note: ranges, or the whole text."""
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version, self.uri(path)), list(changes)
            )
        )

    def close(self, path: str) -> None:
        """Close a note."""
        document = types.TextDocumentIdentifier(self.uri(path))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    async def until(self, condition: Callable[[], Any]) -> Any:
        """Return the value of ``condition`` as soon as it is true."""
        async with asyncio.timeout(60):
            while not (value := condition()):
                await asyncio.sleep(0.02)
        return value

    async def until_published(self, path: str, condition: Any) -> list[types.Diagnostic]:
        """Return the diagnostics of a note once they satisfy ``condition``."""
        async with asyncio.timeout(60):
            while not condition(items := self.published.get(self.uri(path))):
                await asyncio.sleep(0.02)
        return items or []


CAPABILITIES: dict[str, Any] = {
    "text_document": types.TextDocumentClientCapabilities(
        completion=types.CompletionClientCapabilities(
            completion_item=types.ClientCompletionItemOptions(
                documentation_format=[types.MarkupKind.Markdown]
            )
        ),
        hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
        document_symbol=types.DocumentSymbolClientCapabilities(hierarchical_document_symbol_support=True),
        code_action=types.CodeActionClientCapabilities(
            resolve_support=types.ClientCodeActionResolveOptions(properties=["edit"])
        ),
        rename=types.RenameClientCapabilities(prepare_support=True),
    ),
    "workspace": types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(
            document_changes=True,
            resource_operations=[types.ResourceOperationKind.Create, types.ResourceOperationKind.Rename],
        ),
        apply_edit=True,
        file_operations=types.FileOperationClientCapabilities(will_rename=True),
    ),
}


@asynccontextmanager
async def editor(
    environment: Mapping[str, str],
    root: Path,
    *arguments: str,
    encoding: str = "utf-16",
    folders: Sequence[Path | str] = (),
    options: Any = None,
    name: str = "tests",
    **capabilities: Any,
) -> AsyncIterator[Editor]:
    """An editor with the folder ``root`` open; ``capabilities`` replace the usual ones."""
    client = LanguageClient("tests", "1")
    made = Editor(client, root)

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def publish(params: types.PublishDiagnosticsParams) -> None:
        made.published[params.uri] = list(params.diagnostics)

    @client.feature(types.WINDOW_SHOW_MESSAGE)
    def show(params: types.ShowMessageParams) -> None:
        made.messages.append(params.message)

    @client.feature(types.WINDOW_LOG_MESSAGE)
    def log(params: types.LogMessageParams) -> None:
        made.logged.append(params.message)

    @client.feature(types.PROGRESS)
    def progress(params: types.ProgressParams) -> None:
        made.progress.append((str(params.token), params.value))

    @client.feature(types.WORKSPACE_APPLY_EDIT)
    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        made.applied.append(params.edit)
        return types.ApplyWorkspaceEditResult(True)

    for method in (
        types.WORKSPACE_DIAGNOSTIC_REFRESH,
        types.WORKSPACE_CODE_LENS_REFRESH,
        types.WORKSPACE_INLAY_HINT_REFRESH,
        types.WINDOW_WORK_DONE_PROGRESS_CREATE,
    ):
        client.feature(method)(partial(_answer, made, method))

    await client.start_io(
        sys.executable, "-m", "vaultseek", "lsp", *arguments, env=dict(environment), cwd=root
    )
    general = types.GeneralClientCapabilities(position_encodings=[ENCODINGS[encoding]])
    known = types.ClientCapabilities(general=general, **{**CAPABILITIES, **capabilities})
    answer = await client.initialize_async(
        types.InitializeParams(
            capabilities=known,
            process_id=None,
            client_info=types.ClientInfo(name),
            workspace_folders=[
                types.WorkspaceFolder(each if isinstance(each, str) else each.as_uri(), str(each))
                for each in folders or [root]
            ],
            initialization_options=options,
        )
    )
    made.server = answer.capabilities
    client.initialized(types.InitializedParams())
    try:
        yield made
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()


async def _answer(made: Editor, method: str, *_: Any) -> None:
    made.asked.append(method)
    await made.may_answer.wait()


def position(text: str, mark: str = "¦") -> tuple[str, types.Position]:
    """Return a text without the mark, and the mark's position, in UTF-16."""
    before, after = text.split(mark)
    line = before.count("\n")
    column = len(before.rpartition("\n")[2].encode("utf-16-le")) // 2
    return before + after, types.Position(line, column)
