"""Notes in the answer to a search or to a question for similar notes, as an agent reads them. No I/O."""

from __future__ import annotations

from collections.abc import Callable

from vaultseek.base.model import JSON, STAGES
from vaultseek.doors.mcp.problems import without_commands
from vaultseek.doors.mcp.reply import AGENT_NAMES, Form, Reply, count, head_of, largest, line

NextPage = Callable[[int], str | None]
"""A function from the number of results shown to the cursor of those after them, None if there are none."""


def results(answer: JSON, form: Form, *, offset: int = 0, next_page: NextPage | None = None) -> Reply:
    """Format the answer to ``search`` or ``note/related``, whose results follow ``offset`` others.

    Without ``next_page``, those that do not fit the budget are counted.
    """
    scored = (answer.get("interpreted") or {}).get("rank_text") != ""  # filters alone match equally
    items = [_result(result, scored=scored) for result in answer.get("results") or ()]
    head: JSON = {**head_of(answer), "partial": _partial(answer)}
    if "index" in answer:
        head["pending"] = answer["index"].get("pending", 0)
    if notes := _notes(answer):
        head["notes"] = notes

    total = f" of {answer['total']}" if answer.get("total") else ""
    start = f", from number {offset + 1}" if offset else ""

    def reply(number: int) -> Reply:
        omitted = len(items) - number
        cut: JSON = {"truncated": omitted > 0, "omitted": omitted}
        cursor = next_page(number) if next_page and (number or not items) else None
        if next_page:
            cut["next_cursor"] = cursor
        title = f"{count(number, 'result')}{total} in vault {head['vault']!r}{start}"
        body = [text for item in items[:number] for text in _result_lines(item)]
        remarks = [*_remarks(head), *_cut(omitted, cursor)]
        return Reply(title, body, remarks, {**head, "results": items[:number], **cut})

    return largest(reply, len(items), form)


def _cut(omitted: int, cursor: str | None) -> list[str]:
    if cursor:
        return [f'[more: search again with cursor="{cursor}"]']
    return [f"[cut: {omitted} more; ask again with a larger max_tokens]"] if omitted else []


def _notes(answer: JSON) -> list[str]:
    notes = [line(note) for note in (answer.get("interpreted") or {}).get("notes") or ()]
    if answer.get("weak") and answer.get("results"):
        notes.append("no match; these come nearest in meaning, but not near")
    if nearest := answer.get("nearest"):
        confidence = f"confidence {nearest['confidence']:.2f}"
        notes.append(f"nothing found; {line(nearest['path'])} comes nearest, but not near ({confidence})")
    return notes


def _partial(answer: JSON) -> list[JSON]:
    return [
        {
            "lane": str(lane["lane"]),
            "code": lane.get("code"),
            "reason": without_commands(lane.get("reason") or ""),
        }
        for lane in answer.get("partial") or ()
    ]


def _remarks(head: JSON) -> list[str]:
    remarks = [f"[note: {note}]" for note in head.get("notes", ())]
    for lane in head["partial"]:
        reason = lane["reason"] or "unknown why"
        if lane["lane"] == "vault":
            remarks.append(f"[partial: answered from the notes that are known: {reason}]")
        else:
            part = lane["lane"] if lane["lane"] in STAGES else f"{lane['lane']} search"
            remarks.append(f"[partial: {part} did not take part: {reason}]")
    if head.get("pending"):
        texts = count(head["pending"], "text is", "texts are")
        remarks.append(f"[indexing: {texts} not yet searched by meaning]")
    return remarks


def _result(result: JSON, *, scored: bool) -> JSON:
    item: JSON = {"path": line(result["path"]), "title": line(result["title"])}
    if name := result.get("file_name"):
        item["file_name"] = line(name)
    headings = [line(heading) for heading in result.get("heading_path") or ()]
    if headings and headings != [item["title"]]:
        item["heading"] = " > ".join(headings)
    if result.get("kind", "note") != "note":
        item["kind"] = result["kind"]
    if result.get("place"):
        item["place"] = line(result["place"])
    for name in ("line", "column", "start_line", "end_line", "link"):
        if result.get(name) is not None and (scored or name not in ("line", "column")):
            item[name] = result[name]
    if scored:
        # The best note has score 1, however little it has to do with the question.
        certainty = result.get("certainty", result.get("confidence"))
        name, value = ("score", result["score"]) if certainty is None else ("confidence", certainty)
        item[name] = round(float(value), 2)
    if name := result.get("property"):
        item["property"] = line(name)
    if via := result.get("via"):
        item["via"] = line(via["path"])
    if tags := result.get("tags"):
        item["tags"] = [line(tag) for tag in tags[:AGENT_NAMES]]
    item["modified"] = result["modified"]
    item["preview"] = _without_start(line(result.get("preview") or ""), [item["title"], *headings[-1:]])
    return item


def _without_start(preview: str, names: list[str]) -> str:
    """Return a preview without the title and the heading that it begins with, which stand above it."""
    for name in names:
        rest = preview.removeprefix(name)
        if rest != preview and rest[:1] in ("", " "):
            preview = rest.lstrip()
    return preview


def _result_lines(result: JSON) -> list[str]:
    """Return a result as a line that says where it is, and one of its text."""
    place, about = str(result["path"]), []
    if "place" in result:
        place += f"#{result['place']}"
    elif "start_line" in result:
        place += f":{result['start_line']}-{result['end_line']}"
    if result.get("line", result.get("start_line")) != result.get("start_line"):
        about.append(f"line {result['line']}")
    if result.get("heading") or result.get("file_name"):
        about.append(result.get("heading") or result["title"])
    if "confidence" in result:
        about.append(f"confidence {result['confidence']:.2f}")
    elif "score" in result:
        about.append(f"score {result['score']:.2f}")
    if result.get("property"):
        about.append(f"property {result['property']}")
    if result.get("via"):
        about.append(f"found by a link of {result['via']}")
    if result.get("link"):
        about.append(_LINKED[result["link"]])
    about.append(" ".join(f"#{tag}" for tag in result.get("tags", ())))
    where = f"- {' | '.join(filter(None, [place, *about]))}"
    return [where, f"  {result['preview']}"] if result["preview"] else [where]


_LINKED = {"out": "linked from it", "in": "links to it", "both": "linked both ways"}
