"""Notes made to hang, crash or exhaust whoever reads them: each ends soon, in bounded memory.

Each is read in a child process with the kernel's limits on processor time and memory, so that a crash of
native code or a hang is a failed test and not a dead test run.
"""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Callable

import psutil
import pytest

from vaultseek.markdown.chunk import chunk
from vaultseek.markdown.parse import parse
from vaultseek.model import Note
from vaultseek.models.bundled import model_directory
from vaultseek.models.tokens import TokenCounter

COUNT = TokenCounter.from_tokenizer_file(model_directory() / "tokenizer.json")
CPU_SECONDS = 2
MEMORY_BYTES = 500 * 1024 * 1024


def survives(text: str, check: Callable[[Note], bool] = lambda note: True) -> None:
    """Fail unless reading and chunking ``text`` ends within the limits in a child process, and ``check``
    holds for the note.
    """
    codes = (_in_a_child(text, check) for _ in range(ATTEMPTS))
    assert any(code == 0 for code in codes)


ATTEMPTS = 5
"""What else the machine does makes processor time longer, never shorter."""


def _in_a_child(text: str, check: Callable[[Note], bool]) -> int:
    child = os.fork()
    if child == 0:
        code = 3
        try:
            gc.freeze()  # what other tests left in this process is not to be looked through
            used = psutil.Process().memory_info().vms
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, used + MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
            note = parse(text, "note.md")
            chunk(note, COUNT)
            code = 0 if check(note) else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def filled(piece: str, size: int = 100_000) -> str:
    return piece * (size // len(piece))


LARGE = 1_900_000


def test_a_line_of_five_megabytes_is_too_large() -> None:
    survives("x" * 5_000_000, lambda note: [it.code for it in note.problems] == ["too_large"])


def test_many_headings() -> None:
    survives("# a\n" * 200_000, lambda note: note.headings[-1].line == 5_000)


def test_many_headings_of_different_words() -> None:
    survives("".join(f"# h{n}\n" for n in range(200_000)), lambda note: len(note.headings) == 5_000)


def test_many_links() -> None:
    survives("[[a]] [b](c.md)\n" * 5_000, lambda note: len(note.links) == 10_000)


@pytest.mark.parametrize("piece", ["word ", "[a](", "> ", "\n", "> [!a] b\n\n", "$$\n", "[k]: x\n", "|"])
def test_large_notes_of_one_piece(piece: str) -> None:
    survives(filled(piece, LARGE))


@pytest.mark.parametrize(
    "text",
    [
        ">" * 5000 + " [[x]]",
        "> " * 5000 + "x",
        "- " * 5000 + "x",
        "> - " * 5000 + "x",
        "1. " * 5000 + "x",
        "".join(f"{'  ' * depth}- a\n" for depth in range(1000)),
        "".join(f"{'>' * depth} a\n" for depth in range(1000)),
        "[" * 5000 + "x" + "](y)" * 5000,
        "![" * 5000 + "x" + "](y)" * 5000,
        "*" * 5000 + "#a" + "*" * 5000,
        "[[" * 5000 + "x" + "]]" * 5000,
    ],
    ids=lambda text: text[:8],
)
def test_deep_nesting(text: str) -> None:
    survives(f"{text}\n\n[[end]]\n", lambda note: note.links[-1].target == "end")


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


@pytest.mark.parametrize("prefix", ["# ", "| a |\n|---|\n| "])
def test_all_inline_patterns_in_headings_and_cells(prefix: str) -> None:
    survives("\n\n".join(prefix + filled(piece, 10_000) for piece in INLINE))


@pytest.mark.parametrize("piece", INLINE)
def test_each_inline_pattern(piece: str) -> None:
    survives(f"x {filled(piece, 50_000)}\n\n[[end]]\n", lambda note: note.links[-1].target == "end")


@pytest.mark.parametrize(
    "text",
    [
        " ".join("`" * length for length in range(1, 450)),
        "<a" + " b" * 50_000,
        "<a" + " " * 100_000,
        "<a b=" + "c" * 100_000,
        "[x](" + "(" * 100_000,
        "[" + "x" * 100_000,
        "#" + "a_" * 50_000,
        "# " + "*a " * 30_000,
        " ".join(f"#t{n}" for n in range(20_000)),
        "".join(f"[k{n}]: x\n" for n in range(10_000)) + filled("[k1] ", 50_000),
        "|a|b|\n|-|-|\n" + filled("|#t|[[x\\|y]]|\n"),
        "|".join("a" * 20_000) + "\n" + "|".join("-" * 20_000),
        filled("a\n    `b\n"),
        filled("> a\n    b\n"),
        "- ```\n" + filled("x #t\n"),
        filled("$$ x\n\n"),
        filled("> $$\n\n"),
        filled("%%\n"),
        filled("%% a\n\n"),
        filled("<div>\n"),
        filled("<!A\n"),
        filled("\0\ufeff\u2028"),
    ],
    ids=lambda text: text[:8],
)
def test_other_shapes(text: str) -> None:
    survives(text)


@pytest.mark.parametrize(
    "block",
    [
        "a: " + "[" * 60_000,
        "a: " + "{" * 60_000,
        "a: " + "[a, " * 15_000,
        "a: " + "{a: " * 15_000,
        "- " * 30_000,
        "? " * 30_000,
        "\n".join(f"{' ' * depth}a:" for depth in range(300)),
        "a: &a {k: 1}\n" + "\n".join(f"b{n}: &b{n} {{<<: [*a, *a]}}" for n in range(900)),
        "\n".join([f"a0: &a0 [{'x,' * 9}]"] + [f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]" for n in range(1, 30)]),
        "a: " + "1" * 60_000,
        "a: " + "1:" * 30_000 + "1",
        "a: 1e" + "9" * 60_000,
        "a: " + "!a " * 20_000,
        'a: "' + "\\n" * 30_000,
        "a: '" + "''" * 30_000,
        "a: |\n" + " x\n" * 20_000,
        "a:" + " " * 60_000,
        "a: x" + "\n" * 60_000 + "b: y",
        "\n".join(f"k{n}:" for n in range(9_000)),
        "a: b\n" * 400_000,
        "a: " + "\t" * 60_000 + "b",
    ],
    ids=lambda block: block[:8],
)
def test_frontmatter_never_keeps_the_body_from_being_read(block: str) -> None:
    survives(f"---\n{block}\n---\n[[end]]\n", lambda note: [it.target for it in note.links] == ["end"])
