"""Random notes, queries, bases, messages and settings; failing inputs are kept in tests/data/crashers.

Inputs are tried in another process, so that a crash in native code ends only that process. A failure is an
unexpected exception, a crash, more than ``SECONDS`` or ``MEMORY`` for one input, or ``HELD_SECONDS`` without
a chance for other threads: in a daemon, another client would wait this long.
"""

import atexit
import hashlib
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import hostile

HERE = Path(__file__).parent
CRASHERS = HERE / "data" / "crashers"
SECONDS = 10
MEMORY = 256 << 20
"""Maximum growth of the process's memory per input, in bytes."""
HELD_SECONDS = 0.3
BATCH = 200
"""Number of inputs per process."""
FILES = ("canvas", "base", "excalidraw", "org", "html", "session", "pdf")
"""Kinds of files that vaultseek reads in a separate process. That process does not delay other work."""
GROWN_CHARS, GROWN_TIMES = 8_000, 5
MOST_GROWTH = 11
"""Maximum growth of the time for an input that is ``GROWN_TIMES`` as long; quadratic work grows 25 times."""
LEAST_SECONDS = 0.25
"""Processor time below which growth is not judged."""
PIECES = [
    b"# ",
    b"[[",
    b"]]",
    b"![",
    b"](",
    b"---\n",
    b"```",
    b"> ",
    b"- [ ] ",
    b"#tag",
    b"$$",
    b"<!--",
    b"%%",
    b"^id",
    b"|",
    b"\n",
    b"\r\n",
    b"\t",
    b"    ",
    b"*a*",
    b"&x",
    b"<<: *a",
    b"- *a\n",
    b"key: ",
    b"!!python/x ",
    b"{{",
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    "é\u202e\u200d漢字".encode(),
    b'"',
    b"(",
    b")",
    b"-",
    b"OR ",
    b"tag:",
    b"path:*",
    b"/(a+)+$/",
    b"~9",
    b"[a TO z]",
    b"created:>",
    b"2300-01-01",
    b"9" * 400,
    b"1:1:1:1:1",
    b"{",
    b"}",
    b'"id":1',
    b'"method":"search"',
    b'"params":{}',
    b"NaN",
    b"1e999",
    b"\\ud800",
    b"Content-Length: 5\r\n\r\n",
    b"[search]\n",
    b"alpha = ",
    b"[[vaults]]\n",
]


def try_note(data: bytes) -> None:
    """Parse and chunk a note."""
    from vaultseek.content.markdown.chunk import chunk
    from vaultseek.content.markdown.decode import decode
    from vaultseek.content.markdown.parse import parse
    from vaultseek.semantic.models.tokens import count_words

    text, problems = decode(data)
    note = parse(text, "fuzz.md", problems)
    chunk(note, count_words, 100)
    json.dumps(note.frontmatter)


def try_query(data: bytes) -> None:
    """Parse a query."""
    from vaultseek.content.query.grammar import parse_query
    from vaultseek.errors import BadQuery

    try:
        str(parse_query(data.decode("utf-8", "replace")).filter)
    except BadQuery:
        return


def try_frame(data: bytes) -> None:
    """Read frames of a stream, and their contents."""
    from vaultseek.errors import VaultseekError
    from vaultseek.protocol.wire.frame import FrameReader, encode
    from vaultseek.protocol.wire.protocol import read

    for stream in (data, b"Content-Length: %d\r\n\r\n%b" % (len(data), data)):
        reader = FrameReader()
        reader.feed(stream)
        try:
            while (body := reader.next()) is not None:
                read(body)
        except VaultseekError:
            continue
    encode({"answer": data.decode("utf-8", "replace")})


def try_settings(data: bytes) -> None:
    """Load a configuration."""
    from vaultseek.errors import ConfigError
    from vaultseek.settings.load import load

    with tempfile.NamedTemporaryFile(suffix=".toml") as file:
        file.write(data)
        file.flush()
        try:
            load(Path(file.name))
        except ConfigError as error:
            if "\n" in str(error):
                raise ValueError("an error of the settings is one line") from error


def try_expression(data: bytes) -> None:
    """Search for a regular expression in a few texts."""
    from vaultseek.content.query.expression import Budget, find, within
    from vaultseek.content.query.filters import patterns_of
    from vaultseek.content.query.grammar import parse_query
    from vaultseek.errors import BadQuery

    try:
        patterns = patterns_of(parse_query(f"/{data.decode('utf-8', 'replace')}/").filter)
        with within(Budget(time.monotonic() + SECONDS / 2)):
            for pattern in patterns:
                for text in ("", "a" * 200, "aéb(x) 1234\n" * 2000):
                    find(pattern, text)
    except BadQuery:
        return


