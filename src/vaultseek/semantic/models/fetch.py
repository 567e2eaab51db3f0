"""Download of a model from the Hugging Face hub.

Only ``vaultseek models fetch`` uses this module. Nothing is sent beyond the requests for the files: no token
and no telemetry. The download is not trusted: only data files are accepted, files that could run code are not
kept, and a model that is fetched again must be identical.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Self

from vaultseek.base import limits, paths
from vaultseek.base.text import SHOWN_CHARS, one_line
from vaultseek.errors import ConfigError, Unavailable, UsageError
from vaultseek.semantic.models.directories import BUNDLED_NAME, fetched_directory
from vaultseek.semantic.models.metadata import MODEL_SUFFIXES, WEIGHTS, digest, sha256
from vaultseek.semantic.models.safety import check_model, refuse_code_in

OnProgress = Callable[[int, int], None]
"""Callback that gets the number of bytes downloaded so far and the total number of bytes."""

_OTHER_FORMATS = frozenset({"onnx", "openvino", "coreml", "gguf", "tflite"})
_ENVIRONMENT = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "HF_HUB_VERBOSITY": "error",
}
LICENCES = ("LICENSE", "LICENSE.md", "README.md")
"""Files that may state a model's licence; a README states it in its frontmatter."""
_RECORD = "fetched.json"
"""File with the digests of fetched models."""


@dataclass(frozen=True, slots=True)
class FetchedModel:
    """A downloaded model. ``known`` is true if its digest was already known before the download."""

    name: str
    directory: Path
    commit: str
    digest: str
    size: int
    known: bool


@dataclass(frozen=True, slots=True)
class _RemoteFile:
    name: str
    size: int
    sha256: str | None


def fetch(
    name: str,
    on_progress: OnProgress = lambda done, total: None,
    *,
    pinned: Mapping[str, str],
    accept_change: bool = False,
) -> FetchedModel:
    """Download the model ``name`` to its folder. Complete files from an interrupted download are reused.

    ``pinned`` maps known models to the SHA-256 of their weights. For other models, the first digest is
    recorded, and a different digest is refused later unless ``accept_change`` is set.

    Raises UsageError if ``name`` is not a model name, Unavailable for problems with the hub or the disk, and
    ConfigError if the model is refused. After an error, an earlier version stays in place.
    """
    if paths.model_directory(name) is None or name.count("/") != 1:
        raise UsageError(f"{name!r} is not the name of a model on the hub; expected one like {BUNDLED_NAME}")
    folder = paths.private_directory(paths.models_directory())
    with paths.lock_directory(folder):
        commit, files = _listing(name)
        _refuse_listing(name, files, folder)
        part = paths.private_directory(folder / f".{name.replace('/', '--')}")
        try:
            _download(name, commit, files, part, on_progress)
            fetched = _verified(name, commit, files, part, pinned, accept_change=accept_change)
        except ConfigError:
            shutil.rmtree(part, ignore_errors=True)
            raise
        _put_in_place(part, fetched.directory)
        record = {each: {"digest": known} for each, known in recorded_digests().items()}
        record[name] = {"digest": fetched.digest}
        paths.write_atomically(folder / _RECORD, json.dumps(record, indent=1))
    return fetched


def recorded_digests() -> Mapping[str, str]:
    """Return the digests of the fetched models by name; empty if none are recorded."""
    try:
        value = paths.read_json(paths.models_directory() / _RECORD)
        return {str(name): str(entry["digest"]) for name, entry in value.items()}
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return {}


def _listing(name: str) -> tuple[str, list[_RemoteFile]]:
    """Return the commit of the model's newest version, and the files to download."""
    os.environ.update(_ENVIRONMENT)
    from huggingface_hub import HfApi

    with _translated_errors(name):
        info = HfApi(endpoint=_endpoint(), token=False).model_info(name, files_metadata=True)
    files = [
        _RemoteFile(file.rfilename, int(file.size or 0), getattr(file.lfs, "sha256", None))
        for file in info.siblings or ()
        if _is_model_file(PurePosixPath(file.rfilename))
    ]
    if not info.sha:
        raise Unavailable(f"the hub lists no version of {name}; try again later")
    return str(info.sha), files


def _is_model_file(path: PurePosixPath) -> bool:
    return (
        (path.suffix in MODEL_SUFFIXES or str(path) in LICENCES)
        and path.parts[0] not in _OTHER_FORMATS
        and not path.is_absolute()
        and not any(part.startswith(".") for part in path.parts)
    )


