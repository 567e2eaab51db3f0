"""Random notes, queries, messages and settings; what crashes or hangs is kept in tests/data/crashers.

Inputs are tried in another process, so that a crash in native code ends that one only. A failure is an
exception that nobody expects, a crash, or more than ``SECONDS`` for one input.
"""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).parent
CRASHERS = HERE / "data" / "crashers"
SECONDS = 10
BATCH = 200
"""Inputs that one process tries."""
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
    from vaultseek.markdown.chunk import chunk
    from vaultseek.markdown.decode import decode
    from vaultseek.markdown.parse import parse
    from vaultseek.models.tokens import count_words

    text, problems = decode(data)
    note = parse(text, "fuzz.md", problems)
    chunk(note, count_words, 100)
    json.dumps(note.frontmatter)


def try_query(data: bytes) -> None:
    """Parse a query."""
    from vaultseek.errors import BadQuery
    from vaultseek.query.grammar import parse_query

    try:
        str(parse_query(data.decode("utf-8", "replace")).filter)
    except BadQuery:
        return


def try_frame(data: bytes) -> None:
    """Read frames of a stream, and what is in them."""
    from vaultseek.errors import VaultseekError
    from vaultseek.wire.frame import FrameReader, encode
    from vaultseek.wire.protocol import read

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
    import tempfile

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


KINDS: dict[str, Callable[[bytes], None]] = {
    "notes": try_note,
    "queries": try_query,
    "frames": try_frame,
    "settings": try_settings,
}


def inputs(seed: int, kind: str) -> Iterator[bytes]:
    """Yield random inputs: pieces that mean something, noise, repetitions, and parts of real files."""
    chance = random.Random(f"{seed} {kind}")
    real = [path.read_bytes() for path in sorted((HERE / "data" / "vault").rglob("*.md"))[:60]]
    real.append((HERE.parent / "config.toml.example").read_bytes())
    while True:
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


def fuzz(seconds: float, kind: str | None = None) -> int:
    """Try random inputs this long; keep what fails and return 1 if anything did."""
    end = time.monotonic() + seconds
    seed = int(time.time())
    tried: dict[str, int] = dict.fromkeys([kind] if kind else KINDS, 0)
    kept: list[Path] = []
    while time.monotonic() < end:
        for each in tried:
            source = inputs(seed, each)
            batch = [next(source) for _ in range(BATCH)]
            if not is_survived(each, batch):
                kept += [keep(each, data) for data in batch if not is_survived(each, [data])]
            tried[each] += len(batch)
        seed += 1
    print(", ".join(f"{count:,} {each}" for each, count in tried.items()), "tried")  # noqa: T201
    for path in kept:
        print(f"not survived: {path.relative_to(HERE.parent)}")  # noqa: T201
    return 1 if kept else 0


def is_survived(kind: str, batch: list[bytes]) -> bool:
    """Try inputs in a process of their own; true if it ends well and in time."""
    request = json.dumps([data.hex() for data in batch]).encode()
    command = [sys.executable, "-X", "faulthandler", str(Path(__file__)), kind]
    try:
        done = subprocess.run(command, input=request, capture_output=True, timeout=SECONDS * 6)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def keep(kind: str, data: bytes) -> Path:
    """Write an input that was not survived to where it is tested from now on."""
    folder = CRASHERS / kind
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.blake2b(data, digest_size=8).hexdigest()
    path.write_bytes(data)
    return path


def main() -> None:
    """Try the inputs on standard input, each for so many seconds of processor time at most."""
    attempt = KINDS[sys.argv[1]]
    for text in json.load(sys.stdin):
        began = time.process_time()
        attempt(bytes.fromhex(text))
        assert time.process_time() - began < SECONDS, "it takes too long"


if __name__ == "__main__":
    main()