def try_match(data: bytes) -> None:
    """Match a text with a pattern, both of the maximum length."""
    from vaultseek.base.matching import compiled
    from vaultseek.base.patterns import BadPattern

    try:
        pattern, flags, text = json.loads(data)
    except ValueError:
        pattern, flags, text = data.decode("utf-8", "replace"), "im", "aéb(x) 1234\n" * 2000
    try:
        for _ in compiled(pattern, flags).matches(text, 0.1):
            pass
    except (BadPattern, TimeoutError):
        return


def try_base(data: bytes) -> None:
    """Evaluate a base over a vault of a few notes."""
    from vaultseek.core.tables.run import tables_of
    from vaultseek.core.tables.scope import Budget
    from vaultseek.errors import UsageError

    world = _world()
    (world.root / "fuzz.base").write_bytes(data)
    try:
        tables = tables_of("fuzz.base", world.ledger, world.root, budget=Budget(0.5))
    except UsageError:
        return
    json.dumps(tables)


@cache
def _world() -> Any:
    from worlds import World, write_files

    home = Path(tempfile.mkdtemp(prefix="vaultseek-fuzz-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    notes = {f"n{number}.md": f"---\nrating: {number}\n---\n[[n0]] [[n1|a]] #t\n" for number in range(30)}
    return World(write_files(home / "vault", {**notes, "fuzz.base": "views: [{}]"}), home)


def try_app_settings(data: bytes) -> None:
    """List a vault with these Obsidian settings."""
    from vaultseek.content.files.ignore import Ignore
    from vaultseek.content.files.scan import scan

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / ".obsidian").mkdir()
        (root / ".obsidian" / "app.json").write_bytes(data)
        for number in range(30):
            (root / f"{'a' * number}{number}.md").touch()
        list(scan(root, Ignore(root)))


def try_file(kind: str, data: bytes) -> None:
    """Extract the text of a file, and read the note that it becomes."""
    from vaultseek.content.extractors.table import EXTRACTORS
    from vaultseek.content.markdown.chunk import chunk
    from vaultseek.semantic.models.tokens import count_words

    if kind == "pdf" and not data.startswith(b"%PDF"):
        data = hostile.pdf(data.decode("utf-8", "replace"))
    chunk(EXTRACTORS[kind].function()(data, f"fuzz.{kind}"), count_words, 100)


def try_growth(data: bytes) -> None:
    """Parse a repeated unit in two lengths; the time may grow about in proportion to the length."""
    from vaultseek.base.limits import QUERY_CHARS

    try:
        kind, before, unit, after = json.loads(data)
    except ValueError:
        return
    chars = QUERY_CHARS // GROWN_TIMES if kind == "queries" else GROWN_CHARS
    texts = [
        "".join((before, unit * max(1, size // max(1, len(unit))), after)).encode()
        for size in (chars, chars * GROWN_TIMES)
    ]
    KINDS[kind](texts[0])
    seconds = [min(_seconds(KINDS[kind], text) for _ in range(2)) for text in texts]
    if seconds[1] > LEAST_SECONDS:
        # Once more, because a cache or other work on the machine may have made the first ones differ.
        seconds = [min(_seconds(KINDS[kind], text) for _ in range(3)) for text in texts]
    assert seconds[1] < max(LEAST_SECONDS, MOST_GROWTH * seconds[0]), (
        f"{seconds[0]:.2f} -> {seconds[1]:.2f} s"
    )


def _seconds(attempt: Callable[[bytes], None], text: bytes) -> float:
    began = time.process_time()
    attempt(text)
    return time.process_time() - began


GRAMMARS: dict[str, Callable[[random.Random], str]] = {
    "growth": hostile.growth,
    "expressions": hostile.pattern,
    "matches": hostile.costly_match,
    "bases": hostile.base,
    "app_settings": hostile.app_settings,
}
KINDS: dict[str, Callable[[bytes], None]] = {
    "notes": try_note,
    "queries": try_query,
    "frames": try_frame,
    "settings": try_settings,
    "expressions": try_expression,
    "matches": try_match,
    "bases": try_base,
    "app_settings": try_app_settings,
    **{kind: partial(try_file, kind) for kind in FILES},
    "growth": try_growth,
}


def inputs(seed: int, kind: str) -> Iterator[bytes]:
    """Yield random inputs: meaningful pieces, noise, repetitions, and parts of real files."""
    chance = random.Random(f"{seed} {kind}")
    real = [path.read_bytes() for path in sorted((HERE / "data" / "vault").rglob("*.md"))[:60]]
    real.append((HERE.parent / "config.toml.example").read_bytes())
    while True:
        if kind == "pdf" and chance.random() < 0.7:
            yield _mutated(hostile.pdf(hostile.growth_text(chance, "pdf", 2000)), chance)
            continue
        if kind in GRAMMARS and chance.random() < 0.9:
            yield GRAMMARS[kind](chance).encode()
            continue
        parts = []
        for _ in range(chance.randrange(1, 40)):
            choice = chance.random()
            if choice < 0.6:
                parts.append(chance.choice(PIECES))
            elif choice < 0.7:
                parts.append(chance.choice(PIECES) * chance.choice([3, 50, 3000]))
            elif choice < 0.8:
                parts.append(chance.randbytes(chance.randrange(30)))
            else:
                text = chance.choice(real)
                start = chance.randrange(len(text) + 1)
                parts.append(text[start : start + chance.randrange(200)])
        yield b"".join(parts)


def _mutated(data: bytes, chance: random.Random) -> bytes:
    """Return a file with some bytes changed, and some parts left out or repeated."""
    for _ in range(chance.randrange(4)):
        at, size = chance.randrange(9, len(data)), chance.choice([1, 1, 4, 100])
        part = chance.choice([b"", chance.randbytes(size), b"9" * size, data[at : at + size] * 9])
        data = data[:at] + part + data[at + size :]
    return data


def fuzz(seconds: float, kind: str | None = None) -> int:
    """Try random inputs this long; keep those that fail, and return 1 if there are any."""
    seed = int(time.time())
    problems = []
    if kind in (None, "daemon"):
        from fuzz_daemon import attacked

        problems = attacked(seconds if kind else seconds / 4, seed)
        seconds = 0 if kind else seconds * 3 / 4
    end = time.monotonic() + seconds
    tried: dict[str, int] = dict.fromkeys([kind] if kind in KINDS else KINDS, 0)
    kept: list[Path] = []
    while time.monotonic() < end:
        for each in tried:
            source = inputs(seed, each)
            batch = [next(source) for _ in range(BATCH)]
            if not is_survived(each, batch):
                kept += [keep(each, data) for data in batch if not is_survived(each, [data])]
            tried[each] += len(batch)
        seed += 1
    if any(tried.values()):
        print(", ".join(f"{count:,} {each}" for each, count in tried.items()), "tried")  # noqa: T201
    for path in kept:
        print(f"not survived: {path.relative_to(HERE.parent)}")  # noqa: T201
    for problem in problems:
        print(f"not survived: {problem}")  # noqa: T201
    return 1 if kept or problems else 0


def is_survived(kind: str, batch: list[bytes]) -> bool:
    """Try inputs in a separate process; true if it ends without error and in time."""
    request = json.dumps([data.hex() for data in batch]).encode()
    command = [sys.executable, "-X", "faulthandler", str(Path(__file__)), kind]
    try:
        done = subprocess.run(command, input=request, capture_output=True, timeout=SECONDS * 60)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def keep(kind: str, data: bytes) -> Path:
    """Write a failing input to the folder from which it is tested in future."""
    folder = CRASHERS / kind
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.blake2b(data, digest_size=8).hexdigest()
    path.write_bytes(data)
    return path


def main() -> None:
    """Try the inputs on standard input, each within its time and memory limits."""
    attempt = KINDS[sys.argv[1]]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY * 16, MEMORY * 16))
    attempt(b"a")  # modules are imported
    neighbour = Neighbour()
    for text in json.load(sys.stdin):
        began, memory = time.process_time(), _peak_memory()
        attempt(bytes.fromhex(text))
        assert time.process_time() - began < SECONDS, "it takes too long"
        assert _peak_memory() - memory < MEMORY, "it takes too much memory"
        assert neighbour.waited() < HELD_SECONDS or sys.argv[1] in (*FILES, "growth"), "others have to wait"


class Neighbour:
    """A thread that often needs to do a little work, and measures how long it is blocked."""

    def __init__(self) -> None:
        self._longest = 0.0
        threading.Thread(target=self._run, daemon=True).start()

    def waited(self) -> float:
        """Return the longest wait since the last call, in processor time of this process."""
        time.sleep(0.001)
        longest, self._longest = self._longest, 0.0
        return longest

    def _run(self) -> None:
        while True:
            began = time.process_time()
            time.sleep(0.005)
            self._longest = max(self._longest, time.process_time() - began)


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
