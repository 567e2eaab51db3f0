"""Measure the keyword index: ranking on retrieval sets, speed of building, saving, searching and merging.

python scripts/bench_keyword.py quality DIRECTORY...     each with vault/, queries.jsonl and qrels.tsv
python scripts/bench_keyword.py speed VAULT              a folder of Markdown files
"""

from __future__ import annotations

import argparse
import json
import math
import random
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from vaultseek.index.keyword.analysis import detect_language
from vaultseek.index.keyword.index import KeywordChunk, KeywordDocument, KeywordIndex

PASSAGE_WORDS = 150
BATCH = 256


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as directory:
        if arguments.command == "quality":
            for path in arguments.paths:
                print(_quality(Path(path), Path(directory), arguments.unstemmed))
        else:
            for path in arguments.paths:
                _speed(Path(path), Path(directory) / "index")


def document(note: int, path: Path, root: Path) -> KeywordDocument:
    """Return a note in the plainest way: its first heading is the title, passages are joined paragraphs."""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.split("\n")
    title = next((line[2:] for line in lines if line.startswith("# ")), path.stem)
    name = path.relative_to(root).as_posix()
    chunks = tuple(KeywordChunk(f"{note}-{n}", prose) for n, prose in enumerate(_passages(text)))
    return KeywordDocument(note, name, title, chunks=chunks)


def ndcg(ranked: Sequence[str], grades: dict[str, float], k: int = 10) -> float:
    """Return nDCG@k with the grade as gain."""
    gain = sum(grades.get(path, 0) / math.log2(place + 2) for place, path in enumerate(ranked[:k]))
    ideal = sorted(grades.values(), reverse=True)[:k]
    return gain / sum(grade / math.log2(place + 2) for place, grade in enumerate(ideal))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("quality", "speed"))
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--unstemmed", action="store_true", help="do not stem words")
    return parser.parse_args()


def _passages(text: str) -> Iterator[str]:
    words, part = 0, []
    for paragraph in text.split("\n\n"):
        part.append(paragraph)
        words += len(paragraph.split())
        if words >= PASSAGE_WORDS:
            yield "\n\n".join(part)
            words, part = 0, []
    if part:
        yield "\n\n".join(part)


def _quality(data: Path, directory: Path, unstemmed: bool) -> str:
    root = data / "vault"
    files = sorted(root.rglob("*.md"))
    documents = [document(note, path, root) for note, path in enumerate(files)]
    language = (
        None if unstemmed else detect_language(" ".join(c.prose for d in documents[:50] for c in d.chunks))
    )
    index = KeywordIndex.create(directory / data.name, language=language)
    for start in range(0, len(documents), 1000):
        index.apply(documents[start : start + 1000], (), str(start))
    queries, grades = _questions(data)
    names = [document.path for document in documents]
    scores, times = [], []
    for key, judged in grades.items():
        answer = index.search(queries[key], 10)
        scores.append(ndcg([names[hit.note] for hit in answer.hits], judged))
        times.append(answer.milliseconds)
    return (
        f"{data.name:<12} {language} notes {len(documents):>6} queries {len(scores):>4} "
        f"nDCG@10 {statistics.mean(scores):.4f} p50 {statistics.median(times):.1f} ms"
    )


def _questions(data: Path) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
    lines = (data / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    queries = {str(row["id"]): row["query"] for row in map(json.loads, lines)}
    grades: dict[str, dict[str, float]] = {}
    for line in (data / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, path, grade = line.split("\t")
        if float(grade) > 0:
            grades.setdefault(query, {})[path] = float(grade)
    return queries, grades


def _speed(root: Path, directory: Path) -> None:
    files = sorted(root.rglob("*.md"))
    documents = [document(note, path, root) for note, path in enumerate(files)]
    index = KeywordIndex.create(directory)
    started = time.perf_counter()
    for start in range(0, len(documents), BATCH):
        index.apply(documents[start : start + BATCH], (), str(start))
        while index.merge_step():
            pass
    seconds = time.perf_counter() - started
    size = sum(path.stat().st_size for path in directory.iterdir())
    print(f"{root.name}: {len(documents)} notes in {seconds:.1f} s, {len(documents) / seconds:.0f} notes/s")
    print(f"{index.segments} segments, {size / 1e6:.0f} MB, peak memory {_peak():.0f} MB (texts included)")
    _searches(index, documents)
    _saves(index, documents)
    started = time.perf_counter()
    KeywordIndex.open(directory).search("anything", 10)
    print(f"open and search: {(time.perf_counter() - started) * 1000:.0f} ms")
    shutil.rmtree(directory)


def _searches(index: KeywordIndex, documents: Sequence[KeywordDocument]) -> None:
    chance = random.Random(1)
    texts = [chunk.prose for document in documents for chunk in document.chunks if len(chunk.prose) > 100]
    for size in (1, 2, 4, 8, 12):
        times = []
        for _ in range(100):
            words = chance.choice(texts).split()
            times.append(index.search(" ".join(chance.sample(words, min(size, len(words)))), 20).milliseconds)
        print(f"{size} words: {_spread(times)}")
    print(f"typo: {_spread([index.search('direcotry', 20).milliseconds for _ in range(20)])}")


def _saves(index: KeywordIndex, documents: Sequence[KeywordDocument]) -> None:
    chance = random.Random(2)
    saved, searched = [], []
    for number in range(200):
        started = time.perf_counter()
        index.apply([chance.choice(documents)], (), f"save {number}")
        saved.append((time.perf_counter() - started) * 1000)
        searched.append(index.search("search after a save", 20).milliseconds)
    print(f"save: {_spread(saved)}; search after it: {_spread(searched)}; {index.segments} segments")


def _spread(times: Sequence[float]) -> str:
    ordered = sorted(times)
    high = ordered[int(len(ordered) * 0.95)]
    return f"p50 {statistics.median(ordered):.1f} p95 {high:.1f} max {ordered[-1]:.1f} ms"


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
