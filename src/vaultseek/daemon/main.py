"""The composition root, which creates and connects all parts; ``serve`` runs the daemon."""

import asyncio
import contextlib
import gc
import logging
import logging.handlers
import os
import resource
import sys
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

from vaultseek.base import limits, paths
from vaultseek.base.text import one_line
from vaultseek.base.threads import Threads
from vaultseek.content.files.watch import is_watching
from vaultseek.core.indexing.model_source import ModelSource
from vaultseek.daemon.clients import authenticated
from vaultseek.daemon.hosting import Hosting, hosting_of
from vaultseek.daemon.methods import Methods, Subscribers
from vaultseek.daemon.power import follow_power
from vaultseek.daemon.shutdown import STOP_SECONDS, Shutdown, report_crashes
from vaultseek.daemon.systemd import ServiceManager
from vaultseek.daemon.vaults import VaultRegistry
from vaultseek.errors import Unavailable, VaultseekError
from vaultseek.protocol.wire.auth import LoopbackVerifier
from vaultseek.protocol.wire.endpoint import Endpoint
from vaultseek.protocol.wire.loopback import LoopbackPort, remove_address_file
from vaultseek.protocol.wire.reach import answers
from vaultseek.protocol.wire.server import Server
from vaultseek.semantic.models.catalogue import LocalModel
from vaultseek.semantic.models.choice import choose_models
from vaultseek.semantic.models.service import sent_text
from vaultseek.semantic.worker import SemanticWorker, WorkerSettings
from vaultseek.semantic.worker.pool import WorkerPool, log_name
from vaultseek.settings.model import Settings
from vaultseek.settings.watch import SettingsFile
from vaultseek.store.ledger import keep_temporary_files

LOG_FILES = 5
CRASH_FILE = "daemon.crash"
"""Name of the file, next to the log, to which a crash in native code is written."""
DAEMON_PORT = "daemon.tcp"
"""Key for the local clients' port in the list of addresses; the port is not part of the settings."""
SOCKET_CHECK_SECONDS = 1.0
SWITCH_SECONDS = 0.001
"""Thread switch interval in seconds. Python's default of 5 ms would double the duration of a search (a few
milliseconds) while notes are indexed."""
COLLECTION_THRESHOLDS = (50_000, 20, 50)
"""Thresholds of the garbage collector. A search creates thousands of objects but no reference cycles. With
Python's default of 700, collections would interrupt a search several times and sometimes traverse the whole
cache."""
OPEN_FILES = 65_536
"""Maximum number of open files to request from the system."""
READY_SECONDS = 10.0
"""Seconds to wait for an answer from the daemon's own socket before logging that there is none."""

log = logging.getLogger("vaultseek")


def serve(config_path: Path | None = None, **options: str) -> int:
    """Run the daemon in the foreground until it is stopped; return the exit code.

    ``options`` contains command-line options added by other packages. Raises ConfigError for invalid
    settings, and AlreadyRunning if another daemon uses the socket.
    """
    os.umask(0o077)
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*COLLECTION_THRESHOLDS)
    manager = ServiceManager.of_environment()
    file = SettingsFile(config_path)
    settings = file.read()
    hosting = hosting_of(settings, **options)
    raise_file_limit()
    os.chdir("/")  # so that the file system from which the daemon was started can be unmounted
    _start_log()
    report_crashes(paths.state_directory() / CRASH_FILE)
    if os.geteuid() == 0:
        log.warning("started as root, so it can read every file; start it as the owner of the notes")
    paths.private_directory(paths.data_directory())  # before trusting anything below it
    keep_temporary_files(paths.data_directory())
    endpoint = Endpoint.open()
    try:
        return asyncio.run(_run(file, settings, endpoint, manager, hosting))
    finally:
        endpoint.close()


