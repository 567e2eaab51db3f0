"""Bringing a model from the hub: the only module that ever opens a connection to another machine.

Only ``vaultseek models fetch`` calls it, and only because somebody typed that. No name, token or telemetry
goes out beyond what a download needs. What comes is not trusted: only data files are taken, nothing that
could run code is kept, and a model that was fetched before has to be the same again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self

from vaultseek import limits, paths
from vaultseek.errors import ConfigError, Unavailable, UsageError
from vaultseek.models import bundled
from vaultseek.models.installed import fetched_models, usable
from vaultseek.text import SHOWN_CHARS

OnProgress = Callable[[int, int], None]
"""Called with the bytes that are here and the bytes that there will be."""

_OTHER_FORMATS = frozenset({"onnx", "openvino", "coreml", "gguf", "tflite"})
_ENVIRONMENT = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "HF_HUB_VERBOSITY": "error",
}
_RECORD = "fetched.json"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A model that was brought. ``known`` says whether its digest was known before."""

    name: str
    directory: Path
    commit: str
    digest: str
    size: int
    known: bool


@dataclass(frozen=True, slots=True)
class _Listed:
    name: str
    size: int
    sha256: str | None


def fetch(
    name: str,
    on_progress: OnProgress = lambda here, total: None,
    *,
    pinned: Mapping[str, str],
    accept_change: bool = False,
) -> Fetched:
    """Bring the model ``name`` to where `bundled.locate` finds it. What came whole of an
    interrupted download is not asked for again.

    ``pinned`` has the SHA-256 of the weights of models that are known. The digest of any other is remembered
    at the first time, and another one later is refused unless ``accept_change``.

    Raises UsageError for what is no name of a model, Unavailable if the hub or the disk does not play along,
    ConfigError for a model that is refused. What was there before is then still there.
    """
    if paths.fetched_model(name) is None or name.count("/") != 1:
        raise UsageError(f"{name!r} is not a model name of the hub; expected one like {bundled.NAME}")
    folder = paths.private_directory(fetched_models())
    with paths.lock_directory(folder):
        commit, files = _listing(name)
        _refuse_listing(name, files, folder)
        part = paths.private_directory(folder / f".{name.replace('/', '--')}")
        try:
            _download(name, commit, files, part, on_progress)
            fetched = _checked(name, commit, files, part, pinned, accept_change=accept_change)
        except ConfigError:
            shutil.rmtree(part, ignore_errors=True)
            raise
        _put_in_place(part, fetched.directory)
        _remember(folder, fetched)
    return fetched


def remembered() -> Mapping[str, str]:
    """The digests of the models that were fetched, by name; nothing where there is no record."""
    try:
        value = json.loads((fetched_models() / _RECORD).read_bytes()[: limits.MODEL_JSON_BYTES])
        return {str(name): str(entry["digest"]) for name, entry in value.items()}
    except (OSError, ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return {}


def _listing(name: str) -> tuple[str, list[_Listed]]:
    """The newest version of the model, and those of its files that are wanted."""
    os.environ.update(_ENVIRONMENT)
    from huggingface_hub import HfApi

    with _Translated(name):
        info = HfApi(endpoint=_endpoint(), token=False).model_info(name, files_metadata=True)
    files = [
        _Listed(file.rfilename, int(file.size or 0), getattr(file.lfs, "sha256", None))
        for file in info.siblings or ()
        if _wanted(PurePosixPath(file.rfilename))
    ]
    if not info.sha:
        raise Unavailable(f"the hub does not say which version of {name} it has; try again later")
    return str(info.sha), files


def _wanted(path: PurePosixPath) -> bool:
    return (
        path.suffix in bundled.KEPT
        and path.parts[0] not in _OTHER_FORMATS
        and not path.is_absolute()
        and not any(part.startswith(".") for part in path.parts)
    )


def _refuse_listing(name: str, files: list[_Listed], folder: Path) -> None:
    if not any(file.name.endswith(".safetensors") for file in files):
        raise ConfigError(f"{name} has no safetensors weights, which are required; choose another model")
    if not any(file.name == "tokenizer.json" for file in files):
        raise ConfigError(
            f"{name} has no tokenizer.json, which is needed to count tokens; choose another model"
        )
    if len(files) > limits.MODEL_FILES:
        raise ConfigError(f"{name} has {len(files)} files, too many to be a model; choose another model")
    wanted, free = sum(file.size for file in files), shutil.disk_usage(folder).free
    if wanted + limits.VECTOR_FREE_BYTES > free:
        need, there = wanted // limits.MIB, free // limits.MIB
        raise Unavailable(
            f"{name} needs {need:,} MiB and {there:,} MiB are free at {folder}; free some space"
        )


def _download(name: str, commit: str, files: list[_Listed], part: Path, on_progress: OnProgress) -> None:
    from huggingface_hub import hf_hub_download

    bar = _bars(on_progress, sum(file.size for file in files))
    # What could make the model be refused is small and comes first.
    for file in sorted(files, key=lambda file: (file.name.endswith(".safetensors"), file.name)):
        with _Translated(name):
            hf_hub_download(
                name,
                file.name,
                revision=commit,
                local_dir=part,
                token=False,
                endpoint=_endpoint(),
                tqdm_class=bar,
            )
        if file.name.endswith(".json"):
            bundled.refuse_code_in(part / file.name)


def _bars(on_progress: OnProgress, total: int) -> Any:
    """A class that stands where the hub's library expects tqdm, and passes on what it is told."""
    here = 0

    class Bar:
        def __init__(self, *args: object, initial: int = 0, **options: object) -> None:
            self.update(initial)

        def update(self, n: float | None = 1) -> None:
            nonlocal here
            here += int(n or 0)
            on_progress(min(here, total), total)

        def close(self) -> None: ...

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *error: object) -> None: ...

    return Bar