def _refuse_listing(name: str, files: list[_RemoteFile], folder: Path) -> None:
    if not any(file.name.endswith(".safetensors") for file in files):
        raise ConfigError(f"{name} has no safetensors weights, which are required; choose another model")
    if not any(file.name == "tokenizer.json" for file in files):
        raise ConfigError(
            f"{name} has no tokenizer.json, which is needed to count tokens; choose another model"
        )
    if len(files) > limits.MODEL_FILES:
        raise ConfigError(f"{name} has {len(files)} files, too many for a model; choose another model")
    size, free = sum(file.size for file in files), shutil.disk_usage(folder).free
    if size + limits.DISK_FREE_BYTES > free:
        required, available = size // limits.MIB, free // limits.MIB
        raise Unavailable(
            f"{name} needs {required:,} MiB plus a reserve, but {folder} has {available:,} MiB;"
            " free some space"
        )


def _download(name: str, commit: str, files: list[_RemoteFile], part: Path, on_progress: OnProgress) -> None:
    from huggingface_hub import hf_hub_download

    progress_bar = _progress_bar(on_progress, sum(file.size for file in files))
    # The files that may lead to a refusal are small and come first.
    for file in sorted(files, key=lambda file: (file.name.endswith(".safetensors"), file.name)):
        with _translated_errors(name):
            hf_hub_download(
                name,
                file.name,
                revision=commit,
                local_dir=part,
                token=False,
                endpoint=_endpoint(),
                tqdm_class=progress_bar,
            )
        if file.name.endswith(".json"):
            refuse_code_in(part / file.name)


def _progress_bar(on_progress: OnProgress, total: int) -> Any:
    """Return a class that the hub's library uses as its tqdm; it reports progress over all files together."""
    done = 0

    class Bar:
        def __init__(self, *args: object, initial: int = 0, **options: object) -> None:
            self.update(initial)

        def update(self, n: float | None = 1) -> None:
            nonlocal done
            done += int(n or 0)
            on_progress(min(done, total), total)

        def close(self) -> None: ...

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *error: object) -> None: ...

    return Bar


def _verified(
    name: str,
    commit: str,
    files: list[_RemoteFile],
    part: Path,
    pinned: Mapping[str, str],
    *,
    accept_change: bool,
) -> FetchedModel:
    """Check the download against the listing and the recorded digest. Raises `ConfigError`."""
    shutil.rmtree(part / ".cache", ignore_errors=True)
    for file in files:
        if file.sha256 and sha256(part / file.name).hex() != file.sha256.lower():
            raise ConfigError(f"{file.name} of {name} is corrupt; fetch it again")
    _remove_unlisted(part, files)
    check_model(part)
    if name in pinned and sha256(part / WEIGHTS).hex() != pinned[name]:
        raise ConfigError(
            f"the hub's {name} is not the model that vaultseek expects; nothing was kept; try another model"
        )
    new = digest(part)
    before = recorded_digests().get(name)
    if before not in (None, new) and not accept_change:
        raise ConfigError(
            f"{name} differs from the model that was fetched before (now {new[:16]}, before "
            f"{str(before)[:16]}); to accept the new model, set accept_change"
        )
    known = name in pinned or before == new
    return FetchedModel(name, fetched_directory(name), commit, new, sum(f.size for f in files), known)


def _remove_unlisted(part: Path, files: list[_RemoteFile]) -> None:
    """Remove files left by an interrupted download of an earlier version."""
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


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


@contextmanager
def _translated_errors(name: str) -> Iterator[None]:
    """Translate errors of the hub's library into vaultseek's errors, with advice."""
    try:
        yield
    except Exception as error:
        raise _translated(name, error) from None


def _translated(name: str, error: Exception) -> Exception:
    from huggingface_hub import errors

    hub = _endpoint() or "https://huggingface.co"
    chain = [error, *filter(None, [error.__cause__, error.__context__])]
    if any(isinstance(one, errors.OfflineModeIsEnabled) for one in chain):
        return Unavailable("HF_HUB_OFFLINE is set, so nothing is fetched; unset it and try again")
    if any(isinstance(one, errors.GatedRepoError) for one in chain):
        return Unavailable(
            f"{name} needs a signed-in user; download it with the hub's own tool, then set model.name to "
            "its folder"
        )
    if any(isinstance(one, errors.RepositoryNotFoundError) for one in chain):
        return Unavailable(f"{hub} has no model called {name}, or it is private")
    if paths.is_disk_full(error):
        return Unavailable("the disk is full; free some space and fetch again; the download so far is kept")
    response = next((one.response for one in chain if isinstance(one, errors.HfHubHTTPError)), None)
    if response is not None:
        return Unavailable(f"{hub} answered {response.status_code} for {name}; try again later")
    reason = one_line(str(error), SHOWN_CHARS) or type(error).__name__
    return Unavailable(
        f"{hub} cannot be reached ({reason}); everything but fetching works offline. On another machine, "
        "download the model, copy its folder here and set model.name to it"
    )
