"""Diagnostics: broken and ambiguous links, missing headings and blocks, and problems in frontmatter.

Open notes are checked as they are in the editor, all other notes as they are in the index.
"""

from urllib.parse import unquote

from lsprotocol import types

from vaultseek.base.model import JSON, Place
from vaultseek.base.text import fold
from vaultseek.content.kinds import is_markdown
from vaultseek.doors.lsp.documents import Text, start_of_line
from vaultseek.doors.lsp.labels import undefined
from vaultseek.doors.lsp.session import Document, Session, Spot
from vaultseek.doors.lsp.targets import Target, targets

SOURCE = "vaultseek"
_MILD = ("ambiguous", "missing_label")
"""Codes of problems that may be intended; for example, a label may be ordinary text in brackets."""


async def of_document(session: Session, document: Document | None) -> list[types.Diagnostic]:
    """Return the diagnostics of a document, or an empty list if it is not a note in a vault."""
    if document is None or not is_markdown(document.spot.path) or not session.options.diagnostics:
        return []
    spot, text = document
    note = text.note
    links = [link for link in note.links if link.place]
    wrong = [target for target in await targets(session, spot, links) if target.problem]
    return [
        *(_diagnostic(text.whole_line(each.line or 1), each.message, each.code) for each in note.problems),
        *(_of_link(text, target, spot) for target in wrong),
        *(_diagnostic(text.range(each.place), each.message, "missing_label") for each in undefined(text)),
    ]


async def pull(
    session: Session, params: types.DocumentDiagnosticParams
) -> types.RelatedFullDocumentDiagnosticReport:
    """Return the diagnostics of one document, as the answer to a ``textDocument/diagnostic`` request."""
    items = await of_document(session, await session.document(params.text_document.uri))
    return types.RelatedFullDocumentDiagnosticReport(items=items)


async def pull_all(
    session: Session, params: types.WorkspaceDiagnosticParams
) -> types.WorkspaceDiagnosticReport:
    """Return the diagnostics of all notes that are not open, from the index, for ``workspace/diagnostic``."""
    # Client and server may percent-encode different characters of a URI.
    before = {unquote(each.uri): each for each in params.previous_result_ids}
    reports: list[types.WorkspaceDocumentDiagnosticReport] = []
    reported = set()
    for root in await session.roots() if session.options.diagnostics else ():
        spot = await session.spot_of_vault(root)
        answer = await session.ask("vault/problems", root)
        by_path: dict[str, list[JSON]] = {}
        for problem in answer["problems"]:
            by_path.setdefault(problem["path"], []).append(problem)
        for path, problems in by_path.items():
            uri = spot.uri(path)
            if session.is_open(uri):
                continue
            reported.add(unquote(uri))
            state = before.get(unquote(uri))
            reports.append(_report(session, spot, path, problems, state.value if state else None))
    # If a note no longer has problems, its earlier diagnostics must be cleared.
    empty = (
        each.uri for uri, each in before.items() if uri not in reported and not session.is_open(each.uri)
    )
    reports += [types.WorkspaceFullDocumentDiagnosticReport(uri=uri, items=[]) for uri in empty]
    return types.WorkspaceDiagnosticReport(items=reports)


def _report(
    session: Session, spot: Spot, path: str, problems: list[JSON], before: str | None
) -> types.WorkspaceDocumentDiagnosticReport:
    uri = spot.uri(path)
    parts = [(each["line"], each["column"], each["code"], each["message"]) for each in problems]
    state = f"{hash(tuple(parts)):x}"
    if state == before:
        return types.WorkspaceUnchangedDocumentDiagnosticReport(uri=uri, result_id=state)
    text = session.text_of(spot, path) if is_markdown(path) else None
    items = [_of_index(problem, text) for problem in problems]
    return types.WorkspaceFullDocumentDiagnosticReport(uri=uri, items=items, result_id=state)


def _of_index(problem: JSON, text: Text | None) -> types.Diagnostic:
    line = int(problem["line"] or 1)
    if text is None:
        whole = start_of_line(line)
    elif problem["column"] is None:
        whole = text.whole_line(line)
    else:
        whole = text.range(Place(line, problem["column"] - 1, problem["end_column"] - 1))
    return _diagnostic(whole, problem["message"], problem["code"])


def _of_link(text: Text, target: Target, spot: Spot) -> types.Diagnostic:
    place = target.link.place or Place(target.link.line, 0, 0)
    candidates = target.answer["candidates"] if target.problem == "ambiguous" else ()
    related = [
        types.DiagnosticRelatedInformation(types.Location(spot.uri(path), start_of_line(1)), path)
        for path in (*([target.path] if candidates and target.path else ()), *candidates)
    ]
    diagnostic = _diagnostic(text.range(place), target.message or "", target.problem or "")
    diagnostic.related_information = related or None
    diagnostic.data = {"target": fold(target.link.target)}
    return diagnostic


def _diagnostic(where: types.Range, message: str, code: str) -> types.Diagnostic:
    mild = code in _MILD
    severity = types.DiagnosticSeverity.Information if mild else types.DiagnosticSeverity.Warning
    return types.Diagnostic(where, message, severity=severity, code=code, source=SOURCE)
