"""Measure search over published sets of dialogues and documents, and print the tables of docs/evaluation.md.

    python scripts/bench_memory.py SET PATH [--cache DIR] [--model NAME] [--conversations N] [--questions N]

SET and PATH are ``locomo`` and its file ``locomo10.json``, ``longmemeval`` and ``longmemeval_s.json``,
``beam`` and the folder ``chats/100K``, or ``limit`` and the folder with ``corpus.jsonl``, ``queries.jsonl``
and ``qrels.jsonl``. None of them is part of this project. Each conversation becomes a vault and each session
a dated note; the questions are asked unchanged. No language model is involved.

*hit@k*: share of questions with a note with evidence among the first k. *evidence@10*: share of the notes
with evidence among the first ten. Intervals are Wilson's 95 % intervals (1927). *turns per 1,000 tokens*:
turns with evidence per 1,000 tokens read, for three texts within the same budget: the output of ``context``,
whole notes in the order of a search, and whole notes ordered by how many of the question's words they
contain.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dateutil.parser import parse as parse_date

from vaultseek.base.text import fold_case, tokens
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.library import indexed_vault
from vaultseek.core.notes.context import NOTES, pack_context
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.semantic.models.choice import AUTO, choose_models
from vaultseek.settings.search import SearchSettings

MODES = ("hybrid", "keyword", "semantic")
HITS = (1, 5, 10)
BUDGET = 2000
"""Maximum number of tokens for each way of reading."""
LOCOMO_KINDS = {1: "several facts", 2: "time", 3: "open", 4: "one fact", 5: "adversarial"}
"""Kinds of question by their number in the file. The order differs from the paper's (Maharana et al.
2024)."""
_WORD = re.compile(r"\w+")
_UNSAFE = re.compile(r"[^\w -]")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its kind, and its evidence: notes, and turns as written in the notes."""

    text: str
    kind: str
    notes: frozenset[str]
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The notes of a vault by file name, and the questions about them."""

    notes: Mapping[str, str]
    questions: Sequence[Question]


@dataclass(slots=True)
class Figures:
    """Figures of one mode for one kind of question."""

    ranks: list[float] = field(default_factory=list)
    """Rank of the first note with evidence; infinite if it is not among the first ten."""
    evidence: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Reading:
    """The turns with evidence in the texts read, and the number of tokens of these texts."""

    turns: int = 0
    of: int = 0
    tokens: int = 0


# -- the published files


def locomo(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of ``locomo10.json``."""
    for sample in json.loads(path.read_text(encoding="utf-8")):
        talk: dict[str, Any] = sample["conversation"]
        notes: dict[str, str] = {}
        turn_of: dict[str, tuple[str, str]] = {}
        for key in (key for key in talk if re.fullmatch(r"session_\d+", key)):
            when = str(talk.get(f"{key}_date_time", ""))
            name = f"{_day(when) or 'undated'} {key.replace('_', ' ')}.md"
            lines = []
            for turn in talk[key]:
                picture = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                lines.append(f"**{turn['speaker']}**: {turn['text']}{picture}".replace("\n", " "))
                turn_of[turn["dia_id"]] = name, lines[-1]
            notes[name] = _note(when, lines)
        yield Conversation(notes, [*_locomo_questions(sample["qa"], turn_of)])


def _locomo_questions(
    asked: Sequence[Mapping[str, Any]], turn_of: Mapping[str, tuple[str, str]]
) -> Iterator[Question]:
    for each in asked:
        # Some lists hold several ids in one string, and some ids match no turn.
        ids = re.findall(r"D\d+:\d+", " ".join(each.get("evidence") or ()))
        places = [turn_of[id] for id in ids if id in turn_of]
        if places:
            yield Question(
                str(each["question"]),
                LOCOMO_KINDS.get(each.get("category", 0), "other"),
                frozenset(note for note, _ in places),
                tuple(dict.fromkeys(turn for _, turn in places)),
            )


def longmemeval(path: Path) -> Iterator[Conversation]:
    """Yield the questions of a LongMemEval file, each with the sessions it is about."""
    for item in json.loads(path.read_text(encoding="utf-8")):
        if str(item["question_id"]).endswith("_abs"):
            continue
        notes: dict[str, str] = {}
        turns: list[str] = []
        name_of: dict[str, str] = {}
        sessions = zip(
            item["haystack_session_ids"], item["haystack_dates"], item["haystack_sessions"], strict=True
        )
        for number, (id, when, session) in enumerate(sessions, start=1):
            name = name_of[id] = f"{_day(when) or 'undated'} session {number}.md"
            lines = [f"**{turn['role']}**: {turn['content']}" for turn in session]
            turns += [line for line, turn in zip(lines, session, strict=True) if turn.get("has_answer")]
            notes[name] = _note(when, lines)
        right = frozenset(name_of[id] for id in item["answer_session_ids"] if id in name_of)
        asked = [Question(item["question"], item["question_type"], right, tuple(turns))] if right else []
        yield Conversation(notes, asked)


