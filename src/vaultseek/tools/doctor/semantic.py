"""Checks of the models and of the worker, which has to embed a sample, store its vector and find it again."""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from vaultseek.base.extras import install_command
from vaultseek.errors import ConfigError, VaultseekError
from vaultseek.semantic.models.catalogue import BUNDLED, LocalModel, find_directory, find_model, served_model
from vaultseek.semantic.models.choice import AUTO, OFF, choose_models
from vaultseek.semantic.models.directories import fetched_directory, packaged_digest
from vaultseek.semantic.models.fetch import recorded_digests
from vaultseek.semantic.models.metadata import digest, window_of
from vaultseek.semantic.models.packed import PACKED, verify_packed
from vaultseek.semantic.models.safety import check_model, verify_bundled
from vaultseek.semantic.models.service import SERVER, destination
from vaultseek.semantic.worker import NOTES, SemanticWorker, WorkerSettings, WorkerState
from vaultseek.settings.model import Settings
from vaultseek.tools.doctor.finding import BROKEN, OK, WARNING, Finding

DOCTOR_WORKER_SECONDS = 60.0
"""Timeout in seconds for each step of the worker check."""

_OTHER_LANGUAGES = "model for other languages"
_TEXT = "A text to embed and to find again."
_OTHER_MODEL = "see `vaultseek models list`; `vaultseek models use bundled` goes back to the bundled model"


def check_models(settings: Settings) -> Iterator[Finding]:
    """Check that the models in use exist, are complete and have not changed since they were downloaded."""
    yield from _servers(settings)
    if settings.model.service is not None:
        return
    choice = choose_models(settings.model.name, settings.model.other_languages)
    yield _model("model", BUNDLED if settings.model.name == AUTO else settings.model.name)
    if choice.second is not None:
        yield _model(_OTHER_LANGUAGES, choice.second.name)
    elif choice.missing and settings.model.other_languages not in (AUTO, OFF):
        yield Finding(
            _OTHER_LANGUAGES,
            BROKEN,
            choice.missing.text,
            'correct model.other_languages, or set it to "auto" or "off"',
            "the model cannot be used",
        )
    elif choice.missing:
        install = f"no such model is installed; add one with `{install_command('multilingual')}`"
        yield Finding(_OTHER_LANGUAGES, OK, install)
    if settings.search.rerank_enabled and settings.search.rerank_model != SERVER:
        yield _model("reranker", settings.search.rerank_model)


def check_worker(settings: Settings) -> Iterator[Finding]:
    """Start the worker, embed a sample, store its vector and search for it."""
    try:
        if settings.model.service is not None:
            model = served_model(settings.model.service)
        else:
            model = find_model(BUNDLED if settings.model.name == AUTO else settings.model.name)
    except VaultseekError:
        yield Finding("worker", BROKEN, "not started, since there is no model", _OTHER_MODEL)
        return
    start = time.monotonic()
    try:
        dimension = asyncio.run(_embed_and_find(model))
    except VaultseekError as error:
        advice = "see worker.log in the log folder; search by word works without it"
        yield Finding("worker", BROKEN, f"no text could be embedded: {error}", advice)
        return
    seconds = time.monotonic() - start
    yield Finding("worker", OK, f"started; embedded text and found it again in {seconds:.1f} s ({dimension})")


def _servers(settings: Settings) -> Iterator[Finding]:
    """Report which text is sent to which server, and check the settings of these servers."""
    for check, service, what in (
        ("model", settings.model.service, "the text of notes and questions is sent to"),
        ("reranker", settings.reranker.service, "passages to rerank are sent to"),
    ):
        if service is None:
            continue
        fault = service.fault
        try:
            service.key()
        except ConfigError as error:
            fault = fault or str(error)
        if fault is not None:
            yield Finding(
                check, BROKEN, fault, f"correct [{check}] in config.toml", "the server cannot be used"
            )
        else:
            message = f"{what} {destination(service.url)}"
            yield Finding(check, OK, message, public=f"{what} a server")


def _model(check: str, name: str) -> Finding:
    try:
        if name in PACKED:
            model = PACKED[name]
            verify_packed(model)
            return Finding(
                check, OK, f"{model.name}, digest {model.sha256[:16]}, window {model.window} tokens"
            )
        directory = find_directory(name)
        if directory is None:
            return Finding(
                check, WARNING, f"{name}: a stand-in for tests; its vectors have no meaning", _OTHER_MODEL
            )
        if name == BUNDLED:
            verify_bundled(directory)
        check_model(directory)
        actual = digest(directory)
    except (ConfigError, OSError) as error:
        return Finding(check, BROKEN, str(error), _OTHER_MODEL, "the model cannot be used")
    recorded = {fetched_directory(known): value for known, value in recorded_digests().items()}
    if recorded.get(directory, actual) != actual:
        message = f"{directory.name} differs from what was fetched (digest {actual[:16]})"
        return Finding(check, BROKEN, message, "run `vaultseek models fetch` for it again")
    if packaged_digest(directory) not in (None, actual):
        message = f"{directory.name} differs from what its package states (digest {actual[:16]})"
        return Finding(check, BROKEN, message, "install its package again")
    label = BUNDLED if name == BUNDLED else directory.name
    details = f"digest {actual[:16]}, window {window_of(directory)} tokens"
    is_private = name != BUNDLED and directory not in recorded
    return Finding(
        check, OK, f"{label}, {details}", public=f"the user's own, {details}" if is_private else None
    )


async def _embed_and_find(model: LocalModel) -> str:
    """Embed a sample and find it again; return a description of the vector and of how it was computed. Raises
    VaultseekError."""
    down = asyncio.Event()

    def on_state(state: WorkerState) -> None:
        if state.status in ("down", "broken"):
            down.set()

    # Make only one attempt: a second attempt would fail in the same way, only later.
    settings = WorkerSettings(backoff_seconds=(2 * DOCTOR_WORKER_SECONDS,))
    worker = SemanticWorker(model, settings=settings, on_state=on_state)
    with tempfile.TemporaryDirectory(prefix="vaultseek-") as folder:
        try:
            ready = asyncio.create_task(worker.ready(DOCTOR_WORKER_SECONDS))
            dead = asyncio.create_task(down.wait())
            await asyncio.wait([ready, dead], return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                ready.cancel()
            dead.cancel()
            if worker.state.status != "ready":
                reason = worker.state.reason
                raise VaultseekError(reason.text if reason else "the semantic worker did not start in time")
            store = Path(folder) / "store"
            deadline = DOCTOR_WORKER_SECONDS
            vectors = await worker.embed([_TEXT], deadline=deadline)
            if not np.isfinite(vectors).all():
                raise VaultseekError("the model returned no numbers; fetch it again")
            await worker.apply(store, NOTES, numbers=[1], notes=[1], vectors=vectors, deadline=deadline)
            answer = await worker.query(store, _TEXT, 1, collections=(None, NOTES), deadline=deadline)
            if answer.note_ids.tolist() != [1]:
                raise VaultseekError("a stored vector was not found; reinstall vaultseek")
            return f"{vectors.shape[1]} numbers per vector; {worker.state.computing}"
        finally:
            await worker.stop()
