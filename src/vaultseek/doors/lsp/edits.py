"""Edits that the editor makes: vaultseek proposes them and writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lsprotocol import types

from vaultseek.base.model import JSON, Place
from vaultseek.core.notes.rename import Edit
from vaultseek.doors.lsp.documents import Text
from vaultseek.doors.lsp.session import Session, Spot

FileOperation = types.CreateFile | types.RenameFile


def edits_of_answer(answer: JSON) -> list[Edit]:
    """Return the edits of the daemon's answer to ``vault/rename``."""
    return [
        Edit(
            item["path"],
            Place(item["line"], item["column"] - 1, item["end_column"] - 1),
            item["old"],
            item["new"],
        )
        for item in answer["edits"]
    ]


def workspace_edit(
    session: Session, spot: Spot, edits: Iterable[Edit], operations: Sequence[FileOperation] = ()
) -> types.WorkspaceEdit:
    """Return the edits in the form that the client takes; file operations come last."""
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    texts = {path: session.text_of(spot, path) for path in by_path}
    changes = {
        path: list(_text_edits(text, by_path[path])) for path, text in texts.items() if text is not None
    }
    if not _takes_documents(session):
        return types.WorkspaceEdit(changes={spot.uri(path): made for path, made in changes.items()})
    documents = [_document_edit(session, spot.uri(path), made) for path, made in changes.items()]
    return types.WorkspaceEdit(document_changes=[*documents, *operations])


def replacing(session: Session, uri: str, edits: Sequence[types.TextEdit]) -> types.WorkspaceEdit:
    """Return edits of one document."""
    if not _takes_documents(session):
        return types.WorkspaceEdit(changes={uri: list(edits)})
    return types.WorkspaceEdit(document_changes=[_document_edit(session, uri, edits)])


def can_do(session: Session, operation: types.ResourceOperationKind) -> bool:
    """True if the client creates or renames files for us."""
    return operation in (session.can("workspace.workspace_edit.resource_operations") or ())


def _takes_documents(session: Session) -> bool:
    """True for the newer form of edits; Neovim 0.7 takes it, but names only the operations on files."""
    edit = "workspace.workspace_edit"
    return bool(session.can(f"{edit}.document_changes") or session.can(f"{edit}.resource_operations"))


def _text_edits(text: Text, edits: Iterable[Edit]) -> Iterable[types.TextEdit]:
    for edit in sorted(edits, key=lambda edit: edit.place):
        line, start, end = edit.place
        if text.line(line)[start:end] == edit.old:  # the text has not changed since
            yield types.TextEdit(text.range(edit.place), edit.new)


def _document_edit(session: Session, uri: str, edits: Sequence[types.TextEdit]) -> types.TextDocumentEdit:
    document = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=session.version(uri))
    return types.TextDocumentEdit(text_document=document, edits=list(edits))
