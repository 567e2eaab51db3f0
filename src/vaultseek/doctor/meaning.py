"""The model and the worker: whether a text really becomes a vector that can be found again."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from vaultseek.doctor.finding import BROKEN, OK, WARNING, Finding
from vaultseek.errors import ConfigError, VaultseekError
from vaultseek.models.catalogue import BUNDLED, LocalModel, find_directory, find_model
from vaultseek.models.directories import fetched_directory
from vaultseek.models.fetch import recorded_digests
from vaultseek.models.metadata import digest, window_of
from vaultseek.models.safety import check_model, verify_bundled
from vaultseek.settings.model import Settings
from vaultseek.worker import NOTES, SemanticWorker, WorkerSettings, WorkerState

DOCTOR_WORKER_SECONDS = 60.0

_TEXT = "The doctor asks whether this text becomes a vector."
_GET_ANOTHER = "`vaultseek models list` shows what is here, `vaultseek models use bundled` goes back"


def model(settings: Settings) -> Iterator[Finding]:
    """The models in use: whether they are here, whole and what they were."""
    yield _model("model", settings.model.name)
    if settings.search.rerank_enabled:
        yield _model("reranker", settings.search.rerank_model)


def worker(settings: Settings) -> Iterator[Finding]:
    """Start the worker, embed one text, store its vector and find it again."""
    try:
        found = find_model(settings.model.name)
    except VaultseekError:
        yield Finding("worker", BROKEN, "not started, since there is no model", _GET_ANOTHER)
        return
    began = time.monotonic()
    try:
        dimension = asyncio.run(_embeds(found))
    except VaultseekError as error:
        advice = "its log is worker.log in the directory of logs; searches by word work without it"
        yield Finding("worker", BROKEN, f"no text could be embedded: {error}", advice)
        return
    seconds = time.monotonic() - began
    yield Finding("worker", OK, f"started, embedded and found a text again in {seconds:.1f} s ({dimension})")


def _model(check: str, name: str) -> Finding:
    try:
        directory = find_directory(name)
        if directory is None:
            return Finding(check, WARNING, f"{name}: the stand-in for tests, without meaning", _GET_ANOTHER)
        if name == BUNDLED:
            verify_bundled(directory)
        check_model(directory)
        actual = digest(directory)
    except (ConfigError, OSError) as error:
        return Finding(check, BROKEN, str(error), _GET_ANOTHER, "it cannot be used")
    recorded = {fetched_directory(known): value for known, value in recorded_digests().items()}
    if recorded.get(directory, actual) != actual:
        words = f"{directory.name} is not what was fetched (digest {actual[:16]})"
        return Finding(check, BROKEN, words, "run `vaultseek models fetch` for it again")
    shown = BUNDLED if name == BUNDLED else directory.name
    rest = f"digest {actual[:16]}, window {window_of(directory)} tokens"
    own = name != BUNDLED and directory not in recorded
    return Finding(check, OK, f"{shown}, {rest}", public=f"the user's own, {rest}" if own else None)


async def _embeds(found: LocalModel) -> str:
    """How many numbers a vector has, in words. Raises VaultseekError."""
    down = asyncio.Event()

    def look(state: WorkerState) -> None:
        if state.status in ("down", "broken"):
            down.set()

    # One attempt: a second one would fail as the first did, only later.
    settings = WorkerSettings(backoff_seconds=(2 * DOCTOR_WORKER_SECONDS,))
    started = SemanticWorker(found, settings=settings, on_state=look)
    with tempfile.TemporaryDirectory(prefix="vaultseek-") as folder:
        try:
            ready = asyncio.create_task(started.ready(DOCTOR_WORKER_SECONDS))
            dead = asyncio.create_task(down.wait())
            await asyncio.wait([ready, dead], return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                ready.cancel()
            dead.cancel()
            if started.state.status != "ready":
                reason = started.state.reason
                raise VaultseekError(reason.text if reason else "it did not start in time")
            return await _found_again(started, Path(folder) / "store")
        finally:
            await started.stop()


async def _found_again(started: SemanticWorker, store: Path) -> str:
    deadline = DOCTOR_WORKER_SECONDS
    vectors = await started.embed([_TEXT], deadline=deadline)
    if not np.isfinite(vectors).all():
        raise VaultseekError("the model returned no numbers; fetch it again")
    await started.apply(store, NOTES, ids=["1"], notes=[1], vectors=vectors, deadline=deadline)
    answer = await started.query(store, _TEXT, 1, collections=(None, NOTES), deadline=deadline)
    if [hit.note for hit in answer.notes] != [1]:
        raise VaultseekError("a stored vector was not found; reinstall chromadb")
    return f"{vectors.shape[1]} numbers a vector"
