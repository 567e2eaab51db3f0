"""The script that measures published sets, tested with an invented file in the format of each."""

import json
import sys
from pathlib import Path

import bench_memory
import pytest


def write_locomo(folder: Path) -> Path:
    def session(day: str, *texts: str) -> tuple[str, list[dict[str, str]]]:
        number = day.partition(" ")[0]
        turns = [
            {"speaker": "Ann", "dia_id": f"D{number}:{at}", "text": text} for at, text in enumerate(texts, 1)
        ]
        return f"1:56 pm on {day} May, 2023", turns

    first, second = session("1", "My boat has a red sail.", "It leaks."), session("2", "I adopted a heron.")
    talk = {
        "speaker_a": "Ann",
        "session_1_date_time": first[0],
        "session_1": first[1],
        "session_2_date_time": second[0],
        "session_2": [*second[1], {"speaker": "Bo", "dia_id": "D2:2", "text": "!", "blip_caption": "a bird"}],
    }
    asked = [
        {"question": "What colour is the sail?", "answer": "red", "evidence": ["D1:1"], "category": 4},
        {"question": "Who adopted a heron?", "evidence": ["D2:1; D2:2"], "category": 1},
        {"question": "What was never said?", "evidence": [], "category": 5},
    ]
    path = folder / "locomo10.json"
    path.write_text(json.dumps([{"conversation": talk, "qa": asked}]))
    return path


def write_longmemeval(folder: Path) -> Path:
    item = {
        "question_id": "a",
        "question_type": "single-session-user",
        "question": "What colour is the sail?",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "haystack_sessions": [
            [{"role": "user", "content": "My boat has a red sail.", "has_answer": True}],
            [{"role": "user", "content": "I adopted a heron."}],
        ],
        "answer_session_ids": ["s1"],
    }
    path = folder / "longmemeval_s.json"
    path.write_text(json.dumps([item, {**item, "question_id": "a_abs"}]))
    return path


def write_beam(folder: Path) -> Path:
    chat = folder / "100K" / "1"
    (chat / "probing_questions").mkdir(parents=True)
    turns = [
        [{"id": 1, "role": "user", "content": "My boat has a red sail.", "time_anchor": "March-15-2024"}]
    ]
    more = [[{"id": 2, "role": "user", "content": "I adopted a heron."}]]
    batches = [{"batch_number": 1, "turns": turns}, {"batch_number": 2, "turns": more}]
    (chat / "chat.json").write_text(json.dumps(batches))
    asked = {
        "information_extraction": [{"question": "What colour is the sail?", "source_chat_ids": {"a": [1]}}],
        "abstention": [{"question": "What was never said?"}],
    }
    (chat / "probing_questions" / "probing_questions.json").write_text(json.dumps(asked))
    return chat.parent


def write_limit(folder: Path) -> Path:
    rows = {
        "corpus": [
            {"_id": "Ann B", "title": "", "text": "Ann B likes sails."},
            {"_id": "Bo", "text": "Bo likes rye."},
        ],
        "queries": [{"_id": "q1", "text": "Who likes sails?"}],
        "qrels": [{"query-id": "q1", "corpus-id": "Ann B", "score": 1}],
    }
    for name, each in rows.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, each)))
    return folder


@pytest.mark.parametrize(
    ("name", "write", "questions"),
    [
        ("locomo", write_locomo, 2),
        ("longmemeval", write_longmemeval, 1),
        ("beam", write_beam, 1),
        ("limit", write_limit, 1),
    ],
)
def test_questions_of_each_format_find_their_evidence(name, write, questions, tmp_path, capsys, monkeypatch):
    words = [
        "bench_memory.py",
        name,
        str(write(tmp_path)),
        "--model",
        "hashing-32",
        "--cache",
        str(tmp_path / "c"),
    ]
    monkeypatch.setattr(sys, "argv", words)
    bench_memory.main()
    lines = capsys.readouterr().out.splitlines()
    (by_word,) = (line for line in lines if line.startswith("| all | keyword |"))
    assert by_word.startswith(f"| all | keyword | {questions} | 1.000 (")
    if name == "limit":
        return
    ways = [line.split(" | ")[0] for line in lines if " of " in line][1:]
    assert ways == ["| context", "| search and read", "| grep and read"]
    (read,) = (line for line in lines if line.startswith("| grep and read |"))
    assert read.startswith("| grep and read | 1.000 of ")


def test_notes_have_the_dates_of_their_sessions(tmp_path):
    (conversation,) = bench_memory.locomo(write_locomo(tmp_path))
    assert [*conversation.notes] == ["2023-05-01 session 1.md", "2023-05-02 session 2.md"]
    assert conversation.notes["2023-05-02 session 2.md"].startswith("---\ndate: 2023-05-02\n---\n")
    assert conversation.questions[1].kind == "several facts"
    assert len(conversation.questions[1].turns) == 2
    (batches,) = bench_memory.beam(write_beam(tmp_path))
    assert [*batches.notes] == ["2024-03-15 batch 1.md", "undated batch 2.md"]


@pytest.mark.parametrize("content", [None, "[", "[]", "[{}]"])
def test_a_file_of_another_form_is_one_line(content, tmp_path):
    path = tmp_path / "locomo10.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit, match=r"locomo10\.json: no "):
        list(bench_memory.conversations("locomo", path))
