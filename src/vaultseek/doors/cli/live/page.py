"""Text of the live search: a row for each result, and the line of figures and remarks."""

from __future__ import annotations

from collections.abc import Iterator

from vaultseek.base.model import JSON
from vaultseek.doors.cli.listing import title_and_name
from vaultseek.doors.cli.live.preview import Row
from vaultseek.doors.cli.search_page import is_weak, missing_lane
from vaultseek.doors.cli.terminal import clean, count, cut, width_of

_MARKER = "▌ "
_TITLE_SHARE = 0.7
"""Part of a row that a long title may take; the folder gets the rest."""


def row(result: JSON, columns: int, *, selected: bool) -> Row:
    """Return the row of a result: title, heading and folder, on one line of the screen."""
    room = max(1, columns - len(_MARKER))
    title, folder = _title(result), _folder(result)
    if width_of(title) + 2 + width_of(folder) > room:
        title = cut(title, max(int(room * _TITLE_SHARE), room - 2 - width_of(folder)))
    folder = cut(folder, max(0, room - width_of(title) - 2)) if room - width_of(title) > 4 else ""
    gap = " " * (room - width_of(title) - width_of(folder))
    style = "selected" if selected else ""
    marker = ("marker", _MARKER) if selected else ("", " " * len(_MARKER))
    return [marker, (f"{style} title", title), (style, gap), (f"{style} folder", folder)]


def remarks(answer: JSON, message: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of the line below the list, each with its style: figures, and what is missing."""
    if message:
        yield "warning", clean(message)
        return
    results = answer.get("results") or ()
    if is_weak(answer):
        yield "warning", f"No match. Closest in meaning ({_figures(answer)}):"
    elif results:
        yield "figures", _figures(answer)
    elif (answer.get("index") or {}).get("notes") == 0:
        yield "warning", "the vault has no notes yet"
    else:
        yield "warning", _none(answer)
    for lane in answer.get("partial") or ():
        yield "warning", missing_lane(lane, answer.get("mode"))
    if pending := (answer.get("index") or {}).get("pending"):
        yield "warning", f"{count(int(pending), 'text')} not yet embedded for search by meaning"
    for note in (answer.get("interpreted") or {}).get("notes") or ():
        yield "warning", clean(note)


def _title(result: JSON) -> str:
    title = title_and_name(result) or clean(result.get("path") or "")
    headings = [clean(heading) for heading in result.get("heading_path") or ()]
    last = headings[-1] if headings else ""
    return f"{title} › {last}" if last and last != clean(result.get("title") or "") else title


def _folder(result: JSON) -> str:
    folder = clean(result.get("path") or "").rpartition("/")[0]
    return f"{clean(result['vault'])}: {folder}" if result.get("vault") else folder


def _figures(answer: JSON) -> str:
    results, total = len(answer["results"]), int(answer.get("total") or 0)
    parts = [count(max(results, total), "note")]
    if answer.get("took_ms") is not None:
        parts.append(f"{float(answer['took_ms']):.0f} ms")
    about = [clean(answer[key]) for key in ("search_method", "vault") if answer.get(key)]
    return " · ".join([*parts, *about])


def _none(answer: JSON) -> str:
    nearest = answer.get("nearest")
    return f"No note matches; the nearest is {clean(nearest['path'])}" if nearest else "No note matches"
