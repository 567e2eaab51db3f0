"""Lists of notes, links and mentions as text, with headings, locations and the number of omitted items."""

from __future__ import annotations

from vaultseek.base import limits
from vaultseek.doors.cli.terminal import Terminal, clean, count, width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from vaultseek.base.model import JSON


def heading_line(text: str, number: int, terminal: Terminal) -> str:
    """Return the heading of a list, with the number of its items."""
    return f"{terminal.paint(text, 'bold')} {terminal.paint(f'({number:,})', 'dim')}"


def place(item: JSON, terminal: Terminal, answer: JSON | None = None) -> str:
    """Return ``path:line``, or only the path if there is no line, as a hyperlink if the vault's folder is
    known."""
    line = f":{item['line']}" if item.get("line") else ""
    path = f"{clean(item.get('path') or '')}{line}"
    return terminal.link(terminal.paint(path, "cyan"), file_of(item, answer or item))


def file_of(item: JSON, answer: JSON) -> str:
    """Return the absolute path of an item's note, or "" if the vault's folder is unknown."""
    vault = str(item.get("vault_path") or answer.get("vault_path") or "")
    return f"{vault.rstrip('/')}/{item.get('path') or ''}" if vault else ""


def title_and_name(note: JSON) -> str:
    """Return a note's title, followed by its file name in brackets if the two differ."""
    title, name = clean(note.get("title") or ""), clean(note.get("file_name") or "")
    return f"{title} ({name})" if name else title


def place_and_text(item: JSON, text: object, terminal: Terminal, answer: JSON | None = None) -> str:
    """Return an item's location and, on the same line, as much of ``text`` as fits."""
    where = place(item, terminal, answer)
    room = terminal.width - width_of(clean(f"{item.get('path')}:{item.get('line') or ''}")) - 4
    if not text or (terminal.screen and room <= limits.TERMINAL_COLUMNS // 4):
        return f"  {where}"
    return f"  {where}  {terminal.fit(clean(text), room)}"


def currency_lines(note: JSON, terminal: Terminal, margin: str = "") -> Iterator[str]:
    """Yield a line that says why a note is outdated, or which note it replaces; yield nothing for a current
    note."""
    if currency := note.get("currency"):
        style = "dim" if currency["state"] == "successor" else "magenta"
        yield margin + terminal.paint(
            terminal.fit(clean(currency["text"]), terminal.width - len(margin)), style
        )


def link_text(link: JSON) -> str:
    """Return a link's target, with its heading or block."""
    heading = f"#{link['heading']}" if link.get("heading") else ""
    block = f"#^{link['block']}" if link.get("block") else ""
    return clean(f"{link.get('target') or ''}{heading}{block}")


def remaining(answer: JSON) -> str:
    """Return a line with the number of items left out, or ""."""
    left = int(answer.get("total") or 0) - int(answer.get("count") or 0)
    return f"\n… and {count(left, 'more', 'more')}" if answer.get("count") is not None and left > 0 else ""