def beam(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of a BEAM folder; each batch of turns is a note."""
    for folder in sorted(each for each in path.iterdir() if (each / "chat.json").is_file()):
        notes: dict[str, str] = {}
        turn_of: dict[int, tuple[str, str]] = {}
        for batch in json.loads((folder / "chat.json").read_text(encoding="utf-8")):
            messages = [message for turn in batch["turns"] for message in turn]
            when = batch.get("time_anchor") or next(
                (m["time_anchor"] for m in messages if m.get("time_anchor")), ""
            )
            name = f"{_day(when) or 'undated'} batch {batch['batch_number']}.md"
            lines = [f"**{message['role']}**: {message['content']}" for message in messages]
            for message, line in zip(messages, lines, strict=True):
                turn_of[message["id"]] = name, line
            notes[name] = _note(when, lines)
        asked = json.loads((folder / "probing_questions/probing_questions.json").read_text(encoding="utf-8"))
        questions = []
        for kind, of_kind in asked.items():
            for each in of_kind:
                places = [turn_of[id] for id in _numbers(each.get("source_chat_ids")) if id in turn_of]
                if places:
                    right = frozenset(note for note, _ in places)
                    turns = tuple(dict.fromkeys(turn for _, turn in places))
                    questions.append(Question(each["question"], kind.replace("_", " "), right, turns))
        yield Conversation(notes, questions)


def limit(path: Path) -> Iterator[Conversation]:
    """Yield the single corpus of LIMIT, one note per document."""
    rows = {name: _json_lines(path / f"{name}.jsonl") for name in ("corpus", "queries", "qrels")}
    name_of = {row["_id"]: f"{_UNSAFE.sub('_', row['_id'])}.md" for row in rows["corpus"]}
    notes = {name_of[row["_id"]]: f"{row.get('title') or ''}\n{row['text']}\n" for row in rows["corpus"]}
    right: dict[str, set[str]] = defaultdict(set)
    for row in rows["qrels"]:
        if row["score"] > 0 and row["corpus-id"] in name_of:
            right[row["query-id"]].add(name_of[row["corpus-id"]])
    questions = [
        Question(row["text"], "all", frozenset(right[row["_id"]]))
        for row in rows["queries"]
        if row["_id"] in right
    ]
    yield Conversation(notes, questions)


SETS: dict[str, Callable[[Path], Iterator[Conversation]]] = {
    "locomo": locomo, "longmemeval": longmemeval, "beam": beam, "limit": limit,
}  # fmt: skip


def _json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def _numbers(value: object) -> Iterator[int]:
    """Yield the integers in nested lists and dictionaries."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        for each in value:
            yield from _numbers(each)
    elif isinstance(value, int):
        yield value


def _note(when: str, lines: Sequence[str]) -> str:
    day = _day(when)
    head = f"---\ndate: {day}\n---\n" if day else ""
    title = f"# {when}\n\n" if when else ""
    return head + title + "\n\n".join(lines) + "\n"


def _day(when: str) -> str | None:
    """Return the day of a date in the format of the sets, such as ``1:56 pm on 8 May, 2023``."""
    try:
        return parse_date(when, fuzzy=True).date().isoformat()
    except (ValueError, OverflowError):
        return None


# -- measuring


async def measure(conversation: Conversation, cache: Path, model: str, results: Results) -> None:
    """Create a vault from the conversation in ``cache``, and ask its questions."""
    root = cache / "notes"
    shutil.rmtree(root, ignore_errors=True)
    for name, text in conversation.notes.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    async with indexed_vault(
        VaultOptions("conversation", root), cache / "index", choose_models(model)
    ) as vault:
        for question in conversation.questions:
            for mode in MODES:
                await _ask(question, mode, vault, results)
            await _read(question, conversation, vault, results)


async def _ask(question: Question, mode: str, vault: OpenVault, results: Results) -> None:
    began = time.perf_counter()
    paths = await _search(question.text, mode, vault)
    seconds = time.perf_counter() - began
    rank = next((at for at, path in enumerate(paths, 1) if path in question.notes), math.inf)
    evidence = len(question.notes & set(paths)) / len(question.notes)
    for kind in ("all", question.kind) if question.kind != "all" else ("all",):
        figures = results.figures[mode, kind]
        figures.ranks.append(rank)
        figures.evidence.append(evidence)
        figures.seconds.append(seconds)


async def _read(question: Question, conversation: Conversation, vault: OpenVault, results: Results) -> None:
    """Count the evidence in the output of each way of reading."""
    if not question.turns:
        return
    request = SearchRequest(question.text, SearchSettings(), limit=NOTES, plain=True)
    trace = await Searcher(vault).run(request)
    packed = str(pack_context(trace, vault.ledger, BUDGET)["text"])
    texts = {
        "context": packed,
        "search and read": _whole(await _search(question.text, "hybrid", vault), conversation.notes),
        "grep and read": _whole(_by_words(question.text, conversation.notes), conversation.notes),
    }
    for way, text in texts.items():
        reading = results.readings[way]
        plain = " ".join(text.split())
        reading.turns += sum(" ".join(turn.split()) in plain for turn in question.turns)
        reading.of += len(question.turns)
        reading.tokens += tokens(text)


async def _search(text: str, mode: str, vault: OpenVault) -> list[str]:
    request = SearchRequest(text, SearchSettings(), limit=max(HITS), mode=mode, plain=True, brief=True)
    return [result["path"] for result in (await Searcher(vault).search(request))["results"]]


def _by_words(text: str, notes: Mapping[str, str]) -> list[str]:
    """Return the notes ordered by how many of the question's words they contain."""
    words = set(_WORD.findall(fold_case(text)))
    having = {name: len(words & set(_WORD.findall(fold_case(note)))) for name, note in notes.items()}
    return sorted(notes, key=lambda name: (-having[name], name))


def _whole(names: Sequence[str], notes: Mapping[str, str]) -> str:
    """Return the text of whole notes in the order of ``names``, cut at the end of the budget."""
    text = "\n".join(notes[name] for name in names)
    return text.encode()[: 3 * BUDGET].decode("utf-8", "ignore")


class Results:
    """The figures of all conversations."""

    def __init__(self) -> None:
        self.figures: dict[tuple[str, str], Figures] = defaultdict(Figures)
        self.readings: dict[str, Reading] = defaultdict(Reading)

    def tables(self) -> Iterator[str]:
        """Yield the lines of the tables."""
        hits = " | ".join(f"hit@{k}" for k in HITS)
        yield f"| questions | lanes | number | {hits} | evidence@10 | p50, ms | p95, ms |"
        yield "|---|---|---|" + "---|" * (len(HITS) + 3)
        for (mode, kind), figures in sorted(self.figures.items(), key=lambda each: each[0][1] != "all"):
            yield f"| {kind} | {mode} | {len(figures.ranks)} | {_row(figures)} |"
        if self.readings:
            yield ""
            yield "| within 2,000 tokens | turns of evidence read | tokens | turns per 1,000 tokens |"
            yield "|---|---|---|---|"
        for way, reading in self.readings.items():
            share, rate = reading.turns / reading.of, 1000 * reading.turns / max(1, reading.tokens)
            yield f"| {way} | {share:.3f} of {reading.of} | {reading.tokens:,} | {rate:.2f} |"


def _row(figures: Figures) -> str:
    count = len(figures.ranks)
    hits = [_with_interval(sum(rank <= k for rank in figures.ranks), count) for k in HITS]
    times = sorted(1000 * each for each in figures.seconds)
    p50, p95 = statistics.median(times), times[min(count - 1, math.ceil(0.95 * count) - 1)]
    return " | ".join([*hits, f"{statistics.fmean(figures.evidence):.3f}", f"{p50:.1f}", f"{p95:.1f}"])


def _with_interval(hits: int, count: int) -> str:
    """Format a share with its 95 % interval (Wilson 1927)."""
    z = 1.96
    share, scale = hits / count, 1 + z * z / count
    middle = (share + z * z / (2 * count)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return f"{share:.3f} ({middle - half:.3f} to {middle + half:.3f})"


def conversations(name: str, path: Path) -> Iterator[Conversation]:
    """Yield the conversations of a set. Exits with a one-line message if its files differ from the published
    ones."""
    count = 0
    try:
        for conversation in SETS[name](path):
            count += 1
            yield conversation
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        sys.exit(f"{path}: no {name} set after {count} conversations ({type(error).__name__}: {error})")
    if not count:
        sys.exit(f"{path}: no conversation of {name} in it")


def main() -> None:
    """Measure the conversations one after the other, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", choices=SETS)
    parser.add_argument("path", type=Path)
    parser.add_argument("--cache", type=Path, help="keep the vaults and their indexes here")
    parser.add_argument("--model", default=AUTO, help="as in the settings")
    parser.add_argument("--conversations", type=int, help="only the first N")
    parser.add_argument("--questions", type=int, help="only the first N of each conversation")
    arguments = parser.parse_args()
    results = Results()
    with tempfile.TemporaryDirectory(prefix="vaultseek-memory-") as folder:
        cache: Path = arguments.cache or Path(folder)
        for number, conversation in enumerate(conversations(arguments.set, arguments.path), start=1):
            asked = Conversation(conversation.notes, conversation.questions[: arguments.questions])
            asyncio.run(measure(asked, cache / f"{arguments.set}-{number}", arguments.model, results))
            print(
                f"{number}: {len(asked.notes)} notes, {len(asked.questions)} questions",
                file=sys.stderr,
                flush=True,
            )
            if number == arguments.conversations:
                break
    print("\n".join(results.tables()))


if __name__ == "__main__":
    main()