def raise_file_limit() -> None:
    """Raise the limit on open files, if the system allows it.

    Some systems set the limit to 1,024, but a daemon with fifty vaults needs more.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _run(
    file: SettingsFile, settings: Settings, endpoint: Endpoint, manager: ServiceManager, hosting: Hosting
) -> int:
    models = _models(settings)
    subscribers = Subscribers()
    registry = VaultRegistry(settings, models, subscribers.publish, hosting, file.follow_rename)
    methods = Methods(file, registry, str(endpoint.path), subscribers)
    server = Server(methods.handlers())
    loop = asyncio.get_running_loop()
    loop.set_default_executor(Threads(thread_name_prefix="asyncio"))
    shutdown = Shutdown(partial(_cut_off, endpoint))
    shutdown.handle_signals(partial(_call_in, loop, methods.stop.set))
    serving = asyncio.create_task(server.serve(endpoint.socket))
    opening = asyncio.create_task(_open(registry, file, settings))
    watching = asyncio.create_task(_keep_address(endpoint, server, methods.stop.set))
    reporting = asyncio.create_task(_report(manager, endpoint, registry))
    powering = asyncio.create_task(follow_power())
    log.info("listening on %s", endpoint.path)
    try:
        async with (
            _loopback(endpoint.path, server, methods.addresses, enabled=settings.daemon.tcp),
            methods.clients.served(server, methods.addresses),
        ):
            await methods.stop.wait()
    finally:
        shutdown.start_timer()
        manager.stopping()
        for task in (powering, reporting, opening, watching, serving):
            task.cancel()
        registry.stop_indexing()
        await server.close(STOP_SECONDS / 3)
        await asyncio.gather(models.pool.stop(), registry.close())
        methods.clients.close()
    log.info("stopped")
    return 0


@contextlib.asynccontextmanager
async def _loopback(
    beside: Path, server: Server, addresses: dict[str, str | None], *, enabled: bool
) -> AsyncIterator[None]:
    """Also accept clients on a loopback port, if they have the token.

    If the port cannot be opened, continue without it, and record the reason in ``addresses``.
    """
    try:
        port = LoopbackPort.open(beside) if enabled else None
    except Unavailable as error:
        log.error("%s", error)
        addresses[DAEMON_PORT] = str(error)
        port = None
    if port is None:
        remove_address_file(beside)
        yield
        return
    log.info("listening on port %d of this machine; the token is in %s", port.number, port.file)
    with contextlib.closing(port):
        async with authenticated(server, port.socket, LoopbackVerifier(port.secrets)):
            yield


async def _open(registry: VaultRegistry, file: SettingsFile, settings: Settings) -> None:
    try:
        # Start the workers first, because loading a model takes longest; it continues while the vaults are
        # opened.
        await registry.start_workers()
        await registry.open_configured(settings, file.registry.paused)
        await registry.hosting.follow(registry.list_again)
    except Exception:
        log.exception("opening the configured vaults failed")


def _call_in(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed, so the daemon has already ended
        loop.call_soon_threadsafe(callback)


def _cut_off(endpoint: Endpoint) -> None:
    """Exit immediately; the kernel releases the locks, and the child processes end as well."""
    log.warning("stopped before all work was done; the next start continues it")
    with contextlib.suppress(OSError):
        endpoint.forget()
    os._exit(0)


async def _keep_address(endpoint: Endpoint, server: Server, stop: Callable[[], None]) -> None:
    """Recreate the socket and the lock if they are removed; stop the daemon if something else replaces
    them."""
    serving = []
    while True:
        await asyncio.sleep(SOCKET_CHECK_SECONDS)
        if endpoint.is_ours():
            continue
        try:
            listening = endpoint.restore()
        except VaultseekError as error:
            log.error("the socket %s is lost: %s; stopping", endpoint.path, error)
            stop()
            return
        log.warning("the socket %s or its lock was removed; created it again", endpoint.path)
        if listening is not None:
            serving.append(asyncio.create_task(server.serve(listening)))


async def _report(manager: ServiceManager, endpoint: Endpoint, registry: VaultRegistry) -> None:
    """Report to the service manager once the socket answers, and then keep reporting the status."""
    while not await asyncio.to_thread(answers, endpoint.path, time.monotonic() + READY_SECONDS):
        log.warning("the socket %s does not answer yet", endpoint.path)
        await asyncio.sleep(SOCKET_CHECK_SECONDS)
    manager.ready(_status(registry))
    await manager.keep_reporting(lambda: _status(registry))


def _status(registry: VaultRegistry) -> str:
    vaults = ", ".join(f"{follower.vault.name} {follower.state}" for follower in registry.followers)
    return one_line(vaults, limits.ERROR_CHARS) or "no vault is open"


def _models(settings: Settings) -> ModelSource:
    choice = choose_models(settings.model.name, settings.model.other_languages, settings.model.service)
    if choice.main.fault is not None:
        log.error("semantic search is off: %s", choice.main.fault.text)
    folder = paths.state_directory()
    of_worker = WorkerSettings(
        reranker=settings.reranker.service,
        vector_index=settings.vectors.index,
        idle_seconds=60 * settings.model.idle_minutes or None,
    )
    if sends := sent_text(settings.model.service, settings.reranker.service):
        log.warning("%s", sends)

    def worker(model: LocalModel) -> SemanticWorker:
        return SemanticWorker(model, log=folder / log_name(model), settings=of_worker)

    return ModelSource(choice, WorkerPool(worker))


def _start_log() -> None:
    folder = paths.private_directory(paths.state_directory())
    handler = logging.handlers.RotatingFileHandler(
        folder / paths.log_file().name, maxBytes=limits.LOG_BYTES, backupCount=LOG_FILES
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(handler)
    # Warnings and thread failures go to the log, which has a maximum size, instead of standard error, which
    # may be the same file but has no limit.
    logging.captureWarnings(True)
    threading.excepthook = _log_thread_failure
    # `Watcher` reads watchdog's messages, whose warnings are repeated for each folder already watched.
    watchdog = logging.getLogger("watchdog")
    watchdog.setLevel(logging.WARNING)
    watchdog.propagate = False
    watchdog.addHandler(logging.NullHandler())
    warnings.filterwarnings("ignore", module=r"watchdog\.")
    if sys.stderr.isatty():
        root.addHandler(logging.StreamHandler())


def _log_thread_failure(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_type is SystemExit:
        return
    if is_watching(failure.thread):
        why = f"{failure.exc_type.__name__}: {failure.exc_value}"
        log.warning(
            "watching for changes ended (%s); comparing the folders with the index and watching again", why
        )
    else:
        log.error("%s failed", failure.thread, exc_info=failure.exc_value)
