"""Lines of notes, formatted for an agent; several notes share one token budget. No I/O."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from vaultseek.base.limits import AGENT_TOKENS_MOST
from vaultseek.base.model import JSON
from vaultseek.base.text import TOKEN_BYTES, count, remove_hidden, tokens
from vaultseek.doors.mcp.reply import (
    AGENT_NAMES,
    Form,
    Reply,
    dated,
    dump,
    head_of,
    line,
    times,
)


def passages(answers: Sequence[JSON], form: Form, *, problems: Sequence[str] = ()) -> Reply:
    """Format answers to ``note/get``, with as many lines of each note as fit; a first line that does not fit
    is cut.

    ``problems`` contains the reasons why other notes are missing. Lines contained in two answers are shown
    once. A note's unused share of the budget goes to other notes. Notes of which nothing fits are only
    counted.
    """
    whole = _without_overlaps(answers)
    remarks = _not_read(problems, form.budget // 2)
    empty = _reply([], whole, remarks).tokens(form)
    left = form.budget - empty
    cut: dict[int, _Passage] = {}
    by_size = sorted(range(len(whole)), key=lambda at: len(whole[at]["text"]))
    for number, at in enumerate(by_size):
        passage = _fitting(whole[at], left // (len(whole) - number), form)
        if passage is not None:
            cut[at] = passage
            left -= passage.tokens(form)
    shown = [cut[at] for at in sorted(cut)]
    return _reply(shown, [answer for at, answer in enumerate(whole) if at not in cut], remarks)


def note_text(answer: JSON) -> str:
    """Return the text in an answer to ``note/get`` for a resource; text longer than the maximum budget is cut
    and marked."""
    text = remove_hidden(str(answer["text"]))
    beginning = text.encode("utf-8", "replace")[: AGENT_TOKENS_MOST * TOKEN_BYTES].decode("utf-8", "ignore")
    if beginning == text and not answer.get("truncated"):
        return text
    last = int(answer["start_line"]) + beginning.count("\n")
    return f"{beginning}\n\n[cut off at line {last} of {answer['lines']}; read_note reads the rest]\n"


@dataclass(frozen=True, slots=True)
class _Passage:
    """Some lines of a note, below a line with their location, and a remark if the note has more lines."""

    place: str
    rows: Sequence[str]
    remarks: Sequence[str]
    structured: JSON

    def tokens(self, form: Form) -> int:
        content = dump(self.structured) + ", " if form.structured else "\n".join(["", *self.rows])
        return tokens(content) + tokens("\n".join(["", self.place, *self.remarks]))


def _reply(shown: Sequence[_Passage], missing: Sequence[JSON], not_read: Sequence[str]) -> Reply:
    notes = [passage.structured for passage in shown]
    truncated = bool(missing) or any(note["truncated"] for note in notes)
    structured: JSON = {
        "untrusted": True,
        "partial": [],
        "notes": notes,
        "truncated": truncated,
        "omitted": len(missing),
    }
    remarks = list(not_read)
    if missing:
        remarks.append(
            f"[cut: {count(len(missing), 'more note')}; ask for fewer, or use a larger max_tokens]"
        )
    if len(shown) != 1:
        body = [text for each in shown for text in (each.place, *each.rows, *each.remarks)]
        return Reply(count(len(shown), "passage"), body, remarks, structured)
    only = shown[0]
    return Reply(only.place, only.rows, [*only.remarks, *remarks], structured)


def _not_read(problems: Sequence[str], budget: int) -> list[str]:
    """Return a remark for each problem that fits the budget, and one remark for all other problems."""
    remarks: list[str] = []
    for problem in problems:
        remark = f"[not read: {problem}]"
        budget -= tokens(f"{remark}\n")
        if budget < 0:
            return [*remarks, f"[not read: {count(len(problems) - len(remarks), 'other')}]"]
        remarks.append(remark)
    return remarks


def _fitting(answer: JSON, budget: int, form: Form) -> _Passage | None:
    """Return as much of a note as fits, in whole lines if at least one fits, or None if none of its text
    fits."""
    visible = remove_hidden(str(answer["text"]))
    complete = _passage(answer, visible, complete=True)
    if complete.tokens(form) <= budget:
        return complete
    lengths = range(1, min(len(visible), budget * TOKEN_BYTES) + 1)
    fitting = bisect_right(
        lengths, budget, key=lambda length: _beginning(answer, visible, length).tokens(form)
    )
    return _beginning(answer, visible, fitting) if fitting else None


def _beginning(answer: JSON, visible: str, length: int) -> _Passage:
    text = visible[:length]
    if length < len(visible) and visible[length] != "\n" and "\n" in text:
        text = text[: text.rindex("\n")]
    return _passage(answer, text, complete=False)


def _passage(answer: JSON, text: str, *, complete: bool) -> _Passage:
    start, last = int(answer["start_line"]), int(answer["end_line"])
    rows = text.split("\n") if text or last >= start else []
    end = last if complete else max(start, start + len(rows) - 1)
    cut = not complete or bool(answer.get("truncated"))
    next_line = end + 1 if end < int(answer["lines"]) else None
    structured: JSON = {
        **{name: value for name, value in head_of(answer).items() if name != "untrusted"},
        "tags": [line(tag) for tag in answer["tags"][:AGENT_NAMES]],
        "aliases": [line(alias) for alias in answer["aliases"][:AGENT_NAMES]],
        **times(answer),
        "lines": answer["lines"],
        "start_line": start,
        "end_line": end,
        "next_line": next_line,
        "truncated": cut,
        "text": text,
    }
    path, lines = structured["path"], int(answer["lines"])
    title = f" | {structured['title']}" if structured.get("file_name") else ""
    span = f":{start}-{end} of {lines}" if end >= start else " | no lines"
    advice = f'continue with "{path}:{next_line}-", or' if next_line else "the line is too long;"
    remarks = [f"[cut after line {end}; {advice} use a larger max_tokens]"] if cut else []
    # Blank lines cannot forge anything, and notes have many, so they get no prefix.
    numbered = [f"{number}| {row}" if row.strip() else "" for number, row in enumerate(rows, start)]
    return _Passage(f"- {path}{span}{title} | {dated(structured)}", numbered, remarks, structured)


def _without_overlaps(answers: Sequence[JSON]) -> list[JSON]:
    """Return the answers, after merging answers that contain overlapping or adjacent lines of the same
    note."""
    notes: dict[tuple[str, str], list[JSON]] = {}
    for answer in answers:
        notes.setdefault((answer["vault"], answer["path"]), []).append(answer)
    return [
        part for of_note in notes.values() for part in (_merged(of_note) if len(of_note) > 1 else of_note)
    ]


def _merged(answers: Sequence[JSON]) -> list[JSON]:
    merged: list[JSON] = []
    for answer in sorted(answers, key=lambda each: (each["start_line"], -each["end_line"])):
        last = merged[-1] if merged else None
        if last is None or answer["start_line"] > last["end_line"] + 1:
            merged.append(answer)
        elif answer["end_line"] > last["end_line"]:
            rest = answer["text"].split("\n")[last["end_line"] + 1 - answer["start_line"] :]
            text = "\n".join([last["text"], *rest])
            cut = answer["truncated"]
            merged[-1] = {**last, "text": text, "end_line": answer["end_line"], "truncated": cut}
    return merged
