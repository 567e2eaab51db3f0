"""Fixtures for every test: a vault in one expression, and separate directories."""

import os
import signal
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from forks import fork_servers
from worlds import World, own_directories, until, write_files

# Examples have no deadline, because their time depends on the machine; benchmarks measure time. The examples
# are the same in every run, so that only a change makes a test fail; ``--hypothesis-profile random`` tries
# different ones. ``scripts/test`` tries two fifths of the examples, ``--quick`` a quarter, ``--long`` all.
hypothesis.settings.register_profile("vaultseek", deadline=None, derandomize=True, max_examples=40)
hypothesis.settings.register_profile("long", deadline=None, derandomize=True, max_examples=100)
hypothesis.settings.register_profile("quick", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.register_profile("random", deadline=None, print_blob=True)
hypothesis.settings.load_profile("vaultseek")

pytest_plugins = ["raw_server", "daemons", "postgres_server"]
SLOW = {
    "base": "matching",
    "content/extractors": "process",
    "core/indexing": "engine reader_pool second_space shard_copy",
    "core/notes": "notes",
    "core/search": "invariants limit typing",
    "doors/cli": "pager",
    "doors/cli/commands": "config inspect service",
    "faults": "background equal_notes fuzzing in_the_way",
    "server/daemon": "engine_apart shards",
    "server/engines": "engine",
    "scripts": "bench_quality install",
    "semantic/inference": "served",
    "semantic/vectors": "index matrix",
    "store/keyword": "bm25f index proximity spans",
}
"""Modules that start processes or try thousands of examples; each of their tests takes a second or more."""
SLOW_MODULES = {
    Path(__file__).parent / folder / f"test_{name}.py"
    for folder, names in SLOW.items()
    for name in names.split()
}
MEMORY = Path("/dev/shm")
MEMORY_BYTES = 4 << 30
"""Minimum free bytes in ``MEMORY`` for storing test files there; on a disk, tests wait for each commit."""
MakeVault = Callable[[Mapping[str, str | bytes]], Path]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options with which scripts/fault selects tests."""
    parser.addoption("--long", action="store_true", help="run the tests marked long, too")
    parser.addoption("--fault", action="append", help="only tests of this fault, or of any if it is empty")


def pytest_configure(config: pytest.Config) -> None:
    """Restore the signals that are ignored in the background, and choose where temporary files are."""
    if "TMPDIR" not in os.environ and MEMORY.is_dir():
        memory = os.statvfs(MEMORY)
        if memory.f_bavail * memory.f_frsize > MEMORY_BYTES and not memory.f_flag & os.ST_NOEXEC:
            os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)
    if not config.getoption("--long"):
        fork_servers()
    elif not config.getoption("--hypothesis-profile"):
        hypothesis.settings.load_profile("long")
    config.addinivalue_line("markers", "shared_daemon: needs no daemon of its own, only vaults of its own")
    for number, handler in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip importing modules that contain only slow tests, if slow tests are not selected."""
    is_slow = collection_path in SLOW_MODULES or collection_path == Path(__file__).parent / "e2e"
    return True if is_slow and "not slow" in config.option.markexpr else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect long tests and, if faults are selected, tests of other faults; report the faults of each
    test."""
    wanted: list[str] | None = config.getoption("--fault")
    left_out = []
    for item in items:
        if item.path in SLOW_MODULES:
            item.add_marker(pytest.mark.slow)
        numbers = [number for mark in item.iter_markers("fault") for number in mark.args]
        item.user_properties += [("fault", number) for number in numbers]
        is_long = item.get_closest_marker("long") and not config.getoption("--long")
        is_wanted = wanted is None or (numbers if "" in wanted else {*numbers} & {*wanted})
        if is_long or not is_wanted:
            left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture
def vault(tmp_path: Path) -> MakeVault:
    """``vault({"a.md": "# A"})`` writes these files into a folder and returns it."""
    return lambda files: write_files(tmp_path / "vault", files)


@pytest.fixture
def world(vault: MakeVault, tmp_path: Path) -> Iterator[Callable[[Mapping[str, str]], World]]:
    """``world({"a.md": "[[b]]"})`` adds these notes to one vault and indexes it, without a daemon."""
    worlds: list[World] = []

    def make(files: Mapping[str, str]) -> World:
        root = vault(files)
        if worlds:
            worlds[0].index()
        else:
            worlds.append(World(root, tmp_path))
        return worlds[0]

    yield make
    for made in worlds:
        made.close()


@pytest.fixture(autouse=True)
def _own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the settings, indexes and sockets of the user who runs the tests."""
    for name, value in own_directories(tmp_path).items():
        monkeypatch.setenv(name, value)


@pytest.fixture(name="until")
def _until() -> Callable[[Callable[[], Any]], Awaitable[None]]:
    return until
