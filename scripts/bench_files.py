"""Measure the cost of PDFs: reading them, searching and saving during that time, and a vault without PDFs.

    python scripts/bench_files.py [--pdfs N] [--pages N] [--minutes M]

The vault is a copy of ``tests/data/vault``, first indexed without PDFs. Then N PDFs with words of the sample
vault are added at once, while searches run and notes are saved. After M minutes, or once everything is
embedded, the script prints the table rows of docs/files.md.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).parent))

from benchmark.worlds import World

SAMPLE = Path(__file__).parents[1] / "tests" / "data" / "vault"
WORDS_A_LINE, LINES_A_PAGE = 12, 22
EXTRACTOR = "vaultseek.content.extractors.process"


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--pdfs", type=int, default=500)
    arguments.add_argument("--pages", type=int, default=20)
    arguments.add_argument("--minutes", type=float, default=10)
    options = arguments.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="vs-files-"))
    try:
        _measure(folder, options.pdfs, options.pages, options.minutes * 60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(folder: Path, pdfs: int, pages: int, seconds: float) -> None:
    world = World(folder)
    shutil.copytree(SAMPLE, world.vault)
    for file in world.vault.rglob("*.pdf"):
        file.unlink()
    written = _write_pdfs(folder / "pdfs", pdfs, pages, sorted(set(_words(world.vault))))
    try:
        world.client.call("index/refresh", {"vault": str(world.vault), "remember": True})
        while _state(world)["pending"]:
            time.sleep(0.2)
        world.warm_up()
        queries = world.texts.queries(50)
        print(f"| {pdfs} PDFs of {pages} pages, {written / 2**20:.0f} MB | |")
        print(f"| processes for files in a vault without any | {len(_extractors(world))} |")
        for mode in ("keyword", "hybrid"):
            print(f"| {mode} search before | {_shown(_timed(world, queries, mode))} |")
        _under_load(world, folder / "pdfs", queries, pdfs, seconds)
    finally:
        if world.daemon is not None:
            world.daemon.stop()


def _under_load(world: World, source: Path, queries: Sequence[str], pdfs: int, seconds: float) -> None:
    times: dict[str, list[float]] = {"keyword": [], "hybrid": []}
    saves: list[float] = []
    memory = read = 0.0
    began = time.monotonic()
    shutil.copytree(source, world.vault / "PDFs")
    turn = 0
    while (now := time.monotonic() - began) < seconds:
        for mode, own in times.items():
            own += _timed(world, [queries[turn % len(queries)]], mode)
        memory = max(memory, *(_resident(each) for each in _extractors(world)), 0)
        turn += 1
        if turn % 20 == 1:
            saves.append(_save(world, turn))
        state = _state(world)
        if not read and _read_pdfs(world) == pdfs:
            read = now
            rate = pdfs / read
            print(f"| time until all of them are searchable by word | {read:.0f} s, {rate:.1f} a second |")
        if read and not state["pending"]:
            print(f"| all passages embedded after | {now:.0f} s |")
            break
        time.sleep(0.1)
    else:
        state = _state(world)
        texts = f"{_read_pdfs(world)} PDFs read, {state['pending']} texts to embed"
        print(f"| after {seconds / 60:.0f} minutes | {texts} |")
    print(f"| memory of the process that reads them | {memory / 2**20:.0f} MB at most |")
    for mode, own in times.items():
        print(f"| {mode} search meanwhile | {_shown(own)} |")
    print(f"| time until a note saved while they are read is found | {_shown(saves)} |")


def _timed(world: World, queries: Sequence[str], mode: str) -> list[float]:
    """Return the seconds of each search."""
    times = []
    for query in queries:
        began = time.perf_counter()
        world.search(query, mode)
        times.append(time.perf_counter() - began)
    return times


def _save(world: World, number: int) -> float:
    """Return the seconds from saving a note until a search finds it."""
    word = f"zyx{number}w"
    (world.vault / f"{word}.md").write_text(f"# {word}\n")
    began = time.perf_counter()
    while not any(hit["path"] == f"{word}.md" for hit in world.search(word, "keyword")["results"]):
        time.sleep(0.02)
    return time.perf_counter() - began


def _state(world: World) -> dict[str, Any]:
    (vault,) = world.client.call("index/status", {"vault": str(world.vault)})["vaults"]
    state: dict[str, Any] = vault
    return state


def _read_pdfs(world: World) -> int:
    answer = world.client.call("search", {"query": "kind:pdf", "vault": str(world.vault), "limit": 1})
    return int(answer["total"])


def _extractors(world: World) -> list[psutil.Process]:
    assert world.daemon is not None
    return [each for each in world.daemon.processes() if EXTRACTOR in _command(each)]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _shown(times: Sequence[float]) -> str:
    middle, most = np.percentile(np.array(times or [0.0]) * 1e3, (50, 95))
    return f"p50 {middle:.1f} ms, p95 {most:.1f} ms"


# -- the PDFs


def _words(vault: Path) -> list[str]:
    texts = (file.read_text(errors="replace") for file in vault.rglob("*.md"))
    return [word for text in texts for word in text.split() if word.isascii() and word.isalpha()]


def _write_pdfs(folder: Path, count: int, pages: int, words: Sequence[str]) -> int:
    """Write PDFs with different texts and return their total size in bytes."""
    folder.mkdir()
    chance = random.Random(1)
    size = 0
    for number in range(count):
        lines = [
            [" ".join(chance.choices(words, k=WORDS_A_LINE)) for _ in range(LINES_A_PAGE)]
            for _ in range(pages)
        ]
        data = _pdf(lines)
        (folder / f"Report {number}.pdf").write_bytes(data)
        size += len(data)
    return size


def _pdf(pages: Sequence[Sequence[str]]) -> bytes:
    """Return a PDF with these lines on its pages."""
    kids = " ".join(f"{4 + 2 * place} 0 R" for place in range(len(pages)))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for place, lines in enumerate(pages):
        shown = "".join(f"({line}) Tj T* " for line in lines)
        content = f"BT /F1 9 Tf 14 TL 40 780 Td {shown}ET"
        objects.append(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 820]/Resources<</Font<</F1 3 0 R>>>>"
            f"/Contents {5 + 2 * place} 0 R>>"
        )
        objects.append(f"<</Length {len(content)}>>stream\n{content}\nendstream")
    out, offsets = "%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    trailer = f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(out)}\n%%EOF"
    return f"{out}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode("ascii")


if __name__ == "__main__":
    main()
