"""Notes made to hang, crash or exhaust their reader: time is linear in their length, memory is bounded.

Each note is read in a child process with a time limit and a kernel memory limit, so that a crash of native
code or a hang fails one test instead of killing the test run.
"""

import gc
import math
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable
from math import isqrt

import psutil
import pytest

from vaultseek.base.model import Note
from vaultseek.content.markdown.chunk import chunk
from vaultseek.content.markdown.parse import parse
from vaultseek.semantic.models.directories import bundled_directory
from vaultseek.semantic.models.tokens import TokenCounter

pytestmark = pytest.mark.slow

Make = Callable[[int], str]
"""Makes a hostile text whose length is proportional to the size."""

COUNT = TokenCounter.from_tokenizer_file(bundled_directory() / "tokenizer.json")
HANG_SECONDS = 100
MEMORY_BYTES = 500 * 1024 * 1024
SCALE = 4
"""Factor between the two text sizes that are compared."""
SLOWER = 2.25
"""Maximum growth of the time per character between the sizes: 1 if parsing is linear, 4 if it is
quadratic."""
ATTEMPTS = 8
"""Maximum number of comparisons of the two sizes."""


HEADINGS = [25_000, pytest.param(200_000, marks=pytest.mark.long)]


def survives(make: Make, size: int, check: Callable[[Note], bool] = lambda note: True) -> None:
    """Read and chunk the text in a child process; fail on a hang, a crash or more than linear time."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            gc.freeze()  # exempt the objects of other tests from collection
            used = psutil.Process().memory_info().vms
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, used + MEMORY_BYTES))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(HANG_SECONDS)  # RLIMIT_CPU would make the clock of processor time coarse
            text = make(size)
            assert check(read(text))
            assert_linear(make(size // SCALE), text)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def read(text: str) -> Note:
    note = parse(text, "note.md")
    chunk(note, COUNT)
    return note


def assert_linear(short: str, long: str) -> None:
    """Compare the processor time per character of two sizes, measured in turns, because other load makes all
    times longer for a while."""
    growth: list[float] = []
    while min(growth, default=math.inf) > SLOWER and len(growth) < ATTEMPTS:
        of_long = seconds(long) / len(long)
        growth.append(of_long / (min(seconds(short), seconds(short)) / len(short)))
    assert min(growth) <= SLOWER, growth


def seconds(text: str) -> float:
    began = time.process_time()
    read(text)
    return time.process_time() - began


def filled(piece: str, size: int = 100_000) -> str:
    return piece * (size // len(piece))


def filling(*pieces: str) -> list[Make]:
    return [lambda size, piece=piece: filled(piece, size) for piece in pieces]  # type: ignore[misc]


def steps(line: Callable[[int], str], size: int) -> str:
    """Return lines of increasing length."""
    return "".join(line(depth) for depth in range(isqrt(size)))


def start_of(make: Make) -> str:
    return make(50)[:8]


@pytest.mark.fault("D5")
def test_a_line_of_five_megabytes_is_too_large() -> None:
    survives(
        lambda size: "x" * size, 5_000_000, lambda note: [it.code for it in note.problems] == ["too_large"]
    )


@pytest.mark.fault("D5")
@pytest.mark.parametrize("size", HEADINGS)
def test_many_headings(size: int) -> None:
    survives(lambda size: "# a\n" * size, size, lambda note: note.headings[-1].line == 5_000)


@pytest.mark.parametrize("size", HEADINGS)
def test_many_headings_of_different_words(size: int) -> None:
    survives(
        lambda size: "".join(f"# h{n}\n" for n in range(size)),
        size,
        lambda note: len(note.headings) == 5_000,
    )


@pytest.mark.fault("D5")
def test_many_links() -> None:
    survives(lambda size: "[[a]] [b](c.md)\n" * size, 5_000, lambda note: len(note.links) == 10_000)


@pytest.mark.parametrize("size", [250_000, pytest.param(1_900_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "make", filling("word ", "[a](", "> ", "\n", "> [!a] b\n\n", "$$\n", "[k]: x\n", "|"), ids=start_of
)
def test_large_notes_of_one_piece(make: Make, size: int) -> None:
    survives(make, size)


@pytest.mark.fault("D6")
@pytest.mark.parametrize(
    "make",
    [
        lambda size: ">" * size + " [[x]]",
        lambda size: "> " * size + "x",
        lambda size: "- " * size + "x",
        lambda size: "> - " * size + "x",
        lambda size: "1. " * size + "x",
        lambda size: steps(lambda depth: f"{'  ' * depth}- a\n", size * 200),
        lambda size: steps(lambda depth: f"{'>' * depth} a\n", size * 200),
        lambda size: "[" * size + "x" + "](y)" * size,
        lambda size: "![" * size + "x" + "](y)" * size,
        lambda size: "*" * size + "#a" + "*" * size,
        lambda size: "[[" * size + "x" + "]]" * size,
    ],
    ids=start_of,
)
def test_deep_nesting(make: Make) -> None:
    survives(lambda size: f"{make(size)}\n\n[[end]]\n", 5_000, lambda note: note.links[-1].target == "end")


INLINE = (
    *(
        "[x](y ",
        "[x](",
        "[x](<y ",
        '[x](y "z ',
        "[x](y 'z ",
        "[x](y (z ",
        "[x][y",
        "![",
        "![[",
        "[[",
        "[[a|",
        "[[a]",
    ),
    *(
        "]",
        "](",
        "[^a",
        "`a ",
        "``",
        "$a ",
        "$$a ",
        "$",
        "<a ",
        "<a b='",
        '<a b="c ',
        "<a b=c ",
        "</a ",
        "<!--",
        "<!-",
    ),
    *(
        "<a@",
        "<a:",
        "\\",
        "\\[",
        "*a _b ",
        "*",
        "_",
        "**a",
        "_#a ",
        "a_b ",
        "~~",
        "~~ ",
        "~~a ",
        "==a ",
        "#",
        "#a",
        "#a_",
    ),
    *(
        "http",
        "https://",
        "https://a_b ",
        "^a ",
        " ^",
        "&",
        "%%",
        "|",
        "\\|",
        "<",
        "< ",
        "!",
        "a\n",
        "(",
        ")",
        "\u200b#",
    ),
)


@pytest.mark.fault("D10")
@pytest.mark.parametrize("prefix", ["# ", "| a |\n|---|\n| "])
def test_all_inline_patterns_in_headings_and_cells(prefix: str) -> None:
    survives(lambda size: "\n\n".join(prefix + filled(piece, size) for piece in INLINE), 10_000)


@pytest.mark.fault("D10")
@pytest.mark.parametrize("piece", INLINE)
def test_each_inline_pattern(piece: str) -> None:
    survives(
        lambda size: f"x {filled(piece, size)}\n\n[[end]]\n",
        50_000,
        lambda note: note.links[-1].target == "end",
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda size: " ".join("`" * length for length in range(1, isqrt(size * 2))),
        lambda size: "<a" + " b" * (size // 2),
        lambda size: "<a" + " " * size,
        lambda size: "<a b=" + "c" * size,
        lambda size: "[x](" + "(" * size,
        lambda size: "[" + "x" * size,
        lambda size: "#" + "a_" * (size // 2),
        lambda size: "# " + "*a " * (size // 3),
        lambda size: " ".join(f"#t{n}" for n in range(size // 5)),
        lambda size: "".join(f"[k{n}]: x\n" for n in range(size // 10)) + filled("[k1] ", size // 2),
        lambda size: "|a|b|\n|-|-|\n" + filled("|#t|[[x\\|y]]|\n", size),
        lambda size: "|".join("a" * (size // 5)) + "\n" + "|".join("-" * (size // 5)),
        lambda size: "- ```\n" + filled("x #t\n", size),
        lambda size: "*x" + " " * size + "y",
        lambda size: "# a" + " " * size + "#" * size + "y",
        lambda size: "# a " + "# " * (size // 2) + "y",
        lambda size: "| *a" + " " * size + "b |\n|--|\n",
        lambda size: "![" * (size // 8) + "](u) " * (size // 8),
        lambda size: "> " * isqrt(size) + "```\n" + ("> " * isqrt(size) + "x\n") * isqrt(size),
        lambda size: "<div>\n" + filled("<img src=x alt=", size),
        *filling("a\n    `b\n", "> a\n    b\n", "$$ x\n\n", "b $$\n$$\n", "> $$\n\n", "%%\n", "%% a\n\n"),
        *filling("<div>\n", "<!A\n", "\0\ufeff\u2028", "\u00ad", "*a\u200d", "&#38;", "[a|9](b) ", "<b>"),
        *filling("<div>\n<!-- ", "<div>\n<script>", "<div>\n<b\n", "<div>\n&amp;", "> [!a] b\n> - [ ] c\n"),
    ],
    ids=start_of,
)
def test_other_shapes(make: Make) -> None:
    survives(make, 100_000)


@pytest.mark.fault("D7")
@pytest.mark.parametrize(
    "make",
    [
        lambda size: "a: " + "[" * size,
        lambda size: "a: " + "{" * size,
        lambda size: "a: " + "[a, " * (size // 4),
        lambda size: "a: " + "{a: " * (size // 4),
        lambda size: "- " * (size // 2),
        lambda size: "? " * (size // 2),
        lambda size: "\n".join(f"{' ' * depth}a:" for depth in range(isqrt(size * 3 // 2))),
        lambda size: (
            "a: &a {k: 1}\n" + "\n".join(f"b{n}: &b{n} {{<<: [*a, *a]}}" for n in range(size * 3 // 200))
        ),
        lambda size: "\n".join(
            [f"a0: &a0 [{'x,' * 9}]"]
            + [f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]" for n in range(1, size // 2_000)]
        ),
        lambda size: "a: " + "1" * size,
        lambda size: "a: " + "1:" * (size // 2) + "1",
        lambda size: "a: 1e" + "9" * size,
        lambda size: "a: " + "!a " * (size // 3),
        lambda size: 'a: "' + "\\n" * (size // 2),
        lambda size: "a: '" + "''" * (size // 2),
        lambda size: "a: |\n" + " x\n" * (size // 3),
        lambda size: "a:" + " " * size,
        lambda size: "a: x" + "\n" * size + "b: y",
        lambda size: "\n".join(f"k{n}:" for n in range(size * 3 // 20)),
        lambda size: "a: b\n" * (size * 20 // 3),
        lambda size: "a: " + "\t" * size + "b",
    ],
    ids=start_of,
)
def test_frontmatter_never_keeps_the_body_from_being_read(make: Make) -> None:
    survives(
        lambda size: f"---\n{make(size)}\n---\n[[end]]\n",
        60_000,
        lambda note: [it.target for it in note.links] == ["end"],
    )
