"""The targets of links in an open note, from the index and from other open documents, which take
precedence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vaultseek.base.model import JSON, Link
from vaultseek.content.kinds import is_markdown
from vaultseek.content.markdown.resolve import Names
from vaultseek.core.notes.targets import problem_message
from vaultseek.doors.lsp.documents import Text
from vaultseek.doors.lsp.session import Session, Spot

LINKS_AT_ONCE = 1000
"""Maximum number of links in one request to the daemon."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a link: its file and line, or the reason why the link is broken."""

    link: Link
    path: str | None
    title: str | None
    line: int | None
    problem: str | None
    message: str | None
    answer: JSON


async def targets(
    session: Session,
    spot: Spot,
    links: Sequence[Link],
    *,
    similar: bool = False,
    moves: Sequence[JSON] = (),
    wait: bool = False,
) -> list[Target]:
    """Return the targets of ``links`` in the note at ``spot``. With ``wait``, recently saved notes are
    indexed first."""
    answers: list[JSON] = []
    for start in range(0, len(links), LINKS_AT_ONCE):
        written = [
            {"target": link.target, "kind": link.kind, "heading": link.heading, "block": link.block}
            for link in links[start : start + LINKS_AT_ONCE]
        ]
        more = {name: True for name, wanted in (("similar", similar), ("wait", wait)) if wanted}
        answer = await session.ask(
            "links/resolve", spot.root, source=spot.path, links=written, moves=list(moves), **more
        )
        answers += answer["links"]
    if any(answer["problem"] == "missing_note" for answer in answers):
        unsaved = await session.unsaved(spot.root)
        names = names_of(unsaved)
        for link, answer in zip(links, answers, strict=True):
            if answer["problem"] == "missing_note" and (path := names.resolve_link(link, spot.path).path):
                answer.update(resolved=path, title=unsaved[path].note.title, problem=None)
    return [_target(session, spot, link, answer) for link, answer in zip(links, answers, strict=True)]


def names_of(texts: Mapping[str, Text]) -> Names:
    """Return the names by which links can refer to notes; ``texts`` maps the notes' paths to their texts."""
    names = Names()
    for path, text in texts.items():
        names.add(path, text.note.aliases)
    return names


def _target(session: Session, spot: Spot, link: Link, answer: JSON) -> Target:
    path, line, problem = answer["resolved"], answer["target_line"], answer["problem"]
    message = answer["message"]
    if not link.target and (link.heading or link.block):
        path, problem = spot.path, None  # the link leads to the note itself, which may not be saved yet
    is_part = path and is_markdown(path) and (link.heading or link.block)
    text = session.text_of(spot, path) if is_part and session.is_open(spot.uri(path)) else None
    if text is not None:
        line = _line(link, text)
        missing: Literal["missing_block", "missing_heading"] = (
            "missing_block" if link.block else "missing_heading"
        )
        if line is None:
            problem, message = missing, problem_message(missing, link, ())
        elif problem == missing:
            problem = message = None
    return Target(link, path, answer["title"], line, problem, message if problem else None, answer)


def _line(link: Link, text: Text) -> int | None:
    if link.block is not None:
        block = text.anchors.block(link.block)
        return block.line if block else None
    heading = text.anchors.heading(link.heading or "")
    return heading.line if heading else None
