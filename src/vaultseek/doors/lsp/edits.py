"""Previews, and edits for the editor to apply. vaultseek only proposes edits and writes nothing."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from lsprotocol import types

from vaultseek.base.model import Place
from vaultseek.base.text import remove_hidden
from vaultseek.core.notes.rename import Edit
from vaultseek.doors.lsp.documents import Text
from vaultseek.doors.lsp.guard import Change
from vaultseek.doors.lsp.session import Session, Spot

FileOperation = types.CreateFile | types.RenameFile


async def proposed_edits(session: Session, spot: Spot, without: Container[str], **asked: Any) -> list[Edit]:
    """Return the edits proposed by ``vault/rename``, except edits to the files in ``without``.

    The user is warned about files whose links cannot be updated.
    """
    answer = await session.ask("vault/rename", spot.root, **asked)
    warn_of_left(session, [path for path in answer["left"] if path not in without])
    return [
        Edit(
            item["path"],
            Place(item["line"], item["column"] - 1, item["end_column"] - 1),
            item["old"],
            item["new"],
        )
        for item in answer["edits"]
        if item["path"] not in without
    ]


def warn_of_left(session: Session, paths: Sequence[str]) -> None:
    """Warn the user about files whose links cannot be updated."""
    if paths:
        session.warn(f"change these files by hand, because they contain the old name: {', '.join(paths)}")


def workspace_edit(
    session: Session, spot: Spot, edits: Iterable[Edit], operations: Sequence[FileOperation] = ()
) -> types.WorkspaceEdit:
    """Return the edits in a form supported by the client; file operations come last."""
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    texts = {path: text for path in by_path if (text := session.text_of(spot, path)) is not None}
    changes = {spot.uri(path): (text, [*_text_edits(text, by_path[path])]) for path, text in texts.items()}
    return _proposed(session, changes, operations)


def replacing(session: Session, uri: str, text: Text, changes: Sequence[Change]) -> types.WorkspaceEdit:
    """Return the edit that makes ``changes`` to the document ``uri``, whose current text is ``text``."""
    edits = [types.TextEdit(text.range(change.place), change.new) for change in changes]
    return _proposed(session, {uri: (text, edits)})


def _proposed(
    session: Session,
    changes: Mapping[str, tuple[Text, Sequence[types.TextEdit]]],
    operations: Sequence[FileOperation] = (),
) -> types.WorkspaceEdit:
    # Neovim 0.7 supports the newer form of edits but declares only the file operations.
    edit = "workspace.workspace_edit"
    if not (session.can(f"{edit}.document_changes") or session.can(f"{edit}.resource_operations")):
        return types.WorkspaceEdit(changes={uri: edits for uri, (_, edits) in changes.items()})
    # The edit contains the version of the text, so that the client refuses it if its text is newer.
    documents = [
        types.TextDocumentEdit(
            types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=text.version), list(edits)
        )
        for uri, (text, edits) in changes.items()
    ]
    return types.WorkspaceEdit(document_changes=[*documents, *operations])


def can_do(session: Session, operation: types.ResourceOperationKind) -> bool:
    """Return True if the client can perform this file operation, such as creating a file, on request."""
    return operation in (session.can("workspace.workspace_edit.resource_operations") or ())


def _text_edits(text: Text, edits: Iterable[Edit]) -> Iterable[types.TextEdit]:
    for edit in sorted(edits, key=lambda edit: edit.place):
        line, start, end = edit.place
        if text.line(line)[start:end] == edit.old:  # the text has not changed in the meantime
            yield types.TextEdit(text.range(edit.place), edit.new)


_PICTURE = re.compile(r"!(?=\[)")
_HTML = re.compile(r"<(?=[A-Za-z/!?])")
_COMMAND = re.compile(r"\]\(\s*<?\s*(?:command|javascript|data|vbscript):[^)]*\)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FRONTMATTER = re.compile(r"---[ \t]*\n(?:.*\n)*?---[ \t]*(?:\n|\Z)")


def harmless(markdown: str) -> str:
    """Return a note's Markdown without anything that would make an editor load or run something."""
    text = _COMMAND.sub("]", _PICTURE.sub("", visible(markdown)))
    return _HTML.sub("&lt;", text)


def escaped(text: str) -> str:
    """Return Markdown that displays ``text`` literally."""
    return re.sub(r"([\\`*_{}\[\]()#!|<>~&])", r"\\\1", one_line(text))


def visible(text: str) -> str:
    """Return ``text`` without control characters and other invisible characters."""
    return _CONTROL.sub("", remove_hidden(text))


def one_line(text: str) -> str:
    """Return ``text`` on one line, without invisible characters."""
    return " ".join(visible(text).split())


def without_frontmatter(text: str) -> str:
    """Return ``text`` without its frontmatter."""
    match = _FRONTMATTER.match(text)
    return text[match.end() :].lstrip("\n") if match else text


def markup(session: Session, text: str, capability: str) -> types.MarkupContent:
    """Return a note's text in a format supported by the client; ``capability`` names the capability that
    lists the supported formats."""
    formats = session.can(f"text_document.{capability}") or ()
    body = without_frontmatter(text).strip()
    if types.MarkupKind.Markdown in formats:
        return types.MarkupContent(types.MarkupKind.Markdown, harmless(body))
    return types.MarkupContent(types.MarkupKind.PlainText, visible(body))
