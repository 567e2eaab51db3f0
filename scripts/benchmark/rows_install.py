"""Row: a plain installation: its size, and the time until the first answer."""

from collections.abc import Iterator

from plain_install import FOUND, MOST_BYTES, plain_installation

from benchmark.figures import Figure
from benchmark.registry import row
from benchmark.worlds import Bench

FIRST_ANSWER_SECONDS = 60.0


@row("install")
def install(_: Bench) -> Iterator[Figure]:
    """Time from an empty folder to the first answer by meaning, with pip and without extras."""
    with plain_installation() as installation:
        path, answer = installation.first_answer()
        size, packages = installation.size, len(installation.packages)
        seconds = installation.install_seconds + answer
    yield Figure(
        "install",
        "`pip install .`, byte code included",
        f"{size / 1e6:.0f} MB, {packages} packages",
        target=f"≤ {MOST_BYTES / 1e6:.0f} MB",
        met=size <= MOST_BYTES,
        numbers={"bytes": size, "packages": packages},
    )
    yield Figure(
        "install",
        "from an empty folder to the first answer by meaning",
        f"{seconds:.0f} s, {answer:.0f} s of them after the installation",
        target=f"≤ {FIRST_ANSWER_SECONDS:.0f} s",
        met=seconds <= FIRST_ANSWER_SECONDS and path == FOUND,
        numbers={"seconds": seconds, "answer_seconds": answer},
    )
