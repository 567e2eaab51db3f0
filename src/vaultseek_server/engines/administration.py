"""Administration of an engine without an open vault: checking the engine, and listing and deleting shards."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from vaultseek.errors import Unavailable
from vaultseek_server.engines.engine import backend_of
from vaultseek_server.engines.writer import ShardFile
from vaultseek_server.settings import ENGINE_FOLDER, EngineOptions


def check_reachable(options: EngineOptions, index: Path) -> None:
    """Raise Unavailable if the engine for an index folder does not answer."""
    if shard := shard_of(index):
        try:
            delete_shard(options, shard, lambda is_there: None, drop=False)
        except Unavailable as error:
            text = f"nothing was removed, because the engine still has the notes: {error}"
            raise Unavailable(text, error.cause) from error


def drop_shard(options: EngineOptions, index: Path) -> None:
    """Delete the engine's data for an index folder, unless another indexer has taken over the shard.

    Raises Unavailable.
    """
    file = ShardFile(index / ENGINE_FOLDER)
    if file.name:
        with closing(backend_of(replace(options, shard=file.name))) as backend:
            state = backend.state()
            if state.get("mark", "") in ("", *file.marks) or state.get("owner") == file.run:
                backend.delete()


def shard_of(index: Path) -> str:
    """Return the name of an index folder's shard; "" if the index is not in an engine."""
    return ShardFile(index / ENGINE_FOLDER).name


def names_of_shards(options: EngineOptions) -> dict[str, str]:
    """Return a dict from each shard in an engine to the name of its vault; "" if the indexer has given it no
    name.

    Raises Unavailable.
    """
    with closing(backend_of(replace(options, shard="-"))) as backend:
        return backend.shards()


def delete_shard(options: EngineOptions, shard: str, check: Callable[[bool], None], *, drop: bool) -> None:
    """Call ``check`` with True if a shard exists, otherwise with False; then delete the shard if ``drop`` is
    set. Raises the errors of ``check``."""
    with closing(backend_of(replace(options, shard=shard))) as backend:
        check(backend.position() is not None)
        if drop:
            backend.delete()


def probe_engine(options: EngineOptions) -> str:
    """Return the version of an engine after checking that it can be used. Leaves nothing behind in the
    engine.

    Raises a one-line ConfigError or Unavailable if the address does not answer, or if the server is too old,
    refuses the token or cannot store the data.
    """
    with closing(backend_of(options)) as backend:
        return backend.check()