def _checked(
    name: str,
    commit: str,
    files: list[_Listed],
    part: Path,
    pinned: Mapping[str, str],
    *,
    accept_change: bool,
) -> Fetched:
    """What came, if it is what was promised and what came before. Raises `ConfigError`."""
    shutil.rmtree(part / ".cache", ignore_errors=True)
    for file in files:
        if file.sha256 and bundled.sha256(part / file.name).hex() != file.sha256.lower():
            raise ConfigError(f"{file.name} of {name} is corrupt; fetch it again")
    _drop_what_is_not_listed(part, files)
    usable(part)
    if name in pinned and bundled.sha256(part / bundled.WEIGHTS).hex() != pinned[name]:
        raise ConfigError(
            f"the hub's {name} is not the model that vaultseek expects; nothing was kept, try another"
        )
    digest = bundled.digest(part)
    before = remembered().get(name)
    if before not in (None, digest) and not accept_change:
        raise ConfigError(
            f"{name} differs from the model that was fetched before (now {digest[:16]}, then "
            f"{str(before)[:16]}); to accept it, use --accept-change"
        )
    known = name in pinned or before == digest
    return Fetched(name, bundled.fetched_directory(name), commit, digest, sum(f.size for f in files), known)


def _drop_what_is_not_listed(part: Path, files: list[_Listed]) -> None:
    """An interrupted download of an earlier version may have left files that this one does not have."""
    listed = {part / file.name for file in files}
    for path in list(part.rglob("*")):
        if path.is_file() and path not in listed:
            path.unlink()


def _put_in_place(part: Path, directory: Path) -> None:
    old = directory.with_name(f".old-{directory.name}")
    shutil.rmtree(old, ignore_errors=True)
    if directory.exists():
        directory.rename(old)
    part.rename(directory)
    shutil.rmtree(old, ignore_errors=True)


def _remember(folder: Path, fetched: Fetched) -> None:
    record = {name: {"digest": digest} for name, digest in remembered().items()}
    record[fetched.name] = {"digest": fetched.digest}
    paths.write_atomically(folder / _RECORD, json.dumps(record, indent=1))


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


class _Translated:
    """Turns the errors of the hub's library into ours, with what to do next."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            raise self._ours(error) from None

    def _ours(self, error: Exception) -> Exception:
        from huggingface_hub import errors

        hub = _endpoint() or "https://huggingface.co"
        chain = [error, *filter(None, [error.__cause__, error.__context__])]
        if any(isinstance(one, errors.OfflineModeIsEnabled) for one in chain):
            return Unavailable("HF_HUB_OFFLINE is set, so nothing is fetched; unset it and try again")
        if any(isinstance(one, errors.GatedRepoError) for one in chain):
            return Unavailable(
                f"{self._name} is given to signed-in people only; download it with the hub's own tool, then "
                "`vaultseek models use FOLDER`"
            )
        if any(isinstance(one, errors.RepositoryNotFoundError) for one in chain):
            return Unavailable(f"{hub} has no model called {self._name}, or it is private")
        if paths.is_disk_full(error):
            return Unavailable("the disk is full; make room and fetch again, what has come so far is kept")
        answer = next((one.response for one in chain if isinstance(one, errors.HfHubHTTPError)), None)
        if answer is not None:
            return Unavailable(f"{hub} answered {answer.status_code} for {self._name}; try again later")
        why = " ".join(str(error).split())[:SHOWN_CHARS] or type(error).__name__
        return Unavailable(
            f"{hub} cannot be reached ({why}); everything but fetching works offline. On another machine, "
            "download the model, copy its folder here and run `vaultseek models use FOLDER`"
        )
