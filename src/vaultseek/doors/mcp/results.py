"""Results of a search, or of a request for similar notes, formatted for an agent. No I/O."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from vaultseek.base.model import JSON, less_certain
from vaultseek.base.text import count
from vaultseek.doors.mcp.reply import (
    AGENT_NAMES,
    Form,
    Reply,
    advised,
    dated,
    head_of,
    largest,
    line,
    times,
)
from vaultseek.errors import UsageError
from vaultseek.protocol.messages.remarks import with_remarks

NextPage = Callable[[int], str | None]
"""A function that takes the number of results shown and returns the next page's cursor, or None on the last
page."""


def results(
    answer: JSON,
    form: Form,
    *,
    offset: int = 0,
    next_page: NextPage | None = None,
    rest: str = "more",
    advice: str = "ask again with a larger max_tokens",
) -> Reply:
    """Format the answer to ``search`` or ``note/related``; ``offset`` is the number of results on earlier
    pages.

    Without ``next_page``, results that do not fit the budget are only counted, and ``advice`` explains how to
    get them. ``rest`` describes the results on the next page. The answer may be about several vaults.
    """
    scored = (answer.get("interpreted") or {}).get("rank_text") != ""  # filters alone do not rank
    items = [_result(result, scored=scored) for result in answer.get("results") or ()]
    head: JSON = {**head_of(answer), "partial": _partial(answer)}
    if "index" in answer:
        head["pending"] = answer["index"].get("pending", 0)
    head["remarks"] = _remarks(answer)

    total = f" of {answer['total']}" if answer.get("total") else ""
    start = f", from number {offset + 1}" if offset else ""

    where = count(len(answer["vaults"]), "vault") if "vaults" in answer else f"vault {head['vault']!r}"

    def reply(number: int) -> Reply:
        omitted = len(items) - number
        cut: JSON = {"truncated": omitted > 0, "omitted": omitted}
        cursor = next_page(number) if next_page and (number or not items) else None
        if next_page:
            cut["next_cursor"] = cursor
        title = f"{count(number, 'result')}{total} in {where}{start}"
        body = [text for item in items[:number] for text in _result_lines(item)]
        remarks = _remark_lines(head)
        if cursor:
            remarks.append(f'[{"more" if omitted else rest}: search again with cursor="{cursor}"]')
        elif omitted:
            remarks.append(f"[cut: {omitted} more; {advice}]")
        return Reply(title, body, remarks, {**head, "results": items[:number], **cut})

    return largest(reply, len(items), form)


def evidence(answer: JSON) -> Reply:
    """Format the answer to ``search/context``, which the daemon has already cut to the budget."""
    head: JSON = {**head_of(answer), "partial": _partial(answer)}
    # The text of the evidence already begins with the remark that nothing matches.
    head["remarks"] = [remark for remark in _remarks(answer) if remark["code"] != "closest"]
    left_out = [{**each, "path": line(each["path"])} for each in answer["left_out"]]
    content: JSON = {
        "text": answer["text"],
        "left_out": left_out,
        "truncated": bool(left_out),
        "omitted": len(left_out),
    }
    title = f"{count(len(answer['passages']), 'passage')} in vault {head['vault']!r}"
    body = answer["text"].split("\n") if answer["passages"] else []
    return Reply(title, body, _remark_lines(head), {**head, **content}, answer["passages"])


def _remarks(answer: JSON) -> list[JSON]:
    return [
        {"code": remark["code"], "text": advised(remark["text"], remark.get("advice"))}
        for remark in answer.get("remarks") or ()
    ]


def _remark_lines(head: JSON) -> list[str]:
    """Return the remarks as lines; remarks about kinds of search that were left out are marked as partial."""
    kinds = {"incomplete": "partial", "waiting": "partial"}
    return [f"[{kinds.get(remark['code'], 'note')}: {remark['text']}]" for remark in head["remarks"]]


def _partial(answer: JSON) -> list[JSON]:
    return [
        {
            "lane": str(lane["lane"]),
            "code": lane.get("code"),
            "reason": advised(lane.get("reason") or "", lane.get("advice")),
        }
        for lane in answer.get("partial") or ()
    ]


def _result(result: JSON, *, scored: bool) -> JSON:
    item: JSON = {"path": line(result["path"]), "title": line(result["title"])}
    if name := result.get("vault"):
        item["vault"] = line(name)
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
        # The best note has the score 1, even if it has little to do with the question.
        name = "certainty" if "certainty" in result else "score"
        item[name] = round(float(result[name]), 2)
    if name := result.get("property"):
        item["property"] = line(name)
    if via := result.get("via"):
        item["via"] = line(via["path"])
    if tags := result.get("tags"):
        item["tags"] = [line(tag) for tag in tags[:AGENT_NAMES]]
    item |= times(result)
    item["preview"] = _without_start(line(result.get("preview") or ""), headings or [item["title"]])
    return item


def _without_start(preview: str, names: list[str]) -> str:
    """Return a preview without the headings or title at its beginning, which are already shown above it."""
    for name in names:
        rest = preview.removeprefix(name)
        if rest != preview and rest[:1] in ("", " "):
            preview = rest.lstrip()
    return preview


def _result_lines(result: JSON) -> list[str]:
    """Return a result as two lines: its location with facts about it, and its preview."""
    place, about = str(result["path"]), []
    if "place" in result:
        place += f"#{result['place']}"
    elif "start_line" in result:
        place += f":{result['start_line']}-{result['end_line']}"
    if result.get("vault"):
        about.append(f"vault {result['vault']}")
    if result.get("line", result.get("start_line")) != result.get("start_line"):
        about.append(f"line {result['line']}")
    if result.get("heading") or result.get("file_name"):
        about.append(result.get("heading") or result["title"])
    if "certainty" in result:
        about.append(f"certainty {result['certainty']:.2f}")
    elif "score" in result:
        about.append(f"score {result['score']:.2f}")
    about.append(dated(result))
    if result.get("property"):
        about.append(f"property {result['property']}")
    if result.get("via"):
        about.append(f"connected to {result['via']} by a link")
    if result.get("link"):
        about.append(_LINKED[result["link"]])
    about.append(" ".join(f"#{tag}" for tag in result.get("tags", ())))
    where = f"- {' | '.join(filter(None, [place, *about]))}"
    return [where, f"  {result['preview']}"] if result["preview"] else [where]


_LINKED = {"out": "linked from it", "in": "links to it", "both": "linked both ways"}


_FORM = re.compile(r"(\d{1,6})-([0-9a-f]{4})-(\d{1,18})")


class Cursor(NamedTuple):
    """The number of results before a page, and the revision of the index from which the results came."""

    offset: int = 0
    revision: int | None = None


def write_cursor(cursor: Cursor, *question: object) -> str:
    """Return ``cursor`` as text that is valid only for the same ``question``."""
    return f"{cursor.offset}-{_digest(question)}-{cursor.revision or 0}"


def read_cursor(text: str | None, *question: object) -> Cursor:
    """Return the cursor in ``text``, or the cursor for the first page if ``text`` is None.

    Raises UsageError if the text is not a cursor or belongs to a different question.
    """
    if text is None:
        return Cursor()
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            "not a valid cursor; use the cursor at the end of the last page, or none for the first page"
        )
    if match[2] != _digest(question):
        raise UsageError(
            "the cursor is from a different search; repeat that query, mode and vault, or leave out cursor"
        )
    return Cursor(int(match[1]), int(match[3]))


def _digest(question: tuple[object, ...]) -> str:
    text = json.dumps(question, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:4]


def merge_wordings(answers: Sequence[JSON]) -> JSON:
    """Merge the answers to several wordings of a question into one, with each note once, best first.

    Each note has the passage found by its best wording. Notes are ordered by the sum of their certainties
    over all wordings. The certainty shown for a note is its highest, but never higher than the previous
    note's.
    """
    total: dict[str, float] = {}
    best: dict[str, JSON] = {}
    for answer in answers:
        for result in answer["results"]:
            path = result["path"]
            total[path] = total.get(path, 0.0) + result["certainty"]
            if path not in best or result["certainty"] > best[path]["certainty"]:
                best[path] = result
    order = sorted(total, key=lambda path: -total[path])
    certainties = [*accumulate((best[path]["certainty"] for path in order), min)]
    results = [
        {**best[path], "certainty": certainty} for path, certainty in zip(order, certainties, strict=True)
    ]
    lanes = {(lane["lane"], lane.get("code")): lane for answer in answers for lane in answer["partial"]}
    merged = {**answers[0], "results": results, "partial": [*lanes.values()]}
    merged["less_certain"] = less_certain(certainties)
    merged["weak"] = all(answer.get("weak") for answer in answers if answer["results"])
    interpreted: list[JSON] = [answer.get("interpreted") or {} for answer in answers]
    rank_texts = [each.get("rank_text") for each in interpreted]
    merged["interpreted"] = {
        "notes": list(dict.fromkeys(note for each in interpreted for note in each.get("notes") or ())),
        "rank_text": next(filter(None, rank_texts), rank_texts[0]),
    }
    if results:
        merged.pop("nearest", None)
    return with_remarks(merged, found=bool(results))
